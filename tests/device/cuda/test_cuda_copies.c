/* SPDX-License-Identifier: MIT */
/* test_cuda_copies.c: how the bytes of bundles get to a GPU and back, over the
   stand-in for the CUDA runtime: gathered, straight, or pinned for the copy.
   Thread safety: one thread, beside the stand-in's own. */
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_rig.h"
#include "device/copy_crew.h"
#include "hass_test.h"

static void
gathered (void)
{
  enum
  {
    N = 100
  };
  Rig r;
  guint8 *in[N], *out[N];
  HassBlock b[N];
  gsize total = 0;
  rig_init (&r, &(FakePlan){ .kernel_delay_us = 100 }, &rig_shifts);
  for (guint i = 0; i < N; i++)
    {
      gsize bytes = 1 + i * 37 % 500;
      in[i] = g_malloc (bytes);
      out[i] = g_malloc0 (bytes);
      rig_fill (in[i], bytes, i);
      b[i] = rig_block (in[i], out[i], bytes);
      total += bytes;
    }
  HassBundleDone done = rig_run (&r, b, N);
  CU_ASSERT_EQUAL (done.slot, 0);
  CU_ASSERT_TRUE (done.kernel_ns >= 100e3);
  for (guint i = 0; i < N; i++)
    {
      CU_ASSERT_TRUE (rig_is_shifted (out[i], in[i], b[i].count));
      g_free (in[i]);
      g_free (out[i]);
    }
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.transfers.staged_bytes, total);
  CU_ASSERT_EQUAL (r.transfers.direct_bytes, 0);
  CU_ASSERT_TRUE (r.transfers.peak_bytes >= 2 * total);
  CU_ASSERT_EQUAL (r.counts.pageable_copies, 0);
  CU_ASSERT_EQUAL (r.counts.kernels, 1);
}

typedef struct
{
  sem_t held, let_go;
} Hold;

static void
hold_piece (guint i, gpointer data)
{
  Hold *h = data;
  (void)i;
  sem_post (&h->held);
  sem_wait (&h->let_go);
}

static gpointer
hold (gpointer data)
{
  hass_copy_crew_run (2, hold_piece, data);
  return NULL;
}

/* Copies of a bundle that its proxy gathers without help: their number does
   not depend on the other threads' speed. */
static guint
n_copies_alone (Rig *r, const HassBlock *blocks, gsize n)
{
  Hold h;
  pthread_t thread;
  sem_init (&h.held, 0, 0);
  sem_init (&h.let_go, 0, 0);
  CU_ASSERT_EQUAL_FATAL (pthread_create (&thread, NULL, hold, &h), 0);
  sem_wait (&h.held);
  guint before = fake_cudart_counts ().calls[FAKE_COPY];
  rig_run (r, blocks, n);
  guint after = fake_cudart_counts ().calls[FAKE_COPY];
  sem_post (&h.let_go);
  sem_post (&h.let_go);
  pthread_join (thread, NULL);
  sem_destroy (&h.held);
  sem_destroy (&h.let_go);
  return after - before;
}

static void
many_stripes (void)
{
  enum
  {
    N = 3000,
    BYTES = 3001
  };
  Rig r;
  guint8 *in = g_malloc (2 * N * BYTES), *out = g_malloc0 (2 * N * BYTES);
  g_autofree HassBlock *b = g_new (HassBlock, N);
  gboolean ok = TRUE;
  rig_fill (in, 2 * N * BYTES, 3);
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  /* Not adjacent, out of order. */
  for (guint i = 0; i < N; i++)
    {
      gsize at = (gsize)(i * 7 % N) * 2 * BYTES;
      b[i] = rig_block (in + at, out + at, BYTES);
    }
  rig_run (&r, b, N);
  for (guint i = 0; i < N; i++)
    ok &= rig_is_shifted (b[i].output, b[i].input, BYTES);
  CU_ASSERT_TRUE (ok);
  CU_ASSERT_TRUE (n_copies_alone (&r, b, N) >= 6);
  rig_clear (&r);
  g_free (in);
  g_free (out);
}

/* Blocks of no, one and many bytes, some of which no piece holds. */
static void
unlike_sizes (void)
{
  static const gsize sizes[]
      = { 0, 1, 1500000, 64, 300000, 0, 0, 511, 4096, 65536, 700001, 3 };
  enum
  {
    N = 60
  };
  Rig r;
  guint8 *in[N], *out[N];
  HassBlock b[N];
  gboolean ok = TRUE;
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  for (guint i = 0; i < N; i++)
    {
      gsize bytes = sizes[i % G_N_ELEMENTS (sizes)];
      in[i] = g_malloc (bytes + 1);
      out[i] = g_malloc0 (bytes + 1);
      rig_fill (in[i], bytes, i);
      b[i] = rig_block (in[i], out[i], bytes);
    }
  for (guint n = 2; n <= N; n += 29)
    rig_run (&r, b, n);
  for (guint i = 0; i < N; i++)
    {
      ok &= rig_is_shifted (out[i], in[i], b[i].count);
      g_free (in[i]);
      g_free (out[i]);
    }
  CU_ASSERT_TRUE (ok);
  rig_clear (&r);
}

