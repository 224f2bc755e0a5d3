/* SPDX-License-Identifier: MIT */
/* explain.c: see explain.h. */
#include "sched/flow/explain.h"
#include "sched/flow/try.h"

void
hass_flow_explain_init (HassFlowExplain *e, const HassStrategyEnv *env)
{
  e->env = env;
  e->given = env->note ? g_hash_table_new (NULL, NULL) : NULL;
}

void
hass_flow_explain_clear (HassFlowExplain *e)
{
  g_clear_pointer (&e->given, g_hash_table_unref);
}

gpointer
hass_flow_explain_create (const HassStrategyEnv *env, GError **error)
{
  HassFlowExplain *e = g_new (HassFlowExplain, 1);
  (void)error;
  hass_flow_explain_init (e, env);
  return e;
}

void
hass_flow_explain_destroy (gpointer self)
{
  hass_flow_explain_clear (self);
  g_free (self);
}

guint
hass_flow_count_answer (HassFlowExplain *e, const HassFlowTask *task,
                        gint worker, guint answer)
{
  guint key
      = (task->codelet * HASS_FLOW_WORKERS + (guint)(worker - HASS_FLOW_CORES))
            * HASS_FLOW_ANSWERS
        + answer;
  guint n = 1
            + GPOINTER_TO_UINT (
                g_hash_table_lookup (e->given, GUINT_TO_POINTER (key)));
  g_hash_table_insert (e->given, GUINT_TO_POINTER (key), GUINT_TO_POINTER (n));
  return (n & (n - 1)) == 0 ? n : 0;
}

const char *
hass_flow_worker_name (const HassFlowExplain *e, gint worker)
{
  const HassDeviceTraits *devices = e->env->devices;
  return worker < 0 ? "cores"
                    : devices[worker + (devices->kind == HASS_DEVICE_CPU)].name;
}

void
hass_flow_explain_answer (const HassFlowExplain *e, const HassFlowTask *task,
                          gint worker, gboolean leave, const char *why, guint n)
{
  gboolean core = worker < 0;
  g_autoptr (GString) line = g_string_new (NULL);
  g_string_printf (line, "%s %s %s%s: %s",
                   core && !leave ? "a core"
                                  : hass_flow_worker_name (e, worker),
                   leave ? (core ? "leave" : "leaves") : "takes", task->name,
                   core && !leave ? " when its data are home" : "", why);
  if (task->core_ns > 0)
    g_string_append_printf (line, "; a core %.4g us", task->core_ns * 1e-3);
  if (task->device_ns > 0)
    g_string_append_printf (line, "; a device %.4g us", task->device_ns * 1e-3);
  e->env->note (e->env->note_data, "%s [%u]", line->str, n);
}

void
hass_flow_explain_try (const HassFlowExplain *e, const HassFlowTask *task,
                       gboolean leave, guint n)
{
  e->env->note (e->env->note_data,
                "%s %s%s: its time there is unknown, %" G_GUINT64_FORMAT
                " tasks of %u are known [%u]",
                leave ? "cores do not try" : "a core tries", task->name,
                leave ? "" : " when its data are home", task->n_known,
                HASS_FLOW_TRY * (guint)__builtin_popcountll (task->devices), n);
}

void
hass_flow_explain_place (const HassFlowExplain *e, const HassFlowTask *task,
                         gint worker, const char *why, guint n)
{
  e->env->note (e->env->note_data, "%s waits for %s%s [%u]", task->name,
                worker < 0 ? "the cores" : hass_flow_worker_name (e, worker),
                why, n);
}

void
hass_flow_explain_assigned (const HassFlowExplain *e,
                            const HassFlowState *state,
                            const HassFlowTask *task, gint worker,
                            const double *ends_ns, guint n)
{
  g_autoptr (GString) why = g_string_new (NULL);
  for (gint w = HASS_FLOW_CORES; ends_ns && w < (gint)state->n_devices; w++)
    if (ends_ns[w + 1] < G_MAXDOUBLE)
      g_string_append_printf (why, "%s%s %.4g us", why->len > 0 ? ", " : ": ",
                              hass_flow_worker_name (e, w),
                              ends_ns[w + 1] * 1e-3);
  if (why->len == 0)
    g_string_assign (why, ends_ns ? ": its data are being moved"
                                  : ", where its time is unknown");
  hass_flow_explain_place (e, task, worker, why->str, n);
}
