/* SPDX-License-Identifier: MIT */
/* bench.c: interleaved rounds, medians and the table.

   DESIGN. A round measures every row of a group once, with another row first
   each time, after a probe of the cache line between the cores. It sleeps
   between two rows, so that threads of one library that spin when idle do not
   disturb the next. /proc/stat and getrusage show what other processes used; a
   disturbed round is repeated, within limits. Then the table: medians,
   extremes, ratios to the first row, targets.

   Thread safety: see bench.h. */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef struct
{
  double target; /* 0: none */
  gint rival;    /* row it must not be worse than, or -1 */
} Target;

struct BenchGroup
{
  BenchSense sense;
  char *title, *unit;
  Contest *contest;
  GArray *targets; /* Target of each row */
};

/* -- Time and work ------------------------------------------------------ */

gint64
bench_now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

guint
bench_cores (void)
{
  cpu_set_t set;
  return sched_getaffinity (0, sizeof set, &set) == 0 ? CPU_COUNT (&set) : 1;
}

void
bench_nothing (const HassLoad *load)
{
  __asm__ volatile("" : : "r"(load->tag));
}

void
bench_busy (const HassLoad *load)
{
  bench_spin (GPOINTER_TO_SIZE (load->tag));
}

/* Returns: current time of one iteration of bench_spin on this thread, ns. */
double
bench_iteration_ns (void)
{
  enum
  {
    PIECES = 15,
    ITERATIONS = 500000
  };
  double ns[PIECES];
  for (int i = 0; i < PIECES; i++)
    {
      gint64 begin = bench_now_ns ();
      bench_spin (ITERATIONS);
      ns[i] = (double)(bench_now_ns () - begin) / ITERATIONS;
    }
  return median_of (ns, PIECES);
}

/* -- How far apart the cores are ---------------------------------------- */

#define TRIPS 20000

static _Alignas(64) _Atomic guint ball;

static void
bind_to (guint nth)
{
  cpu_set_t all, one;
  CPU_ZERO (&one);
  if (sched_getaffinity (0, sizeof all, &all) != 0)
    return;
  for (int c = 0; c < CPU_SETSIZE; c++)
    if (CPU_ISSET (c, &all) && nth-- == 0)
      {
        CPU_SET (c, &one);
        sched_setaffinity (0, sizeof one, &one);
        return;
      }
}

static gpointer
far_end (gpointer data)
{
  bind_to (1);
  (void)data;
  for (guint i = 0; i < TRIPS; i++)
    {
      while (atomic_load_explicit (&ball, memory_order_acquire) != 2 * i + 1)
        ;
      atomic_store_explicit (&ball, 2 * i + 2, memory_order_release);
    }
  return NULL;
}

static gpointer
near_end (gpointer data)
{
  enum
  {
    PIECE = TRIPS / 20
  };
  double ns[20];
  bind_to (0);
  gint64 begin = 0;
  for (guint i = 0; i < TRIPS; i++)
    {
      if (i % PIECE == 0)
        begin = bench_now_ns ();
      atomic_store_explicit (&ball, 2 * i + 1, memory_order_release);
      while (atomic_load_explicit (&ball, memory_order_acquire) != 2 * i + 2)
        ;
      if (i % PIECE == PIECE - 1)
        ns[i / PIECE] = (double)(bench_now_ns () - begin) / PIECE;
    }
  *(double *)data = median_of (ns, 20);
  return NULL;
}

/* Round trip of a cache line between the first two cores; 0 with one. */
double
bench_line_ns (void)
{
  double ns = 0;
  if (bench_cores () < 2)
    return 0;
  atomic_store (&ball, 0);
  GThread *far_thread = g_thread_new ("far", far_end, NULL);
  GThread *near_thread = g_thread_new ("near", near_end, &ns);
  g_thread_join (near_thread);
  g_thread_join (far_thread);
  return ns;
}

/* A round is disturbed if other processes took more than this part of the
   cores' time. A guess: smaller values repeat rounds for nothing, larger ones
   accept disturbed figures. */
#define DISTURBED 0.03

