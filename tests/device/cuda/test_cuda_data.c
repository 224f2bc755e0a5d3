/* SPDX-License-Identifier: MIT */
/* test_cuda_data.c: GPUs as devices of dataflows, over the stand-in for the
   CUDA runtime. Thread safety: single-threaded, beside the stand-in's own
   threads. */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "device/cuda/gpus-private.h"
#include "hass/error.h"
#include "hass_test.h"
#include "tests/device/fake_machine.h"
#include "tests/engine/data_trial.h"
#include "tests/trials.h"

#define WAIT_NS G_GINT64_CONSTANT (20000000000)

static void
add (const HassBundle *b, gpointer what)
{
  guint8 *output = b->output;
  for (gsize i = 0, n = b->output_bytes; i < n; i++)
    output[i] = (guint8)(output[i] + GPOINTER_TO_UINT (what));
}

static void
launch (HassGpuStream *stream, gpointer data, gsize bytes, guint8 what)
{
  HassBundle b = { .n_blocks = 1, .output = data, .output_bytes = bytes };
  fake_launch (stream, add, &b, GUINT_TO_POINTER (what));
}

/* -- Random operations ----------------------------------------------------- */

/* A plan may let one call fail. */
static void
enter (guint i)
{
  for (guint k = 0; k < 3 && hass_cudart ()->set_device ((int)i) != 0; k++)
    hass_cudart ()->last_error ();
}

static FakeCounts
run_trial (const FakePlan *plan, DataTrial *trial, DataTrialCounts *counts,
           const char *text)
{
  fake_machine_begin (plan);
  trial->n_devices = MIN (hass_gpus_count (), plan->n_devices);
  trial->launch = launch;
  trial->enter = enter;
  for (guint i = 0; i < trial->n_devices; i++)
    trial->devices[i] = hass_cuda_device_new (i);
  const char *wrong = data_trial_run (trial, counts);
  CU_ASSERT_PTR_NULL (wrong);
  if (wrong)
    printf ("\n    seed %u,%s: %s\n", trial->seed, text, wrong);
  fake_end_hang ();
  FakeCounts c = fake_cudart_counts ();
  for (guint i = 0; i < trial->n_devices; i++)
    hass_cuda_device_free (trial->devices[i]);
  FakeCounts end = fake_machine_end ();
  if (*end.wrong || *end.leaks)
    printf (" with seed %u,%s\n", trial->seed, text);
  return c;
}

static void
random_operations (void)
{
  guint ended = 0;
  guint64 peer = 0;
  for (guint32 seed = 0; seed < TRIALS (60, 60, 20); seed++)
    {
      FakePlan plan = { .n_devices = 1 + seed % 2,
                        .kernel_delay_us = seed % 3 * 20,
                        .copy_delay_us = seed % 5 * 10 };
      DataTrial trial = { .seed = seed,
                          .steps = 400,
                          .most_bytes = seed % 10 ? 3000 : 3000000,
                          .deadline_ns = seed % 4 ? 0 : WAIT_NS };
      DataTrialCounts n;
      FakeCounts c = run_trial (&plan, &trial, &n, "");
      if (*n.why)
        printf ("\n    seed %u: %s", seed, n.why);
      CU_ASSERT_EQUAL (n.begun, n.ended);
      CU_ASSERT_STRING_EQUAL (n.why, "");
      CU_ASSERT_EQUAL (c.pageable_copies, 0);
      CU_ASSERT_EQUAL (c.live_bytes[0] + c.live_bytes[1], 0);
      ended += n.ended;
      peer += c.bytes_to_peer;
    }
  CU_ASSERT_TRUE (ended > TRIALS (3000, 3000, 1000));
  CU_ASSERT_TRUE (peer > 0);
}

static void
random_faults (void)
{
  DataTrialCounts sum = { 0 };
  for (guint32 seed = 0; seed < TRIALS (300, 300, 150); seed++)
    {
      GRand *r = g_rand_new_with_seed (seed);
      g_autoptr (GString) text = g_string_new (NULL);
      FakePlan plan
          = { .n_devices = 1 + seed % 2, .memory_bytes = seed % 5 ? 0 : 10000 };
      fake_add_fault (r, plan.n_devices, &plan, text);
      if (seed % 3 == 0)
        fake_add_fault (r, plan.n_devices, &plan, text);
      g_rand_free (r);
      DataTrial trial = {
        .seed = seed, .steps = 200, .most_bytes = 3000, .deadline_ns = 30000000
      };
      DataTrialCounts n = { 0 };
      run_trial (&plan, &trial, &n, text->str);
      sum.ended += n.ended;
      sum.failed += n.failed;
      sum.refused += n.refused;
      sum.no_memory += n.no_memory;
      sum.lost += n.lost;
    }
  CU_ASSERT_TRUE (sum.ended > 3000);
  CU_ASSERT_TRUE (sum.failed > 10);
  CU_ASSERT_TRUE (sum.refused > 20);
  CU_ASSERT_TRUE (sum.no_memory > 50);
  CU_ASSERT_TRUE (sum.lost > 30);
}

