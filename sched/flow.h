/* SPDX-License-Identifier: MIT */
/* hass/flow.h: what a strategy sees of a dataflow: ready tasks and predictions.

   DESIGN. A strategy answers three questions, each of which has a default:
   1. A task has become ready: in which queue it waits, and in which order
   (HassStrategyOps.place).
   2. A worker has room: into which queues it looks (HassStrategyOps.look).
   3. The worker finds a task there: whether it takes the task
   (HassStrategyOps.suits).
   A strategy that assigns tasks to workers when they become ready has a queue
   for each worker. One that decides when a worker has room has one queue, or
   one for each codelet. A worker is a device other than the CPU pool, or the
   cores together, HASS_FLOW_CORES. Tasks that only cores can compute, and all
   tasks where there are only cores, do not pass through a strategy: cores take
   them by priority.

   Thread safety: as hass/strategy.h: the engine calls one op of an instance at
   a time. Plain values, valid during the call. */
#ifndef HASS_FLOW_H
#define HASS_FLOW_H

#include <glib.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

/** The cores together, as a worker. */
#define HASS_FLOW_CORES (-1)
/** No worker. */
#define HASS_FLOW_NO_WORKER (-2)
/** Number of queues. */
#define HASS_FLOW_QUEUES 256

/**
 * HassFlowTask: a task that is ready.
 * @codelet: number of its codelet in the graph, less than HASS_FLOW_QUEUES.
 * @priority: as the user has given it.
 * @level: length of the longest path to the end of a recorded graph; else 0.
 * @devices: bit d: device d can compute it, and is open; where a device does
 *   not ask, or opens soon.
 * @cores: cores can compute it.
 * @core_ns: recent mean time of its codelet on a core, in ns; 0: unknown.
 * @device_ns: recent mean time of its codelet on a device, in ns; 0: unknown.
 * @n_waiting: ready tasks of its codelet that devices can compute.
 * @maker: where it is placed: the worker that has made it ready by ending the
 *   last task before it, or that gives it back as its memory is full;
 *   HASS_FLOW_NO_WORKER: it waited for none, or is placed anew.
 * @n_known: if @core_ns is unknown, no core has tried the codelet, and no
 *   device asks: @n_waiting and a quarter of those that devices have computed,
 *   as more of them may come. Where copies home keep the devices busy for many
 *   times the time of kernels, a multiple of that. Else 0.
 * @name: of its codelet, for people.
 * @home_ns: where a device asks, in a recorded graph that has run before: mean
 *   time of its copies home after a task of the codelet, in ns. Else 0.
 */
typedef struct
{
  guint codelet;
  gint32 priority;
  guint32 level;
  guint64 devices;
  gboolean cores;
  double core_ns, device_ns;
  guint n_waiting;
  gint maker;
  guint64 n_known;
  const char *name;
  double home_ns;
} HassFlowTask;

/**
 * HassFlowState: a dataflow at this moment.
 * @n_devices: number of devices other than the CPU pool.
 * @devices: bit d: device d is open; where no device asks, or opens soon.
 * @n_cores: number of cores.
 * @held_ns: [@n_devices] time until device d has done what it has taken, in ns;
 *   where a device asks, with the time of tasks that it has left to others.
 * @queue_ns: [HASS_FLOW_QUEUES] sum of HassFlowSpot.ns of the tasks in a queue.
 * @core_free_ns: time until the first core has computed what it has taken, in
 *   ns; with strategies that place tasks, and where @home_ns is not 0.
 * @backlog_ns: time until the devices would have computed all that they have
 *   taken and all that waits, in ns; where copies home take longer than
 *   kernels, copies count for what waits. 0 where a device asks.
 * @task_ns: Returns: the time of the task that is asked about on a worker, in
 *   ns. Of a device 1 if it is unknown, so that tasks count; of cores 0. In
 *   look(), where no task is asked about, and on a worker that there is not,
 *   this and @after_ns are 0 and @copy_ns is G_MAXDOUBLE.
 * @copy_ns: Returns: the time to copy to a worker what that task needs and is
 *   not there, in ns; G_MAXDOUBLE if it cannot be copied to that device now.
 * @after_ns: Returns: how long a recorded graph takes at least from the end
 *   of that task on a worker, in ns: the longest path of tasks after it, each
 *   where the path is shortest, copies counted (Arabnejad and Barbosa 2014:
 *   OCT). While times are unknown copies alone count; 0: not recorded.
 * @rest_ns: as @backlog_ns, and with what was submitted and cannot begin yet.
 * @home_ns: where a device asks, in a recorded graph that has run before: time
 *   of its copies home that wait, or if more, of those that will follow the
 *   tasks that it has taken, in ns. Else 0.
 */
typedef struct HassFlowState HassFlowState;
struct HassFlowState
{
  guint n_devices, n_cores;
  guint64 devices;
  const double *held_ns, *queue_ns;
  double core_free_ns, backlog_ns;
  double (*task_ns) (const HassFlowState *state, gint worker);
  double (*copy_ns) (const HassFlowState *state, gint worker);
  double (*after_ns) (const HassFlowState *state, gint worker);
  double rest_ns;
  double home_ns;
};

/**
 * HassFlowSpot: where a task waits. The engine sets it to queue 0, and to the
 * priority and level of the task, before it asks.
 * @queue: less than HASS_FLOW_QUEUES. A worker that can compute the task must
 *   look into it: else the dataflow ends with HASS_ERROR_STRATEGY when a core
 *   has nothing to do.
 * @priority, @level: a queue is in the order of highest priority, highest
 *   level, first entry.
 * @ns: what the task adds to HassFlowState.queue_ns.
 */
typedef struct
{
  guint queue;
  gint32 priority;
  guint32 level;
  float ns;
} HassFlowSpot;

/**
 * HassFlowLook: a queue that a worker looks into.
 * @queue: less than HASS_FLOW_QUEUES.
 * @from_end: it looks from the end of the queue, about: only the first task of
 *   a queue is exactly the first.
 */
typedef struct
{
  guint queue;
  gboolean from_end;
} HassFlowLook;

/**
 * HassFlowAnswer: whether a worker takes a task.
 * @HASS_FLOW_TAKE: it does; data that are missing are copied to it. Data for
 *   cores are copied home before one takes the task.
 * @HASS_FLOW_IF_HOME: a core takes it if its data are at home already. Of a
 *   device the same as @HASS_FLOW_TAKE.
 * @HASS_FLOW_LEAVE: it does not. If each worker leaves all that it finds while
 *   nothing is in flight, no device that can compute a task is being opened and
 *   the build callback has returned or waits, nothing would change the answers:
 *   the dataflow ends with HASS_ERROR_STRATEGY.
 */
typedef enum
{
  HASS_FLOW_TAKE,
  HASS_FLOW_IF_HOME,
  HASS_FLOW_LEAVE
} HassFlowAnswer;

/**
 * HassFlowVerdict: more of the answer; all 0 before the strategy is asked.
 * @score: of a device that takes the task: of the first few that it may take it
 *   takes the one with the lowest score, and the first one with 0 or less.
 * @left_to: of a device that leaves it: 1 + the device that should take it,
 *   whose HassFlowState.held_ns grows by the task's time until the end of this
 *   look; 0: none.
 */
typedef struct
{
  double score;
  guint left_to;
} HassFlowVerdict;

HASS_END_DECLS

#endif
