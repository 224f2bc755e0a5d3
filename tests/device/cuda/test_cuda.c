/* SPDX-License-Identifier: MIT */
/* test_cuda.c: GPUs as devices, over the stand-in for the CUDA runtime: how
   inputs get there, what kernels see, how results come back.
   Thread safety: one thread, beside the stand-in's own. */
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "device/copy_crew.h"
#include "device/cuda/gpus-private.h"
#include "tests/device/fake_machine.h"
#include "hass/error.h"
#include "hass/memory.h"
#include "hass_test.h"

#define TIMEOUT_NS 10000000
#define DEADLINE_NS 1000000000 /* also on a busy machine */

static const HassLoad a_load;

/* A device that is open for a farm. */
typedef struct
{
  HassDeviceFarm farm;
  HassDevice *device;
  HassTransfers transfers; /* after rig_clear */
  FakeCounts counts;       /* after rig_clear */
} Rig;

static void
rig_init (Rig *r, const FakePlan *plan, const HassDeviceFarm *farm)
{
  GError *error = NULL;
  fake_machine_begin (plan);
  *r = (Rig){ .farm = *farm };
  CU_ASSERT_TRUE_FATAL (hass_gpus_count () > 0);
  r->device = hass_cuda_device_new (0);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r->device);
  gboolean ok = r->device->ops->open (r->device, &r->farm, &error);
  CU_ASSERT_TRUE (ok);
  if (!ok)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
}

static void
rig_clear (Rig *r)
{
  r->device->ops->close (r->device);
  r->device->ops->transfers (r->device, &r->transfers);
  hass_cuda_device_free (r->device);
  r->counts = fake_machine_end ();
}

static gboolean
submit (Rig *r, guint slot, const HassBlock *blocks, gsize n)
{
  GError *error = NULL;
  gboolean ok = r->device->ops->submit (r->device, slot, blocks, n, &error);
  CU_ASSERT_TRUE (ok);
  if (!ok)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
  return ok;
}

/* A bundle that has left the device, failed or not. */
static HassBundleDone
wait_any (Rig *r, GError **error)
{
  HassBundleDone done = { .slot = 99 };
  GError *inner = NULL;
  gint64 until = g_get_monotonic_time () + 60 * G_USEC_PER_SEC;
  while (!r->device->ops->wait (r->device, TIMEOUT_NS, &done, &inner) && !inner)
    if (g_get_monotonic_time () > until)
      CU_FAIL_FATAL ("no bundle leaves the device");
  if (inner)
    g_propagate_error (error, inner);
  return done;
}

static HassBundleDone
wait_done (Rig *r)
{
  GError *error = NULL;
  HassBundleDone done = wait_any (r, &error);
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_FALSE (done.failed);
  if (error)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
  return done;
}

static HassBundleDone
run (Rig *r, const HassBlock *blocks, gsize n)
{
  return submit (r, 0, blocks, n) ? wait_done (r) : (HassBundleDone){ 0 };
}

static HassBlock
block (gconstpointer input, gpointer output, gsize bytes)
{
  return (HassBlock){ .load = &a_load,
                      .count = bytes,
                      .input = input,
                      .input_bytes = bytes,
                      .output = output,
                      .output_bytes = output ? bytes : 0 };
}

/* Output i is input i and one. */
static void
shift_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      const guint8 *in = fake_input (b, i);
      guint8 *out = fake_output (b, i);
      for (guint64 k = 0; k < fake_elements (b, i); k++)
        out[k] = in[k] + 1;
    }
}

static gboolean
shift (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
       GError **error)
{
  fake_launch (stream, shift_kernel, bundle, data);
  return fake_check ("shift", error);
}

static const HassDeviceFarm shifts = { .name = "farm", .gpu_worker = shift };

static void
fill (guint8 *bytes, gsize n, guint seed)
{
  for (gsize i = 0; i < n; i++)
    bytes[i] = (guint8)(seed + i * 7 + (i >> 8));
}

static gboolean
is_shifted (const guint8 *out, const guint8 *in, gsize n)
{
  for (gsize i = 0; i < n; i++)
    if (out[i] != (guint8)(in[i] + 1))
      return FALSE;
  return TRUE;
}

