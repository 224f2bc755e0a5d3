/* SPDX-License-Identifier: MIT */
/* fault_trial.h: one farm of any kind on GPUs of the stand-in for the CUDA
   runtime, which fail as a plan says.

   DESIGN. The farm triples bytes, adds them up and reports either its outputs
   or a record for each sixteenth value. Every byte's output, delivery and part
   in the sum are checked, whatever the plan of faults. With a CPU worker the
   farm must succeed; without one it may fail, but must say why and name what
   is unfinished.

   Thread safety: one farm at a time, of one thread. */
#ifndef HASS_TEST_FAULT_TRIAL_H
#define HASS_TEST_FAULT_TRIAL_H

#include <stdatomic.h>

#include "device/fake_cudart.h"
#include "hass/hass.h"

/**
 * FaultCase: a farm and the faults of its GPUs.
 * @most_bytes: of a load.
 * @block: elements of a block of a partition farm.
 * @gpu_only: there is no CPU worker.
 * @pinned: inputs and outputs lie in pinned memory.
 * @records: the GPU worker has results of varying number.
 * @gpu_tasks: each eighth task has no CPU worker.
 */
typedef struct
{
  HassFarmKind kind;
  const char *strategy;
  guint n_gpus;
  guint n_loads;
  gsize most_bytes;
  gsize block;
  gboolean gpu_only, pinned, records, gpu_tasks;
  gint64 deadline_ms;
  HassErrorPolicy on_error;
  FakePlan plan;
} FaultCase;

/**
 * FaultBooks: what the farm of a case has done.
 * @delivered: [n_loads * most_bytes], how often each byte's result was
 *   collected.
 * @released: [n_loads], how often each load was released.
 * @gpu_called: the GPU worker was called.
 * @awaits_gpu: until then, or a fault, cores wait: the strategy gives a GPU
 *   units as soon as it is open. Under one that takes turns a GPU waits for the
 *   cores, and GPUs that are cold or absent are not called at all.
 * @wrong: the first breach of the contract; NULL: none.
 */
typedef struct
{
  const FaultCase *c;
  HassLoad *loads;
  HassTask *tasks;
  guint8 *delivered;
  _Atomic guint8 *released;
  guint8 *in, *out;
  guint64 sum;
  _Atomic gboolean gpu_called;
  gboolean awaits_gpu;
  gint64 begin_us;
  _Atomic (const char *) wrong;
} FaultBooks;

/* Cases of all kinds of farms, by number. */
#define N_FAULT_CASES 12
FaultCase fault_nth_case (guint i);

/* Runs a case and holds it to the contract. Returns what the stand-in has
   counted; @report and @error are the farm's, if not NULL. */
FakeCounts fault_run_case (const FaultCase *c, HassReport **report,
                           GError **error);

/* The steps of fault_run_case(), for a test that installs the stand-in
   itself. */
void fault_books_init (FaultBooks *k, const FaultCase *c);
void fault_books_clear (FaultBooks *k);
gboolean fault_run_farm (FaultBooks *k, HassReport **report, GError **error);

/* @all: every unit has to be computed; @accepted: every load has to be
   released. */
void fault_check_books (FaultBooks *k, gboolean all, gboolean accepted);

#endif
