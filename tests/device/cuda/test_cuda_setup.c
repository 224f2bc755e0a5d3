/* SPDX-License-Identifier: MIT */
/* test_cuda_setup.c: what a GPU prepares once, that is, memory for bundles: how
   long that takes is told apart from the rest, and later bundles use it.
   Thread safety: one thread, beside the stand-in's. */
#include "cuda_rig.h"
#include "hass_test.h"

#define BYTES ((gsize)3 << 20)
#define ALLOCATE_US 2000

static guint
n_allocated (void)
{
  FakeCounts counts = fake_cudart_counts ();
  return counts.calls[FAKE_ALLOCATE] + counts.calls[FAKE_ALLOCATE_HOST];
}

/* Runs a bundle of pageable memory. */
static HassBundleDone
run (Rig *r, guint8 *in, guint8 *out)
{
  HassBlock b = rig_block (in, out, BYTES);
  HassBundleDone done = rig_run (r, &b, 1);
  CU_ASSERT_TRUE (rig_is_shifted (out, in, BYTES));
  return done;
}

static void
told_apart (void)
{
  Rig r;
  g_autofree guint8 *in = g_malloc (BYTES), *out = g_malloc (BYTES);
  rig_fill (in, BYTES, 1);
  rig_init (&r, &(FakePlan){ .allocate_us = ALLOCATE_US }, &rig_shifts);
  HassBundleDone first = run (&r, in, out);
  CU_ASSERT_TRUE (first.setup_ns >= ALLOCATE_US * 1e3);
  rig_clear (&r);
}

/* The next farm's first bundle finds the memory of this one's. */
static void
kept (void)
{
  Rig r;
  g_autofree guint8 *in = g_malloc (BYTES), *out = g_malloc (BYTES);
  rig_fill (in, BYTES, 1);
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  for (guint i = 0; i < 2; i++) /* staged, and pinned */
    run (&r, in, out);
  guint before = n_allocated ();
  for (guint i = 0; i < 2; i++)
    {
      r.device->ops->close (r.device);
      CU_ASSERT_TRUE (r.device->ops->open (r.device, &r.farm, NULL));
      run (&r, in, out);
      CU_ASSERT_EQUAL (n_allocated (), before);
    }
  rig_clear (&r);
}

HASS_TEST_SUITE (cuda_setup,
                 { "the time to make room is told apart", told_apart },
                 { "the next farm finds the room of this one", kept })
