/* SPDX-License-Identifier: MIT */
/* flow_auto.c: tasks wait together; a worker takes one that no other is
   predicted to end earlier.

   DESIGN. A device takes, of the first few tasks that no other device would end
   earlier, the one whose data come soonest. A device ends a task after what it
   holds, the copies that the task needs and the task's own time. A task that it
   leaves to another device counts there, so a slow device takes the one to
   which the fast ones would come late. A core takes the last task whose data
   are at home, if it will have computed the task before the devices would have
   come to it: by their kernels, or by their copies where the link binds. As
   more tasks become ready meanwhile, what waits counts AHEAD times, unless less
   is left of the graph. In a recorded graph it also takes a task that, with the
   longest path after it, is short beside what is left: then no device waits for
   what comes after it either, though little is ready at any time, as in a
   wavefront. A codelet whose time on cores is unknown is tried by one core
   (try.h).

   Cost of a decision: O(devices) for each task that is looked at; copies are
   predicted only for devices that could be earlier without them. It loses where
   the order of the tasks matters more than their places: a task that the device
   with its data would end late waits for it.

   Thread safety: as hass/strategy.h. */
#include "hass/strategy.h"
#include "sched/flow/explain.h"
#include "sched/flow/try.h"

/* For cores the time that devices need for all that waits counts so many times.
   Measured by hass-sim, doc/results/dataflow-recorded.md: with 1 graphs take 1
   to 2 % longer in the mean, with 3 a first run of a stencil takes 10 %. */
#define AHEAD 2

/* A task and the longest path after it are short if the devices take so many
   times as long for what is left. The path is a lower bound, as its tasks wait
   for others. Measured likewise: with 8 qr:32 takes 10 % longer on
   eight GPUs, with 16 no graph of linear algebra more than 2. */
#define SHORT 16

static gboolean
look (gpointer self, const HassFlowState *state, gint worker, guint n,
      HassFlowLook *look)
{
  (void)self, (void)state;
  look->from_end = worker == HASS_FLOW_CORES;
  return n == 0;
}

/* -- Explanations -------------------------------------------------------- */

/* Returns: when a device would end a task, in ns. */
static double
end_ns (const HassFlowState *state, gint device)
{
  return state->held_ns[device] + state->copy_ns (state, device)
         + state->task_ns (state, device);
}

static void
append_end (GString *line, const HassFlowExplain *e, const HassFlowState *state,
            gint device, gboolean known)
{
  g_string_append_printf (
      line, "%s %.4g us = %.4g wait + %.4g copy + ",
      hass_flow_worker_name (e, device), end_ns (state, device) * 1e-3,
      state->held_ns[device] * 1e-3, state->copy_ns (state, device) * 1e-3);
  if (known)
    g_string_append_printf (line, "%.4g work",
                            state->task_ns (state, device) * 1e-3);
  else
    g_string_append (line, "unknown work");
}

/* Tells which of two devices ends a task earlier, the one that is asked and the
   best of the others. @n: as hass_flow_tells() returned. */
static void
explain_device (const HassFlowExplain *e, const HassFlowState *state,
                gint device, const HassFlowTask *task, guint left_to, guint n)
{
  gint other = (gint)left_to - 1;
  guint64 rest = left_to > 0 ? 0 : task->devices & ~((guint64)1 << device);
  for (; rest != 0; rest &= rest - 1)
    if (other < 0
        || end_ns (state, __builtin_ctzll (rest)) < end_ns (state, other))
      other = __builtin_ctzll (rest);
  const char *name = hass_flow_worker_name (e, device);
  g_autoptr (GString) line = g_string_new (NULL);
  if (left_to > 0)
    g_string_printf (line, "%s leaves %s to %s: ", name, task->name,
                     hass_flow_worker_name (e, other));
  else
    g_string_printf (line, "%s takes %s: ", name, task->name);
  append_end (line, e, state, device, task->device_ns > 0);
  if (other >= 0 && end_ns (state, other) < G_MAXDOUBLE)
    append_end (g_string_append (line, "; "), e, state, other,
                task->device_ns > 0);
  if (task->cores && task->core_ns > 0)
    g_string_append_printf (line, "; a core %.4g us", task->core_ns * 1e-3);
  e->env->note (e->env->note_data, "%s [%u]", line->str, n);
}

/* Returns: how long a core may take for a task, in ns, so that devices do not
   wait for it; and in @of, if not NULL, what devices have done then. */
static double
patience_ns (const HassFlowState *state, const HassFlowTask *task,
             const char **of)
{
  double waits_ns = AHEAD * state->backlog_ns, ns = waits_ns;
  double short_ns = state->rest_ns / SHORT;
  if (task->level > 0 && task->core_ns > ns && task->core_ns <= short_ns)
    ns = MAX (ns, short_ns - state->after_ns (state, HASS_FLOW_CORES));
  if (of)
    *of = ns >= state->rest_ns ? "all that is left"
          : ns > waits_ns      ? "a " G_STRINGIFY (
                     SHORT) "th of what is left, less the path after it,"
                          : G_STRINGIFY (AHEAD) " times what waits";
  return MIN (ns, state->rest_ns);
}

