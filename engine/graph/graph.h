/* SPDX-License-Identifier: MIT */
/* graph.h: a running dataflow, as the skeleton sees it.

   DESIGN. Tasks are submitted in the order of the sequential program, and each
   waits for those that its accesses make it follow.
   1. Slots (task.h). A task lives in a slot of a ring whose length is the
      window. Only the submitting thread takes slots, in order; a slot is free
      when its task and all before it have ended. So a reference to an access is
      the number of its task, and one comparison tells that the task has ended.
   2. Dependences (submit.c). The accesses to a datum form groups in the order
      of submission: a WRITE or UPDATE alone, or consecutive accesses of one
      shared mode. A shared access waits for the exclusive one before its group;
      an exclusive one waits for all of the group before it. The record of the
      access in the task is the edge: an access that waits is pushed on the list
      of the one that it waits for. An access that is over closes its list, with
      an exchange unless no other thread can push to it, and counts down the
      tasks that it finds there.
   3. Ready tasks (ready.c) wait in a queue of the core that made them ready; in
      one heap for all cores if priorities matter and the tasks are long enough
      for its lock.
   4. Running (run.c). A core takes tasks from the heap, its own queue, then the
      queues of others, a few at a time if they are short. It computes one of
      the tasks that it makes ready itself. The submitting thread computes the
      shortest tasks as they come (at_once.c).
   5. Failure. A task that fails marks the data that it should have written as
      invalid, before their next accesses begin; a task that finds invalid data
      fails in its turn, without being computed.

   6. Devices. On a machine with devices that can compute a codelet, place.h
   says where its tasks run and where data lie.

   At any moment exactly one of these owns a task: the submitting thread; the
   tasks that it waits for, by its count; a queue or a heap; a core or device;
   the list of a datum that another COMMUTE task uses, or that is not at home;
   until it is settled, the list of the datum that it has changed.

   Thread safety: each function says who may call it. */
#ifndef HASS_GRAPH_H
#define HASS_GRAPH_H

#include "engine/core/job.h"
#include "engine/graph/codelet.h"

typedef struct HassTape HassTape;

/* What a farm of the kind HASS_FARM_DATAFLOW has as its user_data. */
typedef struct
{
  gboolean (*build) (HassGraph *graph, gpointer user_data, GError **error);
  gpointer user_data;
  gsize window;
  HassTape
      *tape;     /* a recorded graph, which is run instead of @build; or NULL */
  guint64 times; /* how often */
  /* [times] (out): by the engine's clock, when each run of the tape ended;
     NULL: not asked for */
  gint64 *ended_ns;
  gboolean (*again) (gpointer user_data);
} HassGraphRun;

extern const HassSourceOps hass_graph_ops;

/* run.c: a modelled core, by the thread of the virtual engine. */
/* Begins the next task of a core that computes none. @look: FALSE: only one
   that the core has in hand, as another core has found none. Returns: the name
   of its codelet; NULL: there is none. */
const char *hass_graph_begin_task (HassJob *job, HassWorker *worker,
                                   gboolean look, double *cost);
/* The time of that task is over: computes and ends it. */
void hass_graph_end_task (HassJob *job, HassWorker *worker, gint64 begin_ns);

/* serve.c: serves a modelled device, by the same thread. */
typedef struct HassServing HassServing;

/* The device @d of the job is open. */
HassServing *hass_serving_new (HassJob *job, guint d);
/* Begins on the device what can begin now, and takes what has ended. Frees and
   clears *@serving if the device is lost. Returns: TRUE if something has
   happened. */
gboolean hass_serving_step (HassServing **serving);
/* Returns: the name of the codelet of the tasks that are being given to the
   device to compute. *cost: what they cost. */
const char *hass_serving_codelet (const HassServing *serving, double *cost);
/* The device has nothing left of the dataflow, or is lost. */
void hass_serving_free (HassServing *serving);

/* The generator of a dataflow: builds or replays the graph. */
gboolean hass_graph_generate (HassEmitter *emitter, gpointer run,
                              GError **error);

/* tape.c; @name: of the dataflow. */
HassTape *hass_tape_record (const char *name, const HassGraphRun *run,
                            GError **error);
void hass_tape_bind (HassTape *tape, HassData *data, gpointer host,
                     gboolean running);
gboolean hass_tape_check (HassTape *tape, GError **error);
/* Returns: TRUE if a codelet has a function for devices of some kind. */
gboolean hass_tape_uses_devices (const HassTape *tape);
void hass_tape_free (HassTape *tape);

#endif
