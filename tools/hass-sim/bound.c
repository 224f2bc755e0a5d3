/* SPDX-License-Identifier: MIT */
/* bound.c: a lower bound on what a round takes under any strategy, one that
   knows every cost beforehand included.

   DESIGN. For a time T the devices' capacities are bounded from above, and
   the bound is the smallest T that they allow (by bisection; capacities only
   grow with T). Times and costs are those of the model without noise.

   1. The CPU pool: each core pulls at least once and computes at a constant
      rate, so it does at most (T - pull) * rate work. Where units are equal,
      whole ones.
   2. A GPU with w work in u units: its first kernel begins no earlier than
      the entry copy and one unit's input are in; its last results leave no
      earlier than after one unit's output. Between them all kernels run one
      after another, and each bundle costs a launch, so one launch is the
      least. A kernel takes at least w / rate; on a linear curve also
      width * d / rate, on a saturating one that on top, where d is the least
      cost of an element. Copies in take one link latency and all bytes, then
      one kernel has to follow; copies out likewise. That the first kernels
      wait for the first copies is bounded more closely where units are equal,
      see most_in_bundles(). With depth 1 nothing overlaps and all of these
      add up.
   3. GPUs of one link share it: what they copy, entries included, fits into
      T one after another, and the k-th of them to enter begins after k
      entries. The subset that takes part is the one with the largest
      capacity, of all subsets of the link's GPUs, and of all orders of up to
      four (more of different kinds: as if each entered first).
   4. Who does what: equal units are counted, and so are, in parts, units
      whose sizes go with their costs. Else the CPU with capacity A
      relieves the GPUs of no more work than that of the units for which a
      GPU is slowest by comparison, and of no more units than the cheapest
      ones that fit into A. GPU work and GPU units that are left are then
      held against the GPUs' capacity for several weightings of work and
      units. Each is a relaxation, so the bound stays one.
   5. No T is shorter than the unit that is longest where it runs fastest.
   6. Where a merge costs, it is the least of: one device alone, or the merge
      and all devices.

   Thread safety: any thread, each with a case of its own. */
#include "sim.h"

#include <math.h>
#include <stdlib.h>

#define MOST_ON_LINK 8

/* What the round is about. */
typedef struct
{
  const SimCase *c;
  const SimWorkload *w;
  const HassPlatform *p;
  double core_rate;
  double gpu_rate[SIM_MOST_GPUS]; /* 0: lost */
  gboolean use_cpu;
  guint use_gpu; /* G_MAXUINT: all; else that one; SIM_MOST_GPUS: none */
  double n, cpu_work, gpu_work; /* of the round */
  double density;               /* least cost of an element */
  double smallest;              /* size of the smallest unit, of the mean */
  /* [units + 1], NULL for equal units: sums of CPU work of the cheapest
     first; of CPU and GPU work of those that a GPU is slowest for. */
  double *cheap, *relief_cpu, *relief_gpu;
  double longest_ns;
} Problem;

/* Least costs of one GPU's round, by kind. */
typedef struct
{
  double rate;
  double in_ns, out_ns;         /* of a unit's bytes, without latency */
  double in_fixed, out_fixed;   /* latencies and entry; 0: nothing copied */
  double launch_ns, non_linear; /* added to, or least of, the kernels */
  gboolean saturating, depth_one;
  double round_widths; /* width by the round's elements */
  double latency_ns;   /* of a copy in */
  double smallest;     /* unit, by the mean one */
} Least;

static Least
least_of (const Problem *q, guint g)
{
  const HassGpuModel *m = &q->p->gpus[g];
  const SimWorkload *w = q->w;
  Least l = { .rate = q->gpu_rate[g], .launch_ns = m->launch_ns };
  double floor_ns = m->width * q->density / l.rate;
  l.in_ns = w->input_bytes / m->h2d_bytes_per_ns;
  l.out_ns = w->output_bytes / m->d2h_bytes_per_ns;
  if (w->input_bytes > 0 || w->entry_bytes > 0)
    l.in_fixed = m->link_ns + w->entry_bytes / m->h2d_bytes_per_ns;
  if (w->input_bytes > 0)
    l.latency_ns = m->link_ns;
  if (w->output_bytes > 0)
    l.out_fixed = m->link_ns;
  l.saturating = m->curve == HASS_CURVE_SATURATING;
  l.depth_one = m->depth <= 1;
  l.smallest = q->smallest;
  l.round_widths = m->width / ((double)w->units * w->elements);
  if (w->farm == HASS_FARM_PARTITION || w->farm == HASS_FARM_COMBINE)
    l.non_linear = floor_ns;
  return l;
}

