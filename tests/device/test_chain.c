/* SPDX-License-Identifier: MIT */
/* test_chain.c: the stages of a pipeline that a bundle passes on a device:
   sizes, scratch memory, refusals, and the worker of each stage.
   Thread safety: one thread, beside the stand-in's own. */
#include "device/chain.h"

#include <math.h>
#include <string.h>

#include "hass/error.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"

/* -- Sizes -------------------------------------------------------------- */

static void
sizes (void)
{
  static const struct
  {
    gsize fixed;
    double ratio;
    gsize input, output;
  } cases[] = {
    { 0, 0, 100, 0 },
    { 7, 0, 100, 7 },
    { 0, 1, 100, 100 },
    { 0, 0.5, 101, 51 },
    { 3, 2.25, 10, 26 },
    { 3, 2.25, 0, 3 },
    { 0, 1e-9, 1, 1 },
    { 0, 1e30, 1, G_MAXSIZE },
    { G_MAXSIZE, 0, 1, G_MAXSIZE },
    { 0, 1, G_MAXSIZE, G_MAXSIZE },
    { 5, NAN, 1, G_MAXSIZE },
    { 5, -3, 1, 5 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      HassDeviceStage stage
          = { .output_bytes = cases[i].fixed, .output_ratio = cases[i].ratio };
      gsize bytes = hass_device_stage_output (&stage, cases[i].input);
      CU_ASSERT_EQUAL (bytes, cases[i].output);
      if (bytes != cases[i].output)
        g_printerr ("\n    case %u: %zu", i, bytes);
    }
}

static gboolean
nothing (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
         GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

/* Outputs of 1000 a block, 3000, none, 100 and 2000 bytes. */
static const HassDeviceStage stages[]
    = { { .name = "a", .worker = nothing, .output_bytes = 1000 },
        { .name = "b", .worker = nothing, .output_ratio = 3 },
        { .name = "c", .worker = nothing },
        { .name = "d", .worker = nothing, .output_bytes = 100 },
        { .name = "e", .worker = nothing, .output_ratio = 20 } };

static HassBlock
block (guint stage, guint fused, gsize input_bytes, gsize output_bytes)
{
  static guint8 memory[1];
  return (HassBlock){ .count = 1,
                      .input = memory,
                      .input_bytes = input_bytes,
                      .output = output_bytes > 0 ? memory : NULL,
                      .output_bytes = output_bytes,
                      .stage = stage,
                      .fused = fused };
}

static void
scratch (void)
{
  static const struct
  {
    guint stage, fused;
    gsize output, scratch; /* of two blocks of 10 bytes of input */
  } cases[] = {
    { 0, 0, 1000, 0 },    /* the output is the bundle's */
    { 0, 1, 3000, 2048 }, /* that of a */
    { 0, 2, 3000, 2048 }, /* c makes none */
    { 0, 3, 100, 2048 + 6144 /* and that of b */ },
    { 0, 4, 2000, 2048 + 6144 /* d where a was */ },
    { 1, 3, 2000, 256 + 256 },
    { 2, 1, 100, 0 },
  };
  HassDeviceFarm farm = { .name = "farm" };
  HassChain chain;
  hass_device_farm_stages (&farm, stages, G_N_ELEMENTS (stages));
  hass_chain_init (&chain);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      HassBlock b = block (cases[i].stage, cases[i].fused, 10, cases[i].output);
      HassBlock two[] = { b, b };
      CU_ASSERT_TRUE (hass_chain_make (&chain, &farm, two, 2, NULL));
      CU_ASSERT_EQUAL (chain.n, cases[i].fused + 1);
      CU_ASSERT_EQUAL (chain.scratch_bytes, cases[i].scratch);
      if (chain.scratch_bytes != cases[i].scratch)
        g_printerr ("\n    case %u: %zu", i, chain.scratch_bytes);
    }
  hass_chain_clear (&chain);
}

static void
chain_of_one (void)
{
  HassDeviceFarm farm = { .name = "farm" };
  HassBundle whole = { .n_blocks = 2 };
  HassBlock two[] = { block (0, 0, 10, 5), block (0, 0, 10, 5) };
  HassChain chain;
  hass_chain_init (&chain);
  CU_ASSERT_TRUE (hass_chain_make (&chain, &farm, two, 2, NULL));
  CU_ASSERT_EQUAL (chain.n, 1);
  CU_ASSERT_EQUAL (hass_chain_place (&chain, 48), 48);
  hass_chain_fill (&chain, NULL);
  hass_chain_describe (&chain, &whole, NULL, NULL);
  CU_ASSERT_PTR_EQUAL (hass_chain_bundle (&chain, 0, &whole), &whole);
  CU_ASSERT_EQUAL (chain.links->len + chain.blocks->len, 0);
  hass_chain_clear (&chain);
}

/* -- Refusals ----------------------------------------------------------- */

static gboolean
bundler (const HassBlock *blocks, gsize n, HassStaging *staging, gpointer data,
         GError **error)
{
  (void)blocks, (void)n, (void)staging, (void)data, (void)error;
  return TRUE;
}

static gboolean
unbundler (const HassBlock *blocks, gsize n, const HassStaging *staging,
           gpointer data, GError **error)
{
  (void)blocks, (void)n, (void)staging, (void)data, (void)error;
  return TRUE;
}

static void
refuse (const HassDeviceFarm *farm, const HassBlock *blocks, HassError code,
        const char *why)
{
  HassChain chain;
  GError *error = NULL;
  hass_chain_init (&chain);
  CU_ASSERT_FALSE (hass_chain_make (&chain, farm, blocks, 2, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, code));
  CU_ASSERT_TRUE (error && strstr (error->message, why));
  if (!error || !strstr (error->message, why))
    g_printerr ("\n    %s: %s", why, error ? error->message : "no error");
  g_clear_error (&error);
  hass_chain_clear (&chain);
}

static void
refusals (void)
{
  HassDeviceFarm farm = { .name = "farm" }, with;
  hass_device_farm_stages (&farm, stages, G_N_ELEMENTS (stages));
  HassBlock good[] = { block (0, 1, 10, 3000), block (0, 1, 10, 3000) }, bad[2];
#define FARM(set, why)                                                         \
  with = farm;                                                                 \
  with.set;                                                                    \
  refuse (&with, good, HASS_ERROR_INVALID, why)
#define BLOCK(set, code, why)                                                  \
  memcpy (bad, good, sizeof bad);                                              \
  bad[1].set;                                                                  \
  refuse (&farm, bad, code, why)
  FARM (bundle = bundler, "has a bundler");
  FARM (unbundle = unbundler, "has a bundler");
  FARM (record_bytes = 8, "results of varying number");
  FARM (accumulator_bytes = 8, "has accumulators");
  FARM (n_stages = 1, "stages 0 to 1 cannot be fused: the farm has fewer");
  FARM (n_stages = 0, "the farm has fewer stages");
  BLOCK (input_row_bytes = 1, HASS_ERROR_INVALID, "is a tile");
  BLOCK (output_row_bytes = 1, HASS_ERROR_INVALID, "is a tile");
  BLOCK (stage = 1, HASS_ERROR_INVALID, "different stages");
  BLOCK (fused = 0, HASS_ERROR_INVALID, "different stages");
  BLOCK (output_bytes = 2999, HASS_ERROR_INVALID,
         "block 1 has 2999 bytes for outputs, stages 0 to 1 make 3000");
#undef FARM
#undef BLOCK
  HassBlock beyond[] = { block (4, 1, 1, 1), block (4, 1, 1, 1) };
  refuse (&farm, beyond, HASS_ERROR_INVALID, "the farm has fewer stages");
  beyond[0].fused = beyond[1].fused = G_MAXUINT32;
  refuse (&farm, beyond, HASS_ERROR_INVALID, "the farm has fewer stages");
}

/* The engine tries fewer blocks, so that a single one fails with its sizes. */
static void
too_large (void)
{
  static const HassDeviceStage wide[]
      = { { .name = "wide", .output_bytes = (gsize)1 << 60 },
          { .name = "wider", .output_ratio = 1.5 },
          { .name = "narrow", .output_bytes = 1 } };
  HassDeviceFarm farm = { .name = "farm" };
  hass_device_farm_stages (&farm, wide, G_N_ELEMENTS (wide));
  HassBlock two[] = { block (0, 2, 10, 1), block (0, 2, 10, 1) };
  refuse (&farm, two, HASS_ERROR_NO_MEMORY,
          "stage 'wider': the outputs of 2 blocks exceed 2^61 bytes");
  two[0].input_bytes = two[1].input_bytes = G_MAXSIZE;
  two[0].stage = two[1].stage = 1;
  two[0].fused = two[1].fused = 1;
  refuse (&farm, two, HASS_ERROR_NO_MEMORY, "stage 'wider'");
}

/* -- Workers ------------------------------------------------------------ */

static gboolean
fails (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
       GError **error)
{
  (void)bundle, (void)stream;
  if (data)
    g_set_error_literal (error, HASS_ERROR, HASS_ERROR_WORKER, data);
  return FALSE;
}

static gboolean
counts (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)bundle, (void)stream, (void)error;
  ++*(guint *)data;
  return TRUE;
}

