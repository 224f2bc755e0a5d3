/* SPDX-License-Identifier: MIT */
/* fake_kit.c: see fake_kit.h.
   Thread safety: one thread, beside the stand-in's own. */
#include "fake_kit.h"

#include <string.h>

#include "hass_test.h"

static const HassBundle nothing;

const HassCudart *
kit_install (const FakePlan *plan)
{
  fake_cudart_install (plan);
  return hass_cudart ();
}

void
kit_clean (void)
{
  FakeCounts c = fake_cudart_remove ();
  CU_ASSERT_STRING_EQUAL (c.wrong, "");
  CU_ASSERT_STRING_EQUAL (c.leaks, "");
}

void
kit_wrong (const char *text)
{
  FakeCounts c = fake_cudart_remove ();
  CU_ASSERT_PTR_NOT_NULL (strstr (c.wrong, text));
  if (!strstr (c.wrong, text))
    printf ("\n    wrong: \"%s\"", c.wrong);
}

void
kit_init (Kit *k, const FakePlan *plan)
{
  k->cuda = kit_install (plan);
  CU_ASSERT_EQUAL (k->cuda->stream_new (&k->stream), 0);
  CU_ASSERT_EQUAL (k->cuda->event_new (&k->event), 0);
  CU_ASSERT_EQUAL (k->cuda->allocate ((gpointer *)&k->device, N), 0);
  CU_ASSERT_EQUAL (k->cuda->allocate_host ((gpointer *)&k->pinned, N), 0);
  sem_init (&k->gate, 0, 0);
}

void
kit_clear (Kit *k)
{
  k->cuda->stream_free (k->stream);
  k->cuda->event_free (k->event);
  k->cuda->release (k->device);
  k->cuda->release_host (k->pinned);
  kit_clean ();
  sem_destroy (&k->gate);
}

static void
pass_gate (const HassBundle *bundle, gpointer data)
{
  (void)bundle;
  sem_wait (data);
}

void
kit_close_gate (Kit *k)
{
  fake_launch (k->stream, pass_gate, &nothing, &k->gate);
}

int
kit_copy_in (Kit *k, gconstpointer from)
{
  return k->cuda->copy (k->device, from, N, HASS_CUDA_TO_DEVICE, k->stream);
}

int
kit_copy_out (Kit *k, gpointer to)
{
  return k->cuda->copy (to, k->device, N, HASS_CUDA_TO_HOST, k->stream);
}

int
kit_finish (Kit *k)
{
  int code = k->cuda->event_record (k->event, k->stream);
  return code ? code : k->cuda->event_wait (k->event);
}
