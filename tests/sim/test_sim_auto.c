/* SPDX-License-Identifier: MIT */
/* test_sim_auto.c: auto against the clairvoyant bound and against the other
   strategies, on all that is shipped and on what was drawn at random; figures
   and commands are in doc/results/auto.md. Limits are a little below what was
   measured, so that they say when it gets worse.
   Thread safety: one thread. */
#include <math.h>
#include <string.h>

#include "hass_test.h"
#include "sim_test.h"
#include "tests/engine/trial.h"
#include "tests/trials.h"

#define ROUNDS 20

/* Virtual time is the same under a sanitizer, but takes ten times as long. */
#define ONE_OF TRIALS (1, 10, 10)

/* A geometric mean of efficiencies, and the least. */
typedef struct
{
  double logs, least;
  guint n;
} Mean;

static void
mean_add (Mean *m, double x)
{
  m->least = m->n > 0 ? MIN (m->least, x) : x;
  m->logs += log (x);
  m->n++;
}

static double
mean_of (const Mean *m)
{
  return m->n > 0 ? exp (m->logs / m->n) : 0;
}

static void
at_least (const char *what, double got, double due)
{
  CU_ASSERT_TRUE (got >= due);
  if (!(got >= due))
    g_printerr ("\n    %s: at least %.4f was due, got %.4f", what, due, got);
}

static HassSimResult *
run (const SimCase *c, const char *strategy)
{
  HassSimResult *r = sim_run (c, strategy, NULL);
  gboolean ran = !r->refused || r->unfit || r->late;
  if (!ran)
    g_printerr ("\n    %s: %s", strategy, r->refused);
  CU_ASSERT_TRUE (ran);
  return r;
}

static double
efficiency (const char *entry, guint64 seed, double *first, double *steady)
{
  g_autoptr (SimCase) c = sim_test_shipped (entry, ROUNDS, seed, NULL, 0);
  HassSimResult *r = run (c, "auto");
  double e = r->efficiency;
  if (first)
    *first = r->first_efficiency;
  if (steady)
    *steady = r->steady_efficiency;
  sim_result_free (r);
  return e;
}

/* -- Suites ------------------------------------------------------------- */

static gboolean
divisible_and_equal (const SimWorkload *w)
{
  return w->cost == HASS_COST_EQUAL && w->farm != HASS_FARM_INDIVISIBLE
         && w->farm != HASS_FARM_FUNCTION;
}

/* How many times as long auto may take as another strategy. */
#define BEATEN 1.02

/* Where auto is within 2 % of the clairvoyant bound, which no strategy beats
   (test_sim_bound.c), the others need not run. Elsewhere a strategy runs until
   it is too late to beat auto. @own: auto's run of the case. */
static void
not_beaten (SimCase *c, const HassSimResult *own, const char *entry,
            char *const *others)
{
  double bound = 0;
  for (guint r = 0; r < c->rounds; r++)
    bound += c->bound_ns[r];
  if (own->makespan_ns <= BEATEN * bound)
    return;
  c->most_ms = (gint64)ceil (own->makespan_ns / BEATEN / 1e6);
  for (guint s = 0; others[s]; s++)
    {
      if (strcmp (others[s], "oracle") == 0)
        continue;
      HassSimResult *r = run (c, others[s]);
      double times = r->refused ? 0 : own->makespan_ns / r->makespan_ns;
      if (times > BEATEN)
        printf ("\n    %s on %s: auto takes %.3f times as long", others[s],
                entry, times);
      CU_ASSERT_TRUE (times <= BEATEN);
      sim_result_free (r);
    }
}