/* -- There and back ----------------------------------------------------- */

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
  rig_init (&r, &(FakePlan){ .kernel_delay_us = 100 }, &shifts);
  for (guint i = 0; i < N; i++)
    {
      gsize bytes = 1 + i * 37 % 500;
      in[i] = g_malloc (bytes);
      out[i] = g_malloc0 (bytes);
      fill (in[i], bytes, i);
      b[i] = block (in[i], out[i], bytes);
      total += bytes;
    }
  HassBundleDone done = run (&r, b, N);
  CU_ASSERT_EQUAL (done.slot, 0);
  CU_ASSERT_TRUE (done.kernel_ns >= 100e3);
  for (guint i = 0; i < N; i++)
    {
      CU_ASSERT_TRUE (is_shifted (out[i], in[i], b[i].count));
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
   not depend on who was slow. */
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
  run (r, blocks, n);
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
  fill (in, 2 * N * BYTES, 3);
  rig_init (&r, &(FakePlan){ 0 }, &shifts);
  /* Not adjacent, out of order. */
  for (guint i = 0; i < N; i++)
    {
      gsize at = (gsize)(i * 7 % N) * 2 * BYTES;
      b[i] = block (in + at, out + at, BYTES);
    }
  run (&r, b, N);
  for (guint i = 0; i < N; i++)
    ok &= is_shifted (b[i].output, b[i].input, BYTES);
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
  rig_init (&r, &(FakePlan){ 0 }, &shifts);
  for (guint i = 0; i < N; i++)
    {
      gsize bytes = sizes[i % G_N_ELEMENTS (sizes)];
      in[i] = g_malloc (bytes + 1);
      out[i] = g_malloc0 (bytes + 1);
      fill (in[i], bytes, i);
      b[i] = block (in[i], out[i], bytes);
    }
  for (guint n = 2; n <= N; n += 29)
    run (&r, b, n);
  for (guint i = 0; i < N; i++)
    {
      ok &= is_shifted (out[i], in[i], b[i].count);
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
  fill (in, N * ROWS * PITCH, 9);
  rig_init (&r, &(FakePlan){ 0 }, &shifts);
  for (guint i = 0; i < N; i++)
    {
      gsize from = (gsize)(i * 7 % N) * ROWS * PITCH;
      b[i] = block (in + from, out + (gsize)i * EACH, EACH);
      b[i].input_row_bytes = ROW;
      b[i].input_pitch = PITCH;
    }
  run (&r, b, N);
  for (guint i = 0; i < N; i++)
    for (gsize row = 0; row < ROWS; row++)
      ok &= is_shifted (b[i].output + row * ROW, b[i].input + row * PITCH, ROW);
  CU_ASSERT_TRUE (ok);
  CU_ASSERT_TRUE (n_copies_alone (&r, b, N) >= 6);
  rig_clear (&r);
  g_free (in);
  g_free (out);
}

/* What is not enqueued costs no event. */
static void
few_calls (void)
{
  guint8 in[] = { 1, 2, 3 }, out[3];
  HassBlock b = { .load = &a_load };
  Rig r;
  rig_init (&r, &(FakePlan){ .kernel_delay_us = 2000 }, &shifts);
  run (&r, &b, 1);
  FakeCounts before = fake_cudart_counts ();
  HassBundleDone done = run (&r, &b, 1);
  FakeCounts after = fake_cudart_counts ();
  CU_ASSERT_EQUAL (done.h2d_ns, 0);
  CU_ASSERT_TRUE (done.kernel_ns >= 2e6);
  CU_ASSERT_EQUAL (done.d2h_ns, 0);
  /* Two events, a launch, a wait, two differences. */
  CU_ASSERT_EQUAL (after.n_calls - before.n_calls, 6);
  b = block (in, out, 3);
  done = run (&r, &b, 1);
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
  rig_init (&r, &(FakePlan){ 0 }, &shifts);
  guint8 *in = hass_memory_alloc (BYTES, NULL),
         *out = hass_memory_alloc (BYTES, NULL);
  fill (in, BYTES, 1);
  HassBlock b[] = { block (in, out, 1000), block (in + 1000, out + 1000, 500),
                    block (in + 1500, out + 1500, BYTES - 1500) };
  run (&r, b, 3);
  CU_ASSERT_TRUE (is_shifted (out, in, BYTES));
  memset (out, 0, BYTES);
  run (&r, b + 1, 1);
  CU_ASSERT_TRUE (is_shifted (out + 1000, in + 1000, 500));
  CU_ASSERT_EQUAL (out[999], 0);
  CU_ASSERT_EQUAL (out[1500], 0);
  /* Registered memory goes straight too. */
  guint8 *mine = aligned_alloc (4096, 8192);
  fill (mine, 8192, 2);
  CU_ASSERT_TRUE (hass_memory_register (mine, 8192, NULL));
  b[0] = block (mine + 10, out, 8000);
  run (&r, b, 1);
  CU_ASSERT_TRUE (is_shifted (out, mine + 10, 8000));
  hass_memory_unregister (mine);
  free (mine);
  hass_memory_free (in);
  hass_memory_free (out);
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.transfers.direct_bytes, BYTES + 500 + 8000);
  CU_ASSERT_EQUAL (r.transfers.staged_bytes, 0);
  CU_ASSERT_EQUAL (r.counts.pageable_copies, 0);
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
  fill (in, TIMES * BYTES, 5);
  rig_init (&r, &(FakePlan){ 0 }, &shifts);
  for (guint i = 0; i < TIMES; i++)
    {
      HassBlock b = block (in + (gsize)i * BYTES, out, BYTES);
      memset (out, 0, BYTES);
      run (&r, &b, 1);
      CU_ASSERT_TRUE (is_shifted (out, b.input, BYTES));
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
  HassBlock b = block (in, out, BYTES);
  fill (in, BYTES, 5);
  rig_init (&r, &plan, &shifts);
  for (guint i = 0; i < 4; i++)
    {
      memset (out, 0, BYTES);
      run (&r, &b, 1);
      CU_ASSERT_TRUE (is_shifted (out, in, BYTES));
    }
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.counts.calls[FAKE_REGISTER], 1);
  CU_ASSERT_EQUAL (r.transfers.registered_bytes, 0);
  g_free (in);
  g_free (out);
}

/* -- What kernels see --------------------------------------------------- */

/* Sums of each byte and its neighbours, which exist: out is guint8. */
static void
neighbours_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      const guint8 *in = fake_input (b, i);
      guint8 *out = fake_output (b, i);
      for (guint64 k = 0; k < fake_elements (b, i); k++)
        out[k] = in[(gssize)k - 1] + in[k] + in[k + 1];
      /* The halo's other end. */
      out[0] += in[-2];
    }
}

static gboolean
neighbours (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
            GError **error)
{
  fake_launch (stream, neighbours_kernel, bundle, data);
  return fake_check ("neighbours", error);
}

static void
check_neighbours (const HassBlock *b)
{
  gboolean ok = TRUE;
  for (gsize k = 0; k < b->count; k++)
    {
      const guint8 *in = b->input + k;
      ok &= b->output[k]
            == (guint8)(in[-1] + in[0] + in[1] + (k == 0 ? in[-2] : 0));
    }
  CU_ASSERT_TRUE (ok);
}

static void
halos (void)
{
  Rig r;
  HassDeviceFarm farm = { .name = "farm", .gpu_worker = neighbours };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  for (guint pinned = 0; pinned < 2; pinned++)
    {
      guint8 out[1000];
      guint8 *in = pinned ? hass_memory_alloc (1000, NULL) : g_malloc (1000);
      fill (in, 1000, 9);
      HassBlock b[3];
      for (guint i = 0; i < 3; i++)
        {
          b[i] = block (in + 10 + 300 * i, out + 300 * i, 200 + 10 * i);
          b[i].halo_before = 2 + i;
          b[i].halo_after = 1 + i;
        }
      memset (out, 0, sizeof out);
      run (&r, b, 3);
      for (guint i = 0; i < 3; i++)
        check_neighbours (&b[i]);
      run (&r, b + 1, 1);
      check_neighbours (&b[1]);
      if (pinned)
        hass_memory_free (in);
      else
        g_free (in);
    }
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.transfers.direct_bytes, 210 + 3 + 2);
}

/* Halos make a stretch begin and end in the middle of a line. What is copied
   beside it is its load's, for others may be writing elsewhere. */
static void
whole_lines (void)
{
  enum
  {
    BYTES = 16384,
    LINE = 256
  };
  static const struct
  {
    gsize load, load_end;     /* both 0: elsewhere */
    gsize first, end, copied; /* of the block, its halos apart; bytes */
  } cases[] = {
    { 0, BYTES, 4 * LINE, 12 * LINE, 10 * LINE },
    { 0, BYTES, 4 * LINE + 100, 4 * LINE + 110, LINE },
    { 4 * LINE - 2, BYTES, 4 * LINE, 5 * LINE - 1, LINE + 2 },
    { 4 * LINE - 100, BYTES, 4 * LINE, 5 * LINE - 1, LINE + 100 },
    { 0, 5 * LINE, 4 * LINE, 5 * LINE - 1, 2 * LINE },
    { 0, 5 * LINE + 9, 4 * LINE, 5 * LINE, 2 * LINE + 9 },
    { 0, 0, 4 * LINE, 5 * LINE, LINE + 3 },
    { 8 * LINE, BYTES, 4 * LINE, 5 * LINE, LINE + 3 },
    { 0, LINE, 4 * LINE, 5 * LINE, LINE + 3 },
  };
  Rig r;
  HassDeviceFarm farm = { .name = "farm", .gpu_worker = neighbours };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  guint8 *in = hass_memory_alloc (BYTES, NULL);
  g_autofree guint8 *out = g_malloc (BYTES);
  fill (in, BYTES, 9);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gboolean elsewhere = cases[i].load_end == 0;
      HassLoad load = { .input = elsewhere ? NULL : in + cases[i].load,
                        .input_bytes = cases[i].load_end - cases[i].load };
      HassBlock b
          = block (in + cases[i].first, out, cases[i].end - cases[i].first);
      b.load = &load;
      b.halo_before = 2;
      b.halo_after = 1;
      guint64 before = fake_cudart_counts ().bytes_to_device;
      run (&r, &b, 1);
      check_neighbours (&b);
      CU_ASSERT_EQUAL (fake_cudart_counts ().bytes_to_device - before,
                       cases[i].copied);
    }
  guint ragged = fake_cudart_counts ().ragged_copies;
  CU_ASSERT_EQUAL (ragged, G_N_ELEMENTS (cases) - 3);
  /* Tables lie before the inputs of several. */
  HassLoad load = { .input = in, .input_bytes = BYTES };
  HassBlock three[3];
  for (guint i = 0; i < 3; i++)
    {
      three[i] = block (in + 1281 + 100 * i, out + 100 * i, 100);
      three[i].load = &load;
    }
  three[0].halo_before = 2;
  three[2].halo_after = 1;
  run (&r, three, 3);
  for (guint i = 0; i < 3; i++)
    check_neighbours (&three[i]);
  hass_memory_free (in);
  rig_clear (&r);
}

