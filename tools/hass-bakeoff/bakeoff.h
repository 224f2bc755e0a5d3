/* SPDX-License-Identifier: MIT */
/* bakeoff.h: what the files of hass-bakeoff share: one run of the program,
   what all runs of a strategy gave, and how strategies compare.
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
 * BakeoffEntry: a strategy.
 * @spec: "name" or "name:key=value,...".
 * @problem: why it is out of the race; NULL: it is not. @failed_round: from
 *   1; 0: in a warm-up.
 * @farm_s, @program_s: double, a round each: the sum of the makespans of the
 *   program's farms, and the program from its start to its end.
 * @n_farms: of a run.
 * @devices: BakeoffDevice.
 */
typedef struct
{
  char *spec;
  char *problem;
  guint failed_round;
  GArray *farm_s, *program_s;
  guint n_farms;
  GArray *devices;
} BakeoffEntry;

BakeoffEntry *bakeoff_entry_new (const char *spec);
void bakeoff_entry_free (BakeoffEntry *entry);

/* Runs the program once, for so many seconds at most; INFINITY: no limit. What
   it gave counts from round 1 on. FALSE: it could not be started at all. What
   goes wrong later is the entry's problem. A signal that would have ended
   hass-bakeoff meanwhile ends it when the program is over. */
gboolean bakeoff_run (BakeoffEntry *entry, char **program, double limit_s,
                      guint round, GError **error);

/* "a,b:p=1,q=2,c" or "all" as specs, NULL-terminated; free with
   g_strfreev(). NULL with an error when one is empty or comes twice. */
char **bakeoff_specs (const char *list, GError **error);

/* -- A process (spawn.c) ------------------------------------------------ */

/**
 * BakeoffExit: how a process ended.
 * @status: as of waitpid().
 * @seconds: from its start to its end.
 * @err: what it wrote to standard error; free with g_free().
 * @ended_by: SIGTERM or SIGKILL: it was over the limit; 0: it was not.
 * @survived: not even that ended it; there is no status.
 * @told_to_end: the signal that hass-bakeoff got meanwhile, or 0.
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

/* Runs it to its end or the limit. FALSE: it could not be started. */
gboolean bakeoff_spawn (char **program, char **environment, double limit_s,
                        BakeoffExit *exit, GError **error);

/* -- Statistics (stats.c) ----------------------------------------------- */

/* @values: [@n], @n > 0, in any order; @part: 0 least, 0.5 median. */
double bakeoff_quantile (const double *values, guint n, double part);

/**
 * BakeoffRatio: times of one strategy by those of another, round by round.
 * @median; @low, @high: the interval that holds the true median but for the
 *   chance that was asked for. @known: there were rounds enough for it.
 */
typedef struct
{
  double median, low, high;
  gboolean known;
} BakeoffRatio;

/* The interval is that of the sign test, which supposes nothing of how times
   are spread. @a, @b: [@n], > 0; @chance: of being wrong. */
BakeoffRatio bakeoff_ratio (const double *a, const double *b, guint n,
                            double chance);
/* Rounds without which no interval is known. */
guint bakeoff_rounds_needed (double chance);

/* -- The outcome (compare.c, show.c) ------------------------------------ */

/**
 * BakeoffRank: a strategy that ran to the end.
 * @times: [rounds], seconds, of the entry.
 * @to_best: its ratio to the best; of the best, 1 and known.
 * @tied: the interval holds 1, or is not known.
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
 * BakeoffOutcome:
 * @program, @entries: not owned.
 * @limit_s: of a run; INFINITY: none.
 * @by_farm: times are those of the farms; else of the whole program, because
 *   a run had no farm.
 * @ranks: BakeoffRank, by median. @n_tied: with the first.
 * @chance: of an interval to be wrong, so that all pairs of strategies
 *   together are right with 95 %.
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

/* Fills in @by_farm and what follows. */
void bakeoff_compare (BakeoffOutcome *outcome);
/* Free with g_free(). */
char *bakeoff_text (const BakeoffOutcome *outcome);
char *bakeoff_json (const BakeoffOutcome *outcome);

G_END_DECLS

#endif