static void
near_the_bound (void)
{
  g_auto (GStrv) suites = sim_suite_names (), others = sim_test_strategies ();
  Mean all = { 0 }, first = { 0 }, steady = { 0 };
  watchdog (300, "all strategies on all suites");
  for (guint i = 0; suites[i]; i++)
    {
      g_auto (GStrv) entries = sim_suite (suites[i], NULL);
      Mean suite = { 0 };
      for (guint k = 0; entries[k]; k++)
        {
          g_autoptr (SimCase) c
              = sim_test_shipped (entries[k], ROUNDS, 1, NULL, 0);
          HassSimResult *r = run (c, "auto");
          mean_add (&suite, r->efficiency);
          mean_add (&all, r->efficiency);
          mean_add (&first, r->first_efficiency);
          if (divisible_and_equal (c->workload))
            mean_add (&steady, r->steady_efficiency);
          if ((i + k) % ONE_OF == 0)
            not_beaten (c, r, entries[k], others);
          sim_result_free (r);
        }
      at_least (suites[i], mean_of (&suite), 0.95);
    }
  watchdog (0, NULL);
  at_least ("all suites", mean_of (&all), 0.97);
  at_least ("first rounds", mean_of (&first), 0.92);
  at_least ("equal and divisible, later rounds", mean_of (&steady), 0.985);
  at_least ("the worst of these", steady.least, 0.96);
  printf ("\n    %u workloads, %.2f %% of the bound ...", all.n,
          100 * mean_of (&all));
}

/* -- What it can do that others cannot ---------------------------------- */

/* GPU costs grow along these ranges fourfold and twofold by comparison with a
   core's: GPUs from the back are at the wrong end. */
static void
finds_the_better_end (void)
{
  double first, steady;
  at_least ("kaleem-fd", efficiency ("kaleem-fd", 1, &first, &steady), 0.95);
  CU_ASSERT_TRUE (steady > 0.97 && first < 0.9);
  at_least ("kaleem-sp", efficiency ("kaleem-sp", 2, &first, &steady), 0.95);
  CU_ASSERT_TRUE (steady > 0.97 && first < 0.9);
}

/* One thread of that GPU takes as long as 900 cores, and it has two for each
   element: whoever tries it waits seven rounds. */
static void
puts_risky_gpus_off (void)
{
  double first;
  at_least ("kaleem-lmd", efficiency ("kaleem-lmd", 1, &first, NULL), 0.99);
  at_least ("its first round", first, 0.99);
}

/* Clusters of high costs look like a long fixed part of each bundle; who then
   gives larger ones waits for the next cluster. */
static void
is_not_misled_by_clusters (void)
{
  Mean m = { 0 };
  for (guint64 seed = 1; seed <= 8; seed++)
    mean_add (&m, efficiency ("irregular-clustered", seed, NULL, NULL));
  at_least ("clustered costs", mean_of (&m), 0.91);
  at_least ("the worst of them", m.least, 0.88);
}

/* Each of three GPUs gets one bundle of a round, as two would not fill it, and
   its copy overlaps no kernel. Planned as if it did rounds took 19 % longer,
   and the guard left the GPUs out: 0.87. */
static void
knows_single_bundles (void)
{
  g_autoptr (SimCase) c = sim_random_case (13, 12, ROUNDS);
  sim_bounds (c);
  HassSimResult *r = run (c, "auto");
  at_least (c->workload->name, r->efficiency, 0.94);
  sim_result_free (r);
}

/* A lost GPU that held nothing when it was lost tells nobody. Its part of the
   plan must not be waited for: three GPUs then do what four did, since a bundle
   takes as long whatever it holds. */
static void
does_without_a_silent_gpu (void)
{
  HassVirtualEvent lost = { .device = 1, .round = 10 };
  g_autoptr (SimCase) c
      = sim_test_shipped ("cpu-weight-nbody@ha-pacs", ROUNDS, 1, &lost, 1);
  HassSimResult *r = run (c, "auto");
  for (guint i = 13; i < r->n_rounds; i++)
    CU_ASSERT_TRUE (r->rounds[i].end_ns - r->rounds[i].begin_ns
                    < 1.1 * c->bound_ns[0]);
  sim_result_free (r);
}

/* -- Others ------------------------------------------------------------- */

