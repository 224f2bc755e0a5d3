/* SPDX-License-Identifier: MIT */
/* pipeline.c: what a pipeline costs: a token and a further stage without work,
   the part of the cores' time that is work, the latency of a single token, and
   memory and core time of a pipeline that waits.

   DESIGN. Efficiency is the core time of the same calls of the work without a
   pipeline, on all cores at once, over the time that the cores have in the
   pipeline. It is measured right before and right after the pipeline. The work
   ends with a fence, since calls of short work otherwise overlap in the
   processor, but not across the library's code.

   Memory is measured in a process of its own, since the largest resident set
   is kept for the life of a process.

   Thread safety: one thread beside those of the peers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench.h"
#include "pipes.h"

static const PipePeer *const peers[] = {
  &pipe_hass,   &pipe_tbb, &pipe_tbb_graph,
#ifdef BENCH_OPENMP
  &pipe_openmp,
#endif
#ifdef BENCH_STARPU
  &pipe_starpu,
#endif
  NULL,
};

#define MAX_CASES 64

void
pipe_begin_token (PipeRun *run, gsize token)
{
  if (run->pace_us > 0)
    g_usleep (run->pace_us);
  if (run->at_source)
    run->at_source (run, token);
  if (run->emitted_ns)
    run->emitted_ns[token] = bench_now_ns ();
}

void
pipe_end_token (PipeRun *run, gsize token)
{
  if (run->latency_ns)
    run->latency_ns[token] = bench_now_ns () - run->emitted_ns[token];
  if (run->at_sink)
    run->at_sink (run, token);
}

/* Returns: ns of the whole run. */
static double
run_peer (const PipePeer *peer, PipeRun *run)
{
  gsize seen = 0;
  for (guint i = 0; i < run->n_stages; i++)
    run->stages[i].next = 0;
  gint64 begin = bench_now_ns ();
  peer->run (run);
  double ns = (double)(bench_now_ns () - begin);
  for (guint i = 0; i < run->n_stages; i++)
    seen = run->stages[i].ordered ? run->stages[i].next : seen;
  if (run->wrong > 0 || seen != run->n_tokens)
    {
      fprintf (stderr, "%s: tokens are missing or out of order\n", peer->name);
      exit (1);
    }
  return ns;
}

static gsize
tokens_of (const PipePeer *peer, gsize n)
{
  return peer->most > 0 ? MIN (peer->most, n) : n;
}

/* A pipeline by letters: p is a parallel stage, o an ordered one. */
static PipeRun
run_of (const char *stages, gsize n_tokens)
{
  PipeRun run = { .n_stages = (guint)strlen (stages), .n_tokens = n_tokens };
  for (guint i = 0; i < run.n_stages; i++)
    run.stages[i].ordered = stages[i] == 'o';
  return run;
}

/* -- Stages without work ------------------------------------------------ */

#define N_EMPTY 1000000

typedef struct
{
  const PipePeer *peer;
  const char *stages, *without; /* the latter: what is subtracted */
  guint further;                /* stages that this leaves */
} Empty;

static double
ns_a_token (const PipePeer *peer, const char *stages)
{
  PipeRun run = run_of (stages, tokens_of (peer, N_EMPTY));
  return run_peer (peer, &run) / (double)run.n_tokens;
}

static double
measure_empty (gconstpointer arg)
{
  const Empty *e = arg;
  if (e->peer->begin)
    e->peer->begin ();
  double ns = ns_a_token (e->peer, e->stages);
  if (e->without)
    ns = (ns - ns_a_token (e->peer, e->without)) / e->further;
  if (e->peer->end)
    e->peer->end ();
  return ns;
}

