/* SPDX-License-Identifier: MIT */
/* summary.c: geometric means over many cases.
   Thread safety: one thread. */
#include "summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct
{
  char *strategy;
  guint n;
  double log_sum, log_steady, log_first, log_static;
  double worst, lag;
  char *worst_case, *lag_case;
} Line;

struct SimSummary
{
  GPtrArray *groups; /* char * */
  GPtrArray *lines;  /* GPtrArray of Line, by group */
};

static void
line_free (gpointer data)
{
  Line *line = data;
  g_free (line->strategy);
  g_free (line->worst_case);
  g_free (line->lag_case);
  g_free (line);
}

SimSummary *
sim_summary_new (void)
{
  SimSummary *s = g_new0 (SimSummary, 1);
  s->groups = g_ptr_array_new_with_free_func (g_free);
  s->lines = g_ptr_array_new_with_free_func ((GDestroyNotify)g_ptr_array_unref);
  return s;
}

void
sim_summary_free (SimSummary *s)
{
  g_ptr_array_unref (s->groups);
  g_ptr_array_unref (s->lines);
  g_free (s);
}

static GPtrArray *
lines_of (SimSummary *s, const char *group)
{
  for (guint i = 0; i < s->groups->len; i++)
    if (strcmp (s->groups->pdata[i], group) == 0)
      return s->lines->pdata[i];
  g_ptr_array_add (s->groups, g_strdup (group));
  g_ptr_array_add (s->lines, g_ptr_array_new_with_free_func (line_free));
  return s->lines->pdata[s->lines->len - 1];
}

static Line *
line_of (GPtrArray *lines, const char *strategy)
{
  for (guint i = 0; i < lines->len; i++)
    if (strcmp (((Line *)lines->pdata[i])->strategy, strategy) == 0)
      return lines->pdata[i];
  Line *line = g_new0 (Line, 1);
  line->strategy = g_strdup (strategy);
  line->worst = line->lag = INFINITY;
  g_ptr_array_add (lines, line);
  return line;
}

/* The logarithm, of positive numbers only. */
static double
safe_log (double x)
{
  return log (MAX (x, 1e-9));
}

/* Keeps the least value and the case that has it. */
static void
keep_least (double *least, char **where, double value, const SimCase *c)
{
  if (value >= *least)
    return;
  *least = value;
  g_free (*where);
  *where = g_strdup_printf ("%s@%s", c->workload->name, c->platform->name);
}

void
sim_summary_add (SimSummary *s, const char *group, GPtrArray *results)
{
  GPtrArray *lines = lines_of (s, group);
  double best_ns = INFINITY;
  for (guint i = 0; i < results->len; i++)
    {
      const HassSimResult *r = results->pdata[i];
      if (!r->refused)
        best_ns = MIN (best_ns, r->makespan_ns);
    }
  for (guint i = 0; i < results->len; i++)
    {
      const HassSimResult *r = results->pdata[i];
      if (r->refused)
        continue;
      Line *line = line_of (lines, r->strategy);
      line->n++;
      line->log_sum += safe_log (r->efficiency);
      line->log_steady += safe_log (r->steady_efficiency);
      line->log_first += safe_log (r->first_efficiency);
      line->log_static += isnan (r->against_static)
                              ? r->against_static
                              : safe_log (r->against_static);
      keep_least (&line->worst, &line->worst_case, r->efficiency, r->of);
      keep_least (&line->lag, &line->lag_case, best_ns / r->makespan_ns, r->of);
    }
}

static gint
best_first (gconstpointer a, gconstpointer b)
{
  const Line *x = *(Line *const *)a, *y = *(Line *const *)b;
  double p = x->log_sum / x->n, q = y->log_sum / y->n;
  return (p < q) - (p > q);
}

void
sim_summary_print (SimSummary *s)
{
  for (guint g = 0; g < s->groups->len; g++)
    {
      GPtrArray *lines = s->lines->pdata[g];
      if (lines->len == 0)
        continue;
      g_ptr_array_sort (lines, best_first);
      printf ("%s: geometric means, %% of the bound\n",
              (char *)s->groups->pdata[g]);
      printf ("  %-20s %5s %6s %6s %6s %6s %6s %-32s %6s  %s\n", "strategy",
              "cases", "eff", "steady", "first", "static", "worst", "on",
              "best", "least on");
      for (guint i = 0; i < lines->len; i++)
        {
          const Line *l = lines->pdata[i];
          double of_static = 100 * exp (l->log_static / l->n);
          char known[16] = "-"; /* without a best static split */
          if (!isnan (of_static))
            g_snprintf (known, sizeof known, "%.2f", of_static);
          printf ("  %-20s %5u %6.2f %6.2f %6.2f %6s %6.2f %-32s %6.2f  %s\n",
                  l->strategy, l->n, 100 * exp (l->log_sum / l->n),
                  100 * exp (l->log_steady / l->n),
                  100 * exp (l->log_first / l->n), known, 100 * l->worst,
                  l->worst_case ? l->worst_case : "", 100 * l->lag,
                  l->lag_case ? l->lag_case : "");
        }
      putchar ('\n');
    }
}
