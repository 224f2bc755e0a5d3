/* SPDX-License-Identifier: MIT */
/* auto_bundle.c: how much auto gives a GPU at a time; step 3 of auto.c.

   DESIGN. A bundle's time, from its part of the plan:
   1. As much as is worth a launch and leaves room to correct the plan: the
      square root of Kruskal and Weiss 1985; first a small one where copies
      overlap kernels, or where others wait for the link.
   2. Where nobody knows costs a small part of the round, because the next
      units may cost many times more, until rounds have shown by how much;
      every other one is larger, so that the fixed part of a bundle can be told
      from its slope.
   3. At least what fills the GPU, and sometimes more, as some GPUs reach their
      rate only when they are filled several times over. A GPU that cuts what it
      is given gets what it would hand over at once: more bundles overlap no
      better and take a launch each; but for the first where kernels wait for
      its copy and take longer than copies.
   4. All of its part where what would be over is not worth a launch.
   5. Never many times more than what was seen of it, unless costs are equal and
      all of that was hidden by a launch, or it is to do all alone, where each
      bundle more would be taken for its own slowness.
   6. Where the stages of bundles are known, no more than auto_pipeline.c says,
      however small that is: it makes the first or the last copy short.
   7. Where costs are far from known none queues that may end after the others,
      however small: what lies in a queue nobody else can help with.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

#define GROWTH 4             /* of a bundle over the largest so far */
#define LARGE_GROWTH 64      /* where that says little */
#define LEAST_FIXED_NS 2e3   /* no launch is cheaper than that */
#define FACTOR 0.3           /* of its part, where nothing overlaps */
#define SHARED_LINK 0.25     /* uncertainty, where another waits for the link */
#define SHARED_EQUAL 0.07    /* and costs are equal */
#define LARGEST_UNKNOWN 0.02 /* of a round, where costs may differ */
#define MOST_LAUNCHES 12     /* or so many times its fixed part */
#define MUCH_UNKNOWN 0.3     /* uncertainty */
#define KEPT_BACK 3          /* times that, of what is left */
#define EVERY_OTHER 1.5      /* times as large, so that sizes differ */
#define MUCH_FILLED 3        /* times over, the first of a round */
#define TWICE 2              /* filled, until sizes have differed */
#define WHOLE_PART 0.5       /* of its part, so that the last are small */
#define MOST_WHOLE 0.25      /* of a round */
#define KNOWN_STAGES 0.25  /* of the least uncertainty, where they are known */
#define OPENINGS 2         /* as the engine has it, see HassDeviceTraits */
#define BELIEF (1 / 16.)   /* of its part, to who is known by hearsay */
#define BELIEF_COPIED 0.25 /* of that, where cores may have to copy for it */

/* What the size of a bundle depends on. */
typedef struct
{
  const HassAutoMember *m;
  const HassRunner *r;
  const HassFit *fit;
  gboolean unknown; /* costs */
  double u;         /* uncertainty, relative */
  double fixed_ns, part_ns;
  double piped_ns; /* 6; 0: it says nothing */
  double whole_ns; /* what is handed over at once; 0: no matter */
  double large_ns; /* is never too much; 0: nothing is */
} Bundle;

/* By how much bundles whose costs nobody knows were off; less than 0: not seen
   yet. */
static double
doubt (const HassAuto *s)
{
  return s->levels ? hass_auto_levels_doubt (s->levels) : -1;
}

/* It opens too late for the round, or its opening is not even begun with and
   will not be. */
static gboolean
is_closed (const HassAuto *s, const HassRound *round, guint device)
{
  const HassDeviceTraits *t = &s->env->devices[device];
  double now_ns = MAX (s->now_ns, hass_round_begin_ns (round));
  return t->opening
         && (t->opens_at_ns > 0 ? t->opens_at_ns > now_ns + s->finish_ns
                                : s->finish_ns < OPENINGS * t->opening_ns);
}

/* Somebody may yet take part of whom nobody has seen how fast it is; not who is
   closed, nor who by hearsay is too slow. */
static gboolean
may_join (const HassAuto *s, const HassRound *round)
{
  for (guint d = 0; d < s->n; d++)
    if (!hass_auto_out (s, d) && !hass_auto_measured (s, round, d)
        && !is_closed (s, round, d)
        && (s->plan[d].runs || !hass_auto_known (s, round, d)))
      return TRUE;
  return FALSE;
}