static void
run_empty (void)
{
  static const struct
  {
    const char *title;
    Empty empty;
    double target;
  } groups[] = {
    { "a token: generate, parallel, ordered sink",
      { NULL, "po", NULL, 1 },
      20 },
    { "each further parallel stage", { NULL, "ppppppo", "po", 5 }, 4 },
    { "each further ordered stage, between parallel ones",
      { NULL, "popopopopo", "ppppppo", 4 },
      8 },
  };
  static Empty cases[MAX_CASES];
  guint n = 0;
  for (guint g = 0; g < G_N_ELEMENTS (groups); g++)
    {
      BenchGroup *group = bench_group_new (BENCH_LESS_IS_BETTER, "ns a token",
                                           "%c. stages without work: %s",
                                           'a' + (char)g, groups[g].title);
      for (guint i = 0; peers[i]; i++)
        {
          cases[n] = groups[g].empty;
          cases[n].peer = peers[i];
          bench_group_add (group, i == 0 ? groups[g].target : 0, measure_empty,
                           &cases[n++], "%s", peers[i]->name);
        }
      bench_group_run (group, bench_rounds (11));
    }
}

/* -- Efficiency --------------------------------------------------------- */

typedef struct
{
  const PipePeer *peer;
  double work_ns;
  gboolean ordered; /* an ordered stage works as well */
} Work;

/* Work of each core in a run. Less, and on many cores waking them counts for
   more than keeping them busy. */
#define CORE_NS 20e6

static double ns_per_iteration; /* to choose iterations by */