/* A large stretch with halos, at odd addresses: pages of it are pinned. */
static void
halos_of_pinned_pages (void)
{
  enum
  {
    BYTES = 2 << 20
  };
  Rig r;
  HassDeviceFarm farm = { .name = "farm", .gpu_worker = neighbours };
  guint8 *in = g_malloc (BYTES + 100), *out = g_malloc (BYTES);
  fill (in, BYTES + 100, 4);
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  for (guint i = 0; i < 4; i++)
    {
      HassBlock b = block (in + 13, out, BYTES);
      b.halo_before = 13;
      b.halo_after = 17;
      memset (out, 0, BYTES);
      run (&r, &b, 1);
      check_neighbours (&b);
    }
  rig_clear (&r);
  CU_ASSERT_TRUE (r.transfers.registered_bytes > 0);
  g_free (in);
  g_free (out);
}

/* Tiles of 8 rows of 5 bytes from and to matrices of 64 bytes a row. */
static void
tiles (void)
{
  Rig r;
  rig_init (&r, &(FakePlan){ 0 }, &shifts);
  for (guint pinned = 0; pinned < 2; pinned++)
    {
      guint8 *in = pinned ? hass_memory_alloc (4096, NULL) : g_malloc (4096);
      guint8 *out = pinned ? hass_memory_alloc (4096, NULL) : g_malloc (4096);
      HassBlock b[3];
      fill (in, 4096, 11);
      memset (out, 0, 4096);
      for (guint i = 0; i < 3; i++)
        {
          gsize at = 64 * 8 * i + 7 * i;
          b[i] = block (in + at, out + at, 40);
          b[i].input_row_bytes = b[i].output_row_bytes = 5;
          b[i].input_pitch = b[i].output_pitch = 64;
        }
      for (guint alone = 0; alone < 2; alone++)
        {
          gboolean ok = TRUE;
          memset (out, 0, 4096);
          run (&r, b, alone ? 1 : 3);
          for (gsize at = 0; at < 4096; at++)
            {
              gsize row = at / 64, i = row / 8, column = at % 64;
              gboolean inside = i < (alone ? 1 : 3) && column >= 7 * i
                                && column < 7 * i + 5;
              ok &= out[at] == (inside ? (guint8)(in[at] + 1) : 0);
            }
          CU_ASSERT_TRUE (ok);
        }
      if (pinned)
        {
          hass_memory_free (in);
          hass_memory_free (out);
        }
      else
        {
          g_free (in);
          g_free (out);
        }
    }
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.counts.calls[FAKE_COPY_ROWS], 4);
  CU_ASSERT_EQUAL (r.counts.pageable_copies, 0);
}

/* An array of 10 x 30 bytes, its rows 32 apart, in tiles of 3 x 8: 4 in each of
   4 rows, the last 6 wide, those below 1 high. */
enum
{
  ARRAY_ROWS = 10,
  ARRAY_BYTES = 30,
  ARRAY_PITCH = 32,
  ARRAY_ACROSS = 4
};

static HassBlock
array_tile (guint8 *array, gsize index)
{
  gsize row = index / ARRAY_ACROSS * 3, at = index % ARRAY_ACROSS * 8;
  gsize wide = MIN (8, ARRAY_BYTES - at), high = MIN (3, ARRAY_ROWS - row);
  return (HassBlock){ .load = &a_load,
                      .first = index,
                      .count = 1,
                      .output = array + row * ARRAY_PITCH + at,
                      .output_bytes = wide * high,
                      .output_row_bytes = wide,
                      .output_pitch = ARRAY_PITCH };
}

/* Each byte of a tile is its number and one; kernels cannot see the host's
   descriptors, so they get them as data. */
static void
number_kernel (const HassBundle *b, gpointer data)
{
  const HassBlock *blocks = data;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      gsize wide = blocks[i].output_row_bytes;
      gsize pitch = b->output_pitches ? b->output_pitches[i] : wide;
      for (gsize row = 0; row < blocks[i].output_bytes / wide; row++)
        memset (fake_output (b, i) + row * pitch, (int)blocks[i].first + 1,
                wide);
    }
}

static gboolean
number (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  static HassBlock blocks[16];
  (void)data;
  memcpy (blocks, bundle->blocks, bundle->n_blocks * sizeof *blocks);
  fake_launch (stream, number_kernel, bundle, blocks);
  return fake_check ("number", error);
}

/* Runs tiles from the first on; all others must stay as they are. */
static void
run_array (Rig *r, guint8 *array, gsize first, gsize n)
{
  HassBlock b[16];
  gboolean ok = TRUE;
  memset (array, 0, ARRAY_ROWS * ARRAY_PITCH);
  for (gsize i = 0; i < n; i++)
    b[i] = array_tile (array, first + i);
  run (r, b, n);
  for (gsize at = 0; at < ARRAY_ROWS * ARRAY_PITCH; at++)
    {
      gsize row = at / ARRAY_PITCH, column = at % ARRAY_PITCH;
      gsize tile = row / 3 * ARRAY_ACROSS + column / 8;
      gboolean inside
          = column < ARRAY_BYTES && tile >= first && tile < first + n;
      ok &= array[at] == (inside ? tile + 1 : 0);
    }
  CU_ASSERT_TRUE (ok);
}

/* Straight, through staging, and with a deadline; joined or not. Copies are
   counted: one for each rectangle that goes straight. */
