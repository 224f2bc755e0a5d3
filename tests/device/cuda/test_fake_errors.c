/* SPDX-License-Identifier: MIT */
/* test_fake_errors.c: the stand-in for the CUDA runtime fails when
   told to, as CUDA does.
   Thread safety: one thread, beside the stand-in's own. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "fake_kit.h"
#include "hass/error.h"
#include "hass_test.h"

/* Each makes one call of its group, and returns its code. What the call needs
   or leaves is made and released beside it. */
static int
call_device_once (FakeCall call, const HassCudart *cuda)
{
  HassCudaProperties props;
  gsize a, b;
  int n, code = 0;
  switch (call)
    {
    case FAKE_DEVICE_COUNT:
      code = cuda->device_count (&n);
      break;
    case FAKE_PROPERTIES:
      code = cuda->properties (0, &props);
      break;
    case FAKE_SET_DEVICE:
      code = cuda->set_device (0);
      break;
    case FAKE_MEMORY_INFO:
      code = cuda->memory_info (&a, &b);
      break;
    default:
      CU_FAIL ("no call of this group");
    }
  return code;
}

static int
call_memory_once (FakeCall call, Kit *k)
{
  const HassCudart *cuda = k->cuda;
  gpointer p = NULL;
  int n, code = 0;
  switch (call)
    {
    case FAKE_ALLOCATE:
      code = cuda->allocate (&p, 5);
      cuda->release (p);
      break;
    case FAKE_RELEASE:
      cuda->allocate (&p, 5);
      code = cuda->release (p);
      break;
    case FAKE_ALLOCATE_HOST:
      code = cuda->allocate_host (&p, 5);
      cuda->release_host (p);
      break;
    case FAKE_RELEASE_HOST:
      cuda->allocate_host (&p, 5);
      code = cuda->release_host (p);
      break;
    case FAKE_REGISTER:
    case FAKE_UNREGISTER:
      p = k; /* any memory */
      n = cuda->register_host (p, sizeof *k);
      code = call == FAKE_REGISTER ? n : 0;
      if (n == 0)
        n = cuda->unregister_host (p);
      if (call == FAKE_UNREGISTER)
        code = n;
      break;
    default:
      CU_FAIL ("no call of this group");
    }
  return code;
}

static int
call_stream_once (FakeCall call, Kit *k)
{
  const HassCudart *cuda = k->cuda;
  gpointer p = NULL;
  int n, code = 0;
  switch (call)
    {
    case FAKE_STREAM_NEW:
    case FAKE_STREAM_FREE:
    case FAKE_STREAM_QUERY:
      n = cuda->stream_new (&p);
      code = call == FAKE_STREAM_NEW ? n : 0;
      if (call == FAKE_STREAM_QUERY)
        code = cuda->stream_query (p);
      if (n == 0)
        n = cuda->stream_free (p);
      if (call == FAKE_STREAM_FREE)
        code = n;
      break;
    case FAKE_STREAM_WAIT:
      code = cuda->stream_wait (k->stream, k->event);
      break;
    case FAKE_COPY:
      code = kit_copy_in (k, k->pinned);
      break;
    case FAKE_COPY_BATCH:
      p = k->pinned;
      code = cuda->copy_batch ((gpointer[]){ k->device }, &p, (gsize[]){ N }, 1,
                               HASS_CUDA_TO_DEVICE, k->stream);
      break;
    case FAKE_COPY_ROWS:
      code = cuda->copy_rows (k->device, 2, k->pinned, 10, 2, 3,
                              HASS_CUDA_TO_DEVICE, k->stream);
      break;
    case FAKE_CLEAR:
      code = cuda->clear (k->device, N, k->stream);
      break;
    default:
      CU_FAIL ("no call of this group");
    }
  return code;
}

static int
call_event_once (FakeCall call, Kit *k)
{
  const HassCudart *cuda = k->cuda;
  gpointer p = NULL;
  float ms;
  int n, code = 0;
  switch (call)
    {
    case FAKE_EVENT_NEW:
    case FAKE_EVENT_FREE:
      n = cuda->event_new (&p);
      code = call == FAKE_EVENT_NEW ? n : 0;
      if (n == 0)
        n = cuda->event_free (p);
      if (call == FAKE_EVENT_FREE)
        code = n;
      break;
    case FAKE_EVENT_RECORD:
      code = cuda->event_record (k->event, k->stream);
      break;
    case FAKE_EVENT_QUERY:
      kit_finish (k);
      code = cuda->event_query (k->event);
      break;
    case FAKE_EVENT_WAIT:
      code = cuda->event_wait (k->event);
      break;
    case FAKE_EVENT_ELAPSED:
      kit_finish (k);
      code = cuda->event_elapsed (&ms, k->event, k->event);
      break;
    default:
      CU_FAIL ("no call of this group");
    }
  return code;
}

static int
call_pool_once (FakeCall call, Kit *k)
{
  const HassCudart *cuda = k->cuda;
  gpointer p = NULL;
  gsize bytes;
  int n, code = 0;
  switch (call)
    {
    case FAKE_POOL_KEEP:
      return cuda->pool_keep (0);
    case FAKE_POOL_SPARE:
      return cuda->pool_spare (0, &bytes);
    case FAKE_POOL_SHARE:
      return cuda->pool_share (0, 0);
    case FAKE_COPY_PEER:
      return cuda->copy_peer (k->device, 0, k->device + 2, 0, 2, k->stream);
    case FAKE_ALLOCATE_ASYNC:
    case FAKE_RELEASE_ASYNC:
      n = cuda->allocate_async (&p, N, k->stream);
      code = call == FAKE_ALLOCATE_ASYNC ? n : 0;
      if (n == 0)
        n = cuda->release_async (p, k->stream);
      if (call == FAKE_RELEASE_ASYNC)
        code = n;
      break;
    default:
      CU_FAIL ("no call of this group");
    }
  return code;
}

