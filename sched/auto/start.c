/* SPDX-License-Identifier: MIT */
/* start.c: what cores get while a GPU is not measured yet, or is being started.

   DESIGN. Before a core has finished anything the rates are unknown; a long
   unit that a core has begun delays the round if a GPU turns out to be far
   faster; and a GPU's start and its first bundle are work of the host, which
   takes longer beside busy cores. Each rule here keeps cores idle for a time
   that is short beside what the cores alone would need, should the GPU be of no
   use.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

/* Units per core and GPU from which on a round is long: then one core begins. A
   guess. */
#define FIRST_WAVES 16
/* Bytes per ns of a unit on a core that computes little; a guess below what
   searches reach. */
#define SLOWEST_CORE 0.2
/* First units of cores: no more than such a part of the round; a guess. */
#define FIRST_PART 16
/* Units per core that make a round so long that all cores wait for a GPU's
   first bundle. A guess. */
#define MANY_WAVES 200
/* A unit may take so many times longer when all cores are busy; a GPU is
   overdue after so many units, and no longer expected. Guesses. */
#define LONGER 2
#define OVERDUE 2
/* One core in HOST_PART is left to a GPU's start where units are long, for one
   part in HOST_TIME of what the cores alone would need; guesses. */
#define HOST_PART 8
#define HOST_TIME 16
/* Of what the cores alone need for the rest of a round: all may wait as long.
 */
#define WAIT_PART 0.025
/* One core in START_PART is left to the start of an unknown GPU where units are
   short. On 16 cores a start of 0.6 s took 11 % longer beside busy cores than
   beside idle ones, 5 % where half of them were busy. */
#define START_PART 2
/* But a unit of all cores takes at least so long, and longer with more cores:
   cores ask for each unit then, all together. A guess. */
#define START_UNIT_NS 5e5
#define START_CORES 16.
/* Links have to allow GPUs to be so many times faster than the cores. A guess.
 */
#define FAR_FASTER 5

/* -- What GPUs show ----------------------------------------------------- */

static gboolean
unmeasured_gpu (const HassAuto *s, const HassRound *round, guint device)
{
  return device != s->k.u.cpu
         && !hass_estimates_measured (&s->k.e, round, device);
}

/* Work per ns of the participating GPUs of which more than a first bundle,
   which may have been a warm-up, is known. */
static double
settled_rate (const HassAuto *s, const HassRound *round)
{
  double rate = 0;
  for (guint d = 0; d < s->k.u.n; d++)
    if (d != s->k.u.cpu && s->k.e.of[d].n_done > 1
        && !hass_forecast_out (&s->k.f, d)
        && hass_auto_arm_has (&s->k.u, s->guard.arm, d)
        && !hass_auto_costs_more (&s->k, s->guard.arm, d)
        && hass_estimates_measured (&s->k.e, round, d))
      rate += 1 / hass_estimates_fit (&s->k.e, round, d, TRUE)->ns_per_work;
  return rate;
}

/* Work per ns of the GPUs that are in the middle of their first grant; its
   parts are counted as they come back. */
static double
rate_so_far (const HassAuto *s, const HassRound *round)
{
  double rate = 0;
  for (guint d = 0; d < s->k.u.n; d++)
    {
      HassProgress p = { 0 };
      if (unmeasured_gpu (s, round, d) && s->k.f.seats[d].n_bundles > 0)
        p = hass_round_progress (round, d);
      rate += p.busy_ns > 0 ? p.work / p.busy_ns : 0;
    }
  return rate;
}

/* Bytes per ns of all GPUs' links; INFINITY: a GPU needs none. */
static double
links_of (const HassUnits *u)
{
  double links = 0;
  for (guint d = 0; d < u->n; d++)
    {
      double link = u->devices[d].link_bytes_per_ns;
      if (d != u->cpu)
        links += link > 0 ? link : INFINITY;
    }
  return links;
}

