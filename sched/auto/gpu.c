/* SPDX-License-Identifier: MIT */
/* gpu.c: what a GPU that asks for work gets: a small bundle first, to measure
   its rate, then bundles of the size that bundle.c computes; or nothing, if the
   GPU would end after the other devices.
   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

/* The first bundles of all devices together are at most 1/FIRST_PART of a
   round. A guess: a smaller number, and a slow GPU delays the round; a larger
   one, and bundles are too small to show a rate. */
#define FIRST_PART 8
/* Sorted loads at the ends of a round have to differ by this factor for a
   bundle from the other end to tell how time depends on size. A guess: less
   tells nothing, more leaves GPUs with loads that suit cores better. */
#define DIFFER 1.5
/* Number of bundles in which a GPU gets its part of the tasks that only GPUs
   can run. A guess: more cost more launches, fewer balance GPUs worse. */
#define EXCLUSIVE_BUNDLES 4
/* Number of first bundles that an unmeasured GPU holds at a time: the second
   shows how the copies of one bundle overlap the kernels of another. With 1 the
   GPU idles between them. */
#define FIRST_BUNDLES 2
/* A GPU gets all without a first bundle, by its rate in earlier runs, if it
   would end before a core ends one unit even if it were SURE times slower. A
   guess: less, and a round waits for a GPU that has become slower; more, and
   short rounds begin with small bundles. */
#define SURE 2

/* Returns TRUE if the GPU, whose rate is known from earlier runs, would end all
   before a core ended one unit even if it were SURE times slower now. */
static gboolean
surely_first (const HassAuto *s, const HassRound *round, guint device)
{
  guint cpu = s->k.u.cpu;
  if (cpu == s->k.u.n || !hass_estimates_known (&s->k.e, round, cpu)
      || !hass_estimates_known (&s->k.e, round, device))
    return FALSE;
  double rate = hass_estimates_cpu_rate (&s->k.e);
  return hass_auto_unit_ns (&s->k, round, rate) > SURE * s->plan.finish_ns;
}

/* Returns TRUE if no other device helps in the rest of the round and the device
   itself cuts what it gets into parts whose copies overlap kernels: then it can
   get all in one grant. Cores that sit out do not help, nor does a GPU that
   will not be open in time, if costs are equal: else that time is uncertain.
   Where some tasks are simple a plan holds for the others only. */
static gboolean
by_itself (const HassAuto *s, const HassRound *round, guint device)
{
  const HassStrategyEnv *env = s->k.u.env;
  gboolean others = FALSE;
  for (guint d = 0; d < s->k.u.n; d++)
    others
        |= d != device
           && (s->plan.runners[d].runs
               || (!hass_forecast_out (&s->k.f, d)
                   && !hass_estimates_known (&s->k.e, round, d)
                   && !(d == s->k.u.cpu && hass_auto_cores_sit_out (s, round))
                   && (env->cost != HASS_COST_EQUAL
                       || !hass_auto_closed (s, round, d))));
  return !others && env->devices[device].part_bytes > 0
         && s->k.u.first_parallel == 0
         && (hass_estimates_measured (&s->k.e, round, device)
             || hass_auto_cores_sit_out (s, round)
             || surely_first (s, round, device));
}

/* Returns TRUE if the elements of the round are so few that it takes more of
   the round than first bundles may have to fill the GPU; a smaller bundle would
   take as long. */
static gboolean
hard_to_fill (const HassUnits *u, const HassRound *round, guint device)
{
  return hass_units_fill_work (u, device)
         > hass_round_total_work (round) / (FIRST_PART * u->n);
}

/* Returns the number of first bundles that an unmeasured GPU holds at a time.
   It is 1 where a bundle that fills the GPU is so large that a slow GPU may
   take longer for it than all else takes. */
static guint
first_bundles (const HassUnits *u, const HassRound *round, guint device)
{
  return hard_to_fill (u, round, device)
                 || hass_units_fill (u, device) > u->cores
             ? 1
             : FIRST_BUNDLES;
}

/* Returns the work of a GPU's first bundle: enough to fill the GPU, but in a
   short round no more than the GPU's likely part of the work beside the
   cores. */
static double
probe_work (const HassUnits *u, const HassRound *round, guint device)
{
  double total = hass_round_total_work (round);
  double fill = hass_units_fill_work (u, device);
  guint n_gpus = u->n - (u->cpu < u->n ? 1 : 0);
  if (!hard_to_fill (u, round, device))
    return MIN (MAX (u->env->parameters[HASS_AUTO_PROBE] * total, fill),
                total / (FIRST_PART * u->n));
  double cores = u->cpu < u->n ? u->cores : 0;
  double threads = u->elements * hass_round_units (round);
  double worth = threads / (threads + cores * HASS_AUTO_CORE_THREADS);
  return MIN (fill, worth * total / n_gpus);
}

/* Returns the number of units with about the given work, counted from where the
   grant takes them: from the back of the CPU pool's share if it is a theft,
   else from the back of the common range, or from its front if u->reversed. */
