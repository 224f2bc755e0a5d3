/* SPDX-License-Identifier: MIT */
/* test_cuda_chain.c: bundles that pass several stages on a GPU, over the
   stand-in for the CUDA runtime.
   Thread safety: one thread, beside the stand-in's own. */
#include <string.h>

#include "cuda_rig.h"
#include "device/chain.h"
#include "hass_test.h"

#define MOST_STAGES 5
#define MOST_BLOCKS 40
#define KERNEL_US 3000

/* -- Stages ------------------------------------------------------------- */

static gsize
output_bytes_of (const HassBundle *b, gsize i)
{
  return b->output_offsets ? b->output_offsets[i + 1] - b->output_offsets[i]
                           : b->output_bytes;
}

/* Byte k of an output is byte k of the input, which is repeated, plus the
   number @data of the stage. */
static void
add_kernel (const HassBundle *b, gpointer data)
{
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      gsize n = fake_input_bytes (b, i);
      for (gsize k = 0; k < output_bytes_of (b, i); k++)
        fake_output (b, i)[k] = (n > 0 ? fake_input (b, i)[k % n] : 0)
                                + (guint8)GPOINTER_TO_UINT (data);
    }
}

/* What the worker of each stage got last, and how many blocks were wrong. */
static struct
{
  guint calls, wrong;
  gsize input_bytes, output_bytes;
} seen[MOST_STAGES];

static gboolean
add (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
     GError **error)
{
  guint stage = GPOINTER_TO_UINT (data) - 1;
  gsize in = 0, out = 0;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      const HassBlock *b = &bundle->blocks[i];
      in += b->input_bytes;
      out += b->output_bytes;
      seen[stage].wrong += b->stage != stage || b->fused != 0 || b->count != 1
                           || b->load != &rig_load || b->seq != i;
    }
  seen[stage].calls++;
  seen[stage].wrong += in != bundle->input_bytes || out != bundle->output_bytes;
  seen[stage].input_bytes = in;
  seen[stage].output_bytes = out;
  fake_launch (stream, add_kernel, bundle, data);
  return fake_check ("add", error);
}

/* Sizes that grow, shrink, stay, are fixed; the output of none is the input. */
#define STAGE(number, bytes, ratio)                                            \
  {                                                                            \
    .name = "stage", .worker = add, .user_data = GUINT_TO_POINTER (number),    \
    .output_bytes = bytes, .output_ratio = ratio                               \
  }
static const HassDeviceStage plans[][MOST_STAGES] = {
  { STAGE (1, 0, 3), STAGE (2, 0, 0.4), STAGE (3, 17, 1.5), STAGE (4, 100, 0),
    STAGE (5, 1, 2) },
  { STAGE (1, 0, 1), STAGE (2, 0, 0), STAGE (3, 0, 2), STAGE (4, 0, 0),
    STAGE (5, 0, 0) },
  { STAGE (1, 0, 0), STAGE (2, 5, 0), STAGE (3, 0, 0), STAGE (4, 0, 0.1),
    STAGE (5, 0, 7) },
  { STAGE (1, 0, 0.01), STAGE (2, 3, 0), STAGE (3, 0, 1), STAGE (4, 0, 1),
    STAGE (5, 0, 0.001) },
};

static void
open_stages (Rig *r, const FakePlan *plan, const HassDeviceStage *stages)
{
  rig_init (r, plan, &(HassDeviceFarm){ .name = "farm" });
  /* The device reads the farm of the rig, which only now has its address. */
  hass_device_farm_stages (&r->farm, stages, MOST_STAGES);
}

/* -- Tokens ------------------------------------------------------------- */

typedef struct
{
  gsize n;
  HassBlock blocks[MOST_BLOCKS];
  guint8 *in[MOST_BLOCKS], *out[MOST_BLOCKS], *want[MOST_BLOCKS];
} Tokens;

