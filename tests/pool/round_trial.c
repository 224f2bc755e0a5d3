/* SPDX-License-Identifier: MIT */
/* round_trial.c: the round of the tests, of a CPU and two GPUs.
   Thread safety: round_trial.h. */
#include "round_trial.h"

#include <string.h>

#include "hass_test.h"

static const HassDeviceTraits devices[N_DEVICES]
    = { { .name = "cpu", .kind = HASS_DEVICE_CPU, .cores = 2 },
        { .name = "gpu0", .kind = HASS_DEVICE_GPU, .cores = 4 },
        { .name = "gpu1", .kind = HASS_DEVICE_GPU, .cores = 4 } };

HassRound round_;

void
open_loads (HassFarmKind farm, HassCostClass cost, HassLoad *loads, guint32 n)
{
  for (guint32 i = 0; i < n; i++)
    loads[i].tag = GUINT_TO_POINTER (i);
  HassSpan span = { .loads = loads, .mask = ANY_MASK, .n = n };
  hass_round_begin_loads (&round_, farm, cost, &span);
  hass_round_open (&round_);
}

void
open_equal (guint32 n)
{
  static HassLoad loads[MOST];
  memset (loads, 0, sizeof loads);
  open_loads (HASS_FARM_COMBINE, HASS_COST_EQUAL, loads, n);
}

void
open_costs (HassFarmKind farm, HassLoad *loads, const int *costs, guint32 n)
{
  for (guint32 i = 0; i < n; i++)
    loads[i] = (HassLoad){ .cost = costs[i], .size = 1 };
  open_loads (farm, HASS_COST_SIZED, loads, n);
}

void
open_trial_round (void)
{
  hass_round_init (&round_, N_DEVICES, devices);
}

guint
tag_at (guint32 position)
{
  return GPOINTER_TO_UINT (hass_round_load (&round_, position)->tag);
}

gboolean
round_tags_are (const int *tags, guint32 n)
{
  for (guint32 i = 0; i < n; i++)
    if (tag_at (i) != (guint)tags[i])
      return FALSE;
  return TRUE;
}

HassExtent
take_from_round (guint device, HassGrant grant)
{
  HassExtent e = hass_round_take (&round_, device, &grant);
  CU_ASSERT_EQUAL (grant.taken, e.n);
  CU_ASSERT_EQUAL (grant.first, e.first);
  return e;
}

guint
by_position (HassRound *round, guint64 position, gpointer data)
{
  (void)round;
  (void)data;
  return position * 7 / 3 % (N_DEVICES + 1);
}

void
open_tasks (HassLoad *loads)
{
  static const HassLoad tasks[10] = {
    { .size = 8, .cost = 5 },
    { .size = 1, .cost = 4, .flags = HASS_LOAD_GPU },
    { .size = 1, .cost = 3 },
    { .size = 9, .cost = 2, .flags = HASS_LOAD_CPU },
    { .size = 4, .cost = 1 },
    { .size = 1, .cost = 2, .flags = HASS_LOAD_CPU | HASS_LOAD_GPU },
    { .size = 5, .cost = 1, .flags = HASS_LOAD_GPU },
    { .size = 1, .cost = 1, .flags = HASS_LOAD_CPU },
    { .size = 0, .cost = 1 },
    { .size = 2, .cost = 1, .flags = HASS_LOAD_CPU },
  };
  memcpy (loads, tasks, sizeof tasks);
  open_loads (HASS_FARM_FUNCTION, HASS_COST_SIZED, loads, 10);
}