static int
call_once (FakeCall call, Kit *k)
{
  switch (call)
    {
    case FAKE_DEVICE_COUNT:
    case FAKE_PROPERTIES:
    case FAKE_SET_DEVICE:
    case FAKE_MEMORY_INFO:
      return call_device_once (call, k->cuda);
    case FAKE_ALLOCATE:
    case FAKE_RELEASE:
    case FAKE_ALLOCATE_HOST:
    case FAKE_RELEASE_HOST:
    case FAKE_REGISTER:
    case FAKE_UNREGISTER:
      return call_memory_once (call, k);
    case FAKE_STREAM_NEW:
    case FAKE_STREAM_FREE:
    case FAKE_STREAM_QUERY:
    case FAKE_STREAM_WAIT:
    case FAKE_COPY:
    case FAKE_COPY_BATCH:
    case FAKE_COPY_ROWS:
    case FAKE_CLEAR:
      return call_stream_once (call, k);
    case FAKE_EVENT_NEW:
    case FAKE_EVENT_FREE:
    case FAKE_EVENT_RECORD:
    case FAKE_EVENT_QUERY:
    case FAKE_EVENT_WAIT:
    case FAKE_EVENT_ELAPSED:
      return call_event_once (call, k);
    case FAKE_POOL_KEEP:
    case FAKE_POOL_SPARE:
    case FAKE_POOL_SHARE:
    case FAKE_ALLOCATE_ASYNC:
    case FAKE_RELEASE_ASYNC:
    case FAKE_COPY_PEER:
      return call_pool_once (call, k);
    default:
      fake_launch_delay (k->stream, 0);
      return k->cuda->last_error ();
    }
}

static void
planned (void)
{
  for (guint call = 0; call < FAKE_N_CALLS; call++)
    {
      Kit k;
      FakePlan plan = { 0 };
      plan.fail_at[call] = 3;
      kit_init (&k, &(FakePlan){ 0 });
      fake_cudart_plan (&plan);
      for (guint i = 1; i <= 4; i++)
        {
          int code = call_once (call, &k);
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
  CU_ASSERT_EQUAL (kit_finish (&k), 0);
  CU_ASSERT_FALSE (fake_check ("kernel", &error));
  CU_ASSERT_STRING_EQUAL (error->message, "kernel: out of memory");
  CU_ASSERT_TRUE (fake_check ("kernel", NULL));
  kit_close_gate (&k);
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
  kit_copy_in (&k, k.pinned);
  CU_ASSERT_EQUAL (kit_finish (&k), 0);
  CU_ASSERT_EQUAL (kit_copy_out (&k, k.pinned), 0); /* fails when executed */
  k.cuda->clear (k.device, N, k.stream);            /* skipped */
  k.cuda->event_record (k.event, k.stream);
  k.cuda->stream_wait (other, k.event);
  k.cuda->event_record (joined, other);
  CU_ASSERT_EQUAL (k.cuda->event_wait (joined), FAKE_NOT_SUPPORTED);
  CU_ASSERT_EQUAL (k.cuda->event_query (k.event), FAKE_NOT_SUPPORTED);
  memset (k.pinned, 2, N);
  CU_ASSERT_EQUAL (kit_copy_out (&k, k.pinned), 0);
  CU_ASSERT_EQUAL (kit_finish (&k), 0);
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
  kit_copy_out (&k, k.pinned);
  CU_ASSERT_EQUAL (kit_finish (&k), FAKE_ASSERT);
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

/* Memory may be given to others when an error is told. The copy has begun and
   goes on with the error; its delay is for an answer that comes too early. */
static void
copies_end_before_errors (void)
{
  enum
  {
    DELAY = 100000
  };
  static const FakePlan plans[]
      = { { .hold_copies = TRUE, .copy_delay_us = DELAY, .sticky_at_call = 2 },
          { .hold_copies = TRUE, .copy_delay_us = DELAY, .gone_at_call = 2 } };
  for (guint i = 0; i <= G_N_ELEMENTS (plans); i++)
    {
      Kit k;
      gpointer other;
      kit_init (&k, &(FakePlan){ .hold_copies = TRUE, .copy_delay_us = DELAY });
      CU_ASSERT_EQUAL_FATAL (k.cuda->stream_new (&other), 0);
      memset (k.pinned, 1, N);
      kit_copy_out (&k, k.pinned);
      while (fake_cudart_counts ().copies == 0)
        usleep (100);
      if (i < G_N_ELEMENTS (plans))
        fake_cudart_plan (&plans[i]);
      else
        fake_launch_assert (other);
      while (k.cuda->set_device (0) == 0)
        usleep (100);
      CU_ASSERT_EQUAL (fake_cudart_counts ().copied, 1);
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
  CU_ASSERT_EQUAL (kit_finish (&k), 0);
  fake_launch_delay (k.stream, 0);
  CU_ASSERT_EQUAL (kit_finish (&k), FAKE_ASSERT);
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
  kit_close_gate (&k);
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

HASS_TEST_SUITE (
    fake_errors, { "each call fails when planned, and only then", planned },
    { "the last error is the thread's and stays until it is taken",
      last_error_of_thread },
    { "a copy that fails is told once, and what was behind it is skipped",
      failed_copy },
    { "a device assert fails every later call on every device", sticky },
    { "copies end before a sticky error is told", copies_end_before_errors },
    { "asserts come at the planned kernel or call", sticky_by_plan },
    { "a device that is gone leaves the other", gone })
