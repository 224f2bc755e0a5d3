/* SPDX-License-Identifier: MIT */
/* test_bounded.c: the pool's bounds, recycled buffers, idle cores, endless
   generators.
   Thread safety: one thread. */
#include <gio/gio.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/cpu_time.h"
#include "tests/engine/trial.h"

typedef struct
{
  gsize n, most_loads, most_bytes;
  _Atomic gsize loads, bytes;
  _Atomic guint wrong, computed;
  gsize pages_early, pages_late;
  /* memory: loads that are in flight before the first is computed */
  gsize first_loads;
  _Atomic gboolean filled;
  GThread *generator;
  /* idle: CPU and elapsed seconds between the first and the last load */
  double cpu_s, elapsed_s;
  /* busy: the generator's pauses, in each of which a load is computed */
  gint64 paused_us;
  _Atomic guint begun;
  _Atomic enum { BURST, BEGIN, BEGUN, END } phase;
  GCancellable *cancellable;
} Flow;

static gsize
pages (void)
{
  gsize size = 0, resident = 0;
  FILE *f = fopen ("/proc/self/statm", "r");
  if (f && fscanf (f, "%zu %zu", &size, &resident) != 2)
    resident = 0;
  if (f)
    fclose (f);
  return resident;
}

static gboolean
look (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  Flow *flow = data;
  (void)worker, (void)error;
  if (g_thread_self () != flow->generator)
    while (flow->loads < flow->first_loads && !flow->filled)
      g_usleep (100);
  flow->filled = TRUE;
  flow->computed++;
  if (block->input_bytes > 0
      && (block->input[0] != (guint8)block->input_bytes
          || block->input[block->input_bytes - 1]
                 != (guint8)block->input_bytes))
    flow->wrong++;
  return TRUE;
}

/* The bytes must still be the load's: nobody may have them again yet. */
static void
release (const HassLoad *load, gboolean committed, gpointer data)
{
  Flow *flow = data;
  const guint8 *bytes = load->input;
  (void)committed;
  if (bytes
      && (bytes[0] != (guint8)load->input_bytes
          || bytes[load->input_bytes - 1] != (guint8)load->input_bytes))
    flow->wrong++;
  flow->loads--;
  flow->bytes -= load->input_bytes;
}

static gboolean
emit (HassEmitter *emitter, Flow *flow, gsize bytes)
{
  guint8 *buffer = hass_emitter_buffer (emitter, bytes);
  HassLoad load = {
    .input = buffer, .input_bytes = bytes, .size = 1, .flags = HASS_LOAD_BUFFER
  };
  memset (buffer, (int)(bytes & 0xff), bytes);
  flow->loads++;
  flow->bytes += bytes;
  if (!hass_emitter_emit (emitter, &load))
    {
      flow->loads--;
      flow->bytes -= bytes;
      return FALSE;
    }
  flow->most_loads = MAX (flow->most_loads, flow->loads);
  flow->most_bytes = MAX (flow->most_bytes, flow->bytes);
  return TRUE;
}

static gboolean
many_sizes (HassEmitter *emitter, gpointer data, GError **error)
{
  Flow *flow = data;
  (void)error;
  flow->generator = g_thread_self ();
  for (gsize i = 0; i < flow->n; i++)
    {
      emit (emitter, flow, 1 + i * 7919 % 3000);
      if (i == flow->n / 4)
        flow->pages_early = pages ();
    }
  flow->pages_late = pages ();
  return TRUE;
}

/* No size comes twice. */
static gboolean
ever_larger (HassEmitter *emitter, gpointer data, GError **error)
{
  Flow *flow = data;
  (void)error;
  for (gsize i = 1; i <= flow->n; i++)
    {
      emit (emitter, flow, i);
      if (i == flow->n / 8)
        flow->pages_early = pages ();
    }
  flow->pages_late = pages ();
  return TRUE;
}

static gboolean
run_flow (Flow *flow, HassGenerateFunc generate, HassRunOptions run,
          gsize loads, gsize bytes, GError **error)
{
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.generate = generate;
  f.cpu_worker = look;
  f.release = release;
  f.user_data = flow;
  f.pool_loads = loads;
  f.pool_bytes = bytes;
  f.run = run;
  f.run.cancellable = flow->cancellable;
  watchdog (600, "a bounded pool");
  gboolean ok = hass_data_farm_combine (&f, NULL, error);
  watchdog (0, NULL);
  return ok;
}

static void
bounds_hold (void)
{
  static const gsize loads[] = { 1, 2, 50, 0 };
  for (guint cores = 1; cores < 4; cores++)
    for (guint i = 0; i < G_N_ELEMENTS (loads); i++)
      {
        Flow flow = { .n = 3000 };
        HassRunOptions run = { .n_cores = cores };
        CU_ASSERT_TRUE (
            run_flow (&flow, many_sizes, run, loads[i], 30000, NULL));
        CU_ASSERT_EQUAL (flow.computed, 3000);
        CU_ASSERT_EQUAL (flow.wrong, 0);
        CU_ASSERT_EQUAL (flow.loads, 0);
        CU_ASSERT_TRUE (flow.most_bytes <= 30000);
        CU_ASSERT_TRUE (loads[i] == 0 || flow.most_loads <= loads[i]);
      }
}