static guint64
units_for (const HassUnits *u, const HassRound *round, const HassGrant *grant,
           double work)
{
  guint64 share = hass_units_cpu_share (u, round);
  if (grant->source == HASS_FROM_THEFT && u->share_back >= share)
    return hass_units_for (u, round, u->share_back - share, u->share_back, TRUE,
                           work);
  return hass_units_for (u, round, hass_round_front (round),
                         hass_round_back (round), !u->reversed, work);
}

/* Keeps a grant from taking the units that other GPUs need to be tried: where a
   round has few, one bundle of thread blocks would take all. */
static void
leave_others (const HassAuto *s, const HassRound *round, guint device,
              HassGrant *grant)
{
  guint64 waiting = hass_round_waiting (round);
  guint64 kept = hass_forecast_kept_units (&s->k.f, round);
  if (kept > 0 && !hass_estimates_known (&s->k.e, round, device))
    kept--; /* for this one */
  if (kept == 0 || waiting == 0)
    return;
  grant->units = waiting - MIN (kept, waiting - 1);
  grant->multiple = MIN (grant->multiple, grant->units);
}

/* Fills in a grant for a GPU of about the given work; 0: no bound. The units
   come from the GPUs' end of the common range or, when that is empty, from the
   back of the CPU pool's share. */
static void
fill_in (const HassAuto *s, const HassRound *round, guint device, double work,
         HassGrant *grant)
{
  const HassUnits *u = &s->k.u;
  grant->source = u->reversed ? HASS_FROM_FRONT : HASS_FROM_BACK;
  if (hass_round_waiting (round) == 0 && hass_units_cpu_share (u, round) > 0)
    {
      grant->source = HASS_FROM_THEFT;
      grant->share = u->cpu;
    }
  grant->work = work;
  /* The engine counts units where their costs are unknown to it. */
  if (u->levels && work > 0)
    grant->work = u->work * (units_for (u, round, grant, work) + 0.5);
  grant->multiple = hass_units_least (u, device);
  leave_others (s, round, device, grant);
  if (grant->multiple > 1)
    grant->work
        = MAX (work, hass_units_next_work (u, round, TRUE, grant->multiple));
  /* A bundle has parallel tasks or simple ones, as their times differ. */
  if (grant->source == HASS_FROM_BACK && !u->blocks && u->first_parallel > 0)
    grant->units = hass_round_back (round) - u->first_parallel;
  grant->in_flight = hass_estimates_in_flight (&s->k.e, device);
}

/* Fills in a grant of tasks that only GPUs can run: a fraction of this GPU's
   part of them, but at least one for each multiprocessor. A GPU whose last
   grant failed gets one unit instead. */
static void
fill_in_exclusive (HassAuto *s, const HassRound *round, guint device,
                   HassGrant *grant)
{
  const HassUnits *u = &s->k.u;
  guint n_gpus = u->n - (u->cpu < u->n ? 1 : 0);
  gboolean failed = s->k.f.seats[device].failed;
  s->why = failed ? "one unit, to see whether it works again"
                  : "what only GPUs can do";
  fill_in (s, round, device, 0, grant);
  grant->multiple = 1;
  grant->units = MAX (hass_round_exclusive (round, device)
                          / (EXCLUSIVE_BUNDLES * n_gpus),
                      MAX (u->devices[device].cores, 1));
  if (failed)
    grant->units = 1;
  grant->work = 0;
}

/* Returns TRUE if an unmeasured GPU has to wait with what it copies once a
   round: that may take longer than all other work, so it waits until a core has
   shown its rate, and while another unmeasured GPU copies over the same
   link. */
static gboolean
waits_to_enter (HassAuto *s, const HassRound *round, guint device)
{
  const HassSeat *m = &s->k.f.seats[device];
  const HassDeviceTraits *t = s->k.u.devices;
  guint cpu = s->k.u.cpu, link = t[device].link;
  if (m->entered || m->copy_ns < HASS_AUTO_LONG_COPY_NS)
    return FALSE;
  s->why = "until a core has shown whether it is worth what it copies first";
  if (cpu < s->k.u.n && !hass_estimates_measured (&s->k.e, round, cpu))
    return TRUE;
  s->why = "until another has copied what it needs, by the same link";
  for (guint d = 0; d < s->k.u.n && link != 0; d++)
    if (d != device && t[d].link == link && s->k.f.seats[d].n_bundles > 0
        && !hass_estimates_measured (&s->k.e, round, d))
      return TRUE;
  return FALSE;
}

/* Returns TRUE if the GPU's next bundle should come from the other end of
   sorted loads, as every other one does while it is unknown how the GPU's time
   depends on a load's size: if the longest load, at the rate of smaller ones,
   would end before the round. */
