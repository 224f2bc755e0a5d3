/* SPDX-License-Identifier: MIT */
/* test_sim_bound_engine.c: the bound against every plan of tiny rounds, each
   plan played by the virtual engine.

   DESIGN. A case is a random machine of at most two GPUs and a CPU, and a
   round of at most six units of any kind of farm, of function farms every
   other one with two or three functions.
   1. A plan says which units each GPU gets, in which bundles, in which order of
      all bundles where GPUs share a link; the CPU gets the rest. All plans are
      listed but for those that differ only in which of equal units goes where,
      in the order within a bundle where that does not count, and in the order
      of the cores' units: what cores take depends on nothing else, so they get
      the order that ends first.
   2. Each plan is a round of one farm. Units are emitted in the plan's order,
      [CPU | bundles of gpu0 | bundles of gpu1], and a strategy of the tests
      hands them out (plan_player.h).
   3. The shortest of these rounds is as long as the bound or longer.

   Thread safety: one thread. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hass_test.h"
#include "plan_player.h"
#include "sim_test.h"
#include "tests/trials.h"

enum
{
  MOST_PLANS = 4000, /* of a case; else it gets fewer units */
  CASES = 10000
};

/* Virtual time is the same under a sanitizer, but takes ten times as long. */
#define ONE_OF TRIALS (1, 20, 20)

/* Of case i that of i % 4. */
static const char *const farms[]
    = { "partition", "combine", "indivisible", "function" };

/* -- 1. All plans -------------------------------------------------------- */

typedef struct
{
  const SimCase *c;
  double cpu[MOST_UNITS], gpu[MOST_UNITS]; /* costs of units */
  gboolean shared_link, ordered_bundles;
  GArray *plans;
  Plan plan; /* that is being made */
  guint8 bundle_units[MOST_UNITS][MOST_UNITS];
} Search;

static gboolean
alike (const Search *s, guint a, guint b)
{
  return s->cpu[a] == s->cpu[b] && s->gpu[a] == s->gpu[b];
}

/* Of units that are alike the first ones are taken. */
static gboolean
takes_first (const Search *s, guint left, guint taken)
{
  for (guint a = 0; a < MOST_UNITS; a++)
    for (guint b = a + 1; b < MOST_UNITS; b++)
      if ((left & ~taken) >> a & 1 && taken >> b & 1 && alike (s, a, b))
        return FALSE;
  return TRUE;
}

/* Cores that take one unit after another are done soonest where each unit is
   on the core that the best division gives it. */
typedef struct
{
  const Search *s;
  guint8 units[MOST_UNITS];
  guint n;
  double start[MOST_UNITS], best_start[MOST_UNITS], load[MOST_UNITS], best;
} Division;

static void
divide (Division *d, guint i)
{
  const HassPlatform *p = d->s->c->platform;
  double most = 0;
  for (guint c = 0; c < MOST_UNITS; c++)
    most = MAX (most, d->load[c]);
  if (most >= d->best)
    return;
  if (i == d->n)
    {
      d->best = most;
      memcpy (d->best_start, d->start, sizeof d->start);
      return;
    }
  for (guint c = 0; c < MIN (p->cores, MOST_UNITS); c++)
    {
      double before = d->load[c];
      d->start[i] = before;
      d->load[c] += p->pull_ns + d->s->cpu[d->units[i]] / p->core_work_per_ns;
      divide (d, i + 1);
      d->load[c] = before;
      if (before == 0)
        break; /* other empty cores are like this one */
    }
}

static void
order_of_cpu (const Search *s, guint left, guint8 *order)
{
  Division d = { .s = s, .best = INFINITY };
  for (guint u = 0; u < MOST_UNITS; u++)
    if (left >> u & 1)
      d.units[d.n++] = (guint8)u;
  divide (&d, 0);
  for (guint i = 0; i < d.n; i++)
    {
      guint rank = 0;
      for (guint k = 0; k < d.n; k++)
        rank += d.best_start[k] < d.best_start[i]
                || (d.best_start[k] == d.best_start[i] && k < i);
      order[rank] = d.units[i];
    }
}

static void
add_plan (Search *s, guint left)
{
  Plan *p = &s->plan;
  guint at = 0;
  for (guint u = 0; u < MOST_UNITS; u++)
    at += left >> u & 1;
  p->n_cpu = at;
  order_of_cpu (s, left, p->order);
  for (guint g = 0; g < MOST_GPUS; g++)
    for (guint i = 0; i < p->n_bundles; i++)
      for (guint k = 0; p->bundles[i].gpu == g && k < p->bundles[i].units; k++)
        p->order[at++] = s->bundle_units[i][k];
  g_array_append_val (s->plans, *p);
}

