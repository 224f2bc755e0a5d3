/* SPDX-License-Identifier: MIT */
/* command.c: hass-sim --dataflow: runs a graph of tasks on a modelled machine,
   and says how near it comes to the lower bounds.
   Thread safety: one thread. */
#include "output.h"

#include <stdio.h>
#include <sys/mman.h>

#include "engine/observe/json-private.h"

/* The machine if none is named. */
#define MACHINE "h200x2"
/* Highest priority, of the task with the longest path to the end. */
#define HIGHEST 1000000

typedef struct
{
  const SimFlow *flow;
  guint8 *memory; /* reserved, never touched */
  double core_work_per_ns, longest_ns;
  HassCodelet *codelets;
} Run;

/* In a dry run no function is called. */
static gboolean
on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  return FALSE;
}

static gboolean
on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
        GError **error)
{
  (void)calls, (void)n_calls, (void)stream, (void)error;
  return FALSE;
}

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  Run *run = user_data;
  const SimFlow *f = run->flow;
  g_autofree HassData **data = g_new (HassData *, f->sizes->len);
  guint8 *at = run->memory;
  g_autoptr (GArray) accesses = g_array_new (FALSE, FALSE, sizeof (HassAccess));
  gboolean ok = TRUE;
  (void)error;
  for (guint c = 0; c < f->codelets->len; c++)
    {
      HassCodelet codelet = HASS_CODELET (.name = f->codelets->pdata[c],
                                          .cpu = on_core, .gpu = on_gpu);
      run->codelets[c] = codelet;
    }
  for (guint32 d = 0; d < f->sizes->len; d++)
    {
      gsize bytes = g_array_index (f->sizes, gsize, d);
      data[d] = bytes > 0 ? hass_graph_data (graph, at, bytes, 1, 0)
                          : hass_graph_scratch (graph, 0);
      at += bytes;
    }
  for (guint i = 0; ok && i < f->tasks->len; i++)
    {
      const SimFlowTask *t = &g_array_index (f->tasks, SimFlowTask, i);
      HassTaskHints hints
          = { .work = t->core_ns * run->core_work_per_ns,
              .priority = (gint32)(t->urgency / run->longest_ns * HIGHEST) };
      g_array_set_size (accesses, 0);
      for (guint k = t->first; k < t->first + t->n; k++)
        {
          const SimFlowUse *u = &g_array_index (f->uses, SimFlowUse, k);
          HassAccess a = { data[u->datum], u->mode };
          g_array_append_val (accesses, a);
        }
      ok = hass_graph_task (graph, &run->codelets[t->codelet],
                            (HassAccess *)accesses->data, t->n, &hints);
    }
  return TRUE;
}

HassReport *
sim_flow_run (SimFlow *f, const HassPlatform *p, guint64 seed, GError **error)
{
  gsize bytes = MAX (sim_flow_bytes (f), 1);
  HassReport *report = NULL;
  g_autofree HassCodelet *codelets = g_new0 (HassCodelet, f->codelets->len);
  Run run
      = { .flow = f,
          .core_work_per_ns = p->core_work_per_ns,
          .codelets = codelets,
          .longest_ns = sim_flow_bound (f, p).path_ns,
          .memory = mmap (NULL, bytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) };
  if (run.memory == MAP_FAILED)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "dataflow '%s': no address space for %zu bytes", f->spec,
                   bytes);
      return NULL;
    }
  HassDataflow d = HASS_DATAFLOW_INIT;
  d.name = f->name;
  d.build = build;
  d.user_data = &run;
  d.run.platform = p->path;
  d.run.dry = TRUE;
  d.run.seed = seed;
  if (!hass_dataflow (&d, &report, error))
    {
      g_prefix_error (error, "%s: ", f->spec);
      g_clear_pointer (&report, hass_report_free);
    }
  munmap (run.memory, bytes);
  return report;
}

/* -- The command ---------------------------------------------------------- */

static void
print (const SimFlowCommand *command, const SimFlowResult *result)
{
  if (command->output == 't')
    sim_flow_print_table (result);
  else if (command->output == 'c')
    {
      sim_flow_print_csv_head ();
      sim_flow_print_csv (result);
    }
  else
    {
      g_autoptr (JsonBuilder) json = json_builder_new ();
      json_builder_begin_array (json);
      sim_flow_add_json (json, result);
      json_builder_end_array (json);
      g_autofree char *text = json_text (json, TRUE);
      puts (text);
    }
}

gboolean
sim_flow_command (const SimFlowCommand *command, GError **error)
{
  HassPlatform *p = NULL;
  const char *on = command->platform ? command->platform : MACHINE;
  g_autoptr (SimFlow) f = sim_flow_new (command->spec, command->seed, error);
  if (!f || !sim_load_platform (f->name, on, &p, error))
    return FALSE;
  HassReport *r = NULL;
  if (!p->has_cpu)
    g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                 "dataflow '%s': platform %s has no cores", f->spec, p->name);
  else if ((r = sim_flow_run (f, p, command->seed, error)))
    print (command,
           &(SimFlowResult){ f, p, r, sim_flow_bound (f, p), command->seed });
  hass_platform_free (p);
  if (!r)
    return FALSE;
  hass_report_free (r);
  return TRUE;
}
