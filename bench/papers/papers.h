/* SPDX-License-Identifier: MIT */
/* papers.h: the figures of the five papers, run again in virtual time.

   DESIGN. Each paper has a file with a function that runs its figures and
   fills in numbers, and one that writes them beside the paper's as a chapter
   of a page, with plots. Tests read the same numbers. What is run are the
   workloads and machines of doc/, through the parts of hass-sim.

   Thread safety: one thread. */
#ifndef PAPERS_H
#define PAPERS_H

#include "draw/plot.h"
#include "tools/hass-sim/sim.h"

/* -- Running ------------------------------------------------------------ */

/* A shipped workload on a shipped machine (NULL: its own); NULL with error. */
SimCase *papers_case (const char *workload, const char *platform, guint rounds,
                      GError **error);
/* NULL with error where the strategy refuses. */
HassSimResult *papers_run (const SimCase *c, const char *strategy,
                           GError **error);
/* Of all rounds, ns; 0 with error. */
double papers_total (const SimCase *c, const char *strategy, GError **error);
/* Of a round, ns. */
double papers_round_ns (const HassSimResult *r, guint round);
/* What part of the units of rounds [from, to) a device computed. */
double papers_share (const HassSimResult *r, guint device, guint from,
                     guint to);
double papers_mean (const double *values, guint n);
double papers_geometric_mean (const double *values, guint n);

/* -- CAP 2013 ----------------------------------------------------------- */

enum
{
  CAP_CPU,
  CAP_GPU,
  CAP_SAMPLING,
  CAP_CAP,
  CAP_N
};
#define CAP_BENCHMARKS 4

/* Table 3 and, from CAP_SAMPLING on, table 4; parts of 1. */
typedef struct
{
  const char *name;
  double speedup[CAP_N], paper_speedup[CAP_N];
  double imbalance[CAP_N], paper_imbalance[CAP_N];
  double profiled, paper_profiled;
} PapersCapRow;

typedef struct
{
  PapersCapRow rows[CAP_BENCHMARKS];
} PapersCap;

gboolean papers_cap (PapersCap *cap, GError **error);

/* -- Kaleem 2014 -------------------------------------------------------- */

enum
{
  KALEEM_CPU,
  KALEEM_GPU,
  KALEEM_NAIVE,
  KALEEM_ASYM,
  KALEEM_CONV,
  KALEEM_SIZE,
  KALEEM_SHARED,
  KALEEM_N
};
#define KALEEM_BENCHMARKS 16
#define KALEEM_ONE_KERNEL 13 /* the first benchmarks: those of table 2 */
#define KALEEM_MOST_ROUNDS 200

extern const char *const papers_kaleem_schemes[KALEEM_N];
extern const char *const papers_kaleem_names[KALEEM_BENCHMARKS];
/* Means over the benchmarks; NAN: not given. */
extern const double papers_kaleem_paper[KALEEM_N];
/* Table 2, from KALEEM_NAIVE on. */
extern const double papers_kaleem_shares[KALEEM_N][KALEEM_ONE_KERNEL];

/* Figures 9 and 10 against the best static split in steps of 10 %, and the
   GPU's part of the units. */
typedef struct
{
  double efficiency[KALEEM_N][KALEEM_BENCHMARKS];
  double share[KALEEM_N][KALEEM_BENCHMARKS];
  double oracle_share[KALEEM_BENCHMARKS];
  double mean[KALEEM_N], geometric_mean[KALEEM_N];
  double away[KALEEM_N]; /* mean distance from table 2; NAN: not in it */
} PapersKaleem;

gboolean papers_kaleem (PapersKaleem *k, guint most_rounds, GError **error);

/* -- SKMD 2015 ---------------------------------------------------------- */

#define SKMD_BENCHMARKS 16
#define SKMD_DEVICES 3
#define SKMD_ROUNDS 20

