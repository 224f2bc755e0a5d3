/* SPDX-License-Identifier: MIT */
/* explain.h: what strategies of dataflows say of their decisions
   (HassStrategyEnv.note). A strategy answers for each task, and for one that
   waits many times, so an answer is told when it has been given once, twice,
   four times and so on: each codelet, worker and answer counts by itself.
   Thread safety: an instance belongs to its strategy. */
#ifndef HASS_FLOW_EXPLAIN_H
#define HASS_FLOW_EXPLAIN_H

#include "hass/strategy.h"

/* Number of answers to a worker about a codelet: HASS_FLOW_TAKE and so on, or
   1 + the worker that another one leaves the task to. */
#define HASS_FLOW_ANSWERS 128
/* The cores and so many devices at most (HassFlowTask.devices). */
#define HASS_FLOW_WORKERS 65

/* @given: how often an answer was given; NULL: no explanation is wanted. */
typedef struct
{
  const HassStrategyEnv *env;
  GHashTable *given;
} HassFlowExplain;

/* @env is kept. */
void hass_flow_explain_init (HassFlowExplain *e, const HassStrategyEnv *env);
void hass_flow_explain_clear (HassFlowExplain *e);

/* HassStrategyOps.create, destroy, for strategies that keep nothing else. */
gpointer hass_flow_explain_create (const HassStrategyEnv *env, GError **error);
void hass_flow_explain_destroy (gpointer self);

/* Counts an answer. Returns: its number, if it is to be told; else 0. */
guint hass_flow_count_answer (HassFlowExplain *e, const HassFlowTask *task,
                              gint worker, guint answer);

/* As hass_flow_count_answer(); costs a branch if no explanation is wanted. */
static inline guint
hass_flow_tells (HassFlowExplain *e, const HassFlowTask *task, gint worker,
                 guint answer)
{
  return G_UNLIKELY (e->given != NULL)
             ? hass_flow_count_answer (e, task, worker, answer)
             : 0;
}

/* Returns: "cores", or the name of a device. */
const char *hass_flow_worker_name (const HassFlowExplain *e, gint worker);

/* Tells that a worker takes a task or leaves it. @why: a reason; the times on a
   core and on a device are told after it. @n: as hass_flow_tells() returned. */
void hass_flow_explain_answer (const HassFlowExplain *e,
                               const HassFlowTask *task, gint worker,
                               gboolean leave, const char *why, guint n);

/* Tells whether a core tries a task whose time there is unknown. @n: likewise.
 */
void hass_flow_explain_try (const HassFlowExplain *e, const HassFlowTask *task,
                            gboolean leave, guint n);

/* Tells for which worker a task waits. @why: a reason. @n: likewise. */
void hass_flow_explain_place (const HassFlowExplain *e,
                              const HassFlowTask *task, gint worker,
                              const char *why, guint n);

/* Tells that a task has been assigned. @ends_ns: [1 + @state->n_devices] what
   the strategy has compared, of the cores first; G_MAXDOUBLE: not considered.
   NULL: the cores try the codelet. @n: likewise. */
void hass_flow_explain_assigned (const HassFlowExplain *e,
                                 const HassFlowState *state,
                                 const HassFlowTask *task, gint worker,
                                 const double *ends_ns, guint n);

#endif
