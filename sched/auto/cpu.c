/* SPDX-License-Identifier: MIT */
/* cpu.c: what the CPU pool gets once its rate is known. The pool gets most of
   its part of the plan as a share, from which its cores pull without asking,
   and at the end single units, each only if a core ends it in time. Thread
   safety: as hass/strategy.h. */
#include "auto-private.h"

/* This fraction of the CPU pool's part of the plan becomes its share, from
   which cores take units without asking. A guess: more, and a pool that is
   slower than planned ends late; less, and cores ask more often. */
#define SHARE_PART 0.75
/* Fraction of the CPU pool's part of the plan that becomes its share while the
   pool's rate is known from earlier runs or traits only. A guess: more, and a
   pool that is slower than that ends late. */
#define PRIOR_PART (SHARE_PART / 2)
/* Fraction of the CPU pool's part of the plan that cores get at once where
   loads are sorted and the cores take the largest first. A guess: more, and a
   core that takes a large load late delays the round. */
#define REVERSED_PART 0.25
/* Time, in ns, of the units that cores get at once while a GPU is not measured.
   A guess: more, and units are gone that the GPU could do; less, and cores ask
   more often. */
#define AHEAD_NS 2e6
/* A unit that takes a core more than this fraction of the remaining time waits
   until the rates of the GPUs are settled (measured by several bundles). A
   guess: more, and a late unit delays the round; less, and cores idle. */
#define LONG_PART 0.25
/* Least share of the CPU pool, as the core time of its units in ns, all cores
   together: a smaller one would cost more to ask for than it takes. A guess. */
#define LEAST_SHARE_NS 2e3

/* Returns TRUE if there is a GPU that has completed nothing and does not ask
   for work at present: it may begin to ask at any moment. */
static gboolean
unseen_gpu (const HassAuto *s)
{
  for (guint d = 0; d < s->k.u.n; d++)
    if (d != s->k.u.cpu && s->k.f.seats[d].absent && s->k.e.of[d].n_done == 0)
      return TRUE;
  return FALSE;
}

/* Returns how many of the given units, at the end of the range from which the
   cores take, would end before the planned finish if one core after another
   takes the next. They are fewer than given only where costs are known and one
   unit would outlast the round. At least one is returned, since the plan counts
   on it. */
static guint64
units_in_time (const HassAuto *s, const HassRound *round, guint64 units)
{
  const HassUnits *u = &s->k.u;
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  double rate = s->plan.runners[u->cpu].rate, begun = 0;
  double core_rate = rate / u->cores;
  if (u->longest <= core_rate * s->plan.finish_ns)
    return units;
  units = MIN (units, hi - lo);
  for (guint64 i = 0; i < units; i++)
    {
      double work
          = hass_round_work (round, u->reversed ? hi - 1 - i : lo + i, 1);
      if (i > 0 && begun / rate + work / core_rate > s->plan.finish_ns)
        return i;
      begun += work;
    }
  return units;
}

/* Returns the number of units for a share of the CPU pool: most of its part of
   the plan. The last two units of each core are granted one by one instead,
   because a core that takes one from a share late would end late. most: upper
   bound. force: all devices wait, so lateness is no reason to give less. */
static guint64
most_of_part (HassAuto *s, const HassRound *round, guint64 most, gboolean force)
{
  const HassRunner *r = &s->plan.runners[s->k.u.cpu];
  guint cores = s->k.u.cores;
  double unit_ns = hass_auto_unit_ns (&s->k, round, r->rate);
  double part = hass_estimates_measured (&s->k.e, round, s->k.u.cpu)
                    ? SHARE_PART
                    : PRIOR_PART;
  s->why = "most of its part";
  if (s->k.u.reversed && s->k.u.listed)
    part = REVERSED_PART;
  double ns = MIN (part * (s->plan.finish_ns - r->ready_ns),
                   s->plan.finish_ns - 2 * unit_ns);
  if (ns < LEAST_SHARE_NS / cores)
    s->why = "one unit, that ends in time";
  guint64 units = hass_units_for_cores (
      &s->k.u, round, MAX (ns, LEAST_SHARE_NS / cores) * r->rate);
  units = MIN (units, most);
  guint64 in_time = force ? units : units_in_time (s, round, units);
  if (in_time < units)
    s->why = "as many as end before one that would outlast the round";
  return in_time;
}

/* Returns the number of units for the cores of a CPU pool that participates in
   the plan; 0: none now. A unit cannot be taken back. So long units wait where
   a GPU's next bundle will soon show its rate better, or its next few where
   another GPU is not open and costs are equal; and while a GPU may begin to ask
   at any moment, cores get no second long unit that a fast GPU would have to
   wait for. */
