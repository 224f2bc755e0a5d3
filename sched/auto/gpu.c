/* SPDX-License-Identifier: MIT */
/* auto_gpu.c: what auto grants a GPU; step 3 of auto.c.
   Thread safety: as hass/strategy.h. */
#include "auto-private.h"

#define LONG_COPY_NS 1e7

/* So few elements that it takes much of the round to fill it; any smaller
   bundle would take as long. */
static gboolean
hard_to_fill (const HassAuto *s, const HassRound *round, guint device)
{
  return hass_auto_fill_work (s, device)
         > hass_round_total_work (round) / (8 * s->n);
}

/* A first bundle of so many units may take a slow GPU longer than all else
   takes: no second one before it is back. */
static gboolean
may_last_long (const HassAuto *s, const HassRound *round, guint device)
{
  guint cores = s->cpu < s->n ? s->env->devices[s->cpu].cores : 1;
  return hard_to_fill (s, round, device)
         || s->members[device].fill_units > cores;
}

/* Work of the first bundles: enough to fill the device, but of a short round
   no more than it may be worth beside the cores. */
static double
probe_work (const HassAuto *s, const HassRound *round, guint device)
{
  double total = hass_round_total_work (round);
  double fill = hass_auto_fill_work (s, device);
  guint n_gpus = s->n - (s->cpu < s->n ? 1 : 0);
  if (!hard_to_fill (s, round, device))
    return MIN (MAX (s->env->parameters[HASS_AUTO_PROBE] * total, fill),
                total / (8 * s->n));
  double cores = s->cpu < s->n ? s->env->devices[s->cpu].cores : 0;
  double threads = s->unit_elements * hass_round_units (round);
  double worth = threads / (threads + cores * HASS_AUTO_CORE_THREADS);
  return MIN (fill, worth * total / n_gpus);
}

static guint64
units_for (const HassAuto *s, const HassRound *round, const HassGrant *grant,
           double work)
{
  guint64 share = hass_auto_cpu_share (s, round);
  if (grant->source == HASS_FROM_THEFT && s->share_back >= share)
    return hass_auto_units_of (s, round, s->share_back - share, s->share_back,
                               TRUE, work);
  return hass_auto_units_of (s, round, hass_round_front (round),
                             hass_round_back (round), !s->reversed, work);
}

static void
fill_in (HassAuto *s, HassRound *round, guint device, double work,
         HassGrant *grant)
{
  grant->source = s->reversed ? HASS_FROM_FRONT : HASS_FROM_BACK;
  if (hass_round_waiting (round) == 0 && hass_auto_cpu_share (s, round) > 0)
    {
      grant->source = HASS_FROM_THEFT;
      grant->share = s->cpu;
    }
  grant->work = work;
  /* The engine counts units. */
  if (s->levels && work > 0)
    grant->work = s->unit_work * (units_for (s, round, grant, work) + 0.5);
  grant->multiple = hass_auto_least_units (s, round, device);
  if (grant->multiple > 1)
    grant->work
        = MAX (work, hass_auto_work_at (s, round, TRUE, grant->multiple));
  if (s->env->farm == HASS_FARM_FUNCTION && !hass_auto_simple (s, round))
    grant->units = 1; /* a parallel task has the GPU to itself */
  grant->in_flight = hass_auto_in_flight (s, device);
}

/* Tasks that only GPUs can run: a quarter of this one's part, but one for
   each multiprocessor. */
static guint64
exclusive_units (const HassAuto *s, const HassRound *round, guint device)
{
  guint n_gpus = s->n - (s->cpu < s->n ? 1 : 0);
  return MAX (hass_round_exclusive (round, device) / (4 * n_gpus),
              MAX (s->env->devices[device].cores, 1));
}

/* What a GPU has to copy first may take longer than everything else: who takes
   long for it waits for the first core, and for others on its link. */
static gboolean
waits_to_enter (HassAuto *s, const HassRound *round, guint device)
{
  const HassAutoMember *m = &s->members[device];
  guint link = s->env->devices[device].link;
  if (m->entered || m->copy_ns < LONG_COPY_NS)
    return FALSE;
  s->why = "until a core has shown whether it is worth what it copies first";
  if (s->cpu < s->n && !hass_auto_measured (s, round, s->cpu))
    return TRUE;
  s->why = "until another has copied what it needs, by the same link";
  for (guint d = 0; d < s->n && link != 0; d++)
    if (d != device && s->env->devices[d].link == link
        && s->members[d].n_bundles > 0 && !hass_auto_measured (s, round, d))
      return TRUE;
  return FALSE;
}

HassAnswer
hass_auto_grant_gpu (HassAuto *s, HassRound *round, guint device,
                     gboolean force, HassGrant *grant)
{
  HassAutoMember *m = &s->members[device];
  if (m->failed || hass_round_exclusive (round, device) > 0)
    {
      s->why = m->failed ? "it failed, does it work again"
                         : "what only GPUs can do";
      fill_in (s, round, device, 0, grant);
      grant->multiple = 1;
      grant->units = m->failed ? 1 : exclusive_units (s, round, device);
      grant->work = 0; /* no bound */
      return HASS_TAKE;
    }
  if (!hass_auto_measured (s, round, device) && !hass_auto_all_known (s, round))
    {
      if (!force && waits_to_enter (s, round, device))
        return HASS_WAIT;
      hass_auto_make_plan (s, round, device);
      s->why = "all is done before it could help";
      m->hopeless = m->hopeless || m->copy_ns > s->finish_ns;
      if (m->hopeless && !force)
        return HASS_WAIT;
      s->why = "until its first bundles are back";
      if (m->n_bundles >= (may_last_long (s, round, device) ? 1 : 2))
        return HASS_WAIT;
      s->why = "its first bundles, to be measured";
      fill_in (s, round, device, probe_work (s, round, device), grant);
      return HASS_TAKE;
    }
  double solo_work;
  if (hass_auto_guard_waits (s, round, device, force, &solo_work))
    {
      s->why = "while another device is measured alone";
      return HASS_WAIT;
    }
  if (solo_work > 0)
    {
      s->why = "to be measured alone";
      fill_in (s, round, device, solo_work, grant);
      return HASS_TAKE;
    }
  guint64 waiting = hass_round_waiting (round) + hass_auto_cpu_share (s, round);
  guint64 kept = hass_auto_kept_units (s, round);
  hass_auto_make_plan (s, round, device);
  s->why = waiting <= kept ? "what waits is kept for GPUs that nobody knows"
           : hass_auto_costs_more (s, device)
               ? "to copy for it would take cores longer than to compute"
           : hass_auto_takes_part (s, device)
               ? "it would still be busy when all else is done"
               : "others are faster without it";
  if ((!s->plan[device].runs || waiting <= kept) && !force)
    return HASS_WAIT;
  s->why = "until others on its link have as much ahead";
  if (hass_auto_pipeline_waits (s, device) && !force)
    return HASS_WAIT;
  double work = hass_auto_bundle_work (s, round, device);
  if (work <= 0 && !force)
    return HASS_WAIT;
  fill_in (s, round, device, work, grant);
  return HASS_TAKE;
}
