/* SPDX-License-Identifier: MIT */
/* test_papers.c: what comes back of the papers' figures, against the papers'
   numbers. What does not is in doc/results/papers.md and not here.
   Thread safety: one thread. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "bench/papers/papers.h"
#include "hass_test.h"

/* Run once for all tests. */
static const Papers *
papers (void)
{
  static Papers *all;
  if (!all)
    {
      GError *error = NULL;
      all = g_new0 (Papers, 1);
      gboolean ok = papers_all (all, &error);
      if (!ok)
        g_printerr ("\n    %s", error->message);
      g_clear_error (&error);
      CU_ASSERT_TRUE_FATAL (ok);
    }
  return all;
}

static void
within (const char *what, double got, double low, double high)
{
  gboolean in = got >= low && got <= high;
  CU_ASSERT_TRUE (in);
  if (!in)
    g_printerr ("\n    %s: from %g to %g was due, got %g", what, low, high,
                got);
}

static void
about (const char *what, double got, double paper, double tolerance)
{
  within (what, got, paper - tolerance, paper + tolerance);
}

/* -- CAP ---------------------------------------------------------------- */

/* Table 3. jacobi's 3.121 does not come back within 5 %. */
static void
cap_speedups (void)
{
  const PapersCapRow *rows = papers ()->cap.rows;
  for (guint b = 0; b < CAP_BENCHMARKS; b++)
    {
      const PapersCapRow *r = &rows[b];
      const double *paper = r->paper_speedup;
      gboolean mm = strcmp (r->name, "mm") == 0;
      if (strcmp (r->name, "jacobi") != 0)
        about (r->name, r->speedup[CAP_CAP], paper[CAP_CAP],
               0.05 * paper[CAP_CAP]);
      /* The paper gains 26, 45, 38 and, of mm, 1 %. */
      within (r->name, r->speedup[CAP_CAP] / r->speedup[CAP_SAMPLING],
              mm ? 1 : 1.25, mm ? 1.05 : 1.6);
      /* These two are inputs: the model is still the one that was made. */
      about (r->name, r->speedup[CAP_GPU], paper[CAP_GPU],
             0.02 * paper[CAP_GPU]);
      about (r->name, r->speedup[CAP_SAMPLING], paper[CAP_SAMPLING],
             0.02 * paper[CAP_SAMPLING]);
    }
}

/* Table 4: 1.95, 3.68, 1.17 and 5.83 % under CAP. */
static void
cap_balance (void)
{
  const PapersCapRow *rows = papers ()->cap.rows;
  for (guint b = 0; b < CAP_BENCHMARKS; b++)
    {
      within (rows[b].name, rows[b].imbalance[CAP_CAP], 0, 0.06);
      /* 97.23, 90.43, 2.94 and 97.23 % under sampling. */
      within (rows[b].name, rows[b].imbalance[CAP_SAMPLING],
              strcmp (rows[b].name, "mm") == 0 ? 0.0294 : 0.6, 3);
    }
}

/* -- Kaleem ------------------------------------------------------------- */

/* Of the 10 % oracle: CPU 47.07, naive 82.7, SIZE 96.8 %. GPU 49.67, ASYM 94.2
   and CONV 94.6 do not come back. */
static void
kaleem_means (void)
{
  const double *mean = papers ()->kaleem.mean;
  about ("CPU", mean[KALEEM_CPU], 0.4707, 0.04);
  about ("naive", mean[KALEEM_NAIVE], 0.827, 0.02);
  about ("ASYM+SIZE", mean[KALEEM_SIZE], 0.968, 0.04);
  double single = MAX (mean[KALEEM_CPU], mean[KALEEM_GPU]);
  within ("naive / one device", mean[KALEEM_NAIVE] / single, 1.3, 1.8);
  for (guint s = KALEEM_ASYM; s <= KALEEM_SIZE; s++)
    within (papers_kaleem_schemes[s], mean[s] / mean[KALEEM_NAIVE], 1.1, 1.3);
}

/* Table 2, of LMD, MM, BS, HW and NB within 5 points, of BH, BFS and CC within
   9. */
static void
kaleem_shares (void)
{
  static const struct
  {
    guint benchmark;
    double points;
  } held[] = { { 2, 5 },  { 3, 5 }, { 6, 5 }, { 9, 5 },
               { 10, 5 }, { 0, 9 }, { 5, 9 }, { 7, 9 } };
  const PapersKaleem *k = &papers ()->kaleem;
  for (guint i = 0; i < G_N_ELEMENTS (held); i++)
    for (guint s = KALEEM_ASYM; s <= KALEEM_SIZE; s++)
      {
        guint b = held[i].benchmark;
        g_autofree char *what = g_strdup_printf (
            "%s under %s", papers_kaleem_names[b], papers_kaleem_schemes[s]);
        about (what, k->share[s][b], papers_kaleem_shares[s][b],
               held[i].points / 100);
      }
}

/* -- SKMD --------------------------------------------------------------- */

