/* SPDX-License-Identifier: MIT */
/* cuda_rig.c: a GPU of the stand-in for the CUDA runtime, open for a farm.
   Thread safety: cuda_rig.h. */
#include "cuda_rig.h"

#include "device/cuda/cuda-private.h"
#include "hass_test.h"

#define TIMEOUT_NS 10000000

const HassLoad rig_load;

void
rig_init (Rig *r, const FakePlan *plan, const HassDeviceFarm *farm)
{
  GError *error = NULL;
  fake_machine_begin (plan);
  *r = (Rig){ .farm = *farm };
  CU_ASSERT_TRUE_FATAL (hass_gpus_count () > 0);
  r->device = hass_cuda_device_new (0);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r->device);
  gboolean ok = r->device->ops->open (r->device, &r->farm, &error);
  CU_ASSERT_TRUE (ok);
  if (!ok)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
}

void
rig_clear (Rig *r)
{
  r->device->ops->close (r->device);
  r->device->ops->transfers (r->device, &r->transfers);
  hass_cuda_device_free (r->device);
  r->counts = fake_machine_end ();
}

void
rig_let_pass (Rig *r, gint64 ns)
{
  HassCudaDevice *d = (HassCudaDevice *)r->device;
  d->oldest_ns -= ns;
  d->done_ns -= ns;
  d->slots[0].kit->ring.oldest_ns -= ns;
  for (guint i = 0; i < HASS_CUDA_SLOTS; i++)
    d->slots[i].submit_ns -= ns;
}

gboolean
rig_submit (Rig *r, guint slot, const HassBlock *blocks, gsize n)
{
  GError *error = NULL;
  gboolean ok = r->device->ops->submit (r->device, slot, blocks, n, &error);
  CU_ASSERT_TRUE (ok);
  if (!ok)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
  return ok;
}

HassBundleDone
rig_wait_any (Rig *r, GError **error)
{
  HassBundleDone done = { .slot = 99 };
  GError *inner = NULL;
  gint64 until = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  while (!r->device->ops->wait (r->device, TIMEOUT_NS, &done, &inner) && !inner)
    if (g_get_monotonic_time () > until)
      CU_FAIL_FATAL ("no bundle leaves the device");
  if (inner)
    g_propagate_error (error, inner);
  return done;
}

HassBundleDone
rig_wait_done (Rig *r)
{
  GError *error = NULL;
  HassBundleDone done = rig_wait_any (r, &error);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_FALSE (done.failed);
  if (error)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
  return done;
}

HassBundleDone
rig_run (Rig *r, const HassBlock *blocks, gsize n)
{
  return rig_submit (r, 0, blocks, n) ? rig_wait_done (r)
                                      : (HassBundleDone){ 0 };
}

HassBlock
rig_block (gconstpointer input, gpointer output, gsize bytes)
{
  return (HassBlock){ .load = &rig_load,
                      .count = bytes,
                      .input = input,
                      .input_bytes = bytes,
                      .output = output,
                      .output_bytes = output ? bytes : 0 };
}

void
rig_shift_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      const guint8 *in = fake_input (b, i);
      guint8 *out = fake_output (b, i);
      for (guint64 k = 0; k < fake_elements (b, i); k++)
        out[k] = in[k] + 1;
    }
}

gboolean
rig_shift (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  fake_launch (stream, rig_shift_kernel, bundle, data);
  return fake_check ("shift", error);
}

const HassDeviceFarm rig_shifts = { .name = "farm", .gpu_worker = rig_shift };

void
rig_fill (guint8 *bytes, gsize n, guint seed)
{
  for (gsize i = 0; i < n; i++)
    bytes[i] = (guint8)(seed + i * 7 + (i >> 8));
}

gboolean
rig_is_shifted (const guint8 *out, const guint8 *in, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (out[i] != (guint8)(in[i] + 1))
      return FALSE;
  return TRUE;
}