static gboolean
looks_at_other_end (const HassAuto *s, const HassRound *round, guint device)
{
  const HassUnits *u = &s->k.u;
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  double multiprocessors = MAX (u->devices[device].cores, 1);
  const HassFit *fit = hass_estimates_fit (&s->k.e, round, device, TRUE);
  if (!u->listed || hi == lo || s->k.e.of[device].n_done == 0
      || s->k.f.seats[device].n_given % 2 == 0
      || hass_auto_blocks_told (&s->k.b, device)
      || hass_round_work (round, hi - 1, 1)
             < DIFFER * hass_round_work (round, lo, 1))
    return FALSE;
  double ns = u->longest * multiprocessors * fit->ns_per_work;
  return s->plan.runners[device].ready_ns + ns < s->plan.finish_ns;
}

static void
make_plan (HassAuto *s, const HassRound *round, guint device)
{
  s->plan
      = hass_auto_plan (&s->k, round, s->guard.arm, device, s->plan.runners);
}

/* Answers a GPU that is not measured yet: it gets a small bundle to be
   measured, or waits. */
static HassAnswer
grant_first (HassAuto *s, HassRound *round, guint device, gboolean force,
             HassGrant *grant)
{
  HassSeat *m = &s->k.f.seats[device];
  if (!force && waits_to_enter (s, round, device))
    return HASS_WAIT;
  make_plan (s, round, device);
  s->why = "all is done before it could help";
  m->hopeless = m->hopeless || m->copy_ns > s->plan.finish_ns;
  if (m->hopeless && !force)
    return HASS_WAIT;
  if (by_itself (s, round, device))
    {
      s->why = "all, no other device helps";
      fill_in (s, round, device, 0, grant);
      return HASS_TAKE;
    }
  s->why = "until its first bundles are back";
  if (m->n_bundles >= first_bundles (&s->k.u, round, device))
    return HASS_WAIT;
  s->why = "its first bundles, to be measured";
  fill_in (s, round, device, probe_work (&s->k.u, round, device), grant);
  return HASS_TAKE;
}

/* Answers a GPU whose rate is known: it gets a bundle of its part of the plan,
   or waits. */
static HassAnswer
grant_planned (HassAuto *s, HassRound *round, guint device, gboolean force,
               HassGrant *grant)
{
  guint arm = s->guard.arm;
  guint64 waiting
      = hass_round_waiting (round) + hass_units_cpu_share (&s->k.u, round);
  guint64 kept = hass_forecast_kept_units (&s->k.f, round);
  make_plan (s, round, device);
  s->why = waiting <= kept ? "what waits is kept for unknown GPUs"
           : hass_auto_costs_more (&s->k, arm, device)
               ? "to copy for it would take cores longer than to compute"
           : hass_auto_arm_has (&s->k.u, arm, device)
               ? "it would still be busy when all else is done"
               : "others are faster without it";
  if ((!s->plan.runners[device].runs || waiting <= kept) && !force)
    return HASS_WAIT;
  s->why = "until others on its link have as much ahead";
  if (hass_auto_pipeline_waits (&s->k.p, &s->plan, device) && !force)
    return HASS_WAIT;
  gboolean alone = by_itself (s, round, device);
  double work = alone ? s->plan.work : hass_auto_bundle_work (s, round, device);
  if (alone)
    s->why = "all, no other device helps";
  if (work <= 0 && !force)
    return HASS_WAIT;
  fill_in (s, round, device, work, grant);
  if (looks_at_other_end (s, round, device))
    {
      s->why = "loads of another size, to see how they differ";
      grant->source = s->k.u.reversed ? HASS_FROM_BACK : HASS_FROM_FRONT;
      grant->work = 0;
      grant->units = grant->multiple;
    }
  return HASS_TAKE;
}

/* Returns TRUE if all that waits are the first units of cores, which are to
   show their rate. */
static gboolean
left_to_cores (HassAuto *s, const HassRound *round)
{
  guint cpu = s->k.u.cpu;
  s->why = "what waits is kept for the cores, to be measured";
  return hass_round_waiting (round) == 0 && cpu < s->k.u.n
         && !hass_estimates_measured (&s->k.e, round, cpu);
}

HassAnswer
hass_auto_grant_gpu (HassAuto *s, HassRound *round, guint device,
                     gboolean force, HassGrant *grant)
{
  if (s->k.f.seats[device].failed || hass_round_exclusive (round, device) > 0)
    {
      fill_in_exclusive (s, round, device, grant);
      return HASS_TAKE;
    }
  if (!force && left_to_cores (s, round))
    return HASS_WAIT;
  if (!hass_estimates_measured (&s->k.e, round, device)
      && !hass_forecast_all_known (&s->k.f, round))
    return grant_first (s, round, device, force, grant);
  double work;
  if (hass_auto_solo_waits (&s->solo, round, device, force, &s->plan, &work))
    {
      s->why = "while another device is measured alone";
      return HASS_WAIT;
    }
  if (work <= 0)
    return grant_planned (s, round, device, force, grant);
  s->why = "to be measured alone";
  fill_in (s, round, device, work, grant);
  return HASS_TAKE;
}