static void
workers (void)
{
  guint n = 0;
  const HassDeviceStage all[]
      = { { .name = "counts", .worker = counts, .user_data = &n },
          { .name = "says", .worker = fails, .user_data = (gpointer) "no" },
          { .name = "silent", .worker = fails },
          { .name = "absent" } };
  static const char *const why[]
      = { "", "stage 'says': no", "stage 'silent' failed without a reason",
          "stage 3 has no worker", "stage 4 has no worker" };
  HassDeviceFarm farm = { .name = "farm" };
  hass_device_farm_stages (&farm, all, G_N_ELEMENTS (all));
  for (guint i = 0; i <= G_N_ELEMENTS (all); i++)
    {
      HassBlock b = block (i, 0, 1, 1);
      HassBundle bundle = { .n_blocks = 1, .blocks = &b };
      g_autoptr (GError) error = NULL;
      gboolean ok
          = hass_gpu_worker_call (hass_device_worker (&farm, &b), &bundle, NULL,
                                  farm.user_data, &error);
      CU_ASSERT_EQUAL (ok, i == 0);
      CU_ASSERT_TRUE (ok || (error && strstr (error->message, why[i])));
    }
  CU_ASSERT_EQUAL (n, 1);
}

/* -- A device of another kind ------------------------------------------- */

