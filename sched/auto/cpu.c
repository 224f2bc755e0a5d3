/* SPDX-License-Identifier: MIT */
/* auto_cpu.c: what auto grants the CPU pool; step 4 of auto.c.
   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

#define CPU_PART 0.75      /* of its part of the plan that becomes its share */
#define AHEAD_NS 2e6       /* that cores get while a GPU is unmeasured */
#define REVERSED_PART 0.25 /* of it that cores get at once, largest first */
#define LONG_PART 0.25     /* of what is left of the round */
#define LEAST_SHARE_NS 2e3
#define FIRST_WAVES 16   /* of units for each GPU, and only one core begins */
#define SLOWEST_CORE 0.2 /* bytes per ns of such a unit */
#define MANY_WAVES 200   /* of units */
#define LONGER 2     /* units, since with all cores busy they may take longer */
#define OVERDUE 2    /* units; a GPU that takes longer to open is not soon */
#define HOST_PART 8  /* of cores */
#define HOST_TIME 16 /* of what they alone need */
#define WAIT_PART 0.025   /* of what cores alone need for the rest of a round */
#define START_PART 2      /* of cores */
#define START_UNIT_NS 5e5 /* of a core; for less it would ask too often */
#define START_CORES 16.   /* with more: so much longer ones */
#define FAR_FASTER 5      /* than the cores; for less they are not left out */

/* At the cores' end. */
static guint64
units_of (const HassAuto *s, const HassRound *round, double work)
{
  return hass_auto_units_of (s, round, hass_round_front (round),
                             hass_round_back (round), s->reversed, work);
}

/* A round that the cores need many units each for, and GPUs that nobody
   knows. */
static gboolean
is_long (const HassAuto *s, const HassRound *round)
{
  guint64 cores = MAX (s->env->devices[s->cpu].cores, 1);
  return s->n > 1 && !hass_auto_all_known (s, round)
         && hass_round_units (round) >= FIRST_WAVES * cores * (s->n - 1);
}

/* Work per ns of the GPUs that take part and of which more than a first bundle
   is known: that may have been slowed by what is made once. */
static double
settled_rate (const HassAuto *s, const HassRound *round)
{
  double rate = 0;
  for (guint d = 0; d < s->n; d++)
    if (d != s->cpu && s->members[d].n_done > 1 && !hass_auto_out (s, d)
        && hass_auto_takes_part (s, d) && !hass_auto_costs_more (s, d)
        && hass_auto_measured (s, round, d))
      rate += 1 / hass_auto_fit_of (s, round, d, TRUE)->ns_per_work;
  return rate;
}

/* If their first units were done now the cores would be as fast as those. */
static gboolean
may_be_as_fast (const HassAuto *s, const HassRound *round, guint cores)
{
  double rate = settled_rate (s, round);
  double past_ns = s->now_ns - hass_round_begin_ns (round);
  return rate > 0 && rate * past_ns <= cores * s->unit_work;
}

/* Bytes per ns of all GPUs' links; infinite where one needs none. */
static double
links_of (const HassAuto *s)
{
  double links = 0;
  for (guint d = 0; d < s->n; d++)
    {
      double link = s->env->devices[d].link_bytes_per_ns;
      if (d != s->cpu)
        links += link > 0 ? link : INFINITY;
    }
  return links;
}

/* Units are data, and GPUs have to copy all of them: by their links alone the
   round takes them longer than a core a unit, if that computes as little as
   SLOWEST_CORE. */
static gboolean
copies_take_long (const HassAuto *s, const HassRound *round)
{
  return hass_auto_are_data (round)
         && hass_round_units (round) * SLOWEST_CORE >= links_of (s);
}

/* Before a core has finished anything: one unit for each core, all at once, as
   cores that each ask for theirs wait for each other. A long round one core
   begins: it tells it as well, often much sooner as it has caches and memory to
   itself, and a GPU that is far faster need not wait for the slowest of many.
   The others follow as soon as a GPU shows that it is not, or at once where no
   GPU can be. */
static guint64
first_units (HassAuto *s, const HassRound *round, guint64 waiting, guint cores,
             gboolean force)
{
  guint64 most = CLAMP (waiting / 16, 1, cores);
  if (is_long (s, round) && !copies_take_long (s, round)
      && !may_be_as_fast (s, round, cores))
    most = 1;
  s->why = "first units of cores";
  if (s->members[s->cpu].units < (gint64)most)
    return most - (guint64)s->members[s->cpu].units;
  s->why = "until a core has finished its first unit";
  return force ? 1 : 0;
}

