/* SPDX-License-Identifier: MIT */
/* flow_machine.h: a machine about which tests ask a strategy of dataflows
   directly. Thread safety: one thread. */
#ifndef FLOW_MACHINE_H
#define FLOW_MACHINE_H

#include "hass_test.h"
#include "sched/registry.h"

#include <stdarg.h>

/* A machine with two devices and four cores. @task_ns, @copy_ns, @after_ns: of
   the task that is asked about, at worker + 1: on the cores, on either device.
 */
typedef struct
{
  HassFlowState state;
  double held_ns[2], queue_ns[HASS_FLOW_QUEUES];
  double task_ns[3], copy_ns[3], after_ns[3];
  HassDeviceTraits devices[3];
  HassStrategyEnv env;
  HassStrategy *strategy;
  GString *said; /* lines of the explanation; NULL: none is wanted */
} Machine;

static inline void note (gpointer data, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

static inline void
note (gpointer data, const char *format, ...)
{
  Machine *m = (Machine *)data;
  va_list args;
  va_start (args, format);
  g_string_append_vprintf (m->said, format, args);
  g_string_append_c (m->said, '\n');
  va_end (args);
}

static inline double
task_ns (const HassFlowState *state, gint worker)
{
  return ((const Machine *)(gconstpointer)state)->task_ns[worker + 1];
}

static inline double
copy_ns (const HassFlowState *state, gint worker)
{
  return ((const Machine *)(gconstpointer)state)->copy_ns[worker + 1];
}

static inline double
after_ns (const HassFlowState *state, gint worker)
{
  return ((const Machine *)(gconstpointer)state)->after_ns[worker + 1];
}

/* @explains: a line for each decision. The caller ends the machine. */
static inline Machine *
begin_that (const char *strategy, gboolean explains)
{
  Machine *m = g_new0 (Machine, 1);
  m->state = (HassFlowState){ .n_devices = 2,
                              .n_cores = 4,
                              .devices = 3,
                              .held_ns = m->held_ns,
                              .queue_ns = m->queue_ns,
                              .task_ns = task_ns,
                              .copy_ns = copy_ns,
                              .after_ns = after_ns };
  m->env = (HassStrategyEnv){ .struct_size = sizeof m->env,
                              .farm = HASS_FARM_DATAFLOW,
                              .n_devices = 3,
                              .devices = m->devices };
  m->devices[0] = (HassDeviceTraits){ .name = "cpu", .kind = HASS_DEVICE_CPU };
  for (guint d = 0; d < 2; d++)
    m->devices[1 + d] = (HassDeviceTraits){ .name = d == 0 ? "gpu0" : "gpu1",
                                            .kind = HASS_DEVICE_GPU };
  if (explains)
    {
      m->said = g_string_new (NULL);
      m->env.note = note;
      m->env.note_data = m;
    }
  m->strategy = hass_strategy_new (strategy, &m->env, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (m->strategy);
  return m;
}

static inline Machine *
begin (const char *strategy)
{
  return begin_that (strategy, FALSE);
}

static inline void
end (Machine *m)
{
  if (m->said)
    g_string_free (m->said, TRUE);
  hass_strategy_free (m->strategy);
  g_free (m);
}

/* A task of a codelet that both devices and cores can compute. */
static inline HassFlowTask
task_of (guint codelet, double core_ns, double device_ns)
{
  return (HassFlowTask){ .codelet = codelet,
                         .name = "gemm",
                         .priority = 7,
                         .level = 3,
                         .devices = 3,
                         .cores = TRUE,
                         .core_ns = core_ns,
                         .device_ns = device_ns,
                         .n_waiting = 1,
                         .maker = HASS_FLOW_NO_WORKER };
}

static inline HassFlowSpot
place (Machine *m, const HassFlowTask *task)
{
  HassFlowSpot spot = { .priority = task->priority, .level = task->level };
  m->strategy->ops->place (m->strategy->self, &m->state, task, &spot);
  return spot;
}

static inline HassFlowAnswer
suits (Machine *m, gint worker, const HassFlowTask *task,
       HassFlowVerdict *verdict)
{
  *verdict = (HassFlowVerdict){ .score = 0 };
  return m->strategy->ops->suits (m->strategy->self, &m->state, worker, task,
                                  verdict);
}

/* Returns: the @n-th queue that a worker looks into; < 0: none. *from_end:
   (nullable): it looks from there. */
static inline gint
look_from (Machine *m, gint worker, guint n, gboolean *from_end)
{
  HassFlowLook look = { .queue = 0 };
  gboolean looks
      = m->strategy->ops->look (m->strategy->self, &m->state, worker, n, &look);
  if (from_end)
    *from_end = look.from_end;
  return looks ? (gint)look.queue : -1;
}

static inline gint
look (Machine *m, gint worker, guint n)
{
  return look_from (m, worker, n, NULL);
}

static inline void
set (double *values, double cores, double first, double second)
{
  values[0] = cores;
  values[1] = first;
  values[2] = second;
}

#endif
