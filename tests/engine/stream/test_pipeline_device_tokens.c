/* SPDX-License-Identifier: MIT */
/* test_pipeline_device_tokens.c: what the worker of a device sees of the tokens
   of a pipeline.
   Thread safety: single-threaded. */
#include <string.h>

#include "hass_test.h"
#include "tests/engine/stand_in.h"
#include "tests/skeletons/pipeline/pipe.h"

/* What a stage hangs on the token with number @seq. */
typedef struct
{
  guint64 seq;
  guint part;
} Mark;

typedef struct
{
  Mark marks[PIPE_LOADS][2];
  _Atomic guint freed;
  guint seen, wrong_tag, wrong_seq; /* by the proxy of the device */
} Book;

/* Drops every third token, makes two parts of every fifth, and hangs a mark on
   all that go on. */
static gboolean
mark (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Book *book = data;
  (void)error;
  if (t->seq % 3 == 1)
    hass_token_drop (t, w);
  else if (t->seq % 5 == 0)
    for (guint i = 0; i < 2; i++)
      {
        Mark *m = &book->marks[t->seq][i];
        *m = (Mark){ t->seq, i };
        HassLoad part
            = { .input = t->input, .input_bytes = t->input_bytes, .tag = m };
        hass_token_emit (t, w, &part);
      }
  else
    {
      book->marks[t->seq][0] = (Mark){ t->seq, 0 };
      t->tag = &book->marks[t->seq][0];
    }
  return TRUE;
}

static void
unmark (gpointer tag, gpointer data)
{
  (void)tag;
  ((Book *)data)->freed++;
}

static void
copy_kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  memcpy (bundle->output, bundle->input, bundle->output_bytes);
}

/* Compares each block with the mark on its token. */
static gboolean
gpu_read_marks (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
                GError **error)
{
  Book *book = data;
  (void)error;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      const HassBlock *block = &bundle->blocks[i];
      const Mark *m = block->load->tag;
      book->seen++;
      if ((guintptr)m - (guintptr)book->marks >= sizeof book->marks)
        book->wrong_tag++;
      else
        book->wrong_seq += block->seq != m->seq;
    }
  stand_in_launch (stream, copy_kernel, bundle, data);
  return TRUE;
}

/* Compares each block with the tag of the load, which is its number. */
static gboolean
gpu_read_loads (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
                GError **error)
{
  Book *book = data;
  (void)error;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      const HassBlock *block = &bundle->blocks[i];
      book->seen++;
      book->wrong_tag += GPOINTER_TO_SIZE (block->load->tag) != block->seq;
    }
  stand_in_launch (stream, copy_kernel, bundle, data);
  return TRUE;
}

static gboolean
pass (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  (void)t, (void)w, (void)data, (void)error;
  return TRUE;
}

/* Runs the stages over loads of one byte on a stand-in that computes all GPU
   stages of a token at once, and fails every third bundle, whose tokens come
   again. */
static void
run (Book *book, const HassStage *stages, guint n_stages)
{
  static HassLoad loads[PIPE_LOADS];
  static guint8 byte;
  for (guint i = 0; i < PIPE_LOADS; i++)
    loads[i] = (HassLoad){ .input = &byte,
                           .input_bytes = 1,
                           .tag = GSIZE_TO_POINTER (i) };
  HassDevice *device = stand_in_new (
      &(StandInPlan){ .depth = 2, .max_fused = 4, .fail_bundle_every = 3 });
  HassPipeline p = pipe_new (stages, n_stages, PIPE_LOADS);
  p.loads = loads;
  p.tag_free = unmark;
  p.user_data = book;
  p.run.devices = &device;
  p.run.n_devices = 1;
  p.run.strategy = "pipe-greedy";
  pipe_must_run (&p);
  stand_in_free (device);
  CU_ASSERT_EQUAL (book->wrong_tag, 0);
  CU_ASSERT_EQUAL (book->wrong_seq, 0);
}

static void
marks_on_tokens (void)
{
  g_autofree Book *book = g_new0 (Book, 1);
  const HassStage stages[]
      = { HASS_STAGE (.cpu = mark),
          HASS_STAGE (.gpu = gpu_read_marks, .output_ratio = 1),
          HASS_STAGE (.cpu = pass, .mode = HASS_STAGE_ORDERED) };
  run (book, stages, G_N_ELEMENTS (stages));
  guint went_on = 0;
  for (guint i = 0; i < PIPE_LOADS; i++)
    went_on += i % 3 == 1 ? 0 : i % 5 == 0 ? 2 : 1;
  CU_ASSERT_TRUE (book->seen >= went_on); /* again after a failed bundle */
  CU_ASSERT_EQUAL (book->freed, went_on);
}

static void
marks_in_fused_stages (void)
{
  g_autofree Book *book = g_new0 (Book, 1);
  const HassStage stages[]
      = { HASS_STAGE (.cpu = mark),
          HASS_STAGE (.gpu = gpu_read_marks, .output_ratio = 1),
          HASS_STAGE (.gpu = gpu_read_marks, .output_ratio = 1) };
  run (book, stages, G_N_ELEMENTS (stages));
  CU_ASSERT_TRUE (book->seen > PIPE_LOADS);
}

static void
tags_of_loads (void)
{
  g_autofree Book *book = g_new0 (Book, 1);
  const HassStage stages[]
      = { HASS_STAGE (.gpu = gpu_read_loads, .output_ratio = 1) };
  run (book, stages, G_N_ELEMENTS (stages));
  CU_ASSERT_TRUE (book->seen >= PIPE_LOADS);
  CU_ASSERT_EQUAL (book->freed, 0);
}

HASS_TEST_SUITE (
    pipeline_device_tokens,
    { "a device's worker sees the tag that a stage has hung on a token, and "
      "the token's number, also behind dropped tokens and parts",
      marks_on_tokens },
    { "workers of stages that a device computes at once see each token's tag "
      "and number",
      marks_in_fused_stages },
    { "a device's worker sees the load's tag where no stage has set another",
      tags_of_loads })
