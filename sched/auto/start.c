/* SPDX-License-Identifier: MIT */
/* start.c: what cores get while a GPU is not measured yet, or is being started.

   DESIGN. Before a core has finished a unit all rates are unknown. A long unit
   that a core has begun delays the round if a GPU turns out to be far faster.
   So each rule here keeps cores idle for a while, which is short beside the
   time that the cores alone would need, in case the GPU is of no use.

   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#include <math.h>

/* A round with at least this many units per core and GPU is long: then one core
   begins, and the others wait until a GPU is measured. A guess: less makes
   cores idle in rounds too short for that. */
#define FIRST_WAVES 16
/* Assumed rate of a core that computes little for each byte, in bytes per ns; a
   core is compared by it with the links of the GPUs. A guess, below the rates
   that searches of text reach. Too high, and cores wait for GPUs that are no
   faster. */
#define SLOWEST_CORE 0.2
/* A unit may take LONGER times as long when all cores are busy as the first one
   did on a quiet machine: cores wait for a GPU no longer than that. A guess:
   more, and cores wait longer for a GPU that is of no use. */
#define LONGER 2
/* A GPU that has not opened for the time of OVERDUE units after the predicted
   time is no longer expected. A guess: more, and cores wait for one that never
   opens. */
#define OVERDUE 2
/* In a round that is not long cores wait for a GPU that is predicted to open
   within this part of a unit's time, with all such waits of a round for twice
   as long: they may lose a unit's time if they begin another. A guess. */
#define SOON_PART 0.5
/* Before a core has finished a unit, one is assumed to take a core at most as
   long as a filled GPU needs for CORE_TIMES of them. A guess: GPUs are 2 to
   1000 times as fast as a core. More, and cores are tried late; less, and a
   round of few units waits for a core. */
#define CORE_TIMES 64
/* In a round with so few units that cores wait for the first bundle of a GPU,
   they wait this long, in ns, at most. A guess: the GPU may never answer, and
   less begins units that it would do sooner. */
#define MOST_WAIT_NS 1e9
/* So long, in ns, cores wait in such a round for a GPU that is predicted to
   open, before that time and after it: longer than a GPU takes that an earlier
   farm of the process has opened. A guess: more, and short units wait for a
   driver to start. */
#define SOON_NS 1e7
/* All cores may wait for a GPU, in all of a round, for this fraction of the
   time that they alone would need for the rest of it. A guess: more costs more
   if the GPU is of no use. */
#define WAIT_PART 0.025
/* The engine opens a GPU only if the round lasts at least OPENINGS times as
   long as opening it takes, see HassDeviceTraits. With another value the
   strategy would count on GPUs that are never opened. */
#define OPENINGS 2

/* -- What GPUs show ----------------------------------------------------- */

static gboolean
unmeasured_gpu (const HassAuto *s, const HassRound *round, guint device)
{
  return device != s->k.u.cpu
         && !hass_estimates_measured (&s->k.e, round, device);
}

/* Returns the rate, in work per ns, of the participating GPUs whose rate is
   settled: more than a first bundle, which may have been a warm-up, has been
   measured. 0: there are none. */
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

/* Returns the rate, in work per ns, of the unmeasured GPUs that are in the
   middle of their first grant, from the parts of it that are already back; 0:
   none is. */
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

/* Returns the sum of the rates of all GPUs' links, in bytes per ns; INFINITY if
   a GPU needs no link because it shares the host's memory. */
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

/* Returns TRUE if an unmeasured GPU is predicted to open within ns from now, or
   should have opened by now but is late by less than OVERDUE units of unit_ns
   each. */
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

gboolean
hass_auto_closed (const HassAuto *s, const HassRound *round, guint device)
{
  const HassDeviceTraits *t = &s->k.u.devices[device];
  double now_ns = MAX (s->k.f.now_ns, hass_round_begin_ns (round));
  return t->opening
         && (t->opens_at_ns > 0 ? t->opens_at_ns > now_ns + s->plan.finish_ns
                                : s->plan.finish_ns < OPENINGS * t->opening_ns);
}

/* -- First units -------------------------------------------------------- */

/* Returns TRUE if the round has many units for each core and there is a GPU
   whose rate is unknown; then it is worth waiting for what that GPU shows. */
static gboolean
is_long (const HassAuto *s, const HassRound *round)
{
  const HassUnits *u = &s->k.u;
  return u->n > 1 && !hass_forecast_all_known (&s->k.f, round)
         && hass_round_units (round)
                >= FIRST_WAVES * (guint64)u->cores * (u->n - 1);
}

/* Returns TRUE if the cores may be as fast as the GPUs whose rate is settled
   (measured by more than one bundle). The cores' first units are still running,
   so their rate is at most that of units that end now: cores * work of a unit /
   time since the round began. */
static gboolean
may_be_as_fast (const HassAuto *s, const HassRound *round, guint cores)
{
  double rate = settled_rate (s, round);
  double past_ns = s->k.f.now_ns - hass_round_begin_ns (round);
  return rate > 0 && rate * past_ns <= cores * s->k.u.work;
}

