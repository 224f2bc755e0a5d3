/* SPDX-License-Identifier: MIT */
/* plan.h: a random pipeline and what must happen in it.

   DESIGN. A seed makes the stages and the loads. Then the plan is carried out
   on paper: each token becomes a node, whose steps say what each call for it
   gets and does, parts become nodes of their own, and each stage gets the list
   of its calls in the order of the stream. The callbacks of act.c do what the
   steps say and hold the library to them.

   Contents of a range of bytes follow from one number, its state:
   byte i = state + 7 i. So a slice has a state as well.

   Thread safety: a plan is made and freed on one thread; what calls write is
   atomic or marked as of one stage. */
#ifndef PLAN_H
#define PLAN_H

#include <stdatomic.h>

#include "hass/hass.h"
#include "hass/pipeline.h"

#define PLAN_STAGES 10
#define PLAN_PARTS 4  /* of one call at most */
#define PLAN_DEPTH 2  /* parts may have parts, which may have none */
#define PLAN_AGAINS 3 /* of one node */

typedef enum
{
  PLAN_PASS,
  PLAN_DROP,
  PLAN_SPLIT,
  PLAN_AGAIN,
  PLAN_FAIL
} PlanAct;

typedef enum
{
  PLAN_NO_OUTPUT,
  PLAN_IN_PLACE,
  PLAN_PROMISED,
  PLAN_ASKED
} PlanOutput;

/* Where the bytes of a node lie at first. */
typedef enum
{
  PLAN_OWN,       /* in memory of the plan */
  PLAN_BUFFER,    /* a buffer of the emitter or the token */
  PLAN_OF_INPUT,  /* in the input of the token that emitted it */
  PLAN_OF_OUTPUT, /* in its output */
  PLAN_NOWHERE    /* no bytes */
} PlanMemory;

typedef struct PlanNode PlanNode;

/**
 * PlanStep: one call of a stage for a node.
 * @in_bytes, @in_state: of the input.
 * @promised: bytes of the output that the stage gets.
 * @out_bytes, @out_state: of the output that it leaves, or of the input that it
 *   has changed in place.
 * @parts: PLAN_SPLIT: its first part; the others follow by @next_part.
 *   PLAN_FAIL: a part that must not go on, or NULL.
 */
typedef struct
{
  guint stage;
  PlanAct act;
  PlanOutput output;
  gsize in_bytes, promised, out_bytes;
  guint8 in_state, out_state;
  PlanNode *parts;
} PlanStep;

/**
 * PlanNode: a token: a load, or a part of one.
 * @load: index of the load, which is its seq.
 * @at: the step that is due.
 * @offset, @bytes, @state, @memory: its first input; @offset in that of the
 *   token that emitted it.
 * @held: bytes of its promised output that are in flight.
 */
struct PlanNode
{
  guint load, id, depth, n_agains;
  GArray *steps; /* PlanStep */
  _Atomic guint at;
  gsize offset, bytes;
  guint8 state;
  PlanMemory memory;
  guint8 *own;
  gsize held;
  PlanNode *next_part;
};

/**
 * PlanStage: a stage.
 * @fail, @drop, @split, @again: of 1000 calls.
 * @again_to: where tokens are sent back to.
 * @order: PlanNode * of each of its calls, in the order of the stream.
 * @seen: likewise, as they came; one at a time only, written by those calls.
 * @calls, @good: calls so far, and those that did not fail.
 * @sum: the accumulator.
 */
typedef struct
{
  struct Plan *plan;
  guint index;
  HassStageMode mode;
  PlanOutput output;
  gsize output_bytes;
  double output_ratio;
  guint fail, drop, split, again, again_to, at_once, spin_us;
  gboolean reduce, loop;
  GPtrArray *order, *seen;
  _Atomic guint inside, calls, good;
  guint64 sum;
} PlanStage;

/* What is known of a load. */
typedef struct
{
  PlanNode *root;
  guint n_steps;  /* of all its nodes */
  guint fails_in; /* bit i: one of its nodes fails in stage i */
  gboolean accepted;
  _Atomic guint steps_done, released;
  gboolean committed;
} PlanLoad;

typedef struct Plan
{
  guint64 seed;
  char *text; /* for people */
  guint n_stages, n_loads, n_array, n_cores;
  PlanStage stages[PLAN_STAGES];
  PlanLoad *loads;
  GPtrArray *nodes;
  gsize tokens, token_bytes;
  HassErrorPolicy on_error;
  guint cancel_after; /* calls; 0: never */
  gint64 deadline_ms;
  GCancellable *cancellable;
  gboolean exact_bytes; /* no asked outputs, parts or tokens sent back */
  GThread *caller;
  _Atomic guint n_calls;
  _Atomic guint64 in_flight; /* loads << 40 | bytes */
  _Atomic guint n_wrong;
  char wrong[200]; /* the first; written once */
} Plan;

Plan *plan_new (guint64 seed);
void plan_free (Plan *plan);

/* Remembers what was wrong first. Any thread. */
void plan_blame (Plan *plan, const char *format, ...) G_GNUC_PRINTF (2, 3);

void plan_fill (guint8 *bytes, gsize n, guint8 state);
gboolean plan_is_filled (const guint8 *bytes, gsize n, guint8 state);

/* A random number for this case, the same each time. */
guint32 plan_random (guint64 seed, guint64 a, guint64 b, guint64 c);

/* The callbacks; see act.c. A stage's user_data is its PlanStage, the
   pipeline's is the plan. */
gboolean act_generate (HassEmitter *emitter, gpointer plan, GError **error);
gboolean act_stage (HassToken *token, HassWorker *worker, gpointer stage,
                    GError **error);
void act_release (const HassLoad *load, gboolean committed, gpointer plan);
void act_reduce (gpointer sum, gconstpointer part, gpointer stage);
HassLoad act_load (const PlanNode *root);

#endif