static const PapersSkmdRow *
kernel (const char *name)
{
  const PapersSkmdRow *rows = papers ()->skmd.rows;
  for (guint b = 0; b < SKMD_BENCHMARKS; b++)
    if (strcmp (rows[b].name, name) == 0)
      return &rows[b];
  CU_FAIL_FATAL ("no such kernel");
  return NULL;
}

/* Section 4.1: 28 % in the geometric mean, of which 19 come back; never slower
   than the fastest device. Work groups of figure 10 (b) by the text. */
static void
skmd_gains (void)
{
  const PapersSkmd *s = &papers ()->skmd;
  within ("SKMD's gain", s->skmd, 1.17, 1.28);
  for (guint b = 0; b < SKMD_BENCHMARKS; b++)
    within (s->rows[b].name, s->rows[b].skmd, 0.975, 2);
  within ("Reduction's CPU", kernel ("Reduction")->share[0], 0.99, 1);
  within ("Histogram's CPU", kernel ("Histogram")->share[0], 0.99, 1);
  within ("VectorAdd's CPU", kernel ("VectorAdd")->share[0], 0.5, 0.99);
  within ("ScanLargeArrays' GPUs", 1 - kernel ("ScanLargeArrays")->share[0],
          1 - kernel ("VectorAdd")->share[0], 1);
  for (guint b = 0; b < SKMD_BENCHMARKS; b++)
    if (s->rows[b].bound == SKMD_COMPUTE)
      {
        within (s->rows[b].name, s->rows[b].share[0], 0, 0.5);
        CU_ASSERT_TRUE (s->rows[b].share[1] > s->rows[b].share[2]);
      }
}

/* Section 4.1: linear partitioning causes slowdown on memory-bound kernels,
   and assigns less of them to the CPU. */
static void
skmd_linear (void)
{
  const PapersSkmd *s = &papers ()->skmd;
  for (guint b = 0; b < SKMD_BENCHMARKS; b++)
    if (s->rows[b].bound == SKMD_MEMORY)
      within (s->rows[b].name, s->rows[b].linear, 0.1, 0.6);
  within ("VectorAdd's CPU", kernel ("VectorAdd")->linear_share[0], 0,
          kernel ("VectorAdd")->share[0] / 2);
  within ("Nbody", kernel ("Nbody")->linear, 1.4, 2);
  within ("BinomialOption", kernel ("BinomialOption")->linear, 1.4, 2);
  within ("MatrixMult.", kernel ("MatrixMult.")->linear, 1.4, 2);
}

/* -- CPU weight --------------------------------------------------------- */

/* Section 4: from 0.2, by 0.01 a round, until both are nearly equal; then
   almost constant. */
static void
weight_converges (void)
{
  for (guint i = 0; i < WEIGHT_CASES; i++)
    {
      const PapersWeightRow *r = &papers ()->weight.rows[i];
      double least = 1, most = 0, off = 0, uneven = 0;
      about (r->name, r->weight[0], 0.2, 0.001);
      within (r->name, r->turns_in, 2, 30);
      for (guint k = 1; k < WEIGHT_ROUNDS; k++)
        {
          double step = fabs (r->weight[k] - r->weight[k - 1]);
          least = MIN (least, step);
          most = MAX (most, step);
          if (k < r->turns_in)
            continue;
          off = MAX (off, fabs (r->weight[k] - r->last_weight));
          uneven = MAX (uneven, fabs (r->cpu_ms[k] / r->gpu_ms[k] - 1));
        }
      within (r->name, least, 0.009, most);
      within (r->name, most, least, 0.011);
      within (r->name, off, 0, 0.006);
      within (r->name, uneven, 0, 0.15);
    }
}

/* Figure 4: N-body up to 20 %. MM's 40 % are exceeded; that more GPUs leave
   less to gain holds. */
static void
weight_gains (void)
{
  const PapersWeightRow *rows = papers ()->weight.rows;
  about ("N-body", rows[WEIGHT_NBODY_1].gain, 0.2, 0.03);
  within ("MM, 4 GPUs", rows[WEIGHT_MM_4].gain, 0.05,
          rows[WEIGHT_MM_1].gain / 2);
  CU_ASSERT_TRUE (rows[WEIGHT_NBODY_4].gain < rows[WEIGHT_NBODY_1].gain);
}

/* -- Thesis ------------------------------------------------------------- */

/* Figure 29: HASS_ce better and better, both HASS before Min-min and naive
   greedy, which are similar. */
static void
thesis_equal (void)
{
  const PapersThesisFigure *f = &papers ()->thesis.equal;
  const double *ce = f->ms[0];
  for (guint i = 2; i < THESIS_ROUNDS; i++)
    CU_ASSERT_TRUE (ce[i] <= ce[i - 1] * 1.001);
  CU_ASSERT_TRUE (f->steady_ms[0] < ce[0] * 0.98);
  for (guint s = 0; s < 2; s++)
    {
      within (f->label[s], f->total_ms[2] / f->total_ms[s], 1.1, 1.3);
      within (f->label[s], f->total_ms[3] / f->total_ms[s], 1.1, 1.3);
    }
  about ("Min-min / naive", f->total_ms[2] / f->total_ms[3], 1, 0.03);
}

