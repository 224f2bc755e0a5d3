/* SPDX-License-Identifier: MIT */
/* mini_devices.c: the cores and GPUs of the mini engine: how long they take,
   and what the strategy is told of it.
   Thread safety: one thread. */
#include <math.h>

#include "mini_run-private.h"

static double
vary (MiniRun *run, double ns)
{
  return ns
         * (1 + run->farm->noise * (2 * g_rand_double (run->farm->rand) - 1));
}

/* How many times as long a device takes for what it begins now. */
static double
quarrel (MiniRun *run, guint device)
{
  guint *of = run->round->counter_of;
  for (guint d = 0; d < run->farm->n && run->farm->quarrel > 0; d++)
    for (guint i = of[d]; i < of[d + 1]; i++)
      if (d != device && run->lanes[i].busy)
        return 1 + run->farm->quarrel;
  return 1;
}

double
mini_cost_of (MiniRun *run, HassExtent e)
{
  double sum = 0;
  for (guint32 i = 0; i < e.n; i++)
    sum += hass_round_true_cost (run->round, e.first + i);
  return sum;
}

double
mini_work_of (MiniRun *run, guint device, HassExtent e)
{
  double sum = 0;
  for (guint32 i = 0; i < e.n; i++)
    {
      guint k = hass_round_function (run->round, e.first + i);
      double slower = run->farm->devices[device].slower[k];
      sum += hass_round_true_cost (run->round, e.first + i)
             * (slower > 0 ? slower : 1);
    }
  return sum;
}

/* The units of a lane are done: exactly once, and where they may run. */
static void
finish (MiniRun *run, guint device, guint counter, double busy_ns)
{
  MiniLane *lane = &run->lanes[counter];
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
  hass_counter_add (c, lane->extent.n, work, (gint64)busy_ns);
  sum->units += lane->extent.n;
  sum->work += work;
  sum->bundles++;
  sum->busy_ns += busy_ns / (cpu ? run->farm->devices[device].cores : 1);
  sum->last_finish_ns = run->farm->now_ns - run->begin_ns;
  run->round->outstanding -= lane->extent.n;
  lane->busy = FALSE;
}

static void
observe (MiniRun *run, HassCompletion *done)
{
  if (run->ops->observe)
    run->ops->observe (run->self, run->round, done);
  for (guint d = 0; d < run->farm->n; d++)
    if (run->asking[d] == WAITING || (done->failed && !run->farm->lost[d]))
      run->asking[d] = ASK;
}

/* -- CPU pool ----------------------------------------------------------- */

/* Idle cores pull. */
static void
start_cores (MiniRun *run, guint device)
{
  const MiniDevice *cpu = &run->farm->devices[device];
  for (guint i = 0; i < cpu->cores; i++)
    {
      MiniLane *lane = &run->lanes[run->round->counter_of[device] + i];
      if (!lane->busy)
        {
          lane->extent = hass_round_pull (run->round, MAX (run->chunk, 1));
          if (lane->extent.n > 0)
            {
              double cost = mini_cost_of (run, lane->extent);
              double work = mini_work_of (run, device, lane->extent);
              lane->busy = TRUE;
              lane->begin_ns = run->farm->now_ns;
              lane->end_ns = run->farm->now_ns
                             + vary (run, work * cpu->ns_per_work)
                                   * quarrel (run, device);
              g_array_append_val (run->farm->cpu_order, cost);
            }
        }
    }
}

/* Tells what the cores have finished since the last report. */
static void
report_cpu (MiniRun *run, guint device)
{
  for (guint k = 0; k < HASS_MOST_FUNCTIONS && !run->farm->quiet; k++)
    {
      HassCompletion done = run->cpu[k];
      if (done.units == 0)
        continue;
      done.device = device;
      done.function = k;
      done.end_ns = (gint64)run->farm->now_ns;
      run->cpu[k] = (HassCompletion){ .grant_ns = done.end_ns,
                                      .start_ns = done.end_ns };
      observe (run, &done);
    }
}

void
mini_look_at_pool (MiniRun *run, guint device)
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

void
mini_grant_cpu (MiniRun *run, guint device, HassGrant *grant)
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
      run->again_ns[device] = INFINITY;
      run->round->pull_source = HASS_PULL_ASK;
    }
  mini_look_at_pool (run, device);
}

void
mini_core_finishes (MiniRun *run, guint device, guint counter)
{
  MiniLane *lane = &run->lanes[counter];
  HassCompletion *done
      = &run->cpu[hass_round_function (run->round, lane->extent.first)];
  done->units += lane->extent.n;
  done->work
      += hass_round_work (run->round, lane->extent.first, lane->extent.n);
  done->kernel_ns
      += (lane->end_ns - lane->begin_ns) / run->farm->devices[device].cores;
  finish (run, device, counter, lane->end_ns - lane->begin_ns);
}

/* -- GPUs --------------------------------------------------------------- */

void
mini_grant_gpu (MiniRun *run, guint device, HassGrant *grant, MiniGrant *log)
{
  const MiniDevice *gpu = &run->farm->devices[device];
  if (gpu->max_units > 0)
    grant->units = grant->units == 0 ? gpu->max_units
                                     : MIN (grant->units, gpu->max_units);
  HassExtent e = hass_round_take (run->round, device, grant);
  if (e.n == 0)
    {
      run->asking[device] = WAITING;
      run->again_ns[device] = INFINITY;
      return;
    }
  double work = MAX (mini_work_of (run, device, e), gpu->fill_work);
  work *= MAX (1, (double)gpu->fill_units / e.n);
  double copy_ns = work * gpu->copy_ns_per_work;
  double kernel_ns = work * gpu->ns_per_work * run->farm->kernels;
  MiniLane *lane = &run->lanes[run->round->counter_of[device]];
  *lane
      = (MiniLane){ .busy = TRUE,
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

static guint64
elements_of (const HassRound *round, HassExtent e)
{
  guint64 n = 0;
  for (guint64 i = 0; i < e.n; i++)
    n += hass_round_elements (round, e.first + i);
  return n;
}

void
mini_bundle_finishes (MiniRun *run, guint device, guint counter)
{
  MiniFarm *farm = run->farm;
  const MiniDevice *gpu = &farm->devices[device];
  MiniLane *lane = &run->lanes[counter];
  gboolean lost
      = gpu->lost_after > 0 && farm->bundles[device] >= gpu->lost_after;
  gboolean failed = lost || g_rand_double (farm->rand) < gpu->fails;
  HassCompletion done
      = { .device = device,
          .function = hass_round_function (run->round, lane->extent.first),
          .units = lane->extent.n,
          .work
          = hass_round_work (run->round, lane->extent.first, lane->extent.n),
          .elements = elements_of (run->round, lane->extent),
          .grant_ns = (gint64)lane->begin_ns,
          .start_ns = (gint64)lane->begin_ns,
          .end_ns = (gint64)lane->end_ns,
          .h2d_ns = lane->copy_ns,
          .kernel_ns = farm->tells_stages ? lane->kernel_ns : 0,
          .kernel_busy_ns = lane->kernel_ns,
          .host_ns = gpu->host_ns_per_work * mini_cost_of (run, lane->extent),
          .worker_ns
          = gpu->tells_first && farm->bundles[device] == 0 ? gpu->first_ns : 0,
          .setup_ns
          = gpu->tells_setup && farm->bundles[device] == 0 ? gpu->first_ns : 0,
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
