/* SPDX-License-Identifier: MIT */
/* all.c: all papers, from running to the page with its summary.
   Thread safety: one thread. */
#include "papers.h"

gboolean
papers_all (Papers *all, GError **error)
{
  return papers_cap (&all->cap, error)
         && papers_kaleem (&all->kaleem, KALEEM_MOST_ROUNDS, error)
         && papers_skmd (&all->skmd, error)
         && papers_weight (&all->weight, error)
         && papers_thesis (&all->thesis, error);
}

static void
summary_of_cap (PapersPage *page, const PapersCap *cap)
{
  double worst = 0;
  papers_say (page, "| CAP, table 3: speed-ups of CAP within 5 %% |");
  for (guint b = 0; b < CAP_BENCHMARKS; b++)
    {
      const PapersCapRow *r = &cap->rows[b];
      papers_say (page, "%s %s %+.1f %%", b > 0 ? "," : "", r->name,
                  (r->speedup[CAP_CAP] / r->paper_speedup[CAP_CAP] - 1) * 100);
      worst = MAX (worst, r->imbalance[CAP_CAP]);
    }
  papers_say (page,
              " | all but jacobi |\n"
              "| CAP, table 4: imbalance of CAP below 6 %% | at most %.1f %% | "
              "yes |\n",
              worst * 100);
}

static void
summary_of_kaleem (PapersPage *page, const PapersKaleem *k)
{
  papers_say (page, "| Kaleem, figures 9 and 10: %% of Oracle, CPU 47, GPU 50, "
                    "naive 83, ASYM 94, CONV 95, SIZE 97 |");
  for (guint s = KALEEM_CPU; s <= KALEEM_SIZE; s++)
    papers_say (page, "%s %.0f", s > 0 ? "," : "", k->mean[s] * 100);
  papers_say (page,
              " | CPU, naive, SIZE; GPU, ASYM, CONV are 5 to 8 points "
              "higher |\n"
              "| Kaleem, table 2: GPU parts | mean distance: naive %.0f, ASYM "
              "%.0f, CONV %.0f, SIZE %.0f points | regular kernels; not SM, "
              "SP, FD, naive |\n",
              k->away[KALEEM_NAIVE] * 100, k->away[KALEEM_ASYM] * 100,
              k->away[KALEEM_CONV] * 100, k->away[KALEEM_SIZE] * 100);
}

static void
summary_of_weight (PapersPage *page, const PapersWeight *w)
{
  const PapersWeightRow *r = w->rows;
  papers_say (page,
              "| CPU weight, figure 3: converges | turns after %u, %u, %u and "
              "%u rounds | yes |\n",
              r[0].turns_in, r[1].turns_in, r[2].turns_in, r[3].turns_in);
  papers_say (page,
              "| CPU weight, figure 4: N-body up to +20 %% | %+.0f %% with one "
              "GPU, %+.0f %% with four | with one |\n",
              r[WEIGHT_NBODY_1].gain * 100, r[WEIGHT_NBODY_4].gain * 100);
  papers_say (
      page,
      "| CPU weight, figure 4: MM up to +40 %% | %+.0f %% with one GPU, "
      "%+.0f %% with four | no, more |\n",
      r[WEIGHT_MM_1].gain * 100, r[WEIGHT_MM_4].gain * 100);
}

static void
summary_of_thesis (PapersPage *page, const PapersThesis *t)
{
  papers_say (page,
              "| thesis, figure 29: HASS_ce best and learning, HASS_cd next, "
              "Min-min as naive | total %.1f, %.1f, %.1f and %.1f ms | learns, "
              "but ties with HASS_cd |\n",
              t->equal.total_ms[0], t->equal.total_ms[1], t->equal.total_ms[2],
              t->equal.total_ms[3]);
  papers_say (
      page,
      "| thesis, figure 30: HASS_cd best, modified greedy next, Min-min "
      "as naive | total %.1f, %.1f, %.1f and %.1f ms | modified before "
      "naive; HASS_cd no |\n",
      t->unequal.total_ms[0], t->unequal.total_ms[1], t->unequal.total_ms[2],
      t->unequal.total_ms[3]);
  papers_say (page,
              "| thesis, figure 31: HASS_p as Qilin from round 8 | %.2f and "
              "%.2f ms | yes |\n",
              t->qilin.steady_ms[0], t->qilin.steady_ms[1]);
  papers_say (page,
              "| thesis, figure 32: first round 53, 32.2, 14.8 %% | %.1f, "
              "%.1f, %.1f %% | yes |\n",
              t->share[0][0] * 100, t->share[1][0] * 100, t->share[2][0] * 100);
  papers_say (page,
              "| thesis, figure 33: modified before naive greedy | %.1f and "
              "%.1f ms | yes |\n\n",
              t->unknown.total_ms[0], t->unknown.total_ms[1]);
}

void
papers_page (PapersPage *page, const Papers *all)
{
  papers_say (
      page,
      "# The figures of the papers, run again\n\n"
      "Written by `make papers OUT=doc/results`: the papers' workloads on "
      "their machines, all modelled, in virtual time. The same numbers come "
      "out on every machine. `tests/sim/test_papers.c` holds what comes back; "
      "of what does not, this page says how much and why. Models are made "
      "from what the papers tell ([hass-sim](../hass-sim.md), each file of "
      "`doc/workloads` and `doc/platforms` says its sources); what of a "
      "figure went into a model is named below as an input and is no test. "
      "Bold is missed; black strokes in plots are the papers' numbers.\n\n"
      "| paper | here | comes back |\n| :-- | :-- | :-- |\n");
  summary_of_cap (page, &all->cap);
  summary_of_kaleem (page, &all->kaleem);
  papers_say (page,
              "| SKMD, figure 10: +28 %% over the fastest device (geometric "
              "mean) | %+.1f %%, %+.1f %% with training | in part |\n"
              "| SKMD, figure 10: linear parts lose on memory-bound kernels | "
              "0.15 to 0.5 of the fastest device | yes |\n",
              (all->skmd.skmd - 1) * 100, (all->skmd.with_training - 1) * 100);
  summary_of_weight (page, &all->weight);
  summary_of_thesis (page, &all->thesis);
  papers_cap_page (page, &all->cap);
  papers_kaleem_page (page, &all->kaleem);
  papers_skmd_page (page, &all->skmd);
  papers_weight_page (page, &all->weight);
  papers_thesis_page (page, &all->thesis);
}
