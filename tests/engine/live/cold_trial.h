/* SPDX-License-Identifier: MIT */
/* cold_trial.h: farms on GPUs of the stand-in for the CUDA runtime that take
   long to start.

   DESIGN. The stand-in says that a start takes an hour, or a minute where the
   farm shall begin one, so the farm begins it for another reason than its
   cores' speed. Workers that count on the start wait for it: without it they
   hang, and the watchdog says so.

   Thread safety: one farm at a time. */
#ifndef HASS_TEST_COLD_TRIAL_H
#define HASS_TEST_COLD_TRIAL_H

#include "device/fake_machine.h"
#include "hass/hass.h"
#include "tests/engine/counting.h"

/* A farm runs for a fortieth of a start, here 90 s, before the engine judges
   whether the start can pay. */
#define COLD_HOUR_MS 3600000
#define N_COLD_LOADS 40

/* A combine farm of equal loads; @cpu: NULL: on GPUs alone. */
HassDataFarm cold_farm (HassCpuWorkerFunc cpu, guint n_loads);

/* Puts GPUs into the machine whose starts take so long. */
void cold_install (guint n_gpus, guint start_ms);

/* Runs it on them: no device may fail. NULL: the farm has failed. */
HassReport *cold_run (const HassDataFarm *farm);

/* Runs a pipeline on GPUs of the plan, none of which is started before.
   Returns: how many starts were begun. */
guint cold_pipeline_starts (const FakePlan *plan, const HassPipeline *pipeline);

/* Waits until the starts of so many GPUs have begun. */
void cold_await_starts (guint n);

/* Emits N_COLD_LOADS loads. */
gboolean cold_emit_all (HassEmitter *emitter);

#endif
