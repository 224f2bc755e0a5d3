/* SPDX-License-Identifier: MIT */
/* area.c: the least time in which the devices of a machine can do all tasks of
   a graph, or those of a part of the time.

   DESIGN. Device d takes p(t, d) for task t: a pull or a launch, and its work;
   one task at a time, as hass-sim's codelets take one for each launch.
   1. Prices. Let all devices have prices that sum up to 1. Task t costs at
      least min over d of price(d) p(t, d), and in the time T all devices earn
      at most T, so the sum of these costs is a lower bound, whatever the prices
      are (the dual of the linear program that divides tasks among devices). The
      price of a device that the cheapest choices load more than the mean
      rises, by less in each step; the best prices are kept.
   2. Windows. No task begins before its head is over, the longest path to it,
      and its tail follows it, the longest path from it. So of task t at most
      max (h - head(t), 0) is done by the time h, and max (q - tail(t), 0) in
      the last q; the rest of it lies in between: T >= h + q + the costs of the
      rests, if h + q is known to be at most T. This is the bound of an ALAP
      schedule (Beaumont, Langou and others, Euro-Par 2020) for unlike devices,
      at either end. The best h and q are searched by halves, as any are a lower
      bound.

   Thread safety: any thread. */
#include "area.h"

#include <math.h>

/* Steps of prices: tasks times devices times steps, and the limits of steps. A
   bound of 1000 tasks is then within 1 % of the linear program's; less costs
   tightness, more costs seconds for the largest graphs. */
#define STEPS_WORK 5e7
#define LEAST_STEPS 16
#define MOST_STEPS 256
/* Around the best head, or tail, one is tried half as far away so often on
   either side, from half of the longest path to 1 / 65,536 of it; each costs a
   pass over the tasks. */
#define HALVINGS 16

/* Devices that are alike. @n: their number; @rates: [codelets], in core_ns/ns;
   @load_ns: of the tasks that are cheapest here. */
typedef struct
{
  double n, overhead_ns, price, load_ns;
  const double *rates;
} Group;

typedef struct
{
  const SimFlow *flow;
  const double *head_ns, *tail_ns; /* [tasks] */
  Group groups[1 + SIM_MOST_GPUS];
  guint n_groups;
} Area;

typedef struct
{
  double head_ns, tail_ns;
} Window;

/* -- 1. Prices ----------------------------------------------------------- */

static double
task_ns (const Group *g, const SimFlowTask *t)
{
  return g->overhead_ns + t->core_ns / g->rates[t->codelet];
}

/* Returns: what the tasks cost that lie in a window. Sets the loads. */
static double
cost_ns (Area *a, Window w)
{
  double sum = 0;
  for (guint g = 0; g < a->n_groups; g++)
    a->groups[g].load_ns = 0;
  for (guint i = 0; i < a->flow->tasks->len; i++)
    {
      const SimFlowTask *t = &g_array_index (a->flow->tasks, SimFlowTask, i);
      double out_ns = MAX (w.head_ns - a->head_ns[i], 0)
                      + MAX (w.tail_ns - a->tail_ns[i], 0);
      double least = G_MAXDOUBLE, rest_ns = 0;
      Group *where = NULL;
      for (Group *g = a->groups; g < a->groups + a->n_groups; g++)
        {
          double ns = MAX (task_ns (g, t) - out_ns, 0);
          if (g->price * ns >= least)
            continue;
          least = g->price * ns;
          rest_ns = ns;
          where = g;
        }
      if (!where)
        continue;
      where->load_ns += rest_ns;
      sum += least;
    }
  return sum;
}

/* Prices of all devices shall sum up to 1. */
static void
scale_prices (Area *a)
{
  double sum = 0;
  for (guint g = 0; g < a->n_groups; g++)
    sum += a->groups[g].n * a->groups[g].price;
  for (guint g = 0; g < a->n_groups; g++)
    a->groups[g].price /= sum;
}

/* One step: @cost_ns is the mean load of a device. */
static void
change_prices (Area *a, double cost_ns, double step)
{
  for (Group *g = a->groups; g < a->groups + a->n_groups; g++)
    {
      double more = g->load_ns / (g->n * cost_ns) - 1;
      g->price *= exp (step * MIN (more, 1));
    }
  scale_prices (a);
}

/* Finds prices at which the tasks in a window cost most. */
static void
find_prices (Area *a, Window w)
{
  double pairs = (double)a->flow->tasks->len * a->n_groups, best = -1;
  guint n = (guint)CLAMP (STEPS_WORK / MAX (pairs, 1), LEAST_STEPS, MOST_STEPS);
  double prices[1 + SIM_MOST_GPUS];
  for (guint k = 0; k < n; k++)
    {
      double ns = cost_ns (a, w);
      for (guint g = 0; ns > best && g < a->n_groups; g++)
        prices[g] = a->groups[g].price;
      best = MAX (best, ns);
      if (ns <= 0 || a->n_groups == 1)
        break;
      change_prices (a, ns, 2.0 / (4 + k));
    }
  for (guint g = 0; g < a->n_groups; g++)
    a->groups[g].price = prices[g];
}

