/* SPDX-License-Identifier: MIT */
/* misuse.c: what is wrong with the use of a graph, and the names and numbers
   that messages have.
   Thread safety: any thread, except where stated. */
#include "graph-private.h"

#include <stdarg.h>

/* Stops the dataflow, or fails its recording. */
void
hass_graph_refuse (HassGraph *graph, HassError code, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *why = g_strdup_vprintf (format, args);
  va_end (args);
  if (graph->job)
    {
      hass_job_fail (graph->job, code, "%s", why);
      return;
    }
  pthread_mutex_lock (&graph->lock);
  if (!graph->error)
    graph->error = g_error_new (HASS_ERROR, (gint)code, "dataflow '%s': %s",
                                graph->name, why);
  pthread_mutex_unlock (&graph->lock);
}

/* The rest of hass_graph_may(). */
gboolean
hass_graph_may_not (HassGraph *graph, const char *function)
{
  if (graph && pthread_equal (pthread_self (), graph->owner) && graph->building)
    return !graph->job && !graph->error;
  if (!graph || !graph->name)
    hass_engine_dead_handle (function);
  else
    hass_graph_refuse (graph, HASS_ERROR_MISUSE,
                       "%s was called outside its build callback, on another "
                       "thread, or by a task; a task cannot submit tasks",
                       function);
  return FALSE;
}

/* Returns: TRUE if the datum is one of the graph's that may still be used. */
gboolean
hass_graph_owns (HassGraph *graph, const HassData *data, const char *function)
{
  char name[32];
  if (data && data->graph == graph && !data->forgotten)
    return TRUE;
  hass_graph_refuse (graph, HASS_ERROR_INVALID, "%s: %s %s", function,
                     data ? hass_data_name (data, name) : "the datum",
                     !data                  ? "is NULL"
                     : data->graph != graph ? "belongs to another graph"
                                            : "was given to "
                                              "hass_graph_forget()");
  return FALSE;
}

const char *
hass_data_name (const HassData *data, char buffer[32])
{
  if (data->name)
    return data->name;
  g_snprintf (buffer, 32, "datum %u", data->index + 1);
  return buffer;
}

/* -- Numbers of tasks --------------------------------------------------- */

/* Numbers of the library's tasks that are kept at least. */
#define FEW_INTERNAL 1024

/* The next task is the library's own. The submitting thread. */
void
hass_graph_note_internal (HassGraph *graph)
{
  GArray *list = graph->internal;
  guint n = 0;
  pthread_mutex_lock (&graph->lock);
  if (list->len >= FEW_INTERNAL && !graph->pairs)
    while (n < list->len && g_array_index (list, guint64, n) < graph->n_retired)
      n++;
  graph->n_forgotten += n;
  if (n > 0)
    g_array_remove_range (list, 0, n);
  g_array_append_val (list, graph->n_submitted);
  pthread_mutex_unlock (&graph->lock);
}

/* Any thread. Returns: how many tasks the user submitted before this one, which
   has not been retired. */
guint64
hass_graph_number (HassGraph *graph, guint64 number)
{
  pthread_mutex_lock (&graph->lock);
  guint n = graph->internal->len;
  while (n > 0 && g_array_index (graph->internal, guint64, n - 1) >= number)
    n--;
  number -= graph->n_forgotten + n;
  pthread_mutex_unlock (&graph->lock);
  return number;
}

/* -- Tasks -------------------------------------------------------------- */

static const char *const modes[]
    = { "READ", "WRITE", "UPDATE", "COMMUTE", "REDUCE" };

/* Returns: what is wrong with an access of the next task, or NULL. */
static const char *
wrong_with (const HassGraph *graph, const HassAccess *a)
{
  const HassData *data = a->data;
  if (!data)
    return "needs a datum";
  if (data->graph != graph)
    return "is to a datum of another graph";
  if ((guint)a->mode > HASS_REDUCE)
    return "has a mode that is no HassAccessMode";
  if (data->forgotten)
    return "is to a datum that was given to hass_graph_forget()";
  if (data->last_task == graph->n_submitted + 1)
    return "is to the same datum as an earlier one of this task";
  if (a->mode == HASS_REDUCE && !data->merge)
    return "is a REDUCE, but hass_graph_reduction() was not called";
  if (!data->written && a->mode != HASS_WRITE && a->mode != HASS_REDUCE)
    return "reads a datum that no task has written";
  return NULL;
}

/* Returns: FALSE if access @i of the next task is wrong; the dataflow is
   stopped. */
