/* SPDX-License-Identifier: MIT */
/* mini_engine.c: see mini_engine.h.
   Thread safety: one thread. */
#include "mini_engine.h"

#include <math.h>

typedef enum
{
  ASK,
  WAITING,
  OUT
} Asking;

/* A core with a unit, or a GPU with a bundle. */
typedef struct
{
  gboolean busy;
  double begin_ns, end_ns, copy_ns, kernel_ns;
  HassExtent extent;
  guint grant; /* index in the log, GPUs */
} Lane;

typedef struct
{
  MiniFarm *farm;
  HassRound *round;
  MiniRound *result;
  const HassStrategyOps *ops;
  gpointer self;
  Asking asking[MINI_DEVICES];
  double again_ns[MINI_DEVICES]; /* WAITING, but not for longer */
  Lane *lanes;                   /* [counter_of[n]], as the round's counters */
  double begin_ns;
  guint8 *executed; /* [n_units] */
  guint64 steps;

  /* The CPU pool. */
  gboolean pulling;
  guint64 chunk;
  HassCompletion cpu; /* since its last grant */
} Run;

void
mini_farm_restart (MiniFarm *farm, const char *spec)
{
  GError *error = NULL;
  g_clear_pointer (&farm->strategy, hass_strategy_free);
  farm->strategy = hass_strategy_new (spec, &farm->env, &error);
  if (!farm->strategy)
    g_error ("%s: %s", spec, error->message);
}

MiniFarm *
mini_farm_new (const char *spec, HassFarmKind kind, HassCostClass cost,
               const MiniDevice *devices, guint n, guint32 seed)
{
  static const char *const names[MINI_DEVICES]
      = { "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9" };
  g_assert (n <= MINI_DEVICES);
  MiniFarm *farm = g_new0 (MiniFarm, 1);
  farm->n = n;
  farm->rand = g_rand_new_with_seed (seed);
  farm->grants = g_array_new (FALSE, FALSE, sizeof (MiniGrant));
  farm->cpu_order = g_array_new (FALSE, FALSE, sizeof (double));
  for (guint d = 0; d < n; d++)
    {
      farm->devices[d] = devices[d];
      farm->traits[d] = (HassDeviceTraits){
        .name = names[d],
        .kind = devices[d].kind,
        .cores = devices[d].cores,
        .width = devices[d].width > 0 ? devices[d].width
                                      : (guint64)MAX (devices[d].fill_work, 1),
        .latency_ns = devices[d].latency_ns,
        .work_per_ns = devices[d].known_rate,
        .max_in_flight = 1
      };
    }
  farm->env = (HassStrategyEnv){ .struct_size = sizeof farm->env,
                                 .farm_name = "mini",
                                 .farm = kind,
                                 .cost = cost,
                                 .element_threads = 1,
                                 .n_devices = n,
                                 .devices = farm->traits };
  mini_farm_restart (farm, spec);
  farm->round = g_aligned_alloc0 (1, sizeof (HassRound), HASS_CACHE_LINE);
  hass_round_init (farm->round, n, farm->traits);
  return farm;
}

void
mini_farm_free (MiniFarm *farm)
{
  hass_strategy_free (farm->strategy);
  hass_round_clear (farm->round);
  g_aligned_free (farm->round);
  g_array_unref (farm->grants);
  g_array_unref (farm->cpu_order);
  g_rand_free (farm->rand);
  g_free (farm);
}

/* Time in which all devices together could do the work, launches and
   rounding left out. */
double
mini_bound_ns (const MiniDevice *devices, guint n, double work)
{
  double rate = 0;
  for (guint d = 0; d < n; d++)
    rate += (devices[d].kind == HASS_DEVICE_CPU ? devices[d].cores : 1)
            / devices[d].ns_per_work;
  return work / rate;
}

static double
vary (Run *run, double ns)
{
  return ns
         * (1 + run->farm->noise * (2 * g_rand_double (run->farm->rand) - 1));
}

/* How many times as long a device takes for what it begins now. */
static double
quarrel (Run *run, guint device)
{
  guint *of = run->round->counter_of;
  for (guint d = 0; d < run->farm->n && run->farm->quarrel > 0; d++)
    for (guint i = of[d]; i < of[d + 1]; i++)
      if (d != device && run->lanes[i].busy)
        return 1 + run->farm->quarrel;
  return 1;
}

static double
cost_of (Run *run, HassExtent e)
{
  double sum = 0;
  for (guint32 i = 0; i < e.n; i++)
    sum += hass_round_true_cost (run->round, e.first + i);
  return sum;
}

