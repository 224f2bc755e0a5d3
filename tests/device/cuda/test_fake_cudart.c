/* SPDX-License-Identifier: MIT */
/* test_fake_cudart.c: the stand-in for the CUDA runtime keeps CUDA's rules
   and fails when told to.
   Thread safety: one thread, beside the stand-in's own. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/device/fake_cudart.h"
#include "hass/error.h"
#include "hass_test.h"

#define N 64

static const HassBundle nothing;

static const HassCudart *
install (const FakePlan *plan)
{
  fake_cudart_install (plan);
  return hass_cudart ();
}

/* Removes the stand-in: nothing was wrong, nothing leaked. */
static void
clean (void)
{
  FakeCounts c = fake_cudart_remove ();
  CU_ASSERT_STRING_EQUAL (c.wrong, "");
  CU_ASSERT_STRING_EQUAL (c.leaks, "");
}

/* Removes it: this was wrong. */
static void
wrong (const char *text)
{
  FakeCounts c = fake_cudart_remove ();
  CU_ASSERT_PTR_NOT_NULL (strstr (c.wrong, text));
  if (!strstr (c.wrong, text))
    printf ("\n    wrong: \"%s\"", c.wrong);
}

/* A stream, an event and N bytes on a device and pinned. */
typedef struct
{
  const HassCudart *cuda;
  gpointer stream, event;
  guint8 *device, *pinned;
  sem_t gate;
} Kit;

static void
kit_init (Kit *k, const FakePlan *plan)
{
  k->cuda = install (plan);
  CU_ASSERT_EQUAL (k->cuda->stream_new (&k->stream), 0);
  CU_ASSERT_EQUAL (k->cuda->event_new (&k->event), 0);
  CU_ASSERT_EQUAL (k->cuda->allocate ((gpointer *)&k->device, N), 0);
  CU_ASSERT_EQUAL (k->cuda->allocate_host ((gpointer *)&k->pinned, N), 0);
  sem_init (&k->gate, 0, 0);
}

static void
kit_clear (Kit *k)
{
  k->cuda->stream_free (k->stream);
  k->cuda->event_free (k->event);
  k->cuda->release (k->device);
  k->cuda->release_host (k->pinned);
  clean ();
  sem_destroy (&k->gate);
}

static void
pass_gate (const HassBundle *bundle, gpointer data)
{
  (void)bundle;
  sem_wait (data);
}

/* The stream stands still until the gate is posted. */
static void
close_gate (Kit *k)
{
  fake_launch (k->stream, pass_gate, &nothing, &k->gate);
}

static int
copy_in (Kit *k, gconstpointer from)
{
  return k->cuda->copy (k->device, from, N, HASS_CUDA_TO_DEVICE, k->stream);
}

static int
copy_out (Kit *k, gpointer to)
{
  return k->cuda->copy (to, k->device, N, HASS_CUDA_TO_HOST, k->stream);
}

static int
finish (Kit *k)
{
  int code = k->cuda->event_record (k->event, k->stream);
  return code ? code : k->cuda->event_wait (k->event);
}

/* -- Streams ------------------------------------------------------------ */

static void
add_one (const HassBundle *bundle, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < bundle->input_bytes; i++)
    bundle->output[i] = bundle->input[i] + 1;
}