static gboolean
are_alike (const Least *a, const Least *b)
{
  return a->rate == b->rate && a->in_ns == b->in_ns && a->out_ns == b->out_ns
         && a->in_fixed == b->in_fixed && a->launch_ns == b->launch_ns
         && a->non_linear == b->non_linear && a->saturating == b->saturating
         && a->depth_one == b->depth_one;
}

/* Most of work * a + units * b on this GPU within T. */
static double
most_of (const Least *l, double t, double a, double b)
{
  double fixed = l->in_fixed + l->launch_ns + l->out_fixed;
  double extra = l->saturating ? l->non_linear : 0;
  double room = t - fixed - extra;
  double copy = l->in_ns + l->out_ns, work, units;
  if (room <= 0 || (!l->saturating && t < fixed + l->non_linear))
    return 0;
  if (l->depth_one)
    {
      /* work / rate + units * copy <= room, both free: the better corner. */
      work = room * l->rate;
      if (copy <= 0)
        return b > 0 ? INFINITY : work * a;
      return MAX (work * a, room / copy * b);
    }
  work = (room - copy > 0 ? room - copy : 0) * l->rate;
  /* No bundle has more elements than the round. */
  if (l->saturating)
    work = MIN (work, (room + extra) * l->rate / (1 + l->round_widths));
  units = copy > 0 ? INFINITY : G_MAXDOUBLE;
  if (l->in_ns > 0)
    units = MIN (units, room / l->in_ns);
  if (l->out_ns > 0)
    units = MIN (units, room / l->out_ns);
  return work * a + (b > 0 ? units * b : 0);
}

/* Most equal units on a GPU that overlaps copies and kernels, in k bundles.
   Let bundle i have s_i units. Kernel j begins when j copies in are done, and
   kernels j to k follow one another, so for each j
     T >= sum (i <= j) in (s_i) + sum (i >= j) kernel (s_i).
   A mean of these with weights y_j >= 0 holds as well. With y_j in the
   proportion of p^j, p = copy / kernel of a unit, each unit counts the same,
   whatever bundle it is in, and the mean bounds their number. */
static double
most_in_bundles (const Least *l, double room, double each, guint k)
{
  double p = l->in_ns / each, sum = 0, weight = 1, latency = 0, launches = 0;
  double extra = l->launch_ns + (l->saturating ? l->non_linear : 0);
  for (guint j = 1; j <= k; j++)
    {
      sum += weight;
      latency += weight * (j - 1);
      launches += weight * (k - j);
      weight *= p;
    }
  /* One latency and one launch are in the room already. */
  room -= l->latency_ns * latency / sum + extra * launches / sum;
  return room / (l->in_ns + each / sum);
}

/* And in any number of bundles. */
static double
most_overlapped (const Least *l, double room, double each)
{
  enum
  {
    MOST = 24
  };
  double extra = l->launch_ns + (l->saturating ? l->non_linear : 0);
  double best = (room - MOST * extra) / each;
  for (guint k = 1; k <= MOST && l->in_ns > 0; k++)
    best = MAX (best, most_in_bundles (l, room, each, k));
  return l->in_ns > 0 ? best : room / each;
}

/* Most equal units on this GPU within T; each has `cost` work. */
static double
most_units (const Least *l, double t, double cost)
{
  double fixed = l->in_fixed + l->launch_ns + l->out_fixed;
  double extra = l->saturating ? l->non_linear : 0;
  double room = t - fixed - extra, each = cost / l->rate;
  double copy = l->in_ns + l->out_ns, least = l->smallest, n;
  if (room <= 0)
    return 0;
  if (l->depth_one)
    {
      n = room / (each + copy);
      if (!l->saturating && n * each < l->non_linear)
        n = copy > 0 ? (room - l->non_linear) / copy
                     : (room < l->non_linear ? 0 : room / each);
    }
  else
    {
      double kernels = room - least * copy;
      if (kernels < (l->saturating ? 0 : l->non_linear))
        return 0;
      n = MIN (kernels / each,
               most_overlapped (l, room - least * l->out_ns, each));
      if (l->in_ns > 0)
        n = MIN (n, (room - least * (l->out_ns + each)) / l->in_ns);
      if (l->out_ns > 0)
        n = MIN (n, (room - least * (l->in_ns + each)) / l->out_ns);
    }
  if (n <= 0)
    return 0;
  return least == 1 ? floor (n + 1e-9) : n;
}

/* What is wanted of GPUs: equal units of `cost` work each, or (cost 0) the
   most of work * a + units * b. */
typedef struct
{
  double t, cost, a, b;
} Wanted;

