/* SPDX-License-Identifier: MIT */
/* reduce.c: the accumulators (partial results of a reduction, one for each
   worker) of a farm, from the first to the last.

   DESIGN. At the farm's end worker 0 takes the accumulator of worker 1, worker
   2 takes that of worker 3 and so on; then worker 0 takes that of worker 2,
   which holds two; and so on by levels, until the user's accumulator takes that
   of worker 0. Operands stay in the order of workers, and the tree depends on
   the number of workers alone: an associative function gives the same result
   whether the pairs of a level are merged one after another or by several cores
   at once. The calling thread merges pairs itself as long as the rest of the
   level seems short by the times of the merges that it made last. An
   accumulator is cleared and freed as soon as another has taken it.

   Thread safety: making and merging by the thread that called the farm, when no
   worker uses its accumulator; freeing by any. */
#include "job-private.h"

/* If merging the remaining pairs of accumulators of a level (one step of the
   tree) would take one thread longer than this, in ns, all cores merge them.
   Measured with two cores, one of them asleep: with all cores, merges of 105 us
   took 119 us, of 168 us 131 us, of 430 us 269 us. Lower, and the calling
   thread waits for cores to wake up; higher, and they sleep while it works. */
#define LONG_NS 150000

/* Returns: an accumulator, as the user's reduce_init leaves it; NULL with an
   error if there is no memory. */
gpointer
hass_accumulator_new (HassJob *job, const HassReduction *reduction,
                      GError **error)
{
  gpointer accumulator = NULL;
  if (reduction->bytes > G_MAXSSIZE
      || posix_memalign (&accumulator, HASS_CACHE_LINE,
                         MAX (reduction->bytes, 1))
             != 0)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "%s '%s': there is no memory for an accumulator of %zu "
                   "bytes for each of %u workers",
                   hass_farm_noun (job->farm), job->farm->name,
                   reduction->bytes, job->n_workers);
      return NULL;
    }
  memset (accumulator, 0, reduction->bytes);
  if (reduction->init)
    {
      HassCallback before
          = hass_engine_enter_callback ("reduce_init", job, NULL);
      reduction->init (accumulator, reduction->user_data);
      hass_engine_leave_callback (before);
    }
  return accumulator;
}

/* Frees an accumulator, after the user's reduce_clear has freed what it owns.
   @accumulator may be NULL. */
void
hass_accumulator_free (HassJob *job, const HassReduction *reduction,
                       gpointer accumulator)
{
  if (accumulator && reduction->clear)
    {
      HassCallback before
          = hass_engine_enter_callback ("reduce_clear", job, NULL);
      reduction->clear (accumulator, reduction->user_data);
      hass_engine_leave_callback (before);
    }
  g_aligned_free (accumulator);
}

typedef struct
{
  HassJob *job;
  const HassReduction *reduction;
  gpointer *accumulators; /* [n_workers] */
  gsize step;             /* distance of the two workers of a pair */
  gsize first;            /* first pair that is not merged yet */
} Level;

/* Merges the accumulator at @from into @into, as the right operand of the
   user's reduce function, and frees it. */
static void
take (const Level *level, gpointer into, gpointer *from)
{
  HassJob *job = level->job;
  const HassReduction *r = level->reduction;
  HassCallback before
      = hass_engine_enter_callback ("reduce function", job, NULL);
  r->reduce (into, *from, r->user_data);
  hass_engine_leave_callback (before);
  hass_accumulator_free (job, r, g_steal_pointer (from));
}

static void
merge_pairs (gsize first, gsize count, gpointer data)
{
  const Level *level = data;
  for (gsize i = 0; i < count; i++)
    {
      gsize left = (level->first + first + i) * 2 * level->step;
      take (level, level->accumulators[left],
            &level->accumulators[left + level->step]);
    }
}

/* Merges the accumulators of all workers, [n_workers], level by level, and the
   result into the user's accumulator @into. Frees and clears @accumulators. */
void
hass_job_reduce (HassJob *job, const HassReduction *reduction,
                 gpointer *accumulators, gpointer into)
{
  gint64 merge_ns = 0; /* duration of one merge, as this thread measured last */
  for (gsize step = 1; step < job->n_workers; step *= 2)
    {
      Level level = { job, reduction, accumulators, step, 0 };
      gsize n_pairs = (job->n_workers - 1 + step) / (2 * step);
      gint64 begin = job->engine->now (job);
      while (level.first < n_pairs)
        {
          gsize rest = n_pairs - level.first;
          /* In virtual time the clock stands still here, merge_ns is 0, and the
             engine's only thread merges all pairs. */
          HassCpuPool *pool = rest > 1 && merge_ns * (gint64)rest > LONG_NS
                                  ? hass_cpu_pool_get (job->n_cores, NULL)
                                  : NULL;
          if (pool)
            {
              hass_cpu_pool_parallel_for (pool, rest, 1, merge_pairs, &level);
              break;
            }
          /* Merges as many pairs as it has merged so far before it looks at the
             clock again, because that takes as long as a short merge. */
          gsize n = MIN (rest, MAX (level.first, 1));
          merge_pairs (0, n, &level);
          gint64 now = job->engine->now (job);
          merge_ns = (now - begin) / (gint64)n;
          begin = now;
          level.first += n;
        }
    }
  take (&(Level){ job, reduction, accumulators, 0, 0 }, into, &accumulators[0]);
}
