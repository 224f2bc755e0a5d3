/* SPDX-License-Identifier: MIT */
/* blocks.c: see blocks-private.h.
   Thread safety: as hass/strategy.h. */
#include "blocks-private.h"

/* When a GPU computes sorted loads, its multiprocessors end, on average, this
   fraction of the difference between the largest and the smallest load apart:
   1/2 for many loads each, and more for few. A guess: too little makes large
   loads look slow. */
#define TAIL 0.6
/* Weight of the sums so far when a bundle is added. A guess: more follows a
   change later, less forgets how bundles of other loads were. */
#define MEMORY 0.98
/* Bundles whose mean loads hardly differ do not tell c from s: the determinant
   of the normal equations has to exceed this fraction of the product of their
   diagonal. A guess: less follows noise. */
#define TELLING 1e-3

void
hass_auto_blocks_init (HassAutoBlocks *b, const HassEstimates *e)
{
  *b = (HassAutoBlocks){ e, g_new0 (HassAutoBlockLine, MAX (e->u->n, 1)) };
}

void
hass_auto_blocks_clear (HassAutoBlocks *b)
{
  g_free (b->of);
}

/* Returns the number of loads and, in *work, the work whose times add up to
   that of all multiprocessors: each takes the next load when it has done its
   own, they end apart, and all wait for the largest load. */
static double
counted (const HassAutoBlocks *b, const HassRound *round, guint device,
         guint64 first, guint64 n, double *work)
{
  guint m = MAX (b->e->u->devices[device].cores, 1);
  double most = hass_round_work (round, first + n - 1, 1);
  double spread = most - hass_round_work (round, first, 1);
  *work = m * most;
  if (n > m)
    *work = MAX (hass_round_work (round, first, n) + TAIL * m * spread, *work);
  return MAX (n, m);
}

/* Returns the time of a bundle without its launch, in ns: of its longest stage
   where stages of bundles overlap. */
static double
stages_ns (const HassAutoBlocks *b, const HassCompletion *done, double copy_ns)
{
  double latency_ns = b->e->u->devices[done->device].latency_ns;
  double kernel_ns = done->kernel_ns - MIN (latency_ns, done->kernel_ns / 2);
  double in_ns = MAX (done->h2d_ns - copy_ns, 0), out_ns = done->d2h_ns;
  return hass_estimates_overlaps (b->e, done->device)
             ? MAX (kernel_ns, MAX (in_ns, out_ns))
             : in_ns + kernel_ns + out_ns;
}

void
hass_auto_blocks_observe (HassAutoBlocks *b, const HassRound *round,
                          const HassCompletion *done, const HassBundle *bundle,
                          double copy_ns)
{
  HassAutoBlockLine *l = &b->of[done->device];
  double ns = stages_ns (b, done, copy_ns), work;
  double loads
      = counted (b, round, done->device, bundle->first, bundle->n, &work);
  if (!(ns > 0))
    return;
  loads /= ns;
  work /= ns;
  l->nn = MEMORY * l->nn + loads * loads;
  l->nw = MEMORY * l->nw + loads * work;
  l->ww = MEMORY * l->ww + work * work;
  l->nt = MEMORY * l->nt + loads;
  l->wt = MEMORY * l->wt + work;
  double det = l->nn * l->ww - l->nw * l->nw;
  if (det <= TELLING * l->nn * l->ww)
    return;
  l->fixed_ns = MAX (l->nt * l->ww - l->wt * l->nw, 0) / det;
  l->ns_per_work = MAX (l->wt * l->nn - l->nt * l->nw, 0) / det;
}

gboolean
hass_auto_blocks_told (const HassAutoBlocks *b, guint device)
{
  return b->of[device].fixed_ns > 0 || b->of[device].ns_per_work > 0;
}

/* Returns the fraction of the time of a load of mean size that does not depend
   on its size, 0 to 1; 0: not known. */
static double
flat_part (const HassAutoBlocks *b, guint device)
{
  const HassAutoBlockLine *l = &b->of[device];
  double sized_ns = l->ns_per_work * b->e->u->work;
  return l->fixed_ns > 0 ? l->fixed_ns / (l->fixed_ns + sized_ns) : 0;
}

double
hass_auto_blocks_work (const HassAutoBlocks *b, const HassRound *round,
                       guint device, guint64 first, guint64 n)
{
  double flat = flat_part (b, device);
  double work, loads = counted (b, round, device, first, n, &work);
  return flat * loads * b->e->u->work + (1 - flat) * work;
}

double
hass_auto_blocks_load (const HassAutoBlocks *b, guint device, double work)
{
  double flat = flat_part (b, device);
  return flat * b->e->u->work + (1 - flat) * work;
}
