/* SPDX-License-Identifier: MIT */
/* memory.c: measures bytes of a waiting load, and the memory of a farm with an
   endless generator.

   DESIGN. Waiting loads: the workers block until the generator has emitted
   all, and mallinfo2 shows what was allocated since before the farm. Endless
   generator: a process of its own, since the largest resident set is kept
   for the life of a process.

   Thread safety: the farm's callbacks run on its threads; what they share is
   atomic. */
#include "bench.h"

#include <hass/hass.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void
must (gboolean ok, GError *error)
{
  if (ok)
    return;
  fprintf (stderr, "hass: %s\n", error ? error->message : "failed");
  exit (1);
}

/* -- f. Waiting loads --------------------------------------------------- */

#define N_WAITING 1000000
#define PLATFORM "doc/platforms/thesis.platform"

static gsize before, most;
static _Atomic gboolean all_emitted;
static _Atomic gboolean sampled;

static gsize
allocated (void)
{
  struct mallinfo2 m = mallinfo2 ();
  return m.uordblks + m.hblkhd;
}

static gboolean
emit_all (HassEmitter *emitter, gpointer data, GError **error)
{
  HassLoad load = { .size = 1, .cost = 1 };
  (void)data, (void)error;
  for (guint i = 0; i < N_WAITING; i++)
    {
      load.cost = 1 + i % 100;
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  most = allocated ();
  atomic_store (&all_emitted, TRUE);
  return TRUE;
}

/* Holds its core until all loads wait; then the next one to come, in the
   round that all of them make, looks once more. */
static gboolean
wait_for_all (const HassBlock *block, HassWorker *worker, gpointer data,
              GError **error)
{
  (void)worker, (void)data, (void)error;
  while (!atomic_load (&all_emitted))
    g_usleep (100);
  if (block->seq > N_WAITING / 2 && !atomic_exchange (&sampled, TRUE))
    most = MAX (most, allocated ());
  return TRUE;
}

static void
run_waiting (HassCostClass cost,
             gboolean (*run) (const HassDataFarm *, HassReport **, GError **),
             const char *platform, const char *name)
{
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  GError *error = NULL;
  atomic_store (&all_emitted, FALSE);
  atomic_store (&sampled, FALSE);
  farm.generate = emit_all;
  farm.cpu_worker = wait_for_all;
  farm.pool_loads = 1 << 20;
  farm.cost = cost;
  farm.run.platform = platform;
  before = allocated ();
  must (run (&farm, NULL, &error), error);
  bench_single (name, (double)(most - before) / N_WAITING, "bytes a load",
                BENCH_LESS_IS_BETTER, 64);
}

/* -- h. An endless generator -------------------------------------------- */

#define BUFFER_BYTES (64 << 10)

typedef struct
{
  guint64 n_loads;
  _Atomic guint64 n_done;
} Stream;

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  const Stream *stream = data;
  (void)error;
  for (guint64 i = 0; i < stream->n_loads; i++)
    {
      gpointer bytes = hass_emitter_buffer (emitter, BUFFER_BYTES);
      memset (bytes, (int)(i & 0xff), BUFFER_BYTES);
      HassLoad load = { .input = bytes,
                        .input_bytes = BUFFER_BYTES,
                        .size = BUFFER_BYTES,
                        .tag = GSIZE_TO_POINTER (i),
                        .flags = HASS_LOAD_BUFFER };
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  return TRUE;
}

/* Reads every byte; a buffer that was recycled too early is seen. */
static gboolean
check (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  Stream *stream = data;
  const guint64 *words = (const guint64 *)block->input;
  guint64 want = (GPOINTER_TO_SIZE (block->load->tag) & 0xff)
                 * G_GUINT64_CONSTANT (0x0101010101010101);
  guint64 wrong = 0;
  (void)worker;
  for (gsize i = 0; i < BUFFER_BYTES / sizeof *words; i++)
    wrong |= words[i] ^ want;
  if (wrong != 0)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "a buffer was written over while its load waited");
      return FALSE;
    }
  atomic_fetch_add_explicit (&stream->n_done, 1, memory_order_relaxed);
  return TRUE;
}

static void
run_endless (void)
{
  double gigabytes = bench_setting ("BENCH_GB", 100);
  Stream stream = { .n_loads = (guint64)(gigabytes * 1e9 / BUFFER_BYTES) };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  GError *error = NULL;
  struct rusage usage;
  farm.generate = generate;
  farm.user_data = &stream;
  farm.cpu_worker = check;
  printf ("\nh. %.0f GB in loads of 64 KiB from a generator "
          "(BENCH_GB shortens it)\n",
          gigabytes);
  gint64 begin = bench_now_ns ();
  must (hass_data_farm_indivisible (&farm, NULL, &error), error);
  double seconds = (bench_now_ns () - begin) * 1e-9;
  if (atomic_load (&stream.n_done) != stream.n_loads)
    must (FALSE, NULL);
  getrusage (RUSAGE_SELF, &usage);
  bench_single ("largest resident set", usage.ru_maxrss * 1024e-6, "MB",
                BENCH_LESS_IS_BETTER, 200);
  bench_single ("written, then read on any core",
                stream.n_loads * (double)BUFFER_BYTES * 1e-9 / seconds, "GB/s",
                BENCH_MORE_IS_BETTER, 0);
}

/* -- The two programs --------------------------------------------------- */

int
main (int argc, char **argv)
{
  /* The largest resident set is of the whole process: one run each. */
  if (argc > 1 && strcmp (argv[1], "endless") == 0)
    {
      run_endless ();
      return 0;
    }
  printf ("\n== Memory\n\nf. %d loads wait while the workers are held up\n",
          N_WAITING);
  run_waiting (HASS_COST_UNKNOWN, hass_data_farm_combine, NULL,
               "costs unknown");
  run_waiting (HASS_COST_SIZED, hass_data_farm_combine, NULL, "costs known");
  if (g_file_test (PLATFORM, G_FILE_TEST_EXISTS))
    run_waiting (HASS_COST_SIZED, hass_data_farm_indivisible, PLATFORM,
                 "costs known, sorted for modelled GPUs");
  fflush (stdout);
  char *again[] = { argv[0], (char *)"endless", NULL };
  GError *error = NULL;
  if (!g_spawn_sync (NULL, again, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL,
                     NULL, &error))
    must (FALSE, error);
  return 0;
}