/* The units of a lane are done: exactly once, and where they may run. */
static void
finish (Run *run, guint device, guint counter, double busy_ns)
{
  Lane *lane = &run->lanes[counter];
  HassCounter *c = &run->round->counters[counter];
  HassDeviceSummary *sum = &run->result->devices[device];
  gboolean cpu = run->farm->devices[device].kind == HASS_DEVICE_CPU;
  double work
      = hass_round_work (run->round, lane->extent.first, lane->extent.n);
  for (guint32 i = 0; i < lane->extent.n; i++)
    {
      guint32 position = lane->extent.first + i;
      guint32 unit = hass_round_unit (run->round, position);
      guint32 flags = hass_round_load (run->round, position)->flags;
      if (run->executed[unit]++
          || (flags & (cpu ? HASS_LOAD_GPU : HASS_LOAD_CPU)
              && !(flags & (cpu ? HASS_LOAD_CPU : HASS_LOAD_GPU))))
        run->result->once = FALSE;
    }
  c->units += lane->extent.n;
  c->work = c->work + work;
  c->busy_ns += (gint64)busy_ns;
  sum->units += lane->extent.n;
  sum->work += work;
  sum->bundles++;
  sum->busy_ns += busy_ns / (cpu ? run->farm->devices[device].cores : 1);
  sum->last_finish_ns = run->farm->now_ns - run->begin_ns;
  run->round->outstanding -= lane->extent.n;
  lane->busy = FALSE;
}

static void
observe (Run *run, HassCompletion *done)
{
  if (run->ops->observe)
    run->ops->observe (run->self, run->round, done);
  for (guint d = 0; d < run->farm->n; d++)
    if (run->asking[d] == WAITING || (done->failed && !run->farm->lost[d]))
      run->asking[d] = ASK;
}

/* -- CPU pool ----------------------------------------------------------- */

static void
count_beside_start (Run *run, guint device)
{
  guint *of = run->round->counter_of, n = 0;
  gboolean starting = FALSE, opening = FALSE;
  for (guint i = of[device]; i < of[device + 1]; i++)
    n += run->lanes[i].busy;
  for (guint d = 0; d < run->farm->n; d++)
    {
      starting |= d != device && run->farm->bundles[d] == 0;
      opening |= run->farm->traits[d].opening;
    }
  if (starting)
    run->result->beside_start = MAX (run->result->beside_start, n);
  if (opening)
    run->result->beside_opening = MAX (run->result->beside_opening, n);
}

/* Idle cores pull. */
static void
start_cores (Run *run, guint device)
{
  const MiniDevice *cpu = &run->farm->devices[device];
  for (guint i = 0; i < cpu->cores; i++)
    {
      Lane *lane = &run->lanes[run->round->counter_of[device] + i];
      if (!lane->busy)
        {
          lane->extent = hass_round_pull (run->round, MAX (run->chunk, 1));
          if (lane->extent.n > 0)
            {
              double cost = cost_of (run, lane->extent);
              lane->busy = TRUE;
              lane->begin_ns = run->farm->now_ns;
              lane->end_ns = run->farm->now_ns
                             + vary (run, cost * cpu->ns_per_work)
                                   * quarrel (run, device);
              g_array_append_val (run->farm->cpu_order, cost);
              count_beside_start (run, device);
            }
        }
    }
}

/* Tells what the cores have finished since the last report. */
static void
report_cpu (Run *run, guint device)
{
  HassCompletion done = run->cpu;
  if (done.units == 0 || run->farm->quiet)
    return;
  done.device = device;
  done.end_ns = (gint64)run->farm->now_ns;
  run->cpu
      = (HassCompletion){ .grant_ns = done.end_ns, .start_ns = done.end_ns };
  observe (run, &done);
}

/* Whether the pool has run out of what it was granted, with cores perhaps
   still at work: then the strategy may be asked again. */
static void
look_at_pool (Run *run, guint device)
{
  if (run->pulling)
    {
      start_cores (run, device);
      gint32 source = run->round->pull_source;
      if (hass_unit_range_peek (&run->round->ranges[source]).n == 0
          && hass_round_exclusive (run->round, device) == 0)
        {
          run->pulling = FALSE;
          run->round->pull_source = HASS_PULL_ASK;
        }
    }
  if (!run->pulling)
    report_cpu (run, device);
}

static void
grant_cpu (Run *run, guint device, HassGrant *grant)
{
  int source = HASS_RANGE_ALLOTMENT;
  if (grant->units == 0 && grant->source == HASS_FROM_FRONT)
    source = HASS_RANGE_COMMON;
  else if (grant->units == 0 && grant->source == HASS_FROM_SHARE)
    source = HASS_RANGE_SHARES + grant->share;
  else
    {
      HassExtent e = hass_round_take (run->round, device, grant);
      hass_unit_range_set (&run->round->ranges[source], e.first, e.n);
    }
  if (grant->units == 0)
    {
      HassExtent e = hass_unit_range_peek (&run->round->ranges[source]);
      grant->first = e.first;
      grant->taken = e.n;
    }
  run->round->pull_source = source;
  run->chunk = grant->chunk;
  if (grant->source == HASS_FROM_SHARE && grant->share == device)
    run->result->cpu_chunk = grant->chunk;
  if (grant->source == HASS_FROM_THEFT)
    run->result->cpu_thefts = grant->units;
  gboolean empty = hass_unit_range_peek (&run->round->ranges[source]).n == 0
                   && hass_round_exclusive (run->round, device) == 0;
  run->pulling = !empty;
  if (empty)
    {
      run->asking[device] = WAITING;
      run->round->pull_source = HASS_PULL_ASK;
    }
  look_at_pool (run, device);
}

