/* SPDX-License-Identifier: MIT */
/* contest.h: what is measured side by side: contestants that are measured one
   after another, many rounds over, each round beginning with another one.

   A contestant's number is the median over the rounds; ratios are taken within
   a round, to the reference. A measurement that returns NAN makes no claim.

   Thread safety: one thread. */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include <glib.h>

G_BEGIN_DECLS

/* Measures once; the unit is the contest's. */
typedef double (*BenchMeasure) (gconstpointer arg);

typedef enum
{
  BENCH_LESS_IS_BETTER,
  BENCH_MORE_IS_BETTER
} BenchSense;

typedef struct Contest Contest;

Contest *contest_new (BenchSense sense, const char *unit, const char *title,
                      ...) G_GNUC_PRINTF (3, 4);
/* Returns the contestant's number. @arg must live as long as the contest. */
guint contest_add (Contest *contest, BenchMeasure measure, gconstpointer arg,
                   const char *name, ...) G_GNUC_PRINTF (4, 5);
/* The first one is, unless this names another. */
void contest_reference (Contest *contest, guint row);
/* Measures after a round that warms up and does not count, and prints a
 * markdown table if @print. */
void contest_run (Contest *contest, guint rounds, gboolean print);
double contest_median (const Contest *contest, guint row);
double contest_least (const Contest *contest, guint row);
double contest_most (const Contest *contest, guint row);
/* The least or the most, as the contest's sense has it. */
double contest_best (const Contest *contest, guint row);
/* Median of the ratios within a round. */
double contest_ratio (const Contest *contest, guint row, guint to);
const char *contest_name (const Contest *contest, guint row);
guint contest_size (const Contest *contest);
void contest_free (Contest *contest);

double median_of (const double *values, gsize n);
double least_of (const double *values, gsize n);
double most_of (const double *values, gsize n);

/* Without contest_run(): space for so many rounds; then each round, whose first
   contestant is @turn modulo their number, calling @settle before each. */
void contest_begin (Contest *contest, guint rounds);
void contest_round (Contest *contest, guint round, guint turn,
                    void (*settle) (void));

/* The value with as many digits as it is worth, in @text, which is returned. */
const char *bench_format (char text[32], double value);

G_END_DECLS

#endif
