/* SPDX-License-Identifier: MIT */
/* plan_player.c: a strategy that plays given plans of tiny rounds.
   Thread safety: one thread. */
#include "plan_player.h"

#include <string.h>

#include "pool/round_engine.h"
#include "sim_test.h"

/* [round] of Plan: strategies have no argument by which to get it. */
static const GArray *playing;

typedef struct
{
  const HassStrategyEnv *env;
  guint first_gpu;
  const Plan *plan; /* of this round */
  guint given;      /* bundles */
  guint in_flight[MOST_GPUS];
} Player;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Player *p = g_new0 (Player, 1);
  (void)error;
  p->env = env;
  p->first_gpu
      = env->n_devices > 0 && env->devices[0].kind == HASS_DEVICE_CPU ? 1 : 0;
  return p;
}

/* The device that a unit is for, by its place in the plan's order. */
static guint
device_of (const Player *p, guint32 unit)
{
  guint32 before = p->plan->n_cpu;
  if (unit < before)
    return 0;
  for (guint g = 0; g < MOST_GPUS; g++)
    for (guint i = 0; i < p->plan->n_bundles; i++)
      if (p->plan->bundles[i].gpu == g)
        {
          before += p->plan->bundles[i].units;
          if (unit < before)
            return p->first_gpu + g;
        }
  return p->env->n_devices;
}

static guint
assign (HassRound *round, guint64 position, gpointer data)
{
  return device_of (data, hass_round_unit (round, (guint32)position));
}

static void
begin_round (gpointer self, HassRound *round)
{
  Player *p = self;
  guint64 units[1 + MOST_GPUS] = { 0 };
  p->plan = &g_array_index (playing, Plan, hass_round_number (round));
  p->given = 0;
  memset (p->in_flight, 0, sizeof p->in_flight);
  if (round->farm == HASS_FARM_FUNCTION)
    {
      hass_round_assign (round, assign, p);
      return;
    }
  for (guint32 u = 0; u < hass_round_units (round); u++)
    units[device_of (p, u)]++;
  hass_round_carve (round, units);
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  Player *p = self;
  const Plan *plan = p->plan;
  grant->source = HASS_FROM_SHARE;
  grant->share = device;
  grant->chunk = 1;
  if (hass_round_share (round, device) == 0)
    return HASS_DONE;
  if (device < p->first_gpu)
    return HASS_TAKE;
  g_assert (p->given < plan->n_bundles && !force);
  const Bundle *next = &plan->bundles[p->given];
  guint of = p->first_gpu + next->gpu;
  grant->units = next->units;
  grant->in_flight = p->env->devices[device].max_in_flight;
  if (of == device)
    return HASS_TAKE;
  /* Its turn comes as soon as the other GPU has taken its bundle. */
  if (p->in_flight[next->gpu] < p->env->devices[of].max_in_flight)
    grant->within_ns = 1;
  return HASS_WAIT;
}

static void
granted (gpointer self, HassRound *round, guint device, const HassGrant *grant)
{
  Player *p = self;
  (void)round, (void)grant;
  if (device < p->first_gpu)
    return;
  p->given++;
  p->in_flight[device - p->first_gpu]++;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  Player *p = self;
  (void)round;
  if (done->device >= p->first_gpu)
    p->in_flight[done->device - p->first_gpu]--;
}

static const HassStrategyOps ops = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "test-of-all-plans",
  .summary = "plays the plans of a test",
  .farms = HASS_FARM_ANY,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .granted = granted,
  .observe = observe,
  .destroy = g_free,
};

const char *
plan_player_register (void)
{
  static gboolean registered;
  registered = registered || hass_strategy_register (&ops, NULL);
  return registered ? ops.name : NULL;
}

void
plan_player_play (const GArray *plans)
{
  playing = plans;
}