/* Returns TRUE if the round is mostly data and the links of the GPUs need
   longer to copy all of it than a core that computes little needs for one unit.
   Then the cores need not wait for a GPU to be measured: a unit that a core
   begins ends before the GPUs could do the round. */
static gboolean
copies_take_long (const HassAuto *s, const HassRound *round)
{
  return hass_units_are_data (round)
         && hass_round_units (round) * SLOWEST_CORE >= links_of (&s->k.u);
}

/* Returns TRUE if all cores may wait for a GPU now, and sets in the grant how
   long at most, in ns: all such waits of a round together take at most most_ns.
   The clock is known from completions alone: when none has come since the last
   wait began, that has lasted as long as it could. */
gboolean
hass_auto_may_wait (HassAuto *s, double most_ns, HassGrant *grant)
{
  HassAutoWait *w = &s->wait;
  if (w->ns > 0 && w->told == s->k.f.n_told)
    w->waited_ns += w->ns;
  else if (w->ns > 0)
    w->waited_ns += MIN (s->k.f.now_ns - w->from_ns, w->ns);
  w->ns = MAX (most_ns - w->waited_ns, 0);
  w->told = s->k.f.n_told;
  w->from_ns = s->k.f.now_ns;
  grant->within_ns = (gint64)MIN (w->ns, 1e18);
  return grant->within_ns > 0;
}

/* Returns how many units a filled GPU is assumed to do while a core does one:
   if they are thread blocks, one on each multiprocessor; else fewer if their
   elements are known to be so few that they need few of its threads. */
double
hass_auto_core_times (const HassUnits *u, guint device)
{
  if (u->blocks)
    return u->devices[device].cores;
  return u->elements > 0
             ? MIN (CORE_TIMES, u->elements / HASS_AUTO_CORE_THREADS)
             : CORE_TIMES;
}

/* Returns TRUE if the round has so few units that one on a core may take longer
   than GPUs need for all. */
gboolean
hass_auto_few_units (const HassUnits *u, const HassRound *round)
{
  double times = 0;
  for (guint d = 0; d < u->n; d++)
    times += d == u->cpu ? 0 : hass_auto_core_times (u, d);
  return hass_round_units (round) < times;
}

/* Returns TRUE if the GPU is predicted to open within SOON_NS from now, or
   should have opened since as long. */
static gboolean
opens_soon (const HassAuto *s, const HassRound *round, guint device)
{
  const HassDeviceTraits *t = &s->k.u.devices[device];
  double now_ns = MAX (s->k.f.now_ns, hass_round_begin_ns (round));
  return t->opening && t->opens_at_ns > 0
         && fabs (t->opens_at_ns - now_ns) < SOON_NS;
}

/* Returns how long, in ns, cores may wait for a GPU that is open, or soon will
   be, and will show its rate by a first bundle; 0: there is none. */
double
hass_auto_shows_within (const HassAuto *s, const HassRound *round)
{
  double ns = 0;
  for (guint d = 0; d < s->k.u.n; d++)
    {
      gboolean opens = opens_soon (s, round, d);
      if (unmeasured_gpu (s, round, d) && (opens || !s->k.u.devices[d].opening)
          && !hass_forecast_out (&s->k.f, d)
          && s->k.f.seats[d].copy_ns < HASS_AUTO_LONG_COPY_NS)
        ns = MAX (ns, opens ? SOON_NS : MOST_WAIT_NS);
    }
  return ns;
}

/* Returns the rate, in work per ns, of a filled GPU that is open or soon will
   be: what it has shown or, before, had in earlier runs; 0: unknown. Where a
   round has few thread blocks, it could not fill the GPU in earlier runs
   either. */
static double
shown_rate (const HassAuto *s, const HassRound *round, guint device)
{
  const HassUnits *u = &s->k.u;
  const HassDeviceTraits *t = &u->devices[device];
  if (device == u->cpu || hass_forecast_out (&s->k.f, device))
    return 0;
  if (s->k.e.of[device].n_done > 0
      && hass_estimates_measured (&s->k.e, round, device))
    return 1 / hass_estimates_fit (&s->k.e, round, device, TRUE)->ns_per_work;
  if (!u->env->profile || (t->opening && !opens_soon (s, round, device)))
    return 0;
  double filled
      = u->blocks ? MIN (1, hass_round_units (round) / (double)t->cores) : 1;
  return u->env->profile[device].work_per_ns / filled;
}

double
hass_auto_spent_ns (const HassAuto *s, double round_ns)
{
  const HassProfileRate *profile = s->k.u.env->profile;
  guint runs = 0;
  for (guint d = 0; d < s->k.u.n && profile; d++)
    runs = MAX (runs, profile[d].runs);
  return s->k.f.spent_ns + runs * round_ns;
}

