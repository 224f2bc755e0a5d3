/* SPDX-License-Identifier: MIT */
/* mini_engine.c: the rounds of the mini engine, event by event.
   Thread safety: one thread. */
#include "mini_engine.h"

#include <math.h>

#include "mini_run-private.h"

static gboolean
is_cpu (MiniRun *run, guint device)
{
  return run->farm->devices[device].kind == HASS_DEVICE_CPU;
}

/* A lane is idle and, where these are cores, has nothing to pull. */
static gboolean
has_room (MiniRun *run, guint device)
{
  guint *of = run->round->counter_of;
  gboolean room = FALSE;
  for (guint i = of[device]; i < of[device + 1]; i++)
    room |= !run->lanes[i].busy;
  return room && !(is_cpu (run, device) && run->pulling)
         && run->farm->now_ns >= run->farm->devices[device].opens_ns;
}

static void
look_who_is_open (MiniFarm *farm)
{
  for (guint d = 0; d < farm->n; d++)
    {
      farm->traits[d].opening = farm->now_ns < farm->devices[d].opens_ns;
      const MiniDevice *gpu = &farm->devices[d];
      double at_ns = gpu->said_ns > 0 ? gpu->said_ns : gpu->opens_ns;
      farm->traits[d].opens_at_ns = isinf (at_ns) ? 0 : (gint64)at_ns;
      farm->traits[d].opening_ns = (gint64)farm->devices[d].opening_ns;
    }
}

static gboolean
busy (MiniRun *run, guint device)
{
  guint *of = run->round->counter_of;
  gboolean any = FALSE;
  for (guint i = of[device]; i < of[device + 1]; i++)
    any |= run->lanes[i].busy;
  return any;
}

static void
ask (MiniRun *run, guint device, gboolean force)
{
  HassGrant grant = { .share = device };
  MiniGrant log = { .device = device };
  log.cpu_share = is_cpu (run, 0) ? hass_round_share (run->round, 0) : 0;
  log.waiting = hass_round_waiting (run->round);
  run->steps++;
  look_who_is_open (run->farm);
  switch (run->ops->grant (run->self, run->round, device, force, &grant))
    {
    case HASS_TAKE:
      log.source = grant.source;
      log.asked = grant.units;
      log.in_flight = grant.in_flight;
      run->asking[device] = ASK;
      if (is_cpu (run, device))
        mini_grant_cpu (run, device, &grant);
      else
        mini_grant_gpu (run, device, &grant, &log);
      if (run->ops->granted)
        run->ops->granted (run->self, run->round, device, &grant);
      break;
    case HASS_WAIT:
      run->asking[device] = WAITING;
      run->again_ns[device] = grant.within_ns > 0
                                  ? run->farm->now_ns + (double)grant.within_ns
                                  : INFINITY;
      run->result->waits++;
      break;
    case HASS_DONE:
      run->asking[device] = OUT;
      break;
    }
}

static void
ask_all (MiniRun *run)
{
  for (guint d = 0; d < run->farm->n; d++)
    while (run->asking[d] == ASK && has_room (run, d)
           && hass_round_waiting_anywhere (run->round) > 0)
      ask (run, d, FALSE);
}

/* Before something finishes one has waited for as long as it wanted to, or
   opens. FALSE: neither. */
static gboolean
time_passes (MiniRun *run, double first_ns)
{
  MiniFarm *farm = run->farm;
  double again_ns = INFINITY, opens_ns = INFINITY;
  for (guint d = 0; d < farm->n; d++)
    {
      if (run->asking[d] == WAITING)
        again_ns = MIN (again_ns, run->again_ns[d]);
      if (farm->devices[d].opens_ns > farm->now_ns)
        opens_ns = MIN (opens_ns, farm->devices[d].opens_ns);
    }
  double next_ns = MIN (again_ns, opens_ns);
  if (next_ns >= first_ns || (first_ns == INFINITY && again_ns == INFINITY))
    return FALSE;
  farm->now_ns = next_ns;
  for (guint d = 0; d < farm->n; d++)
    if (run->asking[d] == WAITING && run->again_ns[d] <= next_ns)
      run->asking[d] = ASK;
  return TRUE;
}

