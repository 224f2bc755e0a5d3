/* SPDX-License-Identifier: MIT */
/* solo.c: see solo-private.h.
   Thread safety: as hass/strategy.h. */
#include "solo-private.h"

#include <math.h>
#include <string.h>

/* A device that is measured while the others are idle gets work for about this
   fraction of the round's time. A guess: more measures better and costs more
   idle time of the others. */
#define PROBE_PART 0.01
/* Where a measurement alone would take more than this fraction of the round's
   time, the device is not measured but tried with a whole round. A guess: more
   costs more idle time in a round. */
#define MOST_PROBE_PART 0.3
/* A measurement waits until it takes less than this fraction of the time of all
   rounds so far. A guess: less measures later, more makes the first rounds
   slower. */
#define PROBE_COST 0.08
/* Number of rounds between two measurements of a device alone. A guess: rates
   change slowly, and each measurement costs idle time. */
#define PROBE_ROUNDS 64
/* A device with less than this fraction of the sum of all rates is not measured
   alone: it could compute a round faster alone only if the others slowed it
   down more than threefold. */
#define PROBE_SHARE (1 / 3.)
/* Assumed time of a round on a device alone, over its plan, where a round is
   too short to measure the device in it. Below 1 it makes the guard give a
   whole round to a device that would do most of the work anyway, and so measure
   it. A guess: less tries slow devices. */
#define TRIED_FACTOR 0.75
/* Assumed time of a round on a device alone, over its plan, where costs of
   units are unknown: the device may seem fast only because its units were cheap
   ones. A guess: less tries slow devices, more never tries a fast one. */
#define DOUBTED_FACTOR 1.4
/* At most this fraction of a measured time is taken to be the fixed latency of
   a bundle; the rest is time of its work. A guess: with 1 a short measurement
   would show an infinite rate. */
#define MOST_FIXED 0.9

void
hass_auto_solo_init (HassAutoSolo *s, HassAutoKnown *k, HassAutoGuard *g)
{
  *s = (HassAutoSolo){ .k = k, .g = g, .device = k->u.n, .again_at = 1 };
  s->of = g_new0 (HassAutoAlone, MAX (k->u.n, 1));
}

void
hass_auto_solo_clear (HassAutoSolo *s)
{
  g_free (s->of);
}

void
hass_auto_solo_begin (HassAutoSolo *s, const HassRound *round)
{
  guint n = s->k->u.n;
  s->device = n;
  s->probing = s->probed = s->later = FALSE;
  if (s->g->chosen)
    s->probing = s->g->arm == n && s->g->used == n
                 && hass_round_number (round) >= s->again_at
                 && s->k->u.env->farm != HASS_FARM_FUNCTION;
}

/* -- Whether ------------------------------------------------------------ */

/* Returns the work with which a device is measured while the others are idle:
   little, but enough to show its rate, which is a unit for each core of the CPU
   pool, or what fills a GPU and takes at least as long as a launch. */
static double
solo_work (const HassAutoSolo *s, const HassRound *round, const HassPlan *plan,
           guint device)
{
  double rate = plan->runners[device].rate;
  double work = PROBE_PART * s->g->planned_ns * rate;
  if (device == s->k->u.cpu)
    return MAX (work, s->k->u.work * s->k->u.devices[device].cores);
  double fixed_ns
      = hass_estimates_fit (&s->k->e, round, device, TRUE)->fixed_ns;
  return MAX (MAX (work, hass_units_fill_work (&s->k->u, device)),
              MAX (fixed_ns * rate, s->k->u.work));
}

/* Returns TRUE if the GPU cannot compute the round alone sooner than all
   devices together do, since its kernels, which no other device slows down,
   would take longer than that. */
static gboolean
kernels_forbid (HassAutoSolo *s, guint device)
{
  const HassEstimate *m = &s->k->e.of[device];
  double ns = m->computed_work > 0
                  ? m->computed_ns / m->computed_work * s->g->round_work
                  : 0;
  if (s->k->u.env->cost == HASS_COST_UNKNOWN || ns < s->g->arms[s->k->u.n].ns)
    return FALSE;
  s->later = TRUE; /* Considered again in the next round: the time of all
                      devices may still turn out to be longer. */
  HASS_NOTE (s->k->u.env, "%s alone would need %.4g ms for kernels",
             s->k->u.devices[device].name, ns * 1e-6);
  return TRUE;
}

/* Returns TRUE if the device may be faster alone than with the others, by its
   fraction of the rates, and its last measurement is long ago. Of several alike
   devices only the first is measured; the others take over what it shows. */
static gboolean
may_win (const HassAutoSolo *s, const HassRound *round, const HassPlan *plan,
         guint device)
{
  const HassRunner *r = &plan->runners[device];
  double sum = 0;
  for (guint d = 0; d < s->k->u.n; d++)
    sum += plan->runners[d].runs ? plan->runners[d].rate : 0;
  for (guint d = 0; d < device; d++)
    if (hass_estimates_alike (&s->k->e, d, device))
      return FALSE;
  return s->of[device].again_at <= hass_round_number (round) && r->runs
         && r->rate >= PROBE_SHARE * sum && r->rate < sum;
}

/* Returns TRUE if the device should be measured alone in this round: it may
   win, and the measurement costs little of the time that has passed. In rounds
   too short for that the factor of the device alone is lowered instead, so that
   the guard tries it with a whole round. */