typedef enum
{
  SKMD_MEMORY,  /* section 4.1: memory-bound */
  SKMD_COMPUTE, /* compute-bound */
  SKMD_BOTH
} PapersSkmdBound;

/* Gains over the fastest device: its time / the own. */
typedef struct
{
  const char *workload, *name;
  PapersSkmdBound bound;
  guint fastest;
  double device_ns[SKMD_DEVICES]; /* of a round */
  double linear, skmd;            /* of a round of the second half */
  double with_training;           /* of all rounds */
  double share[SKMD_DEVICES], linear_share[SKMD_DEVICES];
} PapersSkmdRow;

typedef struct
{
  PapersSkmdRow rows[SKMD_BENCHMARKS];
  double skmd, linear, with_training; /* geometric means */
  double arithmetic;                  /* of skmd */
} PapersSkmd;

gboolean papers_skmd (PapersSkmd *skmd, GError **error);

/* -- CPU weight --------------------------------------------------------- */

#define WEIGHT_CASES 4
#define WEIGHT_ROUNDS 60

enum
{
  WEIGHT_NBODY_1,
  WEIGHT_NBODY_4,
  WEIGHT_MM_1,
  WEIGHT_MM_4
};

typedef struct
{
  const char *name;
  double weight[WEIGHT_ROUNDS], cpu_ms[WEIGHT_ROUNDS], gpu_ms[WEIGHT_ROUNDS];
  double gpu_only_ms;      /* of a round */
  double first_gain, gain; /* gpu_only_ms / the first, the last rounds - 1 */
  double last_weight;      /* mean of the last two rounds */
  double best_gain;        /* of the best static split */
  guint turns_in; /* rounds until the weight goes back for the first time */
} PapersWeightRow;

typedef struct
{
  PapersWeightRow rows[WEIGHT_CASES];
} PapersWeight;

gboolean papers_weight (PapersWeight *w, GError **error);

/* -- Zhang 2011 --------------------------------------------------------- */

#define THESIS_ROUNDS 20
#define THESIS_MOST_LINES 4
#define THESIS_DEVICES 3

typedef struct
{
  guint n, dashed; /* lines; which of them hides another */
  const char *strategy[THESIS_MOST_LINES], *label[THESIS_MOST_LINES];
  double ms[THESIS_MOST_LINES][THESIS_ROUNDS];
  double total_ms[THESIS_MOST_LINES];
  double steady_ms[THESIS_MOST_LINES]; /* of a round of the second half */
} PapersThesisFigure;

typedef struct
{
  PapersThesisFigure equal, unequal, qilin, unknown; /* 29, 30, 31, 33 */
  double share[THESIS_DEVICES][THESIS_ROUNDS];       /* 32 */
} PapersThesis;

gboolean papers_thesis (PapersThesis *t, GError **error);

/* -- The page ----------------------------------------------------------- */

typedef struct
{
  GString *text;      /* Markdown */
  const char *folder; /* of the plots */
  gboolean failed;
} PapersPage;

void papers_say (PapersPage *page, const char *format, ...)
    G_GNUC_PRINTF (2, 3);
/* Writes NAME.svg and shows it. */
void papers_show (PapersPage *page, const char *name, const char *alt,
                  const DrawPlot *plots, guint n);

/* All of it, in order; papers_all() runs what papers_page() writes. */
typedef struct
{
  PapersCap cap;
  PapersKaleem kaleem;
  PapersSkmd skmd;
  PapersWeight weight;
  PapersThesis thesis;
} Papers;

gboolean papers_all (Papers *all, GError **error);
void papers_page (PapersPage *page, const Papers *all);

void papers_cap_page (PapersPage *page, const PapersCap *cap);
void papers_kaleem_page (PapersPage *page, const PapersKaleem *k);
void papers_skmd_page (PapersPage *page, const PapersSkmd *skmd);
void papers_weight_page (PapersPage *page, const PapersWeight *w);
void papers_thesis_page (PapersPage *page, const PapersThesis *t);

#endif
