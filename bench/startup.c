/* SPDX-License-Identifier: MIT */
/* startup.c: from the begin of a fresh process to its first result.

   DESIGN. The program starts itself with a peer's name; the child runs one
   load and prints when it was computed: since main, and on the clock, which
   all processes share. For hass that is when the collector got the result.

   Thread safety: one thread. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program;
static gint64 first_ns;

static void
note (const HassLoad *load)
{
  (void)load;
  first_ns = bench_now_ns ();
}

static void
note_result (guint64 seq)
{
  (void)seq;
  first_ns = bench_now_ns ();
}

static int
child (const char *name, gint64 begin)
{
  HassLoad load = { .size = 1 };
  for (const BenchPeer *const *p = bench_peers; *p; p++)
    if (strcmp ((*p)->name, name) == 0)
      {
        if ((*p)->begin)
          (*p)->begin ();
        if (*p == &bench_hass)
          (*p)->ordered (&load, 1, bench_nothing, note_result);
        else if ((*p)->known)
          (*p)->known (&load, 1, note);
        else
          (*p)->emitted (&load, 1, note);
        printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n", first_ns - begin,
                first_ns);
        fflush (stdout);
        _Exit (0);
      }
  return 1;
}

/* Starts a child; ms since its main or since it was started. */
static double
start (const char *name, gboolean since_main)
{
  char *argv[] = { (char *)program, (char *)"--child", (char *)name, NULL };
  g_autofree char *out = NULL;
  gint64 in_main = 0, at = 0;
  gint64 begin = bench_now_ns ();
  if (!g_spawn_sync (NULL, argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
                     &out, NULL, NULL, NULL)
      || sscanf (out, "%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, &in_main, &at)
             != 2)
    {
      fprintf (stderr, "%s: the child failed\n", name);
      exit (1);
    }
  return (since_main ? in_main : at - begin) * 1e-6;
}

static double
since_main (gconstpointer name)
{
  return start (name, TRUE);
}

static double
since_start (gconstpointer name)
{
  return start (name, FALSE);
}

int
main (int argc, char **argv)
{
  gint64 begin = bench_now_ns ();
  if (argc == 3 && strcmp (argv[1], "--child") == 0)
    return child (argv[2], begin);
  program = argv[0];
  printf ("\n== Start-up\n");
  bench_print_missing ();
  BenchGroup *group = bench_group_new (
      BENCH_LESS_IS_BETTER, "ms",
      "g. from main to the first result, in a fresh process");
  for (const BenchPeer *const *p = bench_peers; *p; p++)
    if (*p != &bench_tbb_pipeline && *p != &bench_tbb_group)
      bench_group_add (group, *p == &bench_hass ? 2 : 0, since_main, (*p)->name,
                       "%s", (*p)->name);
  bench_group_add (group, 0, since_start, bench_hass.name,
                   "hass, with fork, exec and the loader");
  bench_group_add (group, 0, since_start, bench_threads.name, "%s, likewise",
                   bench_threads.name);
  bench_group_run (group, bench_rounds (20));
  return 0;
}
