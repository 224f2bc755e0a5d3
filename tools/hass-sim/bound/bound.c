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
      cost of an element. Where each unit is a block of a multiprocessor's, the
      rate is what blocks of the most elements reach. Copies in take one link
   latency and all bytes, then one kernel has to follow; copies out likewise.
   That the first kernels wait for the first copies, and the last copies for the
   last kernels, is bounded more closely where units are equal, see
   bundles.c. With depth 1 nothing overlaps and all of these add up.
   3. GPUs of one link share it: what they copy, entries included, fits into
      T one after another, and the k-th of them to enter begins after k
      entries. The subset that takes part is the one with the largest
      capacity, of all subsets of the link's GPUs, and of all orders of up to
      four (more of different kinds: as if each entered first). Where units are
      equal, their first kernels wait for each other's copies, see
      link.c.
   4. Who does what: equal units are counted, and so are, in parts, units
      whose sizes go with their costs. Else the CPU with capacity A
      relieves the GPUs of no more work than that of the units for which a
      GPU is slowest by comparison, and of no more units than the cheapest
      ones that fit into A. GPU work and GPU units that are left are then
      held against the GPUs' capacity for several weightings of work and
      units. Each is a relaxation, so the bound stays one.
   5. No T is shorter than the unit that is longest where it runs fastest: on
      one multiprocessor where it is a block, which in a function farm each
      unit is by its own elements.
   6. Where a merge costs, it is the least of: one device alone, or the merge
      and all devices.

   Thread safety: any thread, each with a case of its own. */
#include <math.h>
#include <stdlib.h>

#include "bound.h"

static double
cpu_room (const BoundProblem *q, double t)
{
  return q->use_cpu ? MAX (t - q->p->pull_ns, 0) * q->core_rate : 0;
}

/* The largest i with sum[i] <= most, interpolated to the next. */
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

/* Returns: whether the round may be possible within @t; TRUE is not a proof. */
static gboolean
seems_feasible (const BoundProblem *q, double t)
{
  guint32 n = q->w->units;
  double room = cpu_room (q, t) * q->p->cores;
  if (!q->cheap)
    {
      double cost = q->w->work;
      double cpu = cpu_room (q, t) / cost;
      cpu = (q->smallest == 1 ? floor (cpu + 1e-9) : cpu) * q->p->cores;
      return cpu + bound_most_of_gpus (q, &(BoundWanted){ t, cost, 0, 0 }) >= n;
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
      BoundLeast l = bound_least_of (q, g);
      if (q->gpu_rate[g] > 0 && l.depth_one && l.in_ns + l.out_ns > 0)
        slopes[n_slopes++] = (l.in_ns + l.out_ns) * l.rate;
    }
  for (guint i = 0; i < n_slopes; i++)
    {
      double a = slopes[i] < INFINITY ? 1 : 0;
      double b = a > 0 ? slopes[i] : 1;
      if (bound_most_of_gpus (q, &(BoundWanted){ t, 0, a, b })
          < (a * work + b * units) * (1 - 1e-9))
        return FALSE;
    }
  return TRUE;
}

static double
least_time (const BoundProblem *q)
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
sort_units (BoundProblem *q, const SimCosts *costs)
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

/* Bounds for units whose sizes are proportional to their costs. Loads have
   whole bytes and at least one element (run.c), so small ones deviate. */
static void
least_of_sizes (BoundProblem *q, const SimCosts *costs)
{
  const SimWorkload *w = q->w;
  for (guint32 i = 0; i < w->units; i++)
    {
      double cost = costs->cpu[i + 1] - costs->cpu[i], size = cost / w->work;
      q->smallest = MIN (q->smallest, size);
      q->density = MIN (q->density, cost / floor (MAX (w->elements * size, 1)));
      if (size <= 0)
        continue; /* below the resolution of the sums */
      q->in_bytes = MIN (q->in_bytes, floor (w->input_bytes * size) / size);
      q->out_bytes = MIN (q->out_bytes, floor (w->output_bytes * size) / size);
    }
}

/* A unit: its cost on either kind of device, its size over the mean one, its
   elements as in run.c. */
typedef struct
{
  double cpu, gpu, size;
  guint64 elements;
} Unit;

static Unit
unit_of (const BoundProblem *q, const SimCosts *costs, guint32 i)
{
  const SimWorkload *w = q->w;
  Unit u = { w->work, w->work, 1, w->elements };
  if (costs->cpu)
    u.cpu = costs->cpu[i + 1] - costs->cpu[i];
  if (costs->gpu)
    u.gpu = costs->gpu[i + 1] - costs->gpu[i];
  if (w->sizes)
    u.size = u.cpu / w->work;
  u.elements = (guint64)MAX (w->elements * u.size, 1);
  return u;
}

