/* SPDX-License-Identifier: MIT */
/* test_cold_buffers.c: large buffers of the library while a GPU is started, and
   afterwards.

   DESIGN. The start of the GPU goes on only when the generator, or the first
   stage, has got its memory and says so: one that waits for the GPU hangs, and
   the watchdog says so.

   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <string.h>

#include "cold_trial.h"
#include "device/cuda/gpus-private.h"
#include "device/pinned.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define BYTES ((gsize)64 << 10)
#define PAGE_BYTES 4096
#define N_EARLY 8 /* loads whose memory comes before the GPU is ready */
#define N_LATE 24

/* Loads whose bytes were wrong, memory that was not as it should be, and
   outputs of the first stage. */
static _Atomic guint wrong_bytes, wrong_memory, made;

static void
reset (void)
{
  counting_reset ();
  atomic_store (&wrong_bytes, 0);
  atomic_store (&wrong_memory, 0);
  atomic_store (&made, 0);
}

/* -- Bytes --------------------------------------------------------------- */

static void
fill (guint8 *bytes, guint64 i)
{
  memset (bytes, (int)(i + 1), BYTES);
}

static gboolean
is_filled (const guint8 *bytes, guint64 i)
{
  return bytes[0] == (guint8)(i + 1)
         && memcmp (bytes, bytes + 1, BYTES - 1) == 0;
}

/* Memory is in whole pages, and pinned if the GPU is ready. */
static void
look_at (gconstpointer memory, gboolean ready)
{
  atomic_fetch_add (&wrong_memory,
                    (guintptr)memory % PAGE_BYTES != 0
                        || hass_memory_is_pinned (memory, BYTES) != ready);
}

static void
await (const _Atomic guint *count, guint n)
{
  while (atomic_load (count) < n)
    g_usleep (100);
}

static void
kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      const guint8 *in = fake_input (bundle, i);
      atomic_fetch_add (&wrong_bytes,
                        fake_input_bytes (bundle, i) != BYTES
                            || !is_filled (in, (guint64)in[0] - 1));
    }
  atomic_fetch_add (&counting_on_gpu, (guint)bundle->n_blocks);
}

static gboolean
gpu_looks (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
           GError **error)
{
  fake_launch (stream, kernel, bundle, data);
  return fake_check ("look", error);
}

/* -- Generators ---------------------------------------------------------- */

static gboolean
emit_one (HassEmitter *emitter, guint i, gboolean ready)
{
  guint8 *buffer = hass_emitter_buffer (emitter, BYTES);
  HassLoad load = {
    .input = buffer, .input_bytes = BYTES, .size = 1, .flags = HASS_LOAD_BUFFER
  };
  if (!buffer)
    return FALSE;
  look_at (buffer, ready);
  fill (buffer, i);
  return hass_emitter_emit (emitter, &load);
}

/* Waits until all GPUs so far are started. */
static void
await_ready (guint n_gpus)
{
  for (guint i = 0; i < n_gpus; i++)
    {
      HassGpu *gpu = hass_gpus_get (i);
      pthread_mutex_lock (&gpu->lock);
      while (gpu->start != HASS_GPU_READY)
        pthread_cond_wait (&gpu->started, &gpu->lock);
      pthread_mutex_unlock (&gpu->lock);
    }
}

/**
 * Scene: @n_gpus: of the farm. @n_early: loads before the last of them is
 * started.
 */
typedef struct
{
  guint n_gpus, n_early;
} Scene;

/* The late loads come one by one, so that none is gathered with others. */
static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  const Scene *scene = data;
  guint i = 0;
  (void)error;
  cold_await_starts (scene->n_gpus);
  while (i < scene->n_early && emit_one (emitter, i, FALSE))
    i++;
  fake_let_open ();
  await_ready (scene->n_gpus);
  for (; i < scene->n_early + N_LATE; i++)
    {
      await (&counting_on_gpu, i);
      if (!emit_one (emitter, i, TRUE))
        return FALSE;
    }
  return TRUE;
}

/* -- Tests --------------------------------------------------------------- */

/* Early memory is staged or pinned for the copy, late memory copied directly.
 */
