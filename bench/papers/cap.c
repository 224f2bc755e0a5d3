/* SPDX-License-Identifier: MIT */
/* cap.c: CAP 2013, tables 3 and 4.
   Thread safety: one thread. */
#include <math.h>

#include "papers.h"

static const PapersCapRow paper[CAP_BENCHMARKS] = {
  { .name = "cg",
    .paper_speedup = { 1, 1.726, 2.019, 2.558 },
    .paper_imbalance = { NAN, NAN, 0.9723, 0.0195 },
    .paper_profiled = 0.334 },
  { .name = "jacobi",
    .paper_speedup = { 1, 2.546, 2.113, 3.121 },
    .paper_imbalance = { NAN, NAN, 0.9043, 0.0368 },
    .paper_profiled = 0.26 },
  { .name = "mm",
    .paper_speedup = { 1, 4.911, 5.628, 5.701 },
    .paper_imbalance = { NAN, NAN, 0.0294, 0.0117 },
    .paper_profiled = 0.0002 },
  { .name = "nbody",
    .paper_speedup = { 1, 1.54, 1.491, 2.237 },
    .paper_imbalance = { NAN, NAN, 0.9723, 0.0583 },
    .paper_profiled = 0.242 },
};

/* |time CPU - time GPU| / min; from the round's begin to the last finish,
   since all phases but the last end in a barrier. */
static double
imbalance (const HassSimResult *r)
{
  const SimDevice *d = r->rounds[0].devices;
  double low = MIN (d[0].finish_ns, d[1].finish_ns);
  return low > 0 ? fabs (d[0].finish_ns - d[1].finish_ns) / low : NAN;
}

/* A GPU has a bundle for each phase and one for the rest; phases double from
   1/128. */
static double
profiled (const HassSimResult *r)
{
  return (exp2 ((double)r->rounds[0].devices[1].bundles - 1) - 1) / 128;
}

static gboolean
run_row (PapersCapRow *row, GError **error)
{
  static const char *const strategies[CAP_N]
      = { "cpu-only", "gpu-only", "sampling", "cap" };
  g_autofree char *workload = g_strconcat ("cap-", row->name, NULL);
  g_autoptr (SimCase) c = papers_case (workload, NULL, 1, error);
  double cpu_ns = 0;
  for (guint s = 0; c && s < CAP_N; s++)
    {
      HassSimResult *r = papers_run (c, strategies[s], error);
      if (!r)
        return FALSE;
      if (s == CAP_CPU)
        cpu_ns = r->makespan_ns;
      row->speedup[s] = cpu_ns / r->makespan_ns;
      row->imbalance[s] = s >= CAP_SAMPLING ? imbalance (r) : NAN;
      if (s == CAP_CAP)
        row->profiled = profiled (r);
      sim_result_free (r);
    }
  return c != NULL;
}

gboolean
papers_cap (PapersCap *cap, GError **error)
{
  gboolean ok = TRUE;
  for (guint b = 0; ok && b < CAP_BENCHMARKS; b++)
    {
      cap->rows[b] = paper[b];
      ok = run_row (&cap->rows[b], error);
    }
  return ok;
}

/* -- The chapter -------------------------------------------------------- */

static void
plot (PapersPage *page, const PapersCap *cap)
{
  static const char *const names[CAP_N] = { "CPU", "GPU", "sampling", "CAP" };
  const char *labels[CAP_BENCHMARKS];
  double here[CAP_N][CAP_BENCHMARKS], there[CAP_N][CAP_BENCHMARKS];
  DrawSeries series[CAP_N];
  for (guint s = 0; s < CAP_N; s++)
    {
      series[s] = (DrawSeries){ .name = names[s],
                                .values = here[s],
                                .marks = there[s] };
      for (guint b = 0; b < CAP_BENCHMARKS; b++)
        {
          labels[b] = cap->rows[b].name;
          here[s][b] = cap->rows[b].speedup[s];
          there[s][b] = cap->rows[b].paper_speedup[s];
        }
    }
  series[CAP_CPU].colour = "#8a939c";
  DrawPlot p = { .kind = DRAW_GROUPS,
                 .title = "CAP 2013, figure 3 and table 3",
                 .subtitle = "speed-up over one thread of the CPU",
                 .x_title = "benchmark",
                 .y_title = "speed-up",
                 .series = series,
                 .n_series = CAP_N,
                 .n_points = CAP_BENCHMARKS,
                 .labels = labels,
                 .marks_name = "the paper" };
  papers_show (page, "cap", "speed-ups of table 3, here and in the paper", &p,
               1);
}