/* Two ramps of unknown costs on GPUs that need several times their width of
   elements: 0.74 and 0.59 where each round was planned as if nothing were
   known of it. */
static void
learns_where_costs_lie (void)
{
  static const guint ramps[] = { 5, 167 };
  for (guint i = 0; i < G_N_ELEMENTS (ramps); i++)
    {
      g_autoptr (SimCase) c = sim_random_case (11, ramps[i], ROUNDS);
      sim_bounds (c);
      HassSimResult *r = run (c, "auto");
      at_least (c->workload->name, r->steady_efficiency, 0.87);
      sim_result_free (r);
    }
}

/* Small samples, of a seed that nothing was tuned on; doc/results/auto.md has
   the large ones. */
static void
on_random_machines (void)
{
  static const double due[] = { [HASS_COST_EQUAL] = 0.975,
                                [HASS_COST_SIZED] = 0.95,
                                [HASS_COST_UNKNOWN] = 0.80 };
  static const char *const names[] = { "equal", "sized", "unknown" };
  Mean means[3] = { { 0 } };
  for (guint i = 0; i < 90; i++)
    {
      g_autoptr (SimCase) c = sim_random_case (20261121, i, ROUNDS);
      sim_bounds (c);
      HassSimResult *r = run (c, "auto");
      CU_ASSERT_TRUE (r->efficiency < 1.0001);
      mean_add (&means[c->workload->cost], r->efficiency);
      sim_result_free (r);
    }
  for (guint i = 0; i < 3; i++)
    {
      at_least (names[i], mean_of (&means[i]), due[i]);
      printf ("\n    %s: %.1f %% of the bound ...", names[i],
              100 * mean_of (&means[i]));
    }
}

/* Farms whose units are whole tasks: 0.33 where a GPU had one parallel task at
   a time, 0.43 where it had one wave of blocks of unknown costs at a time. */
