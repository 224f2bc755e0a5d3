/* SPDX-License-Identifier: MIT */
/* own_device.c: an application that brings its own kind of device: a thread
   that computes behind a slow link. Four farms count bits on it and the cores.
   Usage: own_device [partition|combine|indivisible|function] */
#include <hass/hass.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINK_BYTES_PER_US 1000
#define DEPTH 2

/* A bundle in flight. */
typedef struct
{
  guint slot;
  const HassBlock *blocks;
  gsize n;
  HassStaging in, out; /* the memory of the device */
  gint64 in_us, kernel_us, out_us;
  GError *error;
} Bundle;

typedef struct
{
  HassDevice device; /* first */
  const HassDeviceFarm *farm;
  gpointer *constants;
  GThread *thread;
  GAsyncQueue *submitted, *finished; /* Bundle */
  Bundle bundles[DEPTH];
  Bundle end; /* ends the thread */
} ThreadDevice;

static void
describe (HassDevice *device, HassDeviceTraits *traits)
{
  (void)device;
  *traits = (HassDeviceTraits){ .name = "thread0",
                                .kind = HASS_DEVICE_GPU,
                                .cores = 1,
                                .width = 1,
                                .latency_ns = 20000,
                                .link_bytes_per_ns = LINK_BYTES_PER_US / 1e3,
                                .max_in_flight = DEPTH,
                                .model = "a thread behind a slow link" };
}

/* Returns how long so many bytes took on the link. */
static gint64
cross_link (guint64 bytes)
{
  gint64 begin = g_get_monotonic_time ();
  g_usleep (bytes / LINK_BYTES_PER_US);
  return g_get_monotonic_time () - begin;
}

/* Calls the worker of each block. */
static void
compute (ThreadDevice *d, Bundle *b)
{
  gboolean ok = TRUE;
  for (gsize i = 0; i < b->n && ok; i++)
    {
      const guint64 *in = b->in.offsets, *out = b->out.offsets;
      HassBundle one = { .n_blocks = 1,
                         .blocks = &b->blocks[i],
                         .input = b->in.data + in[i],
                         .input_bytes = in[i + 1] - in[i],
                         .output = b->out.data + out[i],
                         .output_bytes = out[i + 1] - out[i],
                         .n_elements = b->blocks[i].count,
                         .constants = (const gpointer *)d->constants,
                         .n_constants = d->farm->n_constants };
      ok = hass_gpu_worker_call (hass_device_worker (d->farm, one.blocks), &one,
                                 NULL, d->farm->user_data, &b->error);
    }
}

static gpointer
run (gpointer data)
{
  ThreadDevice *d = data;
  for (Bundle *b; (b = g_async_queue_pop (d->submitted)) != &d->end;)
    {
      b->in_us = cross_link (b->in.offsets[b->n]);
      gint64 begin = g_get_monotonic_time ();
      compute (d, b);
      b->kernel_us = g_get_monotonic_time () - begin;
      b->out_us = cross_link (b->out.capacity);
      g_async_queue_push (d->finished, b);
    }
  return NULL;
}

static gboolean
open_device (HassDevice *device, const HassDeviceFarm *farm, GError **error)
{
  ThreadDevice *d = (ThreadDevice *)device;
  if (farm->accumulator_bytes > 0 || farm->record_bytes > 0)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
                   "thread0 has neither accumulators nor records");
      return FALSE;
    }
  d->farm = farm;
  d->constants = g_new0 (gpointer, farm->n_constants + 1);
  for (guint i = 0; i < farm->n_constants; i++)
    d->constants[i]
        = g_memdup2 (farm->constants[i].data, farm->constants[i].bytes);
  d->thread = g_thread_new ("thread0", run, d);
  return TRUE;
}

/* Makes memory of the device for the bundle. */
static void
reserve (Bundle *b)
{
  b->in.capacity = b->out.capacity = 0;
  b->out.offsets = g_new0 (guint64, b->n + 1);
  for (gsize i = 0; i < b->n; i++)
    {
      const HassBlock *k = &b->blocks[i];
      gsize halo = k->halo_before + k->halo_after;
      b->in.capacity += k->input_bytes;
      b->in.capacity += halo * (k->input_bytes / MAX (k->count, 1));
      b->out.offsets[i + 1] = b->out.capacity += k->output_bytes;
    }
  b->in.offsets = g_new0 (guint64, b->n + 1);
  b->in.data = g_malloc0 (b->in.capacity + HASS_STAGING_GUARD);
  b->out.data = g_malloc0 (b->out.capacity + 1);
}

