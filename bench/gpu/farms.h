/* SPDX-License-Identifier: MIT */
/* farms.h: the farms of hass that meet the hand-written programs. A farm
   that fails ends the program.
   Thread safety: one thread. */
#ifndef GPU_BENCH_FARMS_H
#define GPU_BENCH_FARMS_H

#include "hand_hybrid.h"
#include "workers.h"

#include <hass/function_farm.h>

G_BEGIN_DECLS

/**
 * FarmSettings: how a farm runs.
 * @name: of the farm, under which hass keeps rates for its next run.
 * @strategy: NULL: the default.
 * @n_gpus: 0: none.
 * @block_elements: of a partition farm; 0: the default.
 */
typedef struct
{
  const char *name;
  const char *strategy;
  gboolean cpu;
  guint n_gpus;
  gsize block_elements;
} FarmSettings;

/* Seconds of the call, and what came out. */
typedef struct
{
  double seconds;
  guint64 sum;      /* of what was reduced */
  double gpu_share; /* of the work */
} FarmResult;

/* Partition farm over the whole text, which hass knows to be pinned. */
FarmResult farm_search (const FarmSettings *settings, const HandText *text);

/* Combine farm of loads, [n] of each: needles of @text in each of @loads
   [@bytes each], into @counts. */
FarmResult farm_count (const FarmSettings *settings, const HandText *text,
                       const guint8 *const *loads, gsize bytes, gsize n,
                       guint64 *counts);

/* Combine farm of @n loads without bytes. */
FarmResult farm_empty (const FarmSettings *settings, HassGpuWorkerFunc worker,
                       gpointer user_data, gsize n);

/* Partition farm over @n elements without bytes. */
FarmResult farm_steps (const FarmSettings *settings, const Steps *steps,
                       gsize n);

/* What a token is: a load of a combine farm, one of an indivisible farm, which
   one thread block of a GPU computes, or a task of a function farm. UNIT_MIXED:
   tasks with two workers for the GPU in turn, of which the second is slow;
   UNIT_EMITTED: the same from a generator; UNIT_SIMPLE: the same of a
   parallelism of 1, which one thread block computes. */
typedef enum
{
  UNIT_COMBINE,
  UNIT_INDIVISIBLE,
  UNIT_TASK,
  UNIT_MIXED,
  UNIT_EMITTED,
  UNIT_SIMPLE,
  N_UNIT_KINDS
} UnitKind;

/* Farm of @n tokens of @inputs into @results. @steps: of the tokens; the second
   of the tasks that are slow on a GPU. */
FarmResult farm_token_steps (const FarmSettings *settings, UnitKind kind,
                             const TokenSteps steps[2], gsize n,
                             const guint8 *inputs, guint8 *results);

/* Function farm. */
FarmResult farm_tasks (const FarmSettings *settings, const HassTask *tasks,
                       gsize n);

G_END_DECLS

#endif
