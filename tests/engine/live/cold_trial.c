/* SPDX-License-Identifier: MIT */
/* cold_trial.c: farms on GPUs that take long to start.
   Thread safety: cold_trial.h. */
#include "cold_trial.h"

#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/trial.h"

void
cold_await_starts (guint n)
{
  while (fake_cudart_counts ().opening < n)
    usleep (100);
}

gboolean
cold_emit_all (HassEmitter *emitter)
{
  static const HassLoad load = { .size = 1 };
  gboolean ok = TRUE;
  for (guint i = 0; i < N_COLD_LOADS && ok; i++)
    ok = hass_emitter_emit (emitter, &load);
  return ok;
}

HassDataFarm
cold_farm (HassCpuWorkerFunc cpu, guint n_loads)
{
  static const HassLoad loads[4000];
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "cold";
  farm.loads = loads;
  farm.n_loads = n_loads;
  farm.cpu_worker = cpu;
  farm.gpu_worker = counting_gpu_worker;
  farm.run.n_cores = cpu ? 2 : 0;
  farm.run.platform = "";
  return farm;
}

void
cold_install (guint n_gpus, guint start_ms)
{
  fake_machine_begin (&(FakePlan){ .n_devices = n_gpus, .start_ms = start_ms });
}

HassReport *
cold_run (const HassDataFarm *farm)
{
  HassReport *r = NULL;
  g_autoptr (GError) error = NULL;
  counting_reset ();
  watchdog (60, "a farm whose GPU is cold");
  CU_ASSERT_TRUE (hass_data_farm_combine (farm, &r, &error));
  watchdog (0, NULL);
  if (error)
    g_printerr ("\n    %s: %s", farm->run.strategy, error->message);
  for (guint d = 0; r && d < r->n_devices; d++)
    {
      CU_ASSERT_FALSE (r->devices[d].lost);
      CU_ASSERT_EQUAL (r->devices[d].failures, 0);
      if (r->devices[d].lost || r->devices[d].failures > 0)
        g_printerr ("\n    %s: %s", farm->run.strategy, r->devices[d].message);
    }
  CU_ASSERT_EQUAL (atomic_load (&counting_on_cpu)
                       + atomic_load (&counting_on_gpu),
                   farm->n_loads);
  return r;
}

guint
cold_pipeline_starts (const FakePlan *plan, const HassPipeline *pipeline)
{
  g_autoptr (GError) error = NULL;
  counting_reset ();
  fake_machine_begin (plan);
  watchdog (60, "a pipeline whose GPUs are cold");
  CU_ASSERT_TRUE (hass_pipeline (pipeline, NULL, &error));
  watchdog (0, NULL);
  if (error)
    g_printerr ("\n    %s\n", error->message);
  guint n = fake_cudart_counts ().opening;
  fake_machine_end ();
  return n;
}