/* Tiles of more bytes than are gathered at a time. */
static void
large_tiles (void)
{
  enum
  {
    N = 24,
    ROW = 1000,
    ROWS = 307,
    PITCH = 1100,
    EACH = ROW * ROWS
  };
  Rig r;
  guint8 *in = g_malloc (N * ROWS * PITCH), *out = g_malloc0 (N * EACH);
  HassBlock b[N];
  gboolean ok = TRUE;
  rig_fill (in, N * ROWS * PITCH, 9);
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  for (guint i = 0; i < N; i++)
    {
      gsize from = (gsize)(i * 7 % N) * ROWS * PITCH;
      b[i] = rig_block (in + from, out + (gsize)i * EACH, EACH);
      b[i].input_row_bytes = ROW;
      b[i].input_pitch = PITCH;
    }
  rig_run (&r, b, N);
  for (guint i = 0; i < N; i++)
    for (gsize row = 0; row < ROWS; row++)
      ok &= rig_is_shifted (b[i].output + row * ROW, b[i].input + row * PITCH,
                            ROW);
  CU_ASSERT_TRUE (ok);
  CU_ASSERT_TRUE (n_copies_alone (&r, b, N) >= 6);
  rig_clear (&r);
  g_free (in);
  g_free (out);
}

/* A stage in which nothing is enqueued costs no event. */
static void
few_calls (void)
{
  guint8 in[] = { 1, 2, 3 }, out[3];
  HassBlock b = { .load = &rig_load };
  Rig r;
  rig_init (&r, &(FakePlan){ .kernel_delay_us = 2000 }, &rig_shifts);
  rig_run (&r, &b, 1);
  FakeCounts before = fake_cudart_counts ();
  HassBundleDone done = rig_run (&r, &b, 1);
  FakeCounts after = fake_cudart_counts ();
  CU_ASSERT_EQUAL (done.h2d_ns, 0);
  CU_ASSERT_TRUE (done.kernel_ns >= 2e6);
  CU_ASSERT_EQUAL (done.d2h_ns, 0);
  /* Two events, a launch, two differences, beside the looks while waiting. */
  guint looks = after.calls[FAKE_EVENT_QUERY] - before.calls[FAKE_EVENT_QUERY];
  CU_ASSERT_EQUAL (after.n_calls - before.n_calls - looks, 5);
  b = rig_block (in, out, 3);
  done = rig_run (&r, &b, 1);
  CU_ASSERT_TRUE (done.h2d_ns > 0);
  CU_ASSERT_TRUE (done.d2h_ns > 0);
  CU_ASSERT_EQUAL (fake_cudart_counts ().calls[FAKE_EVENT_RECORD]
                       - after.calls[FAKE_EVENT_RECORD],
                   4);
  rig_clear (&r);
}

static void
direct (void)
{
  enum
  {
    BYTES = 10000
  };
  Rig r;
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  guint8 *in = hass_memory_alloc (BYTES, NULL),
         *out = hass_memory_alloc (BYTES, NULL);
  rig_fill (in, BYTES, 1);
  HassBlock b[]
      = { rig_block (in, out, 1000), rig_block (in + 1000, out + 1000, 500),
          rig_block (in + 1500, out + 1500, BYTES - 1500) };
  rig_run (&r, b, 3);
  CU_ASSERT_TRUE (rig_is_shifted (out, in, BYTES));
  memset (out, 0, BYTES);
  rig_run (&r, b + 1, 1);
  CU_ASSERT_TRUE (rig_is_shifted (out + 1000, in + 1000, 500));
  CU_ASSERT_EQUAL (out[999], 0);
  CU_ASSERT_EQUAL (out[1500], 0);
  /* Registered memory goes straight too. */
  guint8 *mine = aligned_alloc (4096, 8192);
  rig_fill (mine, 8192, 2);
  CU_ASSERT_TRUE (hass_memory_register (mine, 8192, NULL));
  b[0] = rig_block (mine + 10, out, 8000);
  rig_run (&r, b, 1);
  CU_ASSERT_TRUE (rig_is_shifted (out, mine + 10, 8000));
  hass_memory_unregister (mine);
  free (mine);
  hass_memory_free (in);
  hass_memory_free (out);
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.transfers.direct_bytes, BYTES + 500 + 8000);
  CU_ASSERT_EQUAL (r.transfers.staged_bytes, 0);
  CU_ASSERT_EQUAL (r.counts.pageable_copies, 0);
}