static void
in_order (void)
{
  Kit k;
  kit_init (&k, &(FakePlan){ .copy_delay_us = 100 });
  HassBundle b = {
    .input = k.device, .input_bytes = N, .output = k.device, .output_bytes = N
  };
  close_gate (&k);
  memset (k.pinned, 1, N);
  copy_in (&k, k.pinned);
  for (int i = 0; i < 5; i++)
    fake_launch (k.stream, add_one, &b, NULL);
  copy_out (&k, k.pinned);
  k.cuda->event_record (k.event, k.stream);
  CU_ASSERT_EQUAL (k.cuda->event_query (k.event), FAKE_NOT_READY);
  CU_ASSERT_EQUAL (k.pinned[0], 1);
  sem_post (&k.gate);
  CU_ASSERT_EQUAL (k.cuda->event_wait (k.event), 0);
  CU_ASSERT_EQUAL (k.pinned[0], 6);
  CU_ASSERT_EQUAL (k.pinned[N - 1], 6);
  CU_ASSERT_EQUAL (fake_cudart_counts ().bytes_to_device, N);
  CU_ASSERT_EQUAL (fake_cudart_counts ().bytes_to_host, N);
  CU_ASSERT_EQUAL (fake_cudart_counts ().pageable_copies, 0);
  kit_clear (&k);
}

static void
waits_for_other (void)
{
  Kit k;
  gpointer other;
  kit_init (&k, &(FakePlan){ 0 });
  k.cuda->stream_new (&other);
  memset (k.pinned, 7, N);
  close_gate (&k);
  copy_in (&k, k.pinned);
  k.cuda->event_record (k.event, k.stream);
  k.cuda->stream_wait (other, k.event);
  guint8 *back;
  k.cuda->allocate_host ((gpointer *)&back, N);
  memset (back, 0, N);
  k.cuda->copy (back, k.device, N, HASS_CUDA_TO_HOST, other);
  /* The wait is for what was recorded when it was asked for. */
  close_gate (&k);
  k.cuda->event_record (k.event, k.stream);
  gpointer done;
  k.cuda->event_new (&done);
  k.cuda->event_record (done, other);
  CU_ASSERT_EQUAL (k.cuda->event_query (done), FAKE_NOT_READY);
  sem_post (&k.gate);
  CU_ASSERT_EQUAL (k.cuda->event_wait (done), 0);
  CU_ASSERT_EQUAL (back[0], 7);
  CU_ASSERT_EQUAL (k.cuda->event_query (k.event), FAKE_NOT_READY);
  sem_post (&k.gate);
  k.cuda->release_host (back);
  k.cuda->event_free (done);
  k.cuda->stream_free (other);
  kit_clear (&k);
}

static void
snapshots (void)
{
  Kit k;
  guint8 ordinary[N];
  kit_init (&k, &(FakePlan){ 0 });
  close_gate (&k);
  memset (ordinary, 1, N);
  copy_in (&k, ordinary);
  memset (ordinary, 2, N);
  k.cuda->copy (k.device, k.pinned, 1, HASS_CUDA_TO_DEVICE, k.stream);
  k.pinned[0] = 3;
  sem_post (&k.gate);
  CU_ASSERT_EQUAL (copy_out (&k, ordinary), 0);
  /* A copy to pageable memory has ended when the call returns. */
  CU_ASSERT_EQUAL (ordinary[0], 3);
  CU_ASSERT_EQUAL (ordinary[1], 1);
  CU_ASSERT_EQUAL (fake_cudart_counts ().pageable_copies, 2);
  kit_clear (&k);
}

static void
rows (void)
{
  Kit k;
  kit_init (&k, &(FakePlan){ 0 });
  k.cuda->clear (k.device, N, k.stream);
  for (guint i = 0; i < N; i++)
    k.pinned[i] = i;
  /* 3 rows of 2 bytes, 10 apart, one after another. */
  k.cuda->copy_rows (k.device, 2, k.pinned + 4, 10, 2, 3, HASS_CUDA_TO_DEVICE,
                     k.stream);
  CU_ASSERT_EQUAL (finish (&k), 0);
  copy_out (&k, k.pinned);
  CU_ASSERT_EQUAL (finish (&k), 0);
  CU_ASSERT_EQUAL (memcmp (k.pinned, "\4\5\16\17\30\31\0\0", 8), 0);
  kit_clear (&k);
}