static void
joined_tiles (void)
{
  static const struct
  {
    gsize first, n;
    guint copies[2]; /* of rows: not joined, joined; one row is none */
  } cases[] = { { 0, 16, { 12, 1 } },
                { 1, 6, { 6, 2 } },
                { 3, 6, { 6, 3 } },
                { 5, 1, { 1, 1 } },
                { 12, 4, { 0, 0 } } };
  for (guint join = 0; join < 2; join++)
    for (guint way = 0; way < 3; way++)
      for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
        {
          HassDeviceFarm farm
              = { .name = "farm", .gpu_worker = number, .join_tiles = join };
          Rig r;
          if (way == 2)
            farm.bundle_deadline_ns = (gint64)60e9;
          rig_init (&r, &(FakePlan){ 0 }, &farm);
          gsize bytes = ARRAY_ROWS * ARRAY_PITCH;
          guint8 *array
              = way == 1 ? g_malloc (bytes) : hass_memory_alloc (bytes, NULL);
          run_array (&r, array, cases[i].first, cases[i].n);
          if (way == 1)
            g_free (array);
          else
            hass_memory_free (array);
          rig_clear (&r);
          CU_ASSERT_EQUAL (r.counts.calls[FAKE_COPY_ROWS],
                           way == 0 ? cases[i].copies[join] : 0);
          CU_ASSERT_EQUAL (r.counts.pageable_copies, 0);
        }
}

/* Tiles as wide as their array lie one after another there as well. */
static void
whole_rows (void)
{
  HassDeviceFarm farm
      = { .name = "farm", .gpu_worker = number, .join_tiles = TRUE };
  Rig r;
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  guint8 *array = hass_memory_alloc (6 * 16, NULL);
  HassBlock b[6];
  for (guint i = 0; i < 6; i++)
    b[i] = (HassBlock){ .load = &a_load,
                        .first = i,
                        .count = 1,
                        .output = array + i / 2 * 32 + i % 2 * 8,
                        .output_bytes = 16,
                        .output_row_bytes = 8,
                        .output_pitch = 16 };
  run (&r, b, 6);
  for (guint at = 0; at < 6 * 16; at++)
    CU_ASSERT_EQUAL (array[at], at / 32 * 2 + at % 16 / 8 + 1);
  hass_memory_free (array);
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.counts.calls[FAKE_COPY_ROWS], 0);
}

static void
add_constants_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  const guint8 *first = b->constants[0];
  const guint32 *third = b->constants[2];
  for (gsize k = 0; k < b->n_elements; k++)
    b->output[k] = b->input[k] + first[k % 3] + third[1];
}

static gboolean
add_constants (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
               GError **error)
{
  CU_ASSERT_EQUAL (bundle->n_constants, 3);
  fake_launch (stream, add_constants_kernel, bundle, data);
  return fake_check ("add", error);
}

static void
constants (void)
{
  Rig r;
  guint8 in[100], out[100];
  static const guint8 first[] = { 1, 2, 3 };
  static const guint32 third[] = { 0, 40 };
  HassConstant all[] = { { first, 3 }, { NULL, 0 }, { third, sizeof third } };
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = add_constants,
                          .constants = all,
                          .n_constants = 3 };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  fill (in, 100, 0);
  for (guint i = 0; i < 3; i++)
    {
      HassBlock b = block (in, out, 100);
      gboolean ok = TRUE;
      run (&r, &b, 1);
      for (gsize k = 0; k < 100; k++)
        ok &= out[k] == (guint8)(in[k] + first[k % 3] + 40);
      CU_ASSERT_TRUE (ok);
    }
  rig_clear (&r);
  CU_ASSERT_EQUAL (r.transfers.constant_bytes, 3 + sizeof third);
}

/* Of the GPU, before and after a farm with constants of so many bytes. */
static gboolean
learns_link_from (gsize bytes, gboolean pinned)
{
  Rig r;
  HassDeviceFarm none = { .name = "farm", .gpu_worker = add_constants };
  HassDeviceTraits before, after;
  rig_init (&r, &(FakePlan){ 0 }, &none);
  r.device->ops->close (r.device);
  r.device->ops->describe (r.device, &before);
  guint8 *memory = pinned ? hass_memory_alloc (bytes, NULL) : g_malloc (bytes);
  HassConstant constant = { memory, bytes };
  HassDeviceFarm farm = none;
  farm.constants = &constant;
  farm.n_constants = 1;
  CU_ASSERT_TRUE (r.device->ops->open (r.device, &farm, NULL));
  r.device->ops->describe (r.device, &after);
  pinned ? hass_memory_free (memory) : g_free (memory);
  rig_clear (&r);
  CU_ASSERT_EQUAL (before.link_bytes_per_ns, 25);
  return after.link_bytes_per_ns != before.link_bytes_per_ns;
}

static void
constants_tell_of_the_link (void)
{
  CU_ASSERT_TRUE (learns_link_from (16 << 20, TRUE));
  CU_ASSERT_FALSE (learns_link_from (16 << 20, FALSE));
  CU_ASSERT_FALSE (learns_link_from (1 << 20, TRUE));
}

static void
own_bundler_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    for (gsize k = 0; k < fake_input_bytes (b, i); k++)
      fake_output (b, i)[k] = fake_input (b, i)[k] ^ 0x55;
}

static gboolean
own_bundler_worker (const HassBundle *bundle, HassGpuStream *stream,
                    gpointer data, GError **error)
{
  fake_launch (stream, own_bundler_kernel, bundle, data);
  return fake_check ("own", error);
}

/* Reversed bytes, blocks from the last. */
static gboolean
reverse_in (const HassBlock *blocks, gsize n, HassStaging *s, gpointer data,
            GError **error)
{
  (void)data, (void)error;
  s->offsets[0] = 0;
  for (gsize i = 0; i < n; i++)
    {
      for (gsize k = 0; k < blocks[i].input_bytes; k++)
        s->data[s->offsets[i] + k]
            = blocks[i].input[blocks[i].input_bytes - 1 - k];
      s->offsets[i + 1] = s->offsets[i] + blocks[i].input_bytes;
    }
  return TRUE;
}

static gboolean
reverse_out (const HassBlock *blocks, gsize n, const HassStaging *s,
             gpointer data, GError **error)
{
  (void)data, (void)error;
  for (gsize i = 0; i < n; i++)
    for (gsize k = 0; k < blocks[i].output_bytes; k++)
      blocks[i].output[k]
          = s->data[s->offsets[i] + blocks[i].output_bytes - 1 - k];
  return TRUE;
}

static void
own_bundler (void)
{
  Rig r;
  guint8 in[100], out[100];
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = own_bundler_worker,
                          .bundle = reverse_in,
                          .unbundle = reverse_out };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  fill (in, 100, 0);
  for (guint n = 1; n < 3; n++)
    {
      gboolean ok = TRUE;
      HassBlock b[] = { block (in, out, 30), block (in + 30, out + 30, 70) };
      memset (out, 0, 100);
      run (&r, b, n);
      for (gsize k = 0; k < (n == 1 ? 30 : 100); k++)
        ok &= out[k] == (in[k] ^ 0x55);
      CU_ASSERT_TRUE (ok);
    }
  rig_clear (&r);
}

/* -- Results of other kinds --------------------------------------------- */

/* As many records for each block as its input says, each with its number. */
static void
append_kernel (const HassBundle *b, gpointer data)
{
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      guint32 n;
      memcpy (&n, fake_input (b, i), sizeof n);
      for (guint32 k = 0; k < n; k++)
        fake_append (b, (guint32)i, &k);
    }
}