/* Three blocks in pinned memory, the last first, with gaps. They are copied
   each with a call, beside the tables, if they are large. */
static void
direct_each (void)
{
  enum
  {
    BYTES = 4 << 20,
    PLACE = 1 << 20
  };
  static const gsize sizes[][3]
      = { { 300000, 500001, 400002 }, { 10000, 50001, 10002 } };
  for (guint small = 0; small < 2; small++)
    {
      const gsize *n = sizes[small], all = n[0] + n[1] + n[2];
      HassBlock b[3];
      Rig r;
      rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
      guint8 *in = hass_memory_alloc (BYTES, NULL);
      guint8 *out = hass_memory_alloc (BYTES, NULL);
      rig_fill (in, BYTES, 1);
      memset (out, 0, BYTES);
      for (guint i = 0; i < 3; i++)
        b[i] = rig_block (in + (2 - i) * PLACE, out + (2 - i) * PLACE, n[i]);
      rig_run (&r, b, 3);
      for (guint i = 0; i < 3; i++)
        {
          CU_ASSERT_TRUE (rig_is_shifted (b[i].output, b[i].input, n[i]));
          CU_ASSERT_EQUAL (((guint8 *)b[i].output)[n[i]], 0);
        }
      hass_memory_free (in);
      hass_memory_free (out);
      rig_clear (&r);
      CU_ASSERT_EQUAL (r.transfers.direct_bytes, small ? 0 : all);
      CU_ASSERT_EQUAL (r.transfers.staged_bytes, small ? all : 0);
      if (!small)
        {
          CU_ASSERT_EQUAL (r.counts.calls[FAKE_COPY], 1);
          CU_ASSERT_EQUAL (r.counts.calls[FAKE_COPY_BATCH], 2);
        }
    }
}

/* Of scattered blocks in pinned memory those that lie one behind another are
   one copy. */
static void
adjacent_runs (void)
{
  enum
  {
    BYTES = 64 << 10
  };
  static const guint places[] = { 2, 3, 0, 1, 5 };
  HassBlock b[G_N_ELEMENTS (places)];
  Rig r;
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  guint8 *in = hass_memory_alloc (6 * BYTES, NULL);
  guint8 *out = hass_memory_alloc (6 * BYTES, NULL);
  rig_fill (in, 6 * BYTES, 1);
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    b[i] = rig_block (in + places[i] * BYTES, out + places[i] * BYTES, BYTES);
  rig_run (&r, b, G_N_ELEMENTS (places));
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    CU_ASSERT_TRUE (rig_is_shifted (b[i].output, b[i].input, BYTES));
  hass_memory_free (in);
  hass_memory_free (out);
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.counts.copies, 2 + 3 + 3); /* tables, a clear */
}

/* Large stretches of ordinary memory: both ways are tried, and whatever is
   pinned is unpinned again. */
static void
pinned_for_copy (void)
{
  enum
  {
    BYTES = 3 << 20,
    TIMES = 6
  };
  Rig r;
  guint8 *in = g_malloc (TIMES * BYTES), *out = g_malloc (BYTES);
  rig_fill (in, TIMES * BYTES, 5);
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  for (guint i = 0; i < TIMES; i++)
    {
      HassBlock b = rig_block (in + (gsize)i * BYTES, out, BYTES);
      memset (out, 0, BYTES);
      rig_run (&r, &b, 1);
      CU_ASSERT_TRUE (rig_is_shifted (out, b.input, BYTES));
    }
  rig_clear (&r);
  CU_ASSERT_TRUE (r.transfers.staged_bytes >= BYTES);
  CU_ASSERT_TRUE (r.transfers.registered_bytes >= BYTES - 8192);
  CU_ASSERT_EQUAL (r.transfers.staged_bytes + r.transfers.registered_bytes,
                   (guint64)TIMES * BYTES);
  CU_ASSERT_EQUAL (r.counts.pageable_copies, 0);
  CU_ASSERT_TRUE (r.counts.calls[FAKE_REGISTER] > 0);
  CU_ASSERT_EQUAL (r.counts.calls[FAKE_REGISTER],
                   r.counts.calls[FAKE_UNREGISTER]);
  g_free (in);
  g_free (out);
}

/* Runs two bundles of such inputs. Returns: how many of all so far pinned their
   pages. */
static guint
two_bundles (Rig *r, guint8 *in, guint8 *out, gsize bytes)
{
  for (guint i = 0; i < 2; i++)
    {
      HassBlock b = rig_block (in, out, bytes);
      memset (out, 0, bytes);
      rig_run (r, &b, 1);
      CU_ASSERT_TRUE (rig_is_shifted (out, in, bytes));
    }
  return fake_cudart_counts ().calls[FAKE_REGISTER];
}

