/* SPDX-License-Identifier: MIT */
/* best_static.c: searches the best static split of a case, in steps of 1 %: the
   pseudo-strategy `oracle`.

   DESIGN. The makespan of a split under strategy `static` can be computed
   without events: the range is cut by the visible work, each GPU runs its part
   as one bundle, copies queue on their links in the order of the devices, and
   the cores share the CPU's part equally.
   1. This is done for every split of two devices. With more, a descent starts
      from each device alone and from parts in proportion to rates: 1 % (and 5
      and 20) is moved between two devices while that helps. Subsets are found
      as well, since a part may become 0.
   2. The engine runs the best few splits; the fastest is the result.

   Thread safety: any thread, each with a case of its own. */
#include "tools/hass-sim/sim.h"

#include <math.h>
#include <string.h>

#include "hass/error.h"

#define MOST_DEVICES 9 /* strategy static has parameters for eight GPUs */
#define FINALISTS 4

typedef struct
{
  int percent[MOST_DEVICES];
  double ns;
} Split;

typedef struct
{
  const SimCase *c;
  guint n;      /* devices */
  guint rounds; /* that are evaluated */
  GArray *best; /* Split, ascending by time, at most FINALISTS */
} Search;

/* Number of units up to this part of the visible work of the round. */
static guint32
cut_at (const SimCase *c, guint round, double part)
{
  guint32 n = c->workload->units, lo = 0, hi = n;
  if (c->workload->cost != HASS_COST_SIZED || !c->costs[0].cpu)
    return (guint32)floor (n * part + 0.5);
  double most = part * sim_case_work (c, round, FALSE, 0, n);
  while (lo < hi)
    {
      guint32 i = lo + (hi - lo + 1) / 2;
      if (sim_case_work (c, round, FALSE, 0, i) <= most * (1 + 1e-12))
        lo = i;
      else
        hi = i - 1;
    }
  return lo;
}

static double
cpu_ns (const SimCase *c, guint round, guint32 from, guint32 n)
{
  const HassPlatform *p = c->platform;
  double work = sim_case_work (c, round, FALSE, from, n);
  double each = work / n / p->core_work_per_ns;
  double chunks = MAX (n * each / p->cores / 100000, 1);
  double uneven = ceil (n / (double)p->cores) * each;
  return MAX (work / p->core_work_per_ns / p->cores, uneven)
         + chunks * p->pull_ns;
}

static double
round_ns (const Search *s, guint round, const Split *split)
{
  const SimCase *c = s->c;
  const SimWorkload *w = c->workload;
  const HassPlatform *p = c->platform;
  double in_free[MOST_DEVICES] = { 0 }, kernel_end[MOST_DEVICES] = { 0 };
  double end = 0;
  guint32 from = 0;
  guint done = 0, n_took = 0, first = p->has_cpu ? 1 : 0;
  guint32 units[MOST_DEVICES];
  double sizes[MOST_DEVICES];
  double links[64] = { 0 }, out_links[64] = { 0 };
  for (guint d = 0; d < s->n; d++)
    {
      done += (guint)split->percent[d];
      guint32 to = cut_at (c, round, done / 100.0);
      units[d] = to - from;
      n_took += units[d] > 0;
      if (units[d] == 0)
        continue;
      if (d < first)
        end = cpu_ns (c, round, from, units[d]);
      else
        {
          const HassGpuModel *g = &p->gpus[d - first];
          double *link = &links[g->link % 64];
          sizes[d] = sim_case_sizes (c, round, from, units[d]);
          double in = w->input_bytes * sizes[d] + w->entry_bytes;
          double work = sim_case_work (c, round, TRUE, from, units[d]);
          in_free[d] = *link + hass_model_h2d_ns (g, (gsize)in);
          if (in >= 1)
            *link = in_free[d];
          else
            in_free[d] = 0;
          kernel_end[d] = in_free[d]
                          + hass_model_kernel_ns (
                              g, work, (guint64)(sizes[d] * w->elements));
        }
      from = to;
    }
  for (guint d = first; d < s->n; d++)
    if (units[d] > 0)
      {
        const HassGpuModel *g = &p->gpus[d - first];
        double *link
            = g->duplex ? &out_links[g->link % 64] : &links[g->link % 64];
        double out = hass_model_d2h_ns (g, (gsize)(w->output_bytes * sizes[d]));
        double t = kernel_end[d];
        if (out > 0)
          *link = t = MAX (t, *link) + out;
        end = MAX (end, t);
      }
  return end + (n_took > 1 ? w->merge_ns : 0);
}

