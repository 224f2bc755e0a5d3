/* SPDX-License-Identifier: MIT */
/* cuda_rig.h: a GPU of the stand-in for the CUDA runtime, open as a device
   for a farm.
   Thread safety: one thread, beside the stand-in's own. */
#ifndef HASS_TEST_CUDA_RIG_H
#define HASS_TEST_CUDA_RIG_H

#include "device/cuda/gpus-private.h"
#include "hass/error.h"
#include "hass/memory.h"
#include "tests/device/fake_machine.h"

/* @transfers and @counts are those of the end, set by rig_clear(). */
typedef struct
{
  HassDeviceFarm farm;
  HassDevice *device;
  HassTransfers transfers;
  FakeCounts counts;
} Rig;

/* The load of all blocks of rig_block(). */
extern const HassLoad rig_load;

/* Opens the first GPU of a machine for a farm; closes it, with the machine. */
void rig_init (Rig *r, const FakePlan *plan, const HassDeviceFarm *farm);
void rig_clear (Rig *r);

/* A block of so many elements of a byte; @output: NULL: it has none. */
HassBlock rig_block (gconstpointer input, gpointer output, gsize bytes);

/* Hands blocks to the device as one bundle. */
gboolean rig_submit (Rig *r, guint slot, const HassBlock *blocks, gsize n);

/* Waits for a bundle to leave the device, failed or not. */
HassBundleDone rig_wait_any (Rig *r, GError **error);
/* Likewise; it may not have failed. */
HassBundleDone rig_wait_done (Rig *r);
/* Runs a bundle in slot 0. */
HassBundleDone rig_run (Rig *r, const HassBlock *blocks, gsize n);

/* Lets deadlines see the clock go on by @ns: what the device has noted of the
   time is so much longer ago. Called by the thread that uses the device. */
void rig_let_pass (Rig *r, gint64 ns);

/* A farm each of whose output bytes is the input byte and one. */
extern const HassDeviceFarm rig_shifts;
gboolean rig_shift (const HassBundle *bundle, HassGpuStream *stream,
                    gpointer data, GError **error);
void rig_shift_kernel (const HassBundle *b, gpointer data);

/* Bytes that differ from those of another seed. */
void rig_fill (guint8 *bytes, gsize n, guint seed);
gboolean rig_is_shifted (const guint8 *out, const guint8 *in, gsize n);

#endif