static void
timed (void)
{
  Kit k;
  gpointer end;
  float ms = -1;
  kit_init (&k, &(FakePlan){ 0 });
  k.cuda->event_new (&end);
  CU_ASSERT_EQUAL (k.cuda->event_query (end), 0);
  CU_ASSERT_EQUAL (k.cuda->event_wait (end), 0);
  k.cuda->event_record (k.event, k.stream);
  fake_launch_delay (k.stream, 2000);
  close_gate (&k);
  k.cuda->event_record (end, k.stream);
  CU_ASSERT_EQUAL (k.cuda->event_elapsed (&ms, k.event, end), FAKE_NOT_READY);
  sem_post (&k.gate);
  k.cuda->event_wait (end);
  CU_ASSERT_EQUAL (k.cuda->event_elapsed (&ms, k.event, end), 0);
  CU_ASSERT_TRUE (ms >= 1.9F);
  k.cuda->event_free (end);
  kit_clear (&k);
}

static void
append_three (const HassBundle *bundle, gpointer data)
{
  for (guint i = 0; i < 3; i++)
    fake_append (bundle, i, (const guint32 *)data + i);
}

static void
records (void)
{
  Kit k;
  guint32 three[] = { 10, 11, 12 };
  kit_init (&k, &(FakePlan){ 0 });
  HassBundle b = { .records = k.device,
                   .record_bytes = sizeof (guint32),
                   .record_capacity = 2,
                   .record_blocks = (guint32 *)(k.device + 16),
                   .n_records = (guint64 *)(k.device + 32) };
  k.cuda->clear (k.device, N, k.stream);
  fake_launch (k.stream, append_three, &b, three);
  copy_out (&k, k.pinned);
  CU_ASSERT_EQUAL (finish (&k), 0);
  guint32 *back = (guint32 *)k.pinned;
  CU_ASSERT_EQUAL (back[0], 10);
  CU_ASSERT_EQUAL (back[1], 11);
  CU_ASSERT_EQUAL (back[2], 0);
  CU_ASSERT_EQUAL (back[5], 1);
  CU_ASSERT_EQUAL (*(guint64 *)(k.pinned + 32), 3);
  kit_clear (&k);
}

/* -- Errors ------------------------------------------------------------- */

static void
call_once (FakeCall call, Kit *k, int *code)
{
  const HassCudart *cuda = k->cuda;
  gpointer p = NULL;
  gsize a, b;
  float ms;
  HassCudaProperties props;
  int n;
  switch (call)
    {
    case FAKE_DEVICE_COUNT:
      *code = cuda->device_count (&n);
      break;
    case FAKE_PROPERTIES:
      *code = cuda->properties (0, &props);
      break;
    case FAKE_SET_DEVICE:
      *code = cuda->set_device (0);
      break;
    case FAKE_MEMORY_INFO:
      *code = cuda->memory_info (&a, &b);
      break;
    case FAKE_ALLOCATE:
      *code = cuda->allocate (&p, 5);
      cuda->release (p);
      break;
    case FAKE_RELEASE:
      cuda->allocate (&p, 5);
      *code = cuda->release (p);
      break;
    case FAKE_ALLOCATE_HOST:
      *code = cuda->allocate_host (&p, 5);
      cuda->release_host (p);
      break;
    case FAKE_RELEASE_HOST:
      cuda->allocate_host (&p, 5);
      *code = cuda->release_host (p);
      break;
    case FAKE_REGISTER:
    case FAKE_UNREGISTER:
      p = k; /* any memory */
      n = cuda->register_host (p, sizeof *k);
      *code = call == FAKE_REGISTER ? n : 0;
      if (n == 0)
        n = cuda->unregister_host (p);
      if (call == FAKE_UNREGISTER)
        *code = n;
      break;
    case FAKE_STREAM_NEW:
    case FAKE_STREAM_FREE:
      n = cuda->stream_new (&p);
      *code = call == FAKE_STREAM_NEW ? n : 0;
      if (n == 0)
        n = cuda->stream_free (p);
      if (call == FAKE_STREAM_FREE)
        *code = n;
      break;
    case FAKE_STREAM_WAIT:
      *code = cuda->stream_wait (k->stream, k->event);
      break;
    case FAKE_EVENT_NEW:
    case FAKE_EVENT_FREE:
      n = cuda->event_new (&p);
      *code = call == FAKE_EVENT_NEW ? n : 0;
      if (n == 0)
        n = cuda->event_free (p);
      if (call == FAKE_EVENT_FREE)
        *code = n;
      break;
    case FAKE_EVENT_RECORD:
      *code = cuda->event_record (k->event, k->stream);
      break;
    case FAKE_EVENT_QUERY:
      finish (k);
      *code = cuda->event_query (k->event);
      break;
    case FAKE_EVENT_WAIT:
      *code = cuda->event_wait (k->event);
      break;
    case FAKE_EVENT_ELAPSED:
      finish (k);
      *code = cuda->event_elapsed (&ms, k->event, k->event);
      break;
    case FAKE_COPY:
      *code = copy_in (k, k->pinned);
      break;
    case FAKE_COPY_ROWS:
      *code = cuda->copy_rows (k->device, 2, k->pinned, 10, 2, 3,
                               HASS_CUDA_TO_DEVICE, k->stream);
      break;
    case FAKE_CLEAR:
      *code = cuda->clear (k->device, N, k->stream);
      break;
    default:
      fake_launch_delay (k->stream, 0);
      *code = cuda->last_error ();
    }
}