static void
core_finishes (Run *run, guint device, guint counter)
{
  Lane *lane = &run->lanes[counter];
  run->cpu.units += lane->extent.n;
  run->cpu.work
      += hass_round_work (run->round, lane->extent.first, lane->extent.n);
  finish (run, device, counter, lane->end_ns - lane->begin_ns);
}

/* -- GPUs --------------------------------------------------------------- */

static void
grant_gpu (Run *run, guint device, HassGrant *grant, MiniGrant *log)
{
  const MiniDevice *gpu = &run->farm->devices[device];
  if (gpu->max_units > 0)
    grant->units = grant->units == 0 ? gpu->max_units
                                     : MIN (grant->units, gpu->max_units);
  HassExtent e = hass_round_take (run->round, device, grant);
  if (e.n == 0)
    {
      run->asking[device] = WAITING;
      return;
    }
  double work = MAX (cost_of (run, e), gpu->fill_work);
  double copy_ns = work * gpu->copy_ns_per_work;
  double kernel_ns = work * gpu->ns_per_work * run->farm->kernels;
  Lane *lane = &run->lanes[run->round->counter_of[device]];
  *lane = (Lane){ .busy = TRUE,
                  .begin_ns = run->farm->now_ns,
                  .end_ns
                  = run->farm->now_ns + gpu->latency_ns + copy_ns + kernel_ns
                    + vary (run, work * gpu->ns_per_work - kernel_ns)
                          * quarrel (run, device)
                    + (run->farm->bundles[device] == 0 ? gpu->first_ns : 0),
                  .copy_ns = copy_ns,
                  .kernel_ns = kernel_ns,
                  .extent = e,
                  .grant = run->farm->grants->len };
  log->units = e.n;
  log->least = INFINITY;
  for (guint32 i = 0; i < e.n; i++)
    {
      double cost = hass_round_true_cost (run->round, e.first + i);
      log->least = MIN (log->least, cost);
      log->most = MAX (log->most, cost);
      log->parallel += hass_round_elements (run->round, e.first + i) > 1;
    }
  g_array_append_val (run->farm->grants, *log);
}

static void
bundle_finishes (Run *run, guint device, guint counter)
{
  MiniFarm *farm = run->farm;
  const MiniDevice *gpu = &farm->devices[device];
  Lane *lane = &run->lanes[counter];
  gboolean lost
      = gpu->lost_after > 0 && farm->bundles[device] >= gpu->lost_after;
  gboolean failed = lost || g_rand_double (farm->rand) < gpu->fails;
  HassCompletion done
      = { .device = device,
          .units = lane->extent.n,
          .work
          = hass_round_work (run->round, lane->extent.first, lane->extent.n),
          .grant_ns = (gint64)lane->begin_ns,
          .start_ns = (gint64)lane->begin_ns,
          .end_ns = (gint64)lane->end_ns,
          .h2d_ns = lane->copy_ns,
          .kernel_ns = farm->tells_stages ? lane->kernel_ns : 0,
          .kernel_busy_ns = lane->kernel_ns,
          .host_ns = gpu->host_ns_per_work * cost_of (run, lane->extent),
          .worker_ns
          = gpu->tells_first && farm->bundles[device] == 0 ? gpu->first_ns : 0,
          .first_of_round = run->result->devices[device].bundles == 0,
          .failed = failed };
  farm->bundles[device]++;
  farm->lost[device] = lost;
  g_array_index (farm->grants, MiniGrant, lane->grant).failed = failed;
  if (failed)
    {
      lane->busy = FALSE;
      hass_round_give_back (run->round, lane->extent);
    }
  else
    finish (run, device, counter, lane->end_ns - lane->begin_ns);
  if (lost)
    run->asking[device] = OUT;
  observe (run, &done);
}

/* -- A round ------------------------------------------------------------ */

static gboolean
is_cpu (Run *run, guint device)
{
  return run->farm->devices[device].kind == HASS_DEVICE_CPU;
}

/* A lane is idle and, where these are cores, has nothing to pull. */
static gboolean
has_room (Run *run, guint device)
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
busy (Run *run, guint device)
{
  guint *of = run->round->counter_of;
  gboolean any = FALSE;
  for (guint i = of[device]; i < of[device + 1]; i++)
    any |= run->lanes[i].busy;
  return any;
}

