/* SPDX-License-Identifier: MIT */
/* mini_run-private.h: a round of the mini engine while it runs, and what its
   devices do in it.
   Thread safety: one thread. */
#ifndef HASS_TEST_MINI_RUN_PRIVATE_H
#define HASS_TEST_MINI_RUN_PRIVATE_H

#include "mini_engine.h"

/* Whether the strategy is to be asked for a device: now, after an event, or
   never again. */
typedef enum
{
  ASK,
  WAITING,
  OUT
} Asking;

/* A core with its units, or a GPU with its bundle. */
typedef struct
{
  gboolean busy;
  double begin_ns, end_ns, copy_ns, kernel_ns;
  HassExtent extent;
  guint grant; /* index in the log, GPUs */
} MiniLane;

typedef struct
{
  MiniFarm *farm;
  HassRound *round;
  MiniRound *result;
  const HassStrategyOps *ops;
  gpointer self;
  Asking asking[MINI_DEVICES];
  double again_ns[MINI_DEVICES]; /* when WAITING ends at the latest */
  MiniLane *lanes;               /* [counter_of[n]], as the round's counters */
  double begin_ns;
  guint8 *executed; /* [n_units] */
  guint64 steps;

  /* The CPU pool. */
  gboolean pulling;
  guint64 chunk;
  HassCompletion cpu[HASS_MOST_FUNCTIONS]; /* since its last grant */
} MiniRun;

double mini_cost_of (MiniRun *run, HassExtent e);
/* The work that would take a device as long if it did all functions alike. */
double mini_work_of (MiniRun *run, guint device, HassExtent e);

/* The CPU pool takes a grant. */
void mini_grant_cpu (MiniRun *run, guint device, HassGrant *grant);
/* A core of the pool finishes what it pulled. */
void mini_core_finishes (MiniRun *run, guint device, guint counter);

/* Idle cores pull. When the pool has run out of what it was granted, the
   strategy may be asked again, though cores may still be at work. */
void mini_look_at_pool (MiniRun *run, guint device);

/* A GPU takes a grant, which is completed in @log. */
void mini_grant_gpu (MiniRun *run, guint device, HassGrant *grant,
                     MiniGrant *log);
/* Its bundle ends or fails. */
void mini_bundle_finishes (MiniRun *run, guint device, guint counter);

#endif