/* Figure 30: modified greedy before naive greedy and Min-min. */
static void
thesis_unequal (void)
{
  const PapersThesisFigure *f = &papers ()->thesis.unequal;
  within ("Min-min / modified", f->total_ms[2] / f->total_ms[1], 1.1, 2);
  within ("naive / modified", f->total_ms[3] / f->total_ms[1], 1.1, 2);
}

/* Figure 31: Qilin trains from round 1 to 7; from 8 on both are about equal. */
static void
thesis_qilin (void)
{
  const PapersThesisFigure *f = &papers ()->thesis.qilin;
  for (guint i = 1; i < THESIS_ROUNDS; i++)
    if (i < 7)
      within ("training", f->ms[1][i] / f->ms[0][i], 1.1, 2);
    else
      about ("Qilin / HASS_p", f->ms[1][i] / f->ms[0][i], 1, 0.01);
}

/* Figure 32: 53, 32.2 and 14.8 % in the first round. */
static void
thesis_shares (void)
{
  const PapersThesis *t = &papers ()->thesis;
  about ("CPU", t->share[0][0], 0.53, 0.04);
  about ("C1060", t->share[1][0], 0.322, 0.02);
  about ("FX1800", t->share[2][0], 0.148, 0.04);
  for (guint i = 2; i < 8; i++) /* it keeps changing, from slow to fast */
    {
      CU_ASSERT_TRUE (t->share[1][i] >= t->share[1][i - 1]);
      CU_ASSERT_TRUE (t->share[2][i] <= t->share[2][i - 1]);
    }
  within ("C1060's gain", t->share[1][8] - t->share[1][0], 0.03, 0.08);
  within ("FX1800's loss", t->share[2][0] - t->share[2][8], 0.02, 0.06);
}

/* Figure 33: bundles make modified greedy faster than naive greedy. */
static void
thesis_unknown (void)
{
  const PapersThesisFigure *f = &papers ()->thesis.unknown;
  within ("naive / modified", f->total_ms[1] / f->total_ms[0], 1.1, 1.5);
  for (guint i = 0; i < THESIS_ROUNDS; i++)
    CU_ASSERT_TRUE (f->ms[0][i] < f->ms[1][i]);
}

/* -- The page ----------------------------------------------------------- */

/* Every plot that the page shows is written, and no number is missing. */
static void
page (void)
{
  g_autofree char *folder = g_dir_make_tmp ("hass-papers-XXXXXX", NULL);
  g_autofree char *plots = g_build_filename (folder, "papers", NULL);
  CU_ASSERT_EQUAL_FATAL (g_mkdir (plots, 0700), 0);
  PapersPage p = { .text = g_string_new (NULL), .folder = folder };
  papers_page (&p, papers ());
  CU_ASSERT_FALSE (p.failed);
  CU_ASSERT_PTR_NULL (strstr (p.text->str, "nan"));
  CU_ASSERT_PTR_NULL (strstr (p.text->str, "inf"));
  CU_ASSERT_PTR_NOT_NULL (strstr (p.text->str, "| jacobi | 1 | 2.546 | "));
  guint n = 0;
  for (const char *at = p.text->str; (at = strstr (at, "](papers/")); n++)
    {
      const char *name = at + strlen ("](");
      g_autofree char *file = g_strndup (name, strcspn (name, ")"));
      g_autofree char *path = g_build_filename (folder, file, NULL);
      g_autofree char *svg = NULL;
      CU_ASSERT_TRUE (g_file_get_contents (path, &svg, NULL, NULL));
      CU_ASSERT_TRUE (svg && g_str_has_suffix (svg, "</svg>\n"));
      CU_ASSERT_TRUE (svg && !strstr (svg, "nan"));
      g_unlink (path);
      at = name;
    }
  CU_ASSERT_EQUAL (n, 11);
  CU_ASSERT_EQUAL (g_rmdir (plots), 0);
  CU_ASSERT_EQUAL (g_rmdir (folder), 0);
  g_string_free (p.text, TRUE);
}

HASS_TEST_SUITE (sim_papers, { "CAP's speed-ups (table 3)", cap_speedups },
                 { "CAP's balance (table 4)", cap_balance },
                 { "Kaleem's averages (figures 9, 10)", kaleem_means },
                 { "Kaleem's GPU parts (table 2)", kaleem_shares },
                 { "SKMD's gains (figure 10)", skmd_gains },
                 { "SKMD's linear parts lose by copies", skmd_linear },
                 { "CPU weight converges (figure 3)", weight_converges },
                 { "CPU weight's gains (figure 4)", weight_gains },
                 { "HASS_ce learns (thesis, figure 29)", thesis_equal },
                 { "modified before naive (figure 30)", thesis_unequal },
                 { "HASS_p as Qilin (figure 31)", thesis_qilin },
                 { "parts under HASS_ce (figure 32)", thesis_shares },
                 { "bundles of unknown tasks (figure 33)", thesis_unknown },
                 { "the page and its plots are written", page })
