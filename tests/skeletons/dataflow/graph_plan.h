/* SPDX-License-Identifier: MIT */
/* graph_plan.h: random graphs, and the values that the sequential program
   leaves.

   A plan is a list of steps on a few data: tasks, and what the build callback
   does between them. It is computed once by a loop over its steps, and by
   dataflows. Each task writes a value that depends on all that it reads, so a
   task that sees a wrong version, or runs twice or never, changes what is left
   at the end. The data lie in one block of memory, some of them as tiles with
   the same pitch; gaps between data and rows keep what they had.

   Thread safety: one thread; graph_plan_act by any. */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include "hass/dataflow.h"

#define PLAN_MOST_DATA 64
#define PLAN_MOST_ACCESSES 11

/* What a plan has beside tasks for cores; flags. */
enum
{
  PLAN_FAILS = 1, /* tasks that fail; then none commutes or reduces, as which of
                     them find the datum invalid depends on their order */
  PLAN_RECORDS = 2, /* nothing but tasks */
  PLAN_GPU = 4,     /* codelets with a gpu function, too */
  PLAN_ALONE = 8    /* codelets with a gpu function alone, too */
};

/* Codelets: with which functions. */
typedef enum
{
  PLAN_CPU,
  PLAN_BOTH,
  PLAN_BOTH_BUNDLED,
  PLAN_GPU_ALONE,
  PLAN_GPU_BUNDLED,
  PLAN_N_CODELETS
} GraphPlanCodelet;

/* The most tasks of a call of a gpu function of the bundled codelets. */
#define PLAN_BUNDLE 5

/**
 * GraphPlanKind: what a step does.
 * @PLAN_TASK: submits a task.
 * @PLAN_COPY: submits a task that copies a scratch datum out.
 * @PLAN_WAIT_ALL, @PLAN_WAIT: waits, for all data or for one.
 * @PLAN_TOUCH: waits for a datum and writes it, if it is valid.
 * @PLAN_FORGET: forgets a datum, which is not used again.
 * @PLAN_AGAIN: waits for a datum, unless it is a scratch datum, forgets it and
 *   makes a new one in its place.
 */
typedef enum
{
  PLAN_TASK,
  PLAN_COPY,
  PLAN_WAIT_ALL,
  PLAN_WAIT,
  PLAN_TOUCH,
  PLAN_FORGET,
  PLAN_AGAIN
} GraphPlanKind;

/* What a task gets by value: its salt, and of each access datum and mode. */
typedef struct
{
  guint32 salt;
  gboolean fails, spins;
  guint n;
  guint8 data[PLAN_MOST_ACCESSES], modes[PLAN_MOST_ACCESSES];
} GraphPlanArguments;

/* @on: the datum of a step that is no task. */
typedef struct
{
  GraphPlanKind kind;
  GraphPlanCodelet codelet;
  GraphPlanArguments arguments;
  gint32 priority;
  guint on;
} GraphPlanStep;

/* @offset: of the first row in the memory of all data. @room: bytes between the
   end of a row and the next datum in it, or the next row. */
typedef struct
{
  gsize offset, row_bytes, rows, pitch, room;
  gboolean copied; /* a scratch datum that a task copies out at the end */
} GraphPlanShape;

/* Data below @n_scratch are scratch data. */
typedef struct
{
  guint n_steps, n_data, n_scratch;
  GraphPlanStep *steps;
  GraphPlanShape shapes[PLAN_MOST_DATA];
  gsize bytes;
} GraphPlan;

/* The data at a moment. @n_failed: tasks that have failed, themselves or in
   consequence. */
typedef struct
{
  guint8 *memory;
  gboolean invalid[PLAN_MOST_DATA];
  guint n_failed;
} GraphPlanState;

GraphPlan *graph_plan_new (guint32 seed, guint n_tasks, guint flags);
void graph_plan_free (GraphPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GraphPlan, graph_plan_free)

/* Bytes of the data of the largest task that devices may compute; of those that
   devices alone can compute if @alone. */
gsize graph_plan_need (const GraphPlan *plan, gboolean alone);

HassDataView graph_plan_view (const GraphPlan *plan, guint d, guint8 *memory);

/* What a task does, on views. */
void graph_plan_act (const GraphPlanArguments *a, const HassDataView *views);
/* Merges a copy: adds it. */
void graph_plan_merge (const HassDataView *into, const HassDataView *copy,
                       gpointer user_data);
/* What step @s, no task, writes to its datum. */
void graph_plan_write (const GraphPlan *plan, guint s, guint8 *memory);

void graph_plan_state_init (GraphPlanState *state, const GraphPlan *plan);
void graph_plan_state_clear (GraphPlanState *state);
/* Step @s of the sequential program. */
void graph_plan_step (const GraphPlan *plan, guint s, GraphPlanState *state);

/* Returns: what is not as it should be, to be freed, or NULL: in the rows of
   datum @d, or in all memory but for data that are invalid or were not copied
   out, and but for scratch data if @others alone are compared. */
char *graph_plan_compare (const GraphPlan *plan, guint d,
                          const GraphPlanState *want, guint8 *got);
char *graph_plan_compare_all (const GraphPlan *plan, gboolean others,
                              const GraphPlanState *want, guint8 *got);

#endif