/* Computes a block as the stages would. */
static gsize
compute (const HassDeviceStage *stages, guint n_stages, const guint8 *in,
         gsize bytes, guint8 **want)
{
  guint8 *now = g_memdup2 (in, MAX (bytes, 1));
  gboolean any = FALSE;
  for (guint s = 0; s < n_stages; s++)
    if (stages[s].output_bytes > 0 || stages[s].output_ratio > 0)
      {
        gsize n = hass_device_stage_output (&stages[s], bytes);
        guint8 *next = g_malloc (MAX (n, 1));
        for (gsize k = 0; k < n; k++)
          next[k] = (bytes > 0 ? now[k % bytes] : 0)
                    + (guint8)GPOINTER_TO_UINT (stages[s].user_data);
        g_free (now);
        now = next;
        bytes = n;
        any = TRUE;
      }
  *want = now;
  return any ? bytes : 0;
}

/* Tokens of 0 to @most bytes that pass @n_stages stages from @first on. */
static void
make_tokens (Tokens *t, const HassDeviceStage *stages, guint first,
             guint n_stages, gsize n, gsize most)
{
  t->n = n;
  for (gsize i = 0; i < n; i++)
    {
      gsize bytes = i == 0 ? most : i * 7919 % (most + 1);
      t->in[i] = g_malloc (MAX (bytes, 1));
      rig_fill (t->in[i], bytes, (guint)i);
      gsize end
          = compute (stages + first, n_stages, t->in[i], bytes, &t->want[i]);
      t->out[i] = g_malloc0 (end + 1);
      t->blocks[i] = (HassBlock){ .load = &rig_load,
                                  .seq = i,
                                  .count = 1,
                                  .input = t->in[i],
                                  .input_bytes = bytes,
                                  .output = end > 0 ? t->out[i] : NULL,
                                  .output_bytes = end,
                                  .stage = first,
                                  .fused = n_stages - 1 };
    }
}

static gboolean
tokens_are_right (const Tokens *t)
{
  for (gsize i = 0; i < t->n; i++)
    {
      gsize bytes = t->blocks[i].output_bytes;
      if (memcmp (t->out[i], t->want[i], bytes) != 0 || t->out[i][bytes] != 0)
        return FALSE;
    }
  return TRUE;
}

static void
free_tokens (Tokens *t)
{
  for (gsize i = 0; i < t->n; i++)
    {
      g_free (t->in[i]);
      g_free (t->out[i]);
      g_free (t->want[i]);
    }
}

/* -- Results ------------------------------------------------------------ */

static void
run_chain (Rig *r, const HassDeviceStage *stages, guint first, guint n_stages,
           gsize n)
{
  Tokens t;
  make_tokens (&t, stages, first, n_stages, n, 3000);
  memset (seen, 0, sizeof seen);
  rig_run (r, t.blocks, n);
  gboolean right = tokens_are_right (&t);
  CU_ASSERT_TRUE (right);
  for (guint s = 0; s < MOST_STAGES; s++)
    {
      right &= seen[s].wrong == 0;
      CU_ASSERT_EQUAL (seen[s].wrong, 0);
      CU_ASSERT_EQUAL (seen[s].calls, s >= first && s < first + n_stages);
    }
  if (!right)
    g_printerr ("\n    stages %u + %u, %zu blocks", first, n_stages, n);
  free_tokens (&t);
}

static void
right_bytes (void)
{
  for (guint p = 0; p < G_N_ELEMENTS (plans); p++)
    {
      Rig r;
      open_stages (&r, &(FakePlan){ 0 }, plans[p]);
      for (guint first = 0; first < MOST_STAGES; first++)
        for (guint n = 1; n <= MOST_STAGES - first; n++)
          {
            run_chain (&r, plans[p], first, n, 1);
            run_chain (&r, plans[p], first, n, 2);
            run_chain (&r, plans[p], first, n, MOST_BLOCKS);
          }
      rig_clear (&r);
    }
}

/* Counts what the runtime does for a bundle. */
static FakeCounts
count_bundle (Rig *r, const Tokens *t)
{
  FakeCounts before = fake_cudart_counts ();
  rig_run (r, t->blocks, t->n);
  FakeCounts counts = fake_cudart_counts ();
  for (guint c = 0; c < FAKE_N_CALLS; c++)
    counts.calls[c] -= before.calls[c];
  counts.bytes_to_device -= before.bytes_to_device;
  counts.bytes_to_host -= before.bytes_to_host;
  return counts;
}