static void
planned (void)
{
  for (guint call = 0; call < FAKE_N_CALLS; call++)
    {
      Kit k;
      int code;
      FakePlan plan = { 0 };
      plan.fail_at[call] = 3;
      kit_init (&k, &(FakePlan){ 0 });
      fake_cudart_plan (&plan);
      for (guint i = 1; i <= 4; i++)
        {
          call_once (call, &k, &code);
          CU_ASSERT_EQUAL (code != 0, i == 3);
          HassCudaKind kind = k.cuda->classify (code);
          CU_ASSERT_EQUAL (
              kind == HASS_CUDA_LOCAL || kind == HASS_CUDA_NO_MEMORY, i == 3);
          if ((code != 0) != (i == 3))
            printf ("\n    %s, call %u: %s", fake_call_name (call), i,
                    k.cuda->text (code));
          k.cuda->last_error ();
        }
      CU_ASSERT_EQUAL (fake_cudart_counts ().faults, 1);
      kit_clear (&k);
    }
}

static void *
sees_no_error (void *cuda)
{
  return GINT_TO_POINTER (((const HassCudart *)cuda)->last_error ());
}

static void
last_error_of_thread (void)
{
  Kit k;
  gpointer seen, p;
  pthread_t thread;
  g_autoptr (GError) error = NULL;
  kit_init (&k, &(FakePlan){ .memory_bytes = 2 * N });
  CU_ASSERT_EQUAL (k.cuda->allocate (&p, 2 * N), FAKE_NO_MEMORY);
  pthread_create (&thread, NULL, sees_no_error, (gpointer)k.cuda);
  pthread_join (thread, &seen);
  CU_ASSERT_PTR_NULL (seen);
  /* Nobody took it: the next GPU worker does. */
  CU_ASSERT_EQUAL (finish (&k), 0);
  CU_ASSERT_FALSE (fake_check ("kernel", &error));
  CU_ASSERT_STRING_EQUAL (error->message, "kernel: out of memory");
  CU_ASSERT_TRUE (fake_check ("kernel", NULL));
  close_gate (&k);
  k.cuda->event_record (k.event, k.stream);
  k.cuda->event_query (k.event);
  CU_ASSERT_EQUAL (k.cuda->last_error (), FAKE_NOT_READY);
  sem_post (&k.gate);
  kit_clear (&k);
}

