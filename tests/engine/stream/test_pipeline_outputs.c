/* SPDX-License-Identifier: MIT */
/* test_pipeline_outputs.c: pinned memory for the outputs of tokens that a GPU
   computes, over the stand-in for the CUDA runtime.
   Thread safety: single-threaded; a GPU's worker runs on its proxy. */
#include <string.h>

#include "hass/memory.h"
#include "hass_test.h"
#include "tests/device/fake_machine.h"
#include "tests/skeletons/pipeline/pipe.h"

#define LARGE_BYTES ((gsize)2 << 20)
#define N_LARGE 8
#define SMALL_BYTES ((gsize)128 << 10)
#define N_SMALL 64

typedef struct
{
  _Atomic guint seen;     /* tokens that the GPU was given */
  _Atomic guint on_cores; /* and that cores have computed */
  guint pinned_before;    /* calls that pin memory before the pipeline */
  guint pinned_first;     /* and until the first bundle, in the pipeline */
  _Atomic guint wrong;
} Book;

static guint
n_pinned (void)
{
  return fake_cudart_counts ().calls[FAKE_ALLOCATE_HOST];
}

static void
copy_kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  memcpy (fake_output (bundle, 0), fake_input (bundle, 0),
          bundle->output_bytes);
}

static gboolean
gpu_copy (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  Book *book = data;
  (void)error;
  if (book->seen == 0)
    book->pinned_first = n_pinned () - book->pinned_before;
  book->seen += (guint)bundle->n_blocks;
  fake_launch (stream, copy_kernel, bundle, NULL);
  return TRUE;
}

static gboolean
check (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Book *book = data;
  (void)w, (void)error;
  const guint8 *bytes = t->input;
  if (bytes[0] != 7 || bytes[t->input_bytes - 1] != 7)
    book->wrong++;
  return TRUE;
}

/* Keeps the first token until the GPU was given all of them, so that the
   outputs of all are in use at once. */
static gboolean
hold_and_check (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Book *book = data;
  while (t->seq == 0 && book->seen < N_SMALL)
    g_thread_yield ();
  return check (t, w, data, error);
}

/* Runs @n tokens of so many bytes through a GPU and then a core. */
static void
run (Book *book, gsize bytes, guint n, HassStageFunc last)
{
  HassLoad loads[N_SMALL] = { { 0 } };
  guint8 *input = hass_memory_alloc (bytes, NULL);
  memset (input, 7, bytes);
  for (guint i = 0; i < n; i++)
    loads[i] = (HassLoad){ .input = input, .input_bytes = bytes };
  const HassStage stages[]
      = { HASS_STAGE (.gpu = gpu_copy, .output_ratio = 1),
          HASS_STAGE (.cpu = last, .mode = HASS_STAGE_ORDERED) };
  HassPipeline p = pipe_new (stages, G_N_ELEMENTS (stages), n);
  p.loads = loads;
  p.user_data = book;
  p.tokens = 2 * N_SMALL;
  p.run.n_cores = 1;
  p.run.n_gpus = 1;
  p.run.strategy = "pipe-greedy";
  book->pinned_before = n_pinned ();
  pipe_must_run (&p);
  CU_ASSERT_EQUAL (book->seen, n);
  CU_ASSERT_EQUAL (book->wrong, 0);
  hass_memory_free (input);
}

/* The device has room for one token in a bundle: the first is submitted with
   memory for its own output, besides that of its slot. */
static void
part_by_part (void)
{
  Book book = { 0 };
  fake_machine_begin (&(FakePlan){ .memory_bytes = 8 * LARGE_BYTES });
  run (&book, LARGE_BYTES, N_LARGE, check);
  CU_ASSERT_TRUE (book.pinned_first <= 3);
  fake_machine_end ();
}

/* 64 outputs of 128 KiB: pieces of slabs of 2, 2 and 4 MiB. */
static void
in_slabs (void)
{
  Book book = { 0 };
  fake_machine_begin (&(FakePlan){ 0 });
  run (&book, SMALL_BYTES, N_SMALL, hold_and_check);
  CU_ASSERT_TRUE (n_pinned () - book.pinned_before <= 12);
  fake_machine_end ();
}

/* Has the GPU, whose start is held, started when cores have computed all. */
static gboolean
copy_and_open (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Book *book = data;
  (void)w, (void)error;
  memcpy (t->output, t->input, t->input_bytes);
  if (++book->on_cores < N_SMALL)
    return TRUE;
  book->pinned_first = n_pinned () - book->pinned_before;
  fake_let_open ();
  return TRUE;
}

/* Pinning waits for the start, here as long as it is held. */
static void
before_the_start (void)
{
  static guint8 input[SMALL_BYTES];
  HassLoad loads[N_SMALL];
  Book book = { 0 };
  for (guint i = 0; i < N_SMALL; i++)
    loads[i] = (HassLoad){ .input = input, .input_bytes = SMALL_BYTES };
  memset (input, 7, sizeof input);
  const HassStage stages[]
      = { HASS_STAGE (.cpu = copy_and_open, .gpu = gpu_copy, .output_ratio = 1),
          HASS_STAGE (.cpu = check, .mode = HASS_STAGE_ORDERED) };
  HassPipeline p = pipe_new (stages, G_N_ELEMENTS (stages), N_SMALL);
  p.loads = loads;
  p.user_data = &book;
  p.run.n_cores = 2;
  p.run.n_gpus = 1;
  p.run.strategy = "pipe-greedy";
  fake_machine_begin (&(FakePlan){ .hold_opening = TRUE });
  pipe_must_run (&p);
  CU_ASSERT_EQUAL (book.pinned_first, 0);
  CU_ASSERT_EQUAL (book.on_cores, N_SMALL);
  CU_ASSERT_EQUAL (book.wrong, 0);
  fake_machine_end ();
}

HASS_TEST_SUITE (pipeline_outputs,
                 { "memory for outputs is pinned bundle by bundle",
                   part_by_part },
                 { "small outputs are pieces of pinned slabs", in_slabs },
                 { "outputs are not pinned before a GPU has started",
                   before_the_start })