/* Which way is faster depends on the size, so each is tried with each; the next
   farm knows. */
static void
ways_by_size (void)
{
  enum
  {
    SMALL = 1 << 20,
    LARGE = 20 << 20
  };
  Rig r;
  guint8 *in = g_malloc (LARGE), *out = g_malloc (LARGE);
  rig_fill (in, LARGE, 5);
  rig_init (&r, &(FakePlan){ 0 }, &rig_shifts);
  CU_ASSERT_EQUAL (two_bundles (&r, in, out, SMALL), 1);
  CU_ASSERT_EQUAL (two_bundles (&r, in, out, LARGE), 2);
  r.device->ops->close (r.device);
  CU_ASSERT_TRUE_FATAL (r.device->ops->open (r.device, &r.farm, NULL));
  CU_ASSERT_NOT_EQUAL (two_bundles (&r, in, out, LARGE), 3);
  rig_clear (&r);
  g_free (in);
  g_free (out);
}

/* A driver that does not pin: all is staged. */
static void
never_pinned (void)
{
  enum
  {
    BYTES = 2 << 20
  };
  Rig r;
  guint8 *in = g_malloc (BYTES), *out = g_malloc (BYTES);
  FakePlan plan = { .fail_every[FAKE_REGISTER] = 1 };
  HassBlock b = rig_block (in, out, BYTES);
  rig_fill (in, BYTES, 5);
  rig_init (&r, &plan, &rig_shifts);
  for (guint i = 0; i < 4; i++)
    {
      memset (out, 0, BYTES);
      rig_run (&r, &b, 1);
      CU_ASSERT_TRUE (rig_is_shifted (out, in, BYTES));
    }
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.counts.calls[FAKE_REGISTER], 1);
  CU_ASSERT_EQUAL (r.transfers.registered_bytes, 0);
  g_free (in);
  g_free (out);
}

/* Three bundles, while the kernel of the first hangs. Where @large, the results
   of the second wait for those of the first. Returns: how many streams were
   made. */
static guint
streams_of_three (gboolean large)
{
  enum
  {
    BYTES = 2 << 20,
    SMALL = 1000
  };
  static const guint orders[2][3] = { { 1, 2, 0 }, { 2, 0, 1 } };
  const guint *order = orders[large];
  HassDeviceFarm farm = rig_shifts;
  guint8 *out = g_malloc0 (3 * BYTES), *in = g_malloc (3 * BYTES);
  HassBlock b[3];
  Rig r;
  farm.bundle_deadline_ns = 60 * (gint64)1000000000;
  rig_fill (in, 3 * BYTES, 7);
  rig_init (&r, &(FakePlan){ .hang_kernel_at = 1, .hang_ms = 60000 }, &farm);
  for (guint i = 0; i < 3; i++)
    {
      gsize n = large && i < 2 ? BYTES : SMALL;
      b[i] = rig_block (in + i * BYTES, out + i * BYTES, n);
      rig_submit (&r, i, &b[i], 1);
      while (i == 0 && !fake_hanging ())
        g_thread_yield ();
      /* Of two small ones, the second begins when the first has ended. */
      if (i == 1 && !large)
        CU_ASSERT_EQUAL (rig_wait_done (&r).slot, 1);
    }
  for (guint i = large ? 0 : 1; i < 3; i++)
    {
      CU_ASSERT_EQUAL (rig_wait_done (&r).slot, order[i]);
      fake_end_hang ();
    }
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_TRUE (rig_is_shifted (b[i].output, b[i].input, b[i].input_bytes));
  g_free (in);
  g_free (out);
  rig_clear (&r);
  return r.counts.calls[FAKE_STREAM_NEW];
}

/* Large copies to the device and back are on one stream each, of all bundles.
 */
static void
in_turn (void)
{
  guint n = streams_of_three (FALSE);
  CU_ASSERT_EQUAL (streams_of_three (TRUE), n + 2);
}

HASS_TEST_SUITE (
    cuda_copies, { "scattered blocks are gathered and come back", gathered },
    { "many blocks go in stripes", many_stripes },
    { "blocks of all sizes are gathered", unlike_sizes },
    { "large tiles go in stripes", large_tiles },
    { "a bundle without bytes costs few calls", few_calls },
    { "pinned memory goes straight, both ways", direct },
    { "adjacent ones among scattered blocks are one copy", adjacent_runs },
    { "large blocks in pinned memory go straight wherever they "
      "lie",
      direct_each },
    { "large copies take turns, small ones do not", in_turn },
    { "large stretches are pinned for the copy, or staged", pinned_for_copy },
    { "where nothing can be pinned all is staged", never_pinned },
    { "how large stretches go is learned by their size", ways_by_size })