/* -- One device ------------------------------------------------------------ */

typedef struct
{
  HassDeviceFarm farm;
  HassDevice *device;
  const HassDeviceDataOps *ops;
} One;

static void
one_open (One *o, const FakePlan *plan, gint64 deadline_ns)
{
  fake_machine_begin (plan);
  CU_ASSERT_TRUE_FATAL (hass_gpus_count () > 0);
  *o = (One){ .farm = { .name = "one",
                        .kind = HASS_FARM_DATAFLOW,
                        .bundle_deadline_ns = deadline_ns },
              .device = hass_cuda_device_new (0) };
  o->ops = o->device->ops->data;
  CU_ASSERT_TRUE (o->device->ops->open (o->device, &o->farm, NULL));
}

static void
one_close (One *o)
{
  o->device->ops->close (o->device);
  fake_end_hang ();
  hass_cuda_device_free (o->device);
  fake_machine_end ();
}

static gpointer
one_alloc (One *o, gsize bytes)
{
  gpointer memory = NULL;
  CU_ASSERT_TRUE (o->ops->alloc (o->device, bytes, &memory, NULL));
  return memory;
}

static void
caps_memory (void)
{
  g_autoptr (GError) error = NULL;
  gpointer more = NULL;
  HassTransfers t;
  One o;
  g_setenv ("HASS_GPU_MEM", "1M", TRUE);
  one_open (&o, &(FakePlan){ 0 }, 0);
  CU_ASSERT_EQUAL (o.ops->capacity (o.device), 1 << 20);
  gpointer a = one_alloc (&o, 1000000);
  CU_ASSERT_FALSE (o.ops->alloc (o.device, 48577, &more, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY));
  gpointer b = one_alloc (&o, 48576);
  o.ops->free (o.device, a);
  a = one_alloc (&o, 1000000);
  CU_ASSERT_EQUAL (o.ops->capacity (o.device), 1 << 20);
  o.ops->free (o.device, a);
  o.ops->free (o.device, b);
  o.device->ops->transfers (o.device, &t);
  CU_ASSERT_EQUAL (t.peak_bytes, 1 << 20);
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_RELEASE], 0);
  one_close (&o);
  g_unsetenv ("HASS_GPU_MEM");
}

/* Those that a farm before has left. */
static void
takes_the_buffers_of_farms (void)
{
  One o;
  g_setenv ("HASS_GPU_MEM", "1M", TRUE);
  one_open (&o, &(FakePlan){ 0 }, 0);
  o.device->ops->close (o.device);
  HassGpu *gpu = hass_gpus_get (0);
  HassGpuKit *kit = hass_gpu_kit_take (gpu, NULL);
  CU_ASSERT_TRUE (hass_gpu_reserve (gpu, &kit->in, 1 << 19, 1 << 20, NULL));
  hass_gpu_kit_return (gpu, kit);
  CU_ASSERT_TRUE (o.device->ops->open (o.device, &o.farm, NULL));
  CU_ASSERT_EQUAL (o.ops->capacity (o.device), 1 << 20);
  one_close (&o);
  g_unsetenv ("HASS_GPU_MEM");
}

/* What a pool keeps after a dataflow is neither lost for the next one nor for
   farms. */
static void
keeps_what_was_freed (void)
{
  One o;
  one_open (&o, &(FakePlan){ .memory_bytes = 1 << 20 }, 0);
  HassGpu *gpu = hass_gpus_get (0);
  gsize before = o.ops->capacity (o.device);
  o.ops->free (o.device, one_alloc (&o, before));
  o.device->ops->close (o.device);
  CU_ASSERT_EQUAL (fake_cudart_counts ().pool_bytes[0], before);
  CU_ASSERT_TRUE (hass_gpu_ask_memory (gpu, NULL));
  CU_ASSERT_TRUE (o.device->ops->open (o.device, &o.farm, NULL));
  CU_ASSERT_EQUAL (o.ops->capacity (o.device), before);
  HassGpuBuffer buffer = { NULL, 0 };
  CU_ASSERT_TRUE (hass_gpu_reserve (gpu, &buffer, before, before, NULL));
  hass_gpu_release (gpu, &buffer);
  one_close (&o);
}

/* @gate: a kernel before the other one waits for it.
   @late: enqueue() returns after the device has failed. */
typedef struct
{
  gpointer memory;
  gboolean fails, late;
  guint delay_us;
  sem_t *gate;
  FakeKernel kernel;
  gpointer data;
} Work;

