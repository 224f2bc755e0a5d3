/* SPDX-License-Identifier: MIT */
/* case.c: compares strategies with the best static divisions.

   DESIGN.
   1. Each runs once. A strategy that refuses the farm is listed as such. One
      that takes three times as long as the best, twice in a row, is too slow
      for the rest, unless it is the best of those that auto is compared with.
   2. The others meet in a contest: in each round each runs once, with another
      one first; medians, and ratios within a round.
   3. The best static division is the one with the best median of those that
      the search returned. So chance in the search does not count, and chance in
      the contest favours the static divisions.

   Thread safety: one thread. */
#include "apps.h"

#include <errno.h>
#include <hass/profile.h>
#include <math.h>
#include <string.h>

#define TOO_SLOW 3.0
#define LEAST_ROUNDS 3

typedef struct
{
  const AppsSubject *subject;
  char *name, *spec;
  gboolean is_static;
  double first_ms; /* NAN: refused */
  char *out;       /* why it is excluded from the contest, or NULL */
  GArray *gpu_parts;
  guint row; /* of the contest */
} Entry;

static void
entry_clear (gpointer data)
{
  Entry *e = data;
  g_free (e->name);
  g_free (e->spec);
  g_free (e->out);
  g_array_unref (e->gpu_parts);
}

static Entry *
entry (const GArray *entries, guint i)
{
  return &g_array_index (entries, Entry, i);
}

static void
add_entry (GArray *entries, const AppsSubject *subject, char *name, char *spec,
           gboolean is_static)
{
  Entry e = { .subject = subject,
              .name = name,
              .spec = spec,
              .is_static = is_static,
              .first_ms = NAN,
              .gpu_parts = g_array_new (FALSE, FALSE, sizeof (double)) };
  g_array_append_val (entries, e);
}

static GArray *
make_entries (const AppsSubject *subject, char **strategies,
              const AppsSearch *search)
{
  GArray *entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  g_array_set_clear_func (entries, entry_clear);
  for (guint i = 0; strategies[i]; i++)
    {
      g_autofree char *name
          = g_strndup (strategies[i], strcspn (strategies[i], ":"));
      add_entry (entries, subject, g_strdup (strategies[i]),
                 g_strdup (strategies[i]), strcmp (name, "static") == 0);
    }
  for (guint i = 0; i < search->n_best; i++)
    add_entry (entries, subject,
               g_strdup_printf ("static, %.1f %% CPU", search->best[i] / 10.0),
               apps_static_spec (search->best[i]), TRUE);
  return entries;
}

/* -- 1. Participants ---------------------------------------------------- */

static double
run_once (Entry *e)
{
  g_autofree char *name = g_strndup (e->spec, strcspn (e->spec, ":"));
  const HassStrategyOps *ops = hass_strategy_find (name, NULL);
  AppsRun run = { NAN, NAN };
  if (ops && !(ops->farms & HASS_FARM_PARTITION))
    e->out = g_strdup ("does not serve farms of this kind");
  else
    apps_run (e->subject, e->spec, &run, &e->out);
  return run.ms;
}

static gboolean
is_other (const Entry *e)
{
  return !e->is_static && strcmp (e->spec, "auto") != 0;
}

/* The best of all but auto and static divisions, or NULL. */
static const Entry *
best_other_once (const GArray *entries)
{
  const Entry *best = NULL;
  for (guint i = 0; i < entries->len; i++)
    {
      const Entry *e = entry (entries, i);
      if (is_other (e) && !isnan (e->first_ms)
          && (!best || e->first_ms < best->first_ms))
        best = e;
    }
  return best;
}

static void
sort_out (GArray *entries)
{
  double best = G_MAXDOUBLE;
  for (guint i = 0; i < entries->len; i++)
    {
      Entry *e = entry (entries, i);
      e->first_ms = run_once (e);
      if (e->first_ms < best)
        best = e->first_ms;
    }
  const Entry *other = best_other_once (entries);
  for (guint i = 0; i < entries->len; i++)
    {
      Entry *e = entry (entries, i);
      if (!is_other (e) || e == other || !(e->first_ms > TOO_SLOW * best))
        continue;
      double again = e->first_ms > TOO_SLOW * TOO_SLOW * best ? e->first_ms
                                                              : run_once (e);
      e->first_ms = MIN (again, e->first_ms);
      if (e->first_ms > TOO_SLOW * best)
        e->out = g_strdup_printf ("%.3f ms, %.1f times the best's: dropped",
                                  e->first_ms, e->first_ms / best);
    }
}

/* -- 2. The contest ----------------------------------------------------- */

static double
measure (gconstpointer arg)
{
  const Entry *e = arg;
  g_autofree char *why = NULL;
  AppsRun run;
  if (!apps_run (e->subject, e->spec, &run, &why))
    apps_fail ("%s under %s: %s", e->subject->program->name, e->spec, why);
  g_array_append_val (e->gpu_parts, run.gpu_part);
  return run.ms;
}

/* Number of rounds that the time allows, after one for the warm-up. */
static guint
affordable (const AppsCase *how, gint64 round_ns)
{
  double rounds
      = (double)(how->until_ns - bench_now_ns ()) / MAX (round_ns, 1) - 1;
  guint least = MIN (LEAST_ROUNDS, how->repeat);
  return rounds > how->repeat ? how->repeat
                              : MAX (least, (guint)MAX (rounds, 0));
}