static gboolean
unseen_gpu (const HassAuto *s)
{
  for (guint d = 0; d < s->n; d++)
    if (d != s->cpu && s->members[d].absent && s->members[d].n_done == 0)
      return TRUE;
  return FALSE;
}

/* Work per ns of the GPUs that are in the middle of a grant which is their
   first; its parts are counted as they come back. */
static double
rate_so_far (const HassAuto *s, const HassRound *round)
{
  double rate = 0;
  for (guint d = 0; d < s->n; d++)
    {
      HassProgress p = { 0 };
      if (d != s->cpu && s->members[d].n_bundles > 0
          && !hass_auto_measured (s, round, d))
        p = hass_round_progress (round, d);
      rate += p.busy_ns > 0 ? p.work / p.busy_ns : 0;
    }
  return rate;
}

/* A GPU has its first bundle, not longer than for two units: the time of that
   was known to a unit only. */
static gboolean
measured_soon (const HassAuto *s, const HassRound *round, double unit_ns)
{
  for (guint d = 0; d < s->n; d++)
    {
      const HassAutoMember *m = &s->members[d];
      if (d != s->cpu && m->n_bundles > 0 && !hass_auto_measured (s, round, d)
          && s->now_ns - m->since_ns < 2 * unit_ns)
        return TRUE;
    }
  return FALSE;
}

/* A GPU that may be open within so long, or should be by now. */
static gboolean
opens_within (const HassAuto *s, const HassRound *round, double ns,
              double unit_ns)
{
  for (guint d = 0; d < s->n; d++)
    {
      const HassDeviceTraits *t = &s->env->devices[d];
      double in_ns = t->opens_at_ns - s->now_ns;
      if (d != s->cpu && t->opening && t->opens_at_ns > 0
          && !hass_auto_measured (s, round, d) && in_ns < ns
          && in_ns > -OVERDUE * unit_ns)
        return TRUE;
    }
  return FALSE;
}

/* All cores wait for a GPU, in all of a round no longer than costs a trifle
   should it be of no use. Time is known by completions: when none has come
   since, the wait has been as long as it might be. */
static gboolean
may_wait (HassAuto *s, double cpu_ns, HassGrant *grant)
{
  if (s->wait_ns > 0 && s->wait_told == s->n_told)
    s->waited_ns += s->wait_ns;
  else if (s->wait_ns > 0)
    s->waited_ns += MIN (s->now_ns - s->wait_from_ns, s->wait_ns);
  s->wait_ns = MAX (WAIT_PART * cpu_ns - s->waited_ns, 0);
  s->wait_told = s->n_told;
  s->wait_from_ns = s->now_ns;
  grant->within_ns = (gint64)MIN (s->wait_ns, 1e18);
  return grant->within_ns > 0;
}

/* An eighth of the cores is left to a GPU that is being started, or in whose
   first bundle libraries are: that is work of the host's, and a thread that
   shares a core with a long unit needs much longer for it. But not for long,
   a sixteenth of what the cores alone would need, and not where a unit takes
   longer than that. */
static gboolean
left_to_host (const HassAuto *s, const HassRound *round, double unit_ns,
              double cpu_ns)
{
  gint64 cores = MAX (s->env->devices[s->cpu].cores, 1);
  double most_ns = cpu_ns / HOST_TIME;
  gboolean starting = FALSE;
  for (guint d = 0; d < s->n; d++)
    {
      const HassAutoMember *m = &s->members[d];
      starting |= d != s->cpu && m->n_done == 0 && m->n_bundles > 0
                  && s->now_ns - m->since_ns < most_ns;
    }
  starting |= opens_within (s, round, most_ns, most_ns / OVERDUE);
  return starting && most_ns >= unit_ns
         && hass_auto_core_units (s, round) >= cores - cores / HOST_PART;
}

/* The links allow GPUs to be far faster than the cores. */
static gboolean
links_allow (const HassAuto *s, const HassRound *round, double cpu_rate)
{
  double bytes = (double)hass_auto_middle_bytes (round);
  return links_of (s) * s->unit_work > FAR_FASTER * bytes * cpu_rate;
}

/* So many cores are left to a GPU that is being started, though units are
   short. Where 16 cores were at work such a start, of 0.6 s, took 11 % longer
   than beside idle ones, 5 % with half of them. All but one are left to it
   where it is known that they do but a trifle of what GPUs do. But for no
   longer than a sixteenth of what the cores alone would need, and only where it
   should open in that time of this round: where nobody knows the GPU, half of
   that is lost if it is of no use. */