/* A GPU that opens within so long, or should have by now. */
static gboolean
opens_within (const HassAuto *s, const HassRound *round, double ns,
              double unit_ns)
{
  for (guint d = 0; d < s->k.u.n; d++)
    {
      const HassDeviceTraits *t = &s->k.u.devices[d];
      double in_ns = t->opens_at_ns - s->k.f.now_ns;
      if (t->opening && t->opens_at_ns > 0 && unmeasured_gpu (s, round, d)
          && in_ns < ns && in_ns > -OVERDUE * unit_ns)
        return TRUE;
    }
  return FALSE;
}

/* -- First units -------------------------------------------------------- */

/* A round with many units for each core, and unknown GPUs. */
static gboolean
is_long (const HassAuto *s, const HassRound *round)
{
  const HassUnits *u = &s->k.u;
  return u->n > 1 && !hass_forecast_all_known (&s->k.f, round)
         && hass_round_units (round)
                >= FIRST_WAVES * (guint64)u->cores * (u->n - 1);
}

/* If their first units ended now the cores would be as fast as the GPUs. */
static gboolean
may_be_as_fast (const HassAuto *s, const HassRound *round, guint cores)
{
  double rate = settled_rate (s, round);
  double past_ns = s->k.f.now_ns - hass_round_begin_ns (round);
  return rate > 0 && rate * past_ns <= cores * s->k.u.work;
}

/* Units are data that GPUs have to copy: by their links alone the round takes
   them longer than one unit takes a core that computes little. */
static gboolean
copies_take_long (const HassAuto *s, const HassRound *round)
{
  return hass_units_are_data (round)
         && hass_round_units (round) * SLOWEST_CORE >= links_of (&s->k.u);
}

/* One unit for each core, all at once, as cores that ask one by one wait for
   each other. A long round one core begins: it shows the rate as well, often
   much sooner as it has caches and memory to itself, and a GPU that is far
   faster need not wait for the slowest of many. The others follow as soon as a
   GPU shows that it is not, or at once where no GPU can be. */
guint64
hass_auto_first_units (HassAuto *s, const HassRound *round, guint64 waiting,
                       gboolean force)
{
  guint cores = s->k.u.cores;
  guint64 most = CLAMP (waiting / FIRST_PART, 1, cores);
  gint64 given = s->k.f.seats[s->k.u.cpu].units;
  if (is_long (s, round) && !copies_take_long (s, round)
      && !may_be_as_fast (s, round, cores))
    most = 1;
  s->why = "first units of cores";
  if (given < (gint64)most)
    return most - (guint64)given;
  s->why = "until a core has finished its first unit";
  return force ? 1 : 0;
}

/* -- Long units --------------------------------------------------------- */

/* A GPU has its first bundle, not for longer than two units take: before, the
   time of a unit was known to one unit only. */
static gboolean
measured_soon (const HassAuto *s, const HassRound *round, double unit_ns)
{
  for (guint d = 0; d < s->k.u.n; d++)
    {
      const HassSeat *m = &s->k.f.seats[d];
      if (unmeasured_gpu (s, round, d) && m->n_bundles > 0
          && s->k.f.now_ns - m->since_ns < LONGER * unit_ns)
        return TRUE;
    }
  return FALSE;
}

/* All cores wait for a GPU, in all of a round no longer than costs little
   should it be of no use. Time is known by completions: when none has come
   since, the wait has lasted as long as it could. */
static gboolean
may_wait (HassAuto *s, double cpu_ns, HassGrant *grant)
{
  HassAutoWait *w = &s->wait;
  if (w->ns > 0 && w->told == s->k.f.n_told)
    w->waited_ns += w->ns;
  else if (w->ns > 0)
    w->waited_ns += MIN (s->k.f.now_ns - w->from_ns, w->ns);
  w->ns = MAX (WAIT_PART * cpu_ns - w->waited_ns, 0);
  w->told = s->k.f.n_told;
  w->from_ns = s->k.f.now_ns;
  grant->within_ns = (gint64)MIN (w->ns, 1e18);
  return grant->within_ns > 0;
}