/* The runtime is called as often for a chain as for one stage, but for the
   launches, and only the inputs and the last outputs are copied. How often a
   bundle is looked at depends on the machine. */
static void
nothing_between (void)
{
  Rig r;
  Tokens one, five;
  open_stages (&r, &(FakePlan){ 0 }, plans[0]);
  make_tokens (&one, plans[0], 0, 1, 1, 50000);
  make_tokens (&five, plans[0], 0, MOST_STAGES, 1, 50000);
  count_bundle (&r, &one); /* makes the buffers */
  count_bundle (&r, &five);
  FakeCounts a = count_bundle (&r, &one), b = count_bundle (&r, &five);
  for (guint c = 0; c < FAKE_N_CALLS; c++)
    if (c != FAKE_EVENT_QUERY && c != FAKE_LAUNCH)
      CU_ASSERT_EQUAL (a.calls[c], b.calls[c]);
  CU_ASSERT_EQUAL (a.calls[FAKE_LAUNCH], 1);
  CU_ASSERT_EQUAL (b.calls[FAKE_LAUNCH], MOST_STAGES);
  CU_ASSERT_EQUAL (b.bytes_to_device, 50000);
  CU_ASSERT_EQUAL (b.bytes_to_host, five.blocks[0].output_bytes);
  free_tokens (&one);
  free_tokens (&five);
  rig_clear (&r);
}

static void
times (void)
{
  Rig r;
  Tokens t;
  open_stages (&r, &(FakePlan){ .kernel_delay_us = KERNEL_US }, plans[0]);
  make_tokens (&t, plans[0], 0, MOST_STAGES, 3, 1000);
  HassBundleDone done = rig_run (&r, t.blocks, t.n);
  CU_ASSERT_TRUE (done.kernel_ns >= MOST_STAGES * KERNEL_US * 1e3);
  CU_ASSERT_TRUE (done.kernel_busy_ns >= MOST_STAGES * KERNEL_US * 1e3);
  CU_ASSERT_EQUAL (done.h2d_busy_ns, done.h2d_ns); /* nothing beside it */
  CU_ASSERT_EQUAL (done.d2h_busy_ns, done.d2h_ns);
  CU_ASSERT_TRUE (done.worker_ns > 0 && done.h2d_ns > 0 && done.d2h_ns > 0);
  free_tokens (&t);
  rig_clear (&r);
}

/* -- Memory ------------------------------------------------------------- */

static void
memory (void)
{
  enum
  {
    WIDE = 400000
  };
  static const HassDeviceStage stages[MOST_STAGES]
      = { STAGE (1, WIDE, 0), STAGE (2, WIDE, 0), STAGE (3, WIDE, 0),
          STAGE (4, WIDE, 0), STAGE (5, 10, 0) };
  Rig r;
  Tokens two, one;
  g_autoptr (GError) error = NULL;
  g_setenv ("HASS_GPU_MEM", "1500K", TRUE);
  open_stages (&r, &(FakePlan){ 0 }, stages);
  make_tokens (&two, stages, 0, MOST_STAGES, 2, 10);
  make_tokens (&one, stages, 0, MOST_STAGES, 1, 10);
  CU_ASSERT_FALSE (r.device->ops->submit (r.device, 0, two.blocks, 2, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY));
  CU_ASSERT_TRUE (error && strstr (error->message, "gpu0"));
  /* Half of it fits, as four outputs of 400000 bytes share two regions. */
  rig_run (&r, one.blocks, 1);
  CU_ASSERT_TRUE (tokens_are_right (&one));
  g_unsetenv ("HASS_GPU_MEM");
  free_tokens (&two);
  free_tokens (&one);
  rig_clear (&r);
  CU_ASSERT_TRUE (r.counts.most_bytes[0] <= 1500 << 10);
  CU_ASSERT_TRUE (r.transfers.peak_bytes >= 2 * WIDE);
}

/* -- Faults ------------------------------------------------------------- */

