/* SPDX-License-Identifier: MIT */
/* bakeoff.h: declarations shared by the files of hass-bakeoff: one run of the
   program, the results of all runs of a strategy, and their comparison.
   Thread safety: one thread. */
#ifndef BAKEOFF_H
#define BAKEOFF_H

#include <glib.h>

G_BEGIN_DECLS

/* -- Runs (run.c) ------------------------------------------------------- */

/* What a device did in the runs of a strategy. */
typedef struct
{
  char *name;
  double work;
} BakeoffDevice;

/**
 * BakeoffEntry: a strategy and its runs.
 * @spec: "name" or "name:key=value,...", or several for different kinds of
 *   farms, with plus signs between.
 * @problem: why the strategy is excluded; NULL: it is not.
 * @failed_round: round of the problem, from 1; 0: a warm-up.
 * @farm_s: [rounds] double, sum of the makespans of the program's farms, in s.
 * @program_s: [rounds] double, from the start of the program to its end, in s.
 * @n_farms, @kinds: number of farms in a run, and a mask of their kinds.
 * @devices: BakeoffDevice.
 */
typedef struct
{
  char *spec;
  char *problem;
  guint failed_round;
  GArray *farm_s, *program_s;
  guint n_farms, kinds;
  GArray *devices;
} BakeoffEntry;

/* Returns: what @n farms of these kinds are called; g_free(). */
char *bakeoff_noun (guint kinds, guint n);

BakeoffEntry *bakeoff_entry_new (const char *spec);
void bakeoff_entry_free (BakeoffEntry *entry);

/* Runs the program once, for at most @limit_s (INFINITY: unlimited). Results
   count from round 1 on. Returns: FALSE if the program could not be started at
   all; later failures become the entry's problem. A signal that would have
   ended hass-bakeoff meanwhile ends it after the run. */
gboolean bakeoff_run (BakeoffEntry *entry, char **program, double limit_s,
                      guint round, GError **error);

/* Runs the program once under its own strategies. @kinds: set to a mask of
   HassFarmKind of its farms that ended; 0: there were none. Else as
   bakeoff_run(). */
gboolean bakeoff_kinds (char **program, double limit_s, guint *kinds,
                        GError **error);

/* Parses "a,b:p=1,q=2,c+d" or "all": those that serve one of these kinds of
   farms; 0: any. Returns: NULL-terminated specs; free with g_strfreev(). NULL
   with an error if one is empty or occurs twice. */
char **bakeoff_specs (const char *list, guint kinds, GError **error);

/* -- A process (spawn.c) ------------------------------------------------ */

/**
 * BakeoffExit: how a process ended.
 * @status: as of waitpid().
 * @seconds: from its start to its end.
 * @err: its standard error; free with g_free().
 * @ended_by: SIGTERM or SIGKILL if it exceeded the limit; else 0.
 * @survived: it did not end even then; there is no status.
 * @told_to_end: signal that hass-bakeoff received meanwhile, or 0.
 */
typedef struct
{
  int status;
  double seconds;
  char *err;
  int ended_by;
  gboolean survived;
  int told_to_end;
} BakeoffExit;

/* Runs a process to its end or to the limit. Returns: FALSE if it could not be
   started. */
gboolean bakeoff_spawn (char **program, char **environment, double limit_s,
                        BakeoffExit *exit, GError **error);

/* -- Statistics (stats.c) ----------------------------------------------- */

/* @values: [@n], @n > 0, in any order; @part: 0 least, 0.5 median. */
double bakeoff_quantile (const double *values, guint n, double part);

/**
 * BakeoffRatio: times of one strategy over those of another, round by round.
 * @median: median of the ratios.
 * @low, @high: confidence interval of the median.
 * @known: there were enough rounds for the interval.
 */
typedef struct
{
  double median, low, high;
  gboolean known;
} BakeoffRatio;

/* The interval is that of the sign test, which assumes no distribution. @a, @b:
   [@n], > 0; @chance: probability that the interval misses the median. */
BakeoffRatio bakeoff_ratio (const double *a, const double *b, guint n,
                            double chance);
/* Returns: minimum number of rounds for an interval. */
guint bakeoff_rounds_needed (double chance);

/* -- The outcome (compare.c, show.c) ------------------------------------ */

/**
 * BakeoffRank: a strategy whose runs all succeeded.
 * @times: [rounds] in s, of the entry.
 * @to_best: its ratio to the best; 1 and known for the best.
 * @tied: the interval contains 1, or is unknown.
 */
typedef struct
{
  const BakeoffEntry *entry;
  const double *times;
  double median_s, low_s, high_s; /* quartiles */
  double program_s;               /* median */
  BakeoffRatio to_best;
  gboolean tied;
} BakeoffRank;

/**
 * BakeoffOutcome: the comparison.
 * @program, @entries: not owned.
 * @limit_s: limit of a run in s; INFINITY: none.
 * @by_farm: times are those of the farms; else of the whole program, because
 *   some run had no farm.
 * @ranks: BakeoffRank, by median.
 * @n_tied: number of ranks tied with the first.
 * @chance: error probability of an interval, such that the intervals of all
 *   pairs of strategies are right together with 95 %.
 */
typedef struct
{
  char **program;
  GPtrArray *entries; /* BakeoffEntry */
  guint rounds, warm_up;
  guint32 seed;
  double limit_s;
  gboolean by_farm;
  GArray *ranks;
  guint n_tied;
  double chance;
} BakeoffOutcome;

/* Sets @by_farm and the following fields. */
void bakeoff_compare (BakeoffOutcome *outcome);
/* Free with g_free(). */
char *bakeoff_text (const BakeoffOutcome *outcome);
char *bakeoff_json (const BakeoffOutcome *outcome);

G_END_DECLS

#endif