static gboolean
too_large (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)error;
  for (guint i = 0; i < 20; i++)
    CU_ASSERT_TRUE (emit (emitter, data, i % 3 ? 50 : 5000));
  return TRUE;
}

static void
large_loads_go_alone (void)
{
  Flow flow = { 0 };
  HassRunOptions run = { .n_cores = 2 };
  CU_ASSERT_TRUE (run_flow (&flow, too_large, run, 0, 1000, NULL));
  CU_ASSERT_EQUAL (flow.computed, 20);
  /* Less if a core has computed each load before the generator looked. */
  CU_ASSERT_TRUE (flow.most_bytes <= 5000);
}

static void
memory_stays_flat (void)
{
  Flow flow = { .n = 200000, .first_loads = 500 }, growing = { .n = 20000 };
  HassRunOptions run = { .n_cores = 2 };
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
  hass_test_skip ("a sanitizer keeps freed memory");
  return;
#endif
  CU_ASSERT_TRUE (run_flow (&flow, many_sizes, run, 500, 0, NULL));
  CU_ASSERT_EQUAL (flow.wrong, 0);
  CU_ASSERT_TRUE (flow.pages_late < flow.pages_early + 512);
  CU_ASSERT_TRUE (run_flow (&growing, ever_larger, run, 50, 0, NULL));
  CU_ASSERT_TRUE (growing.pages_late < growing.pages_early + 4096);
}

/* -- Endless ------------------------------------------------------------ */

static gboolean
endless (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)error;
  while (emit (emitter, data, 100))
    ;
  CU_ASSERT_TRUE (hass_emitter_stopping (emitter));
  return TRUE;
}

/* Emits three loads only, so that no core is there to see the deadline. */
static gboolean
slow_endless (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)error;
  for (guint i = 0; !hass_emitter_stopping (emitter); i++)
    {
      usleep (5000);
      if (i < 3)
        emit (emitter, data, 100);
    }
  return TRUE;
}

static gpointer
cancel_soon (gpointer data)
{
  usleep (30000);
  g_cancellable_cancel (data);
  return NULL;
}

static void
cancelled (void)
{
  for (guint cores = 1; cores < 3; cores++)
    {
      g_autoptr (GCancellable) cancellable = g_cancellable_new ();
      HassGenerateFunc generate = cores == 1 ? slow_endless : endless;
      Flow flow = { .cancellable = cancellable };
      HassRunOptions run = { .n_cores = cores };
      GError *error = NULL;
      GThread *thread = g_thread_new ("cancel", cancel_soon, cancellable);
      CU_ASSERT_FALSE (run_flow (&flow, generate, run, 0, 0, &error));
      CU_ASSERT_TRUE (
          g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED));
      CU_ASSERT_EQUAL (flow.loads, 0);
      CU_ASSERT_EQUAL (flow.wrong, 0);
      g_clear_error (&error);
      g_thread_join (thread);
    }
}

static void
cancelled_before (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Flow flow = { .cancellable = cancellable };
  HassRunOptions run = { .n_cores = 2 };
  GError *error = NULL;
  g_cancellable_cancel (cancellable);
  CU_ASSERT_FALSE (run_flow (&flow, endless, run, 0, 0, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED));
  CU_ASSERT_EQUAL (flow.computed, 0);
  g_clear_error (&error);
}

static void
past_deadline (void)
{
  HassGenerateFunc generators[] = { endless, slow_endless };
  for (guint cores = 1; cores < 4; cores++)
    for (guint i = 0; i < 2; i++)
      {
        Flow flow = { 0 };
        HassRunOptions run = { .n_cores = cores, .deadline_ms = 40 };
        GError *error = NULL;
        /* Without a deadline these farms would never end. */
        watchdog (600, "a farm past its deadline");
        CU_ASSERT_FALSE (run_flow (&flow, generators[i], run, 0, 0, &error));
        watchdog (0, NULL);
        CU_ASSERT_TRUE (
            g_error_matches (error, HASS_ERROR, HASS_ERROR_DEADLINE));
        CU_ASSERT_EQUAL (flow.loads, 0);
        g_clear_error (&error);
      }
}

/* -- Idle --------------------------------------------------------------- */

static gboolean
sleepy (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)error;
  Flow *flow = data;
  for (guint i = 0; i < 30; i++)
    {
      emit (emitter, flow, 10);
      if (i == 0)
        {
          flow->cpu_s -= cpu_time_s ();
          flow->elapsed_s -= 1e-6 * g_get_monotonic_time ();
        }
      usleep (10000);
    }
  flow->cpu_s += cpu_time_s ();
  flow->elapsed_s += 1e-6 * g_get_monotonic_time ();
  return TRUE;
}

static void
idle_costs_nothing (void)
{
  Flow flow = { 0 };
  HassRunOptions run = { .n_cores = 4 };
  cpu_time_await_rest ();
  CU_ASSERT_TRUE (run_flow (&flow, sleepy, run, 0, 0, NULL));
  CU_ASSERT_TRUE (flow.cpu_s < 0.3 * flow.elapsed_s);
}