static gboolean
append (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  fake_launch (stream, append_kernel, bundle, data);
  return fake_check ("append", error);
}

static void
check_records (const HassBundleDone *done, const guint32 *wanted, guint n)
{
  guint64 total = 0;
  g_autofree guint32 *next = g_new0 (guint32, n);
  gboolean ok = TRUE;
  for (guint i = 0; i < n; i++)
    total += wanted[i];
  CU_ASSERT_EQUAL_FATAL (done->n_records, total);
  const guint32 *record = done->records;
  for (guint64 k = 0; k < total; k++)
    {
      guint32 i = n > 1 ? done->record_blocks[k] : 0;
      ok &= i < n && record[k] == next[i]++;
    }
  for (guint i = 0; i < n; i++)
    ok &= next[i] == wanted[i];
  CU_ASSERT_TRUE (ok);
}

static void
records (void)
{
  Rig r;
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = append,
                          .record_bytes = sizeof (guint32),
                          .records_per_element = 0.1 };
  static const guint32 wanted[][3]
      = { { 5, 0, 7 },     { 0, 0, 0 }, { 100, 900, 1 },  { 700, 800, 900 },
          { 50000, 0, 1 }, { 3, 2, 1 }, { 0, 0, 200000 }, { 60000, 1, 60000 } };
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  for (guint i = 0; i < G_N_ELEMENTS (wanted); i++)
    for (guint n = 1; n <= 3; n += 2)
      {
        HassBlock b[3];
        for (guint k = 0; k < 3; k++)
          {
            b[k] = block (&wanted[i][k], NULL, sizeof (guint32));
            b[k].count = 1;
          }
        HassBundleDone done = run (&r, b, n);
        check_records (&done, wanted[i], n);
      }
  rig_clear (&r);
  /* The larger ones were computed twice, and only those. */
  CU_ASSERT_TRUE (r.counts.kernels > 2 * G_N_ELEMENTS (wanted));
  CU_ASSERT_TRUE (r.counts.kernels <= 3 * G_N_ELEMENTS (wanted));
}

/* Records that do not fit in the memory there is: fewer blocks may do. */
static void
too_many_records (void)
{
  Rig r;
  guint32 n = 200000;
  HassBundleDone done = { 0 };
  GError *error = NULL;
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = append,
                          .record_bytes = sizeof (guint32) };
  HassBlock b = block (&n, NULL, sizeof n);
  b.count = 1;
  rig_init (&r, &(FakePlan){ .memory_bytes = 1 << 20 }, &farm);
  CU_ASSERT_TRUE (submit (&r, 0, &b, 1));
  done = wait_any (&r, &error);
  CU_ASSERT_TRUE (done.failed && done.too_large && !done.lost);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY));
  g_clear_error (&error);
  n = 7;
  done = run (&r, &b, 1);
  check_records (&done, &n, 1);
  rig_clear (&r);
}

static void
sum_kernel (const HassBundle *b, gpointer data)
{
  guint64 *sum = b->accumulator;
  (void)data;
  for (gsize i = 0; i < b->n_blocks; i++)
    for (guint64 k = 0; k < fake_elements (b, i); k++)
      *sum += fake_input (b, i)[k];
}

static gboolean
sum (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
     GError **error)
{
  fake_launch (stream, sum_kernel, bundle, data);
  return fake_check ("sum", error);
}

static void
accumulators (void)
{
  static const guint64 start = 1000;
  for (guint i = 0; i < 2; i++)
    {
      Rig r;
      guint8 in[100];
      HassDeviceFarm farm = { .name = "farm",
                              .gpu_worker = sum,
                              .accumulator_bytes = sizeof (guint64),
                              .accumulator_init = i ? &start : NULL };
      rig_init (&r, &(FakePlan){ 0 }, &farm);
      memset (in, 3, sizeof in);
      HassBlock b[] = { block (in, NULL, 60), block (in + 60, NULL, 40) };
      for (guint n = 1; n <= 2; n++)
        {
          HassBundleDone done = run (&r, b, n);
          CU_ASSERT_PTR_NOT_NULL_FATAL (done.accumulator);
          CU_ASSERT_EQUAL (*(const guint64 *)done.accumulator,
                           (n == 1 ? 180 : 300) + (i ? start : 0));
        }
      rig_clear (&r);
    }
}

/* -- Tasks -------------------------------------------------------------- */

static void
multiply_kernel (const HassBundle *b, gpointer data)
{
  guint factor = GPOINTER_TO_UINT (data);
  for (gsize i = 0; i < b->n_blocks; i++)
    fake_output (b, i)[0]
        = (guint8)(fake_input (b, i)[0] * factor + b->functions[i]);
}

static guint n_calls[3];

static gboolean
twice (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
       GError **error)
{
  (void)data;
  n_calls[0]++;
  fake_launch (stream, multiply_kernel, bundle, GUINT_TO_POINTER (2));
  return fake_check ("twice", error);
}

static gboolean
thrice (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)data;
  n_calls[1]++;
  fake_launch (stream, multiply_kernel, bundle, GUINT_TO_POINTER (3));
  return fake_check ("thrice", error);
}

static gboolean
fourfold (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  (void)data;
  n_calls[2]++;
  fake_launch (stream, multiply_kernel, bundle, GUINT_TO_POINTER (4));
  return fake_check ("fourfold", error);
}

static const HassGpuWorkerFunc task_workers[] = { twice, thrice, fourfold };

static HassGpuWorkerFunc
worker_of (const HassLoad *load)
{
  return task_workers[GPOINTER_TO_UINT (load->tag) % 3];
}

static guint32
function_of (const HassLoad *load)
{
  return GPOINTER_TO_UINT (load->tag) / 3;
}

static void
tasks (void)
{
  enum
  {
    N = 20
  };
  Rig r;
  guint8 in[N], out[N];
  HassLoad loads[N];
  HassBlock b[N];
  HassDeviceFarm farm = { .name = "farm",
                          .kind = HASS_FARM_FUNCTION,
                          .gpu_worker_of = worker_of,
                          .gpu_function_of = function_of };
  rig_init (&r, &(FakePlan){ .kernel_delay_us = 50 }, &farm);
  memset (n_calls, 0, sizeof n_calls);
  for (guint i = 0; i < N; i++)
    {
      in[i] = i + 1;
      loads[i] = (HassLoad){ .tag = GUINT_TO_POINTER (i * 5 % 17) };
      b[i] = block (&in[i], &out[i], 1);
      b[i].load = &loads[i];
    }
  for (guint n = 1; n <= N; n++)
    {
      gboolean ok = TRUE;
      memset (out, 0, sizeof out);
      run (&r, b, n);
      for (guint i = 0; i < n; i++)
        {
          guint tag = GPOINTER_TO_UINT (loads[i].tag);
          ok &= out[i] == (guint8)(in[i] * (2 + tag % 3) + tag / 3);
        }
      CU_ASSERT_TRUE (ok);
    }
  /* One call for all tasks of a worker: never more than bundles. */
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_TRUE (n_calls[i] > 0 && n_calls[i] <= N);
  rig_clear (&r);
}

