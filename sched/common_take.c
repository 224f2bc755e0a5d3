/* SPDX-License-Identifier: MIT */
/* common_take.c: what a device with room takes. The DESIGN paragraph is in
   common.h.
   Thread safety: as the strategy that owns the crew. */
#include "common.h"

/* Fills in a grant for the CPU pool: its cores pull from the source without
   asking, one unit at a time so that as much as possible remains for other
   devices to steal. The engine pulls more at a time where units are too short
   for that. */
static void
let_cores_pull (const HassCrew *crew, HassGrant *grant)
{
  grant->units = 0;
  grant->chunk = hass_crew_alone (crew) ? 0 : 1;
}

/* Grants a device units of its own share, and returns FALSE if that is empty.
   units: number of units of a GPU's bundle; 0: the whole share. */
gboolean
hass_crew_own (HassCrew *crew, HassRound *round, guint device, guint64 units,
               HassGrant *grant)
{
  HassMember *m = &crew->members[device];
  m->own = hass_round_share (round, device) > 0;
  if (!m->own)
    return FALSE;
  m->begun = TRUE;
  grant->source = HASS_FROM_SHARE;
  grant->share = device;
  grant->units = units;
  if (device == crew->cpu)
    let_cores_pull (crew, grant);
  return TRUE;
}

/* Grants units that are in no working device's share: those of the common
   range, those that only this kind of device can run, and the shares of devices
   whose last grant failed. bundle: a GPU takes an equal part of them; else one
   unit. Returns FALSE if there are none. */
gboolean
hass_crew_leftovers (const HassCrew *crew, HassRound *round, guint device,
                     gboolean bundle, HassGrant *grant)
{
  guint64 waiting = hass_round_waiting (round);
  gboolean common = waiting + hass_round_exclusive (round, device) > 0;
  gboolean cpu = device == crew->cpu;
  grant->source = cpu ? HASS_FROM_FRONT : HASS_FROM_BACK;
  for (guint d = 0; d < crew->n && !common; d++)
    if (d != device && crew->members[d].failed)
      {
        waiting = hass_round_share (round, d);
        common = waiting > 0;
        grant->source = cpu ? HASS_FROM_SHARE : HASS_FROM_THEFT;
        grant->share = d;
      }
  /* A device whose last grant failed gets single units until one of them
     succeeds. */
  bundle = bundle && !crew->members[device].failed;
  grant->units = bundle ? MAX (waiting / crew->n, 1) : 1;
  if (cpu)
    let_cores_pull (crew, grant);
  return common;
}

/* Grants a device its own share in one bundle and, when that is empty,
   leftovers; nothing is stolen from other devices' shares. Units that only GPUs
   can run come first in any grant. So a GPU takes only its equal part of them
   while there are any; it gets the units of its share with later grants. */
HassAnswer
hass_crew_take_part (HassCrew *crew, HassRound *round, guint device,
                     HassGrant *grant)
{
  guint64 only = hass_round_exclusive (round, device);
  if (hass_crew_own (crew, round, device, 0, grant))
    {
      grant->chunk
          = 0; /* the engine chooses how many units a core pulls at a time */
      if (device != crew->cpu && only > 0)
        grant->units = MAX (only / crew->n_gpus, 1);
      return HASS_TAKE;
    }
  return hass_crew_leftovers (crew, round, device, TRUE, grant) ? HASS_TAKE
                                                                : HASS_DONE;
}

/* Grants a device units that only its kind can run, and no others: an equal
   part of them for each GPU. Returns FALSE if there are none. */
gboolean
hass_crew_exclusive (const HassCrew *crew, HassRound *round, guint device,
                     HassGrant *grant)
{
  guint64 waiting = hass_round_exclusive (round, device);
  grant->source
      = HASS_FROM_SHARE; /* exclusive units come first, and fill the grant */
  grant->share = device;
  grant->units = waiting;
  if (device != crew->cpu)
    grant->units = MIN (waiting, MAX (crew->gpu_part, 1));
  if (crew->members[device].failed)
    grant->units = 1;
  return waiting > 0;
}

/* Returns TRUE if the CPU pool will finish its share before a GPU could return
   even its shortest bundle, so that stealing from the pool would only delay the
   round. */
static gboolean
too_late (const HassCrew *crew, const HassRound *round, guint device)
{
  double rate = hass_crew_rate (crew, round, crew->cpu);
  double units = hass_round_share (round, crew->cpu)
                 + crew->env->devices[crew->cpu].cores;
  return rate > 0
         && units * crew->unit_work / rate < crew->members[device].least_ns;
}

/* Grants a device units stolen from the CPU pool's share or, when that is
   empty, from the fullest share of a GPU that has begun its share but not taken
   all of it. The CPU pool steals one unit for each core. Returns FALSE if there
   is nothing to steal. */
gboolean
hass_crew_steal (const HassCrew *crew, HassRound *round, guint device,
                 guint64 units, HassGrant *grant)
{
  guint64 most = 0;
  for (guint d = 0; d < crew->n; d++)
    {
      guint64 waiting = d == device ? 0 : hass_round_share (round, d);
      if (d == crew->cpu && waiting > 0)
        waiting = too_late (crew, round, device) ? 0 : G_MAXUINT64;
      else if (!crew->members[d].begun)
        waiting = 0;
      if (waiting > most)
        {
          most = waiting;
          grant->share = d;
        }
    }
  grant->source = HASS_FROM_THEFT;
  grant->units = units;
  if (device == crew->cpu)
    grant->units = MAX (crew->env->devices[device].cores, 1);
  return most > 0;
}
