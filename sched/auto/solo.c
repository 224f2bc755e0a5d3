/* SPDX-License-Identifier: MIT */
/* solo.c: see solo-private.h.
   Thread safety: as hass/strategy.h. */
#include "solo-private.h"

#include <math.h>
#include <string.h>

/* A measurement takes about PROBE_PART of the round's time; where that cannot
   be less than MOST_PROBE_PART of it, the device is tried with a whole round.
   It waits until it costs no more than PROBE_COST of the time that has passed.
   Larger parts measure better and cost more. Guesses. */
#define PROBE_PART 0.01
#define MOST_PROBE_PART 0.3
#define PROBE_COST 0.08
/* Rounds between measurements; rates change slowly. A guess. */
#define PROBE_ROUNDS 64
/* Part of the rates below which a device is not measured: others would have to
   slow it down more than threefold. */
#define PROBE_SHARE (1 / 3.)
/* Factor of an arm that makes a device tried with a whole round if it does most
   of the work; and where costs are unknown, and it may have done the cheap
   units. Guesses. */
#define TRIED_FACTOR 0.75
#define DOUBTED_FACTOR 1.4
/* Part of a measurement that a latency may be; the rest is work. A guess. */
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

/* What it would be given: little, but enough to show its rate. */
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

/* A GPU's kernels alone would take longer than all devices together. */
static gboolean
kernels_forbid (HassAutoSolo *s, guint device)
{
  const HassEstimate *m = &s->k->e.of[device];
  double ns = m->computed_work > 0
                  ? m->computed_ns / m->computed_work * s->g->round_work
                  : 0;
  if (s->k->u.env->cost == HASS_COST_UNKNOWN || ns < s->g->arms[s->k->u.n].ns)
    return FALSE;
  s->later = TRUE; /* if all turn out to take longer */
  HASS_NOTE (s->k->u.env, "%s alone would need %.4g ms for kernels",
             s->k->u.devices[device].name, ns * 1e-6);
  return TRUE;
}

/* The device does enough of the work, and stands for all that are alike. */
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

/* Is it worth it, and does it cost little? In rounds too short for that the
   device is tried with a whole one. */
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

/* What it showed alone does not belong to its estimates beside others. */
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

/* The next device: GPUs first, since cores may still be in the middle of a
   unit; n: none. GPUs without a CPU pool share nothing but links, which plans
   count. */
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