static double
uncertainty (const HassAuto *s, const HassRound *round, const HassFit *fit,
             gboolean piped)
{
  static const double least[] = { [HASS_COST_EQUAL] = 0.02,
                                  [HASS_COST_SIZED] = 0.05,
                                  [HASS_COST_UNKNOWN] = 0.15 };
  double u = MAX (least[s->env->cost] * (piped ? KNOWN_STAGES : 1),
                  MIN (fit->error, 0.25));
  if (doubt (s) >= 0)
    u = MAX (CLAMP (doubt (s), least[HASS_COST_EQUAL], 1),
             MIN (fit->error, 0.25));
  return fit->seen < 3 || may_join (s, round) ? MAX (u, 0.25) : u;
}

/* So that copies overlap kernels: a small bundle first, none whose copy
   would take longer than the kernel of the one before, and not all that is
   left at once. */
static double
overlapping_ns (const HassAuto *s, guint device, double part_ns,
                double fixed_ns)
{
  const HassAutoMember *m = &s->members[device];
  double part = hass_auto_alone_part (s, device);
  if (part * part_ns < 2 * fixed_ns)
    return part_ns;
  double even_ns = sqrt (part_ns * fixed_ns / part);
  if (m->round_largest <= 0)
    return even_ns;
  double grown_ns
      = m->round_largest / s->plan[device].rate * CLAMP (1 / part, 1.2, GROWTH);
  return MAX (MIN (part_ns / 2, grown_ns), even_ns);
}

/* Work of the plan that cores would only begin and not end by T, because a
   unit cannot be cut, if so late that a GPU had better do it now. Where one
   more launch is cheap that is decided when it is due. */
static double
late_work (const HassAuto *s, const HassRound *round, double gpu_rate,
           double fixed_ns)
{
  if (s->cpu == s->n || !s->plan[s->cpu].runs
      || s->env->cost == HASS_COST_UNKNOWN)
    return 0;
  const HassRunner *cpu = &s->plan[s->cpu];
  double wave
      = s->env->devices[s->cpu].cores * hass_auto_work_at (s, round, FALSE, 1);
  double unit_ns = wave / cpu->rate;
  double free_ns = hass_auto_next_free_ns (s, round, unit_ns);
  double waves = floor ((s->finish_ns - free_ns) / unit_ns * (1 + 1e-9));
  double late = cpu->rate * (s->finish_ns - cpu->ready_ns) - waves * wave;
  double end_ns = free_ns + (waves + 1) * unit_ns;
  double with_ns = s->finish_ns + late / gpu_rate;
  return late > 0 && with_ns < end_ns && end_ns < with_ns + fixed_ns ? late : 0;
}

/* Nobody else helps, and the engine cuts what it is given so that copies
   overlap: no more to decide. Who is closed for the rest of the round does not
   help, but how long that will be is clear only where costs are equal. */
static gboolean
by_itself (const HassAuto *s, const HassRound *round, guint device)
{
  gboolean others = FALSE;
  for (guint d = 0; d < s->n; d++)
    others |= d != device
              && (s->plan[d].runs
                  || (!hass_auto_out (s, d) && !hass_auto_known (s, round, d)
                      && (s->env->cost != HASS_COST_EQUAL
                          || !is_closed (s, round, d))));
  return !others && s->env->devices[device].part_bytes > 0
         && s->env->farm != HASS_FARM_FUNCTION
         && hass_auto_measured (s, round, device);
}

/* What one more bundle costs: where it would queue behind others, no more than
   that. */
static double
launch_ns (const HassAuto *s, const HassRound *round, guint device)
{
  const HassFit *fit
      = hass_auto_fit_of (s, round, device, s->members[device].n_bundles == 0);
  const HassFit *queued = hass_auto_fit_of (s, round, device, FALSE);
  const HassFit *idle = hass_auto_fit_of (s, round, device, TRUE);
  if (hass_auto_overlaps (s, device) && queued->seen > 0
      && (queued->spread || !fit->spread))
    fit = queued;
  else if (!fit->spread && idle->spread)
    fit = idle;
  double latency_ns = s->env->devices[device].latency_ns;
  return MAX (fit->seen > 0 ? hass_auto_fixed_ns (s, round, device, fit)
                            : latency_ns,
              LEAST_FIXED_NS);
}

