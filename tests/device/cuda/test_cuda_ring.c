/* SPDX-License-Identifier: MIT */
/* test_cuda_ring.c: inputs that pass through pinned memory smaller than they
   are, over the stand-in for the CUDA runtime.
   Thread safety: one thread, beside the stand-in's own. */
#include <sched.h>
#include <string.h>

#include "cuda_rig.h"
#include "device/cuda/cuda-private.h"
#include "hass_test.h"

#define BYTES ((gsize)19 << 20)
#define N 7
/* A deadline that no test runs into by itself; time passes by rig_let_pass().
 */
#define HOUR_NS (3600 * G_GINT64_CONSTANT (1000000000))
/* Looks at a copy that has not ended, after which it may end. */
#define LOOKS 3

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
  fake_cudart_plan (&(FakePlan){ 0 }); /* whose hook looks at the rig */
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

/* Two bundles of the same size, whose outputs are in @out and @more. */
static void
make_two (HassBlock b[2][N], guint8 *more)
{
  make_blocks (b[0], 2);
  for (guint i = 0; i < N; i++)
    b[1][i] = rig_block ((const guint8 *)b[0][i].input + 1,
                         more + ((const guint8 *)b[0][i].output - out),
                         b[0][i].input_bytes);
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
  make_two (b, more);
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

/* -- The deadline --------------------------------------------------------- */

/* What the thread that submits does when it calls the CUDA runtime. */
typedef struct
{
  Rig rig;
  pthread_t thread;
  guint first;   /* the ring's oldest mark was this, */
  guint n_looks; /* and was looked at so often */
  guint n_times; /* that time has passed */
  guint n_let;   /* copies that may have ended */
} Trial;

/* Returns: the ring, if this is the thread that submits. */
static HassGpuRing *
ring_of (Trial *t)
{
  HassCudaDevice *d = (HassCudaDevice *)t->rig.device;
  return pthread_equal (pthread_self (), t->thread) ? &d->slots[0].kit->ring
                                                    : NULL;
}

/* A GPU that is given up is waited for with its streams: a test that fails
   ends. */
static void
let_drain (FakeCall call)
{
  if (call == FAKE_STREAM_QUERY)
    fake_let_copies (G_MAXUINT);
}

static void
let_pass (Trial *t, gint64 ns)
{
  rig_let_pass (&t->rig, ns);
  t->n_times++;
}

/* Two bundles at once: all but their first 16 MiB wait for room. */
static void
run_two (Trial *t)
{
  HassBlock b[2][N];
  guint8 *more = hass_memory_alloc (BYTES, NULL);
  gboolean ok = TRUE;
  make_two (b, more);
  for (guint i = 0; i < 2 && ok; i++)
    ok = rig_submit (&t->rig, i, b[i], N);
  fake_cudart_plan (&(FakePlan){ 0 });
  /* The first bundle may be past its own deadline by now. */
  t->rig.farm.bundle_deadline_ns = 0;
  for (guint i = 0; i < 2 && ok; i++)
    rig_wait_done (&t->rig);
  t->rig.farm.bundle_deadline_ns = HOUR_NS;
  for (guint i = 0; i < 2 && ok; i++)
    check_blocks (b[i]);
  CU_ASSERT_FALSE (hass_gpus_hang ());
  hass_memory_free (more);
}

/* More than half of the deadline passes while a copy is the oldest one; copies
   end one at a time, after some looks. */
static void
look_at_many (FakeCall call, gpointer data)
{
  Trial *t = data;
  const HassGpuRing *ring = ring_of (t);
  let_drain (call);
  if (!ring || call != FAKE_EVENT_QUERY || ring->n_marks == 0)
    return;
  if (t->n_looks == 0 || ring->first != t->first)
    {
      t->first = ring->first;
      t->n_looks = 0;
      let_pass (t, HOUR_NS / 10 * 6);
    }
  if (++t->n_looks % LOOKS == 0 && fake_cudart_counts ().copied == t->n_let)
    {
      t->n_let++;
      fake_let_copies (1);
    }
}

static void
many_copies (void)
{
  Trial t = { .thread = pthread_self () };
  begin (&t.rig, &(FakePlan){ 0 }, HOUR_NS);
  t.n_let = fake_cudart_counts ().copied;
  fake_cudart_plan (&(FakePlan){
      .hold_copies = TRUE, .called = look_at_many, .called_data = &t });
  run_two (&t);
  CU_ASSERT_TRUE (t.n_times >= 3);
  end (&t.rig);
}

/* Time passes while no copy is on its way; when one is, it ends after some
   looks. */
static void
gather_slowly (FakeCall call, gpointer data)
{
  Trial *t = data;
  const HassGpuRing *ring = ring_of (t);
  let_drain (call);
  if (!ring)
    return;
  if (call == FAKE_COPY && ring->n_marks == 0)
    {
      let_pass (t, 2 * HOUR_NS);
      t->n_looks = 0;
    }
  if (call == FAKE_EVENT_QUERY && ring->n_marks > 0 && t->n_times > 0
      && ++t->n_looks == LOOKS)
    {
      fake_let_copies (G_MAXUINT);
      t->n_let++;
    }
}

/* The first of the two bundles finds a ring that was not used yet, and then
   one whose copies have ended. */
static void
slow_gathering (void)
{
  Trial t = { .thread = pthread_self () };
  begin (&t.rig, &(FakePlan){ 0 }, HOUR_NS);
  for (guint i = 0; i < 2; i++)
    {
      t.n_let = t.n_times = 0;
      fake_cudart_plan (&(FakePlan){
          .hold_copies = TRUE, .called = gather_slowly, .called_data = &t });
      run_two (&t);
      CU_ASSERT_TRUE (t.n_times > 0 && t.n_let > 0);
    }
  end (&t.rig);
}

/* Time passes behind each mark; all copies have ended when it is looked at. */
static void
look_late (FakeCall call, gpointer data)
{
  Trial *t = data;
  const HassGpuRing *ring = ring_of (t);
  gpointer link = ((HassCudaDevice *)t->rig.device)->slots[0].in_stream;
  if (!ring || ring->n_marks == 0)
    return;
  if (call == FAKE_EVENT_RECORD)
    let_pass (t, 2 * HOUR_NS);
  if (call != FAKE_EVENT_QUERY)
    return;
  while (hass_cudart ()->stream_query (link) != FAKE_OK)
    sched_yield ();
  hass_cudart ()->last_error ();
}

static void
late_looks (void)
{
  Trial t = { .thread = pthread_self () };
  begin (&t.rig, &(FakePlan){ 0 }, HOUR_NS);
  fake_cudart_plan (&(FakePlan){ .called = look_late, .called_data = &t });
  run_two (&t);
  CU_ASSERT_TRUE (t.n_times > 0);
  end (&t.rig);
}

/* The deadline passes before the third look. If that is not seen, or too soon,
   the copies end. */
static void
look_in_vain (FakeCall call, gpointer data)
{
  Trial *t = data;
  const HassGpuRing *ring = ring_of (t);
  if (t->n_looks < LOOKS)
    let_drain (call);
  if (!ring || call != FAKE_EVENT_QUERY || ring->n_marks == 0)
    return;
  if (++t->n_looks == LOOKS)
    {
      /* Soon, since what was enqueued is then waited for as long. */
      t->rig.farm.bundle_deadline_ns = 50000000;
      let_pass (t, 2 * HOUR_NS);
    }
  if (t->n_looks == 100 * LOOKS)
    fake_let_copies (G_MAXUINT);
}

static void
held_copy (void)
{
  HassBlock b[N];
  GError *error = NULL;
  Trial t = { .thread = pthread_self () };
  begin (&t.rig, &(FakePlan){ 0 }, HOUR_NS);
  fake_cudart_plan (&(FakePlan){
      .hold_copies = TRUE, .called = look_in_vain, .called_data = &t });
  make_blocks (b, 1);
  Rig *r = &t.rig;
  CU_ASSERT_FALSE (r->device->ops->submit (r->device, 0, b, N, &error));
  CU_ASSERT_TRUE (
      error
      && strstr (error->message, "a copy to the device took longer than 50"));
  CU_ASSERT_EQUAL (t.n_looks, LOOKS);
  CU_ASSERT_TRUE (hass_gpus_hang ());
  g_clear_error (&error);
  CU_ASSERT_FALSE (r->device->ops->submit (r->device, 1, b, N, NULL));
  fake_let_copies (G_MAXUINT);
  end (r);
}

HASS_TEST_SUITE (
    cuda_ring, { "bundles of any size need no more pinned memory", any_size },
    { "many of a size get memory of their own", many_uses },
    { "they wait until what was there is copied", slow_link },
    { "after a copy that fails the next bundle arrives", failed_copy },
    { "a GPU is given up for a copy longer than the deadline", held_copy },
    { "many shorter copies may take longer than the deadline", many_copies },
    { "gathering may take longer than the deadline", slow_gathering },
    { "a copy that is seen to have ended late is not late", late_looks })