static void try_all (Search *s, guint left);

/* All orders of the units `taken` in the next bundle, from the k-th on. */
static void
order_bundle (Search *s, guint left, guint taken, guint k)
{
  guint8 *units = s->bundle_units[s->plan.n_bundles - 1];
  if (taken == 0)
    try_all (s, left);
  for (guint u = 0; u < MOST_UNITS; u++)
    if (taken >> u & 1 && takes_first (s, taken, 1u << u))
      {
        units[k] = (guint8)u;
        order_bundle (s, left, taken & ~(1u << u), k + 1);
        if (!s->ordered_bundles)
          break;
      }
}

static void
try_all (Search *s, guint left)
{
  const HassPlatform *p = s->c->platform;
  guint n = s->plan.n_bundles;
  if (s->plans->len > MOST_PLANS)
    return;
  if (left == 0 || p->has_cpu)
    add_plan (s, left);
  /* Where links are the GPUs' own, one after another is every order. */
  guint first = n > 0 && !s->shared_link ? s->plan.bundles[n - 1].gpu : 0;
  for (guint g = first; g < p->n_gpus; g++)
    for (guint taken = 1; taken <= left; taken++)
      {
        if ((taken & ~left) || !takes_first (s, left, taken))
          continue;
        guint units = 0;
        for (guint u = 0; u < MOST_UNITS; u++)
          units += taken >> u & 1;
        s->plan.bundles[n] = (Bundle){ g, units };
        s->plan.n_bundles = n + 1;
        order_bundle (s, left & ~taken, taken, 0);
        s->plan.n_bundles = n;
      }
}

/* -- Cases --------------------------------------------------------------- */

static double
log_between (GRand *r, double lo, double hi)
{
  return exp (g_rand_double_range (r, log (lo), log (hi)));
}

static gboolean
one_of (GRand *r, gint n)
{
  return g_rand_int_range (r, 0, n) == 0;
}

static HassPlatform *
draw_machine (GRand *r, const SimWorkload *w)
{
  HassPlatform *p = g_new0 (HassPlatform, 1);
  gboolean shared = g_rand_boolean (r), mixed = one_of (r, 2);
  p->name = g_strdup ("tiny");
  p->n_gpus = (guint)g_rand_int_range (r, 0, MOST_GPUS + 1);
  p->has_cpu = p->n_gpus == 0 || !one_of (r, 4);
  p->cores = p->has_cpu ? (guint)g_rand_int_range (r, 1, 4) : 0;
  p->core_work_per_ns = w->work / log_between (r, 2e4, 5e5);
  p->pull_ns = one_of (r, 3) ? 0 : g_rand_double_range (r, 100, 1e4);
  p->gpus = g_new0 (HassGpuModel, p->n_gpus + 1);
  p->n_links = shared ? MIN (p->n_gpus, 1) : p->n_gpus;
  for (guint g = 0; g < p->n_gpus; g++)
    {
      HassGpuModel *m = &p->gpus[g];
      *m = (HassGpuModel){
        .multiprocessors = 1u << g_rand_int_range (r, 0, 4),
        .width = (guint64)g_rand_int_range (r, 1, MOST_UNITS + 1)
                 * (one_of (r, 2) ? w->elements : 1),
        .work_per_ns = w->work / log_between (r, 5e3, 3e5),
        .launch_ns = one_of (r, 4) ? 0 : g_rand_double_range (r, 0, 3e4),
        .link_ns = one_of (r, 4) ? 0 : g_rand_double_range (r, 0, 3e4),
        .h2d_bytes_per_ns = 1,
        .d2h_bytes_per_ns = g_rand_double_range (r, 0.5, 1),
        .duplex = !one_of (r, 3),
        .depth = (guint)g_rand_int_range (r, 1, 4),
        .curve = one_of (r, 2) ? HASS_CURVE_SATURATING : HASS_CURVE_LINEAR
      };
      if (g > 0 && !mixed)
        *m = p->gpus[0];
      m->name = g_strdup_printf ("gpu%u", g);
      m->link = shared ? 0 : g;
    }
  return p;
}

