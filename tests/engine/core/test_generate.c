/* SPDX-License-Identifier: MIT */
/* test_generate.c: when the generator of a farm has room.
   Thread safety: the counts are atomic. */
#include <stdatomic.h>

#include "engine/core/job.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define CORES 3
#define N 40
/* Three exceed the default bound. */
#define LOAD_BYTES (((gsize)64 << 20) / 3 + 1)
/* More loads than may wait or be computed, two a core. Their bytes, of which
   none are there, are a sixteenth of 5 GB. */
#define AHEAD 14
#define OTHERS_US                                                              \
  3000 /* so that the calling thread has nothing left and waits */

/* @held: number of the load that waits until the generator has gone on, plus 1;
   0: none yet. */
typedef struct
{
  pthread_t caller;
  _Atomic guint emitted, held, n_computed;
} Run;

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Run *run = data;
  const HassLoad load = { .size = 1, .input_bytes = LOAD_BYTES };
  (void)error;
  for (; run->emitted < N; run->emitted++)
    if (!hass_emitter_emit (emitter, &load))
      return FALSE;
  return TRUE;
}

static gboolean
compute (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  Run *run = data;
  guint none = 0;
  (void)worker, (void)error;
  if (pthread_equal (pthread_self (), run->caller))
    while (run->held == 0)
      g_thread_yield ();
  else
    {
      if (atomic_compare_exchange_strong (&run->held, &none,
                                          (guint)block->seq + 1))
        while (run->emitted < MIN (block->seq + AHEAD, N))
          g_thread_yield ();
      g_usleep (OTHERS_US);
    }
  run->n_computed++;
  return TRUE;
}

/* One core's load is held until others have been emitted which the pool has no
   room for as long as the loads computed beside that one count. */