static void
failed_copy (void)
{
  Kit k;
  gpointer other, joined;
  kit_init (&k, &(FakePlan){ .fail_copy_at = 2 });
  k.cuda->stream_new (&other);
  k.cuda->event_new (&joined);
  memset (k.pinned, 1, N);
  copy_in (&k, k.pinned);
  CU_ASSERT_EQUAL (finish (&k), 0);
  CU_ASSERT_EQUAL (copy_out (&k, k.pinned), 0); /* fails when executed */
  k.cuda->clear (k.device, N, k.stream);        /* skipped */
  k.cuda->event_record (k.event, k.stream);
  k.cuda->stream_wait (other, k.event);
  k.cuda->event_record (joined, other);
  CU_ASSERT_EQUAL (k.cuda->event_wait (joined), FAKE_NOT_SUPPORTED);
  CU_ASSERT_EQUAL (k.cuda->event_query (k.event), FAKE_NOT_SUPPORTED);
  memset (k.pinned, 2, N);
  CU_ASSERT_EQUAL (copy_out (&k, k.pinned), 0);
  CU_ASSERT_EQUAL (finish (&k), 0);
  CU_ASSERT_EQUAL (k.pinned[0], 1);
  k.cuda->event_record (joined, other);
  CU_ASSERT_EQUAL (k.cuda->event_wait (joined), 0);
  k.cuda->event_free (joined);
  k.cuda->stream_free (other);
  kit_clear (&k);
}

static void
sticky (void)
{
  Kit k;
  gpointer p;
  gsize a, b;
  kit_init (&k, &(FakePlan){ .n_devices = 2 });
  memset (k.pinned, 1, N);
  fake_launch_assert (k.stream);
  copy_out (&k, k.pinned);
  CU_ASSERT_EQUAL (finish (&k), FAKE_ASSERT);
  CU_ASSERT_EQUAL (k.pinned[0], 1);
  CU_ASSERT_EQUAL (k.cuda->last_error (), FAKE_ASSERT);
  CU_ASSERT_EQUAL (k.cuda->last_error (), FAKE_ASSERT);
  CU_ASSERT_EQUAL (k.cuda->set_device (1), FAKE_ASSERT);
  CU_ASSERT_EQUAL (k.cuda->memory_info (&a, &b), FAKE_ASSERT);
  CU_ASSERT_EQUAL (k.cuda->allocate_host (&p, 1), FAKE_ASSERT);
  CU_ASSERT_EQUAL (k.cuda->event_query (k.event), FAKE_ASSERT);
  CU_ASSERT_EQUAL (k.cuda->classify (FAKE_ASSERT), HASS_CUDA_STICKY);
  kit_clear (&k);
}

/* Who is told of an error may give the memory to others. */
static void
copies_end_before_errors (void)
{
  static const FakePlan plans[]
      = { { .sticky_at_call = 2 }, { .gone_at_call = 2 } };
  for (guint i = 0; i <= G_N_ELEMENTS (plans); i++)
    {
      Kit k;
      gpointer other;
      kit_init (&k, &(FakePlan){ .copy_delay_us = 100000 });
      CU_ASSERT_EQUAL_FATAL (k.cuda->stream_new (&other), 0);
      memset (k.pinned, 1, N);
      copy_out (&k, k.pinned);
      usleep (20000); /* it has begun */
      if (i < G_N_ELEMENTS (plans))
        fake_cudart_plan (&plans[i]);
      else
        fake_launch_assert (other);
      while (k.cuda->set_device (0) == 0)
        usleep (100);
      g_autofree guint8 *then = g_memdup2 (k.pinned, N);
      usleep (120000);
      CU_ASSERT_EQUAL (memcmp (then, k.pinned, N), 0);
      k.cuda->stream_free (other);
      kit_clear (&k);
    }
}

