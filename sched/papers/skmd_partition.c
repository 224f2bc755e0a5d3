/* SPDX-License-Identifier: MIT */
/* skmd_partition.c: SKMD's partitioning, down a decision tree: all units on
   the fastest device, from which some are offloaded at a time.

   Lee et al. 2015, section 3.4, Algorithm 1. O(steps * devices) estimates of
   all devices.

   Read so, by the line of the listing:
   - Lines 3 and 30: PrevExeTime is never updated there, so that the tree
     would be left only when a child is slower than one device alone. It is
     the parent node's time, as the text has it.
   - Lines 8 and 17: the fewest units whose leaving the base device shortens
     it by more than the merge, asked of every device that has none yet. The
     text asks it of "the first time" too.
   - Line 14 TrialCnt and line 38 OffloadingTrial are one and the same.
   - Line 15: Diff starts at MAX_VALUE and line 37 takes the greatest, so who
     is no candidate would win. It starts below all.
   - Line 16: a trial from the base device to itself is skipped.
   - Line 29: the text says maximum, and adds the merge cost where more than
     one device takes part.
   - Line 32 and "the most time difference between offloaded device and
     offloading device" agree; the later "overall time in the parent" is
     the same order but where trials differ in size. The listing is kept.
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

/* The time of the node: the last device, and the merge where several took
   part. */
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

/* Cnt_OffsetsMergeCost: the fewest units whose leaving makes up for the
   merge; more than all where none do. */
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

/* Lines 14 to 45. Returns whether a child was better than its parent. */
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

/* steps: of the tree, so units / steps are offloaded at a time, rounded up.
   merge_ns: 0 for a contiguous kernel. With no device that can be used the
   partition is all 0. */
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