/* -- Groups ------------------------------------------------------------- */

BenchGroup *
bench_group_new (BenchSense sense, const char *unit, const char *title, ...)
{
  BenchGroup *group = g_new0 (BenchGroup, 1);
  va_list args;
  va_start (args, title);
  group->title = g_strdup_vprintf (title, args);
  va_end (args);
  group->sense = sense;
  group->unit = g_strdup (unit);
  group->contest = contest_new (sense, unit, "%s", group->title);
  group->targets = g_array_new (FALSE, TRUE, sizeof (Target));
  return group;
}

/* Returns the row's number. target 0: none. */
guint
bench_group_add (BenchGroup *group, double target, BenchMeasure measure,
                 gconstpointer arg, const char *name, ...)
{
  Target held = { .target = target, .rival = -1 };
  g_autofree char *full = NULL;
  va_list args;
  va_start (args, name);
  full = g_strdup_vprintf (name, args);
  va_end (args);
  g_array_append_val (group->targets, held);
  return contest_add (group->contest, measure, arg, "%s", full);
}

/* Adds a target: the row is not worse than another one. */
void
bench_group_not_worse (BenchGroup *group, guint row, guint than)
{
  g_array_index (group->targets, Target, row).rival = (gint)than;
}

static void
print_verdict (double value, double target, BenchSense sense)
{
  char text[32];
  gboolean less = sense == BENCH_LESS_IS_BETTER;
  if (target == 0)
    return;
  gboolean pass = less ? value <= target : value >= target;
  printf ("  %s %s  %s", less ? "<=" : ">=", bench_format (text, target),
          pass ? "PASS" : "MISS");
  if (!pass)
    printf (" by %.1f %%", 100 * fabs (value - target) / target);
}

static void
print_row (const BenchGroup *group, guint row)
{
  const Contest *c = group->contest;
  const Target *target = &g_array_index (group->targets, Target, row);
  char mid[32], low[32], high[32];
  double value = contest_median (c, row);
  printf ("  %-46s %9s %9s %9s %8.2f", contest_name (c, row),
          bench_format (mid, value), bench_format (low, contest_least (c, row)),
          bench_format (high, contest_most (c, row)),
          contest_ratio (c, row, 0));
  print_verdict (value, target->target, group->sense);
  if (target->rival >= 0)
    {
      guint rival = (guint)target->rival;
      double ratio = contest_ratio (c, row, rival);
      gboolean pass
          = group->sense == BENCH_LESS_IS_BETTER ? ratio <= 1 : ratio >= 1;
      printf ("  %.2f of %s  %s", ratio, contest_name (c, rival),
              pass ? "PASS" : "MISS");
    }
  printf ("\n");
}

/* Lets idle threads of other libraries go to sleep; then wakes this core. */
static void
settle (void)
{
  g_usleep (8000);
  for (gint64 end = bench_now_ns () + 500000; bench_now_ns () < end;)
    ;
}

/* Busy core time in s, of all processes and of this one with its children. */
static void
busy_s (double *everybody, double *ours)
{
  g_autofree char *text = NULL;
  guint64 t[8] = { 0 };
  struct rusage self, children;
  if (g_file_get_contents ("/proc/stat", &text, NULL, NULL))
    sscanf (text,
            "cpu %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
            " %*u %*u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT
            " %" G_GUINT64_FORMAT,
            &t[0], &t[1], &t[2], &t[3], &t[4], &t[5]);
  guint64 sum = t[0] + t[1] + t[2] + t[3] + t[4] + t[5];
  *everybody = (double)sum / sysconf (_SC_CLK_TCK);
  getrusage (RUSAGE_SELF, &self);
  getrusage (RUSAGE_CHILDREN, &children);
  *ours = self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec
          + children.ru_stime.tv_sec
          + 1e-6
                * (self.ru_utime.tv_usec + self.ru_stime.tv_usec
                   + children.ru_utime.tv_usec + children.ru_stime.tv_usec);
}

/* Measures all rows once, beginning with another one each time. Returns the
   share of the cores' time that other processes took meanwhile. */