static void
sticky_by_plan (void)
{
  Kit k;
  kit_init (&k, &(FakePlan){ .sticky_at_kernel = 2 });
  fake_launch_delay (k.stream, 0);
  CU_ASSERT_EQUAL (finish (&k), 0);
  fake_launch_delay (k.stream, 0);
  CU_ASSERT_EQUAL (finish (&k), FAKE_ASSERT);
  kit_clear (&k);
  kit_init (&k, &(FakePlan){ .sticky_at_call = 6 });
  CU_ASSERT_EQUAL (k.cuda->set_device (0), 0);
  CU_ASSERT_EQUAL (k.cuda->set_device (0), FAKE_ASSERT);
  CU_ASSERT_EQUAL (k.cuda->event_wait (k.event), FAKE_ASSERT);
  kit_clear (&k);
}

static void
gone (void)
{
  Kit k;
  gpointer p;
  kit_init (&k, &(FakePlan){ .n_devices = 2 });
  close_gate (&k);
  k.cuda->event_record (k.event, k.stream);
  fake_cudart_plan (&(FakePlan){ .gone_at_call = 1 });
  CU_ASSERT_EQUAL (k.cuda->event_wait (k.event), FAKE_GONE);
  CU_ASSERT_EQUAL (k.cuda->allocate (&p, 1), FAKE_GONE);
  CU_ASSERT_EQUAL (k.cuda->set_device (1), 0);
  CU_ASSERT_EQUAL (k.cuda->allocate (&p, 1), 0);
  CU_ASSERT_EQUAL (k.cuda->release (p), 0);
  k.cuda->last_error ();
  sem_post (&k.gate);
  kit_clear (&k);
}

static void
hangs (void)
{
  Kit k;
  kit_init (&k, &(FakePlan){ .hang_kernel_at = 1, .hang_ms = 60000 });
  fake_launch_delay (k.stream, 0);
  k.cuda->event_record (k.event, k.stream);
  while (!fake_hanging ())
    usleep (100);
  CU_ASSERT_EQUAL (k.cuda->event_query (k.event), FAKE_NOT_READY);
  fake_end_hang ();
  CU_ASSERT_EQUAL (k.cuda->event_wait (k.event), 0);
  kit_clear (&k);
  /* Nobody need end it. */
  kit_init (&k, &(FakePlan){ .hang_kernel_at = 1, .hang_ms = 60000 });
  fake_launch_delay (k.stream, 0);
  while (!fake_hanging ())
    usleep (100);
  k.cuda->stream_free (k.stream);
  k.cuda->event_free (k.event);
  FakeCounts c = fake_cudart_remove ();
  CU_ASSERT_STRING_EQUAL (c.leaks, "1 device allocations 1 host allocations");
  sem_destroy (&k.gate);
}

static void
absent (void)
{
  static const int codes[] = { FAKE_NO_DRIVER, FAKE_NO_DEVICE };
  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    {
      int n = 9;
      const HassCudart *cuda
          = install (&(FakePlan){ .device_count_code = codes[i] });
      CU_ASSERT_EQUAL (cuda->device_count (&n), codes[i]);
      CU_ASSERT_EQUAL (n, 0);
      clean ();
    }
}

/* -- Memory ------------------------------------------------------------- */

static void
limited (void)
{
  gpointer a, b, c;
  gsize free_bytes, total;
  const HassCudart *cuda = install (&(FakePlan){
      .memory_bytes = 1000, .foreign_bytes = 100, .n_devices = 2 });
  CU_ASSERT_EQUAL (cuda->allocate (&a, 600), 0);
  CU_ASSERT_EQUAL (cuda->memory_info (&free_bytes, &total), 0);
  CU_ASSERT_EQUAL (free_bytes, 300);
  CU_ASSERT_EQUAL (total, 1000);
  CU_ASSERT_EQUAL (cuda->allocate (&b, 301), FAKE_NO_MEMORY);
  CU_ASSERT_EQUAL (cuda->last_error (), FAKE_NO_MEMORY);
  CU_ASSERT_EQUAL (cuda->allocate (&b, 300), 0);
  cuda->set_device (1);
  CU_ASSERT_EQUAL (cuda->allocate (&c, 900), 0);
  cuda->release (a);
  cuda->set_device (0);
  CU_ASSERT_EQUAL (cuda->allocate (&a, 600), 0);
  cuda->release (a);
  cuda->release (b);
  cuda->release (c);
  CU_ASSERT_EQUAL (fake_cudart_counts ().most_bytes[0], 900);
  CU_ASSERT_EQUAL (fake_cudart_counts ().live_bytes[1], 0);
  clean ();
  cuda = install (&(FakePlan){ .fail_above_bytes = 10 });
  CU_ASSERT_EQUAL (cuda->allocate (&a, 11), FAKE_NO_MEMORY);
  CU_ASSERT_EQUAL (cuda->allocate (&a, 10), 0);
  cuda->release (a);
  clean ();
}

