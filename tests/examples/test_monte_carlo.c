/* SPDX-License-Identifier: MIT */
/* test_monte_carlo.c: monte_carlo's sums are the same bits whichever
   instructions, strategy and devices compute them, and its prices are right.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "monte_carlo/kernels.h"
#include "monte_carlo/monte_carlo.h"
#include "monte_carlo_device.h"
#include "tests/engine/stand_in.h"

#define THESIS HASS_TOP "/doc/platforms/thesis.platform"
#define SEED G_GUINT64_CONSTANT (0x123456789abcdef)

static const McOption usual = { 100, 100, 0.05, 0.2, 1, 16 };

static McModel
model_of (McKind kind)
{
  return kind == MC_PI ? monte_carlo_pi_model (SEED)
                       : monte_carlo_option_model (kind, &usual, SEED);
}

/* Payoffs near 700 spot prices, so that their units are nearly those of the
   last place: a difference of one rounding shows. */
static McModel
fine_model (McKind kind, guint steps)
{
  McOption o = usual;
  o.steps = steps;
  McModel m = monte_carlo_option_model (kind, &o, SEED);
  if (kind == MC_PI)
    return monte_carlo_pi_model (SEED);
  m.strike = 0;
  m.deviation = 0.01;
  m.drift = kind == MC_EUROPEAN ? 6.55 : 0.01;
  m.per_step *= 700;
  return m;
}

static gboolean
same (const McSums *a, const McSums *b)
{
  return memcmp (a, b, sizeof *a) == 0;
}

/* -- The same bits ------------------------------------------------------ */

static void
kernels_agree (void)
{
  static const struct
  {
    guint64 first, count;
  } ranges[] = { { 0, 1 },  { 1, 1 },   { 1, 2 },      { 0, 1000 },
                 { 7, 64 }, { 63, 65 }, { 65, 20001 }, { 0xffffffd5, 100 } };
  const McKernels *kernels;
  for (guint i = 0; (kernels = monte_carlo_kernels (i)); i++)
    for (guint r = 0; r < G_N_ELEMENTS (ranges); r++)
      for (McKind kind = MC_PI; kind <= MC_ASIAN; kind++)
        for (guint steps = 1; steps < 10; steps++)
          {
            McModel m = fine_model (kind, steps);
            McSums got = { 0 };
            guint64 first = ranges[r].first, count = ranges[r].count;
            monte_carlo_sample (kernels, &m, first, count, &got);
            McSums wanted = mc_share (&m, kind, first, first + count, 0, 1);
            CU_ASSERT_EQUAL (got.n, count);
            CU_ASSERT_TRUE (same (&got, &wanted));
          }
}

/* The first is the one that farms use. */
static void
fastest_first (void)
{
#if defined(__aarch64__)
  CU_ASSERT_STRING_EQUAL (monte_carlo_kernels (0)->name, "neon");
#elif defined(__x86_64__)
  const char *wanted = __builtin_cpu_supports ("avx512bw") ? "avx512"
                       : __builtin_cpu_supports ("avx2")   ? "avx2"
                                                           : "scalar";
  CU_ASSERT_STRING_EQUAL (monte_carlo_kernels (0)->name, wanted);
#endif
  guint n = 0;
  while (monte_carlo_kernels (n))
    n++;
  CU_ASSERT_STRING_EQUAL (monte_carlo_kernels (n - 1)->name, "scalar");
}

static void
device_agrees (void)
{
  for (double x = -720; x < 720; x += 0.173)
    CU_ASSERT_EQUAL (device_exp (x), mc_exp (x));
  for (double x = 0x1p-33; x < 1e9; x *= 1.07)
    CU_ASSERT_EQUAL (device_log (x), mc_log (x));
  for (guint64 a = 0, b = 5; a < 1ull << 32; a += 12345678, b += 387654321)
    {
      double device[2], host[2];
      device_normals (a, b & 0xffffffff, &device[0], &device[1]);
      mc_normals (a, b & 0xffffffff, &host[0], &host[1]);
      CU_ASSERT_EQUAL (memcmp (device, host, sizeof host), 0);
    }
  for (McKind kind = MC_PI; kind <= MC_ASIAN; kind++)
    {
      McModel m = fine_model (kind, 7);
      McSums got = { 0 }, wanted = { 0 };
      for (guint thread = 0; thread < 37; thread++)
        {
          McSums part = device_share (&m, 11, 20012, thread, 37);
          mc_sums_merge (&got, &part);
        }
      monte_carlo_sample (monte_carlo_kernels (0), &m, 11, 20001, &wanted);
      CU_ASSERT_TRUE (same (&got, &wanted));
    }
}

