/* SPDX-License-Identifier: MIT */
/* test_sim_bound_plans.c: the bound against the best of all plans, found by
   trying each, where rounds are so small that this can be done.

   A plan says which GPU gets how many of the units with each copy over a link,
   and in which order; the CPU does what is left. It is timed here, by the rules
   of a modelled machine and by nothing of hass.
   Thread safety: one thread. */
#include <math.h>
#include <stdio.h>

#include "hass_test.h"
#include "sim_test.h"
#include "tests/trials.h"

enum
{
  MOST_GPUS = 3,
  MOST_UNITS = 9
};

/* Times in ns; of a unit: core, kernel, in, out. */
typedef struct
{
  guint gpus, units, cores;
  gboolean shared, saturating, depth_one, duplex[MOST_GPUS];
  double core, pull;
  double kernel[MOST_GPUS], in, out, entry;
  double width, launch, latency;
} Machine;

/* Of links, by number, and of GPUs. */
typedef struct
{
  double in_free[MOST_GPUS], out_free[MOST_GPUS];
  double kernel_free[MOST_GPUS], back[MOST_GPUS];
  gboolean entered[MOST_GPUS];
} Clocks;

typedef struct
{
  guint gpu, units;
} Bundle;

typedef struct
{
  const Machine *m;
  Bundle plan[MOST_UNITS];
  double best;
  guint tried;
} Search;

static double
kernel_ns (const Machine *m, const Bundle *b)
{
  double wide
      = m->saturating ? b->units + m->width : MAX ((double)b->units, m->width);
  return m->launch + m->kernel[b->gpu] * wide;
}

/* When its results are back that are ready then. */
static double
copy_out (const Machine *m, Clocks *c, const Bundle *b, double ready)
{
  guint link = m->shared ? 0 : b->gpu;
  double *free_at = m->duplex[b->gpu] ? &c->out_free[link] : &c->in_free[link];
  if (m->out <= 0)
    return ready;
  *free_at = MAX (*free_at, ready) + m->latency + m->out * b->units;
  return *free_at;
}

/* When its kernel has ended. */
static double
compute (const Machine *m, Clocks *c, const Bundle *b)
{
  guint g = b->gpu, link = m->shared ? 0 : g;
  double bytes = m->in * b->units + (c->entered[g] ? 0 : m->entry);
  double begin = m->depth_one ? c->back[g] : 0;
  c->entered[g] = TRUE;
  if (bytes > 0)
    begin = c->in_free[link]
        = MAX (c->in_free[link], begin) + m->latency + bytes;
  c->kernel_free[g] = MAX (c->kernel_free[g], begin) + kernel_ns (m, b);
  return c->kernel_free[g];
}

/* When the last results of the GPUs are back. */
static double
gpus_end (const Machine *m, const Bundle *plan, guint n)
{
  Clocks c = { 0 };
  double ready[MOST_UNITS], end = 0;
  for (guint i = 0; i < n; i++)
    {
      ready[i] = compute (m, &c, &plan[i]);
      if (m->depth_one)
        ready[i] = c.back[plan[i].gpu] = copy_out (m, &c, &plan[i], ready[i]);
      end = MAX (end, ready[i]);
    }
  /* Who is ready first leaves first, and by the way in when all are in: on
     duplex links no other order ends earlier. */
  for (guint i = 0; i < n && !m->depth_one; i++)
    {
      guint next = 0;
      for (guint j = 1; j < n; j++)
        if (ready[j] < ready[next])
          next = j;
      end = MAX (end, copy_out (m, &c, &plan[next], ready[next]));
      ready[next] = INFINITY;
    }
  return end;
}

static void
try_all (Search *s, guint n, guint left)
{
  const Machine *m = s->m;
  double end = gpus_end (m, s->plan, n);
  if (m->cores > 0 && left > 0)
    end = MAX (end, m->pull + ceil (left / (double)m->cores) * m->core);
  s->tried++;
  if (left == 0 || m->cores > 0)
    s->best = MIN (s->best, end);
  /* Where links are the GPUs' own, one after another is every order. */
  guint first = n > 0 && !m->shared ? s->plan[n - 1].gpu : 0;
  for (guint g = first; g < m->gpus; g++)
    for (guint units = 1; units <= left; units++)
      {
        s->plan[n] = (Bundle){ g, units };
        try_all (s, n + 1, left - units);
      }
}