static gboolean
worth_probing (HassAutoSolo *s, const HassRound *round, const HassPlan *plan,
               guint device)
{
  gboolean unknown = s->k->u.env->cost == HASS_COST_UNKNOWN;
  if (!may_win (s, round, plan, device) || kernels_forbid (s, device))
    return FALSE;
  double ns = solo_work (s, round, plan, device) / plan->runners[device].rate
              + s->k->f.seats[device].copy_ns;
  if (!unknown && ns < MOST_PROBE_PART * s->g->planned_ns)
    {
      gboolean cheap = ns < PROBE_COST * s->k->f.spent_ns;
      s->later |= !cheap;
      return cheap;
    }
  HassAutoArm *arm = &s->g->arms[device];
  if (arm->rounds == 0)
    arm->factor = unknown ? DOUBTED_FACTOR : MIN (arm->factor, TRIED_FACTOR);
  return FALSE;
}

/* -- One after another -------------------------------------------------- */

static void
begin_one (HassAutoSolo *s, const HassRound *round, const HassPlan *plan,
           guint device)
{
  s->probed = TRUE;
  s->device = device;
  s->of[device].again_at = hass_round_number (round) + PROBE_ROUNDS;
  s->work = solo_work (s, round, plan, device);
  s->given = s->ns = 0;
  memcpy (s->fits, s->k->e.of[device].shown.fits, sizeof s->fits);
  s->seen = hass_round_progress (round, device);
}

/* Ends the measurement of a device while the others were idle: stores its fixed
   time and time per work, also for alike devices, and restores its estimates,
   which are of its speed beside the others. */
static void
end_one (HassAutoSolo *s, const HassRound *round, const HassPlan *plan)
{
  guint device = s->device;
  const HassDeviceTraits *t = &s->k->u.devices[device];
  HassAutoAlone *m = &s->of[device];
  double work = s->given, ns = s->ns;
  memcpy (s->k->e.of[device].shown.fits, s->fits, sizeof s->fits);
  m->fixed_ns = 0;
  if (device == s->k->u.cpu)
    {
      HassProgress p = hass_round_progress (round, device);
      work = p.work - s->seen.work;
      ns = p.busy_ns - s->seen.busy_ns;
    }
  else
    m->fixed_ns = MIN (t->latency_ns, MOST_FIXED * ns);
  if (!(work > 0) || !(ns > 0))
    return;
  m->ns_per_work = (ns - m->fixed_ns) / work;
  for (guint d = 0; d < s->k->u.n; d++)
    if (d != device && hass_estimates_alike (&s->k->e, d, device))
      {
        s->of[d].fixed_ns = m->fixed_ns;
        s->of[d].ns_per_work = m->ns_per_work;
      }
  HASS_NOTE (s->k->u.env, "%s alone would do %.4g work per ns, plan: %.4g",
             t->name, 1 / m->ns_per_work, plan->runners[device].rate);
}

/* Returns the next device to measure alone, or n if there is none. GPUs come
   first, as cores may still be in the middle of a unit. Without a CPU pool none
   is measured: GPUs share nothing but links, which plans take into account. */
static guint
next_one (HassAutoSolo *s, const HassRound *round, const HassPlan *plan)
{
  guint n = s->k->u.n, cpu = s->k->u.cpu;
  if (cpu == n || s->device == cpu)
    return n;
  for (guint d = s->device == n ? 0 : s->device + 1; d < n; d++)
    if (d != cpu && worth_probing (s, round, plan, d))
      return d;
  return worth_probing (s, round, plan, cpu) ? cpu : n;
}

/* Returns TRUE if the device that is being measured alone has been granted its
   work and has finished it. */
static gboolean
is_over (const HassAutoSolo *s, const HassRound *round)
{
  return s->given > 0 && !hass_forecast_busy (&s->k->f, round, s->device);
}

gboolean
hass_auto_solo_waits (HassAutoSolo *s, const HassRound *round, guint device,
                      gboolean force, HassPlan *plan, double *work)
{
  guint n = s->k->u.n;
  *work = 0;
  if (force)
    s->probing = FALSE;
  if (!s->probing)
    return FALSE;
  if (s->device < n && !is_over (s, round))
    {
      *work = s->work;
      return device != s->device || s->given > 0;
    }
  if (s->device < n)
    end_one (s, round, plan);
  *plan = hass_auto_plan (s->k, round, s->g->arm, device, plan->runners);
  guint next = next_one (s, round, plan);
  if (next < n)
    {
      begin_one (s, round, plan, next);
      *work = s->work;
      return device != next;
    }
  s->probing = FALSE;
  s->again_at = hass_round_number (round) + (s->later ? 1 : PROBE_ROUNDS);
  s->device = n;
  return FALSE;
}

void
hass_auto_solo_granted (HassAutoSolo *s, guint device, double work)
{
  if (s->device == device && s->probing)
    s->given = work;
}

void
hass_auto_solo_done (HassAutoSolo *s, guint device, double ns)
{
  if (s->device == device && s->probing)
    s->ns += ns;
}

void
hass_auto_solo_end (HassAutoSolo *s)
{
  double work = s->g->round_work;
  for (guint d = 0; d < s->k->u.n; d++)
    {
      HassAutoAlone *m = &s->of[d];
      HassAutoArm *arm = &s->g->arms[d];
      double ns
          = s->k->f.seats[d].copy_ns + m->fixed_ns + m->ns_per_work * work;
      if (m->ns_per_work <= 0)
        continue;
      double plan_ns = hass_auto_guard_planned_ns (s->g, d, work);
      if (arm->rounds == 0 && isfinite (plan_ns))
        arm->factor = MIN (ns / MAX (plan_ns, 1), 1);
      arm->ns = arm->factor * plan_ns;
      m->ns_per_work = 0;
    }
}