/* -- Several at once ---------------------------------------------------- */

static sem_t gate;

static void
gate_kernel (const HassBundle *b, gpointer data)
{
  if (b->input[0] == 200)
    sem_wait (&gate);
  shift_kernel (b, data);
}

static gboolean
gated (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
       GError **error)
{
  fake_launch (stream, gate_kernel, bundle, data);
  return fake_check ("gated", error);
}

static void
overlapped (void)
{
  Rig r;
  guint8 in[] = { 200, 1, 2, 3 }, out[4] = { 0 };
  HassBlock b[4];
  HassDeviceTraits traits;
  /* With a deadline a device looks at all bundles again and again. */
  HassDeviceFarm farm = { .name = "farm",
                          .gpu_worker = gated,
                          .bundle_deadline_ns = 600 * (gint64)1000000000 };
  sem_init (&gate, 0, 0);
  rig_init (&r, &(FakePlan){ 0 }, &farm);
  r.device->ops->describe (r.device, &traits);
  CU_ASSERT_TRUE_FATAL (traits.max_in_flight >= 3);
  for (guint i = 0; i < 3; i++)
    {
      b[i] = block (&in[i], &out[i], 1);
      submit (&r, i, &b[i], 1);
    }
  /* The first stands still, the others come past it. */
  while (fake_cudart_counts ().bytes_to_host < 2)
    g_usleep (100);
  CU_ASSERT_EQUAL (wait_done (&r).slot, 1);
  CU_ASSERT_EQUAL (wait_done (&r).slot, 2);
  CU_ASSERT_EQUAL (out[0], 0);
  CU_ASSERT_EQUAL (out[1], 2);
  CU_ASSERT_EQUAL (out[2], 3);
  sem_post (&gate);
  CU_ASSERT_EQUAL (wait_done (&r).slot, 0);
  CU_ASSERT_EQUAL (out[0], 201);
  rig_clear (&r);
  sem_destroy (&gate);
}

/* Streams, events and buffers are made once, not for each farm. */
static void
kept (void)
{
  Rig r;
  guint8 in[5000], out[5000];
  HassBlock b = block (in, out, sizeof in);
  fill (in, sizeof in, 0);
  rig_init (&r, &(FakePlan){ 0 }, &shifts);
  run (&r, &b, 1);
  r.device->ops->close (r.device);
  FakeCounts before = fake_cudart_counts ();
  HassDevice *again = hass_cuda_device_new (0);
  CU_ASSERT_TRUE (again->ops->open (again, &r.farm, NULL));
  HassDevice *first = r.device;
  r.device = again;
  run (&r, &b, 1);
  FakeCounts after = fake_cudart_counts ();
  CU_ASSERT_EQUAL (before.calls[FAKE_STREAM_NEW], after.calls[FAKE_STREAM_NEW]);
  CU_ASSERT_EQUAL (before.calls[FAKE_EVENT_NEW], after.calls[FAKE_EVENT_NEW]);
  hass_cuda_device_free (first);
  rig_clear (&r);
}

/* -- What there is ------------------------------------------------------ */

static void
described (void)
{
  Rig r;
  HassDeviceTraits traits;
  rig_init (
      &r,
      &(FakePlan){ .multiprocessors = 7, .threads = 11, .memory_bytes = 12345 },
      &shifts);
  r.device->ops->describe (r.device, &traits);
  CU_ASSERT_STRING_EQUAL (traits.name, "gpu0");
  CU_ASSERT_STRING_EQUAL (traits.model, "Fake GPU 0");
  CU_ASSERT_EQUAL (traits.kind, HASS_DEVICE_GPU);
  CU_ASSERT_EQUAL (traits.cores, 7);
  CU_ASSERT_EQUAL (traits.width, 77);
  CU_ASSERT_EQUAL (traits.memory_bytes, 12345);
  rig_clear (&r);
}

/* Of compute capability so and so. */
static double
link_of (guint compute_major)
{
  Rig r;
  HassDeviceTraits traits;
  rig_init (&r, &(FakePlan){ .compute_major = compute_major }, &shifts);
  r.device->ops->describe (r.device, &traits);
  rig_clear (&r);
  return traits.link_bytes_per_ns;
}

static void
links_by_generation (void)
{
  static const double want[] = { 25, 12, 12, 12, 12, 12, 12, 12, 25, 50, 50 };
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    CU_ASSERT_EQUAL (link_of (i), want[i]);
}

static void
counted (void)
{
  hass_gpus_forget ();
  fake_cudart_install (&(FakePlan){ .n_devices = 3 });
  g_setenv ("HASS_NGPU", "0", TRUE);
  CU_ASSERT_EQUAL (hass_gpus_count (), 0);
  CU_ASSERT_EQUAL (fake_cudart_counts ().n_calls, 0);
  g_setenv ("HASS_NGPU", "2", TRUE);
  CU_ASSERT_EQUAL (hass_gpus_count (), 2);
  g_setenv ("HASS_NGPU", "9", TRUE);
  CU_ASSERT_EQUAL (hass_gpus_count (), 3);
  g_unsetenv ("HASS_NGPU");
  CU_ASSERT_EQUAL (hass_gpus_count (), 3);
  CU_ASSERT_PTR_NULL (hass_gpus_problem ());
  hass_gpus_forget ();
  CU_ASSERT_STRING_EQUAL (fake_cudart_remove ().wrong, "");
}

static void
absent (void)
{
  static const struct
  {
    int code;
    const char *text;
  } ways[] = { { FAKE_NO_DRIVER, "driver version is insufficient" },
               { FAKE_NO_DEVICE, "no CUDA-capable device" } };
  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      hass_gpus_forget ();
      fake_cudart_install (&(FakePlan){ .device_count_code = ways[i].code });
      CU_ASSERT_EQUAL (hass_gpus_count (), 0);
      const char *why = hass_gpus_problem ();
      CU_ASSERT_TRUE (why && strstr (why, ways[i].text));
      gpointer memory = hass_memory_alloc (10, NULL);
      CU_ASSERT_PTR_NOT_NULL (memory);
      hass_memory_free (memory);
      hass_gpus_forget ();
      CU_ASSERT_STRING_EQUAL (fake_cudart_remove ().wrong, "");
    }
}

/* -- Memory ------------------------------------------------------------- */

static void
budget (void)
{
  Rig r;
  enum
  {
    BYTES = 300000
  };
  guint8 *in = g_malloc (BYTES), *out = g_malloc (BYTES);
  HassBlock large = block (in, out, BYTES), small = block (in, out, 100000);
  HassDeviceTraits traits;
  g_autoptr (GError) error = NULL;
  fill (in, BYTES, 1);
  g_setenv ("HASS_GPU_MEM", "500K", TRUE);
  rig_init (&r, &(FakePlan){ 0 }, &shifts);
  r.device->ops->describe (r.device, &traits);
  CU_ASSERT_EQUAL (traits.memory_bytes, 500 << 10);
  CU_ASSERT_FALSE (r.device->ops->submit (r.device, 0, &large, 1, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY));
  CU_ASSERT_TRUE (error && strstr (error->message, "gpu0"));
  /* What does not fit beside another does when that has left. */
  CU_ASSERT_TRUE (submit (&r, 0, &small, 1));
  wait_done (&r);
  CU_ASSERT_TRUE (is_shifted (out, in, 100000));
  g_unsetenv ("HASS_GPU_MEM");
  rig_clear (&r);
  CU_ASSERT_TRUE (r.counts.most_bytes[0] <= 500 << 10);
  CU_ASSERT_TRUE (r.transfers.peak_bytes <= 500 << 10);
  CU_ASSERT_TRUE (r.transfers.peak_bytes >= 200000);
  g_free (in);
  g_free (out);
}