static double
look (Search *s, Split *split)
{
  split->ns = 0;
  for (guint r = 0; r < s->rounds; r++)
    split->ns += round_ns (s, r, split);
  guint i = 0;
  for (; i < s->best->len; i++)
    {
      const Split *other = &g_array_index (s->best, Split, i);
      if (memcmp (other->percent, split->percent, sizeof split->percent) == 0)
        return split->ns;
      if (split->ns < other->ns)
        break;
    }
  if (i < FINALISTS)
    {
      g_array_insert_val (s->best, i, *split);
      if (s->best->len > FINALISTS)
        g_array_set_size (s->best, FINALISTS);
    }
  return split->ns;
}

/* Moves parts between two devices while that helps. */
static void
descend (Search *s, Split at)
{
  static const int steps[] = { 20, 5, 1 };
  double best = look (s, &at);
  for (gboolean better = TRUE; better;)
    {
      Split found = at;
      better = FALSE;
      for (guint i = 0; i < s->n; i++)
        for (guint j = 0; j < s->n; j++)
          for (guint k = 0; k < G_N_ELEMENTS (steps) && i != j; k++)
            {
              Split next = at;
              int step = MIN (steps[k], at.percent[i]);
              next.percent[i] -= step;
              next.percent[j] += step;
              if (step > 0 && look (s, &next) < best * (1 - 1e-9))
                {
                  best = next.ns;
                  found = next;
                  better = TRUE;
                }
            }
      at = found;
    }
}

/* Parts in proportion to rates. */
static Split
proportional (const Search *s)
{
  const HassPlatform *p = s->c->platform;
  Split split = { { 0 }, 0 };
  double rates[MOST_DEVICES], sum = 0;
  guint first = p->has_cpu ? 1 : 0, most = 0;
  int left = 100;
  for (guint d = 0; d < s->n; d++)
    {
      rates[d] = d < first ? p->core_work_per_ns * p->cores
                           : p->gpus[d - first].work_per_ns;
      sum += rates[d];
      most = rates[d] > rates[most] ? d : most;
    }
  for (guint d = 0; d < s->n; d++)
    left -= split.percent[d] = (int)floor (100 * rates[d] / sum);
  split.percent[most] += left;
  return split;
}

static char *
text_of (const Search *s, const Split *split)
{
  GString *text = g_string_new ("static:");
  for (guint d = 0; d < s->n; d++)
    g_string_append_printf (text, "%s%s=%.2f", d ? "," : "",
                            s->c->device_names[d], split->percent[d] / 100.0);
  if (!s->c->platform->has_cpu)
    g_string_append (text, ",cpu=0");
  return g_string_free (text, FALSE);
}

static void
adopt (SimCase *c, const HassSimResult *r)
{
  g_free (c->static_split);
  c->static_split = g_strdup (r->strategy);
  for (guint i = 0; i < r->n_rounds; i++)
    c->static_ns[i] = (double)(r->rounds[i].end_ns - r->rounds[i].begin_ns);
}

gboolean
sim_best_static (SimCase *c, GError **error)
{
  Search s = { .c = c, .n = MIN (c->n_devices, MOST_DEVICES) };
  double best = INFINITY;
  s.rounds = MIN (c->period, c->rounds);
  s.best = g_array_new (FALSE, FALSE, sizeof (Split));
  for (guint d = 0; d < s.n; d++)
    {
      Split alone = { { 0 }, 0 };
      alone.percent[d] = 100;
      descend (&s, alone);
    }
  for (int i = 0; s.n == 2 && i <= 100; i++)
    look (&s, &(Split){ { i, 100 - i }, 0 });
  descend (&s, proportional (&s));
  g_free (c->static_ns);
  c->static_ns = g_new0 (double, MAX (c->rounds, 1));
  char *refused = NULL;
  HassError code = HASS_ERROR_STRATEGY;
  for (guint i = 0; i < s.best->len; i++)
    {
      g_autofree char *text = text_of (&s, &g_array_index (s.best, Split, i));
      HassSimResult *r = sim_run (c, text, NULL);
      if (!r->refused && r->makespan_ns < best)
        {
          best = r->makespan_ns;
          adopt (c, r);
        }
      else if (r->refused && !refused)
        {
          refused = g_strdup (r->refused);
          code = r->unwritten ? HASS_ERROR_IO : code;
        }
      sim_result_free (r);
    }
  g_array_unref (s.best);
  if (!c->static_split)
    {
      g_set_error (error, HASS_ERROR, code, "%s",
                   refused ? refused : "no static split could be run");
      g_clear_pointer (&c->static_ns, g_free);
    }
  g_free (refused);
  return c->static_split != NULL;
}