static double
run_round (BenchGroup *group, guint round, guint turn, double *line)
{
  double all_before, ours_before, all, ours;
  busy_s (&all_before, &ours_before);
  gint64 begin = bench_now_ns ();
  line[round] = bench_line_ns ();
  contest_round (group->contest, round, turn, settle);
  double seconds = (bench_now_ns () - begin) * 1e-9;
  busy_s (&all, &ours);
  double others = (all - all_before) - (ours - ours_before);
  return others / (seconds * sysconf (_SC_NPROCESSORS_ONLN));
}

/* Returns: TRUE if BENCH_LINES, a list as "overhead:a,memory", has this
   program, or the letter that the title begins with, alone or with the program;
   or if there is no list. */
static gboolean
is_wanted (const char *title)
{
  const char *program = program_invocation_short_name;
  const char *lines = g_getenv ("BENCH_LINES");
  if (!lines || !*lines)
    return TRUE;
  g_auto (GStrv) wanted = g_strsplit (lines, ",", -1);
  g_autofree char *letter = g_strndup (title, 1);
  g_autofree char *full = g_strconcat (program, ":", letter, NULL);
  const char *const *list = (const char *const *)wanted;
  return g_strv_contains (list, program) || g_strv_contains (list, letter)
         || g_strv_contains (list, full);
}

static void
group_free (BenchGroup *group)
{
  contest_free (group->contest);
  g_array_unref (group->targets);
  g_free (group->title);
  g_free (group->unit);
  g_free (group);
}

/* Measures all rows in each round, prints and frees; only frees if BENCH_LINES
   leaves the group out. The first round warms up and does not count; a round
   that other processes disturbed is repeated, but no more than twice as many
   rounds are run. */
void
bench_group_run (BenchGroup *group, guint rounds)
{
  if (!is_wanted (group->title))
    {
      group_free (group);
      return;
    }
  guint n = contest_size (group->contest), n_disturbed = 0, n_repeated = 0;
  g_autofree double *line = g_new0 (double, rounds);
  contest_begin (group->contest, rounds);
  run_round (group, 0, 0, line);
  for (guint round = 0, turn = 1; round < rounds; turn++)
    {
      gboolean disturbed = run_round (group, round, turn, line) > DISTURBED;
      if (disturbed && n_repeated < rounds)
        n_repeated++;
      else
        round++;
      n_disturbed += disturbed;
    }
  double near = INFINITY, far = 0;
  for (guint i = 0; i < rounds; i++)
    {
      near = fmin (near, line[i]);
      far = fmax (far, line[i]);
    }
  printf ("\n%s [%s]\n", group->title, group->unit);
  printf ("  cache line round trip %.0f ns (%.0f to %.0f), %u rounds",
          median_of (line, rounds), near, far, rounds);
  if (n_disturbed > 0)
    printf (", %u repeated and %u kept though other processes disturbed",
            n_repeated, n_disturbed - n_repeated);
  printf ("\n");
  printf ("  %-46s %9s %9s %9s %8s  %s\n", "", "median", "least", "most",
          "ratio", "target");
  for (guint i = 0; i < n; i++)
    print_row (group, i);
  fflush (stdout);
  group_free (group);
}

void
bench_single (const char *name, double value, const char *unit,
              BenchSense sense, double target)
{
  char text[32];
  printf ("  %-46s %9s %-20s", name, bench_format (text, value), unit);
  print_verdict (value, target, sense);
  printf ("\n");
  fflush (stdout);
}

double
bench_setting (const char *name, double otherwise)
{
  const char *text = g_getenv (name);
  char *end = NULL;
  double value = text ? g_ascii_strtod (text, &end) : 0;
  if (!text || !*text)
    return otherwise;
  if (*end || value <= 0)
    {
      fprintf (stderr, "%s='%s' is no positive number\n", name, text);
      exit (2);
    }
  return value;
}

guint
bench_rounds (guint otherwise)
{
  return (guint)MAX (bench_setting ("BENCH_ROUNDS", otherwise), 1);
}
