/* SPDX-License-Identifier: MIT */
/* search.c: searches the best static division by trial.

   DESIGN. The time of a static division falls with the CPU's part while the
   GPUs finish last, and rises from there on.
   1. The CPU's part rises from 0 in coarse steps, until a run takes long and
      1.5 times the best so far: larger parts only take longer, up to a minute
      with a CPU a hundred times slower than the GPUs. Short runs vary by more
      than that, so for them all steps are tried.
   2. The neighbours of the best are tried at ever smaller distances, and
      theirs while they are better.
   3. The best few are returned, and meet the strategies in the same rounds.
   GPUs get equal parts of the remainder.

   Thread safety: one thread. */
#include "apps.h"

#define WHOLE 1000
#define TOO_SLOW 1.5
#define LONG_MS 100

static const guint coarse[] = { 0, 50, 100, 150, 200, 300, 400, 600, 1000 };
static const guint finer[] = { 50, 20, 10, 5 };

char *
apps_static_spec (guint part)
{
  return g_strdup_printf ("static:cpu=%u.%03u", part / WHOLE, part % WHOLE);
}

static gint
by_part (gconstpointer a, gconstpointer b)
{
  guint x = ((const AppsStatic *)a)->part, y = ((const AppsStatic *)b)->part;
  return (x > y) - (x < y);
}

static AppsStatic *
tried (const AppsSearch *s, guint i)
{
  return &g_array_index (s->tried, AppsStatic, i);
}

static const AppsStatic *
best_of (const AppsSearch *s)
{
  const AppsStatic *best = tried (s, 0);
  for (guint i = 1; i < s->tried->len; i++)
    if (tried (s, i)->ms < best->ms)
      best = tried (s, i);
  return best;
}

static gboolean
was_tried (const AppsSearch *s, guint part)
{
  for (guint i = 0; i < s->tried->len; i++)
    if (tried (s, i)->part == part)
      return TRUE;
  return FALSE;
}

/* The least of @runs. */
static double
time_of (const AppsSubject *subject, guint part, guint runs)
{
  g_autofree char *spec = apps_static_spec (part);
  double least = G_MAXDOUBLE;
  for (guint i = 0; i < runs; i++)
    {
      g_autofree char *why = NULL;
      AppsRun run;
      if (!apps_run (subject, spec, &run, &why))
        apps_fail ("%s under %s: %s", subject->program->name, spec, why);
      least = MIN (least, run.ms);
    }
  return least;
}

static double
try_part (AppsSearch *s, const AppsSubject *subject, guint part, guint runs)
{
  AppsStatic one = { part, time_of (subject, part, runs) };
  g_array_append_val (s->tried, one);
  return one.ms;
}

/* 2. One distance. Returns: FALSE if the time is up. */
static gboolean
refine (AppsSearch *s, const AppsSubject *subject, guint distance, guint runs,
        gint64 until_ns)
{
  for (;;)
    {
      guint best = best_of (s)->part, n = 0;
      guint beside[] = { best >= distance ? best - distance : 0,
                         MIN (best + distance, WHOLE) };
      for (guint i = 0; i < G_N_ELEMENTS (beside); i++)
        {
          if (was_tried (s, beside[i]))
            continue;
          if (bench_now_ns () > until_ns)
            return FALSE;
          try_part (s, subject, beside[i], runs);
          n++;
        }
      if (n == 0 || best_of (s)->part == best)
        return TRUE;
    }
}

/* 3. */
static void
choose_finalists (AppsSearch *s)
{
  for (s->n_best = 0; s->n_best < MIN (APPS_FINALISTS, s->tried->len);
       s->n_best++)
    {
      const AppsStatic *best = NULL;
      for (guint i = 0; i < s->tried->len; i++)
        {
          gboolean taken = FALSE;
          for (guint k = 0; k < s->n_best; k++)
            taken |= s->best[k] == tried (s, i)->part;
          if (!taken && (!best || tried (s, i)->ms < best->ms))
            best = tried (s, i);
        }
      s->best[s->n_best] = best->part;
    }
}

AppsSearch *
apps_search (const AppsSubject *subject, gboolean quick, gint64 until_ns)
{
  AppsSearch *s = g_new0 (AppsSearch, 1);
  guint runs = quick || subject->machine->platform ? 1 : 2;
  s->tried = g_array_new (FALSE, FALSE, sizeof (AppsStatic));
  if (subject->machine->n_gpus == 0)
    try_part (s, subject, WHOLE, runs);
  else
    {
      gboolean in_time = TRUE;
      time_of (subject, coarse[1], 1); /* opens the GPUs */
      for (guint i = 0; i < G_N_ELEMENTS (coarse); i++)
        {
          double ms = try_part (s, subject, coarse[i], runs);
          if (ms > MAX (LONG_MS, TOO_SLOW * best_of (s)->ms))
            break;
        }
      for (guint i = 0; i < G_N_ELEMENTS (finer) && in_time; i++)
        {
          in_time = refine (s, subject, finer[i], runs, until_ns);
          s->finest = finer[i];
        }
      s->cut_short = !in_time;
    }
  g_array_sort (s->tried, by_part);
  choose_finalists (s);
  return s;
}

void
apps_search_free (AppsSearch *s)
{
  g_array_unref (s->tried);
  g_free (s);
}