/* Another that takes part copies over the same link: while this one copies a
   large bundle that one waits. */
static gboolean
in_the_way (const HassAuto *s, guint device)
{
  guint link = s->env->devices[device].link;
  for (guint d = 0; d < s->n && link != 0; d++)
    if (d != device && s->plan[d].runs && s->env->devices[d].link == link
        && s->members[d].n_bundles == 0)
      return TRUE;
  return FALSE;
}

/* 1. */
static double
worth_ns (HassAuto *s, guint device, const Bundle *b)
{
  double even_ns = MAX (sqrt (s->finish_ns * b->fixed_ns / b->u), b->large_ns);
  double ns = MIN (b->part_ns / (1 + 2 * b->u), even_ns);
  s->why = "as much as is worth a launch";
  if (s->arm == device)
    ns = b->part_ns; /* there is nobody to finish together with */
  if (b->piped_ns <= 0)
    ns = MIN (ns, overlapping_ns (s, device, b->part_ns, b->fixed_ns));
  /* What is held back is given when it is clearer who is late. */
  if (b->m->n_bundles > 0)
    ns = MIN (ns, s->finish_ns / (1 + 2 * b->u) - b->r->ready_ns);
  return ns;
}

/* 2. */
static double
careful_ns (const HassAuto *s, const Bundle *b, double ns)
{
  double round_ns = s->finish_ns + (s->now_ns - s->begin_ns);
  double most_ns
      = MAX (LARGEST_UNKNOWN * round_ns, MOST_LAUNCHES * b->fixed_ns);
  if (!b->unknown)
    return ns;
  if (doubt (s) >= 0)
    most_ns = b->part_ns;
  ns = MIN (ns, MAX (most_ns, b->large_ns));
  return b->m->n_given % 2 ? MIN (EVERY_OTHER * ns, b->part_ns / 4) : ns;
}

/* 3. */
static double
filling_ns (const Bundle *b, double ns)
{
  ns = MAX (ns, MIN (b->whole_ns, WHOLE_PART * b->part_ns));
  ns = MAX (ns, MIN (b->r->fill_ns, b->part_ns));
  if (b->m->largest < MUCH_FILLED * b->r->fill_ns * b->r->rate
      && b->m->n_bundles == 0)
    ns = MAX (ns, MIN (MUCH_FILLED * b->r->fill_ns, b->part_ns / 4));
  if (!b->fit->spread && b->fit->seen >= 2)
    ns = MAX (ns,
              MIN (TWICE * b->r->fill_ns, b->part_ns / (b->unknown ? 16 : 2)));
  return ns;
}

/* 7. */
static gboolean
too_early (const HassAuto *s, guint device, const Bundle *b, double ns)
{
  return s->arm != device && b->unknown && b->u > MUCH_UNKNOWN
         && b->m->n_bundles > 0
         && b->r->ready_ns + ns > s->finish_ns / (1 + KEPT_BACK * b->u);
}

/* 3. Of what a GPU hands over at once; 0: too much of a round, or nothing is to
   be copied, or it had better be less. */
static double
whole_ns (const HassAuto *s, guint device, double rate)
{
  double round_ns = s->finish_ns + (s->now_ns - s->begin_ns);
  const HassAutoMember *m = &s->members[device];
  gboolean exposed
      = m->n_bundles == 0 && m->in_ns > 0 && m->in_ns < m->kernels_ns;
  if (s->env->cost == HASS_COST_UNKNOWN || s->unit_bytes <= 0 || exposed)
    return 0;
  double units = s->env->devices[device].part_bytes / s->unit_bytes;
  double ns = units * s->unit_work / rate;
  return ns < MOST_WHOLE * round_ns ? ns : 0;
}

