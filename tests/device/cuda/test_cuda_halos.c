/* SPDX-License-Identifier: MIT */
/* test_cuda_halos.c: the halos of blocks on a GPU, over the stand-in for the
   CUDA runtime. Thread safety: one thread, beside the stand-in's own. */
#include <string.h>

#include "cuda_rig.h"
#include "hass_test.h"

/* Sums of each byte and its neighbours, which exist: out is guint8. */
static void
neighbours_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      const guint8 *in = fake_input (b, i);
      guint8 *out = fake_output (b, i);
      for (guint64 k = 0; k < fake_elements (b, i); k++)
        out[k] = in[(gssize)k - 1] + in[k] + in[k + 1];
      /* The halo's other end. */
      out[0] += in[-2];
    }
}

static gboolean
neighbours (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
            GError **error)
{
  fake_launch (stream, neighbours_kernel, bundle, data);
  return fake_check ("neighbours", error);
}

static void
check_neighbours (const HassBlock *b)
{
  gboolean ok = TRUE;
  for (gsize k = 0; k < b->count; k++)
    {
      const guint8 *in = b->input + k;
      ok &= b->output[k]
            == (guint8)(in[-1] + in[0] + in[1] + (k == 0 ? in[-2] : 0));
    }
  CU_ASSERT_TRUE (ok);
}

static void
halos (void)
{
  Rig r;
  HassDeviceFarm farm = { .name = "farm", .gpu_worker = neighbours };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  for (guint pinned = 0; pinned < 2; pinned++)
    {
      guint8 out[1000];
      guint8 *in = pinned ? hass_memory_alloc (1000, NULL) : g_malloc (1000);
      rig_fill (in, 1000, 9);
      HassBlock b[3];
      for (guint i = 0; i < 3; i++)
        {
          b[i] = rig_block (in + 10 + 300 * i, out + 300 * i, 200 + 10 * i);
          b[i].halo_before = 2 + i;
          b[i].halo_after = 1 + i;
        }
      memset (out, 0, sizeof out);
      rig_run (&r, b, 3);
      for (guint i = 0; i < 3; i++)
        check_neighbours (&b[i]);
      rig_run (&r, b + 1, 1);
      check_neighbours (&b[1]);
      if (pinned)
        hass_memory_free (in);
      else
        g_free (in);
    }
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.transfers.direct_bytes, 210 + 3 + 2);
}

enum
{
  LINES_BYTES = 16384,
  LINE = 256
};

/* Bytes of a load, and of its one block without the halos, by their first and
   end; load_end: 0: the load lies elsewhere. copied: bytes to the device. */
typedef struct
{
  gsize load, load_end, first, end, copied;
} LineCase;

static void
copy_lines (Rig *r, const guint8 *in, guint8 *out, const LineCase *c)
{
  gboolean elsewhere = c->load_end == 0;
  HassLoad load = { .input = elsewhere ? NULL : in + c->load,
                    .input_bytes = c->load_end - c->load };
  HassBlock b = rig_block (in + c->first, out, c->end - c->first);
  b.load = &load;
  b.halo_before = 2;
  b.halo_after = 1;
  guint64 before = fake_cudart_counts ().bytes_to_device;
  rig_run (r, &b, 1);
  check_neighbours (&b);
  CU_ASSERT_EQUAL (fake_cudart_counts ().bytes_to_device - before, c->copied);
}

/* Tables lie before the inputs of several. */
static void
copy_several (Rig *r, const guint8 *in, guint8 *out)
{
  HassLoad load = { .input = in, .input_bytes = LINES_BYTES };
  HassBlock three[3];
  for (guint i = 0; i < 3; i++)
    {
      three[i] = rig_block (in + 1281 + 100 * i, out + 100 * i, 100);
      three[i].load = &load;
    }
  three[0].halo_before = 2;
  three[2].halo_after = 1;
  rig_run (r, three, 3);
  for (guint i = 0; i < 3; i++)
    check_neighbours (&three[i]);
}

/* Halos make a stretch begin and end in the middle of a line. The bytes beside
   it are copied only if they are its load's: others may be being written. */
static void
whole_lines (void)
{
  static const LineCase cases[] = {
    { 0, LINES_BYTES, 4 * LINE, 12 * LINE, 10 * LINE },
    { 0, LINES_BYTES, 4 * LINE + 100, 4 * LINE + 110, LINE },
    { 4 * LINE - 2, LINES_BYTES, 4 * LINE, 5 * LINE - 1, LINE + 2 },
    { 4 * LINE - 100, LINES_BYTES, 4 * LINE, 5 * LINE - 1, LINE + 100 },
    { 0, 5 * LINE, 4 * LINE, 5 * LINE - 1, 2 * LINE },
    { 0, 5 * LINE + 9, 4 * LINE, 5 * LINE, 2 * LINE + 9 },
    { 0, 0, 4 * LINE, 5 * LINE, LINE + 3 },
    { 8 * LINE, LINES_BYTES, 4 * LINE, 5 * LINE, LINE + 3 },
    { 0, LINE, 4 * LINE, 5 * LINE, LINE + 3 },
  };
  Rig r;
  HassDeviceFarm farm = { .name = "farm", .gpu_worker = neighbours };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  guint8 *in = hass_memory_alloc (LINES_BYTES, NULL);
  g_autofree guint8 *out = g_malloc (LINES_BYTES);
  rig_fill (in, LINES_BYTES, 9);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    copy_lines (&r, in, out, &cases[i]);
  guint ragged = fake_cudart_counts ().ragged_copies;
  CU_ASSERT_EQUAL (ragged, G_N_ELEMENTS (cases) - 3);
  copy_several (&r, in, out);
  hass_memory_free (in);
  rig_clear (&r);
}

/* A large stretch with halos, at odd addresses: pages of it are pinned. */
static void
halos_of_pinned_pages (void)
{
  enum
  {
    BYTES = 2 << 20
  };
  Rig r;
  HassDeviceFarm farm = { .name = "farm", .gpu_worker = neighbours };
  guint8 *in = g_malloc (BYTES + 100), *out = g_malloc (BYTES);
  rig_fill (in, BYTES + 100, 4);
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  for (guint i = 0; i < 4; i++)
    {
      HassBlock b = rig_block (in + 13, out, BYTES);
      b.halo_before = 13;
      b.halo_after = 17;
      memset (out, 0, BYTES);
      rig_run (&r, &b, 1);
      check_neighbours (&b);
    }
  rig_clear (&r);
  CU_ASSERT_TRUE (r.transfers.registered_bytes > 0);
  g_free (in);
  g_free (out);
}

HASS_TEST_SUITE (cuda_halos, { "halos arrive", halos },
                 { "pinned memory is copied in whole lines", whole_lines },
                 { "halos arrive beside pinned pages", halos_of_pinned_pages })