/* Pinned: another machine or compiler must come to the same. */
static void
pinned (void)
{
  static const char *const prints[] = {
    "0000000000002710-0000000000001e97"
    "-00000000000000000000000000000000-00000000000000000000000000000000",
    "0000000000002710-0000000000000000"
    "-000000000000000001aad946a28a2d02-000000123b7b626236d8b13011faaf8c",
    "0000000000002710-0000000000000000"
    "-000000000000000001bcd194959e7fea-00000013cac1342400d2fded15c21a5a",
  };
  for (McKind kind = MC_PI; kind <= MC_ASIAN; kind++)
    {
      McModel m = fine_model (kind, 7);
      McSums sums = { 0 };
      monte_carlo_sample (monte_carlo_kernels (0), &m, 0, 10000, &sums);
      g_autofree char *print = monte_carlo_fingerprint (&sums);
      CU_ASSERT_STRING_EQUAL (print, prints[kind]);
    }
}

/* -- Farms -------------------------------------------------------------- */

#define SAMPLES 50001

static McSums
serial (McKind kind)
{
  McModel m = model_of (kind);
  return mc_share (&m, kind, 0, SAMPLES, 0, 1);
}

static McJob
job_of (McKind kind, guint64 block)
{
  return (
      McJob){ .model = model_of (kind), .samples = SAMPLES, .block = block };
}

static void
runs_to (const McJob *job, const McSums *wanted)
{
  McSums got;
  g_autoptr (GError) error = NULL;
  gboolean ok = monte_carlo_run (job, &got, NULL, &error);
  if (!ok)
    printf ("\n    %s", error->message);
  CU_ASSERT_TRUE (ok && same (&got, wanted));
}

static gboolean
serves (const HassStrategyOps *ops)
{
  return (ops->farms & HASS_FARM_PARTITION) != 0;
}

static void
farms_agree (void)
{
  static const guint64 blocks[] = { 0, 1000, 777, SAMPLES, SAMPLES + 5 };
  g_autofree const HassStrategyOps **all = hass_strategy_list ();
  for (McKind kind = MC_PI; kind <= MC_ASIAN; kind++)
    {
      McSums wanted = serial (kind);
      CU_ASSERT_EQUAL (wanted.n, SAMPLES);
      for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
        for (guint cores = 1; cores <= 4; cores *= 2)
          {
            McJob job = job_of (kind, blocks[i]);
            job.run.n_cores = cores;
            job.run.n_gpus = -1;
            runs_to (&job, &wanted);
          }
      for (gsize i = 0; all[i]; i++)
        if (serves (all[i]))
          {
            McJob job = job_of (kind, 333);
            job.run.strategy = all[i]->name;
            job.run.n_gpus = -1;
            if (strcmp (all[i]->name, "gpu-only") != 0) /* refused */
              runs_to (&job, &wanted);
            job.run.platform = THESIS;
            runs_to (&job, &wanted);
          }
    }
}

/* What the stand-ins' kernels have added up. */
static struct
{
  pthread_mutex_t lock;
  McSums sums;
} on_devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A GPU's grid of 37 threads. */
static void
kernel (const HassBundle *bundle, gpointer user_data)
{
  const McModel *m = user_data;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    for (guint thread = 0; thread < 37; thread++)
      {
        const HassBlock *b = &bundle->blocks[i];
        McSums part
            = device_share (m, b->first, b->first + b->count, thread, 37);
        pthread_mutex_lock (&on_devices.lock);
        mc_sums_merge (&on_devices.sums, &part);
        pthread_mutex_unlock (&on_devices.lock);
      }
}

STAND_IN_WORKER (stand_in_worker, kernel)