static Bundle
bundle_for (const HassAuto *s, const HassRound *round, guint device)
{
  Bundle b = { .m = &s->members[device],
               .r = &s->plan[device],
               .unknown = s->env->cost == HASS_COST_UNKNOWN };
  gboolean piped = hass_auto_pipelined (s, device);
  gboolean shares = !piped && in_the_way (s, device);
  b.fit = piped ? &b.m->stages[HASS_AUTO_KERNEL]
                : hass_auto_fit_of (s, round, device, b.m->n_bundles == 0);
  b.u = uncertainty (s, round, b.fit, piped);
  if (shares)
    b.u = MAX (b.u,
               s->env->cost == HASS_COST_EQUAL ? SHARED_EQUAL : SHARED_LINK);
  b.fixed_ns = piped && hass_auto_overlaps (s, device)
                   ? MAX (b.fit->fixed_ns, LEAST_FIXED_NS)
                   : launch_ns (s, round, device);
  b.part_ns = MAX (s->finish_ns - b.r->ready_ns, b.r->step_ns);
  if (piped)
    b.piped_ns = hass_auto_pipeline_next (s, device, b.part_ns * b.r->rate)
                 / b.r->rate;
  b.whole_ns = whole_ns (s, device, b.r->rate);
  /* Where a launch overlaps nothing, a few large ones first. */
  if (!shares && !hass_auto_overlaps (s, device))
    b.large_ns = FACTOR * b.part_ns;
  return b;
}

/* 5. How many times its largest so far it may be. A launch hides what work
   takes. What fills a GPU may as well, if nobody knows how much that is: then
   that is not so short, and a larger bundle may take many times longer. */
static double
growth_of (const HassAuto *s, guint device, const Bundle *b)
{
  double latency_ns = s->env->devices[device].latency_ns;
  gboolean hides = (b->m->fill_units > 0 || b->fit->fixed_ns <= 2 * latency_ns)
                   && hass_fit_hides (b->fit, b->m->largest);
  if (s->env->cost == HASS_COST_EQUAL && (s->arm == device || hides))
    return LARGE_GROWTH;
  return b->m->n_done == 1 && hass_auto_long_units (s) ? 1 : GROWTH;
}

/* Work of the next bundle of a device that is planned with; 0: nothing now. */
double
hass_auto_bundle_work (HassAuto *s, const HassRound *round, guint device)
{
  double rate = s->plan[device].rate;
  s->why = "all, nobody else helps";
  if (by_itself (s, round, device))
    return s->left;
  s->why = "until it is clearer who is late";
  if (rate <= 0)
    return 0;
  Bundle b = bundle_for (s, round, device);
  double ns = worth_ns (s, device, &b);
  ns = filling_ns (&b, careful_ns (s, &b, ns));
  if (too_early (s, device, &b, ns))
    {
      s->why = "until it is clearer who is late";
      return 0;
    }
  gboolean rest = b.part_ns - ns
                  < MAX (2 * b.fixed_ns, b.r->fill_ns); /* 4: is not worth */
  /* 6. */
  gboolean meant
      = b.piped_ns > 0 && b.piped_ns < b.part_ns && (rest || ns >= b.piped_ns);
  if (meant)
    {
      ns = b.piped_ns;
      rest = FALSE;
    }
  if (!hass_auto_measured (s, round, device))
    {
      s->why = "a first bundle, by what earlier runs have shown";
      /* Who copies for it nobody knows before a bundle is back. */
      double belief = BELIEF * (hass_auto_are_data (round) ? BELIEF_COPIED : 1);
      ns = b.m->n_bundles < 2 ? MIN (ns, belief * b.part_ns) : 0;
      rest = FALSE;
    }
  if (rest)
    {
      s->why = "all of its part";
      ns = b.part_ns + late_work (s, round, rate, b.fixed_ns) / rate;
    }
  else if (b.m->n_bundles > 0 && !meant && ns < 2 * b.fixed_ns)
    {
      s->why = "until it is clearer who is late";
      return 0;
    }
  /* Units are rounded down; the last of a part must not cost a launch. */
  double work = ns * rate + 0.5 * s->unit_work;
  if (b.m->largest > 0)
    work = MIN (work, growth_of (s, device, &b) * b.m->largest);
  if (!hass_auto_all_known (s, round))
    work = MIN (work, s->left / (2 * s->n));
  work = MAX (work, MIN (b.r->fill_ns, b.part_ns) * rate);
  return MAX (work, G_MINDOUBLE);
}