static void
device_of_thread (void)
{
  gpointer p;
  const HassCudart *cuda = install (&(FakePlan){ .n_devices = 2 });
  CU_ASSERT_EQUAL (fake_current_device (), 0);
  cuda->set_device (1);
  cuda->allocate (&p, 10);
  CU_ASSERT_EQUAL (fake_current_device (), 1);
  CU_ASSERT_EQUAL (fake_cudart_counts ().live_bytes[1], 10);
  cuda->release (p);
  clean ();
  install (&(FakePlan){ .n_devices = 2 });
  CU_ASSERT_EQUAL (fake_current_device (), 0);
  clean ();
}

static void
pinned_pages (void)
{
  Kit k;
  guint8 *pages = NULL;
  kit_init (&k, &(FakePlan){ 0 });
  CU_ASSERT_EQUAL (posix_memalign ((void **)&pages, 4096, 8192), 0);
  CU_ASSERT_EQUAL (k.cuda->register_host (pages, 100), 0);
  CU_ASSERT_EQUAL (k.cuda->register_host (pages + 200, 10), FAKE_REGISTERED);
  CU_ASSERT_EQUAL (k.cuda->register_host (pages + 4096, 10), 0);
  CU_ASSERT_EQUAL (copy_in (&k, pages), 0);
  CU_ASSERT_EQUAL (finish (&k), 0);
  CU_ASSERT_EQUAL (fake_cudart_counts ().pageable_copies, 0);
  CU_ASSERT_EQUAL (k.cuda->unregister_host (pages), 0);
  CU_ASSERT_EQUAL (copy_in (&k, pages), 0);
  CU_ASSERT_EQUAL (finish (&k), 0);
  CU_ASSERT_EQUAL (fake_cudart_counts ().pageable_copies, 1);
  CU_ASSERT_EQUAL (k.cuda->unregister_host (pages + 4096), 0);
  k.cuda->last_error ();
  free (pages);
  kit_clear (&k);
}

static void
waits_to_release (void)
{
  Kit k;
  gpointer p;
  kit_init (&k, &(FakePlan){ .kernel_delay_us = 3000 });
  k.cuda->allocate (&p, 1);
  fake_launch_delay (k.stream, 0);
  k.cuda->event_record (k.event, k.stream);
  k.cuda->release (p);
  CU_ASSERT_EQUAL (k.cuda->event_query (k.event), 0);
  CU_ASSERT_EQUAL (fake_cudart_counts ().waits_in_release, 1);
  kit_clear (&k);
}

static void
leaks (void)
{
  gpointer p;
  const HassCudart *cuda = install (&(FakePlan){ 0 });
  cuda->allocate (&p, 1);
  cuda->allocate_host (&p, 1);
  cuda->stream_new (&p);
  cuda->event_new (&p);
  cuda->event_new (&p);
  FakeCounts c = fake_cudart_remove ();
  CU_ASSERT_STRING_EQUAL (
      c.leaks, "1 device allocations 1 host allocations 1 streams 2 events");
}