/* -- 3. What came out --------------------------------------------------- */

typedef enum
{
  AUTO,
  OTHER,
  STATIC
} Group;

/* The best of a group, or NULL. */
static const Entry *
best_of (const GArray *entries, const Contest *contest, Group group)
{
  const Entry *best = NULL;
  for (guint i = 0; i < entries->len; i++)
    {
      const Entry *e = entry (entries, i);
      Group its = e->is_static                    ? STATIC
                  : strcmp (e->spec, "auto") == 0 ? AUTO
                                                  : OTHER;
      if (!e->out && its == group
          && (!best
              || contest_median (contest, e->row)
                     < contest_median (contest, best->row)))
        best = e;
    }
  return best;
}

/* Speed of @of in percent of that of @than. */
static double
speed (const Contest *contest, const Entry *of, const Entry *than)
{
  return of && than ? 100 * contest_ratio (contest, than->row, of->row) : NAN;
}

static void
append_percent (GString *out, double percent)
{
  if (isnan (percent))
    g_string_append (out, " - |");
  else
    g_string_append_printf (out, " %.1f %% |", percent);
}

static void
write_table (GString *out, const GArray *entries, const Contest *contest,
             const Entry *best_static, const Entry *best_other)
{
  g_string_append (out, "| strategy | median [ms] | least [ms] | speed / best "
                        "static | speed / best other | part of the GPUs |\n"
                        "|:--|--:|--:|--:|--:|--:|\n");
  for (guint i = 0; i < entries->len; i++)
    {
      const Entry *e = entry (entries, i);
      if (e->out)
        continue;
      g_string_append_printf (out, "| %s | %.3f | %.3f |", e->name,
                              contest_median (contest, e->row),
                              contest_best (contest, e->row));
      append_percent (out, speed (contest, e, best_static));
      append_percent (out, speed (contest, e, best_other));
      append_percent (out,
                      100
                          * median_of ((double *)(gpointer)e->gpu_parts->data,
                                       e->gpu_parts->len));
      g_string_append_c (out, '\n');
    }
  g_string_append_c (out, '\n');
  for (guint i = 0; i < entries->len; i++)
    if (entry (entries, i)->out)
      g_string_append_printf (out, "- %s: %s.\n", entry (entries, i)->name,
                              entry (entries, i)->out);
}

/* Number of devices with rates for this farm in the store. */
static guint
n_remembered (const char *farm)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *key
      = g_strconcat (program_invocation_short_name, "/", farm, NULL);
  GPtrArray *all = hass_profile_list (&error);
  guint n = 0;
  if (!all)
    apps_fail ("the store of rates: %s", error->message);
  for (guint i = 0; i < all->len; i++)
    n += strcmp (((const HassProfileEntry *)all->pdata[i])->farm, key) == 0;
  g_ptr_array_unref (all);
  return n;
}

static void
write_head (GString *out, const AppsCase *how, guint n_known, guint rounds,
            guint n_runs)
{
  if (how->warm && n_known == 0)
    g_string_append (out, "Warm: by what the process remembers of short runs");
  else if (how->warm)
    g_string_append_printf (out,
                            "Warm: %u device%s with rates from earlier runs",
                            n_known, n_known == 1 ? "" : "s");
  else
    g_string_append (out, "Cold: no rates from earlier runs");
  g_string_append_printf (
      out, "; %u round%s of %u%s:\n\n", rounds, rounds > 1 ? "s" : "", n_runs,
      rounds < how->repeat ? ", fewer than asked for, as time was short" : "");
}

AppsVerdict
apps_case (const AppsSubject *subject, const AppsCase *how,
           const AppsSearch *search, GString *markdown)
{
  g_autoptr (GArray) entries = make_entries (subject, how->strategies, search);
  Contest *contest
      = contest_new (BENCH_LESS_IS_BETTER, "ms", "%s", subject->program->name);
  double round_ms = 0;
  gint64 begin = bench_now_ns ();
  guint n_runs = 0;
  sort_out (entries);
  double wall_ms = (bench_now_ns () - begin) * 1e-6, all_ms = 0;
  for (guint i = 0; i < entries->len; i++)
    {
      Entry *e = entry (entries, i);
      all_ms += isnan (e->first_ms) ? 0 : e->first_ms;
      if (e->out)
        continue;
      n_runs++;
      round_ms += e->first_ms;
      e->row = contest_add (contest, measure, e, "%s", e->name);
    }
  /* Time around the makespans is attributed in proportion. */
  guint rounds = affordable (
      how, (gint64)(1e6 * round_ms * wall_ms / MAX (all_ms, 1e-9)));
  guint n_known = n_remembered (subject->program->farm);
  contest_run (contest, rounds, FALSE);
  const Entry *best_static = best_of (entries, contest, STATIC);
  const Entry *best_other = best_of (entries, contest, OTHER);
  const Entry *ours = best_of (entries, contest, AUTO);
  write_head (markdown, how, n_known, rounds, n_runs);
  write_table (markdown, entries, contest, best_static, best_other);
  AppsVerdict verdict = { speed (contest, ours, best_static),
                          speed (contest, ours, best_other) };
  g_string_append_printf (markdown, "- Best static division: %s",
                          best_static ? best_static->name : "none");
  g_string_append_printf (markdown, "; best other strategy: %s.\n\n",
                          best_other ? best_other->name : "none");
  contest_free (contest);
  return verdict;
}