static guint64
planned_units (HassAuto *s, const HassRound *round, guint64 most,
               gboolean force, HassGrant *grant)
{
  const HassRunner *plan = s->plan.runners;
  guint cores = s->k.u.cores;
  double rate = plan[s->k.u.cpu].rate;
  double unit_ns = hass_auto_unit_ns (&s->k, round, rate);
  gboolean all_known = hass_forecast_all_known (&s->k.f, round);
  gboolean long_units = hass_estimates_long_units (&s->k.e) && !force;
  gboolean may_join = unseen_gpu (s) || !all_known;
  s->why = "until a GPU has shown more, because units are long";
  if (long_units && (!may_join || s->k.u.env->cost == HASS_COST_EQUAL)
      && hass_forecast_warming_up (&s->k.f, round, plan, unit_ns, may_join))
    return 0;
  if (long_units && may_join)
    return hass_auto_long_unit (s, round, unit_ns, rate, grant);
  if (!all_known && !force)
    {
      s->why = "not far ahead of a GPU that is not measured yet";
      return CLAMP (hass_units_for_cores (&s->k.u, round, AHEAD_NS * rate),
                    cores, MAX (most, cores));
    }
  if (LONG_PART * s->plan.finish_ns < unit_ns && !force
      && !hass_forecast_settled (&s->k.f, round, plan))
    return 0;
  return most_of_part (s, round, most, force);
}

/* Returns TRUE if units of this round were taken from the cores for a GPU that
   has not failed since. */
static gboolean
taken_from (const HassAuto *s)
{
  if (!s->k.f.seats[s->k.u.cpu].hopeless)
    return FALSE;
  for (guint d = 0; d < s->k.u.n; d++)
    if (d != s->k.u.cpu && !hass_forecast_out (&s->k.f, d))
      return TRUE;
  return FALSE;
}

/* Returns the number of units for the cores before they ask again; 0: none now.
   Units are kept for GPUs whose rate is unknown, so that they are tried. */
static guint64
cpu_units (HassAuto *s, const HassRound *round, gboolean force,
           HassGrant *grant)
{
  guint cpu = s->k.u.cpu;
  guint64 waiting = hass_round_waiting (round);
  guint64 kept = hass_forecast_kept_units (&s->k.f, round);
  s->why = "what cores had begun was taken from them";
  if (taken_from (s) && !force)
    return 0;
  s->why = "what waits is kept for unknown GPUs";
  if (waiting <= kept && !force)
    return 0;
  if (!hass_estimates_known (&s->k.e, round, cpu)
      || (!hass_estimates_measured (&s->k.e, round, cpu)
          && !hass_forecast_all_known (&s->k.f, round)))
    return hass_auto_first_units (s, round, waiting, force, grant);
  s->plan = hass_auto_plan (&s->k, round, s->guard.arm, cpu, s->plan.runners);
  s->why = "a core would still be busy when all else is done";
  if (!s->plan.runners[cpu].runs)
    return force ? 1 : 0;
  guint64 most = MAX (waiting - MIN (kept, waiting), 1);
  return planned_units (s, round, most, force, grant);
}

/* Moves units from the cores' end of the common range, which all devices take
   from, into the share of the CPU pool. */
static void
carve (HassAuto *s, HassRound *round, guint64 units)
{
  guint cpu = s->k.u.cpu;
  guint64 front = hass_round_front (round), back = hass_round_back (round);
  s->k.u.share_back = s->k.u.reversed ? back : MIN (front + units, back);
  if (s->k.u.reversed)
    {
      hass_round_carve_back (round, cpu, units);
      return;
    }
  s->counts[cpu] = units;
  hass_round_carve (round, s->counts);
}

HassAnswer
hass_auto_grant_cpu (HassAuto *s, HassRound *round, gboolean force,
                     HassGrant *grant)
{
  guint cpu = s->k.u.cpu;
  grant->chunk = 1;
  grant->source = HASS_FROM_SHARE;
  grant->share = cpu;
  if (hass_units_cpu_share (&s->k.u, round) > 0)
    return HASS_TAKE;
  double work;
  guint64 units = 0;
  if (hass_auto_solo_waits (&s->solo, round, cpu, force, &s->plan, &work))
    s->why = "while another device is measured alone";
  else if (work > 0)
    {
      units = MAX (hass_units_for_cores (&s->k.u, round, work),
                   s->k.u.devices[cpu].cores);
      units = MIN (units, hass_round_waiting (round));
      s->why = "to be measured alone";
    }
  else
    units = cpu_units (s, round, force, grant);
  if (units == 0 && hass_round_exclusive (round, cpu) == 0)
    return HASS_WAIT;
  gboolean common = hass_round_back (round) > hass_round_front (round);
  if (s->k.u.reversed && s->k.u.listed && common && units > 0)
    {
      grant->source = HASS_FROM_BACK;
      grant->units = units;
    }
  else if (common && units > 0)
    carve (s, round, units);
  else
    {
      /* These are units that were given back, or that only cores can run. */
      grant->source = HASS_FROM_FRONT;
      grant->units = MAX (units, 1);
    }
  return HASS_TAKE;
}