/* Returns TRUE if one unit on a core may take longer than the GPUs whose rate
   is known need for all that waits, and for more than little of the time that
   has passed; sets whether there is such a GPU. */
static gboolean
outlasts_gpus (const HassAuto *s, const HassRound *round, gboolean *known)
{
  double rate = 0, fill_ns = 0, unit_ns = INFINITY;
  const HassUnits *u = &s->k.u;
  for (guint d = 0; d < u->n; d++)
    {
      double its = shown_rate (s, round, d);
      if (!(its > 0))
        continue;
      rate += its;
      fill_ns = MAX (fill_ns, hass_units_fill_work (u, d) / its);
      unit_ns = MIN (unit_ns, hass_auto_core_times (u, d) * u->work / its);
    }
  *known = rate > 0;
  double left_ns = MAX (fill_ns, u->work * hass_round_waiting (round) / rate);
  double spent_ns
      = hass_auto_spent_ns (s, hass_round_total_work (round) / rate);
  return rate > 0 && unit_ns > left_ns + HASS_AUTO_TRIED_PART * spent_ns;
}

gboolean
hass_auto_cores_sit_out (const HassAuto *s, const HassRound *round)
{
  gboolean known;
  return s->k.u.cpu < s->k.u.n && hass_auto_few_units (&s->k.u, round)
         && !hass_estimates_known (&s->k.e, round, s->k.u.cpu)
         && outlasts_gpus (s, round, &known);
}

/* Returns the number of first units for the cores while no core has finished
   any; 0: none now. Usually one for each core, all at once, as cores that ask
   one by one wait for each other. In a long round one core begins: it shows the
   rate as well, often much sooner as it has caches and memory to itself, and a
   GPU that is far faster need not wait for the slowest of many units. The other
   cores follow as soon as a GPU shows that it is not far faster, or at once
   where no GPU can be. In a round of few units no core begins one before a GPU
   that is open, or soon will be, has shown its rate, here or in earlier runs,
   nor after that where the GPUs may do all sooner; else one begins. */
guint64
hass_auto_first_units (HassAuto *s, const HassRound *round, guint64 waiting,
                       gboolean force, HassGrant *grant)
{
  gboolean few = hass_auto_few_units (&s->k.u, round) && !force, known = FALSE;
  guint cores = s->k.u.cores;
  guint64 kept = hass_forecast_kept_units (&s->k.f, round);
  guint64 most = CLAMP (waiting - MIN (kept, waiting), 1, cores);
  gint64 given = s->k.f.seats[s->k.u.cpu].units;
  if (is_long (s, round) && !copies_take_long (s, round)
      && !may_be_as_fast (s, round, cores))
    most = 1;
  s->why = "a unit may take a core longer than GPUs need for all";
  if (few && outlasts_gpus (s, round, &known))
    return 0;
  s->why = "until a GPU has shown its rate, because units are few";
  if (few && !known && !copies_take_long (s, round)
      && hass_auto_may_wait (s, hass_auto_shows_within (s, round), grant))
    return 0;
  if (few && known)
    most = 1;
  s->why = "first units of cores";
  if (given < (gint64)most)
    return most - (guint64)given;
  s->why = "until a core has finished its first unit";
  return force ? 1 : 0;
}

/* -- Long units --------------------------------------------------------- */

/* Returns TRUE if an unmeasured GPU has had its first bundle for less than
   LONGER units' time, so that its rate will be known soon. A bound of one unit
   would be too short, as the time of a unit was measured on a quiet machine. */
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

/* Returns how many units a core gets that asks while units are long and a GPU
   is not measured yet: 1, or 0 if it waits. No share is cut, since cores take
   units of a share without asking, and the GPU may be slow to open.
   A core gets none where the cores are negligible beside the GPUs, or would end
   late, as a GPU's half-done first grant or another GPU shows. In a long round
   all cores but one wait while a GPU's first bundle is in flight, or a GPU is
   about to open; that one waits for a time that is short beside what the cores
   alone need. In other rounds all wait for a GPU that opens within a part of a
   unit's time. */
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
  gboolean busy = hass_forecast_busy (&s->k.f, round, s->k.u.cpu);
  double cpu_ns = left / cpu_rate;
  if (so_far == 0 && measured_soon (s, round, unit_ns)
      && (busy || hass_auto_may_wait (s, WAIT_PART * cpu_ns, grant)))
    return 0;
  s->why = "until a GPU is open that soon will be, because units are long";
  gboolean many = is_long (s, round);
  double most_ns = many ? WAIT_PART * cpu_ns : 2 * SOON_PART * unit_ns;
  double soon_ns = !many  ? SOON_PART * unit_ns
                   : busy ? LONGER * unit_ns
                          : WAIT_PART * cpu_ns;
  if (opens_within (s, round, soon_ns, unit_ns)
      && ((many && busy) || hass_auto_may_wait (s, most_ns, grant)))
    return 0;
  s->why = "one unit, because units are long and a GPU is not measured yet";
  return 1;
}