/* Tells why cores take a task or leave it. @n: likewise. */
static void
explain_cores (const HassFlowExplain *e, const HassFlowState *state,
               const HassFlowTask *task, gboolean leave, guint n)
{
  if (task->core_ns == 0)
    {
      hass_flow_explain_try (e, task, leave, n);
      return;
    }
  const char *of;
  double most_ns = patience_ns (state, task, &of);
  g_autoptr (GString) line = g_string_new (NULL);
  g_string_printf (
      line, "%s %s%s: a core %.4g us, ", leave ? "cores leave" : "a core takes",
      task->name, leave ? "" : " when its data are home", task->core_ns * 1e-3);
  if (task->devices == 0)
    g_string_append (line, "no device can compute it");
  else if (task->device_ns == 0)
    g_string_append (line, "the time of devices is unknown");
  else if (leave)
    g_string_append_printf (line, "%.4g us after ",
                            (task->core_ns - most_ns) * 1e-3);
  if (task->devices != 0 && task->device_ns > 0)
    g_string_append_printf (line, "devices have done %s in %.4g us", of,
                            most_ns * 1e-3);
  e->env->note (e->env->note_data, "%s [%u]", line->str, n);
}

/* -- Answers ------------------------------------------------------------- */

static HassFlowAnswer
suits_cores (HassFlowExplain *e, const HassFlowState *state,
             const HassFlowTask *task)
{
  gboolean leave
      = task->core_ns == 0
            ? !hass_flow_may_try (task)
            : task->devices != 0
                  && (task->device_ns == 0
                      || task->core_ns > patience_ns (state, task, NULL));
  guint answer = leave + 2 * (task->core_ns > 0), n;
  if ((task->core_ns > 0 || task->n_known > 0)
      && (n = hass_flow_tells (e, task, HASS_FLOW_CORES, answer)) > 0)
    explain_cores (e, state, task, leave, n);
  return leave ? HASS_FLOW_LEAVE : HASS_FLOW_IF_HOME;
}

/* Returns: when a task's results are home if a device computes it, in ns: the
   copies home wait for those before them. */
static double
home_ns (const HassFlowState *state, guint device, const HassFlowTask *task)
{
  return MAX (state->home_ns, end_ns (state, (gint)device)) + task->home_ns;
}

/* Returns: TRUE if a device leaves a task to cores, since copies home keep it
   for longer than a core takes. */
static gboolean
leaves_to_cores (HassFlowExplain *e, const HassFlowState *state, guint device,
                 const HassFlowTask *task)
{
  if (state->home_ns == 0 || !task->cores || task->core_ns == 0
      || state->core_free_ns + task->core_ns >= home_ns (state, device, task))
    return FALSE;
  guint n = hass_flow_tells (e, task, (gint)device, 1 + state->n_devices);
  if (n > 0)
    e->env->note (e->env->note_data,
                  "%s leaves %s to cores: home in %.4g us, after %.4g us of "
                  "copies; a core %.4g us = %.4g wait + %.4g work [%u]",
                  hass_flow_worker_name (e, (gint)device), task->name,
                  home_ns (state, device, task) * 1e-3, state->home_ns * 1e-3,
                  (state->core_free_ns + task->core_ns) * 1e-3,
                  state->core_free_ns * 1e-3, task->core_ns * 1e-3, n);
  return TRUE;
}

static HassFlowAnswer
suits_device (HassFlowExplain *e, const HassFlowState *state, guint device,
              const HassFlowTask *task, HassFlowVerdict *verdict)
{
  verdict->score = state->copy_ns (state, (gint)device);
  if (verdict->score < G_MAXDOUBLE && leaves_to_cores (e, state, device, task))
    return HASS_FLOW_LEAVE;
  double least = state->held_ns[device] + verdict->score
                 + state->task_ns (state, (gint)device);
  guint64 others = task->devices & ~((guint64)1 << device);
  for (; others != 0; others &= others - 1)
    {
      guint other = (guint)__builtin_ctzll (others);
      double ns = state->held_ns[other] + state->task_ns (state, (gint)other);
      if (ns >= least)
        continue;
      ns += state->copy_ns (state, (gint)other);
      if (ns >= least)
        continue;
      least = ns;
      verdict->left_to = 1 + other;
    }
  /* It cannot take a task whose data are being moved, whatever it answers. */
  guint n = verdict->score < G_MAXDOUBLE
                ? hass_flow_tells (e, task, (gint)device, verdict->left_to)
                : 0;
  if (n > 0)
    explain_device (e, state, (gint)device, task, verdict->left_to, n);
  return verdict->left_to > 0 ? HASS_FLOW_LEAVE : HASS_FLOW_TAKE;
}

static HassFlowAnswer
suits (gpointer self, const HassFlowState *state, gint worker,
       const HassFlowTask *task, HassFlowVerdict *verdict)
{
  return worker == HASS_FLOW_CORES
             ? suits_cores (self, state, task)
             : suits_device (self, state, (guint)worker, task, verdict);
}

const HassStrategyOps hass_flow_auto = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "flow-auto",
  .summary = "dataflow: a worker takes a task that none would end earlier",
  .source = "list scheduling by earliest predicted end, decided by the worker",
  .farms = HASS_FARM_DATAFLOW,
  .create = hass_flow_explain_create,
  .destroy = hass_flow_explain_destroy,
  .look = look,
  .suits = suits,
};