/* -- 2. Windows ---------------------------------------------------------- */

/* Returns: no schedule takes less. */
static double
window_ns (Area *a, Window w)
{
  return w.head_ns + w.tail_ns + cost_ns (a, w);
}

/* A better end of a window is looked for: @of is in @window; @ns: the bound of
   the window as @of is now. */
typedef struct
{
  Area *area;
  Window *window;
  double *of, ns;
} Search;

static void
try_end (Search *s, double end_ns)
{
  double was_ns = *s->of;
  *s->of = end_ns;
  double ns = window_ns (s->area, *s->window);
  if (ns <= s->ns)
    *s->of = was_ns;
  s->ns = MAX (s->ns, ns);
}

/* Changes @of to the best one. @path_ns: the longest path, so head and tail of
   a window are at most that. Returns: the bound of the window. */
static double
widen (Area *a, Window *w, double *of, double path_ns)
{
  Search s = { a, w, of, window_ns (a, *w) };
  double most_ns = path_ns - (w->head_ns + w->tail_ns - *of);
  double step_ns = most_ns;
  for (guint k = 0; k < HALVINGS; k++)
    {
      step_ns /= 2;
      double at_ns = *of;
      try_end (&s, MIN (at_ns + step_ns, most_ns));
      try_end (&s, MAX (at_ns - step_ns, 0));
    }
  return s.ns;
}

static double
best_window_ns (Area *a, double path_ns)
{
  double best = 0;
  Window w = { 0, 0 };
  for (guint i = 0; i < 2; i++)
    {
      find_prices (a, w);
      best = MAX (best, widen (a, &w, &w.tail_ns, path_ns));
      best = MAX (best, widen (a, &w, &w.head_ns, path_ns));
    }
  return best;
}

/* -- Devices ------------------------------------------------------------- */

static const char *
kind_of (const HassPlatform *p, guint d)
{
  return d == 0 ? "cpu" : p->gpus[d - 1].kind ? p->gpus[d - 1].kind : "gpu";
}

double
sim_flow_rate (const SimFlow *f, const HassPlatform *p, guint d, guint codelet)
{
  double rate = d == 0 ? 1 : p->gpus[d - 1].work_per_ns / p->core_work_per_ns;
  return rate
         * hass_platform_codelet_factor (p, f->codelets->pdata[codelet],
                                         kind_of (p, d));
}

double
sim_flow_overhead_ns (const HassPlatform *p, guint d)
{
  return d == 0 ? p->pull_ns : p->gpus[d - 1].launch_ns;
}

static gboolean
alike (const Group *g, const Group *other, guint n_codelets)
{
  if (g->overhead_ns != other->overhead_ns)
    return FALSE;
  for (guint c = 0; c < n_codelets; c++)
    if (g->rates[c] != other->rates[c])
      return FALSE;
  return TRUE;
}

/* Devices start at prices that go with the rates at which they do the mean of
   all codelets. */
static void
add_group (Area *a, const Group *group)
{
  guint n_codelets = a->flow->codelets->len;
  for (guint g = 0; g < a->n_groups; g++)
    if (alike (&a->groups[g], group, n_codelets))
      {
        a->groups[g].n += group->n;
        return;
      }
  Group *g = &a->groups[a->n_groups++];
  *g = *group;
  for (guint c = 0; c < n_codelets; c++)
    g->price += g->rates[c];
}

double
sim_flow_area_ns (const SimFlow *f, const HassPlatform *p,
                  const double *head_ns, const double *tail_ns, double path_ns)
{
  guint n_codelets = f->codelets->len;
  g_autofree double *rates = g_new (double, (1 + p->n_gpus) * n_codelets);
  g_autofree Area *a = g_new0 (Area, 1);
  *a = (Area){ .flow = f, .head_ns = head_ns, .tail_ns = tail_ns };
  for (guint d = 0; d <= p->n_gpus; d++)
    {
      Group g = { .n = d == 0 ? p->cores : 1,
                  .overhead_ns = sim_flow_overhead_ns (p, d),
                  .rates = rates + d * n_codelets };
      for (guint c = 0; c < n_codelets; c++)
        rates[d * n_codelets + c] = sim_flow_rate (f, p, d, c);
      if (g.n > 0)
        add_group (a, &g);
    }
  scale_prices (a);
  return best_window_ns (a, path_ns);
}