/* GPUs that enter one after another over their link. */
static double
in_order (const Least *l, const guint *order, guint k, const Wanted *want)
{
  double sum = 0, entered = 0;
  for (guint i = 0; i < k; i++)
    {
      Least own = l[order[i]];
      entered += own.in_fixed;
      own.in_fixed = entered;
      sum += want->cost > 0 ? most_units (&own, want->t, want->cost)
                            : most_of (&own, want->t, want->a, want->b);
    }
  return sum;
}

/* The best of all orders. */
static double
best_order (const Least *l, guint *order, guint done, guint k,
            const Wanted *want)
{
  double best = 0;
  if (done == k)
    return in_order (l, order, k, want);
  for (guint i = done; i < k; i++)
    {
      guint swap = order[done];
      order[done] = order[i];
      order[i] = swap;
      best = MAX (best, best_order (l, order, done + 1, k, want));
      order[i] = order[done];
      order[done] = swap;
    }
  return best;
}

/* Units that the link itself lets through, for a set of its GPUs. */
static double
link_units (const Least *l, guint k, gboolean duplex, double t)
{
  double in = 0, out = 0, in_ns = INFINITY, out_ns = INFINITY;
  double first = INFINITY, last = INFINITY;
  for (guint i = 0; i < k; i++)
    {
      in += l[i].in_fixed;
      out += l[i].out_fixed;
      in_ns = MIN (in_ns, l[i].in_ns);
      out_ns = MIN (out_ns, l[i].out_ns);
      first = MIN (first, l[i].in_fixed + l[i].launch_ns);
      last = MIN (last, l[i].launch_ns + l[i].out_fixed);
    }
  if (!duplex)
    return in_ns + out_ns > 0 ? MAX (t - in - out, 0) / (in_ns + out_ns)
                              : INFINITY;
  double by_in = in_ns > 0 ? MAX (t - in - last, 0) / in_ns : INFINITY;
  double by_out = out_ns > 0 ? MAX (t - out - first, 0) / out_ns : INFINITY;
  return MIN (by_in, by_out);
}

/* Most of the GPUs of one link, over all subsets of them. */
static double
most_of_link (const Problem *q, const guint *gpus, guint n, const Wanted *want)
{
  double best = 0;
  for (guint set = 1; set < 1u << n; set++)
    {
      Least l[MOST_ON_LINK];
      guint order[MOST_ON_LINK], k = 0;
      gboolean duplex = TRUE, alike = TRUE;
      double sum = 0;
      for (guint i = 0; i < n; i++)
        if (set & (1u << i))
          {
            l[k] = least_of (q, gpus[i]);
            duplex &= q->p->gpus[gpus[i]].duplex;
            alike &= are_alike (&l[k], &l[0]);
            order[k] = k;
            k++;
          }
      if (q->w->entry_bytes > 0 && alike)
        sum = in_order (l, order, k, want);
      else if (q->w->entry_bytes > 0 && k <= 4)
        sum = best_order (l, order, 0, k, want);
      else
        for (guint i = 0; i < k; i++)
          sum += in_order (l, &order[i], 1, want);
      double through = link_units (l, k, duplex, want->t);
      if (want->cost > 0)
        sum = MIN (sum, through);
      else if (want->a == 0)
        sum = MIN (sum, through * want->b);
      best = MAX (best, sum);
    }
  return best;
}

static double
most_of_gpus (const Problem *q, const Wanted *want)
{
  double sum = 0;
  for (guint link = 0; link < q->p->n_links; link++)
    {
      guint gpus[MOST_ON_LINK], n = 0;
      for (guint g = 0; g < q->p->n_gpus; g++)
        if (q->p->gpus[g].link == link && q->gpu_rate[g] > 0
            && (q->use_gpu == G_MAXUINT || q->use_gpu == g))
          {
            /* More than these: as if they had a link of their own. */
            if (n == MOST_ON_LINK)
              {
                sum += most_of_link (q, gpus, n, want);
                n = 0;
              }
            gpus[n++] = g;
          }
      sum += most_of_link (q, gpus, n, want);
    }
  return sum;
}

static double
cpu_room (const Problem *q, double t)
{
  return q->use_cpu ? MAX (t - q->p->pull_ns, 0) * q->core_rate : 0;
}

/* Largest i with sum[i] <= most, with a part of the next one. */
static double
reach (const double *sum, guint32 n, double most)
{
  guint32 lo = 0, hi = n;
  while (lo < hi)
    {
      guint32 i = lo + (hi - lo + 1) / 2;
      if (sum[i] <= most)
        lo = i;
      else
        hi = i - 1;
    }
  if (lo == n)
    return n;
  double each = sum[lo + 1] - sum[lo];
  return lo + (each > 0 ? (most - sum[lo]) / each : 0);
}