/* What other slots held before is not in the way of a large bundle. */
static void
idle_slots_give (void)
{
  Rig r;
  enum
  {
    BYTES = 400000
  };
  guint8 *in = g_malloc (BYTES), *out = g_malloc (BYTES);
  HassBlock large = block (in, out, BYTES), small = block (in, out, 100000);
  fill (in, BYTES, 1);
  g_setenv ("HASS_GPU_MEM", "1M", TRUE);
  rig_init (&r, &(FakePlan){ 0 }, &shifts);
  for (guint slot = 0; slot < 3; slot++)
    {
      CU_ASSERT_TRUE (submit (&r, slot, &small, 1));
      wait_done (&r);
    }
  CU_ASSERT_TRUE (submit (&r, 3, &large, 1));
  wait_done (&r);
  CU_ASSERT_TRUE (is_shifted (out, in, BYTES));
  g_unsetenv ("HASS_GPU_MEM");
  rig_clear (&r);
  CU_ASSERT_TRUE (r.counts.most_bytes[0] <= 1 << 20);
  g_free (in);
  g_free (out);
}

static void
bad_limits (void)
{
  static const char *const bad[]
      = { "x", "-1", "0", "1X", "1GG", "1e9", " 5", "99999999999T" };
  static const struct
  {
    const char *text;
    guint64 bytes;
  } good[] = { { "1", 1 },
               { "3k", 3 << 10 },
               { "2M", 2 << 20 },
               { "5G", G_GUINT64_CONSTANT (5) << 30 },
               { "1T", G_GUINT64_CONSTANT (1) << 40 },
               { "", G_MAXUINT64 } };
  guint64 bytes;
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      g_setenv ("HASS_GPU_MEM", bad[i], TRUE);
      CU_ASSERT_FALSE (hass_gpus_memory_limit (&bytes, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      if (!error)
        printf ("\n    %s", bad[i]);
    }
  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_setenv ("HASS_GPU_MEM", good[i].text, TRUE);
      CU_ASSERT_TRUE (hass_gpus_memory_limit (&bytes, NULL));
      CU_ASSERT_EQUAL (bytes, good[i].bytes);
    }
  g_unsetenv ("HASS_GPU_MEM");
}

/* -- Failing ------------------------------------------------------------ */

static guint unseen_at; /* this call of the worker */

static gboolean
careless (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  (void)error;
  fake_launch (stream, shift_kernel, bundle, data);
  return TRUE;
}

static gboolean
refusing (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  shift (bundle, stream, data, error);
  if (--unseen_at > 0)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "I do not want to");
  return FALSE;
}

/* A worker that fails, or whose launch does unseen, leaves nothing behind. */
static void
failing_worker (void)
{
  for (guint i = 0; i < 2; i++)
    {
      Rig r;
      guint8 in[] = "abc", out[3] = { 0 };
      HassBlock b = block (in, out, 3);
      FakePlan plan = { .fail_at[FAKE_LAUNCH] = i == 0 ? 2 : 0 };
      HassDeviceFarm farm
          = { .name = "farm", .gpu_worker = i == 0 ? careless : refusing };
      g_autoptr (GError) error = NULL;
      unseen_at = 2;
      rig_init (&r, &plan, &farm);
      run (&r, &b, 1);
      memset (out, 0, 3);
      CU_ASSERT_FALSE (r.device->ops->submit (r.device, 0, &b, 1, &error));
      CU_ASSERT_TRUE (error
                      && strstr (error->message,
                                 i == 0 ? "too many resources" : "not want"));
      CU_ASSERT_EQUAL (out[0], 0);
      unseen_at = 9;
      run (&r, &b, 1);
      CU_ASSERT_TRUE (is_shifted (out, in, 3));
      rig_clear (&r);
    }
}

static void
sticky (void)
{
  Rig r;
  guint8 in[] = "abc", out[3] = { 0 };
  HassBlock b = block (in, out, 3);
  g_autoptr (GError) error = NULL;
  rig_init (&r, &(FakePlan){ .n_devices = 2, .sticky_at_kernel = 2 }, &shifts);
  run (&r, &b, 1);
  CU_ASSERT_EQUAL (hass_gpus_count (), 2);
  /* The assert may come while the bundle is still being enqueued. */
  if (r.device->ops->submit (r.device, 0, &b, 1, &error))
    {
      HassBundleDone done = wait_any (&r, &error);
      CU_ASSERT_TRUE (done.failed && done.lost);
    }
  CU_ASSERT_TRUE (error && strstr (error->message, "assert"));
  CU_ASSERT_FALSE (r.device->ops->submit (r.device, 1, &b, 1, NULL));
  CU_ASSERT_EQUAL (hass_gpus_count (), 0);
  CU_ASSERT_TRUE (hass_gpus_problem ()
                  && strstr (hass_gpus_problem (), "assert"));
  rig_clear (&r);
}

/* A hung bundle is given up, and nothing waits for it, closing neither. */
static void
deadline (void)
{
  Rig r;
  guint8 in[] = "abc";
  HassBundleDone done = { 0 };
  g_autoptr (GError) error = NULL, refused = NULL;
  HassDeviceFarm farm = shifts;
  farm.bundle_deadline_ns = DEADLINE_NS;
  rig_init (
      &r, &(FakePlan){ .n_devices = 2, .hang_kernel_at = 2, .hang_ms = 600000 },
      &farm);
  guint8 *out = hass_memory_alloc (3, NULL);
  HassBlock b = block (in, out, 3);
  run (&r, &b, 1);
  memset (out, 0, 3);
  submit (&r, 0, &b, 1);
  done = wait_any (&r, &error);
  CU_ASSERT_TRUE (done.failed && done.lost);
  CU_ASSERT_TRUE (error && strstr (error->message, "longer than 1000 ms"));
  r.device->ops->close (r.device);
  CU_ASSERT_TRUE (fake_hanging ());
  HassDevice *second = hass_cuda_device_new (0);
  CU_ASSERT_FALSE (second->ops->open (second, &farm, &refused));
  CU_ASSERT_TRUE (refused && strstr (refused->message, "not come back"));
  hass_cuda_device_free (second);
  second = hass_cuda_device_new (1);
  CU_ASSERT_TRUE (second->ops->open (second, &farm, NULL));
  HassDevice *first = r.device;
  r.device = second;
  run (&r, &b, 1);
  CU_ASSERT_TRUE (is_shifted (out, in, 3));
  CU_ASSERT_TRUE (fake_hanging ());
  hass_cuda_device_free (first);
  /* What comes back late goes to nobody's memory. */
  memset (out, 77, 3);
  fake_end_hang ();
  while (fake_cudart_counts ().kernels < 3
         || fake_cudart_counts ().bytes_to_host < 9)
    g_usleep (1000);
  CU_ASSERT_EQUAL (out[0], 77);
  hass_memory_free (out);
  rig_clear (&r);
}