static void
speedups (PapersPage *page, const PapersCap *cap)
{
  papers_say (page, "| | CPU | GPU | | sampling | | CAP | | |\n"
                    "| :-- | --: | --: | --: | --: | --: | --: | --: | --: |\n"
                    "| | | paper | here | paper | here | paper | here | "
                    "difference |\n");
  for (guint b = 0; b < CAP_BENCHMARKS; b++)
    {
      const PapersCapRow *r = &cap->rows[b];
      const double *there = r->paper_speedup, *here = r->speedup;
      double off = here[CAP_CAP] / there[CAP_CAP] - 1;
      papers_say (page,
                  "| %s | 1 | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | "
                  "%s%+.1f %%%s |\n",
                  r->name, there[CAP_GPU], here[CAP_GPU], there[CAP_SAMPLING],
                  here[CAP_SAMPLING], there[CAP_CAP], here[CAP_CAP],
                  fabs (off) > 0.05 ? "**" : "", off * 100,
                  fabs (off) > 0.05 ? "**" : "");
    }
}

static void
balances (PapersPage *page, const PapersCap *cap)
{
  papers_say (page, "\n| | sampling | | CAP | | profiled by CAP | |\n"
                    "| :-- | --: | --: | --: | --: | --: | --: |\n"
                    "| | paper | here | paper | here | paper | here |\n");
  for (guint b = 0; b < CAP_BENCHMARKS; b++)
    {
      const PapersCapRow *r = &cap->rows[b];
      papers_say (page,
                  "| %s | %.1f %% | %.1f %% | %.2f %% | %.2f %% | %.4g %% | "
                  "%.1f %% |\n",
                  r->name, r->paper_imbalance[CAP_SAMPLING] * 100,
                  r->imbalance[CAP_SAMPLING] * 100,
                  r->paper_imbalance[CAP_CAP] * 100,
                  r->imbalance[CAP_CAP] * 100, r->paper_profiled * 100,
                  r->profiled * 100);
    }
}

void
papers_cap_page (PapersPage *page, const PapersCap *cap)
{
  papers_say (page,
              "## CAP 2013: speed-ups (table 3, figure 3) and balance (table "
              "4)\n\n"
              "`hass-sim -w cap-cg -s cpu-only,gpu-only,sampling,cap -n 1`, "
              "and so on for `cap-jacobi`, `cap-mm`, `cap-nbody`. **Inputs, "
              "not tests**: the columns GPU and sampling. The GPU's rate is "
              "fitted to the first, the width of its curve to the second; the "
              "paper gives no other numbers of either. CAP and table 4 are "
              "what is tested.\n\n");
  plot (page, cap);
  speedups (page, cap);
  papers_say (
      page,
      "\nCAP's speed-ups come back within 5 %% for three of four. **jacobi "
      "does not**: it gains %.1f %% more here. The paper's CAP stays 12 %% "
      "below the sum of CPU and GPU there (1 + 2.546), ours %.0f %%; what the "
      "paper's barriers and aggregation cost beyond launches and waiting is "
      "not modelled, and is not fitted in. That CAP beats sampling by far on "
      "all but mm comes back.\n",
      (cap->rows[1].speedup[CAP_CAP] / cap->rows[1].paper_speedup[CAP_CAP] - 1)
          * 100,
      (1 - cap->rows[1].speedup[CAP_CAP] / (1 + cap->rows[1].speedup[CAP_GPU]))
          * 100);
  balances (page, cap);
  papers_say (
      page,
      "\nImbalance is |CPU - GPU| / min of the two, and below 6 %% under CAP, "
      "as in the paper. **Sampling's column does not come back and cannot**: "
      "by the paper's own table 3, sampling that gains 1.491 on nbody with a "
      "GPU 1.54 times the CPU keeps the CPU busy 3.1 times as long as the "
      "GPU, which is 213 %% and not 97.23 %% (the number printed for cg too); "
      "here it is %.0f %%. **Parts profiled** are of the same kind, a quarter "
      "to a half for three and next to nothing for mm (whose 0.02 %% is 1/50 "
      "in the paper's text), but cg's 33.4 %% lie between five phases, which "
      "it takes here, and six, and nbody takes six here and five there.\n\n",
      cap->rows[3].imbalance[CAP_SAMPLING] * 100);
}