static double
at (const double *sum, guint32 n, double where)
{
  guint32 i = (guint32)MIN (where, n);
  return i >= n ? sum[n] : sum[i] + (where - i) * (sum[i + 1] - sum[i]);
}

/* May the round be done within T? TRUE where it only seems so. */
static gboolean
seems_feasible (const Problem *q, double t)
{
  guint32 n = q->w->units;
  double room = cpu_room (q, t) * q->p->cores;
  if (!q->cheap)
    {
      double cost = q->w->work;
      double cpu = cpu_room (q, t) / cost;
      cpu = (q->smallest == 1 ? floor (cpu + 1e-9) : cpu) * q->p->cores;
      return cpu + most_of_gpus (q, &(Wanted){ t, cost, 0, 0 }) >= n;
    }
  double units = n - reach (q->cheap, n, room);
  double relieved = at (q->relief_gpu, n, reach (q->relief_cpu, n, room));
  double work = q->gpu_work - relieved;
  if (units <= 0 || work <= 0)
    return TRUE;
  /* Work alone, units alone, and what a GPU that overlaps nothing has to
     give up of the one for the other. */
  double slopes[SIM_MOST_GPUS + 2] = { 0, INFINITY };
  guint n_slopes = 2;
  for (guint g = 0; g < q->p->n_gpus; g++)
    {
      Least l = least_of (q, g);
      if (q->gpu_rate[g] > 0 && l.depth_one && l.in_ns + l.out_ns > 0)
        slopes[n_slopes++] = (l.in_ns + l.out_ns) * l.rate;
    }
  for (guint i = 0; i < n_slopes; i++)
    {
      double a = slopes[i] < INFINITY ? 1 : 0;
      double b = a > 0 ? slopes[i] : 1;
      if (most_of_gpus (q, &(Wanted){ t, 0, a, b })
          < (a * work + b * units) * (1 - 1e-9))
        return FALSE;
    }
  return TRUE;
}

static double
least_time (const Problem *q)
{
  double lo = q->longest_ns, hi = MAX (lo, 1);
  while (!seems_feasible (q, hi))
    {
      lo = hi;
      hi *= 2;
      if (hi > 1e30)
        return hi;
    }
  for (guint i = 0; i < 60 && hi - lo > 1e-7 * hi; i++)
    {
      double t = (lo + hi) / 2;
      if (seems_feasible (q, t))
        hi = t;
      else
        lo = t;
    }
  return lo;
}

/* -- Units that differ -------------------------------------------------- */