static void
ask (Run *run, guint device, gboolean force)
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
        grant_cpu (run, device, &grant);
      else
        grant_gpu (run, device, &grant, &log);
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
ask_all (Run *run)
{
  for (guint d = 0; d < run->farm->n; d++)
    while (run->asking[d] == ASK && has_room (run, d)
           && hass_round_waiting_anywhere (run->round) > 0)
      ask (run, d, FALSE);
}

/* Before something finishes one has waited for as long as it wanted to, or
   opens. FALSE: neither. */
static gboolean
time_passes (Run *run, double first_ns)
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
next_event (Run *run)
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
    core_finishes (run, device, counter);
  else
    bundle_finishes (run, device, counter);
  if (is_cpu (run, 0))
    look_at_pool (run, 0);
  return TRUE;
}

/* Units remain and nobody takes any: force, else give them away. */
static void
rescue (Run *run)
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
        Lane *lane = &run->lanes[run->round->counter_of[d]];
        HassExtent e
            = hass_round_take_any (run->round, farm->devices[d].kind, 1);
        run->result->rescued += e.n;
        waiting = e.n > 0;
        double work = cost_of (run, e);
        if (e.n > 0 && !is_cpu (run, d))
          {
            MiniGrant log = { .device = d };
            g_array_append_val (farm->grants, log);
          }
        if (e.n > 0)
          *lane = (Lane){ .busy = TRUE,
                          .begin_ns = farm->now_ns,
                          .end_ns
                          = farm->now_ns + work * farm->devices[d].ns_per_work,
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
  Run run = { .farm = farm,
              .round = round,
              .result = result,
              .ops = farm->strategy->ops,
              .self = farm->strategy->self,
              .begin_ns = farm->now_ns };
  *result = (MiniRound){ .once = TRUE };
  run.lanes = g_new0 (Lane, MAX (round->counter_of[farm->n], 1));
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
  HassDivision division
      = { .load = { .size = elements }, .block_elements = block_elements };
  guint32 n = (elements + block_elements - 1) / block_elements;
  hass_round_begin_load (farm->round, farm->env.cost, &division, n);
  run_round (farm, n, result);
}

/* -- Loads and what to expect ------------------------------------------- */

HassLoad *
mini_equal_loads (guint32 n)
{
  HassLoad *loads = g_new0 (HassLoad, MAX (n, 1));
  for (guint32 i = 0; i < n; i++)
    loads[i].size = 1;
  return loads;
}

MiniFarm *
mini_farm_new_equal (const char *spec, const MiniDevice *devices, guint n)
{
  return mini_farm_new (spec, HASS_FARM_COMBINE, HASS_COST_EQUAL, devices, n,
                        1);
}

void
mini_farm_run_equal (MiniFarm *farm, guint32 n, MiniRound *result)
{
  g_autofree HassLoad *loads = mini_equal_loads (n);
  mini_farm_run (farm, loads, n, result);
}

/* Distinct sizes; in a function farm SPD tasks among them. */
HassLoad *
mini_random_loads (GRand *rand, guint32 n, HassFarmKind kind,
                   gboolean exclusive)
{
  HassLoad *loads = g_new0 (HassLoad, MAX (n, 1));
  for (guint32 i = 0; i < n; i++)
    {
      loads[i].size = g_rand_int_range (rand, 1, 1000);
      loads[i].cost = loads[i].size;
      if (kind != HASS_FARM_FUNCTION)
        continue;
      loads[i].size = g_rand_boolean (rand) ? 1 : loads[i].size;
      int only = g_rand_int_range (rand, 0, 8);
      if (exclusive && only < 2)
        loads[i].flags = only ? HASS_LOAD_CPU : HASS_LOAD_GPU;
    }
  return loads;
}

/* Parts by rate, launches counted: all finish at T. */
void
mini_ideal_parts (const MiniDevice *devices, guint n, double units,
                  double *parts)
{
  double rates = 0, late = 0;
  for (guint d = 0; d < n; d++)
    {
      double rate = (devices[d].kind == HASS_DEVICE_CPU ? devices[d].cores : 1)
                    / devices[d].ns_per_work;
      rates += rate;
      late += rate * devices[d].latency_ns;
      parts[d] = rate;
    }
  double end_ns = (units + late) / rates;
  for (guint d = 0; d < n; d++)
    parts[d] *= (end_ns - devices[d].latency_ns) / units;
}

/* Whether costs[from] to costs[to - 1] ascend. */
gboolean
mini_ascending (const GArray *costs, guint from, guint to)
{
  for (guint i = from + 1; i < to; i++)
    if (g_array_index (costs, double, i) < g_array_index (costs, double, i - 1))
      return FALSE;
  return TRUE;
}
