/* SPDX-License-Identifier: MIT */
/* test_fake_cudart.c: the stand-in for the CUDA runtime keeps CUDA's rules
   of streams, events and memory.
   Thread safety: one thread, beside the stand-in's own. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_kit.h"
#include "hass/error.h"
#include "hass_test.h"

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
  kit_close_gate (&k);
  memset (k.pinned, 1, N);
  kit_copy_in (&k, k.pinned);
  for (int i = 0; i < 5; i++)
    fake_launch (k.stream, add_one, &b, NULL);
  kit_copy_out (&k, k.pinned);
  k.cuda->event_record (k.event, k.stream);
  CU_ASSERT_EQUAL (k.cuda->event_query (k.event), FAKE_NOT_READY);
  CU_ASSERT_EQUAL (k.cuda->stream_query (k.stream), FAKE_NOT_READY);
  CU_ASSERT_EQUAL (k.pinned[0], 1);
  sem_post (&k.gate);
  CU_ASSERT_EQUAL (k.cuda->event_wait (k.event), 0);
  int code;
  while ((code = k.cuda->stream_query (k.stream)) == FAKE_NOT_READY)
    sched_yield ();
  CU_ASSERT_EQUAL (code, 0);
  CU_ASSERT_EQUAL (k.pinned[0], 6);
  CU_ASSERT_EQUAL (k.pinned[N - 1], 6);
  CU_ASSERT_EQUAL (fake_cudart_counts ().bytes_to_device, N);
  CU_ASSERT_EQUAL (fake_cudart_counts ().bytes_to_host, N);
  CU_ASSERT_EQUAL (fake_cudart_counts ().pageable_copies, 0);
  kit_clear (&k);
}

typedef struct
{
  guint n_copies, n_other;
} Told;

static void
tell (FakeCall call, gpointer data)
{
  Told *told = data;
  if (call == FAKE_COPY)
    {
      told->n_copies++;
      CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_COPY],
                       told->n_copies - 1);
    }
  else
    told->n_other++;
}

static void
holds_copies (void)
{
  Kit k;
  Told told = { 0 };
  kit_init (
      &k,
      &(FakePlan){ .hold_copies = TRUE, .called = tell, .called_data = &told });
  memset (k.pinned, 1, N);
  kit_copy_in (&k, k.pinned);
  k.cuda->event_record (k.event, k.stream);
  while (fake_cudart_counts ().copies == 0)
    sched_yield ();
  CU_ASSERT_EQUAL (k.cuda->event_query (k.event), FAKE_NOT_READY);
  fake_let_copies (1);
  CU_ASSERT_EQUAL (k.cuda->event_wait (k.event), 0);
  memset (k.pinned, 2, N);
  kit_copy_out (&k, k.pinned);
  while (fake_cudart_counts ().copies == 1)
    sched_yield ();
  CU_ASSERT_EQUAL (k.pinned[0], 2);
  CU_ASSERT_EQUAL (told.n_copies, 2);
  CU_ASSERT_TRUE (told.n_other >= 3);
  fake_let_copies (1);
  CU_ASSERT_EQUAL (kit_finish (&k), 0);
  CU_ASSERT_EQUAL (k.pinned[0], 1);
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
  kit_close_gate (&k);
  kit_copy_in (&k, k.pinned);
  k.cuda->event_record (k.event, k.stream);
  k.cuda->stream_wait (other, k.event);
  guint8 *back;
  k.cuda->allocate_host ((gpointer *)&back, N);
  memset (back, 0, N);
  k.cuda->copy (back, k.device, N, HASS_CUDA_TO_HOST, other);
  /* The wait is for what was recorded when it was asked for. */
  kit_close_gate (&k);
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
  kit_close_gate (&k);
  memset (ordinary, 1, N);
  kit_copy_in (&k, ordinary);
  memset (ordinary, 2, N);
  k.cuda->copy (k.device, k.pinned, 1, HASS_CUDA_TO_DEVICE, k.stream);
  k.pinned[0] = 3;
  sem_post (&k.gate);
  CU_ASSERT_EQUAL (kit_copy_out (&k, ordinary), 0);
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
  CU_ASSERT_EQUAL (kit_finish (&k), 0);
  kit_copy_out (&k, k.pinned);
  CU_ASSERT_EQUAL (kit_finish (&k), 0);
  CU_ASSERT_EQUAL (memcmp (k.pinned, "\4\5\16\17\30\31\0\0", 8), 0);
  kit_clear (&k);
}

/* -- Memory ------------------------------------------------------------- */

static void
limited (void)
{
  gpointer a, b, c;
  gsize free_bytes, total;
  const HassCudart *cuda = kit_install (&(FakePlan){
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
  kit_clean ();
  cuda = kit_install (&(FakePlan){ .fail_above_bytes = 10 });
  CU_ASSERT_EQUAL (cuda->allocate (&a, 11), FAKE_NO_MEMORY);
  CU_ASSERT_EQUAL (cuda->allocate (&a, 10), 0);
  cuda->release (a);
  kit_clean ();
}

static void
device_of_thread (void)
{
  gpointer p;
  const HassCudart *cuda = kit_install (&(FakePlan){ .n_devices = 2 });
  CU_ASSERT_EQUAL (fake_current_device (), 0);
  cuda->set_device (1);
  cuda->allocate (&p, 10);
  CU_ASSERT_EQUAL (fake_current_device (), 1);
  CU_ASSERT_EQUAL (fake_cudart_counts ().live_bytes[1], 10);
  cuda->release (p);
  kit_clean ();
  kit_install (&(FakePlan){ .n_devices = 2 });
  CU_ASSERT_EQUAL (fake_current_device (), 0);
  kit_clean ();
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
  CU_ASSERT_EQUAL (kit_copy_in (&k, pages), 0);
  CU_ASSERT_EQUAL (kit_finish (&k), 0);
  CU_ASSERT_EQUAL (fake_cudart_counts ().pageable_copies, 0);
  CU_ASSERT_EQUAL (k.cuda->unregister_host (pages), 0);
  CU_ASSERT_EQUAL (kit_copy_in (&k, pages), 0);
  CU_ASSERT_EQUAL (kit_finish (&k), 0);
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
  kit_init (&k, &(FakePlan){ .hold_kernels_until = FAKE_RELEASE });
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
  const HassCudart *cuda = kit_install (&(FakePlan){ 0 });
  cuda->allocate (&p, 1);
  cuda->allocate_host (&p, 1);
  cuda->stream_new (&p);
  cuda->event_new (&p);
  cuda->event_new (&p);
  FakeCounts c = fake_cudart_remove ();
  CU_ASSERT_STRING_EQUAL (
      c.leaks, "1 device allocations 1 host allocations 1 streams 2 events");
}

HASS_TEST_SUITE (
    fake_cudart, { "a stream does its work in order and later", in_order },
    { "copies are held until they may go on, and calls are told",
      holds_copies },
    { "a stream waits for another's event as it was recorded",
      waits_for_other },
    { "pageable memory is read at the call, pinned memory later", snapshots },
    { "rows are copied with their pitches", rows },
    { "a device has so much memory and no more", limited },
    { "the present device is the thread's", device_of_thread },
    { "pages are pinned once", pinned_pages },
    { "giving memory back waits for the device", waits_to_release },
    { "leaks are named", leaks })
