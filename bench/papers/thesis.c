/* SPDX-License-Identifier: MIT */
/* thesis.c: Zhang 2011, figures 29 to 33.
   Thread safety: one thread. */
#include <math.h>

#include "papers.h"

static const char *const devices[THESIS_DEVICES]
    = { "CPU", "Tesla C1060", "Quadro FX1800" };

/* Runs the strategies that the figure names. */
static gboolean
run_figure (PapersThesisFigure *f, const SimCase *c, GError **error)
{
  for (guint s = 0; s < f->n; s++)
    {
      HassSimResult *r = papers_run (c, f->strategy[s], error);
      if (!r)
        return FALSE;
      for (guint i = 0; i < THESIS_ROUNDS; i++)
        f->ms[s][i] = papers_round_ns (r, i) * 1e-6;
      f->total_ms[s] = r->makespan_ns * 1e-6;
      f->steady_ms[s] = r->steady_ns * 1e-6;
      sim_result_free (r);
    }
  return TRUE;
}

/* Tasks of equal size that end when the target is found, at unknown times:
   modelled as in figure 30 with the sizes hidden. */
static SimCase *
unknown_case (GError **error)
{
  SimCase *c = papers_case ("thesis-unequal", NULL, THESIS_ROUNDS, error);
  if (c)
    {
      c->workload->cost = HASS_COST_UNKNOWN;
      c->workload->sizes = FALSE;
    }
  return c;
}

static gboolean
run_shares (PapersThesis *t, const SimCase *c, GError **error)
{
  HassSimResult *r = papers_run (c, "hass-ce", error);
  if (!r)
    return FALSE;
  for (guint d = 0; d < THESIS_DEVICES; d++)
    for (guint i = 0; i < THESIS_ROUNDS; i++)
      t->share[d][i] = papers_share (r, d, i, i + 1);
  sim_result_free (r);
  return TRUE;
}

gboolean
papers_thesis (PapersThesis *t, GError **error)
{
  g_autoptr (SimCase) equal
      = papers_case ("thesis-equal", NULL, THESIS_ROUNDS, error);
  g_autoptr (SimCase) unequal
      = equal ? papers_case ("thesis-unequal", NULL, THESIS_ROUNDS, error)
              : NULL;
  g_autoptr (SimCase) one_gpu
      = unequal ? papers_case ("thesis-partition", "thesis-1gpu", THESIS_ROUNDS,
                               error)
                : NULL;
  g_autoptr (SimCase) unknown = one_gpu ? unknown_case (error) : NULL;
  t->equal = (PapersThesisFigure){
    .n = 4,
    .strategy = { "hass-ce", "hass-cd", "min-min", "naive-greedy" },
    .label = { "HASS_ce", "HASS_cd", "Min-min", "naive greedy" },
    .dashed = 1,
  };
  t->unequal = (PapersThesisFigure){
    .n = 4,
    .strategy = { "hass-cd", "modified-greedy", "min-min", "naive-greedy" },
    .label = { "HASS_cd", "modified greedy", "Min-min", "naive greedy" },
    .dashed = THESIS_MOST_LINES,
  };
  t->qilin = (PapersThesisFigure){
    .n = 2,
    .strategy = { "hass-p", "qilin:training=7,part=1" },
    .label = { "HASS_p", "Qilin, 7 rounds of training" },
    .dashed = 1,
  };
  t->unknown = (PapersThesisFigure){
    .n = 2,
    .strategy = { "modified-greedy", "naive-greedy" },
    .label = { "modified greedy", "naive greedy" },
    .dashed = THESIS_MOST_LINES,
  };
  return unknown && run_figure (&t->equal, equal, error)
         && run_figure (&t->unequal, unequal, error)
         && run_figure (&t->qilin, one_gpu, error)
         && run_figure (&t->unknown, unknown, error)
         && run_shares (t, equal, error);
}

/* -- The chapter -------------------------------------------------------- */

static DrawPlot
plot_of (const PapersThesisFigure *f, DrawSeries *series, const char *title,
         const char *subtitle)
{
  for (guint s = 0; s < f->n; s++)
    series[s] = (DrawSeries){ .name = f->label[s],
                              .values = f->ms[s],
                              .dashed = f->dashed == s };
  return (DrawPlot){ .kind = DRAW_LINES,
                     .title = title,
                     .subtitle = subtitle,
                     .y_title = "time of the round [ms]",
                     .series = series,
                     .n_series = f->n,
                     .n_points = THESIS_ROUNDS };
}

