/* SPDX-License-Identifier: MIT */
/* test_cuda_workers.c: what GPU workers are given and give back beside blocks,
   over the stand-in for the CUDA runtime: constants, records, accumulators.
   Thread safety: one thread, beside the stand-in's own. */
#include <string.h>

#include "cuda_rig.h"
#include "hass_test.h"

static void
add_constants_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  const guint8 *first = b->constants[0];
  const guint32 *third = b->constants[2];
  for (gsize k = 0; k < b->n_elements; k++)
    b->output[k] = b->input[k] + first[k % 3] + third[1];
}

static gboolean
add_constants (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
               GError **error)
{
  CU_ASSERT_EQUAL (bundle->n_constants, 3);
  fake_launch (stream, add_constants_kernel, bundle, data);
  return fake_check ("add", error);
}

static void
constants (void)
{
  Rig r;
  guint8 in[100], out[100];
  static const guint8 first[] = { 1, 2, 3 };
  static const guint32 third[] = { 0, 40 };
  HassConstant all[] = { { first, 3 }, { NULL, 0 }, { third, sizeof third } };
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = add_constants,
                          .constants = all,
                          .n_constants = 3 };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  rig_fill (in, 100, 0);
  for (guint i = 0; i < 3; i++)
    {
      HassBlock b = rig_block (in, out, 100);
      gboolean ok = TRUE;
      rig_run (&r, &b, 1);
      for (gsize k = 0; k < 100; k++)
        ok &= out[k] == (guint8)(in[k] + first[k % 3] + 40);
      CU_ASSERT_TRUE (ok);
    }
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.transfers.constant_bytes, 3 + sizeof third);
}

/* Of the GPU, before and after a farm with constants of so many bytes. */
static gboolean
learns_link_from (gsize bytes, gboolean pinned)
{
  Rig r;
  HassDeviceFarm none = { .name = "farm", .gpu_worker = add_constants };
  HassDeviceTraits before, after;
  rig_init (&r, &(FakePlan){ 0 }, &none);
  r.device->ops->close (r.device);
  r.device->ops->describe (r.device, &before);
  guint8 *memory = pinned ? hass_memory_alloc (bytes, NULL) : g_malloc (bytes);
  HassConstant constant = { memory, bytes };
  HassDeviceFarm farm = none;
  farm.constants = &constant;
  farm.n_constants = 1;
  CU_ASSERT_TRUE (r.device->ops->open (r.device, &farm, NULL));
  r.device->ops->describe (r.device, &after);
  pinned ? hass_memory_free (memory) : g_free (memory);
  rig_clear (&r);
  CU_ASSERT_EQUAL (before.link_bytes_per_ns, 25);
  return after.link_bytes_per_ns != before.link_bytes_per_ns;
}

static void
constants_tell_of_the_link (void)
{
  CU_ASSERT_TRUE (learns_link_from (16 << 20, TRUE));
  CU_ASSERT_FALSE (learns_link_from (16 << 20, FALSE));
  CU_ASSERT_FALSE (learns_link_from (1 << 20, TRUE));
}

static void
own_bundler_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    for (gsize k = 0; k < fake_input_bytes (b, i); k++)
      fake_output (b, i)[k] = fake_input (b, i)[k] ^ 0x55;
}

static gboolean
own_bundler_worker (const HassBundle *bundle, HassGpuStream *stream,
                    gpointer data, GError **error)
{
  fake_launch (stream, own_bundler_kernel, bundle, data);
  return fake_check ("own", error);
}

/* Reversed bytes, blocks from the last. */
static gboolean
reverse_in (const HassBlock *blocks, gsize n, HassStaging *s, gpointer data,
            GError **error)
{
  (void)data, (void)error;
  s->offsets[0] = 0;
  for (gsize i = 0; i < n; i++)
    {
      for (gsize k = 0; k < blocks[i].input_bytes; k++)
        s->data[s->offsets[i] + k]
            = blocks[i].input[blocks[i].input_bytes - 1 - k];
      s->offsets[i + 1] = s->offsets[i] + blocks[i].input_bytes;
    }
  return TRUE;
}

static gboolean
reverse_out (const HassBlock *blocks, gsize n, const HassStaging *s,
             gpointer data, GError **error)
{
  (void)data, (void)error;
  for (gsize i = 0; i < n; i++)
    for (gsize k = 0; k < blocks[i].output_bytes; k++)
      blocks[i].output[k]
          = s->data[s->offsets[i] + blocks[i].output_bytes - 1 - k];
  return TRUE;
}

static void
own_bundler (void)
{
  Rig r;
  guint8 in[100], out[100];
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = own_bundler_worker,
                          .bundle = reverse_in,
                          .unbundle = reverse_out };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  rig_fill (in, 100, 0);
  for (guint n = 1; n < 3; n++)
    {
      gboolean ok = TRUE;
      HassBlock b[]
          = { rig_block (in, out, 30), rig_block (in + 30, out + 30, 70) };
      memset (out, 0, 100);
      rig_run (&r, b, n);
      for (gsize k = 0; k < (n == 1 ? 30 : 100); k++)
        ok &= out[k] == (in[k] ^ 0x55);
      CU_ASSERT_TRUE (ok);
    }
  rig_clear (&r);
}