static void
wait_at_gate (const HassBundle *b, gpointer gate)
{
  (void)b;
  sem_wait (gate);
}

static gboolean
enqueue (HassGpuStream *stream, gpointer data, GError **error)
{
  Work *w = data;
  HassBundle b = { .n_blocks = 1, .output = w->memory, .output_bytes = 1 };
  if (w->delay_us > 0)
    fake_launch_delay (stream, w->delay_us);
  if (w->gate)
    fake_launch (stream, wait_at_gate, &b, w->gate);
  fake_launch (stream, w->kernel ? w->kernel : add, &b, w->data);
  while (w->late && fake_cudart_counts ().faults == 0)
    g_thread_yield ();
  if (w->fails)
    g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "no");
  return !w->fails;
}

static void
drains_what_was_enqueued (void)
{
  g_autoptr (GError) error = NULL;
  HassDataDone done;
  One o;
  one_open (&o, &(FakePlan){ 0 }, 0);
  Work w = { .memory = one_alloc (&o, 1), .fails = TRUE, .delay_us = 20000 };
  CU_ASSERT_FALSE (o.ops->compute (o.device, 1, enqueue, &w, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_WORKER));
  CU_ASSERT_EQUAL (fake_cudart_counts ().kernels, 2);
  CU_ASSERT_FALSE (o.ops->wait (o.device, WAIT_NS, &done, NULL));
  o.ops->free (o.device, w.memory);
  one_close (&o);
}

static void
meet (const HassBundle *b, gpointer data)
{
  sem_t *sems = data;
  (void)b;
  sem_post (&sems[0]);
  sem_wait (&sems[1]);
}

static void
meet_other (const HassBundle *b, gpointer data)
{
  sem_t *sems = data;
  (void)b;
  sem_post (&sems[1]);
  sem_wait (&sems[0]);
}

/* Each kernel waits for the other one. */
static void
kernels_overlap (void)
{
  HassDataDone done;
  sem_t sems[2];
  One o;
  sem_init (&sems[0], 0, 0);
  sem_init (&sems[1], 0, 0);
  one_open (&o, &(FakePlan){ 0 }, 0);
  gpointer memory = one_alloc (&o, 1);
  Work a = { .memory = memory, .kernel = meet, .data = sems };
  Work b = { .memory = memory, .kernel = meet_other, .data = sems };
  CU_ASSERT_TRUE (o.ops->compute (o.device, 1, enqueue, &a, NULL));
  CU_ASSERT_TRUE (o.ops->compute (o.device, 2, enqueue, &b, NULL));
  CU_ASSERT_TRUE (o.ops->wait (o.device, WAIT_NS, &done, NULL));
  CU_ASSERT_TRUE (o.ops->wait (o.device, WAIT_NS, &done, NULL));
  o.ops->free (o.device, memory);
  one_close (&o);
}

static void
one_run (One *o, Work *w)
{
  HassDataDone done = { 0 };
  CU_ASSERT_TRUE (o->ops->compute (o->device, 77, enqueue, w, NULL));
  CU_ASSERT_TRUE (o->ops->wait (o->device, WAIT_NS, &done, NULL));
  CU_ASSERT_EQUAL (done.ticket, 77);
  CU_ASSERT_FALSE (done.failed);
}

/* A computation is in flight until its kernels have ended. */
static void
ends_with_its_kernels (void)
{
  HassDataDone done = { 0 };
  sem_t gate;
  One o;
  sem_init (&gate, 0, 0);
  one_open (&o, &(FakePlan){ 0 }, 0);
  Work w = { .memory = one_alloc (&o, 1), .gate = &gate };
  CU_ASSERT_TRUE (o.ops->compute (o.device, 77, enqueue, &w, NULL));
  CU_ASSERT_FALSE (o.ops->wait (o.device, 100000, &done, NULL));
  sem_post (&gate);
  CU_ASSERT_TRUE (o.ops->wait (o.device, WAIT_NS, &done, NULL));
  CU_ASSERT_EQUAL (done.ticket, 77);
  CU_ASSERT_FALSE (done.failed);
  o.ops->free (o.device, w.memory);
  one_close (&o);
  sem_destroy (&gate);
}