static gboolean
is_block (const SimWorkload *w, const Unit *u)
{
  return w->farm == HASS_FARM_INDIVISIBLE
         || (w->farm == HASS_FARM_FUNCTION && u->elements <= 1);
}

static void
look_at_elements (BoundProblem *q, const SimCosts *costs)
{
  guint32 n = q->w->sizes && costs->cpu ? q->w->units : 1, blocks = 0;
  for (guint32 i = 0; i < n; i++)
    {
      Unit u = unit_of (q, costs, i);
      q->most_elements = MAX (q->most_elements, u.elements);
      blocks += is_block (q->w, &u);
    }
  q->kernels = blocks == n   ? BOUND_BLOCKS
               : blocks == 0 ? BOUND_MERGED
                             : BOUND_EITHER;
}

/* Kernel time of a bundle with this unit, without the launch: the unit is one
   block, or as if it filled the GPU. */
static double
unit_kernel_ns (const BoundProblem *q, const Unit *u, guint g)
{
  HassGpuModel m = q->p->gpus[g];
  m.work_per_ns = q->gpu_rate[g];
  return is_block (q->w, u) ? hass_model_block_ns (&m, u->gpu, u->elements)
                            : u->gpu / m.work_per_ns;
}

/* Time of the longest unit on the device that computes it fastest. */
static double
longest (const BoundProblem *q, const SimCosts *costs)
{
  double most = 0;
  for (guint32 i = 0; i < (costs->cpu ? q->w->units : 1); i++)
    {
      Unit u = unit_of (q, costs, i);
      double best
          = q->use_cpu ? q->p->pull_ns + u.cpu / q->core_rate : INFINITY;
      for (guint g = 0; g < q->p->n_gpus; g++)
        if (q->gpu_rate[g] > 0 && (q->use_gpu == G_MAXUINT || q->use_gpu == g))
          {
            BoundLeast l = bound_least_of (q, g);
            best = MIN (best, l.in_fixed + l.launch_ns + l.out_fixed
                                  + (l.in_ns + l.out_ns) * u.size
                                  + unit_kernel_ns (q, &u, g));
          }
      if (best < INFINITY)
        most = MAX (most, best);
    }
  return most;
}

/* -- Rounds ------------------------------------------------------------- */

/* Rates in a round: an event counts from the end of its round. */
static void
rates_in (BoundProblem *q, guint round)
{
  const SimCase *c = q->c;
  guint first = q->p->has_cpu ? 1 : 0;
  q->core_rate = q->p->core_work_per_ns;
  for (guint g = 0; g < q->p->n_gpus; g++)
    q->gpu_rate[g] = q->p->gpus[g].work_per_ns;
  for (guint i = 0; i < c->n_events; i++)
    {
      const HassVirtualEvent *e = &c->events[i];
      /* The round of an event at a time is unknown here: never. */
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
solve (BoundProblem *q, const SimCosts *costs)
{
  q->longest_ns = longest (q, costs);
  return least_time (q);
}

static double
bound_of_round (const SimCase *c, guint round)
{
  const SimCosts *costs = &c->costs[round % c->period];
  BoundProblem q = { .c = c, .w = c->workload, .p = c->platform };
  rates_in (&q, round);
  q.n = q.w->units;
  q.cpu_work = q.gpu_work = q.n * q.w->work;
  q.density = q.w->work / q.w->elements;
  q.smallest = 1;
  look_at_elements (&q, costs);
  q.in_bytes = (double)q.w->input_bytes;
  q.out_bytes = (double)q.w->output_bytes;
  if (costs->cpu && q.w->sizes)
    least_of_sizes (&q, costs);
  else if (costs->cpu)
    sort_units (&q, costs);
  for (guint g = 0; g < q.p->n_gpus && !q.cheap; g++)
    if (q.gpu_rate[g] > 0)
      {
        BoundLeast l = bound_least_of (&q, g);
        BoundBundle b = bound_bundle_of (&l, q.w->work);
        q.lines[g] = bound_lines_of_gpu (&b);
      }
  q.link_lines
      = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_array_unref);
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
  for (guint g = 0; g < q.p->n_gpus; g++)
    g_clear_pointer (&q.lines[g], g_array_unref);
  g_hash_table_unref (q.link_lines);
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
