/* SPDX-License-Identifier: MIT */
/* gpu_trial.c: farms of the tests on real GPUs, and their data.
   Thread safety: one thread. */
#include "gpu_trial.h"

#include <stdio.h>
#include <string.h>

#include "device/cuda/gpus-private.h"
#include "hass_test.h"
#include "kernels.h"

gboolean
gpu_skips (gboolean built)
{
  if (!built)
    hass_test_skip ("built without nvcc");
  else if (hass_gpus_count () == 0)
    hass_test_skip ("no GPU");
  else
    return FALSE;
  return TRUE;
}

gboolean
gpu_absent (void)
{
  return gpu_skips (kernel_sum != NULL);
}

void
gpu_in_child (const char *suite, const char *fault)
{
  if (gpu_absent ())
    return;
  if (g_getenv ("TEST_GPU_SMALL"))
    {
      hass_test_skip ("not under a sanitizer");
      return;
    }
  g_auto (GStrv) env
      = g_environ_setenv (g_get_environ (), "TEST_GPU_FAULT", fault, TRUE);
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *out = NULL, *err = NULL;
  char *argv[] = { self, "--here", "--suite", (char *)suite, NULL };
  GError *error = NULL;
  gint status = -1;
  CU_ASSERT_TRUE (g_spawn_sync (NULL, argv, env, 0, NULL, NULL, &out, &err,
                                &status, &error));
  CU_ASSERT_EQUAL (status, 0);
  CU_ASSERT_TRUE (out && strstr (out, "passed"));
  if (status != 0)
    fprintf (stderr, "%s\n%s\n", out, err);
  g_clear_error (&error);
}

/* Under a sanitizer: less of everything. */
gsize
scaled (gsize n)
{
  return g_getenv ("TEST_GPU_SMALL") ? n / 50 + 1 : n;
}

static guint64 state = 88172645463325252u;

static guint64
next_random (void)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

guint8 *
random_bytes (gsize n, gboolean pinned)
{
  guint8 *bytes = pinned ? hass_memory_alloc (n, NULL) : g_malloc (n);
  for (gsize i = 0; i < n; i++)
    bytes[i] = (guint8)(next_random () >> 32);
  return bytes;
}

HassReport *
must_run (gboolean (*run) (const HassDataFarm *, HassReport **, GError **),
          const HassDataFarm *farm)
{
  GError *error = NULL;
  HassReport *report = NULL;
  gboolean ok = run (farm, &report, &error);
  CU_ASSERT_TRUE (ok);
  if (!ok)
    fprintf (stderr, "%s\n", error->message);
  for (guint d = 0; report && d < report->n_devices; d++)
    if (report->devices[d].lost || report->devices[d].message)
      fprintf (stderr, "%s: %s\n", report->devices[d].name,
               report->devices[d].message);
  g_clear_error (&error);
  return report;
}

/* All GPUs together. */
const HassDeviceReport *
gpu_of (const HassReport *report)
{
  static HassDeviceReport sum;
  sum = (HassDeviceReport){ 0 };
  for (guint d = 0; report && d < report->n_devices; d++)
    {
      const HassDeviceReport *v = &report->devices[d];
      if (v->kind != HASS_DEVICE_GPU)
        continue;
      sum.direct_bytes += v->direct_bytes;
      sum.staged_bytes += v->staged_bytes;
      sum.registered_bytes += v->registered_bytes;
      sum.failures += v->failures;
      sum.peak_bytes = MAX (sum.peak_bytes, v->peak_bytes);
      sum.message = v->message ? v->message : sum.message;
    }
  return &sum;
}

Scattered
scattered_new (gsize n, gsize least, gsize most)
{
  Scattered s
      = { .loads = g_new0 (HassLoad, n), .sums = g_new0 (guint64, n), .n = n };
  s.bytes = random_bytes (n * most, FALSE);
  for (gsize i = 0; i < n; i++)
    {
      gsize at = (i * 7919) % n;
      s.loads[i].input = s.bytes + at * most;
      s.loads[i].input_bytes = least + next_random () % (most - least + 1);
      s.loads[i].size = s.loads[i].input_bytes;
      s.loads[i].output = &s.sums[i];
      s.loads[i].output_bytes = sizeof (guint64);
    }
  return s;
}

static guint64
sum_of (const HassLoad *load)
{
  const guint8 *in = load->input;
  guint64 sum = 0;
  for (gsize k = 0; k < load->input_bytes; k++)
    sum += in[k];
  return sum;
}

void
scattered_check (Scattered *s)
{
  guint wrong = 0;
  for (gsize i = 0; i < s->n; i++)
    wrong += s->sums[i] != sum_of (&s->loads[i]);
  CU_ASSERT_EQUAL (wrong, 0);
  memset (s->sums, 0, s->n * sizeof *s->sums);
}

void
scattered_free (Scattered *s)
{
  g_free (s->bytes);
  g_free (s->loads);
  g_free (s->sums);
}

static gboolean
sum_on_cpu (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  (void)worker;
  (void)data;
  (void)error;
  guint64 sum = sum_of (block->load);
  memcpy (block->output, &sum, sizeof sum);
  return TRUE;
}

HassDataFarm
scattered_farm (Scattered *s, gboolean cpu, HassGpuWorkerFunc gpu)
{
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "sums";
  farm.loads = s->loads;
  farm.n_loads = s->n;
  farm.cpu_worker = cpu ? sum_on_cpu : NULL;
  farm.gpu_worker = gpu;
  return farm;
}
