/* SPDX-License-Identifier: MIT */
/* fake_machine.c: see fake_machine.h.
   Thread safety: see fake_machine.h. */
#include "fake_machine.h"

#include <stdio.h>

#include "device/cuda/gpus-private.h"
#include "hass_test.h"

void
fake_machine_begin (const FakePlan *plan)
{
  hass_gpus_forget ();
  fake_cudart_install (plan);
}

void
fake_machine_set_start (guint gpu, guint ms)
{
  HassGpu *g = hass_gpus_get (gpu);
  pthread_mutex_lock (&g->lock);
  g->start_ns = (gint64)ms * 1000000;
  pthread_mutex_unlock (&g->lock);
}

FakeCounts
fake_machine_end (void)
{
  hass_gpus_forget ();
  FakeCounts counts = fake_cudart_remove ();
  CU_ASSERT_STRING_EQUAL (counts.wrong, "");
  CU_ASSERT_STRING_EQUAL (counts.leaks, "");
  if (*counts.wrong || *counts.leaks)
    printf ("\n    wrong: \"%s\", leaks: \"%s\"", counts.wrong, counts.leaks);
  return counts;
}
