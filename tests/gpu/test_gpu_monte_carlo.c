/* SPDX-License-Identifier: MIT */
/* test_gpu_monte_carlo.c: real GPUs compute the bits that a core does.
   Thread safety: one thread. */
#include "hass_test.h"

#include <stdio.h>
#include <string.h>

#include "monte_carlo/kernels.h"
#include "monte_carlo/monte_carlo.h"
#include "tests/gpu/gpu_trial.h"

/* Payoffs near 700 spot prices, where a difference of one rounding shows. */
static McModel
fine_model (McKind kind)
{
  return (McModel){ .kind = kind,
                    .seed = G_GUINT64_CONSTANT (0xfedcba9876543210),
                    .steps = kind == MC_PI ? 0 : 7,
                    .drift = kind == MC_EUROPEAN ? 6.55 : 0.01,
                    .deviation = 0.01,
                    .per_step = 100 };
}

static void
agrees (McKind kind, gboolean no_cpu, guint64 samples, guint64 block)
{
  McSums got, wanted = { 0 };
  g_autoptr (GError) error = NULL;
  McJob job = { .model = fine_model (kind),
                .samples = samples,
                .block = block,
                .gpu_worker = monte_carlo_gpu_worker,
                .no_cpu = no_cpu };
  gboolean ok = monte_carlo_run (&job, &got, NULL, &error);
  if (!ok)
    printf ("\n    %s", error->message);
  monte_carlo_sample (monte_carlo_kernels (0), &job.model, 0, samples, &wanted);
  CU_ASSERT_TRUE (ok && memcmp (&got, &wanted, sizeof got) == 0);
}

static void
all_agree (gboolean no_cpu)
{
  if (gpu_skips (monte_carlo_gpu_worker != NULL))
    return;
  gboolean small = g_getenv ("TEST_GPU_SMALL") != NULL;
  for (McKind kind = MC_PI; kind <= MC_ASIAN; kind++)
    {
      guint64 samples = (guint64)(kind == MC_PI ? 100 : 1) << (small ? 14 : 20);
      agrees (kind, no_cpu, 1, 0);
      agrees (kind, no_cpu, 1001, 333);
      agrees (kind, no_cpu, samples + 1, 0);
      agrees (kind, no_cpu, samples + 3, samples);
    }
}

static void
alone (void)
{
  all_agree (TRUE);
}

static void
together (void)
{
  all_agree (FALSE);
}

HASS_TEST_SUITE (gpu_monte_carlo,
                 { "GPUs alone compute the bits that a core does", alone },
                 { "GPUs and cores together do", together })
