/* SPDX-License-Identifier: MIT */
/* tape.h: a recorded graph.
   Thread safety: one thread at a time. */
#ifndef HASS_TAPE_H
#define HASS_TAPE_H

#include "graph-private.h"

/* Takes over a graph that has been built, and its pairs. */
HassTape *hass_tape_new (HassGraph *graph);
/* Frees the tape. Returns: (transfer full): its graph. */
HassGraph *hass_tape_take_apart (HassTape *tape);
gsize hass_tape_length (const HassTape *tape);

/* The path through all runs of a graph that takes longest. @codelet: the one
   that most of its time is in. */
typedef struct
{
  double ns;
  guint n_tasks; /* of one run */
  const char *codelet;
} HassTapePath;

/* Finds the longest path. @mean_ns: [n_codelets] mean time of a task. */
HassTapePath hass_tape_longest (const HassTape *tape, const double *mean_ns);
/* Gives @graph the tasks, data and codelets of the tape, which keeps them. */
void hass_tape_lend (HassTape *tape, HassGraph *graph);
/* Runs the tasks as often as the run says; the thread that called. */
void hass_tape_play (HassTape *tape, HassGraph *graph);

#endif