static void
double_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    for (gsize k = b->output_offsets[i]; k < b->output_offsets[i + 1]; k++)
      b->output[k] = 2
                     * b->input[b->offsets[i]
                                + (k - b->output_offsets[i])
                                      % (b->offsets[i + 1] - b->offsets[i])];
}

STAND_IN_WORKER (doubles, double_kernel)

static void
other_device (void)
{
  static const HassDeviceStage three[]
      = { { .name = "a", .worker = doubles, .output_ratio = 2 },
          { .name = "b", .worker = doubles, .output_ratio = 1.5 },
          { .name = "c", .worker = doubles, .output_bytes = 2 } };
  guint8 in[] = { 1, 2, 3 }, out[4];
  HassDeviceFarm farm = { .name = "farm" };
  hass_device_farm_stages (&farm, three, 3);
  HassDevice *device = stand_in_new (&(StandInPlan){ .max_fused = 2 });
  HassBlock two[] = { block (0, 2, 1, 2), block (0, 2, 2, 2) };
  HassBundleDone done = { .failed = TRUE };
  two[0].input = in, two[0].output = out;
  two[1].input = in + 1, two[1].output = out + 2;
  CU_ASSERT_TRUE (device->ops->open (device, &farm, NULL));
  CU_ASSERT_TRUE (device->ops->submit (device, 0, two, 2, NULL));
  CU_ASSERT_TRUE (device->ops->wait (
      device, 60 * G_GINT64_CONSTANT (1000000000), &done, NULL));
  CU_ASSERT_FALSE (done.failed);
  static const guint8 want[] = { 8, 8, 16, 24 };
  CU_ASSERT_EQUAL (memcmp (out, want, sizeof want), 0);
  device->ops->close (device);
  CU_ASSERT_PTR_NULL (stand_in_counts (device).wrong);
  stand_in_free (device);
}

HASS_TEST_SUITE (chain,
                 { "the output of a stage has the promised size", sizes },
                 { "outputs between stages lie alternately in two regions",
                   scratch },
                 { "a chain of one stage needs nothing", chain_of_one },
                 { "what cannot pass several stages is refused", refusals },
                 { "outputs that cannot be counted are too large", too_large },
                 { "the worker of a block's stage is called", workers },
                 { "a device of another kind computes chains", other_device })