/* Four times the generator brings a load that the other core computes while the
   generator pauses, then three that this core begins, and then so many that
   this thread helps with them. */
static gboolean
in_bursts (HassEmitter *emitter, gpointer data, GError **error)
{
  Flow *flow = data;
  (void)error;
  for (guint i = 0; i < 4; i++)
    {
      flow->phase = BEGIN;
      emit (emitter, flow, 10);
      while (flow->phase == BEGIN)
        g_usleep (100);
      gint64 begin = g_get_monotonic_time ();
      usleep (30000);
      flow->paused_us += g_get_monotonic_time () - begin;
      for (guint k = 0; k < 3; k++)
        emit (emitter, flow, 10);
      flow->phase = END;
      while (flow->begun < 11 * i + 2)
        g_usleep (100);
      for (guint k = 0; k < 7; k++)
        emit (emitter, flow, 10);
      while (flow->computed < 11 * (i + 1))
        g_usleep (100);
    }
  return TRUE;
}

static gboolean
beside_pause (const HassBlock *block, HassWorker *worker, gpointer data,
              GError **error)
{
  Flow *flow = data;
  flow->begun++;
  if (flow->phase == BEGIN)
    {
      flow->phase = BEGUN;
      while (flow->phase == BEGUN)
        g_usleep (100);
      flow->phase = BURST;
    }
  else
    usleep (5000);
  return look (block, worker, data, error);
}

/* The generator's thread is not busy while it pauses, whatever else it and the
   other core do. That core is busy then, so that a sum with the pauses would
   exceed the bound unless the rest of the farm took as long as they. */
static void
busy_is_computing (void)
{
  Flow flow = { 0 };
  g_autoptr (HassReport) report = NULL;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.generate = in_bursts;
  f.cpu_worker = beside_pause;
  f.release = release;
  f.user_data = &flow;
  f.pool_loads = 4;
  f.run.n_cores = 2;
  watchdog (600, "a generator that pauses");
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, &report, NULL));
  watchdog (0, NULL);
  double paused_s = 1e-6 * flow.paused_us;
  CU_ASSERT_TRUE (report->makespan_s > 0.120);
  CU_ASSERT_TRUE (2 * report->devices[0].busy_s
                  < 2 * report->makespan_s - paused_s + 1e-3);
  CU_ASSERT_TRUE (2 * report->devices[0].busy_s > paused_s - 1e-3);
}

/* -- Few large loads ---------------------------------------------------- */

#define CORES 4
#define LARGE ((gsize)40 << 20)

static _Atomic guint n_large; /* loads that are computed, or have been */

static gboolean
emit_large (HassEmitter *emitter, gpointer data, GError **error)
{
  const HassLoad load = { .input = data, .input_bytes = LARGE };
  gboolean ok = TRUE;
  (void)error;
  for (guint i = 0; i < CORES && ok; i++)
    ok = hass_emitter_emit (emitter, &load);
  return ok;
}

/* Each load is computed until all are. */
static void
meet (void)
{
  n_large++;
  while (n_large < CORES)
    g_thread_yield ();
}

static gboolean
meet_in_block (const HassBlock *block, HassWorker *worker, gpointer data,
               GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  meet ();
  return TRUE;
}

static gboolean
meet_in_stage (HassToken *token, HassWorker *worker, gpointer data,
               GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  meet ();
  return TRUE;
}

static void
large_for_all_cores (void)
{
  g_autofree guint8 *input = g_malloc (LARGE); /* nobody reads it */
  const HassStage stage = HASS_STAGE (.cpu = meet_in_stage);
  HassDataFarm f = HASS_DATA_FARM_INIT;
  HassPipeline p = HASS_PIPELINE_INIT;
  f.generate = p.generate = emit_large;
  f.user_data = p.user_data = input;
  f.run.n_cores = p.run.n_cores = CORES;
  f.run.n_gpus = p.run.n_gpus = -1;
  f.cpu_worker = meet_in_block;
  p.stages = &stage;
  p.n_stages = 1;
  watchdog (60, "a large load for each core");
  CU_ASSERT_TRUE (hass_data_farm_indivisible (&f, NULL, NULL));
  n_large = 0;
  CU_ASSERT_TRUE (hass_pipeline (&p, NULL, NULL));
  n_large = 0;
  watchdog (0, NULL);
}

HASS_TEST_SUITE (
    bounded, { "no more loads or bytes are in flight than asked", bounds_hold },
    { "a load larger than the pool goes alone", large_loads_go_alone },
    { "without bounds all cores compute large loads", large_for_all_cores },
    { "memory stays flat with loads of all sizes", memory_stays_flat },
    { "an endless generator ends when the farm is cancelled", cancelled },
    { "a farm that is cancelled before it begins computes nothing",
      cancelled_before },
    { "an endless generator ends at the deadline", past_deadline },
    { "idle cores cost next to nothing", idle_costs_nothing },
    { "a core's busy time is not its generator's", busy_is_computing })
