/* SPDX-License-Identifier: MIT */
/* test_fake_misuse.c: the stand-in for the CUDA runtime names misuse.
   Thread safety: one thread, beside the stand-in's own. */
#include "fake_kit.h"
#include "hass_test.h"

/* Each misuses the runtime in one way. */

static void
add_one (const HassBundle *bundle, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < bundle->input_bytes; i++)
    bundle->output[i] = bundle->input[i] + 1;
}

static void
copies_past_the_end (Kit *k)
{
  k->cuda->copy (k->device + 1, k->pinned, N, HASS_CUDA_TO_DEVICE, k->stream);
}

static void
copies_device_memory_as_host (Kit *k)
{
  k->cuda->copy (k->device, k->device, N, HASS_CUDA_TO_DEVICE, k->stream);
}

static void
copies_partly_pinned (Kit *k)
{
  k->cuda->copy (k->device, k->pinned + 1, N, HASS_CUDA_TO_DEVICE, k->stream);
}

static void
releases_inner_memory (Kit *k)
{
  k->cuda->release (k->device + 1);
}

static void
releases_foreign_host_memory (Kit *k)
{
  guint8 ordinary[N];
  k->cuda->release_host (ordinary);
}

static void
unregisters_foreign_memory (Kit *k)
{
  guint8 ordinary[N];
  k->cuda->unregister_host (ordinary);
}

static void
uses_freed_stream (Kit *k)
{
  gpointer p = NULL;
  k->cuda->stream_new (&p);
  k->cuda->stream_free (p);
  k->cuda->clear (k->device, N, p);
}

static void
uses_default_stream (Kit *k)
{
  k->cuda->clear (k->device, N, NULL);
}

static void
records_event_elsewhere (Kit *k)
{
  gpointer p = NULL;
  k->cuda->set_device (1);
  k->cuda->event_new (&p);
  k->cuda->event_record (p, k->stream);
}

static void
launches_past_the_end (Kit *k)
{
  HassBundle b = { .input = k->device, .input_bytes = N + 1 };
  fake_launch (k->stream, add_one, &b, NULL);
  CU_ASSERT_EQUAL (kit_finish (k), FAKE_ILLEGAL_ADDRESS);
}

static void
unregisters_while_copied (Kit *k)
{
  static guint8 ordinary[N]; /* may still be copied after the return */
  k->cuda->register_host (ordinary, N);
  kit_close_gate (k);
  kit_copy_in (k, ordinary);
  k->cuda->unregister_host (ordinary);
  sem_post (&k->gate);
}

static void
launches_on_other_device (Kit *k)
{
  k->cuda->set_device (1);
  fake_launch_delay (k->stream, 0);
}

static void
asks_time_of_unrecorded (Kit *k)
{
  float ms;
  k->cuda->event_elapsed (&ms, k->event, k->event);
}

static void
waits_for_freed_event (Kit *k)
{
  gpointer p = NULL;
  k->cuda->event_new (&p);
  k->cuda->event_free (p);
  k->cuda->event_wait (p);
}

static void
sets_absent_device (Kit *k)
{
  k->cuda->set_device (2);
}

static void
copies_rows_above_pitch (Kit *k)
{
  k->cuda->copy_rows (k->device, 1, k->pinned, 10, 2, 3, HASS_CUDA_TO_DEVICE,
                      k->stream);
}

static void
copies_nothing_in_batch (Kit *k)
{
  k->cuda->copy_batch ((gpointer[]){ k->device }, (gpointer[]){ k->pinned },
                       (gsize[]){ 0 }, 1, HASS_CUDA_TO_DEVICE, k->stream);
}

static void
misuse (void)
{
  static const struct
  {
    const char *text;
    void (*run) (Kit *);
  } cases[] = { { "are not on device 0", copies_past_the_end },
                { "no host memory", copies_device_memory_as_host },
                { "only a part of the", copies_partly_pinned },
                { "which is no device memory", releases_inner_memory },
                { "not of allocate_host", releases_foreign_host_memory },
                { "which is not registered", unregisters_foreign_memory },
                { "a freed stream", uses_freed_stream },
                { "the default or no stream", uses_default_stream },
                { "recorded in a stream of 0", records_event_elsewhere },
                { "a bundle's input", launches_past_the_end },
                { "while it is copied", unregisters_while_copied },
                { "present is 1", launches_on_other_device },
                { "elapsed of events", asks_time_of_unrecorded },
                { "a freed event", waits_for_freed_event },
                { "there is no device 2", sets_absent_device },
                { "a pitch below", copies_rows_above_pitch },
                { "of a batch has 0 bytes", copies_nothing_in_batch } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Kit k;
      kit_init (&k, &(FakePlan){ .n_devices = 2 });
      cases[i].run (&k);
      kit_wrong (cases[i].text);
      sem_destroy (&k.gate);
    }
}

HASS_TEST_SUITE (fake_misuse, { "misuse is named", misuse })
