/* SPDX-License-Identifier: MIT */
/* auto_pipeline.c: what auto knows of the stages of bundles, and so when a GPU
   will have done what it has and what its part of the plan takes; of steps 1 to
   3 of auto.c, where costs are known.

   DESIGN. Copies in, kernels and copies out have a fit each. From the round on
   that begins with these known, auto_shape.c says in what bundles a GPU gets
   its part, and how long that takes.
   1. A bundle that queues counts from when the kernels before it are over. That
      is foretold when they are granted and put right by what kernels took.
   2. Where GPUs share a link its copies are foretold as one queue. A GPU gets
   no second bundle while another there has none, or will be out of work sooner:
      it is asked again when something has finished. A copy is to leave time for
      those of all others, in the order in which their kernels end; but where
      that is too late it is as long as if all of them had as long for theirs.
   3. What is given before all have something is smaller, as others wait.
   4. Where a bundle that does not fill a GPU takes less time, as those show
      whose fixed part is that long, none is made larger to fill it.

   Left out are GPUs that cut what they are given by themselves, so that its
   parts overlap, and those on a shared link that overlap nothing.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

#define SEEN_BUNDLES 3
#define UNSTEADY 0.25   /* error of what is foretold; then there is no plan */
#define STEADY 0.1      /* error, and yet */
#define CHANGED 2       /* times slower: then it has changed at once */
#define SMOOTH_PART 0.5 /* of the time of what fills it */
#define PASSES 3        /* sizes depend on parts and parts on sizes */

static HassAutoLine
line_of (const HassFit *fit)
{
  return fit->seen > 0 ? (HassAutoLine){ fit->ns_per_work, fit->fixed_ns }
                       : (HassAutoLine){ 0, 0 };
}

static double
stage_ns (const HassAutoMember *m, guint stage, double work)
{
  HassAutoLine line = line_of (&m->stages[stage]);
  return line.a * work + line.b;
}

gboolean
hass_auto_pipelined (const HassAuto *s, guint device)
{
  const HassAutoMember *m = &s->members[device];
  return m->pipelined && m->stages[HASS_AUTO_KERNEL].error < UNSTEADY
         && (hass_auto_overlaps (s, device)
             || s->env->devices[device].link == 0);
}

/* -- What happened ------------------------------------------------------ */

static void
shift (HassAutoMember *m, double by_ns)
{
  m->in_end_ns += by_ns;
  m->kernel_end_ns += by_ns;
  m->out_end_ns += by_ns;
  for (guint i = 0; i < m->n_bundles; i++)
    m->bundles[i].end_ns += by_ns;
}

/* Before anything finished the clock was that of the round before. */
void
hass_auto_pipeline_shift (HassAuto *s, double by_ns)
{
  for (guint d = 0; d < s->n; d++)
    shift (&s->members[d], by_ns);
}

static void
learn (HassAutoMember *m, const double *ns, double work, double latency_ns)
{
  HassFit *kernel = &m->stages[HASS_AUTO_KERNEL];
  double times = kernel->seen > 0
                     ? ns[HASS_AUTO_KERNEL] / hass_fit_ns (kernel, work)
                     : 1;
  if (m->pipelined && kernel->error < STEADY && times > CHANGED)
    hass_fit_scale (kernel, times);
  for (guint i = 0; i < HASS_AUTO_STAGES; i++)
    if (ns[i] > 0)
      {
        hass_fit_add (&m->stages[i], work, ns[i], latency_ns / 2);
        /* Nobody could foretell them. */
        if (!m->stages[i].spread || m->stages[i].seen < SEEN_BUNDLES)
          m->stages[i].error = 0;
      }
}

