/* SPDX-License-Identifier: MIT */
/* compare.c: a graph of tasks under several strategies.
   Thread safety: one thread. */
#include "flow.h"

#include <stdio.h>
#include <string.h>

#include "hass/error.h"
#include "sched/registry.h"

/* Adds all strategies of dataflows. */
static void
add_all (GPtrArray *names)
{
  g_autofree const HassStrategyOps **all = hass_strategy_list ();
  for (guint i = 0; all[i]; i++)
    if (all[i]->farms & HASS_FARM_DATAFLOW)
      g_ptr_array_add (names, g_strdup (all[i]->name));
}

/* Adds one, with its parameters. */
static gboolean
add_one (GPtrArray *names, const char *spec, GError **error)
{
  g_autofree char *name = g_strndup (spec, strcspn (spec, ":"));
  const HassStrategyOps *ops = hass_strategy_find (name, NULL);
  if (!ops || !(ops->farms & HASS_FARM_DATAFLOW))
    {
      g_autofree char *known = hass_strategy_serving (HASS_FARM_DATAFLOW);
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "no strategy \"%s\" for dataflows; known are: %s", name,
                   known);
      return FALSE;
    }
  g_ptr_array_add (names, g_strdup (spec));
  return hass_strategy_parse (spec, NULL, error) != NULL;
}

char **
sim_flow_strategies (const char *list, GError **error)
{
  g_auto (GStrv) asked = hass_strategy_split (list);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (char **a = asked; *a; a++)
    if (strcmp (*a, "all") == 0)
      add_all (names);
    else if (!add_one (names, *a, error))
      return NULL;
  if (names->len == 0)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
                   "no strategy is named");
      return NULL;
    }
  g_ptr_array_add (names, NULL);
  return (char **)g_ptr_array_steal (names, NULL);
}

static double
percent (double part, double whole)
{
  return whole > 0 ? 100 * part / whole : 0;
}

/* Prints a line: the time, by the best one and by the bound, and the part of it
   in which the cores, and then each GPU, compute. */
static void
print_line (const char *name, const SimFlowOutcome *o, double best_ns,
            double bound_ns)
{
  const HassReport *r = o->report;
  double ns = sim_flow_last_ns (o);
  printf ("%-18s %12.3f %8.3f %8.3f ", name, ns * 1e-6,
          best_ns > 0 ? ns / best_ns : 1, bound_ns > 0 ? ns / bound_ns : 1);
  for (guint d = 0; d < r->n_devices; d++)
    printf (" %5.1f", percent (r->devices[d].kernel_s, r->makespan_s));
  putchar ('\n');
}

void
sim_flow_compare (SimFlow *f, const HassPlatform *p, char **strategies,
                  const GPtrArray *outcomes)
{
  SimFlowBound b = sim_flow_bound (f, p);
  double best_ns = G_MAXDOUBLE, bound_ns = MAX (b.path_ns, b.area_ns);
  const SimFlowOutcome *first = outcomes->pdata[0];
  g_autofree char *which = first->times > 0
                               ? g_strdup_printf (", run %u", first->times)
                               : g_strdup ("");
  for (guint i = 0; i < outcomes->len; i++)
    best_ns = MIN (best_ns, sim_flow_last_ns (outcomes->pdata[i]));
  printf ("%s on %s%s: %u tasks, bound %.3f ms\n", f->spec, p->name, which,
          f->tasks->len, bound_ns * 1e-6);
  printf ("%-18s %12s %8s %8s  %s\n", "strategy", "ms", "/ best", "/ bound",
          "busy %: cores, GPUs");
  for (guint i = 0; i < outcomes->len; i++)
    print_line (strategies[i], outcomes->pdata[i], best_ns, bound_ns);
}