static void
release (Bundle *b)
{
  g_free (b->in.data);
  g_free (b->in.offsets);
  g_free (b->out.data);
  g_free (b->out.offsets);
  b->blocks = NULL;
}

static gboolean
submit (HassDevice *device, guint slot, const HassBlock *blocks, gsize n,
        GError **error)
{
  ThreadDevice *d = (ThreadDevice *)device;
  Bundle *b = &d->bundles[slot];
  *b = (Bundle){ .slot = slot, .blocks = blocks, .n = n };
  reserve (b);
  if (!hass_staging_gather (blocks, n, &b->in, d->farm->bundle,
                            d->farm->user_data, error))
    {
      release (b);
      return FALSE;
    }
  g_async_queue_push (d->submitted, b);
  return TRUE;
}

static gboolean
wait_bundle (HassDevice *device, gint64 timeout_ns, HassBundleDone *done,
             GError **error)
{
  ThreadDevice *d = (ThreadDevice *)device;
  Bundle *b = g_async_queue_timeout_pop (d->finished,
                                         (guint64)MAX (timeout_ns / 1000, 1));
  if (!b)
    return FALSE;
  *done = (HassBundleDone){ .slot = b->slot,
                            .h2d_ns = 1e3 * b->in_us,
                            .kernel_ns = 1e3 * b->kernel_us,
                            .d2h_ns = 1e3 * b->out_us };
  if (b->error)
    g_propagate_error (error, b->error);
  done->failed
      = b->error
        || !hass_staging_scatter (b->blocks, b->n, &b->out, d->farm->unbundle,
                                  d->farm->user_data, error);
  release (b);
  return TRUE;
}

static void
close_device (HassDevice *device)
{
  ThreadDevice *d = (ThreadDevice *)device;
  g_async_queue_push (d->submitted, &d->end);
  g_thread_join (d->thread);
  for (guint i = 0; i < d->farm->n_constants; i++)
    g_free (d->constants[i]);
  g_free (d->constants);
}

static const HassDeviceOps device_ops = { .struct_size = sizeof (HassDeviceOps),
                                          .kind = "thread",
                                          .describe = describe,
                                          .open = open_device,
                                          .submit = submit,
                                          .wait = wait_bundle,
                                          .close = close_device };

static guint
count (gboolean exact)
{
  (void)exact;
  return 1;
}

static HassDevice *
create (guint index)
{
  (void)index;
  ThreadDevice *d = g_new0 (ThreadDevice, 1);
  d->device.ops = &device_ops;
  d->submitted = g_async_queue_new ();
  d->finished = g_async_queue_new ();
  return &d->device;
}

static void
destroy (HassDevice *device)
{
  ThreadDevice *d = (ThreadDevice *)device;
  g_async_queue_unref (d->submitted);
  g_async_queue_unref (d->finished);
  g_free (d);
}

static const HassDeviceKindOps thread_kind
    = { .struct_size = sizeof (HassDeviceKindOps),
        .name = "thread",
        .summary = "a thread behind a slow link",
        .count = count,
        .create = create,
        .destroy = destroy };

/* -- An application that uses it ---------------------------------------- */

#define LOADS 256
#define WORDS 512 /* a load */

/* The bits of each word, and as much work besides as shows. */
static void
count_bits (const guint64 *words, gsize bytes, guint8 *counts)
{
  for (gsize i = 0; i < bytes / sizeof *words; i++)
    {
      counts[i] = 0;
      for (guint bit = 0; bit < 64; bit++)
        counts[i] += words[i] >> bit & 1;
    }
}

static gboolean
on_core (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)worker, (void)data, (void)error;
  count_bits ((gconstpointer)block->input, block->input_bytes, block->output);
  return TRUE;
}

