/* SPDX-License-Identifier: MIT */
/* test_failing_memory.c: every allocation of the library that does not end the
   program fails in turn, the first, the second and so on until a farm runs
   through: each farm ends with right results or a named error, and nothing
   leaks.
   Thread safety: one thread, beside those of the farms. */
#include "engine/trial.h"
#include "failing_memory.h"
#include "fake_machine.h"
#include "device/cuda/gpus-private.h"
#include "hass_test.h"
#include "tests/trials.h"

#define MOST 1000             /* allocations of a farm */
#define STEP TRIALS (1, 1, 7) /* each seventh */

/* Loads that are cut, gathered, pinned in advance or for their copy. */
static const Trial trials[] = {
  { .kind = HASS_FARM_COMBINE,
    .n_loads = 60,
    .most_elements = 50,
    .n_generated = 30,
    .records = TRUE },
  { .kind = HASS_FARM_INDIVISIBLE, .n_loads = 20, .most_elements = 3000 },
  { .kind = HASS_FARM_FUNCTION,
    .n_loads = 50,
    .most_elements = 40,
    .odd_tasks = TRUE },
  { .kind = HASS_FARM_PARTITION,
    .n_loads = 2,
    .most_elements = 20000,
    .block_elements = 400 },
  { .kind = HASS_FARM_INDIVISIBLE,
    .strategy = "naive-greedy",
    .n_loads = 3,
    .most_elements = 3000000,
    .gpu_only = TRUE },
};

static guint called[FAKE_N_CALLS];

static void
run (const Trial *trial, gboolean gpu_only, gboolean pinned)
{
  guint n = 1;
  gboolean failed = TRUE;
  for (; failed && n < MOST; n += STEP)
    {
      Trial t = *trial;
      if (!t.strategy)
        t.strategy = "gpu-only";
      t.n_cores = 2;
      t.n_gpus = 1;
      t.seed = n;
      t.collect = t.reduce = t.noisy = t.may_fail_memory = TRUE;
      t.gpu_only |= gpu_only;
      t.may_fail_device = t.gpu_only || t.odd_tasks;
      t.pinned = pinned;
      fake_machine_begin (&(FakePlan){ .n_devices = 1 });
      failing_memory_at (n);
      trial_expect (&t);
      failed = failing_memory_has_failed ();
      failing_memory_at (0);
      FakeCounts counts = fake_machine_end ();
      for (guint call = 0; call < FAKE_N_CALLS; call++)
        called[call] += counts.calls[call];
    }
  CU_ASSERT_TRUE (n > 20 && n < MOST);
}

static void
each_in_turn (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (trials); i++)
    for (guint k = 0; k < (trials[i].gpu_only ? 1 : 2); k++)
      run (&trials[i], k, i % 2);
  CU_ASSERT_TRUE (called[FAKE_REGISTER] > 0 && called[FAKE_ALLOCATE] > 0
                  && called[FAKE_ALLOCATE_HOST] > 0);
}

HASS_TEST_SUITE (failing_memory,
                 { "any allocation may fail, and the farm's books are right",
                   each_in_turn })
