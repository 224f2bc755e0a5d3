/* SPDX-License-Identifier: MIT */
/* pipe_beside.c: a pipeline on cores beside a device that is many times as fast
   as a core: speed of the default strategy in percent of the device alone.

   DESIGN. The work of cores and of the device is a sleep, so that a strategy
   can be judged on a machine of two cores and no GPU. Sleeps compete for
   nothing: a real core also reads loads, starts kernels and shares memory with
   the device. The device is the stand-in of the tests. Each measurement runs
   the device alone and then the default, so that both meet the same machine.
   Later runs are of named pipelines, whose rates are in a profile store of this
   line's own; the round that warms up is their first run.

   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <hass/hass.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "pipes.h"
#include "tests/engine/stand_in.h"

#define CORES 16
#define BYTES 4096     /* input and output of a token */
#define STOP_US 500    /* a core looks so often whether its token is wanted */
#define MAX_TOKENS 480 /* of a row */

/* @core_us, @device_us: of a token. @in_flight: HassPipeline.tokens. */
typedef struct
{
  guint core_us, device_us, tokens;
  gsize in_flight;
} Work;

/* @later: the profile store has the row's earlier runs, by @name. */
typedef struct
{
  const Work *work;
  gboolean pure, later;
  char *name;
} Row;

static void
kernel (const HassBundle *bundle, gpointer data)
{
  const Work *w = data;
  g_usleep (w->device_us * bundle->n_blocks);
}

static gboolean
on_device (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  (void)error;
  stand_in_launch (stream, kernel, bundle, data);
  return TRUE;
}

static gboolean
on_core (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  const Work *w = data;
  gint64 end = g_get_monotonic_time () + w->core_us;
  (void)token, (void)error;
  for (gint64 left = w->core_us; left > 0 && !hass_worker_stopping (worker);
       left = end - g_get_monotonic_time ())
    g_usleep ((gulong)MIN (left, STOP_US));
  return TRUE;
}

static gboolean
sink (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* Returns: ns of a run, of the device alone unless @cores. */
static double
run (const Row *row, gboolean cores)
{
  static guint8 input[BYTES];
  static HassLoad loads[MAX_TOKENS];
  Work work = *row->work;
  HassDevice *device = stand_in_new (&(StandInPlan){ .depth = 3, .width = 1 });
  const HassStage stages[] = {
    HASS_STAGE (.cpu = cores ? on_core : NULL, .gpu = on_device, .name = "work",
                .pure = row->pure, .output_bytes = BYTES, .user_data = &work),
    HASS_STAGE (.cpu = sink, .mode = HASS_STAGE_ORDERED, .name = "sink"),
  };
  HassPipeline p = HASS_PIPELINE_INIT;
  GError *error = NULL;
  for (guint i = 0; i < work.tokens; i++)
    loads[i] = (HassLoad){ .input = input, .input_bytes = BYTES };
  p.name = cores && row->later ? row->name : NULL;
  p.loads = loads;
  p.n_loads = work.tokens;
  p.tokens = work.in_flight;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.run.n_cores = CORES;
  p.run.n_gpus = -1;
  p.run.devices = &device;
  p.run.n_devices = 1;
  gint64 begin = bench_now_ns ();
  if (!hass_pipeline (&p, NULL, &error))
    g_error ("beside a device: %s", error->message);
  double ns = (double)(bench_now_ns () - begin);
  stand_in_free (device);
  return ns;
}

static double
speed (gconstpointer row)
{
  double alone_ns = run (row, FALSE);
  return 100 * alone_ns / run (row, TRUE);
}

static void
add (BenchGroup *group, Row *row)
{
  const Work *w = row->work;
  g_autofree char *bound
      = w->in_flight ? g_strdup_printf (" of %zu", w->in_flight) : NULL;
  row->name = g_strdup_printf (
      "%g ms beside %g, %u tokens%s%s%s", w->core_us * 1e-3,
      w->device_us * 1e-3, w->tokens, bound ? bound : "",
      row->pure ? ", pure" : "", row->later ? ", later" : "");
  bench_group_add (group, 97, speed, row, "%s", row->name);
}

void
pipe_run_beside (void)
{
  static const Work works[]
      = { { 350000, 1000, 480, 0 }, { 20000, 1000, 480, 0 },
          { 20000, 1000, 480, 64 }, { 6000, 1000, 480, 0 },
          { 6000, 1000, 100, 0 },   { 20000, 1000, 60, 0 },
          { 3000, 1000, 200, 0 } };
  Row rows[4 * G_N_ELEMENTS (works)];
  g_autofree char *outside = g_strdup (g_getenv ("HASS_PROFILE"));
  g_autofree char *store
      = g_strdup_printf ("%s/hass-bench-%d", g_get_tmp_dir (), getpid ());
  g_autofree char *lock = g_strconcat (store, ".lock", NULL);
  BenchGroup *group = bench_group_new (
      BENCH_MORE_IS_BETTER, "% of the device alone",
      "r. %d cores beside a device, all of which sleep", CORES);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      rows[i] = (Row){ .work = &works[i % G_N_ELEMENTS (works)],
                       .pure = i / G_N_ELEMENTS (works) % 2,
                       .later = i / G_N_ELEMENTS (works) > 1 };
      add (group, &rows[i]);
    }
  g_setenv ("HASS_PROFILE", store, TRUE);
  bench_group_run (group, bench_rounds (3));
  if (outside)
    g_setenv ("HASS_PROFILE", outside, TRUE);
  else
    g_unsetenv ("HASS_PROFILE");
  g_unlink (store);
  g_unlink (lock);
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_free (rows[i].name);
}