/* entry_ns: of its copy in, what the round needs. */
void
hass_auto_pipeline_observe (HassAuto *s, const HassCompletion *done,
                            const HassAutoBundle *b, double entry_ns)
{
  HassAutoMember *m = &s->members[done->device];
  const HassDeviceTraits *t = &s->env->devices[done->device];
  const double ns[] = { MAX (done->h2d_ns - entry_ns, 0) * b->unfilled,
                        done->kernel_ns, done->d2h_ns * b->unfilled };
  if (s->env->cost == HASS_COST_UNKNOWN || t->part_bytes > 0
      || !hass_auto_counts_elements (s))
    return;
  /* What it is late by beside this it may have waited for copies of others. */
  if (m->pipelined)
    shift (m, done->kernel_ns - stage_ns (m, HASS_AUTO_KERNEL, b->work));
  learn (m, ns, b->work, t->latency_ns);
}

/* -- Links -------------------------------------------------------------- */

/* It takes part in what copies over the same link. */
static gboolean
beside (const HassAuto *s, guint device, guint other)
{
  guint link = s->env->devices[device].link;
  return other != device && link != 0 && s->env->devices[other].link == link
         && s->plan[other].runs;
}

static double
link_free_ns (const HassAuto *s, guint device)
{
  guint link = s->env->devices[device].link;
  double ns = s->now_ns;
  for (guint d = 0; d < s->n; d++)
    if (s->members[d].n_bundles > 0
        && (d == device || (link != 0 && s->env->devices[d].link == link)))
      ns = MAX (ns, s->members[d].in_end_ns);
  return ns - s->now_ns;
}

/* How much of a link it needs while it computes. */
static double
use_of (const HassAutoMember *m)
{
  HassAutoLine kernel = line_of (&m->stages[HASS_AUTO_KERNEL]);
  return kernel.a > 0 ? line_of (&m->stages[HASS_AUTO_IN]).a / kernel.a : 0;
}

/* Work whose copy in lets no kernel wait, its own or one of those who come
   after it on the link, each with as much by its use of that. */
static double
in_time (const HassAuto *s, guint device, double begin_ns)
{
  const HassAutoMember *own = &s->members[device];
  HassAutoLine in = line_of (&own->stages[HASS_AUTO_IN]);
  double best = INFINITY, use = use_of (own);
  for (guint d = 0; d < s->n; d++)
    {
      const HassAutoMember *m = &s->members[d];
      if (m->n_bundles == 0 || (d != device && !beside (s, device, d)))
        continue;
      double uses = use, n = 1;
      for (guint e = 0; e < s->n && d != device; e++)
        if (beside (s, device, e) && s->members[e].n_bundles > 0
            && s->members[e].kernel_end_ns <= m->kernel_end_ns)
          {
            uses += use_of (&s->members[e]);
            n++;
          }
      double room_ns = m->kernel_end_ns - s->now_ns - begin_ns - n * in.b;
      best = MIN (best, room_ns * use / uses / in.a);
    }
  return best;
}

/* What the others' copies cost a GPU that has nothing, and its own them. */
static void
hold_up (const HassAuto *s, guint device, HassAutoPipe *p)
{
  double rate = s->plan[device].rate;
  for (guint d = 0; d < s->n && rate > 0; d++)
    if (beside (s, device, d))
      *(s->members[d].n_bundles > 0 ? &p->held_later : &p->held_up)
          += s->plan[d].rate / rate;
  p->in_time = p->held_later > 0 ? in_time (s, device, p->in_ns) : 0;
}

/* Those on its link that have nothing, or not for as long, come first. */
gboolean
hass_auto_pipeline_waits (const HassAuto *s, guint device)
{
  const HassAutoMember *own = &s->members[device];
  if (own->n_bundles == 0 || !hass_auto_pipelined (s, device))
    return FALSE;
  for (guint d = 0; d < s->n; d++)
    {
      const HassAutoMember *m = &s->members[d];
      if (beside (s, device, d) && m->n_bundles < hass_auto_in_flight (s, d)
          && (m->n_bundles == 0 || m->kernel_end_ns < own->kernel_end_ns))
        return TRUE;
    }
  return FALSE;
}