/* An eighth of the cores is left to a GPU that is being started, or in whose
   first bundle libraries are: a thread that shares a core with a long unit
   needs much longer for it. But not for long, and not where a unit takes
   longer. */
static gboolean
left_to_host (const HassAuto *s, const HassRound *round, double unit_ns,
              double cpu_ns)
{
  const HassUnits *u = &s->k.u;
  gint64 cores = u->cores;
  double most_ns = cpu_ns / HOST_TIME;
  gboolean starting = opens_within (s, round, most_ns, most_ns / OVERDUE);
  for (guint d = 0; d < u->n; d++)
    {
      const HassSeat *m = &s->k.f.seats[d];
      starting |= d != u->cpu && s->k.e.of[d].n_done == 0 && m->n_bundles > 0
                  && s->k.f.now_ns - m->since_ns < most_ns;
    }
  return starting && most_ns >= unit_ns
         && hass_forecast_core_units (&s->k.f, round)
                >= cores - cores / HOST_PART;
}

/* One long unit for each core that asks: what is in a share cores take without
   asking, and a GPU may be slow to open. None where a GPU's first grant, half
   done, or another GPU shows that the cores are negligible, or that they would
   be late. When nothing is back all cores but one wait for it, but not for
   long. In a long round all do, as the GPU's first bundle is a small part of
   that; and when a GPU is about to open all but one do. That one waits too, for
   a time that is short beside what the cores need without GPUs. */
guint64
hass_auto_long_unit (HassAuto *s, const HassRound *round, double unit_ns,
                     double cpu_rate, HassGrant *grant)
{
  double so_far = rate_so_far (s, round);
  double rate = so_far + settled_rate (s, round);
  double left = s->k.u.work * hass_round_waiting (round);
  s->why = "cores are negligible beside a GPU, or would be late";
  if (cpu_rate < HASS_AUTO_NEGLIGIBLE * rate
      || (so_far > 0 && left / rate < unit_ns))
    return 0;
  s->why = "units are long, and a GPU is not measured yet";
  gboolean many
      = hass_round_waiting (round) >= MANY_WAVES * (guint64)s->k.u.cores;
  gboolean busy = hass_forecast_busy (&s->k.f, round, s->k.u.cpu);
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

/* -- Short units -------------------------------------------------------- */

/* The links allow GPUs to be far faster than the cores. */
static gboolean
links_allow (const HassUnits *u, const HassRound *round, double cpu_rate)
{
  double bytes = (double)hass_units_middle_bytes (round);
  return links_of (u) * u->work > FAR_FASTER * bytes * cpu_rate;
}

/* How many cores are left to a GPU that should open soon in this round: half of
   them where a GPU is unknown, all but one where the cores are known to be
   negligible. */
guint
hass_auto_left_to_start (const HassAuto *s, const HassRound *round,
                         double cpu_rate)
{
  const HassUnits *u = &s->k.u;
  guint cores = u->cores;
  gint64 begin_ns = hass_round_begin_ns (round);
  double most_ns = hass_round_total_work (round) / cpu_rate / HOST_TIME;
  gboolean opening = FALSE, unknown = FALSE;
  double rate = 0;
  for (guint d = 0; d < u->n; d++)
    {
      const HassDeviceTraits *t = &u->devices[d];
      if (d == u->cpu || s->k.f.seats[d].failed || s->k.f.seats[d].hopeless)
        continue;
      opening |= t->opening && t->opens_at_ns > begin_ns
                 && t->opens_at_ns - begin_ns < most_ns;
      unknown |= !hass_estimates_known (&s->k.e, round, d);
      rate += MAX (s->k.e.of[d].prior_rate, s->plan.runners[d].rate);
    }
  if (!opening || s->k.f.now_ns - begin_ns >= most_ns
      || u->work * cores
             < START_UNIT_NS * cpu_rate * MAX (cores / START_CORES, 1)
      || !links_allow (u, round, cpu_rate))
    return 0;
  if (unknown)
    return cores / START_PART;
  return cpu_rate < HASS_AUTO_NEGLIGIBLE * rate ? cores - 1 : 0;
}