static void
bundles_whole_tasks (void)
{
  static const struct
  {
    const char *name;
    double due;
  } cases[] = { { "hard-tasks", 0.985 },
                { "hard-tasks-parallel", 0.95 },
                { "hard-blocks", 0.985 },
                { "hard-blocks-unknown", 0.64 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    at_least (cases[i].name, efficiency (cases[i].name, 1, NULL, NULL),
              cases[i].due);
}

/* Tasks of which some are simple and some parallel: 0.39 where the kernels of
   all were predicted as those of the parallel ones. */
static void
tells_simple_tasks_from_parallel (void)
{
  g_autoptr (SimCase) c
      = sim_random_case_of (SIM_RANDOM_FUNCTION, 11, 43, ROUNDS);
  sim_bounds (c);
  HassSimResult *r = run (c, "auto");
  at_least (c->workload->name, r->efficiency, 0.45);
  sim_result_free (r);
}

/* Loads of known sizes of which GPUs do small ones as slowly as larger ones.
   hass-i gives the largest to the GPUs. */
static void
gives_loads_to_the_devices_that_they_suit (void)
{
  static const struct
  {
    guint64 seed;
    guint index;
  } cases[] = { { 31, 4 }, { 31, 25 }, { 31, 46 }, { 20270101, 34 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SimCase) c = sim_random_case_of (
          SIM_RANDOM_INDIVISIBLE, cases[i].seed, cases[i].index, ROUNDS);
      HassSimResult *own = run (c, "auto"), *other = run (c, "hass-i");
      at_least (c->workload->name, other->steady_ns / own->steady_ns, 0.97);
      sim_result_free (own);
      sim_result_free (other);
    }
}

/* Rounds of few units. The first were at 0.01 of the other strategy's speed
   where a core began a unit at once, the next at 0.06 where a bundle of thread
   blocks counted as if it filled the GPU, or GPUs that are slower than the rest
   got bundles that the plan took to be short. */
static void
waits_for_no_core_that_has_a_large_part (void)
{
  static const struct
  {
    guint index, rounds;
    const char *other;
    double due;
  } cases[]
      = { { 31, 1, "gpu-only", 1 },         { 44, 1, "gpu-only", 0.97 },
          { 73, 1, "gpu-only", 0.97 },      { 98, ROUNDS, "gpu-only", 0.9 },
          { 44, ROUNDS, "gpu-only", 0.97 }, { 4, ROUNDS, "skmd", 1 },
          { 51, ROUNDS, "gpu-only", 0.97 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SimCase) c = sim_random_case_of (
          SIM_RANDOM_FEW, 63001, cases[i].index, cases[i].rounds);
      HassSimResult *own = run (c, "auto"), *other = run (c, cases[i].other);
      at_least (c->workload->name, other->makespan_ns / own->makespan_ns,
                cases[i].due);
      sim_result_free (own);
      sim_result_free (other);
    }
}

/* GPUs whose copies take longer than kernels that hardly fill them: 0.61, 0.59
   and 0.69 of the other strategy's speed where each bundle was to fill the
   GPU. */
static void
fills_no_gpu_that_copies (void)
{
  static const struct
  {
    guint index;
    const char *other;
  } cases[] = { { 29, "skmd" }, { 18, "skmd" }, { 14, "skmd" } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (SimCase) c = sim_random_case_of (SIM_RANDOM_COPIED, 4711,
                                                  cases[i].index, ROUNDS);
      HassSimResult *own = run (c, "auto"), *other = run (c, cases[i].other);
      at_least (c->workload->name, other->makespan_ns / own->makespan_ns, 1);
      sim_result_free (own);
      sim_result_free (other);
    }
}

/* Small samples of random farms of tasks and of indivisible loads. */
static void
on_random_tasks (void)
{
  static const struct
  {
    SimRandom family;
    double due[3];
  } families[] = { { SIM_RANDOM_FUNCTION, { 0.97, 0.80, 0.88 } },
                   { SIM_RANDOM_INDIVISIBLE, { 0.96, 0.82, 0.88 } } };
  static const char *const names[] = { "equal", "sized", "unknown" };
  for (guint f = 0; f < G_N_ELEMENTS (families); f++)
    {
      Mean means[3] = { { 0 } };
      for (guint i = 0; i < 45; i++)
        {
          g_autoptr (SimCase) c
              = sim_random_case_of (families[f].family, 11, i, ROUNDS);
          sim_bounds (c);
          HassSimResult *r = run (c, "auto");
          mean_add (&means[c->workload->cost], r->efficiency);
          sim_result_free (r);
        }
      for (guint i = 0; i < 3; i++)
        {
          at_least (names[i], mean_of (&means[i]), families[f].due[i]);
          printf ("\n    %s: %.1f %% of the bound ...", names[i],
                  100 * mean_of (&means[i]));
        }
    }
}

HASS_TEST_SUITE (
    sim_auto,
    { "each suite within 5 % of the bound, all within 3, and no other strategy "
      "more than 2 % faster",
      near_the_bound },
    { "GPUs take from the end that suits them", finds_the_better_end },
    { "a GPU that a round cannot fill is put off", puts_risky_gpus_off },
    { "clusters of high costs are no fixed part", is_not_misled_by_clusters },
    { "what gets one bundle overlaps nothing", knows_single_bundles },
    { "a silent GPU is not waited for", does_without_a_silent_gpu },
    { "where unknown costs lie is learned", learns_where_costs_lie },
    { "random workloads on random machines", on_random_machines },
    { "whole tasks go in bundles", bundles_whole_tasks },
    { "simple tasks are told from parallel ones",
      tells_simple_tasks_from_parallel },
    { "sorted loads go to the devices that they suit",
      gives_loads_to_the_devices_that_they_suit },
    { "what copies does not have to be filled", fills_no_gpu_that_copies },
    { "few units do not wait for a core",
      waits_for_no_core_that_has_a_large_part },
    { "random farms of tasks and indivisible loads", on_random_tasks })