/* Growing a buffer frees one, which would wait for the device: later, beside a
   bundle that may be hung. */
static void
growth_beside_a_hang (void)
{
  enum
  {
    BYTES = 300000
  };
  Rig r;
  guint8 *in = g_malloc (BYTES), *out = g_malloc (BYTES);
  HassBlock small = block (in, out, 3), large = block (in, out, BYTES);
  HassBundleDone done = { 0 };
  g_autoptr (GError) error = NULL;
  HassDeviceFarm farm = shifts;
  farm.bundle_deadline_ns = DEADLINE_NS;
  rig_init (&r, &(FakePlan){ .hang_kernel_at = 2, .hang_ms = 600000 }, &farm);
  submit (&r, 1, &small, 1);
  wait_done (&r);
  submit (&r, 0, &small, 1);
  while (!fake_hanging ())
    g_usleep (100);
  submit (&r, 1, &large, 1);
  done = wait_any (&r, &error);
  CU_ASSERT_TRUE (fake_hanging ());
  if (!done.failed) /* the other stream's has ended */
    done = wait_any (&r, &error);
  CU_ASSERT_TRUE (done.failed && done.lost);
  fake_end_hang ();
  rig_clear (&r);
  g_free (in);
  g_free (out);
}

/* An error of waiting that is not sticky: the bundles there have failed, the
   device has not. */
static void
failed_wait (void)
{
  for (guint i = 0; i < 3; i++)
    {
      Rig r;
      guint8 in[] = "abc", out[3] = { 0 };
      HassBlock b = block (in, out, 3);
      /* Long enough for all to be submitted, on a machine under load too. */
      FakePlan plan = { .kernel_delay_us = 150000 };
      HassBundleDone done = { 0 };
      g_autoptr (GError) error = NULL;
      rig_init (&r, &(FakePlan){ 0 }, &shifts);
      if (i == 0)
        plan.fail_at[FAKE_EVENT_WAIT] = 1;
      else if (i == 1)
        plan.fail_at[FAKE_EVENT_QUERY] = 1;
      else
        plan.fail_copy_at = 1;
      fake_cudart_plan (&plan);
      guint n = i < 2 ? 3 : 1;
      for (guint k = 0; k < n; k++)
        submit (&r, k, &b, 1);
      for (guint k = 0; k < n; k++)
        {
          done = wait_any (&r, &error);
          CU_ASSERT_TRUE (done.failed && !done.lost);
          CU_ASSERT_EQUAL (done.together, k > 0);
          CU_ASSERT_TRUE (
              k > 0 || (error && strstr (error->message, "not supported")));
        }
      run (&r, &b, 1);
      CU_ASSERT_TRUE (is_shifted (out, in, 3));
      rig_clear (&r);
    }
}

/* Tasks on side streams that could not be joined have ended before their
   buffers are used again. */
static void
failed_join (void)
{
  enum
  {
    N = 6
  };
  for (guint call = 1; call <= 12; call++)
    for (guint i = 0; i < 2; i++)
      {
        Rig r;
        guint8 in[N], out[N];
        HassLoad loads[N];
        HassBlock b[N];
        FakePlan plan = { .kernel_delay_us = 300 };
        HassDeviceFarm farm = { .name = "farm",
                                .kind = HASS_FARM_FUNCTION,
                                .gpu_worker_of = worker_of,
                                .gpu_function_of = function_of };
        rig_init (&r, &(FakePlan){ 0 }, &farm);
        plan.fail_at[i ? FAKE_STREAM_WAIT : FAKE_EVENT_RECORD] = call;
        fake_cudart_plan (&plan);
        for (guint k = 0; k < N; k++)
          {
            in[k] = k + 1;
            loads[k] = (HassLoad){ .tag = GUINT_TO_POINTER (k) };
            b[k] = block (&in[k], &out[k], 1);
            b[k].load = &loads[k];
          }
        for (guint k = 0; k < 3; k++)
          if (r.device->ops->submit (r.device, 0, b, N, NULL))
            wait_done (&r);
        CU_ASSERT_EQUAL (fake_cudart_counts ().faults, 1);
        memset (in, 50, sizeof in);
        memset (out, 0, sizeof out);
        run (&r, b, N);
        gboolean ok = TRUE;
        for (guint k = 0; k < N; k++)
          ok &= out[k] == (guint8)(50 * (2 + k % 3) + k / 3);
        CU_ASSERT_TRUE (ok);
        rig_clear (&r);
      }
}

HASS_TEST_SUITE (
    cuda, { "scattered blocks are gathered and come back", gathered },
    { "many blocks go in stripes", many_stripes },
    { "blocks of all sizes are gathered", unlike_sizes },
    { "large tiles go in stripes", large_tiles },
    { "a bundle without bytes costs few calls", few_calls },
    { "pinned memory goes straight, both ways", direct },
    { "large stretches are pinned for the copy, or staged", pinned_for_copy },
    { "where nothing can be pinned all is staged", never_pinned },
    { "halos arrive", halos },
    { "pinned memory is copied in whole lines", whole_lines },
    { "halos arrive beside pinned pages", halos_of_pinned_pages },
    { "tiles go there and back", tiles },
    { "neighbouring tiles are joined and copied at once", joined_tiles },
    { "tiles as wide as their array are one stretch", whole_rows },
    { "constants are copied once", constants },
    { "large pinned constants show the rate of the link",
      constants_tell_of_the_link },
    { "a farm's own bundler is used", own_bundler },
    { "records come back, however many", records },
    { "records without room fail as too large", too_many_records },
    { "accumulators are fresh for each bundle", accumulators },
    { "tasks are called by worker, with their functions", tasks },
    { "a bundle overtakes one that takes long", overlapped },
    { "what is costly to make is kept", kept },
    { "a GPU is described", described },
    { "the rate of a GPU's link is guessed by its generation",
      links_by_generation },
    { "HASS_NGPU limits the GPUs", counted },
    { "without a driver there are no GPUs, and the reason is said", absent },
    { "no more memory is held than HASS_GPU_MEM", budget },
    { "idle slots give their memory to a bundle that needs it",
      idle_slots_give },
    { "HASS_GPU_MEM is checked", bad_limits },
    { "a worker that fails leaves nothing behind", failing_worker },
    { "a device assert loses all GPUs", sticky },
    { "a bundle past its deadline is given up", deadline },
    { "a buffer grows beside a bundle that hangs, and waits for nothing",
      growth_beside_a_hang },
    { "when waiting fails the bundles there have failed", failed_wait },
    { "tasks whose streams could not be joined have ended", failed_join })
