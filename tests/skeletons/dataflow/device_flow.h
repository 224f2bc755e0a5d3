/* SPDX-License-Identifier: MIT */
/* device_flow.h: dataflows on stand-ins for devices, and codelets that count.

   A block is a datum whose words are all equal, its version, in rows with gaps
   between them. A codelet `grow` adds 1 to each word of its data.

   Thread safety: one thread beside those of the dataflows; codelets by any. */
#ifndef DEVICE_FLOW_H
#define DEVICE_FLOW_H

#include "hass/dataflow.h"
#include "hass_test.h"
#include "tests/engine/stand_in_data.h"

#define DEVICE_FLOW_DEVICES 40
#define BLOCK_ROWS 3
#define BLOCK_WORDS 5
#define BLOCK_PITCH 8
#define BLOCK_BYTES (BLOCK_ROWS * BLOCK_WORDS * sizeof (guint64))

typedef struct
{
  guint64 at[BLOCK_ROWS][BLOCK_PITCH];
} Block;

void block_init (Block *block, guint64 version);
/* Whether all words are @version and the gaps are as they were. */
gboolean block_is (const Block *block, guint64 version);
HassData *block_data (HassGraph *graph, Block *block);

/**
 * DeviceFlow: a dataflow.
 * @name: for messages.
 * @plans: [@n_devices].
 * @n_cores: 0: 1.
 * @calls: the graph is recorded, and hass_recorded_run() called so often; 0: it
 *   is not recorded.
 * @times, @again: of each of these calls.
 * @retries: a call that fails is followed by the next one. Then the result is
 *   that of the last one, and the error the first.
 * @bind: (nullable): called before each but the first of them.
 * @window, @on_error, @cancellable, @deadline_ms, @bundle_deadline_ms: as of
 * the dataflow.
 * @report: (out): to be freed.
 * @counts: (out): [@n_devices].
 */
typedef struct
{
  const char *name;
  StandInDataPlan plans[DEVICE_FLOW_DEVICES];
  guint n_devices, n_cores;
  guint calls;
  guint64 times;
  gboolean retries;
  gboolean (*again) (gpointer user_data);
  void (*bind) (HassRecorded *recorded, guint call, gpointer user_data);
  gsize window;
  HassErrorPolicy on_error;
  struct _GCancellable *cancellable;
  gint64 bundle_deadline_ms, deadline_ms;
  HassReport *report;
  StandInDataCounts counts[DEVICE_FLOW_DEVICES];
} DeviceFlow;

/* A dataflow on @n_devices, and all @n_blocks at version 0. */
DeviceFlow device_flow_begin (const char *name, guint n_devices, Block *blocks,
                              guint n_blocks);

/* Runs it, and asserts that the devices were used as they must be. */
gboolean device_flow_run (DeviceFlow *flow, HassBuildFunc build,
                          gpointer user_data, GError **error);
/* Runs it on a dataflow that must not fail. */
void device_flow_must_run (DeviceFlow *flow, HassBuildFunc build,
                           gpointer user_data);

/* Codelets with a function for cores, for GPUs, or both: `grow`, and `copy`
   from the first datum to the second one. */
extern const HassCodelet grow_core, grow_alone, grow_both;
extern const HassCodelet copy_alone;

gboolean grow_on_core (const HassCall *call, HassWorker *worker,
                       GError **error);
gboolean grow_on_gpu (const HassCall *calls, guint n_calls,
                      HassGpuStream *stream, GError **error);
gboolean fail_on_gpu (const HassCall *calls, guint n_calls,
                      HassGpuStream *stream, GError **error);
/* The kernel. */
void grow (const HassCall *call);
void copy (const HassCall *call);

/* Submits a task that UPDATEs a datum, or one that READs @from and WRITEs
   @to. */
gboolean submit_grow (HassGraph *graph, const HassCodelet *codelet,
                      HassData *data);
gboolean submit_copy (HassGraph *graph, const HassCodelet *codelet,
                      HassData *from, HassData *to);

#endif