/* Each call of the runtime takes the proxy some microseconds. */
static void
takes_few_calls (void)
{
  One o;
  one_open (&o, &(FakePlan){ 0 }, 0);
  Work w = { .memory = one_alloc (&o, 1000), .data = GUINT_TO_POINTER (1) };
  one_run (&o, &w); /* its stream waits for the allocation */
  FakeCounts before = fake_cudart_counts ();
  for (guint i = 0; i < 10; i++)
    one_run (&o, &w);
  FakeCounts after = fake_cudart_counts ();
  CU_ASSERT_EQUAL (
      after.calls[FAKE_EVENT_RECORD] - before.calls[FAKE_EVENT_RECORD], 10);
  CU_ASSERT_EQUAL (after.calls[FAKE_STREAM_WAIT],
                   before.calls[FAKE_STREAM_WAIT]);
  CU_ASSERT_EQUAL (after.calls[FAKE_EVENT_ELAPSED],
                   before.calls[FAKE_EVENT_ELAPSED]);
  gpointer more = one_alloc (&o, 1000);
  one_run (&o, &w);
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_STREAM_WAIT],
                   before.calls[FAKE_STREAM_WAIT] + 1);
  o.ops->free (o.device, more);
  o.ops->free (o.device, w.memory);
  one_close (&o);
}

/* wait() reports the loss; after it only close() works. */
static void
told_of_loss (One *o, const char *text)
{
  g_autoptr (GError) error = NULL, again = NULL, later = NULL;
  HassDataDone done;
  gpointer memory;
  CU_ASSERT_FALSE (o->ops->wait (o->device, WAIT_NS, &done, &error));
  CU_ASSERT_TRUE (error && strstr (error->message, text));
  if (error && !strstr (error->message, text))
    printf ("\n%s\n", error->message);
  CU_ASSERT_FALSE (o->ops->alloc (o->device, 10, &memory, &again));
  CU_ASSERT_TRUE (g_error_matches (again, HASS_ERROR, HASS_ERROR_DEVICE));
  o->device->ops->close (o->device);
  CU_ASSERT_FALSE (o->device->ops->open (o->device, &o->farm, &later));
  CU_ASSERT_PTR_NOT_NULL (later);
}

static void
an_assert_loses_it (void)
{
  sem_t gate;
  One o;
  sem_init (&gate, 0, 0);
  one_open (&o, &(FakePlan){ .sticky_at_kernel = 2 }, 0);
  Work w = { .memory = one_alloc (&o, 1000), .gate = &gate };
  CU_ASSERT_TRUE (o.ops->compute (o.device, 1, enqueue, &w, NULL));
  sem_post (&gate);
  told_of_loss (&o, "assert");
  one_close (&o);
}

static void
an_early_assert_loses_it (void)
{
  g_autoptr (GError) error = NULL;
  One o;
  one_open (&o, &(FakePlan){ .sticky_at_kernel = 1 }, 0);
  Work w = { .memory = one_alloc (&o, 1000), .late = TRUE };
  CU_ASSERT_FALSE (o.ops->compute (o.device, 1, enqueue, &w, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
  told_of_loss (&o, "assert");
  one_close (&o);
}

/* With no operation in flight. */
static void
a_broken_call_loses_it (void)
{
  g_autoptr (GError) error = NULL;
  HassDataDone done;
  gpointer memory;
  One o;
  one_open (&o, &(FakePlan){ 0 }, 0);
  fake_cudart_plan (&(FakePlan){ .sticky_at_call = 1 });
  CU_ASSERT_FALSE (o.ops->alloc (o.device, 10, &memory, NULL));
  CU_ASSERT_FALSE (o.ops->wait (o.device, 0, &done, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
  one_close (&o);
}

static void
a_hang_loses_it (void)
{
  One o;
  one_open (&o, &(FakePlan){ .hang_kernel_at = 1, .hang_ms = 600000 },
            20000000);
  Work w = { .memory = one_alloc (&o, 1000) };
  CU_ASSERT_TRUE (o.ops->compute (o.device, 1, enqueue, &w, NULL));
  told_of_loss (&o, "took longer than 20 ms");
  one_close (&o);
}

HASS_TEST_SUITE (
    cuda_data,
    { "random operations on one and two GPUs bring each byte where it belongs",
      random_operations },
    { "with faults of the runtime what a GPU does not lose is right",
      random_faults },
    { "HASS_GPU_MEM caps the memory of data", caps_memory },
    { "data get the memory that buffers of farms have left",
      takes_the_buffers_of_farms },
    { "memory of data that were freed is kept, and counts as free",
      keeps_what_was_freed },
    { "a computation that is refused leaves nothing running",
      drains_what_was_enqueued },
    { "kernels of two computations overlap", kernels_overlap },
    { "a computation ends when its kernels have", ends_with_its_kernels },
    { "a computation takes one call of the runtime beside launch and looks",
      takes_few_calls },
    { "a failed device assert loses the GPU", an_assert_loses_it },
    { "a device assert that fails before compute() returns loses it, too",
      an_early_assert_loses_it },
    { "a call that breaks the process loses the GPU", a_broken_call_loses_it },
    { "a kernel past its deadline loses the GPU", a_hang_loses_it })