/* -- Parts -------------------------------------------------------------- */

static HassAutoPipe
pipe_of (const HassAuto *s, guint device)
{
  const HassAutoMember *m = &s->members[device];
  HassAutoPipe p = { .in = line_of (&m->stages[HASS_AUTO_IN]),
                     .kernel = line_of (&m->stages[HASS_AUTO_KERNEL]),
                     .out = line_of (&m->stages[HASS_AUTO_OUT]) };
  p.in_ns = link_free_ns (s, device) + (m->entered ? 0 : m->copy_ns);
  p.least = MAX (s->plan[device].fill_ns * s->plan[device].rate, s->unit_work);
  if (m->n_bundles > 0)
    p.kernel_ns = MAX (m->kernel_end_ns - s->now_ns, 0);
  else
    hold_up (s, device, &p);
  if (!hass_auto_overlaps (s, device))
    {
      if (m->n_bundles > 0)
        p.in_ns = MAX (p.in_ns, m->out_end_ns - s->now_ns);
      return p;
    }
  HassAutoLine next = p.in;
  for (guint d = 0; d < s->n && p.in.a > 0; d++)
    if (beside (s, device, d))
      {
        next.a += p.kernel.a * use_of (&s->members[d]);
        next.b += p.in.b;
      }
  if (next.a > 0)
    p.next
        = (HassAutoLine){ p.kernel.a / next.a, (p.kernel.b - next.b) / next.a };
  if (p.out.a > 0)
    p.last = (HassAutoLine){ p.kernel.a / p.out.a,
                             (p.kernel.b - p.out.b) / p.out.a };
  if (m->n_bundles > 0 && p.in.a > 0)
    {
      double room_ns = p.kernel_ns - p.in_ns - p.in.b;
      double most = in_time (s, device, p.in_ns);
      p.in.a = most > 0 && room_ns > 0 ? MIN (room_ns / most, next.a) : next.a;
    }
  return p;
}

/* turn_ns: others' copies come before its own. */
static void
set_shape (HassAuto *s, guint device, double work, double turn_ns)
{
  HassAutoMember *m = &s->members[device];
  HassAutoPipe p = pipe_of (s, device);
  p.in_ns += turn_ns;
  m->rest = MAX (work, p.least);
  m->shape = hass_auto_best_shape (&p, m->rest);
  m->shape.ready_ns -= p.kernel_ns;
}

static double
part_of (const HassAuto *s, guint device)
{
  const HassRunner *r = &s->plan[device];
  return r->runs ? (s->finish_ns - r->ready_ns) * r->rate : 0;
}

/* First copies of those who come before it on its link. */
static double
turn_ns (const HassAuto *s, guint device)
{
  double ns = 0;
  for (guint d = 0; d < device; d++)
    if (beside (s, device, d))
      ns += stage_ns (&s->members[d], HASS_AUTO_IN, s->members[d].shape.first);
  return ns;
}

void
hass_auto_pipeline_begin (HassAuto *s, const HassRound *round)
{
  gboolean any = FALSE;
  for (guint d = 0; d < s->n; d++)
    {
      HassAutoMember *m = &s->members[d];
      const HassFit *kernel = &m->stages[HASS_AUTO_KERNEL];
      double fill_ns = hass_auto_fill_work (s, d) * kernel->ns_per_work;
      m->pipelined |= kernel->seen >= SEEN_BUNDLES;
      m->smooth |= m->pipelined && kernel->spread
                   && kernel->fixed_ns > s->env->devices[d].latency_ns
                                             + SMOOTH_PART * fill_ns;
      m->shape = (HassAutoShape){ 0 };
      any |= hass_auto_pipelined (s, d);
    }
  for (guint i = 0; i < PASSES && any; i++)
    {
      hass_auto_make_plan (s, round, s->n);
      for (guint d = 0; d < s->n; d++)
        if (s->plan[d].runs && hass_auto_pipelined (s, d))
          set_shape (s, d, part_of (s, d), turn_ns (s, d));
    }
  for (guint d = 0; d < s->n; d++)
    if (s->members[d].shape.rate > 0)
      {
        s->members[d].whole = s->members[d].shape;
        s->members[d].whole_ns_per_work
            = s->members[d].stages[HASS_AUTO_KERNEL].ns_per_work;
      }
}

