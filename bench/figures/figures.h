/* SPDX-License-Identifier: MIT */
/* figures.h: declarations shared by the files of gpu-figures: the work, one
   watched run, the search for the best static division, plots.

   gpu-figures runs the comparisons of Zhang 2011, figures 29 to 33, on this
   machine: the strategies of the thesis against each other and against the best
   static division. A wrong result ends the program.

   Thread safety: one thread. */
#ifndef FIGURES_H
#define FIGURES_H

#include <hass/hass.h>

#include "draw/plot.h"
#include "gpu_bench.h"
#include "work.h"

G_BEGIN_DECLS

#define FIGURES_MOST_GPUS 8
#define FIGURES_MOST_DEVICES (1 + FIGURES_MOST_GPUS)

/* -- The work (workload.c) ---------------------------------------------- */

/**
 * FiguresFarm: a farm over the work.
 * @distinct: sizes spread 1 to 10, else all loads are equal.
 * @search: a load ends where its target is found, else all of it is hashed.
 */
typedef struct
{
  HassFarmKind kind;
  HassCostClass cost;
  gboolean distinct;
  gboolean search;
} FiguresFarm;

/**
 * FiguresWork: the loads of a round, which are the same in each round.
 * @n_loads, @load_elements: of a round; a divisible load is as large as all
 *   of them, and a block as one of them.
 * @n_elements: of a round.
 * @sizes: [@n_loads] elements of the distinct loads; @n_distinct: their sum.
 * @steps: of a hash, see work.h.
 * @input: [@n_elements * FIGURES_WORDS], NULL in virtual time.
 * @expected: [@n_elements] hashes; @targets: [@n_loads] where searches end.
 * @output: [@rounds * @n_elements].
 */
typedef struct
{
  gsize n_loads, load_elements, n_elements;
  guint rounds;
  guint32 *sizes;
  gsize n_distinct;
  FiguresSteps steps;
  guint64 *input;
  guint64 *expected, *targets;
  guint64 *output;
  guint64 seed;
  Crew *crew;
} FiguresWork;

FiguresWork *figures_work_new (gsize n_loads, gsize load_elements, guint rounds,
                               guint64 seed, gboolean in_memory);
void figures_work_free (FiguresWork *work);
/* Steps over a whole element, at least FIGURES_WORDS. */
void figures_work_set_steps (FiguresWork *work, double steps);
double figures_work_steps (const FiguresWork *work);
/* Fills in all of the farm but its run options. Returns its loads, which
   must stay as long; free with g_free(). */
HassLoad *figures_work_farm (const FiguresWork *work, const FiguresFarm *kind,
                             guint rounds, gboolean gpu, HassDataFarm *farm);
/* Elements, or loads of a search, with a wrong result; then forgets them. */
gsize figures_work_wrong (FiguresWork *work, const FiguresFarm *kind,
                          guint rounds);

/* -- A watched run (run.c) ---------------------------------------------- */

/**
 * FiguresMachine: where farms run.
 * @n_gpus: used; 0: only the CPU pool.
 * @platform: of the modelled machine; NULL: the real one.
 */
typedef struct
{
  FiguresWork *work;
  guint n_gpus;
  const char *platform;
} FiguresMachine;

/**
 * FiguresOutcome: the measurements of a run.
 * @round_ms: [@rounds].
 * @parts: [@rounds * FIGURES_MOST_DEVICES] of the round's work, the CPU
 *   first.
 * @bundles: total of all GPUs.
 * @gathered: part of their input that was gathered in staging memory, because
 *   it was not contiguous in pinned memory.
 */
typedef struct
{
  guint rounds;
  double total_ms;
  double *round_ms;
  double *parts;
  guint64 bundles;
  double gathered;
} FiguresOutcome;

FiguresOutcome *figures_run (const FiguresMachine *machine,
                             const FiguresFarm *kind, const char *strategy,
                             guint rounds);
void figures_outcome_free (FiguresOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FiguresOutcome, figures_outcome_free)
/* Median time of the rounds from number `first` on, from 0. */
double figures_outcome_settled_ms (const FiguresOutcome *outcome, guint first);

/* -- The best static division (search.c) -------------------------------- */

#define FIGURES_STATIC_STEPS 20

/* Time of a round with 0, 5, ... 100 % for the CPU, and the best of them. */
typedef struct
{
  double round_ms[FIGURES_STATIC_STEPS + 1];
  guint best; /* index */
} FiguresStatic;

FiguresStatic figures_search_static (const FiguresMachine *machine,
                                     const FiguresFarm *kind);
/* "static:cpu=..."; free with g_free(). */
char *figures_static_spec (guint index);

/* -- Plots (plot.c) ----------------------------------------------------- */

/* @values: [rounds]. */
typedef DrawSeries FiguresLine;

#define FIGURES_MOST_LINES 8

/* Time of each round, a line a strategy; SVG, free with g_free(). */
char *figures_plot_lines (const char *title, const char *subtitle,
                          const FiguresLine *lines, guint n, guint rounds);
/* Parts of each round's work, a stacked bar a round. @lines: a device each,
   values up to 1, together 1. */
char *figures_plot_parts (const char *title, const char *subtitle,
                          const FiguresLine *lines, guint n, guint rounds);

/* -- A figure (report.c) ------------------------------------------------ */

/**
 * FiguresPair: a comparison of the thesis.
 * @than: the strategy that @of is compared with.
 * @thesis: the ratio according to the thesis.
 */
typedef struct
{
  const char *of, *than, *thesis;
} FiguresPair;

/**
 * FiguresFigure: a comparison to be run.
 * @id: names its files; @title: of the plot and the section.
 * @what: what the thesis shows there.
 * @strategies: all but the static division; NULL-terminated.
 * @pairs: ends with a NULL.
 * @parts_of: draw the parts that this strategy gave the devices instead of
 *   times; NULL: times.
 */
typedef struct
{
  const char *id, *title, *what;
  FiguresFarm farm;
  const char *const *strategies;
  const FiguresPair *pairs;
  const char *parts_of;
} FiguresFigure;

/* All of them, [figures_n_all] (list.c). */
extern const FiguresFigure figures_all[];
extern const guint figures_n_all;

/* Runs the figure; its section goes to @markdown, its plot into @folder. */
void figures_report (const FiguresMachine *machine, const FiguresFigure *figure,
                     guint rounds, guint repeat, const char *folder,
                     GString *markdown);

G_END_DECLS

#endif
