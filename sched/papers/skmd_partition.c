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

/* State of the walk down the decision tree. A node of the tree is a partition;
   a child differs from it by units that are moved from the base device to
   another one. */
typedef struct
{
  const HassSkmdTask *task;
  /* [n]: units of each device at the node that was reached */
  guint64 *partition;
  double *times_ns;    /* [n]: times of the last partition that was estimated */
  guint base;          /* the device that would compute all units first */
  guint64 granularity; /* units that are moved from the base at a time */
  guint64 first_count; /* units moved to a device that has none yet */
  double time_ns;      /* predicted time of the node's partition */
} Tree;

static void
ask_times (Tree *t)
{
  t->task->times (t->partition, t->times_ns, t->task->user_data);
}

/* Returns: the predicted time of the current partition in ns: that of the
   device that ends last, plus the time of the merge if several devices have
   units. */
static double
estimate (Tree *t)
{
  double last = 0;
  guint n_used = 0;
  ask_times (t);
  for (guint d = 0; d < t->task->n; d++)
    {
      last = MAX (last, t->times_ns[d]);
      n_used += t->partition[d] > 0;
    }
  return last + (n_used > 1 ? t->task->merge_ns : 0);
}

static void
give_all (Tree *t, guint device, guint64 units)
{
  for (guint d = 0; d < t->task->n; d++)
    t->partition[d] = d == device ? units : 0;
}

static double
alone_ns (Tree *t, guint device, guint64 units)
{
  give_all (t, device, units);
  ask_times (t);
  return t->times_ns[device];
}

/* Returns: the device that would finish first if it computed all units alone,
   n if no device can be used. Sets t->time_ns to its time. */
static guint
fastest_alone (Tree *t)
{
  guint fastest = t->task->n;
  t->time_ns = INFINITY;
  for (guint d = 0; d < t->task->n; d++)
    {
      double ns = alone_ns (t, d, t->task->units);
      if (ns < t->time_ns)
        {
          t->time_ns = ns;
          fastest = d;
        }
    }
  return fastest;
}

/* Returns: the minimum number of units whose removal from the base device
   saves more time than the merge of results costs (Cnt_OffsetsMergeCost of
   Algorithm 1); more than all units if there is no such number. */
static guint64
offsets_merge (Tree *t)
{
  guint64 units = t->task->units;
  double all_ns = alone_ns (t, t->base, units);
  guint64 lo = 1, hi = units + 1;
  while (lo < hi)
    {
      guint64 middle = lo + (hi - lo) / 2;
      if (all_ns - alone_ns (t, t->base, units - middle) > t->task->merge_ns)
        hi = middle;
      else
        lo = middle + 1;
    }
  return lo;
}

/* Tries to move units from the base device to each other device and goes to
   the best of these children (lines 14 to 45 of Algorithm 1). With @tolerated
   above 0 each trial moves 2^@tolerated times as many units, to step over a
   local minimum. Returns: whether a child was better than its parent; it is
   the current node then. */
static gboolean
descend (Tree *t, guint tolerated)
{
  double most = -INFINITY, best_ns = 0;
  guint64 count = 0, *base = &t->partition[t->base];
  guint best = t->base;
  for (guint i = 0; i < t->task->n; i++)
    {
      guint64 trial = t->partition[i] == 0 ? t->first_count : t->granularity;
      if (i == t->base || trial > *base >> tolerated)
        continue;
      trial <<= tolerated;
      *base -= trial;
      t->partition[i] += trial;
      double ns = estimate (t);
      double diff = t->times_ns[t->base] - t->times_ns[i];
      if (ns < t->time_ns && diff > most)
        {
          most = diff;
          best = i;
          best_ns = ns;
          count = trial;
        }
      *base += trial;
      t->partition[i] -= trial;
    }
  if (count == 0)
    return FALSE;
  t->partition[best] += count;
  *base -= count;
  t->time_ns = best_ns;
  return TRUE;
}

void
hass_skmd_partition (const HassSkmdTask *task, guint64 *partition)
{
  g_autofree double *times_ns = g_new0 (double, task->n + 1);
  Tree t = { .task = task, .partition = partition, .times_ns = times_ns };
  guint64 granularity = (task->units + task->steps - 1) / task->steps;
  t.base = fastest_alone (&t);
  t.granularity = t.first_count = granularity;
  if (t.base < task->n && task->merge_ns > 0)
    t.first_count = MAX (offsets_merge (&t), granularity);
  give_all (&t, t.base, task->units);
  for (guint tolerated = 0; t.base < task->n && tolerated < MOST_TOLERATED;)
    tolerated = descend (&t, tolerated) ? 0 : tolerated + 1;
}