static void
goes_on (void)
{
  Run run = { .caller = pthread_self () };
  g_autoptr (GError) error = NULL;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.generate = generate;
  f.cpu_worker = compute;
  f.user_data = &run;
  f.run.n_cores = CORES;
  f.run.n_gpus = -1;
  watchdog (60, "a farm of which one load takes long");
  CU_ASSERT_TRUE (hass_data_farm_indivisible (&f, NULL, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_EQUAL (run.n_computed, N);
}

/* -- On no engine --------------------------------------------------------- */

#define POOL_LOADS 1024

static guint n_full, n_woken;

static gint64
now (HassJob *job)
{
  (void)job;
  return 1;
}

static void
nothing (HassJob *job)
{
  (void)job;
}

static void
woken (HassJob *job)
{
  (void)job;
  n_woken++;
}

static gboolean
collect (const HassResult *result, gpointer data, GError **error)
{
  (void)result, (void)data, (void)error;
  return TRUE;
}

/* The pool is full: two loads enter a round, one is computed, and the other,
   which ends the round, while this thread sleeps, as the live engine would say.
   No result is delivered. */
static gboolean
compute_both (HassJob *job)
{
  guint n = 0;
  n_full++;
  hass_lock_take (&job->decision);
  HassSlot *slot = hass_job_begin_round (job);
  hass_lock_give (&job->decision);
  job->awaits_units = TRUE;
  CU_ASSERT_FALSE (hass_load_pool_has_room (job->pool));
  for (n_woken = 0; n_woken < 2;)
    {
      hass_job_units_finished (job, slot, 1);
      CU_ASSERT_EQUAL_FATAL (n_woken, ++n);
      CU_ASSERT_TRUE (hass_load_pool_has_room (job->pool));
    }
  return TRUE;
}

static gboolean
emit_three (HassEmitter *emitter, gpointer data, GError **error)
{
  const HassLoad load = { .size = 1, .input_bytes = 2 * LOAD_BYTES };
  (void)data, (void)error;
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_TRUE (hass_emitter_emit (emitter, &load));
  return TRUE;
}

/* Returns: a job of one core whose generator is @generate; free with
   end_job(). @farm: is filled in. */
static HassJob *
begin_job (const HassEngineOps *engine, HassGenerateFunc generate,
           HassFarm *farm)
{
  static const HassRunOptions options = { .dry = TRUE };
  HassDeviceTraits cpu = { .name = "cpu",
                           .kind = HASS_DEVICE_CPU,
                           .cores = 1,
                           .width = 1,
                           .max_in_flight = 1 };
  HassDevice *none = NULL;
  HassJobDevices of = { .devices = &cpu, .gpus = &none, .n_devices = 1 };
  *farm = (HassFarm){ .name = "full",
                      .kind = HASS_FARM_INDIVISIBLE,
                      .generate = generate,
                      .cpu_worker = compute,
                      .collect = collect,
                      .order = HASS_RESULTS_ORDERED,
                      .pool_loads = POOL_LOADS,
                      .pool_bytes = LOAD_BYTES,
                      .round_loads = 1024,
                      .window = 1024,
                      .strategy = "auto",
                      .run = &options };
  HassJob *job = hass_job_new (farm, engine, &of, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (job);
  return job;
}

static void
end_job (HassJob *job)
{
  hass_job_finish (job);
  g_clear_error (&job->error);
  hass_job_free (job);
}

static void
wakes (void)
{
  static const HassEngineOps engine = { .now = now,
                                        .make_room = compute_both,
                                        .loads_came = nothing,
                                        .changed = woken };
  HassFarm farm;
  HassJob *job = begin_job (&engine, emit_three, &farm);
  hass_job_generate (job);
  CU_ASSERT_EQUAL (n_full, 1);
  end_job (job);
}

static guint n_told;

static void
tell (HassJob *job)
{
  (void)job;
  n_told++;
}

/* Emits loads while one core may come, then while it is in. */
static gboolean
emit_beside_cores (HassEmitter *emitter, gpointer data, GError **error)
{
  static const HassLoad load = { .size = 1 }; /* arrays stay where they are */
  (void)data, (void)error;
  CU_ASSERT_TRUE (hass_emitter_emit (emitter, &load));
  CU_ASSERT_EQUAL (n_told, 1);
  CU_ASSERT_TRUE (hass_emitter_emit_array (emitter, &load, 1));
  CU_ASSERT_EQUAL (n_told, 2);
  atomic_store (&emitter->job->inside, 1);
  CU_ASSERT_TRUE (hass_emitter_emit (emitter, &load));
  CU_ASSERT_TRUE (hass_emitter_emit_array (emitter, &load, 1));
  CU_ASSERT_EQUAL (n_told, 2);
  atomic_store (&emitter->job->inside, 0);
  CU_ASSERT_TRUE (hass_emitter_emit (emitter, &load));
  CU_ASSERT_EQUAL (n_told, 3);
  return TRUE;
}

static void
tells (void)
{
  static const HassEngineOps engine
      = { .now = now, .loads_came = tell, .changed = nothing };
  HassFarm farm;
  HassJob *job = begin_job (&engine, emit_beside_cores, &farm);
  job->told_below = 1;
  n_told = 0;
  hass_job_generate (job);
  end_job (job);
}

static guint n_counts;

static guint64
count_done (gpointer data)
{
  (void)data;
  n_counts++;
  return 0;
}

/* Ends the farm instead of making room. */
static gboolean
give_up (HassJob *job)
{
  (void)job;
  CU_ASSERT_EQUAL (n_counts, 1);
  return FALSE;
}

static gboolean
emit_too_many (HassEmitter *emitter, gpointer data, GError **error)
{
  const HassLoad load = { .size = 1 };
  (void)data, (void)error;
  for (guint i = 0; i < POOL_LOADS; i++)
    CU_ASSERT_TRUE (hass_emitter_emit (emitter, &load));
  n_counts = 0;
  CU_ASSERT_FALSE (hass_emitter_emit (emitter, &load));
  CU_ASSERT_EQUAL (n_counts, 1);
  return TRUE;
}

static void
counts_once (void)
{
  static const HassEngineOps engine = {
    .now = now, .make_room = give_up, .loads_came = nothing, .changed = nothing
  };
  HassFarm farm;
  HassJob *job = begin_job (&engine, emit_too_many, &farm);
  hass_load_pool_widen (job->pool, 2 * POOL_LOADS, 0, 0, count_done, NULL);
  hass_job_generate (job);
  end_job (job);
}

HASS_TEST_SUITE (
    generate,
    { "a long load does not keep the generator from going on while "
      "other cores have computed theirs",
      goes_on },
    { "where few large loads fill the pool each that is computed "
      "makes room and wakes the generating thread",
      wakes },
    { "the engine is told of emitted loads only while a core is missing",
      tells },
    { "an emission counts the room of a full pool once", counts_once })