static guint
left_to_start (const HassAuto *s, const HassRound *round, double cpu_rate)
{
  guint cores = s->env->devices[s->cpu].cores;
  gint64 begin_ns = hass_round_begin_ns (round);
  double most_ns = hass_round_total_work (round) / cpu_rate / HOST_TIME;
  gboolean opening = FALSE, unknown = FALSE;
  double rate = 0;
  for (guint d = 0; d < s->n; d++)
    {
      const HassDeviceTraits *t = &s->env->devices[d];
      if (d == s->cpu || s->members[d].failed || s->members[d].hopeless)
        continue;
      opening |= t->opening && t->opens_at_ns > begin_ns
                 && t->opens_at_ns - begin_ns < most_ns;
      unknown |= !hass_auto_known (s, round, d);
      rate += MAX (s->members[d].prior_rate, s->plan[d].rate);
    }
  /* Cores ask for each unit then: not too often, all together. */
  if (!opening || s->now_ns - begin_ns >= most_ns
      || s->unit_work * cores
             < START_UNIT_NS * cpu_rate * MAX (cores / START_CORES, 1)
      || !links_allow (s, round, cpu_rate))
    return 0;
  if (unknown)
    return cores / START_PART;
  return cpu_rate < HASS_AUTO_TRIFLE * rate ? cores - 1 : 0;
}

/* Units for the others then, one for each that has none. */
static guint64
units_beside_start (const HassAuto *s, const HassRound *round, guint left)
{
  gint64 others = (gint64)s->env->devices[s->cpu].cores - left;
  return (guint64)MAX (others - hass_auto_core_units (s, round), 0);
}

/* While a GPU is not measured: one long unit for each core that asks, since
   what is in a share cores take without asking, and a GPU may be slow to open.
   None where its first grant, half done, or another GPU shows that cores could
   do but a trifle, or that they would be late. When nothing is back all cores
   but one wait for it, but not for long: it may be of no use. In a long round
   all do, as its first bundle is a small part of that; and when a GPU is about
   to open all but one do. That one, too, waits for a time that is short beside
   what cores need without GPUs; then it sees whether it takes too long. */
static guint64
long_unit (HassAuto *s, const HassRound *round, double unit_ns, double cpu_rate,
           HassGrant *grant)
{
  double so_far = rate_so_far (s, round);
  double rate = so_far + settled_rate (s, round);
  double left = s->unit_work * hass_round_waiting (round);
  s->why = "cores could do but a trifle of what a GPU does, or would be late";
  if (cpu_rate < HASS_AUTO_TRIFLE * rate
      || (so_far > 0 && left / rate < unit_ns))
    return 0;
  s->why = "units are long, and a GPU is not measured yet";
  gboolean many = hass_round_waiting (round)
                  >= MANY_WAVES * (guint64)s->env->devices[s->cpu].cores;
  gboolean busy = hass_auto_busy (s, round, s->cpu);
  double cpu_ns = left / cpu_rate;
  if (so_far == 0 && measured_soon (s, round, unit_ns)
      && (many || busy || may_wait (s, cpu_ns, grant)))
    return 0;
  s->why = "until a GPU is open that soon will be, because units are long";
  double soon_ns = busy ? LONGER * unit_ns : WAIT_PART * cpu_ns;
  if (is_long (s, round) && opens_within (s, round, soon_ns, unit_ns)
      && (busy || may_wait (s, cpu_ns, grant)))
    return 0;
  s->why = "some cores are left to a GPU that is being started";
  if (left_to_host (s, round, unit_ns, cpu_ns))
    return 0;
  s->why = "one unit, because units are long and a GPU is not measured yet";
  return 1;
}

/* How many of these units at the cores' end end in time, if one core after
   another takes the next: fewer where costs are known and one of them would
   outlast the round. At least the first, which the plan counts on. */
static guint64
units_in_time (const HassAuto *s, const HassRound *round, guint64 units)
{
  guint64 lo = hass_round_front (round), hi = hass_round_back (round);
  double rate = s->plan[s->cpu].rate, begun = 0;
  double core_rate = rate / MAX (s->env->devices[s->cpu].cores, 1);
  if (s->longest <= core_rate * s->finish_ns)
    return units;
  units = MIN (units, hi - lo);
  for (guint64 i = 0; i < units; i++)
    {
      double work
          = hass_round_work (round, s->reversed ? hi - 1 - i : lo + i, 1);
      if (i > 0 && begun / rate + work / core_rate > s->finish_ns)
        return i;
      begun += work;
    }
  return units;
}

