/* SPDX-License-Identifier: MIT */
/* command.c: hass-sim --dataflow: runs a graph of tasks on a modelled machine,
   and says how near it comes to the lower bounds.
   Thread safety: one thread. */
#include "flow.h"

#include <stdio.h>
#include <sys/mman.h>

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

static gsize
all_bytes (const SimFlow *f)
{
  gsize sum = 0;
  for (guint d = 0; d < f->sizes->len; d++)
    sum += g_array_index (f->sizes, gsize, d);
  return sum;
}

HassReport *
sim_flow_run (SimFlow *f, const HassPlatform *p, const char *strategy,
              guint64 seed, GError **error)
{
  gsize bytes = MAX (all_bytes (f), 1);
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
  d.run.strategy = strategy;
  if (!hass_dataflow (&d, &report, error))
    {
      g_prefix_error (error, "%s: ", f->spec);
      g_clear_pointer (&report, hass_report_free);
    }
  munmap (run.memory, bytes);
  return report;
}

/* Of a graph whose tasks cost nothing the whole may be 0. */
static double
percent (double part, double whole)
{
  return whole > 0 ? 100 * part / whole : 0;
}

static void
print_bound (const char *what, double ns, double makespan_ns, gboolean binds)
{
  printf ("  %-26s %12.3f ms  %5.1f %% of the time%s\n", what, ns * 1e-6,
          percent (ns, makespan_ns), binds ? ", binds" : "");
}

static void
print (const SimFlow *f, const HassPlatform *p, const HassReport *r,
       SimFlowBound b)
{
  double ns = r->makespan_s * 1e9;
  g_autofree char *bytes
      = g_format_size_full (all_bytes (f), G_FORMAT_SIZE_IEC_UNITS);
  printf ("%s on %s: %u tasks, %u data, %s\n", f->spec, p->name, f->tasks->len,
          f->sizes->len, bytes);
  printf ("  %-26s %12.3f ms\n", "virtual time", ns * 1e-6);
  for (guint d = 0; d < r->n_devices; d++)
    {
      const HassDeviceReport *v = &r->devices[d];
      g_autofree char *copied
          = g_format_size_full (v->bytes, G_FORMAT_SIZE_IEC_UNITS);
      printf ("  %-14s busy %5.1f %%, %" G_GUINT64_FORMAT " tasks, %s copied "
              "%s\n",
              v->name, percent (v->kernel_s, r->makespan_s), v->units, copied,
              d == 0 ? "home" : "to it");
    }
  print_bound ("critical path", b.path_ns, ns, b.path_ns >= b.area_ns);
  print_bound ("total work / total rate", b.area_ns, ns, b.area_ns > b.path_ns);
}

/* Runs the graph under each strategy; NULL: the preset one. */
static gboolean
run_all (SimFlow *f, const HassPlatform *p, char **strategies, guint64 seed,
         GError **error)
{
  g_autoptr (GPtrArray) reports
      = g_ptr_array_new_with_free_func ((GDestroyNotify)hass_report_free);
  guint n = strategies ? g_strv_length (strategies) : 1;
  for (guint i = 0; i < n; i++)
    {
      HassReport *r
          = sim_flow_run (f, p, strategies ? strategies[i] : NULL, seed, error);
      if (!r)
        return FALSE;
      g_ptr_array_add (reports, r);
    }
  if (n > 1)
    sim_flow_compare (f, p, strategies, reports);
  else
    print (f, p, reports->pdata[0], sim_flow_bound (f, p));
  return TRUE;
}

gboolean
sim_flow_command (const char *spec, const char *platform, const char *strategy,
                  guint64 seed, GError **error)
{
  HassPlatform *p = NULL;
  g_auto (GStrv) strategies = NULL;
  if (strategy && !(strategies = sim_flow_strategies (strategy, error)))
    return FALSE;
  g_autoptr (SimFlow) f = sim_flow_new (spec, seed, error);
  if (!f
      || !sim_load_platform (f->name, platform ? platform : MACHINE, &p, error))
    return FALSE;
  gboolean ok = p->has_cpu;
  if (!ok)
    g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                 "dataflow '%s': platform %s has no cores", spec, p->name);
  else
    ok = run_all (f, p, strategies, seed, error);
  hass_platform_free (p);
  return ok;
}