/* -- Results of other kinds --------------------------------------------- */

/* As many records for each block as its input says, each with its number. */
static void
append_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      guint32 n;
      memcpy (&n, fake_input (b, i), sizeof n);
      for (guint32 k = 0; k < n; k++)
        fake_append (b, (guint32)i, &k);
    }
}

static gboolean
append (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  fake_launch (stream, append_kernel, bundle, data);
  return fake_check ("append", error);
}

static void
check_records (const HassBundleDone *done, const guint32 *wanted, guint n)
{
  guint64 total = 0;
  g_autofree guint32 *next = g_new0 (guint32, n);
  gboolean ok = TRUE;
  for (guint i = 0; i < n; i++)
    total += wanted[i];
  CU_ASSERT_EQUAL_FATAL (done->n_records, total);
  const guint32 *record = done->records;
  for (guint64 k = 0; k < total; k++)
    {
      guint32 i = n > 1 ? done->record_blocks[k] : 0;
      ok &= i < n && record[k] == next[i]++;
    }
  for (guint i = 0; i < n; i++)
    ok &= next[i] == wanted[i];
  CU_ASSERT_TRUE (ok);
}

static void
records (void)
{
  Rig r;
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = append,
                          .record_bytes = sizeof (guint32),
                          .records_per_element = 0.1 };
  static const guint32 wanted[][3]
      = { { 5, 0, 7 },     { 0, 0, 0 }, { 100, 900, 1 },  { 700, 800, 900 },
          { 50000, 0, 1 }, { 3, 2, 1 }, { 0, 0, 200000 }, { 60000, 1, 60000 } };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    for (guint n = 1; n <= 3; n += 2)
      {
        HassBlock b[3];
        for (guint k = 0; k < 3; k++)
          {
            b[k] = rig_block (&wanted[i][k], NULL, sizeof (guint32));
            b[k].count = 1;
          }
        HassBundleDone done = rig_run (&r, b, n);
        check_records (&done, wanted[i], n);
      }
  rig_clear (&r);
  /* The larger ones were computed twice, and only those. */
  CU_ASSERT_TRUE (r.counts.kernels > 2 * G_N_ELEMENTS (wanted));
  CU_ASSERT_TRUE (r.counts.kernels <= 3 * G_N_ELEMENTS (wanted));
}

/* Records that do not fit in the memory there is: fewer blocks may do. */
static void
too_many_records (void)
{
  Rig r;
  guint32 n = 200000;
  HassBundleDone done = { 0 };
  GError *error = NULL;
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = append,
                          .record_bytes = sizeof (guint32) };
  HassBlock b = rig_block (&n, NULL, sizeof n);
  b.count = 1;
  rig_init (&r, &(FakePlan){ .memory_bytes = 1 << 20 }, &farm);
  CU_ASSERT_TRUE (rig_submit (&r, 0, &b, 1));
  done = rig_wait_any (&r, &error);
  CU_ASSERT_TRUE (done.failed && done.too_large && !done.lost);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY));
  g_clear_error (&error);
  n = 7;
  done = rig_run (&r, &b, 1);
  check_records (&done, &n, 1);
  rig_clear (&r);
}

static void
sum_kernel (const HassBundle *b, gpointer data)
{
  guint64 *sum = b->accumulator;
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    for (guint64 k = 0; k < fake_elements (b, i); k++)
      *sum += fake_input (b, i)[k];
}

static gboolean
sum (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
     GError **error)
{
  fake_launch (stream, sum_kernel, bundle, data);
  return fake_check ("sum", error);
}

static void
accumulators (void)
{
  static const guint64 start = 1000;
  for (guint i = 0; i < 2; i++)
    {
      Rig r;
      guint8 in[100];
      HassDeviceFarm farm = { .name = "farm",
                              .gpu_worker = sum,
                              .accumulator_bytes = sizeof (guint64),
                              .accumulator_init = i ? &start : NULL };
      rig_init (&r, &(FakePlan){ 0 }, &farm);
      memset (in, 3, sizeof in);
      HassBlock b[]
          = { rig_block (in, NULL, 60), rig_block (in + 60, NULL, 40) };
      for (guint n = 1; n <= 2; n++)
        {
          HassBundleDone done = rig_run (&r, b, n);
          CU_ASSERT_PTR_NOT_NULL_FATAL (done.accumulator);
          CU_ASSERT_EQUAL (*(const guint64 *)done.accumulator,
                           (n == 1 ? 180 : 300) + (i ? start : 0));
        }
      rig_clear (&r);
    }
}

HASS_TEST_SUITE (cuda_workers, { "constants are copied once", constants },
                 { "large pinned constants show the rate of the link",
                   constants_tell_of_the_link },
                 { "a farm's own bundler is used", own_bundler },
                 { "records come back, however many", records },
                 { "records without room fail as too large", too_many_records },
                 { "accumulators are fresh for each bundle", accumulators })