/* Units for the cores before they ask again; 0: none. */
static guint64
cpu_units (HassAuto *s, HassRound *round, gboolean force, HassGrant *grant)
{
  guint cores = MAX (s->env->devices[s->cpu].cores, 1);
  guint64 waiting = hass_round_waiting (round),
          kept = hass_auto_kept_units (s, round);
  s->why = "what waits is kept for GPUs that nobody knows";
  if (waiting <= kept && !force)
    return 0;
  gboolean measured = hass_auto_measured (s, round, s->cpu);
  gboolean all_known = hass_auto_all_known (s, round);
  if (!hass_auto_known (s, round, s->cpu) || (!measured && !all_known))
    return first_units (s, round, waiting, cores, force);
  hass_auto_make_plan (s, round, s->cpu);
  const HassRunner *r = &s->plan[s->cpu];
  s->why = "a core would still be busy when all else is done";
  if (!r->runs)
    return force ? 1 : 0;
  double unit_ns = hass_auto_unit_ns (s, round);
  guint64 most = MAX (waiting - MIN (kept, waiting), 1);
  gboolean long_units = hass_auto_long_units (s) && !force;
  gboolean may_join = unseen_gpu (s) || !all_known;
  /* A unit cannot be taken back. Another bundle will soon tell more, or a few
     where another GPU is closed and costs are equal. */
  s->why = "until a GPU has shown more, because units are long";
  if (long_units && (!may_join || s->env->cost == HASS_COST_EQUAL)
      && hass_auto_warming_up (s, round, unit_ns, may_join))
    return 0;
  /* While a GPU may turn up at any moment, not far ahead: cores that pull
     from a share cannot be told that they would be late. And no second unit
     that is so long that a fast GPU would have to wait for it. */
  if (long_units && may_join)
    return long_unit (s, round, unit_ns, r->rate, grant);
  guint left = force ? 0 : left_to_start (s, round, r->rate);
  if (left > 0)
    {
      s->why = "some cores are left to a GPU that is being started";
      return MIN (units_beside_start (s, round, left), most);
    }
  if (!all_known && !force)
    {
      s->why = "not far ahead of a GPU that is not measured yet";
      return CLAMP (units_of (s, round, AHEAD_NS * r->rate), cores,
                    MAX (most, cores));
    }
  if (LONG_PART * s->finish_ns < unit_ns && !force
      && !hass_auto_all_settled (s, round, TRUE))
    return 0;
  /* Nearly all that the cores will do; but the last two units of each core
     one by one, because a core that pulls late would be late. */
  s->why = "most of its part";
  double part = measured ? CPU_PART : CPU_PART / 2;
  if (s->reversed && s->listed)
    part = REVERSED_PART;
  double ns
      = MIN (part * (s->finish_ns - r->ready_ns), s->finish_ns - 2 * unit_ns);
  if (ns < LEAST_SHARE_NS / cores)
    s->why = "one unit, that ends in time";
  guint64 units
      = units_of (s, round, MAX (ns, LEAST_SHARE_NS / cores) * r->rate);
  units = MIN (units, most);
  guint64 in_time = force ? units : units_in_time (s, round, units);
  if (in_time < units)
    s->why = "as many as end before one that would outlast the round";
  return in_time;
}

HassAnswer
hass_auto_grant_cpu (HassAuto *s, HassRound *round, gboolean force,
                     HassGrant *grant)
{
  grant->chunk = 1;
  grant->source = HASS_FROM_SHARE;
  grant->share = s->cpu;
  if (hass_auto_cpu_share (s, round) > 0)
    return HASS_TAKE;
  double work;
  guint64 units = 0;
  if (hass_auto_guard_waits (s, round, s->cpu, force, &work))
    s->why = "while another device is measured alone";
  else if (work > 0)
    {
      units = MAX (units_of (s, round, work), s->env->devices[s->cpu].cores);
      units = MIN (units, hass_round_waiting (round));
      s->why = "to be measured alone";
    }
  else
    units = cpu_units (s, round, force, grant);
  if (units == 0 && hass_round_exclusive (round, s->cpu) == 0)
    return HASS_WAIT;
  gboolean common = hass_round_back (round) > hass_round_front (round);
  if (s->reversed && s->listed && common && units > 0)
    {
      grant->source = HASS_FROM_BACK;
      grant->units = units;
    }
  else if (s->reversed && common && units > 0)
    {
      s->share_back = hass_round_back (round);
      hass_round_carve_back (round, s->cpu, units);
    }
  else if (common && units > 0)
    {
      s->counts[s->cpu] = units;
      s->share_back
          = MIN (hass_round_front (round) + units, hass_round_back (round));
      hass_round_carve (round, s->counts);
    }
  else
    {
      /* What was given back, or what only cores can run. */
      grant->source = HASS_FROM_FRONT;
      grant->units = MAX (units, 1);
    }
  return HASS_TAKE;
}
