/* SPDX-License-Identifier: MIT */
/* ledger.h: what a trial's callbacks write down.

   DESIGN. A ledger has a cell for each element of each load in a partition
   farm, and one for each load elsewhere. Cells count how often they were
   computed, failed and delivered; loads count how often they were released.
   A unit that fails first leaves a result and a load behind, which nobody
   must ever see. What a device has computed is counted when its outputs are
   scattered, or by its kernels in a function farm. On GPUs of the stand-in for
   the CUDA runtime, whose bundles may fail when their kernels have run, it is
   counted when its results are taken over, and in a function farm when the
   task is released as committed: there the sum, the collector and the report
   say how often that was.

   Thread safety: the ledger is atomic. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdatomic.h>

#include "trial.h"

typedef struct
{
  const Trial *t;
  struct _GCancellable *cancellable;
  guint n_max;
  HassLoad *loads;
  HassTask *tasks;
  guint8 *input, *output;
  gpointer input_pinned, output_pinned;          /* the same, or NULL */
  _Atomic guint8 *computed, *failed, *delivered; /* [n_max * stride] */
  _Atomic guint8 *accepted, *released, *committed;
  guint stride;
  _Atomic guint n_ids, n_units, n_failed;
  _Atomic guint8 busy[4200];
  _Atomic int collecting;
  guint64 last_seq;
  gsize last_first;
  gboolean any_result;
  _Atomic (const char *) wrong;
  guint64 sum; /* reduced */
} Ledger;

void ledger_blame (Ledger *l, const char *what);
gsize ledger_cells (const Ledger *l, guint id);
HassLoad ledger_load (Ledger *l, guint id);
guint8 ledger_input (const Ledger *l, guint id, gsize at);
guint8 ledger_value (guint8 input);
void ledger_make_task (Ledger *l, guint id);

/* The callbacks; user_data is the ledger. */
gboolean ledger_cpu_worker (const HassBlock *block, HassWorker *worker,
                            gpointer user_data, GError **error);
gboolean ledger_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                            gpointer user_data, GError **error);
gboolean ledger_cuda_worker (const HassBundle *bundle, HassGpuStream *stream,
                             gpointer user_data, GError **error);
gboolean ledger_gpu_result (const HassBlock *block, gconstpointer records,
                            gsize n_records, HassWorker *worker,
                            gpointer user_data, GError **error);
gboolean ledger_unbundle (const HassBlock *blocks, gsize n,
                          const HassStaging *staging, gpointer user_data,
                          GError **error);
gboolean ledger_generate (HassEmitter *emitter, gpointer user_data,
                          GError **error);
gboolean ledger_partition (const HassLoad *load, gsize first, gsize n,
                           HassBlock *block, gpointer user_data,
                           GError **error);
gboolean ledger_collect (const HassResult *result, gpointer user_data,
                         GError **error);
void ledger_release_load (const HassLoad *load, gboolean committed,
                          gpointer user_data);
void ledger_release_task (const HassTask *task, gboolean committed,
                          gpointer user_data);
void ledger_add_sums (gpointer sum, gconstpointer part, gpointer user_data);

#endif
