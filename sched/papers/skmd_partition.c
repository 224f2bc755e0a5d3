/* SPDX-License-Identifier: MIT */
/* skmd_partition.c: SKMD's partitioning with a decision tree: the root has all
   units on the fastest device, and each step offloads some of them.

   Lee et al. 2015, section 3.4, Algorithm 1. O(steps * devices) estimates of
   all devices.

   Interpretation, by the lines of the listing:
   - Lines 3 and 30: PrevExeTime is never updated there, so the search would end
     only when a child is slower than one device alone. Here it is the time of
     the parent node, as the text has it.
   - Lines 8 and 17: the minimum number of units whose removal shortens the base
     device by more than the merge, required of every device that has no units
     yet. The text requires it for "the first time" as well.
   - Line 14 TrialCnt and line 38 OffloadingTrial are the same variable.
   - Line 15: Diff starts at MAX_VALUE while line 37 takes the greatest, so a
     device that is no candidate would win. Here it starts below all.
   - Line 16: a trial from the base device to itself is skipped.
   - Line 29: the text says maximum, plus the merge cost if more than one device
     participates.
   - Line 32 and "the most time difference between offloaded device and
     offloading device" agree; the later "overall time in the parent" gives the
     same order unless trials differ in size. The listing is followed.
   - Steps: section 3.4 says 2,048, section 4 was measured with 1,024.

   Thread safety: reentrant. */
#include "skmd-private.h"

#include <math.h>

#define MOST_TOLERATED 10

typedef struct
{
  guint n;
  HassSkmdTimesFunc times;
  gpointer user_data;
  double merge_ns;
  guint64 *partition;
  double *times_ns;
} Tree;

/* Time of the node: that of the last device, and the merge if several
   participate. */
static double
estimate (Tree *t)
{
  double last = 0;
  guint n_used = 0;
  t->times (t->partition, t->times_ns, t->user_data);
  for (guint d = 0; d < t->n; d++)
    {
      last = MAX (last, t->times_ns[d]);
      n_used += t->partition[d] > 0;
    }
  return last + (n_used > 1 ? t->merge_ns : 0);
}

static double
alone_ns (Tree *t, guint device, guint64 units)
{
  for (guint d = 0; d < t->n; d++)
    t->partition[d] = d == device ? units : 0;
  t->times (t->partition, t->times_ns, t->user_data);
  return t->times_ns[device];
}

/* Cnt_OffsetsMergeCost: the minimum number of units whose removal pays for the
   merge; more than @units if there is none. */
static guint64
offsets_merge (Tree *t, guint base, guint64 units)
{
  double all_ns = alone_ns (t, base, units);
  guint64 lo = 1, hi = units + 1;
  while (lo < hi)
    {
      guint64 middle = lo + (hi - lo) / 2;
      if (all_ns - alone_ns (t, base, units - middle) > t->merge_ns)
        hi = middle;
      else
        lo = middle + 1;
    }
  return lo;
}

/* Lines 14 to 45. Returns: whether a child was faster than its parent. */
static gboolean
descend (Tree *t, guint base, guint64 granularity, guint64 first_count,
         guint tolerated, double *time_ns)
{
  double most = -INFINITY, best_ns = 0;
  guint64 count = 0;
  guint best = base;
  for (guint i = 0; i < t->n; i++)
    {
      guint64 trial = t->partition[i] == 0 ? first_count : granularity;
      if (i == base || trial > t->partition[base] >> tolerated)
        continue;
      trial <<= tolerated;
      t->partition[base] -= trial;
      t->partition[i] += trial;
      double ns = estimate (t);
      double diff = t->times_ns[base] - t->times_ns[i];
      if (ns < *time_ns && diff > most)
        {
          most = diff;
          best = i;
          best_ns = ns;
          count = trial;
        }
      t->partition[base] += trial;
      t->partition[i] -= trial;
    }
  if (count == 0)
    return FALSE;
  t->partition[best] += count;
  t->partition[base] -= count;
  *time_ns = best_ns;
  return TRUE;
}

/* Algorithm 1.
   @steps: steps of the tree: units / steps units are offloaded at a time,
     rounded up.
   @merge_ns: 0 for a contiguous kernel.
   Without a usable device the partition is 0 for all. */
void
hass_skmd_partition (guint n, guint64 units, guint64 steps, double merge_ns,
                     HassSkmdTimesFunc times, gpointer user_data,
                     guint64 *partition)
{
  Tree t = { n, times, user_data, merge_ns, partition, g_new0 (double, n + 1) };
  guint64 granularity = (units + steps - 1) / steps;
  double time_ns = INFINITY;
  guint base = n;
  for (guint d = 0; d < n; d++)
    {
      double ns = alone_ns (&t, d, units);
      if (ns < time_ns)
        {
          time_ns = ns;
          base = d;
        }
    }
  guint64 first_count = granularity;
  if (base < n && merge_ns > 0)
    first_count = MAX (offsets_merge (&t, base, units), granularity);
  for (guint d = 0; d < n; d++)
    partition[d] = d == base ? units : 0;
  for (guint tolerated = 0; base < n && tolerated < MOST_TOLERATED;)
    if (descend (&t, base, granularity, first_count, tolerated, &time_ns))
      tolerated = 0;
    else
      tolerated++;
  g_free (t.times_ns);
}