static gboolean
task_on_core (const HassTask *task, HassWorker *worker, gpointer data,
              GError **error)
{
  (void)worker, (void)data, (void)error;
  count_bits (task->input, task->input_bytes, task->output);
  return TRUE;
}

static gboolean
on_thread (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  (void)stream, (void)data, (void)error;
  count_bits ((gconstpointer)bundle->input, bundle->input_bytes,
              bundle->output);
  return TRUE;
}

static const HassKindWorker workers[]
    = { { "thread", on_thread }, { NULL, NULL } };

static gboolean
run_data_farm (const char *kind, guint64 *words, guint8 *counts,
               HassReport **report, GError **error)
{
  gboolean cut = strcmp (kind, "partition") == 0;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  HassLoad loads[LOADS];
  gsize n = cut ? LOADS * WORDS : WORDS;
  for (gsize i = 0; i < LOADS; i++)
    loads[i] = (HassLoad){ .input = words + i * WORDS,
                           .input_bytes = n * sizeof *words,
                           .output = counts + i * WORDS,
                           .output_bytes = n,
                           .size = n };
  farm.name = kind;
  farm.loads = loads;
  farm.n_loads = cut ? 1 : LOADS;
  farm.cpu_worker = on_core;
  farm.workers = workers;
  return cut ? hass_data_farm_partition (&farm, report, error)
         : strcmp (kind, "combine") == 0
             ? hass_data_farm_combine (&farm, report, error)
             : hass_data_farm_indivisible (&farm, report, error);
}

static gboolean
run_function_farm (guint64 *words, guint8 *counts, HassReport **report,
                   GError **error)
{
  HassFunctionFarm farm = HASS_FUNCTION_FARM_INIT;
  HassTask tasks[LOADS];
  for (gsize i = 0; i < LOADS; i++)
    tasks[i] = (HassTask){ .cpu = task_on_core,
                           .workers = workers,
                           .input = words + i * WORDS,
                           .input_bytes = WORDS * sizeof *words,
                           .output = counts + i * WORDS,
                           .output_bytes = WORDS,
                           .expected_time = 1 };
  farm.name = "function";
  farm.tasks = tasks;
  farm.n_tasks = LOADS;
  return hass_function_farm (&farm, report, error);
}

/* Runs a farm, and says who computed how many units, or what is wrong. */
static gboolean
show (const char *kind, guint64 *words)
{
  GError *error = NULL;
  HassReport *report = NULL;
  g_autofree guint8 *counts = g_new0 (guint8, LOADS * WORDS);
  gboolean ok = strcmp (kind, "function") == 0
                    ? run_function_farm (words, counts, &report, &error)
                    : run_data_farm (kind, words, counts, &report, &error);
  guint64 wrong = 0;
  for (gsize i = 0; i < LOADS * WORDS && ok; i++)
    wrong += counts[i] != __builtin_popcountll (words[i]);
  printf ("%s: %s, %" G_GUINT64_FORMAT " wrong", kind,
          ok ? "done" : error->message, wrong);
  for (guint d = 0; report && d < report->n_devices; d++)
    printf (", %s %" G_GUINT64_FORMAT, report->devices[d].name,
            report->devices[d].units);
  printf ("\n");
  hass_report_free (report);
  g_clear_error (&error);
  return ok && wrong == 0;
}

int
main (int argc, char **argv)
{
  static const char *const kinds[]
      = { "partition", "combine", "indivisible", "function", NULL };
  GError *error = NULL;
  if (argc > 2 || (argc == 2 && !g_strv_contains (kinds, argv[1])))
    {
      fprintf (stderr,
               "own_device: '%s' is none of partition, combine, "
               "indivisible and function\n",
               argv[argc - 1]);
      return 2;
    }
  gboolean ok = hass_device_kind_register (&thread_kind, &error);
  g_autofree guint64 *words = g_new (guint64, LOADS * WORDS);
  for (gsize i = 0; i < LOADS * WORDS; i++)
    words[i] = i * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  if (!ok)
    printf ("%s\n", error->message);
  for (guint i = 0; kinds[i] && ok; i++)
    if (argc < 2 || strcmp (argv[1], kinds[i]) == 0)
      ok = show (kinds[i], words);
  g_clear_error (&error);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