static void
draw_costs (GRand *r, SimWorkload *w)
{
  w->family = (SimFamily)g_rand_int_range (r, SIM_LOGNORMAL, SIM_CLUSTERED + 1);
  w->family_a = g_rand_double_range (r, 0.2, 2);
  if (w->family == SIM_BIMODAL)
    {
      w->family_a = 0.3;
      w->family_b = log_between (r, 2, 100);
    }
  else if (w->family == SIM_CLUSTERED)
    {
      w->family_a = 3;
      w->family_b = log_between (r, 2, 10);
    }
  else if (w->family == SIM_RAMP_UP || w->family == SIM_RAMP_DOWN)
    w->family_a = log_between (r, 2, 20);
  if (w->cost == HASS_COST_SIZED && w->farm != HASS_FARM_PARTITION)
    w->sizes = one_of (r, 2);
  else if (one_of (r, 3))
    w->gpu_ramp = log_between (r, 1, 10);
  if (!w->sizes && one_of (r, 4))
    w->warp = 2;
}

static void
draw_functions (GRand *r, SimWorkload *w)
{
  w->n_functions = (guint)g_rand_int_range (r, 2, 4);
  for (guint f = 0; f < w->n_functions; f++)
    w->functions[f]
        = (SimFunction){ g_rand_double_range (r, 0.2, 1),
                         log_between (r, 0.3, 3), log_between (r, 0.03, 30) };
}

static SimWorkload *
draw_workload (GRand *r, guint i)
{
  static const HassFarmKind kinds[]
      = { HASS_FARM_PARTITION, HASS_FARM_COMBINE, HASS_FARM_INDIVISIBLE,
          HASS_FARM_FUNCTION };
  SimWorkload *w = g_new0 (SimWorkload, 1);
  w->rates = g_array_new (FALSE, FALSE, sizeof (SimRates));
  w->name = g_strdup_printf ("tiny-%u", i);
  w->farm = kinds[i % G_N_ELEMENTS (kinds)];
  w->cost = (HassCostClass)(i / G_N_ELEMENTS (kinds) % 3);
  w->work = log_between (r, 0.1, 1e5);
  w->gpu_ramp = 1;
  w->units = (guint32)g_rand_int_range (r, 1, MOST_UNITS + 1);
  w->elements = one_of (r, 2) ? 1 : (guint64)g_rand_int_range (r, 1, 9);
  if (!one_of (r, 3))
    w->input_bytes = (guint64)log_between (r, 10, 2e5) * w->elements;
  if (one_of (r, 2))
    w->output_bytes = (guint64)log_between (r, 10, 2e5) * w->elements;
  if (one_of (r, 3))
    w->entry_bytes = floor (log_between (r, 1e3, 2e5));
  if (one_of (r, 5))
    w->merge_ns = floor (log_between (r, 1e3, 1e5));
  if (w->cost != HASS_COST_EQUAL
      && (w->farm != HASS_FARM_PARTITION || w->cost == HASS_COST_UNKNOWN))
    draw_costs (r, w);
  if (w->farm == HASS_FARM_FUNCTION && !w->sizes && one_of (r, 2))
    draw_functions (r, w);
  return w;
}

static void
list_plans (Search *s)
{
  guint n = s->c->workload->units;
  for (guint u = 0; u < n; u++)
    {
      s->cpu[u] = sim_case_work (s->c, 0, FALSE, u, 1);
      s->gpu[u] = sim_case_work (s->c, 0, TRUE, u, 1);
    }
  s->plan.n_bundles = 0;
  g_array_set_size (s->plans, 0);
  try_all (s, (1u << n) - 1);
}

/* Draws case i, the same whatever was drawn before it, with few enough plans;
   they are in s. */
static SimCase *
draw_case (guint i, Search *s)
{
  for (guint32 most = MOST_UNITS;; most--)
    {
      g_autoptr (GRand) r = g_rand_new_with_seed (20261123 + i);
      SimWorkload *w = draw_workload (r, i);
      w->units = MIN (w->units, most);
      SimCase *c = sim_case_new (w, draw_machine (r, w), 1, i, NULL, 0);
      const HassPlatform *p = c->platform;
      s->c = c;
      s->shared_link = p->n_links < p->n_gpus;
      s->ordered_bundles
          = w->farm == HASS_FARM_INDIVISIBLE || w->farm == HASS_FARM_FUNCTION;
      list_plans (s);
      if (s->plans->len <= MOST_PLANS)
        return c;
      sim_case_free (c);
    }
}

