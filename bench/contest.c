/* SPDX-License-Identifier: MIT */
/* contest.c: see contest.h.
   Thread safety: one thread. */
#include "contest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct
{
  char *name;
  BenchMeasure measure;
  gconstpointer arg;
  double *values;
} Row;

struct Contest
{
  BenchSense sense;
  char *title, *unit;
  GArray *rows;
  guint reference, rounds;
};

static int
by_value (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double
median_of (const double *values, gsize n)
{
  if (n == 0)
    return NAN;
  double *sorted = g_new (double, n);
  for (gsize i = 0; i < n; i++)
    sorted[i] = values[i];
  qsort (sorted, n, sizeof *sorted, by_value);
  double middle = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
  g_free (sorted);
  return middle;
}

double
least_of (const double *values, gsize n)
{
  double least = INFINITY;
  for (gsize i = 0; i < n; i++)
    least = fmin (least, values[i]);
  return least;
}

double
most_of (const double *values, gsize n)
{
  double most = -INFINITY;
  for (gsize i = 0; i < n; i++)
    most = fmax (most, values[i]);
  return most;
}

static Row *
row_of (const Contest *contest, guint row)
{
  return &g_array_index (contest->rows, Row, row);
}

double
contest_least (const Contest *contest, guint row)
{
  return least_of (row_of (contest, row)->values, contest->rounds);
}

double
contest_most (const Contest *contest, guint row)
{
  return most_of (row_of (contest, row)->values, contest->rounds);
}

Contest *
contest_new (BenchSense sense, const char *unit, const char *title, ...)
{
  Contest *contest = g_new0 (Contest, 1);
  va_list args;
  va_start (args, title);
  contest->title = g_strdup_vprintf (title, args);
  va_end (args);
  contest->sense = sense;
  contest->unit = g_strdup (unit);
  contest->rows = g_array_new (FALSE, TRUE, sizeof (Row));
  return contest;
}

guint
contest_add (Contest *contest, BenchMeasure measure, gconstpointer arg,
             const char *name, ...)
{
  Row row = { .measure = measure, .arg = arg };
  va_list args;
  va_start (args, name);
  row.name = g_strdup_vprintf (name, args);
  va_end (args);
  g_array_append_val (contest->rows, row);
  return contest->rows->len - 1;
}

void
contest_reference (Contest *contest, guint row)
{
  contest->reference = row;
}

double
contest_median (const Contest *contest, guint row)
{
  return median_of (row_of (contest, row)->values, contest->rounds);
}

double
contest_best (const Contest *contest, guint row)
{
  const double *values = row_of (contest, row)->values;
  return contest->sense == BENCH_LESS_IS_BETTER
             ? least_of (values, contest->rounds)
             : most_of (values, contest->rounds);
}

const char *
contest_name (const Contest *contest, guint row)
{
  return row_of (contest, row)->name;
}

guint
contest_size (const Contest *contest)
{
  return contest->rows->len;
}

double
contest_ratio (const Contest *contest, guint row, guint to)
{
  const double *values = row_of (contest, row)->values;
  const double *others = row_of (contest, to)->values;
  double *ratios = g_new (double, contest->rounds);
  for (guint i = 0; i < contest->rounds; i++)
    ratios[i] = values[i] / others[i];
  double ratio = median_of (ratios, contest->rounds);
  g_free (ratios);
  return ratio;
}

const char *
bench_format (char text[32], double value)
{
  double size = fabs (value);
  int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 2 ? 2 : 4;
  g_snprintf (text, 32, "%.*f", digits, value);
  return text;
}

static void
print_table (const Contest *contest)
{
  printf ("\n%s [%s], %u rounds\n\n", contest->title, contest->unit,
          contest->rounds);
  printf ("| %-60s | %9s | %9s | %9s | %7s |\n", "", "median", "least", "most",
          "ratio");
  printf ("|:%s|----------:|----------:|----------:|--------:|\n",
          "-------------------------------------------------------------");
  for (guint i = 0; i < contest->rows->len; i++)
    {
      char mid[32], low[32], high[32];
      printf ("| %-60s | %9s | %9s | %9s | %7.3f |\n",
              contest_name (contest, i),
              bench_format (mid, contest_median (contest, i)),
              bench_format (low, contest_least (contest, i)),
              bench_format (high, contest_most (contest, i)),
              contest_ratio (contest, i, contest->reference));
    }
  fflush (stdout);
}

void
contest_begin (Contest *contest, guint rounds)
{
  contest->rounds = rounds;
  for (guint i = 0; i < contest->rows->len; i++)
    {
      Row *row = row_of (contest, i);
      row->values = g_renew (double, row->values, rounds);
    }
}

void
contest_round (Contest *contest, guint round, guint turn, void (*settle) (void))
{
  for (guint i = 0; i < contest->rows->len; i++)
    {
      Row *row = row_of (contest, (i + turn) % contest->rows->len);
      if (settle)
        settle ();
      row->values[round] = row->measure (row->arg);
    }
}

/* The first round warms up and does not count. */
void
contest_run (Contest *contest, guint rounds, gboolean print)
{
  rounds = MAX (rounds, 1);
  contest_begin (contest, rounds);
  contest_round (contest, 0, 0, NULL);
  for (guint round = 0; round < rounds; round++)
    contest_round (contest, round, round, NULL);
  if (print)
    print_table (contest);
}

void
contest_free (Contest *contest)
{
  for (guint i = 0; i < contest->rows->len; i++)
    {
      g_free (row_of (contest, i)->name);
      g_free (row_of (contest, i)->values);
    }
  g_array_unref (contest->rows);
  g_free (contest->title);
  g_free (contest->unit);
  g_free (contest);
}