/* Fails what @plan says in a bundle, whose units then are given back; the next
   bundle is right. Returns: FALSE if nothing failed. */
static gboolean
survive (const FakePlan *plan, const Tokens *t)
{
  Rig r;
  g_autoptr (GError) error = NULL;
  gboolean failed;
  open_stages (&r, &(FakePlan){ 0 }, plans[0]);
  fake_cudart_plan (plan);
  if (r.device->ops->submit (r.device, 0, t->blocks, t->n, &error))
    failed = rig_wait_any (&r, &error).failed;
  else
    failed = TRUE;
  gboolean any = fake_cudart_counts ().faults > 0;
  CU_ASSERT_EQUAL (failed, error != NULL);
  CU_ASSERT_TRUE (failed || tokens_are_right (t));
  fake_cudart_plan (&(FakePlan){ 0 });
  for (gsize i = 0; i < t->n; i++)
    memset (t->out[i], 0, t->blocks[i].output_bytes);
  rig_run (&r, t->blocks, t->n);
  CU_ASSERT_TRUE (tokens_are_right (t));
  rig_clear (&r);
  return any;
}

static void
faults (void)
{
  Tokens t;
  guint launches = 0;
  make_tokens (&t, plans[0], 0, MOST_STAGES, 3, 1000);
  for (guint call = 0; call < FAKE_N_CALLS; call++)
    for (guint n = 1;; n++)
      {
        FakePlan plan = { 0 };
        plan.fail_at[call] = n;
        if (!survive (&plan, &t))
          break;
        launches += call == FAKE_LAUNCH;
      }
  CU_ASSERT_EQUAL (launches, MOST_STAGES);
  for (guint n = 1; survive (&(FakePlan){ .fail_copy_at = n }, &t); n++)
    ;
  free_tokens (&t);
}

/* A worker of a later stage fails: nothing comes back, and the reason names
   the stage. */
static gboolean
refusing (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  (void)bundle, (void)stream, (void)data;
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "I do not want to");
  return FALSE;
}

static void
failing_worker (void)
{
  HassDeviceStage stages[MOST_STAGES];
  Rig r;
  Tokens t;
  g_autoptr (GError) error = NULL;
  memcpy (stages, plans[0], sizeof stages);
  stages[3].worker = refusing;
  stages[3].name = "fourth";
  open_stages (&r, &(FakePlan){ 0 }, stages);
  make_tokens (&t, stages, 0, MOST_STAGES, 3, 1000);
  CU_ASSERT_FALSE (r.device->ops->submit (r.device, 0, t.blocks, 3, &error));
  const char *want = "gpu0: GPU worker: stage 'fourth': I do not want to";
  CU_ASSERT_TRUE (error && strcmp (error->message, want) == 0);
  run_chain (&r, stages, 0, 3, 3);
  free_tokens (&t);
  rig_clear (&r);
}

/* Before anything is enqueued. */
static void
refused (void)
{
  Rig r;
  Tokens t;
  g_autoptr (GError) error = NULL;
  open_stages (&r, &(FakePlan){ 0 }, plans[0]);
  make_tokens (&t, plans[0], 0, 3, 3, 1000);
  t.blocks[1].output_bytes--;
  guint calls = fake_cudart_counts ().n_calls;
  CU_ASSERT_FALSE (r.device->ops->submit (r.device, 0, t.blocks, 3, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
  CU_ASSERT_EQUAL (fake_cudart_counts ().n_calls, calls);
  t.blocks[1].output_bytes++;
  rig_run (&r, t.blocks, 3);
  CU_ASSERT_TRUE (tokens_are_right (&t));
  free_tokens (&t);
  rig_clear (&r);
}

HASS_TEST_SUITE (cuda_chain,
                 { "stages of any sizes follow one another on the device",
                   right_bytes },
                 { "nothing is copied between stages", nothing_between },
                 { "the time of the kernels is that of all stages", times },
                 { "outputs between stages count as memory", memory },
                 { "a fault of any call gives everything back", faults },
                 { "a stage that fails leaves nothing behind", failing_worker },
                 { "a chain that is refused touches nothing", refused })