static void
runs_with (guint n_devices, McKind kind, const char *strategy, gboolean no_cpu)
{
  const StandInPlan plans[2]
      = { { .depth = 2, .width = 512, .fail_bundle_every = 7 },
          { .name = "gpu1", .depth = 3, .width = 64, .delay_us = 50 } };
  HassDevice *devices[2];
  McJob job = job_of (kind, 211);
  McSums sums, wanted = serial (kind);
  memset (&on_devices.sums, 0, sizeof on_devices.sums);
  for (guint i = 0; i < n_devices; i++)
    devices[i] = stand_in_new (&plans[i]);
  job.gpu_worker = stand_in_worker;
  job.no_cpu = no_cpu;
  job.run.devices = devices;
  job.run.n_devices = n_devices;
  job.run.n_cores = 2;
  job.run.strategy = strategy;
  job.run.on_error = HASS_ON_ERROR_STOP;
  CU_ASSERT_TRUE (monte_carlo_run (&job, &sums, NULL, NULL));
  CU_ASSERT_TRUE (!no_cpu || on_devices.sums.n == SAMPLES);
  mc_sums_merge (&sums, &on_devices.sums);
  CU_ASSERT_TRUE (same (&sums, &wanted));
  for (guint i = 0; i < n_devices; i++)
    {
      CU_ASSERT_PTR_NULL (stand_in_counts (devices[i]).wrong);
      stand_in_free (devices[i]);
    }
}

static void
devices_agree (void)
{
  static const char *const strategies[] = { "hass-p", "naive-greedy", NULL };
  for (McKind kind = MC_PI; kind <= MC_ASIAN; kind++)
    for (guint n = 1; n <= 2; n++)
      for (guint i = 0; i < G_N_ELEMENTS (strategies); i++)
        {
          runs_with (n, kind, strategies[i], FALSE);
          runs_with (n, kind, strategies[i], TRUE);
        }
}

static void
bad_samples (void)
{
  McSums sums;
  for (guint64 i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      McJob job = job_of (MC_PI, 0);
      job.samples = i * (MC_MAX_SAMPLES + 1);
      CU_ASSERT_FALSE (monte_carlo_run (&job, &sums, NULL, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
    }
}

/* -- Prices ------------------------------------------------------------- */

static void
closed_forms (void)
{
  double low, high;
  McOption o = usual;
  /* Hull, Options, Futures, and Other Derivatives, example 15.6. */
  McOption hull = { 42, 40, 0.1, 0.2, 0.5, 1 };
  CU_ASSERT_DOUBLE_EQUAL (monte_carlo_black_scholes (&hull), 4.76, 0.005);
  CU_ASSERT_DOUBLE_EQUAL (monte_carlo_black_scholes (&o), 10.450583572185565,
                          1e-12);
  /* After one step the means are the price itself. */
  o.steps = 1;
  monte_carlo_asian_bounds (&o, &low, &high);
  CU_ASSERT_DOUBLE_EQUAL (low, 10.450583572185565, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (high, 10.450583572185565, 1e-9);
}

static void
is_between (McKind kind, const McOption *option, double low, double high)
{
  McModel m = kind == MC_PI ? monte_carlo_pi_model (SEED)
                            : monte_carlo_option_model (kind, option, SEED);
  McSums sums = { 0 };
  monte_carlo_sample (monte_carlo_kernels (0), &m, 0, 1 << 18, &sums);
  McEstimate e = monte_carlo_estimate (&sums, kind == MC_PI ? NULL : option);
  CU_ASSERT_TRUE (e.standard_error > 0 && e.standard_error < 0.03 * e.value);
  CU_ASSERT_TRUE (e.value > low - 5 * e.standard_error);
  CU_ASSERT_TRUE (e.value < high + 5 * e.standard_error);
}

static void
estimates_are_right (void)
{
  static const McOption options[] = { { 100, 100, 0.05, 0.2, 1, 16 },
                                      { 42, 40, 0.1, 0.2, 0.5, 1 },
                                      { 10, 12, -0.02, 0.6, 3, 7 },
                                      { 5e6, 4e6, 0.3, 0.01, 0.1, 30 } };
  is_between (MC_PI, NULL, G_PI, G_PI);
  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    {
      const McOption *o = &options[i];
      double price = monte_carlo_black_scholes (o), low, high;
      is_between (MC_EUROPEAN, o, price, price);
      monte_carlo_asian_bounds (o, &low, &high);
      is_between (MC_ASIAN, o, low, high);
    }
}

HASS_TEST_SUITE (
    monte_carlo,
    { "every instruction set gives the bits of the serial loop",
      kernels_agree },
    { "farms use the fastest instruction set", fastest_first },
    { "what a GPU compiles gives the same bits", device_agrees },
    { "the bits are those of earlier builds", pinned },
    { "any strategy, blocks and cores give the same bits", farms_agree },
    { "devices give the same bits, also when bundles fail", devices_agree },
    { "no samples, or too many, are refused", bad_samples },
    { "closed forms are those of the books", closed_forms },
    { "estimates are within five standard errors", estimates_are_right })