/* Of a whole round; alone: with so much work. FALSE: nothing to say. */
gboolean
hass_auto_pipeline_whole (const HassAuto *s, guint device, double work,
                          HassRunner *r)
{
  const HassAutoMember *m = &s->members[device];
  HassAutoShape shape = m->whole;
  if (!hass_auto_pipelined (s, device) || !(shape.rate > 0))
    return FALSE;
  /* In hindsight it may have become slower since. */
  double times = m->stages[HASS_AUTO_KERNEL].ns_per_work / m->whole_ns_per_work;
  if (s->arm == device)
    {
      HassAutoPipe p = pipe_of (s, device);
      p.in_ns = m->copy_ns;
      shape = hass_auto_best_shape (&p, work);
      times = 1;
    }
  r->rate = shape.rate / times;
  r->ready_ns = shape.ready_ns * times;
  return TRUE;
}

/* Of what is left of its part. FALSE: nothing to say. */
gboolean
hass_auto_pipeline_plan (const HassAuto *s, guint device, HassRunner *r)
{
  const HassAutoMember *m = &s->members[device];
  if (!hass_auto_pipelined (s, device) || !(m->shape.rate > 0))
    return FALSE;
  r->rate = m->shape.rate;
  r->ready_ns = m->shape.ready_ns;
  if (m->n_bundles == 0)
    return TRUE;
  /* The copy out may wait for those in. Who is late will be so as long again.
   */
  double copied_ns = s->now_ns + link_free_ns (s, device)
                     + stage_ns (m, HASS_AUTO_OUT, m->bundles[0].work);
  double late_ns = s->now_ns - MAX (m->bundles[0].end_ns, copied_ns);
  r->ready_ns += MAX (m->kernel_end_ns - s->now_ns, 0) + 2 * MAX (late_ns, 0);
  return TRUE;
}

/* Work of the next of the bundles in which it gets so much. */
double
hass_auto_pipeline_next (const HassAuto *s, guint device, double work)
{
  HassAutoPipe p = pipe_of (s, device);
  return hass_auto_best_shape (&p, work).first;
}

/* It is about to be one of the device's bundles. */
void
hass_auto_pipeline_granted (HassAuto *s, guint device, HassAutoBundle *b)
{
  HassAutoMember *m = &s->members[device];
  if (!m->pipelined)
    return;
  if (m->n_bundles == 0)
    m->kernel_end_ns = m->out_end_ns = s->now_ns;
  m->in_end_ns = s->now_ns + link_free_ns (s, device)
                 + (b->enters ? m->copy_ns : 0)
                 + stage_ns (m, HASS_AUTO_IN, b->work);
  m->kernel_end_ns = MAX (m->in_end_ns, m->kernel_end_ns)
                     + stage_ns (m, HASS_AUTO_KERNEL, b->work);
  m->out_end_ns = MAX (m->kernel_end_ns, m->out_end_ns)
                  + stage_ns (m, HASS_AUTO_OUT, b->work);
  b->end_ns = m->out_end_ns;
}

/* Of its part it was given so much. */
void
hass_auto_pipeline_rest (HassAuto *s, guint device, double given)
{
  if (hass_auto_pipelined (s, device))
    set_shape (s, device, part_of (s, device) - given, 0);
}

/* It may have nothing now; then the next copy in overlaps nothing. */
void
hass_auto_pipeline_idle (HassAuto *s, guint device)
{
  HassAutoMember *m = &s->members[device];
  if (m->n_bundles == 0 && m->shape.rate > 0)
    set_shape (s, device, m->rest, 0);
}
