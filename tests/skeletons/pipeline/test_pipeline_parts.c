/* SPDX-License-Identifier: MIT */
/* test_pipeline_parts.c: parts with HASS_LOAD_BUFFER: they may lie in the
   buffer of their token's load, and nowhere else.
   Thread safety: one thread beside those of the pipelines. */
#include <string.h>

#include "hass_test.h"
#include "pipe.h"

#define N 100
#define BYTES 64 /* of a buffer */
#define BAD_SEQ 40

typedef enum
{
  WITHIN,      /* the two halves of the load's buffer */
  STACK,       /* an address on the stack */
  PAST_END,    /* begins in the buffer and ends behind it */
  OTHER,       /* in the buffer of another load */
  NO_BUFFER,   /* the token's load has not the flag */
  NO_MEMORY_AT /* NULL */
} Place;

typedef struct
{
  Place place;
  guint8 *first; /* the buffer of load 0; no other load gets one of its size */
  gboolean accepted;
  _Atomic guint n_parts;
  _Atomic guint n_wrong; /* parts with other bytes than their load's */
} Use;

static gboolean
emit_buffers (HassEmitter *emitter, gpointer data, GError **error)
{
  Use *use = data;
  (void)error;
  for (guint i = 0; i < N; i++)
    {
      guint8 *bytes = hass_emitter_buffer (emitter, i ? BYTES : 4 * BYTES);
      if (!bytes)
        return FALSE;
      if (i == 0)
        use->first = bytes;
      memset (bytes, (int)i, BYTES);
      const HassLoad load
          = { .input = bytes,
              .input_bytes = BYTES,
              .flags = use->place == NO_BUFFER ? 0 : HASS_LOAD_BUFFER,
              .tag = GSIZE_TO_POINTER (i) };
      if (!hass_emitter_emit (emitter, &load))
        break;
    }
  return TRUE;
}

static gboolean
emit_part (HassToken *t, HassWorker *w, gconstpointer input, gsize bytes)
{
  const HassLoad part = { .input = input,
                          .input_bytes = bytes,
                          .flags = HASS_LOAD_BUFFER,
                          .tag = t->tag };
  return hass_token_emit (t, w, &part);
}

static gboolean
split (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  guint8 stack[BYTES] = { 0 };
  Use *use = data;
  (void)error;
  if (use->place == WITHIN)
    return emit_part (t, w, t->input, BYTES / 2)
           && emit_part (t, w, t->input + BYTES / 2, BYTES / 2);
  if (t->seq != BAD_SEQ)
    return TRUE;
  use->accepted = use->place == STACK ? emit_part (t, w, stack, BYTES)
                  : use->place == PAST_END
                      ? emit_part (t, w, t->input + 1, BYTES)
                  : use->place == OTHER ? emit_part (t, w, use->first, BYTES)
                  : use->place == NO_BUFFER ? emit_part (t, w, t->input, BYTES)
                                            : emit_part (t, w, NULL, 0);
  return TRUE;
}

static gboolean
look (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  Use *use = data;
  (void)w, (void)error;
  use->n_parts++;
  for (gsize i = 0; i < t->input_bytes; i++)
    if (t->input_bytes != BYTES / 2
        || t->input[i] != (guint8)GPOINTER_TO_SIZE (t->tag))
      use->n_wrong++;
  return TRUE;
}

static gboolean
run (Use *use, GError **error)
{
  const HassStage stages[]
      = { HASS_STAGE (.name = "split", .cpu = split),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = look) };
  HassPipeline p = pipe_new (stages, 2, 0);
  p.loads = NULL;
  p.generate = emit_buffers;
  p.user_data = use;
  p.tokens = 8;
  return pipe_run (&p, NULL, error);
}

static void
in_its_load (void)
{
  Use use = { .place = WITHIN };
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (run (&use, &error));
  CU_ASSERT_EQUAL (use.n_parts, 2 * N);
  CU_ASSERT_EQUAL (use.n_wrong, 0);
}

static void
elsewhere (void)
{
  for (Place place = STACK; place <= NO_MEMORY_AT; place++)
    {
      Use use = { .place = place };
      g_autoptr (GError) error = NULL;
      CU_ASSERT_FALSE (run (&use, &error));
      CU_ASSERT_FALSE (use.accepted);
      gboolean right = g_error_matches (error, HASS_ERROR, HASS_ERROR_MISUSE)
                       && strstr (error->message, "pipeline 'pipe', token 40, ")
                       && strstr (error->message, "stage 'split'")
                       && strstr (error->message, "hass_token_emit")
                       && strstr (error->message, "HASS_LOAD_BUFFER");
      CU_ASSERT_TRUE (right);
      if (!right)
        g_printerr ("\n    place %d: %s", place,
                    error ? error->message : "success");
    }
}

HASS_TEST_SUITE (pipeline_parts,
                 { "a part may lie in the buffer of its token's load",
                   in_its_load },
                 { "a part in no buffer, or in another load's, is misuse",
                   elsewhere })
