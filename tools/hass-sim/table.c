/* SPDX-License-Identifier: MIT */
/* table.c: results as a table for people, and as CSV.
   Thread safety: one thread. */
#include "sim.h"

#include <math.h>
#include <stdio.h>

#include "csv.h"

static const char *const classes[] = { "equal", "sized", "unknown" };
static const char *
farm_name (HassFarmKind farm)
{
  return farm == HASS_FARM_PARTITION     ? "partition"
         : farm == HASS_FARM_COMBINE     ? "combine"
         : farm == HASS_FARM_INDIVISIBLE ? "indivisible"
                                         : "function";
}

/* Whether no strategy serves the kind of farm. */
static gboolean
all_unfit (GPtrArray *results)
{
  for (guint i = 0; i < results->len; i++)
    if (!((HassSimResult *)results->pdata[i])->unfit)
      return FALSE;
  return TRUE;
}

/* Prints a number in @format, or @unknown if it is NAN. */
static void
print_known (const char *format, double value, const char *unknown)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  fputs (isnan (value) ? unknown
                       : g_ascii_formatd (text, sizeof text, format, value),
         stdout);
}

void
sim_print_table (const SimCase *c, GPtrArray *results)
{
  const SimWorkload *w = c->workload;
  double bound = 0;
  gboolean none = all_unfit (results);
  for (guint i = 0; i < c->rounds; i++)
    bound += c->bound_ns[i];
  printf ("%s on %s: %s, %s, %u units of %" G_GUINT64_FORMAT " elements, "
          "%u rounds, bound %.3f ms",
          w->name, c->platform->name, farm_name (w->farm), classes[w->cost],
          w->units, w->elements, c->rounds, bound * 1e-6);
  if (c->static_split)
    printf (", best %s", c->static_split);
  printf ("\n  %-24s %10s %9s %6s %6s %6s %6s %7s %6s %8s %8s %6s\n",
          "strategy", "total ms", "steady", "eff %", "steady", "first", "worst",
          "static", "imbal", "bundles", "MB", "asks");
  for (guint i = 0; i < results->len; i++)
    {
      const HassSimResult *r = results->pdata[i];
      if (r->refused && (none || !r->unfit))
        printf ("  %-24s %s\n", r->strategy, r->refused);
      if (r->refused)
        continue;
      printf ("  %-24s %10.3f %9.3f %6.1f %6.1f %6.1f %6.1f ", r->strategy,
              r->makespan_ns * 1e-6, r->steady_ns * 1e-6, r->efficiency * 100,
              r->steady_efficiency * 100, r->first_efficiency * 100,
              r->worst_efficiency * 100);
      print_known ("%7.1f", r->against_static * 100, "      -");
      printf (" %6.1f %8" G_GUINT64_FORMAT " %8.1f %6.0f\n", r->imbalance * 100,
              r->bundles, r->bytes * 1e-6, r->asked);
    }
  putchar ('\n');
}

void
sim_print_csv (const SimCase *c, GPtrArray *results, gboolean head)
{
  if (head)
    puts ("workload,platform,farm,class,strategy,rounds,makespan_ms,"
          "steady_ms,efficiency,steady_efficiency,first_efficiency,"
          "worst_efficiency,against_static,imbalance,bundles,bytes,asks");
  for (guint i = 0; i < results->len; i++)
    {
      const HassSimResult *r = results->pdata[i];
      if (r->refused)
        continue;
      sim_csv_text (c->workload->name);
      sim_csv_text (c->platform->name);
      printf ("%s,%s,", farm_name (c->workload->farm),
              classes[c->workload->cost]);
      sim_csv_text (r->strategy);
      printf ("%u,%.6f,%.6f,%.5f,%.5f,%.5f,%.5f,", r->n_rounds,
              r->makespan_ns * 1e-6, r->steady_ns * 1e-6, r->efficiency,
              r->steady_efficiency, r->first_efficiency, r->worst_efficiency);
      print_known ("%.5f", r->against_static, "");
      printf (",%.5f,%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",%.2f\n",
              r->imbalance, r->bundles, r->bytes, r->asked);
    }
}
