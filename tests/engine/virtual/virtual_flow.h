/* SPDX-License-Identifier: MIT */
/* virtual_flow.h: dataflows on a modelled machine, of tasks that count
   themselves. A unit of work takes a core 1 us.
   Thread safety: one thread. */
#ifndef VIRTUAL_FLOW_H
#define VIRTUAL_FLOW_H

#include "hass/dataflow.h"
#include "hass_test.h"

/* A dataflow of tasks that count themselves, on @n_cores modelled cores. */
typedef struct
{
  guint n_cores, n_gpus;
  double noise;
  guint64 seed;
  gboolean dry;
  const char *strategy; /* NULL: the preset one */
  HassErrorPolicy on_error;
  gint64 deadline_ms;
  const char *more; /* added to the platform file; or NULL */
  gsize window;
  guint64 times; /* it is recorded, and run so often; 0: not recorded */
  struct _GCancellable *cancellable; /* cancelled by the second task */
  guint n_computed;
  HassReport *report; /* (out) */
  double us;          /* (out): the makespan */
} VirtualFlow;

/* A file that models @cores cores, and @n_gpus GPUs with memory for @bytes of
   data, 0: unlimited: a copy of n KB takes 5 + n us, a kernel of n units of
   work 2 + n / 10 us. Unlink and free the path. */
char *virtual_flow_machine (guint cores, guint n_gpus, gsize bytes,
                            double noise);

/* A codelet for cores that counts in VirtualFlow.n_computed, its user_data. */
gboolean virtual_flow_count (const HassCall *call, HassWorker *worker,
                             GError **error);
extern const HassCodelet virtual_flow_counts;

/* @data: NULL: none. */
void virtual_flow_submit (HassGraph *graph, const HassCodelet *codelet,
                          HassData *data, HassAccessMode mode, double work);

gboolean virtual_flow_run (VirtualFlow *flow, HassBuildFunc build,
                           GError **error);
/* Runs it, and asserts that it takes @us. */
void virtual_flow_takes (VirtualFlow *flow, HassBuildFunc build, double us);

#endif