static void
figure (PapersPage *page, const PapersThesisFigure *f, const char *name,
        const char *title, const char *subtitle)
{
  DrawSeries series[THESIS_MOST_LINES];
  DrawPlot plot = plot_of (f, series, title, subtitle);
  papers_show (page, name, subtitle, &plot, 1);
  papers_say (page, "| | total, ms | first round | a round of the second half "
                    "| total / best |\n"
                    "| :-- | --: | --: | --: | --: |\n");
  double best = f->total_ms[0];
  for (guint s = 1; s < f->n; s++)
    best = MIN (best, f->total_ms[s]);
  for (guint s = 0; s < f->n; s++)
    papers_say (page, "| %s (`%s`) | %.1f | %.2f | %.2f | %.3f |\n",
                f->label[s], f->strategy[s], f->total_ms[s], f->ms[s][0],
                f->steady_ms[s], f->total_ms[s] / best);
}

static void
shares (PapersPage *page, const PapersThesis *t)
{
  static const double paper[] = { 53, 32.2, 14.8 };
  DrawSeries series[THESIS_DEVICES];
  for (guint d = 0; d < THESIS_DEVICES; d++)
    series[d] = (DrawSeries){ .name = devices[d], .values = t->share[d] };
  DrawPlot plot = { .kind = DRAW_BARS,
                    .title = "Zhang 2011, figure 32",
                    .subtitle = "parts of the tasks under HASS_ce",
                    .y_title = "of the tasks",
                    .series = series,
                    .n_series = THESIS_DEVICES,
                    .n_points = THESIS_ROUNDS,
                    .top = 1,
                    .percent = TRUE };
  papers_show (page, "thesis-32", "parts of the tasks under HASS_ce", &plot, 1);
  papers_say (page, "| HASS_ce | first round, thesis | here | difference | "
                    "last round here |\n| :-- | --: | --: | --: | --: |\n");
  for (guint d = 0; d < THESIS_DEVICES; d++)
    papers_say (page, "| %s | %.1f %% | %.1f %% | %+.1f points | %.1f %% |\n",
                devices[d], paper[d], t->share[d][0] * 100,
                t->share[d][0] * 100 - paper[d],
                t->share[d][THESIS_ROUNDS - 1] * 100);
}

void
papers_thesis_page (PapersPage *page, const PapersThesis *t)
{
  papers_say (page,
              "## Zhang 2011 (the thesis): figures 29 to 33\n\n"
              "The thesis prints curves without numbers and gives neither "
              "rates nor sizes: `doc/platforms/thesis.platform` and the three "
              "workloads are estimates, and what can be compared is which "
              "strategy is better and what the text tells.\n\n"
              "### Figure 29: tasks of equal sizes\n\n");
  figure (page, &t->equal, "thesis-29", "Zhang 2011, figure 29",
          "tasks of equal sizes");
  papers_say (
      page,
      "\nHASS_ce gets better as rounds go by, and Min-min is about as fast as "
      "naive greedy: both come back. **That HASS_ce is best does so only in "
      "part**: from round 9 on it is as fast as HASS_cd and no faster, and it "
      "pays for learning in rounds 2 to 8. Where all units cost the same, one "
      "measured unit tells HASS_cd everything, here without noise.\n\n"
      "### Figure 30: tasks of unequal sizes\n\n");
  figure (page, &t->unequal, "thesis-30", "Zhang 2011, figure 30",
          "tasks of unequal sizes");
  papers_say (
      page,
      "\nModified greedy is better than naive greedy and Min-min, as in the "
      "thesis. **That HASS_cd is best does not come back; here it is the "
      "worst**, because it steals a third of what the CPU has left, whoever "
      "steals: the Quadro takes 36 large units at 4.8 ms and is at "
      "it until 12.6 ms, when the others have been done since 7.4. **Min-min "
      "is "
      "slower than naive greedy** here, not similar: it measures devices by "
      "the smallest unit, where latency counts most, gives the Quadro next to "
      "nothing, and has the largest units last.\n\n"
      "### Figure 31: HASS_p and Qilin, one GPU\n\n");
  figure (page, &t->qilin, "thesis-31", "Zhang 2011, figure 31",
          "one CPU and one GPU");
  papers_say (
      page,
      "\nComes back: Qilin trains in rounds 1 to 7 (given as parameters), and "
      "from round 8 on both take the same time, to %.1f %%. HASS_p is there "
      "from round 2.\n\n### Figure 32: parts under HASS_ce\n\n",
      fabs (t->qilin.steady_ms[1] / t->qilin.steady_ms[0] - 1) * 100);
  shares (page, t);
  papers_say (
      page,
      "\nThe parts of the first round come back within 4 points, at the rates "
      "of the platform file, which come from SPs and clocks. That "
      "parts keep changing and rounds get shorter comes back from the second "
      "round on.\n\n### Figure 33: tasks of unknown size\n\n");
  figure (page, &t->unknown, "thesis-33", "Zhang 2011, figure 33",
          "tasks whose time nobody knows");
  papers_say (
      page,
      "\nComes back: bundles for GPUs make modified greedy %.0f %% faster "
      "than naive greedy. The thesis does not say how the times of tasks "
      "differ: they are those of figure 30 (lognormal, 0.5), hidden from the "
      "strategies.\n",
      (t->unknown.total_ms[1] / t->unknown.total_ms[0] - 1) * 100);
}