static void
misuse (void)
{
  Kit k;
  guint8 ordinary[N];
  static const char *const texts[] = { "are not on device 0",
                                       "no host memory",
                                       "only a part of the",
                                       "which is no device memory",
                                       "not of allocate_host",
                                       "which is not registered",
                                       "a freed stream",
                                       "the default or no stream",
                                       "recorded in a stream of 0",
                                       "a bundle's input",
                                       "while it is copied",
                                       "present is 1",
                                       "elapsed of events",
                                       "a freed event",
                                       "there is no device 2",
                                       "a pitch below" };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      gpointer p = NULL;
      float ms;
      HassBundle b = { 0 };
      kit_init (&k, &(FakePlan){ .n_devices = 2 });
      const HassCudart *cuda = k.cuda;
      switch (i)
        {
        case 0:
          cuda->copy (k.device + 1, k.pinned, N, HASS_CUDA_TO_DEVICE, k.stream);
          break;
        case 1:
          cuda->copy (k.device, k.device, N, HASS_CUDA_TO_DEVICE, k.stream);
          break;
        case 2:
          cuda->copy (k.device, k.pinned + 1, N, HASS_CUDA_TO_DEVICE, k.stream);
          break;
        case 3:
          cuda->release (k.device + 1);
          break;
        case 4:
          cuda->release_host (ordinary);
          break;
        case 5:
          cuda->unregister_host (ordinary);
          break;
        case 6:
          cuda->stream_new (&p);
          cuda->stream_free (p);
          cuda->clear (k.device, N, p);
          break;
        case 7:
          cuda->clear (k.device, N, NULL);
          break;
        case 8:
          cuda->set_device (1);
          cuda->event_new (&p);
          cuda->event_record (p, k.stream);
          break;
        case 9:
          b.input = k.device;
          b.input_bytes = N + 1;
          fake_launch (k.stream, add_one, &b, NULL);
          CU_ASSERT_EQUAL (finish (&k), FAKE_ILLEGAL_ADDRESS);
          break;
        case 10:
          cuda->register_host (ordinary, N);
          close_gate (&k);
          copy_in (&k, ordinary);
          cuda->unregister_host (ordinary);
          sem_post (&k.gate);
          break;
        case 11:
          cuda->set_device (1);
          fake_launch_delay (k.stream, 0);
          break;
        case 12:
          cuda->event_elapsed (&ms, k.event, k.event);
          break;
        case 13:
          cuda->event_new (&p);
          cuda->event_free (p);
          cuda->event_wait (p);
          break;
        case 14:
          cuda->set_device (2);
          break;
        default:
          cuda->copy_rows (k.device, 1, k.pinned, 10, 2, 3, HASS_CUDA_TO_DEVICE,
                           k.stream);
        }
      wrong (texts[i]);
      sem_destroy (&k.gate);
    }
}

HASS_TEST_SUITE (
    fake_cudart, { "a stream does its work in order and later", in_order },
    { "a stream waits for another's event as it was recorded",
      waits_for_other },
    { "pageable memory is read at the call, pinned memory later", snapshots },
    { "rows are copied with their pitches", rows },
    { "events are timed when they come to pass", timed },
    { "records past the capacity are counted but not kept", records },
    { "each call fails when planned, and only then", planned },
    { "the last error is the thread's and stays until it is taken",
      last_error_of_thread },
    { "a copy that fails is told once, and what was behind it is skipped",
      failed_copy },
    { "a device assert fails every later call on every device", sticky },
    { "copies end before a sticky error is told", copies_end_before_errors },
    { "asserts come at the planned kernel or call", sticky_by_plan },
    { "a device that is gone leaves the other", gone },
    { "a kernel hangs until it is let go", hangs },
    { "without a driver there are no devices", absent },
    { "a device has so much memory and no more", limited },
    { "the present device is the thread's", device_of_thread },
    { "pages are pinned once", pinned_pages },
    { "giving memory back waits for the device", waits_to_release },
    { "leaks are named", leaks }, { "misuse is named", misuse })