/* The next core or GPU to finish. FALSE: all are idle. */
static gboolean
next_event (MiniRun *run)
{
  guint device = 0, counter = 0;
  double first = INFINITY;
  for (guint d = 0; d < run->farm->n; d++)
    for (guint i = run->round->counter_of[d]; i < run->round->counter_of[d + 1];
         i++)
      if (run->lanes[i].busy && run->lanes[i].end_ns < first)
        {
          first = run->lanes[i].end_ns;
          device = d;
          counter = i;
        }
  if (time_passes (run, first))
    return TRUE;
  if (first == INFINITY)
    return FALSE;
  run->farm->now_ns = first;
  if (is_cpu (run, device))
    mini_core_finishes (run, device, counter);
  else
    mini_bundle_finishes (run, device, counter);
  if (is_cpu (run, 0))
    mini_look_at_pool (run, 0);
  return TRUE;
}

/* Units remain and nobody takes any: force, else give them away. */
static void
rescue (MiniRun *run)
{
  MiniFarm *farm = run->farm;
  gboolean waiting = FALSE;
  run->result->forced++;
  for (guint d = 0; d < farm->n; d++)
    if (run->asking[d] == WAITING && has_room (run, d))
      {
        ask (run, d, TRUE);
        waiting = waiting || busy (run, d);
      }
  for (guint d = 0; d < farm->n && !waiting; d++)
    if (!farm->lost[d] && has_room (run, d))
      {
        MiniLane *lane = &run->lanes[run->round->counter_of[d]];
        HassExtent e
            = hass_round_take_any (run->round, farm->devices[d].kind, 1);
        run->result->rescued += e.n;
        waiting = e.n > 0;
        double work = mini_cost_of (run, e);
        if (e.n > 0 && !is_cpu (run, d))
          {
            MiniGrant log = { .device = d };
            g_array_append_val (farm->grants, log);
          }
        if (e.n > 0)
          *lane = (MiniLane){ .busy = TRUE,
                              .begin_ns = farm->now_ns,
                              .end_ns = farm->now_ns
                                        + work * farm->devices[d].ns_per_work,
                              .extent = e,
                              .grant = farm->grants->len - 1 };
      }
  if (!waiting)
    run->result->hung = TRUE;
}

static void
run_round (MiniFarm *farm, guint32 n, MiniRound *result)
{
  HassRound *round = farm->round;
  MiniRun run = { .farm = farm,
                  .round = round,
                  .result = result,
                  .ops = farm->strategy->ops,
                  .self = farm->strategy->self,
                  .begin_ns = farm->now_ns };
  *result = (MiniRound){ .once = TRUE };
  run.lanes = g_new0 (MiniLane, MAX (round->counter_of[farm->n], 1));
  run.executed = g_new0 (guint8, MAX (n, 1));
  g_array_set_size (farm->grants, 0);
  g_array_set_size (farm->cpu_order, 0);
  round->number = farm->number++;
  round->begin_ns = (gint64)farm->now_ns;
  round->pull_source = HASS_PULL_ASK;
  for (guint d = 0; d < farm->n; d++)
    run.asking[d] = farm->lost[d] ? OUT : ASK;
  hass_round_open (round);
  if (run.ops->begin_round)
    run.ops->begin_round (run.self, round);
  for (guint d = 0; d < farm->n; d++)
    result->shares[d] = hass_round_share (round, d);
  while (round->outstanding > 0 && !result->hung)
    {
      ask_all (&run);
      if (!next_event (&run))
        rescue (&run);
      result->hung |= run.steps > 100000 + 100 * (guint64)n;
    }
  for (guint32 u = 0; u < n; u++)
    if (run.executed[u] != 1)
      result->once = FALSE;
  result->summary
      = (HassRoundSummary){ .number = round->number,
                            .units = n,
                            .makespan_ns = farm->now_ns - run.begin_ns,
                            .n_devices = farm->n,
                            .devices = result->devices };
  if (run.ops->end_round)
    run.ops->end_round (run.self, &result->summary);
  g_free (run.lanes);
  g_free (run.executed);
}

void
mini_farm_run (MiniFarm *farm, const HassLoad *loads, guint32 n,
               MiniRound *result)
{
  HassSpan span = { .loads = loads, .mask = G_MAXUINT64, .n = n };
  hass_round_begin_loads (farm->round, farm->env.farm, farm->env.cost, &span);
  run_round (farm, n, result);
}

void
mini_farm_run_divisible (MiniFarm *farm, gsize elements, gsize block_elements,
                         MiniRound *result)
{
  HassLoad load = { .size = elements };
  HassSpan span = { .loads = &load, .mask = G_MAXUINT64, .n = 1 };
  HassDivision division = hass_division_new (1, block_elements, 0);
  guint32 n = (elements + block_elements - 1) / block_elements;
  hass_division_add (&division, n, elements);
  hass_round_begin_blocks (farm->round, farm->env.cost, &span, &division);
  run_round (farm, n, result);
}