static int
ascending (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef struct
{
  double cpu, gpu;
} Pair;

static int
slowest_on_gpu (const void *a, const void *b)
{
  const Pair *x = a, *y = b;
  double p = x->gpu * y->cpu, q = y->gpu * x->cpu;
  return (p < q) - (p > q);
}

static void
sort_units (Problem *q, const SimCosts *costs)
{
  guint32 n = q->w->units;
  g_autofree Pair *pairs = g_new (Pair, n);
  q->cheap = g_new (double, n + 1);
  q->relief_cpu = g_new (double, n + 1);
  q->relief_gpu = g_new (double, n + 1);
  q->density = INFINITY;
  for (guint32 i = 0; i < n; i++)
    {
      pairs[i] = (Pair){ costs->cpu[i + 1] - costs->cpu[i],
                         costs->gpu[i + 1] - costs->gpu[i] };
      q->cheap[i] = pairs[i].cpu;
      q->density = MIN (q->density, pairs[i].gpu / q->w->elements);
    }
  qsort (q->cheap, n, sizeof (double), ascending);
  if (costs->gpu != costs->cpu)
    qsort (pairs, n, sizeof *pairs, slowest_on_gpu);
  double cheap = 0, cpu = 0, gpu = 0;
  for (guint32 i = 0; i <= n; i++)
    {
      double cost = i < n ? q->cheap[i] : 0;
      q->cheap[i] = cheap;
      q->relief_cpu[i] = cpu;
      q->relief_gpu[i] = gpu;
      cheap += cost;
      cpu += i < n ? pairs[i].cpu : 0;
      gpu += i < n ? pairs[i].gpu : 0;
    }
  q->cpu_work = cpu;
  q->gpu_work = gpu;
}

static double
smallest (const SimCosts *costs, guint32 n)
{
  double least = INFINITY;
  for (guint32 i = 0; i < n; i++)
    least = MIN (least, costs->cpu[i + 1] - costs->cpu[i]);
  return least;
}

/* The longest unit, where it runs fastest. */
static double
longest (const Problem *q, const SimCosts *costs)
{
  double most = 0;
  gboolean blocks
      = q->w->farm == HASS_FARM_INDIVISIBLE
        || (q->w->farm == HASS_FARM_FUNCTION && q->w->elements <= 1);
  for (guint32 i = 0; i < (costs->cpu ? q->w->units : 1); i++)
    {
      double cpu = costs->cpu ? costs->cpu[i + 1] - costs->cpu[i] : q->w->work;
      double gpu = costs->gpu ? costs->gpu[i + 1] - costs->gpu[i] : q->w->work;
      double size = q->w->sizes ? cpu / q->w->work : 1;
      double best = q->use_cpu ? q->p->pull_ns + cpu / q->core_rate : INFINITY;
      for (guint g = 0; g < q->p->n_gpus; g++)
        if (q->gpu_rate[g] > 0 && (q->use_gpu == G_MAXUINT || q->use_gpu == g))
          {
            Least l = least_of (q, g);
            double rate = l.rate;
            if (blocks)
              rate /= q->p->gpus[g].multiprocessors;
            best = MIN (best, l.in_fixed + l.launch_ns + l.out_fixed
                                  + (l.in_ns + l.out_ns) * size + gpu / rate);
          }
      if (best < INFINITY)
        most = MAX (most, best);
    }
  return most;
}

/* -- Rounds ------------------------------------------------------------- */

/* Rates in a round: as if what goes wrong in it did so at its end. */
static void
rates_in (Problem *q, guint round)
{
  const SimCase *c = q->c;
  guint first = q->p->has_cpu ? 1 : 0;
  q->core_rate = q->p->core_work_per_ns;
  for (guint g = 0; g < q->p->n_gpus; g++)
    q->gpu_rate[g] = q->p->gpus[g].work_per_ns;
  for (guint i = 0; i < c->n_events; i++)
    {
      const HassVirtualEvent *e = &c->events[i];
      /* When a time is in rounds is not known here: never. */
      if (e->at_ns > 0 || e->round > round)
        continue;
      if (e->device < first)
        q->core_rate /= e->slower;
      else if (e->device - first < q->p->n_gpus)
        q->gpu_rate[e->device - first]
            = e->slower > 0 ? q->gpu_rate[e->device - first] / e->slower : 0;
    }
}

static double
solve (Problem *q, const SimCosts *costs)
{
  q->longest_ns = longest (q, costs);
  return least_time (q);
}

static double
bound_of_round (const SimCase *c, guint round)
{
  const SimCosts *costs = &c->costs[round % c->period];
  Problem q = { .c = c, .w = c->workload, .p = c->platform };
  rates_in (&q, round);
  q.n = q.w->units;
  q.cpu_work = q.gpu_work = q.n * q.w->work;
  q.density = q.w->work / q.w->elements;
  q.smallest = 1;
  if (costs->cpu && q.w->sizes)
    q.smallest = smallest (costs, q.w->units) / q.w->work;
  else if (costs->cpu)
    sort_units (&q, costs);
  q.use_cpu = q.p->has_cpu;
  q.use_gpu = G_MAXUINT;
  double best = solve (&q, costs);
  if (q.w->merge_ns > 0)
    {
      best += q.w->merge_ns;
      for (guint g = 0; g < q.p->n_gpus; g++)
        if (q.gpu_rate[g] > 0)
          {
            q.use_cpu = FALSE;
            q.use_gpu = g;
            best = MIN (best, solve (&q, costs));
          }
      q.use_cpu = q.p->has_cpu;
      q.use_gpu = SIM_MOST_GPUS;
      if (q.use_cpu)
        best = MIN (best, solve (&q, costs));
    }
  g_free (q.cheap);
  g_free (q.relief_cpu);
  g_free (q.relief_gpu);
  return best;
}

/* Rounds with the same costs and rates have the same bound. */
static gboolean
changes_at (const SimCase *c, guint round)
{
  for (guint i = 0; i < c->n_events; i++)
    if (c->events[i].at_ns == 0 && c->events[i].round > round - 1.0
        && c->events[i].round <= round)
      return TRUE;
  return FALSE;
}

void
sim_bounds (SimCase *c)
{
  guint since = 0;
  c->bound_ns = g_new0 (double, MAX (c->rounds, 1));
  for (guint r = 0; r < c->rounds; r++)
    {
      if (changes_at (c, r))
        since = r;
      c->bound_ns[r] = r >= since + c->period ? c->bound_ns[r - c->period]
                                              : bound_of_round (c, r);
    }
}