gboolean
hass_graph_check_access (HassGraph *graph, const HassCodeletState *codelet,
                         const HassAccess *a, guint i)
{
  const char *wrong = wrong_with (graph, a);
  char name[32];
  if (!wrong)
    return TRUE;
  hass_graph_refuse (
      graph, HASS_ERROR_INVALID,
      "task %" G_GUINT64_FORMAT " ('%s'), access %u (%s, %s): it %s",
      hass_graph_number (graph, graph->n_submitted), codelet->name, i + 1,
      (guint)a->mode <= HASS_REDUCE ? modes[a->mode] : "?",
      a->data ? hass_data_name (a->data, name) : "no datum", wrong);
  return FALSE;
}

/* Returns: for what the codelet has functions. */
static char *
functions_of (const HassCodelet *codelet)
{
  GString *text = g_string_new (codelet->cpu ? ", cores" : NULL);
  if (codelet->gpu)
    g_string_append (text, ", GPUs");
  for (const HassKindCodelet *k = codelet->kinds; k && k->kind; k++)
    g_string_append_printf (text, ", '%s'", k->kind);
  if (text->len == 0)
    g_string_append (text, ", no device");
  return g_string_free (g_string_erase (text, 0, 2), FALSE);
}

/* Returns: the devices that the dataflow has. */
static char *
devices_of (const HassJob *job)
{
  GString *text = g_string_new (NULL);
  for (guint d = 0; d < job->n_devices; d++)
    g_string_append_printf (text, "%s%s", d > 0 ? ", " : "",
                            (gint)d == job->cpu ? "cores"
                                                : job->devices[d].name);
  return g_string_free (text, FALSE);
}

/* Refuses a codelet that nothing can compute, or one too many, with the task
   that is its first one. */
void
hass_graph_refuse_codelet (HassGraph *graph, const HassCodelet *codelet,
                           gboolean can_run)
{
  g_autofree char *functions = functions_of (codelet);
  g_autofree char *devices = graph->job ? devices_of (graph->job) : NULL;
  g_autofree char *task
      = g_strdup_printf ("task %" G_GUINT64_FORMAT " ('%s')",
                         hass_graph_number (graph, graph->n_submitted),
                         codelet->name ? codelet->name : "?");
  if (can_run)
    hass_graph_refuse (graph, HASS_ERROR_OVERFLOW,
                       "%s: there are more than %d codelets; its one is one "
                       "more",
                       task, HASS_MOST_CODELETS);
  else if (!graph->job)
    hass_graph_refuse (graph, HASS_ERROR_NO_DEVICE,
                       "%s: its codelet has no function for a core or a device",
                       task);
  else if (graph->modelled && codelet->gpu)
    hass_graph_refuse (graph, HASS_ERROR_NO_DEVICE,
                       "%s: its codelet has no function for cores, which "
                       "computes the results of a modelled machine; a dry run "
                       "needs none",
                       task);
  else
    hass_graph_refuse (graph, HASS_ERROR_NO_DEVICE,
                       "%s: its codelet has a function for %s, and the "
                       "dataflow has %s; hass-info tells which GPUs there are "
                       "and why there is none",
                       task, functions, devices);
}

/* A task without a function for cores has an access that only they can have.
   Returns: FALSE. */
gboolean
hass_graph_refuse_for_cores (HassGraph *graph, const HassCodeletState *codelet)
{
  hass_graph_refuse (graph, HASS_ERROR_NO_DEVICE,
                     "task %" G_GUINT64_FORMAT
                     " ('%s') has a COMMUTE or REDUCE access; such tasks run "
                     "on cores, for which the codelet has no function",
                     hass_graph_number (graph, graph->n_submitted),
                     codelet->name);
  return FALSE;
}

/* The arrays of a task or its cost are wrong. Returns: FALSE. */
gboolean
hass_graph_refuse_task (HassGraph *graph, const HassCodeletState *codelet,
                        guint n, const HassTaskHints *hints)
{
  guint64 number = hass_graph_number (graph, graph->n_submitted);
  if (n > G_MAXUINT16)
    hass_graph_refuse (graph, HASS_ERROR_INVALID,
                       "task %" G_GUINT64_FORMAT
                       " ('%s') has %u accesses; at most %u are possible",
                       number, codelet->name, n, G_MAXUINT16);
  else if (hints && !hass_work_is_valid (hints->work))
    hass_graph_refuse (graph, HASS_ERROR_INVALID,
                       "task %" G_GUINT64_FORMAT
                       " ('%s') has the work %g; it must lie between 0 and %g",
                       number, codelet->name, hints->work, G_MAXDOUBLE);
  else
    hass_graph_refuse (graph, HASS_ERROR_INVALID,
                       "task %" G_GUINT64_FORMAT
                       " ('%s'): its %u accesses or the %zu bytes of its "
                       "arguments are NULL",
                       number, codelet->name, n,
                       hints ? hints->argument_bytes : 0);
  return FALSE;
}
