/* SPDX-License-Identifier: MIT */
/* test_cuda_ring.c: inputs that pass through pinned memory smaller than they
   are, over the stand-in for the CUDA runtime.
   Thread safety: one thread, beside the stand-in's own. */
#include <string.h>

#include "cuda_rig.h"
#include "hass_test.h"

#define BYTES ((gsize)19 << 20)
#define N 7

static guint8 *in, *out;

/* @gap: bytes between the blocks; 0: one stretch. */
static void
make_blocks (HassBlock *b, gsize gap)
{
  gsize step = BYTES / N;
  for (guint i = 0; i < N; i++)
    {
      guint place = gap > 0 ? N - 1 - i : i;
      b[i] = rig_block (in + place * step, out + place * step, step - gap);
    }
}

static void
check_blocks (const HassBlock *b)
{
  for (guint i = 0; i < N; i++)
    CU_ASSERT_TRUE (rig_is_shifted (b[i].output, b[i].input, b[i].input_bytes));
}

static void
begin (Rig *r, const FakePlan *plan, gint64 deadline_ns)
{
  HassDeviceFarm farm = rig_shifts;
  farm.bundle_deadline_ns = deadline_ns;
  rig_init (r, plan, &farm);
  in = g_malloc (BYTES);
  out = hass_memory_alloc (BYTES, NULL);
  memset (out, 0, BYTES);
  rig_fill (in, BYTES, 3);
}

static void
end (Rig *r)
{
  g_free (in);
  hass_memory_free (out);
  rig_clear (r);
}

/* No more memory is pinned for any size of bundles. */
static void
any_size (void)
{
  static const gsize gaps[] = { 0, 1, 4096, 100001 };
  Rig r;
  begin (&r, &(FakePlan){ .fail_every[FAKE_REGISTER] = 1 }, 0);
  guint before = fake_cudart_counts ().calls[FAKE_ALLOCATE_HOST];
  for (guint i = 0; i < G_N_ELEMENTS (gaps); i++)
    {
      HassBlock b[N];
      make_blocks (b, gaps[i]);
      memset (out, 0, BYTES);
      for (guint n = 1; n <= N; n++)
        rig_run (&r, b, n);
      check_blocks (b);
      HassBlock one = rig_block (in + gaps[i], out + gaps[i], 300000);
      memset (out, 0, BYTES);
      rig_run (&r, &one, 1);
      CU_ASSERT_TRUE (rig_is_shifted (one.output, one.input, 300000));
    }
  /* for the tables, and maybe for the small block */
  CU_ASSERT_TRUE (fake_cudart_counts ().calls[FAKE_ALLOCATE_HOST]
                  <= before + 2);
  CU_ASSERT_EQUAL (fake_cudart_counts ().pageable_copies, 0);
  end (&r);
}

/* Inputs that come again and again get room of their own. */
static void
many_uses (void)
{
  enum
  {
    SMALL = 300000
  };
  HassBlock b[2];
  Rig r;
  begin (&r, &(FakePlan){ 0 }, 0);
  for (guint i = 0; i < 2; i++)
    b[i] = rig_block (in + 2 * i * SMALL, out + 2 * i * SMALL, SMALL);
  rig_run (&r, b, 2);
  guint n = fake_cudart_counts ().calls[FAKE_ALLOCATE_HOST];
  for (guint i = 0; i < 100; i++)
    rig_run (&r, b, 2);
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_ALLOCATE_HOST], n);
  for (guint i = 0; i < 100; i++)
    rig_run (&r, b, 2);
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_ALLOCATE_HOST], n + 1);
  for (guint i = 0; i < 2; i++)
    CU_ASSERT_TRUE (rig_is_shifted (b[i].output, b[i].input, SMALL));
  end (&r);
}

/* Copies take long, so what follows has to wait, of the same bundle and of the
   next one. */
static void
slow_link (void)
{
  HassBlock b[2][N];
  Rig r;
  begin (&r, &(FakePlan){ .copy_delay_us = 3000 }, 0);
  guint8 *more = hass_memory_alloc (BYTES, NULL);
  make_blocks (b[0], 2);
  for (guint i = 0; i < N; i++)
    b[1][i] = rig_block ((const guint8 *)b[0][i].input + 1,
                         more + ((const guint8 *)b[0][i].output - out),
                         b[0][i].input_bytes);
  rig_submit (&r, 0, b[0], N);
  rig_submit (&r, 1, b[1], N);
  rig_wait_done (&r);
  rig_wait_done (&r);
  check_blocks (b[0]);
  check_blocks (b[1]);
  hass_memory_free (more);
  end (&r);
}

/* A copy in the middle fails; the next bundle arrives. */
static void
failed_copy (void)
{
  for (guint at = 1; at <= 3; at++)
    {
      HassBlock b[N];
      Rig r;
      begin (&r, &(FakePlan){ .fail_at[FAKE_COPY] = at }, 0);
      make_blocks (b, 1);
      GError *error = NULL;
      CU_ASSERT_FALSE (r.device->ops->submit (r.device, 0, b, N, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
      g_clear_error (&error);
      rig_run (&r, b, N);
      check_blocks (b);
      end (&r);
    }
}

/* A copy that does not end has the next one wait no longer than the deadline.
 */
static void
hung_copy (void)
{
  HassBlock b[N];
  GError *error = NULL;
  Rig r;
  begin (&r, &(FakePlan){ .copy_delay_us = 400000 }, 50000000);
  make_blocks (b, 1);
  CU_ASSERT_FALSE (r.device->ops->submit (r.device, 0, b, N, &error));
  CU_ASSERT_TRUE (error && strstr (error->message, "took longer than 50 ms"));
  g_clear_error (&error);
  end (&r);
}

HASS_TEST_SUITE (cuda_ring,
                 { "bundles of any size need no more pinned memory", any_size },
                 { "many of a size get memory of their own", many_uses },
                 { "they wait until what was there is copied", slow_link },
                 { "after a copy that fails the next bundle arrives",
                   failed_copy },
                 { "none waits for longer than the deadline", hung_copy })