/* Sums of costs in a plan's order. */
static double *
sums_of (const double *cost, const Plan *plan, guint n)
{
  double *sum = g_new (double, n + 1);
  sum[0] = 0;
  for (guint k = 0; k < n; k++)
    sum[k + 1] = sum[k] + cost[plan->order[k]];
  return sum;
}

/* 3. Each plan is a round with costs of its own. */
static void
make_rounds (SimCase *c, const Search *s)
{
  SimCosts drawn = c->costs[0];
  guint n = c->workload->units;
  c->rounds = s->plans->len;
  if (!drawn.cpu)
    return;
  c->period = c->rounds;
  c->costs = g_renew (SimCosts, c->costs, c->period);
  for (guint r = 0; r < c->period; r++)
    {
      const Plan *plan = &g_array_index (s->plans, Plan, r);
      c->costs[r].cpu = c->costs[r].gpu = sums_of (s->cpu, plan, n);
      if (drawn.gpu != drawn.cpu)
        c->costs[r].gpu = sums_of (s->gpu, plan, n);
    }
  if (drawn.gpu != drawn.cpu)
    g_free (drawn.gpu);
  g_free (drawn.cpu);
}

static void
explain (const SimCase *c, guint i, double bound, double best)
{
  const SimWorkload *w = c->workload;
  const HassPlatform *p = c->platform;
  g_printerr ("\n    case %u: bound %.6f of the best plan's %.0f ns: %s farm, "
              "cost class %d, family %d, %u units of %" G_GUINT64_FORMAT
              " elements, in %" G_GUINT64_FORMAT " out %" G_GUINT64_FORMAT
              " entry %.0f merge %.0f%s%s, %u functions, %u cores, %u GPUs on "
              "%u links",
              i, bound / best, best, farms[i % 4], (int)w->cost, (int)w->family,
              w->units, w->elements, w->input_bytes, w->output_bytes,
              w->entry_bytes, w->merge_ns, w->sizes ? ", sizes" : "",
              w->warp > 1 ? ", warp" : "", w->n_functions, p->cores, p->n_gpus,
              p->n_links);
}

/* Bound over the best plan. */
static double
hold_against_all (guint i, Search *s, guint64 *played)
{
  g_autoptr (SimCase) c = draw_case (i, s);
  sim_bounds (c);
  double bound = c->bound_ns[0], best = INFINITY;
  g_clear_pointer (&c->bound_ns, g_free);
  make_rounds (c, s);
  plan_player_play (s->plans);
  HassSimResult *r = sim_run (c, plan_player_register (), NULL);
  if (r->refused)
    g_printerr ("\n    case %u: %s", i, r->refused);
  CU_ASSERT_EQUAL (r->n_rounds, s->plans->len);
  for (guint k = 0; k < r->n_rounds; k++)
    best = MIN (best, (double)(r->rounds[k].end_ns - r->rounds[k].begin_ns));
  *played += r->n_rounds;
  sim_result_free (r);
  /* The engine rounds each stage to whole ns. */
  gboolean below = bound <= best * (1 + 1e-6) + 3 * MOST_UNITS;
  CU_ASSERT_TRUE (below);
  if (!below)
    explain (c, i, bound, best);
  return bound / best;
}

static void
every_plan (void)
{
  Search s = { .plans = g_array_new (FALSE, FALSE, sizeof (Plan)) };
  double sums[4] = { 0 }, least[4] = { 1, 1, 1, 1 };
  guint64 played = 0;
  guint n = 0;
  CU_ASSERT_PTR_NOT_NULL_FATAL (plan_player_register ());
  for (guint i = 0; i < CASES; i++)
    {
      /* All kinds of farms and cost classes are among any twelve. */
      if (i / 12 % ONE_OF != 0)
        continue;
      double part = hold_against_all (i, &s, &played);
      sums[i % 4] += part;
      least[i % 4] = MIN (least[i % 4], part);
      n += i % 4 == 0;
    }
  g_array_unref (s.plans);
  printf ("\n    %" G_GUINT64_FORMAT " plans of %u cases ...", played, 4 * n);
  for (guint k = 0; k < 4; k++)
    {
      printf ("\n    %s: bound %.3f of the best plan, at worst %.2f ...",
              farms[k], sums[k] / n, least[k]);
      CU_ASSERT_TRUE (sums[k] / n > 0.92);
    }
}

HASS_TEST_SUITE (sim_bound_engine,
                 { "no plan of a tiny round beats the bound in the engine",
                   every_plan })
