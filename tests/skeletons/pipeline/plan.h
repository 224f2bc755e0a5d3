/* SPDX-License-Identifier: MIT */
/* plan.h: a random pipeline and what must happen in it.

   DESIGN. A seed makes the stages and the loads. Then the plan is carried out
   on paper: each token becomes a node, whose steps say what each call for it
   gets and does, parts become nodes of their own, and each stage gets the list
   of its calls in the order of the stream. The callbacks of act.c do what the
   steps say and hold the library to them.

   What a device computes the host does not see: a step of a stage that devices
   may run has come to pass if a later step of its token has, or if the load
   is committed. Its kernel looks at the bytes, too.

   Contents of a range of bytes follow from one number, its state:
   byte i = state + 7 i. So a slice has a state as well.

   Thread safety: a plan is made and freed on one thread; what calls write is
   atomic or marked as of one stage. */
#ifndef PLAN_H
#define PLAN_H

#include <stdatomic.h>

#include "hass/hass.h"
#include "hass/pipeline.h"
#include "tests/engine/stand_in.h"

#define PLAN_STAGES 10
#define PLAN_PARTS 4 /* of one call at most */
#define PLAN_DEPTH 2 /* parts may have parts, which may have none */
#define PLAN_DEVICES 4
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
 * @linked: devices may run it; @gpu_only: cores may not.
 * @gpu_fails: so manyth bundle fails in its worker; 0: none.
 * @by_device: calls that devices have made.
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
  gboolean reduce, loop, linked, gpu_only;
  guint gpu_fails;
  gint64 bundle_wait_us;
  _Atomic guint n_bundles;
  GPtrArray *order, *seen;
  _Atomic guint inside, calls, good, by_device;
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
  struct _GCancellable *cancellable;
  gboolean exact_bytes; /* no asked outputs, parts or tokens sent back */
  GThread *caller;
  const char *strategy;
  StandInPlan device_plans[PLAN_DEVICES];
  HassDevice *devices[PLAN_DEVICES];
  guint n_devices;
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

/* Chooses the strategy, the devices and their faults; makes the devices. After
   plan_stage(). */
void plan_devices (GRand *r, Plan *plan);
void plan_devices_free (Plan *plan);

/* What a device makes of an input in this state. */
guint8 plan_device_state (const PlanStage *stage, gsize bytes, guint8 state);

/* Counts the steps that devices have made before the next one on a core: of
   this stage, or, with G_MAXUINT, up to the end. */
void plan_skip_devices (Plan *plan, PlanNode *node, guint stage);

/* Likewise for a load that was committed, and its parts. */
void plan_finish (Plan *plan, PlanNode *node);

/* Had the pipeline a device left for each stage, it would not have failed:
   FALSE if it was always left. */
gboolean plan_may_lack_device (const Plan *plan);

/* The callbacks; see act.c. A stage's user_data is its PlanStage, the
   pipeline's is the plan. */
gboolean act_generate (HassEmitter *emitter, gpointer plan, GError **error);
gboolean act_stage (HassToken *token, HassWorker *worker, gpointer stage,
                    GError **error);
void act_release (const HassLoad *load, gboolean committed, gpointer plan);
gboolean act_bundle (const HassBundle *bundle, HassGpuStream *stream,
                     gpointer stage, GError **error);
void act_reduce (gpointer sum, gconstpointer part, gpointer stage);
HassLoad act_load (const PlanNode *root);

#endif
