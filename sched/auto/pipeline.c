/* SPDX-License-Identifier: MIT */
/* pipeline.c: see pipeline-private.h.
   Thread safety: as hass/strategy.h. */
#include "pipeline-private.h"

#include <math.h>

/* Number of measured bundles from which on the stages (copies and kernels) of a
   GPU are planned with; with fewer, sizes have hardly differed. A guess: more,
   and copies overlap less in short farms. */
#define SEEN_BUNDLES 3
/* A GPU is not planned by its stages (copies and kernels) if the relative error
   of its kernels' predicted times exceeds UNSTEADY. A guess: more, and bundles
   are sized by wrong predictions. */
#define UNSTEADY 0.25
/* A GPU is taken to have become slower if its kernels had been predicted with a
   relative error below STEADY and now take more than CHANGED times as long; the
   line of their time is then scaled at once. A guess: more lets noise scale
   it. */
#define STEADY 0.1
/* A GPU is taken to have become slower if a kernel takes more than CHANGED
   times its predicted time, which was precise before. A guess: less lets noise
   count, more notices the change later. */
#define CHANGED 2
/* A GPU needs less time for a bundle that does not fill it if the fixed part of
   its kernels exceeds its latency plus this fraction of the time of a bundle
   that fills it. A guess: less, and bundles are too small to fill GPUs that
   gain nothing by that. */
#define SMOOTH_PART 0.5

static HassAutoLine
line_of (const HassFit *fit)
{
  return fit->seen > 0 ? (HassAutoLine){ fit->ns_per_work, fit->fixed_ns }
                       : (HassAutoLine){ 0, 0 };
}

static double
stage_ns (const HassAutoStages *m, guint stage, double work)
{
  HassAutoLine line = line_of (&m->stages[stage]);
  return line.a * work + line.b;
}

void
hass_auto_pipeline_init (HassAutoPipeline *p, HassForecast *f)
{
  *p = (HassAutoPipeline){ .f = f };
  p->of = g_new0 (HassAutoStages, MAX (f->u->n, 1));
}

void
hass_auto_pipeline_clear (HassAutoPipeline *p)
{
  g_free (p->of);
}

gboolean
hass_auto_pipelined (const HassAutoPipeline *p, guint device)
{
  const HassAutoStages *m = &p->of[device];
  /* Simple tasks of a function farm have other kernels than parallel ones. */
  return m->known && p->f->u->first_parallel == 0
         && m->stages[HASS_AUTO_KERNEL].error < UNSTEADY
         && (hass_estimates_overlaps (p->f->e, device)
             || p->f->u->devices[device].link == 0);
}

/* -- What happens ------------------------------------------------------- */

static void
shift (HassAutoPipeline *p, guint device, double by_ns)
{
  HassAutoStages *m = &p->of[device];
  HassSeat *seat = &p->f->seats[device];
  m->in_end_ns += by_ns;
  m->kernel_end_ns += by_ns;
  m->out_end_ns += by_ns;
  for (guint i = 0; i < seat->n_bundles; i++)
    seat->bundles[i].end_ns += by_ns;
}

void
hass_auto_pipeline_shift (HassAutoPipeline *p, double by_ns)
{
  for (guint d = 0; d < p->f->u->n; d++)
    shift (p, d, by_ns);
}

static void
learn (HassAutoStages *m, const double *ns, double work, double latency_ns)
{
  HassFit *kernel = &m->stages[HASS_AUTO_KERNEL];
  double times = kernel->seen > 0
                     ? ns[HASS_AUTO_KERNEL] / hass_fit_ns (kernel, work)
                     : 1;
  if (m->known && kernel->error < STEADY && times > CHANGED)
    hass_fit_scale (kernel, times);
  for (guint i = 0; i < HASS_AUTO_STAGES; i++)
    if (ns[i] > 0)
      {
        hass_fit_add (&m->stages[i], work, ns[i], latency_ns / 2);
        /* The first bundles could not be predicted, so their error does not
           count. */
        if (!m->stages[i].spread || m->stages[i].seen < SEEN_BUNDLES)
          m->stages[i].error = 0;
      }
}

void
hass_auto_pipeline_observe (HassAutoPipeline *p, const HassCompletion *done,
                            const HassBundle *b, double entry_ns)
{
  HassAutoStages *m = &p->of[done->device];
  const HassStrategyEnv *env = p->f->u->env;
  const HassDeviceTraits *t = &env->devices[done->device];
  const double ns[] = { MAX (done->h2d_ns - entry_ns, 0) * b->unfilled,
                        done->kernel_ns, done->d2h_ns * b->unfilled };
  if (env->cost == HASS_COST_UNKNOWN || t->part_bytes > 0 || p->f->u->blocks
      || p->f->u->first_parallel > 0)
    return;
  /* The end of what the GPU holds is corrected by the kernel's time alone: any
     other delay may be a wait for copies of other GPUs. */
  if (m->known)
    shift (p, done->device,
           done->kernel_ns - stage_ns (m, HASS_AUTO_KERNEL, b->work));
  learn (m, ns, b->work, t->latency_ns);
}