static double
bound_ns (const Machine *m)
{
  g_autoptr (GString) p = g_string_new ("[platform]\n");
  if (m->cores > 0)
    g_string_append_printf (p,
                            "[cpu]\ncores = %u\nwork_per_us = %.17g\n"
                            "pull_us = %.17g\n",
                            m->cores, 1e3 / m->core, m->pull * 1e-3);
  for (guint g = 0; g < m->gpus; g++)
    g_string_append_printf (
        p,
        "[gpu%u]\nmultiprocessors = 4\nwidth = %g\n"
        "work_per_us = %.17g\nlaunch_us = %.17g\n"
        "link_us = %.17g\nh2d_gbps = 1\nd2h_gbps = 1\n"
        "duplex = %s\ndepth = %u\ncurve = %s\n%s",
        g, m->width, 1e3 / m->kernel[g], m->launch * 1e-3, m->latency * 1e-3,
        m->duplex[g] ? "yes" : "no", m->depth_one ? 1 : 4,
        m->saturating ? "saturating" : "linear", m->shared ? "link = a\n" : "");
  g_autofree char *w = g_strdup_printf (
      "[workload]\nunits = %u\ninput_bytes = %g\noutput_bytes = %g\n"
      "entry_bytes = %g\n",
      m->units, m->in, m->out, m->entry);
  g_autoptr (SimCase) c = sim_test_case (p->str, w, 1, NULL, 0);
  return c->bound_ns[0];
}

static Machine
draw (GRand *r)
{
  Machine m = { .gpus = (guint)g_rand_int_range (r, 1, MOST_GPUS + 1),
                .cores = (guint)g_rand_int_range (r, 0, 4),
                .shared = g_rand_boolean (r),
                .saturating = g_rand_boolean (r),
                .depth_one = g_rand_int_range (r, 0, 4) == 0,
                .core = g_rand_double_range (r, 5e4, 5e5),
                .pull = g_rand_double_range (r, 0, 1e4),
                .launch = g_rand_double_range (r, 0, 3e4),
                .latency = g_rand_double_range (r, 0, 3e4) };
  gboolean mixed = g_rand_int_range (r, 0, 3) == 0;
  gboolean mixed_links = g_rand_int_range (r, 0, 4) == 0;
  gboolean duplex = g_rand_int_range (r, 0, 4) > 0;
  /* One in ten computes next to nothing. */
  double kernel = g_rand_int_range (r, 0, 10) > 0
                      ? g_rand_double_range (r, 2e4, 2e5)
                      : exp (g_rand_double_range (r, 0, 10));
  m.units = (guint)g_rand_int_range (r, 1, MOST_UNITS + 2 - (gint)m.gpus);
  m.width = g_rand_int_range (r, 1, (gint)m.units + 1);
  if (g_rand_int_range (r, 0, 4) > 0)
    m.in = floor (g_rand_double_range (r, 1e3, 1.2e5));
  if (g_rand_boolean (r))
    m.out = floor (g_rand_double_range (r, 1e3, 1.2e5));
  if (g_rand_int_range (r, 0, 4) == 0)
    m.entry = floor (g_rand_double_range (r, 1e3, 1e5));
  for (guint g = 0; g < m.gpus; g++)
    {
      m.kernel[g] = kernel * (mixed ? g_rand_double_range (r, 0.5, 2) : 1);
      m.duplex[g] = mixed_links ? g_rand_boolean (r) : duplex;
    }
  return m;
}

static void
all_plans (void)
{
  g_autoptr (GRand) r = g_rand_new_with_seed (20261122);
  double sum = 0, least = 1;
  guint64 tried = 0;
  guint n = TRIALS (1500, 300, 1500);
  for (guint i = 0; i < n; i++)
    {
      Machine m = draw (r);
      Search s = { .m = &m, .best = INFINITY };
      try_all (&s, 0, m.units);
      double part = bound_ns (&m) / s.best;
      gboolean below = part <= 1 + 1e-6;
      CU_ASSERT_TRUE (below);
      if (!below)
        g_printerr ("\n    machine %u: bound %.6f of the best plan's %.0f ns "
                    "(%u GPUs, %u units, %u cores%s%s%s)",
                    i, part, s.best, m.gpus, m.units, m.cores,
                    m.shared ? ", one link" : "",
                    m.saturating ? ", saturating" : "",
                    m.depth_one ? ", depth 1" : "");
      sum += part;
      least = MIN (least, part);
      tried += s.tried;
    }
  printf ("\n    %" G_GUINT64_FORMAT " plans of %u machines: bound %.3f of the "
          "best, at worst %.3f ...",
          tried, n, sum / n, least);
  CU_ASSERT_TRUE (sum / n > 0.88);
}

HASS_TEST_SUITE (sim_bound_plans,
                 { "the bound is below the best of all plans, and near it",
                   all_plans })
