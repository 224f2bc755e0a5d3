/* SPDX-License-Identifier: MIT */
/* data_trial.h: random operations on devices for dataflows, held to the
   contract of hass/device_data.h.
   Thread safety: one trial at a time. */
#ifndef DATA_TRIAL_H
#define DATA_TRIAL_H

#include "hass/device_data.h"

#define DATA_TRIAL_DEVICES 2

/**
 * DataTrial: what to do.
 * @devices: [@n_devices], of one kind; not open.
 * @launch: enqueues a kernel that adds @add to @bytes bytes at @data.
 * @enter: NULL: nothing; called before the ops of device @i, as that of another
 *   device may have been called before on this thread.
 * @steps: calls of the ops.
 * @most_bytes: of a datum.
 * @deadline_ns: HassDeviceFarm.bundle_deadline_ns.
 */
typedef struct
{
  HassDevice *devices[DATA_TRIAL_DEVICES];
  guint n_devices;
  void (*launch) (HassGpuStream *stream, gpointer data, gsize bytes,
                  guint8 add);
  void (*enter) (guint i);
  guint32 seed;
  guint steps;
  gsize most_bytes;
  gint64 deadline_ns;
} DataTrial;

/* What happened: ended, also those that failed; lost devices. */
typedef struct
{
  guint allocs, no_memory, begun, refused, ended, failed, lost;
  char why[160]; /* a device was lost, or an operation failed, last */
} DataTrialCounts;

/* Runs it. NULL: all held, and all memory was freed; else what did not. */
const char *data_trial_run (const DataTrial *trial, DataTrialCounts *counts);

#endif