/* -- Links -------------------------------------------------------------- */

/* Returns TRUE if the other device participates in the plan and copies over the
   same link as this one. plan NULL: the device is planned alone, so there is no
   other. */
static gboolean
beside (const HassAutoPipeline *p, const HassPlan *plan, guint device,
        guint other)
{
  const HassDeviceTraits *t = p->f->u->devices;
  return plan && other != device && t[device].link != 0
         && t[other].link == t[device].link && plan->runners[other].runs;
}

/* Returns TRUE if the GPU holds a bundle. */
static gboolean
holds_some (const HassAutoPipeline *p, guint device)
{
  return p->f->seats[device].n_bundles > 0;
}

/* Returns in how many ns from now the copies in of all bundles on the device's
   link are predicted to end. */
static double
link_free_ns (const HassAutoPipeline *p, guint device)
{
  const HassDeviceTraits *t = p->f->u->devices;
  guint link = t[device].link;
  double ns = p->f->now_ns;
  for (guint d = 0; d < p->f->u->n; d++)
    if (holds_some (p, d) && (d == device || (link != 0 && t[d].link == link)))
      ns = MAX (ns, p->of[d].in_end_ns);
  return ns - p->f->now_ns;
}

/* Returns the fraction of the time of its kernels for which a GPU occupies its
   link with copies in. */
static double
use_of (const HassAutoStages *m)
{
  HassAutoLine kernel = line_of (&m->stages[HASS_AUTO_KERNEL]);
  return kernel.a > 0 ? line_of (&m->stages[HASS_AUTO_IN]).a / kernel.a : 0;
}

/* Returns the largest work whose copy in, from begin_ns on, delays no kernel:
   neither of the device nor of another GPU on its link that holds a bundle.
   For each of these GPUs the time until its kernels in flight end is divided
   among the device and the GPUs whose kernels end no later, by the fraction of
   the link that each needs; the least result counts. */
static double
in_time (const HassAutoPipeline *p, const HassPlan *plan, guint device,
         double begin_ns)
{
  const HassAutoStages *own = &p->of[device];
  HassAutoLine in = line_of (&own->stages[HASS_AUTO_IN]);
  double best = INFINITY, use = use_of (own);
  for (guint d = 0; d < p->f->u->n; d++)
    {
      const HassAutoStages *m = &p->of[d];
      if (!holds_some (p, d) || (d != device && !beside (p, plan, device, d)))
        continue;
      double uses = use, n = 1;
      for (guint e = 0; e < p->f->u->n && d != device; e++)
        if (beside (p, plan, device, e) && holds_some (p, e)
            && p->of[e].kernel_end_ns <= m->kernel_end_ns)
          {
            uses += use_of (&p->of[e]);
            n++;
          }
      double room_ns = m->kernel_end_ns - p->f->now_ns - begin_ns - n * in.b;
      best = MIN (best, room_ns * use / uses / in.a);
    }
  return best;
}

/* Fills in how many GPUs wait for the first copy of a GPU that holds nothing:
   GPUs on its link that hold nothing wait for all of it, others only for what
   exceeds the work that is copied in time. Each counts by its rate over that of
   the waited-for GPU. */
static void
hold_up (const HassAutoPipeline *p, const HassPlan *plan, guint device,
         HassAutoPipe *pipe)
{
  double rate = plan ? plan->runners[device].rate : 0;
  for (guint d = 0; d < p->f->u->n && rate > 0; d++)
    if (beside (p, plan, device, d))
      *(holds_some (p, d) ? &pipe->held_later : &pipe->held_up)
          += plan->runners[d].rate / rate;
  pipe->in_time
      = pipe->held_later > 0 ? in_time (p, plan, device, pipe->in_ns) : 0;
}

gboolean
hass_auto_pipeline_waits (const HassAutoPipeline *p, const HassPlan *plan,
                          guint device)
{
  if (!holds_some (p, device) || !hass_auto_pipelined (p, device))
    return FALSE;
  for (guint d = 0; d < p->f->u->n; d++)
    if (beside (p, plan, device, d)
        && p->f->seats[d].n_bundles < hass_estimates_in_flight (p->f->e, d)
        && (!holds_some (p, d)
            || p->of[d].kernel_end_ns < p->of[device].kernel_end_ns))
      return TRUE;
  return FALSE;
}

/* -- Parts -------------------------------------------------------------- */