static double
core_s (clockid_t clock)
{
  struct timespec t;
  clock_gettime (clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct
{
  const PipeRun *run;
  double core_s;
} Alone;

static gpointer
work_alone (gpointer data)
{
  Alone *alone = data;
  const PipeRun *run = alone->run;
  gsize n = run->n_tokens / bench_cores (); /* a system call */
  double before = core_s (CLOCK_THREAD_CPUTIME_ID);
  for (gsize i = 0; i < n; i++)
    for (guint k = 0; k < run->n_stages; k++)
      if (run->stages[k].iterations > 0)
        bench_fenced_spin (run->stages[k].iterations);
  alone->core_s = core_s (CLOCK_THREAD_CPUTIME_ID) - before;
  return NULL;
}

/* Returns: ns that all cores together take for the work of a run. */
static double
reference_ns (const PipeRun *run)
{
  enum
  {
    MOST = 64
  };
  GThread *threads[MOST];
  Alone alone[MOST];
  guint n = MIN (bench_cores (), MOST);
  double sum = 0;
  for (guint i = 0; i < n; i++)
    {
      alone[i].run = run;
      threads[i] = g_thread_new ("alone", work_alone, &alone[i]);
    }
  for (guint i = 0; i < n; i++)
    {
      g_thread_join (threads[i]);
      sum += alone[i].core_s;
    }
  return 1e9 * sum / n;
}

static double
efficiency (gconstpointer arg)
{
  const Work *w = arg;
  PipeRun run = run_of (
      "po",
      tokens_of (w->peer, (gsize)(CORE_NS * bench_cores () / w->work_ns)));
  run.stages[0].iterations = (gsize)(w->work_ns / ns_per_iteration);
  /* Half of what would bind all cores. */
  if (w->ordered)
    run.stages[1].iterations = run.stages[0].iterations / (2 * bench_cores ());
  if (w->peer->begin)
    w->peer->begin ();
  double before = reference_ns (&run);
  double ns = run_peer (w->peer, &run);
  double after = reference_ns (&run);
  if (w->peer->end)
    w->peer->end ();
  return 50 * (before + after) / ns;
}

static void
run_efficiency (void)
{
  static Work cases[MAX_CASES];
  const double works[] = { 200, 1000, 10000 }, targets[] = { 80, 95, 99 };
  guint n = 0;
  for (guint g = 0; g < 6; g++)
    {
      BenchGroup *group = bench_group_new (
          BENCH_MORE_IS_BETTER, "% efficient",
          "%c. parallel stage of %.1f us, ordered sink%s", 'd' + (char)g,
          works[g % 3] * 1e-3, g < 3 ? "" : " that works");
      for (guint i = 0; peers[i]; i++)
        {
          cases[n] = (Work){ peers[i], works[g % 3], g >= 3 };
          bench_group_add (group, i == 0 ? targets[g % 3] : 0, efficiency,
                           &cases[n++], "%s", peers[i]->name);
        }
      bench_group_run (group, bench_rounds (11));
    }
}

/* -- A sink that binds -------------------------------------------------- */

#define SINK_NS 1000

typedef struct
{
  const PipePeer *peer;
  gboolean cores; /* how many cores were busy in place of the sink's part */
} Bound;

static double
bound (gconstpointer arg)
{
  const Bound *b = arg;
  PipeRun run = run_of ("po", tokens_of (b->peer, 500000));
  gsize iterations = run.stages[1].iterations
      = (gsize)(SINK_NS / ns_per_iteration);
  if (b->peer->begin)
    b->peer->begin ();
  gint64 begin = bench_now_ns ();
  for (gsize i = 0; i < run.n_tokens; i++)
    bench_fenced_spin (iterations);
  double alone = (double)(bench_now_ns () - begin);
  double busy_s = core_s (CLOCK_PROCESS_CPUTIME_ID);
  double ns = run_peer (b->peer, &run);
  busy_s = core_s (CLOCK_PROCESS_CPUTIME_ID) - busy_s;
  if (b->peer->end)
    b->peer->end ();
  return b->cores ? 1e9 * busy_s / ns : 100 * alone / ns;
}

static void
run_bound (void)
{
  static Bound cases[MAX_CASES];
  guint n = 0;
  for (guint cores = 0; cores < 2; cores++)
    {
      BenchGroup *group = bench_group_new (
          cores ? BENCH_LESS_IS_BETTER : BENCH_MORE_IS_BETTER,
          cores ? "cores" : "% busy",
          "%c. ordered sink of %.1f us, no other work: %s", 'l' + (char)cores,
          SINK_NS * 1e-3, cores ? "cores that are busy" : "the sink");
      for (guint i = 0; peers[i]; i++)
        {
          cases[n] = (Bound){ peers[i], cores != 0 };
          bench_group_add (group, i == 0 && !cores ? 97 : 0, bound, &cases[n++],
                           "%s", peers[i]->name);
        }
      bench_group_run (group, bench_rounds (7));
    }
}

/* -- Latency ------------------------------------------------------------ */

#define N_SLOW 300
#define PACE_US 200

typedef struct
{
  const PipePeer *peer;
  gboolean slowest; /* the 95th percentile in place of the median */
} Latency;

static int
by_value (const void *a, const void *b)
{
  gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
  return (x > y) - (x < y);
}

/* us from the source to the sink */
static double
latency (gconstpointer arg)
{
  const Latency *l = arg;
  gint64 emitted[N_SLOW], took[N_SLOW];
  PipeRun run = run_of ("po", N_SLOW);
  run.pace_us = PACE_US;
  run.emitted_ns = emitted;
  run.latency_ns = took;
  if (l->peer->begin)
    l->peer->begin ();
  run_peer (l->peer, &run);
  if (l->peer->end)
    l->peer->end ();
  qsort (took, N_SLOW, sizeof *took, by_value);
  return 1e-3 * (double)took[l->slowest ? N_SLOW * 95 / 100 : N_SLOW / 2];
}

static void
run_latency (void)
{
  static Latency cases[MAX_CASES];
  guint n = 0;
  for (guint slowest = 0; slowest < 2; slowest++)
    {
      BenchGroup *group = bench_group_new (
          BENCH_LESS_IS_BETTER, "us",
          "%c. one token every %d us, no work: from the source to the sink, %s",
          'j' + (char)slowest, PACE_US,
          slowest ? "95th percentile" : "median of the tokens");
      for (guint i = 0; peers[i]; i++)
        {
          cases[n] = (Latency){ peers[i], slowest != 0 };
          bench_group_add (group, i == 0 && !slowest ? 5 : 0, latency,
                           &cases[n++], "%s", peers[i]->name);
        }
      bench_group_run (group, bench_rounds (7));
    }
}

/* -- Waiting ------------------------------------------------------------ */

#define WAIT_S 2
#define SETTLE_US 200000 /* after which nothing may spin any more */

static double waiting_share;

/* In the middle of the stream the token's thread sleeps; the others wait. */
static void
wait_once (PipeRun *run, gsize token)
{
  if (token != run->n_tokens / 2)
    return;
  g_usleep (SETTLE_US);
  double before = core_s (CLOCK_PROCESS_CPUTIME_ID);
  g_usleep (WAIT_S * G_USEC_PER_SEC);
  waiting_share = 100 * (core_s (CLOCK_PROCESS_CPUTIME_ID) - before) / WAIT_S;
}

static void
run_waiting (void)
{
  printf ("\nn. core time while one end of the pipeline sleeps for %d s\n",
          WAIT_S);
  for (guint i = 0; peers[i]; i++)
    for (guint sink = 0; sink < 2; sink++)
      {
        PipeRun run = run_of ("ppo", 2000);
        g_autofree char *name = g_strdup_printf (
            "%s, %s sleeps", peers[i]->name, sink ? "sink" : "generator");
        run.at_source = sink ? NULL : wait_once;
        run.at_sink = sink ? wait_once : NULL;
        if (peers[i]->begin)
          peers[i]->begin ();
        run_peer (peers[i], &run);
        if (peers[i]->end)
          peers[i]->end ();
        bench_single (name, waiting_share, "% of a core", BENCH_LESS_IS_BETTER,
                      i == 0 ? 1 : 0);
      }
}

/* -- Memory ------------------------------------------------------------- */

#define OUTPUT_BYTES 4096 /* of each token: 10^8 of them are 400 GB */

static double early_mb;

static double
resident_mb (void)
{
  struct rusage usage;
  getrusage (RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss * 1024e-6;
}

static void
note_early (PipeRun *run, gsize token)
{
  if (token == run->n_tokens / 10)
    early_mb = resident_mb ();
}

static int
run_endless (void)
{
  PipeRun run = run_of ("po", (gsize)bench_setting ("BENCH_TOKENS", 1e7));
  ns_per_iteration = bench_iteration_ns ();
  run.output_bytes = OUTPUT_BYTES;
  run.stages[1].iterations = (gsize)(SINK_NS / ns_per_iteration);
  run.at_sink = note_early;
  printf ("\no. %.2g tokens with outputs of %d bytes before a sink of %d ns "
          "(BENCH_TOKENS changes it)\n",
          (double)run.n_tokens, OUTPUT_BYTES, SINK_NS);
  double seconds = run_peer (&pipe_hass, &run) * 1e-9;
  bench_single ("largest resident set", resident_mb (), "MB",
                BENCH_LESS_IS_BETTER, 100);
  bench_single ("of these after the first tenth of the tokens",
                resident_mb () - early_mb, "MB", BENCH_LESS_IS_BETTER, 2);
  bench_single ("sink busy", 100e-9 * SINK_NS * (double)run.n_tokens / seconds,
                "% of time", BENCH_MORE_IS_BETTER, 0);
  return 0;
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "endless") == 0)
    return run_endless ();
  ns_per_iteration = bench_iteration_ns ();
  printf ("\n== Pipelines, %u cores\n", bench_cores ());
  run_empty ();
  run_efficiency ();
  run_latency ();
  run_bound ();
  run_waiting ();
  pipe_run_again ();
  pipe_run_large ();
  pipe_run_beside ();
  fflush (stdout);
  char *again[] = { argv[0], (char *)"endless", NULL };
  GError *error = NULL;
  if (!g_spawn_sync (NULL, again, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL,
                     NULL, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
  return 0;
}
