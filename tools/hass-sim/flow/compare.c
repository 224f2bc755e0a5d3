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
print_line (const char *name, const HassReport *r, double best_s,
            double bound_s)
{
  printf ("%-18s %12.3f %8.3f %8.3f ", name, r->makespan_s * 1e3,
          best_s > 0 ? r->makespan_s / best_s : 1,
          bound_s > 0 ? r->makespan_s / bound_s : 1);
  for (guint d = 0; d < r->n_devices; d++)
    printf (" %5.1f", percent (r->devices[d].kernel_s, r->makespan_s));
  putchar ('\n');
}

void
sim_flow_compare (SimFlow *f, const HassPlatform *p, char **strategies,
                  const GPtrArray *reports)
{
  SimFlowBound b = sim_flow_bound (f, p);
  double best_s = G_MAXDOUBLE, bound_ns = MAX (b.path_ns, b.area_ns);
  for (guint i = 0; i < reports->len; i++)
    {
      const HassReport *r = reports->pdata[i];
      best_s = MIN (best_s, r->makespan_s);
    }
  printf ("%s on %s: %u tasks, bound %.3f ms\n", f->spec, p->name,
          f->tasks->len, bound_ns * 1e-6);
  printf ("%-18s %12s %8s %8s  %s\n", "strategy", "ms", "/ best", "/ bound",
          "busy %: cores, GPUs");
  for (guint i = 0; i < reports->len; i++)
    print_line (strategies[i], reports->pdata[i], best_s, bound_ns * 1e-9);
}