/* Fills in the largest bundle that may follow one, and that may come before the
   last, so that copies are hidden behind kernels: while a kernel runs the link
   carries the next copy in and those of other GPUs, by the fraction of the link
   that each needs. If the GPU holds a bundle, its first copy is to end with the
   kernels in flight. */
static void
set_growth (const HassAutoPipeline *p, const HassPlan *plan, guint device,
            HassAutoPipe *pipe)
{
  HassAutoLine next = pipe->in;
  for (guint d = 0; d < p->f->u->n && pipe->in.a > 0; d++)
    if (beside (p, plan, device, d))
      {
        next.a += pipe->kernel.a * use_of (&p->of[d]);
        next.b += pipe->in.b;
      }
  if (next.a > 0)
    pipe->next = (HassAutoLine){ pipe->kernel.a / next.a,
                                 (pipe->kernel.b - next.b) / next.a };
  if (pipe->out.a > 0)
    pipe->last = (HassAutoLine){ pipe->kernel.a / pipe->out.a,
                                 (pipe->kernel.b - pipe->out.b) / pipe->out.a };
  if (holds_some (p, device) && pipe->in.a > 0)
    {
      double room_ns = pipe->kernel_ns - pipe->in_ns - pipe->in.b;
      double most = in_time (p, plan, device, pipe->in_ns);
      pipe->in.a
          = most > 0 && room_ns > 0 ? MIN (room_ns / most, next.a) : next.a;
    }
}

/* Returns what the next bundles of a GPU depend on: its stages' times, and when
   its link and its kernels are free. plan NULL: the GPU does all alone. */
static HassAutoPipe
pipe_of (const HassAutoPipeline *p, const HassPlan *plan, guint device)
{
  const HassAutoStages *m = &p->of[device];
  const HassSeat *seat = &p->f->seats[device];
  HassAutoPipe pipe = { .in = line_of (&m->stages[HASS_AUTO_IN]),
                        .kernel = line_of (&m->stages[HASS_AUTO_KERNEL]),
                        .out = line_of (&m->stages[HASS_AUTO_OUT]) };
  pipe.in_ns = link_free_ns (p, device) + (seat->entered ? 0 : seat->copy_ns);
  pipe.least = p->f->u->work;
  if (plan)
    pipe.least = MAX (
        plan->runners[device].fill_ns * plan->runners[device].rate, pipe.least);
  if (seat->n_bundles > 0)
    pipe.kernel_ns = MAX (m->kernel_end_ns - p->f->now_ns, 0);
  else
    hold_up (p, plan, device, &pipe);
  if (hass_estimates_overlaps (p->f->e, device))
    set_growth (p, plan, device, &pipe);
  else if (seat->n_bundles > 0)
    pipe.in_ns = MAX (pipe.in_ns, m->out_end_ns - p->f->now_ns);
  return pipe;
}

/* Computes the bundles in which a GPU does @work, the rest of its part of the
   plan. turn_ns: time of copies of other GPUs that come before its own on the
   link. */
static void
set_shape (HassAutoPipeline *p, const HassPlan *plan, guint device, double work,
           double turn_ns)
{
  HassAutoStages *m = &p->of[device];
  HassAutoPipe pipe = pipe_of (p, plan, device);
  pipe.in_ns += turn_ns;
  m->rest = MAX (work, pipe.least);
  m->shape = hass_auto_best_shape (&pipe, m->rest);
  m->shape.ready_ns -= pipe.kernel_ns;
}

/* Returns the work of a device's part of the plan. */
static double
part_of (const HassPlan *plan, guint device)
{
  const HassRunner *r = &plan->runners[device];
  return r->runs ? (plan->finish_ns - r->ready_ns) * r->rate : 0;
}

/* Returns the time of the first copies of GPUs with a lower index on the
   device's link: at a round's begin these come first. */
static double
turn_ns (const HassAutoPipeline *p, const HassPlan *plan, guint device)
{
  double ns = 0;
  for (guint d = 0; d < device; d++)
    if (beside (p, plan, device, d))
      ns += stage_ns (&p->of[d], HASS_AUTO_IN, p->of[d].shape.first);
  return ns;
}

gboolean
hass_auto_pipeline_begin (HassAutoPipeline *p)
{
  const HassUnits *u = p->f->u;
  gboolean any = FALSE;
  for (guint d = 0; d < u->n; d++)
    {
      HassAutoStages *m = &p->of[d];
      const HassFit *kernel = &m->stages[HASS_AUTO_KERNEL];
      double fill_ns = hass_units_fill_work (u, d) * kernel->ns_per_work;
      m->known |= kernel->seen >= SEEN_BUNDLES;
      m->smooth |= m->known && kernel->spread
                   && kernel->fixed_ns
                          > u->devices[d].latency_ns + SMOOTH_PART * fill_ns;
      m->shape = (HassAutoShape){ 0 };
      any |= hass_auto_pipelined (p, d);
    }
  return any;
}