static void
check (const HassReport *r, guint n_early)
{
  gsize direct = 0, other = 0;
  for (guint d = 0; r && d < r->n_devices; d++)
    {
      direct += r->devices[d].direct_bytes;
      other += r->devices[d].staged_bytes + r->devices[d].registered_bytes;
    }
  CU_ASSERT_EQUAL (direct, N_LATE * BYTES);
  CU_ASSERT_EQUAL (other, n_early * BYTES);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), n_early + N_LATE);
  CU_ASSERT_EQUAL (atomic_load (&wrong_bytes), 0);
  CU_ASSERT_EQUAL (atomic_load (&wrong_memory), 0);
}

static void
run_farm (Scene scene)
{
  HassDataFarm farm = cold_farm (NULL, 0);
  g_autoptr (HassReport) r = NULL;
  g_autoptr (GError) error = NULL;
  farm.generate = generate;
  farm.gpu_worker = gpu_looks;
  farm.user_data = &scene;
  farm.run.n_gpus = (gint)scene.n_gpus;
  farm.run.strategy = "naive-greedy";
  reset ();
  watchdog (20, "a generator beside a GPU that is being started");
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, &r, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  check (r, scene.n_early);
}

/* The second farm finds the GPU started. */
static void
generator_goes_on (void)
{
  fake_machine_begin (&(FakePlan){ .hold_opening = TRUE });
  run_farm ((Scene){ .n_gpus = 1, .n_early = N_EARLY });
  run_farm ((Scene){ .n_gpus = 1 });
  fake_machine_end ();
}

static void
beside_the_second (void)
{
  const FakePlan plan = { .n_devices = 2, .hold_opening = TRUE };
  fake_machine_begin (&plan);
  run_farm ((Scene){ .n_gpus = 1, .n_early = N_EARLY });
  fake_cudart_plan (&plan);
  fake_machine_set_start (0, 0);
  run_farm ((Scene){ .n_gpus = 2, .n_early = N_EARLY });
  fake_machine_end ();
}

static gboolean
emit_tokens (HassEmitter *emitter, gpointer data, GError **error)
{
  static const HassLoad load = { .size = 1 };
  gboolean ok = TRUE;
  (void)data, (void)error;
  for (guint i = 0; i < N_EARLY && ok; i++)
    ok = hass_emitter_emit (emitter, &load);
  await (&made, N_EARLY);
  fake_let_open ();
  for (guint i = N_EARLY; i < N_EARLY + N_LATE && ok; i++)
    {
      await (&counting_on_gpu, i);
      ok = hass_emitter_emit (emitter, &load);
    }
  return ok;
}

static gboolean
make_output (HassToken *token, HassWorker *worker, gpointer data,
             GError **error)
{
  (void)worker, (void)data, (void)error;
  look_at (token->output, token->seq >= N_EARLY);
  fill (token->output, token->seq);
  atomic_fetch_add (&made, 1);
  return TRUE;
}

static void
stages_go_on (void)
{
  const HassStage stages[] = {
    HASS_STAGE (.name = "make", .cpu = make_output, .output_bytes = BYTES),
    HASS_STAGE (.name = "look", .gpu = gpu_looks),
  };
  HassPipeline pipeline = HASS_PIPELINE_INIT;
  g_autoptr (HassReport) r = NULL;
  g_autoptr (GError) error = NULL;
  pipeline.name = "cold";
  pipeline.generate = emit_tokens;
  pipeline.stages = stages;
  pipeline.n_stages = G_N_ELEMENTS (stages);
  pipeline.run.n_cores = 2;
  pipeline.run.platform = "";
  reset ();
  fake_machine_begin (&(FakePlan){ .hold_opening = TRUE });
  watchdog (20, "a stage beside a GPU that is being started");
  CU_ASSERT_TRUE (hass_pipeline (&pipeline, &r, &error));
  watchdog (0, NULL);
  CU_ASSERT_PTR_NULL (error);
  check (r, N_EARLY);
  fake_machine_end ();
}

HASS_TEST_SUITE (
    cold_buffers,
    { "a generator gets large buffers while the GPU is started, and pinned "
      "ones "
      "afterwards",
      generator_goes_on },
    { "a generator gets large buffers while another GPU is started",
      beside_the_second },
    { "stages get large outputs while the GPU is started, and pinned ones "
      "afterwards",
      stages_go_on })