void
hass_auto_pipeline_shapes (HassAutoPipeline *p, const HassPlan *plan)
{
  for (guint d = 0; d < p->f->u->n; d++)
    if (plan->runners[d].runs && hass_auto_pipelined (p, d))
      set_shape (p, plan, d, part_of (plan, d), turn_ns (p, plan, d));
}

void
hass_auto_pipeline_begun (HassAutoPipeline *p)
{
  for (guint d = 0; d < p->f->u->n; d++)
    if (p->of[d].shape.rate > 0)
      {
        p->of[d].whole = p->of[d].shape;
        p->of[d].whole_ns_per_work
            = p->of[d].stages[HASS_AUTO_KERNEL].ns_per_work;
      }
}

gboolean
hass_auto_pipeline_whole (const HassAutoPipeline *p, guint device,
                          gboolean alone, double work, HassRunner *r)
{
  const HassAutoStages *m = &p->of[device];
  HassAutoShape shape = m->whole;
  if (!hass_auto_pipelined (p, device) || !(shape.rate > 0))
    return FALSE;
  /* For a plan made in hindsight, the GPU may have become slower since the
     round began. */
  double times = m->stages[HASS_AUTO_KERNEL].ns_per_work / m->whole_ns_per_work;
  if (alone)
    {
      HassAutoPipe pipe = pipe_of (p, NULL, device);
      pipe.in_ns = p->f->seats[device].copy_ns;
      shape = hass_auto_best_shape (&pipe, work);
      times = 1;
    }
  r->rate = shape.rate / times;
  r->ready_ns = shape.ready_ns * times;
  return TRUE;
}

gboolean
hass_auto_pipeline_plan (const HassAutoPipeline *p, guint device, HassRunner *r)
{
  const HassAutoStages *m = &p->of[device];
  const HassSeat *seat = &p->f->seats[device];
  double now_ns = p->f->now_ns;
  if (!hass_auto_pipelined (p, device) || !(m->shape.rate > 0))
    return FALSE;
  r->rate = m->shape.rate;
  r->ready_ns = m->shape.ready_ns;
  if (seat->n_bundles == 0)
    return TRUE;
  /* A copy out may wait for copies in. A bundle that is late is predicted to be
     late for as long again. */
  double copied_ns = now_ns + link_free_ns (p, device)
                     + stage_ns (m, HASS_AUTO_OUT, seat->bundles[0].work);
  double late_ns = now_ns - MAX (seat->bundles[0].end_ns, copied_ns);
  r->ready_ns += MAX (m->kernel_end_ns - now_ns, 0) + 2 * MAX (late_ns, 0);
  return TRUE;
}

double
hass_auto_pipeline_next (const HassAutoPipeline *p, const HassPlan *plan,
                         guint device, double work)
{
  HassAutoPipe pipe = pipe_of (p, plan, device);
  return hass_auto_best_shape (&pipe, work).first;
}

void
hass_auto_pipeline_granted (HassAutoPipeline *p, guint device, HassBundle *b)
{
  HassAutoStages *m = &p->of[device];
  if (!m->known)
    return;
  if (!holds_some (p, device))
    m->kernel_end_ns = m->out_end_ns = p->f->now_ns;
  m->in_end_ns = p->f->now_ns + link_free_ns (p, device)
                 + (b->enters ? p->f->seats[device].copy_ns : 0)
                 + stage_ns (m, HASS_AUTO_IN, b->work);
  m->kernel_end_ns = MAX (m->in_end_ns, m->kernel_end_ns)
                     + stage_ns (m, HASS_AUTO_KERNEL, b->work);
  m->out_end_ns = MAX (m->kernel_end_ns, m->out_end_ns)
                  + stage_ns (m, HASS_AUTO_OUT, b->work);
  b->end_ns = m->out_end_ns;
}

void
hass_auto_pipeline_rest (HassAutoPipeline *p, const HassPlan *plan,
                         guint device, double given)
{
  if (hass_auto_pipelined (p, device))
    set_shape (p, plan, device, part_of (plan, device) - given, 0);
}

/* Called when a GPU may hold nothing after a completion: then its next copy in
   overlaps no kernel, and the bundles for the rest of its part are computed
   anew. */
void
hass_auto_pipeline_idle (HassAutoPipeline *p, const HassPlan *plan,
                         guint device)
{
  HassAutoStages *m = &p->of[device];
  if (!holds_some (p, device) && m->shape.rate > 0)
    set_shape (p, plan, device, m->rest, 0);
}
