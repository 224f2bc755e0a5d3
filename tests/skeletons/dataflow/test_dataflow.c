/* SPDX-License-Identifier: MIT */
/* test_dataflow.c: random graphs have the values of the sequential program.

   A plan is a list of tasks on a few data. It is computed once by a loop over
   its tasks, and by dataflows of several core counts and windows. Each task
   writes a value that depends on all that it reads, so a task that sees a wrong
   version, or runs twice or never, changes what is left at the end.

   Thread safety: one thread. */
#include "hass/dataflow.h"
#include "hass_test.h"

#include <stdlib.h>

#define MOST_DATA 12
#define MOST_ACCESSES 11
#define ROWS 3

typedef struct
{
  guint n;
  struct
  {
    guint data;
    HassAccessMode mode;
  } accesses[MOST_ACCESSES];
  guint32 salt;
  gint32 priority;
  gboolean fails;
  guint wait_for; /* after it: 0: nothing, 1: all, 2 + d: datum d */
} Step;

typedef struct
{
  guint n_steps, n_data, n_scratch;
  Step *steps;
  gboolean long_arguments, spins;
} Plan;

/* Values of a datum: two in each row, 24 bytes apart. */
typedef struct
{
  guint64 at[MOST_DATA][ROWS][3];
  gboolean invalid[MOST_DATA];
} State;

typedef struct
{
  guint32 salt;
  gboolean fails, spins;
  guint n;
  HassAccessMode modes[MOST_ACCESSES];
} Arguments;

static guint64
mix (guint64 x)
{
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15u;
  return x ^ x >> 29;
}

static guint64 *
value (const HassDataView *v, guint row, guint column)
{
  return (guint64 *)(gpointer)((guint8 *)v->data + row * v->pitch) + column;
}

/* What a task does, on views. */
static void
act (const Arguments *a, const HassDataView *views)
{
  guint64 h = a->salt;
  for (guint i = 0; i < a->n; i++)
    if (a->modes[i] == HASS_READ || a->modes[i] == HASS_UPDATE)
      for (guint r = 0; r < ROWS; r++)
        h = mix (h + *value (&views[i], r, 0) + 3 * *value (&views[i], r, 1));
  for (guint i = 0; i < a->n; i++)
    for (guint r = 0; r < ROWS; r++)
      for (guint c = 0; c < 2 && a->modes[i] != HASS_READ; c++)
        {
          guint64 *x = value (&views[i], r, c);
          guint64 y = mix (h + 7 * i + 5 * r + c);
          if (a->modes[i] == HASS_COMMUTE || a->modes[i] == HASS_REDUCE)
            *x += y;
          else
            *x = y;
        }
}

static gboolean
compute (const HassCall *call, HassWorker *worker, GError **error)
{
  const Arguments *a = call->arguments;
  (void)worker;
  CU_ASSERT_EQUAL (call->n_views, a->n);
  for (guint i = 0; a->spins && i < a->salt % 1000; i++)
    __asm__ volatile("");
  if (a->fails)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "as planned");
      return FALSE;
    }
  act (a, call->views);
  return TRUE;
}

static void
merge (const HassDataView *into, const HassDataView *copy, gpointer user_data)
{
  (void)user_data;
  for (guint r = 0; r < ROWS; r++)
    for (guint c = 0; c < 2; c++)
      *value (into, r, c) += *value (copy, r, c);
}

/* -- Plans -------------------------------------------------------------- */

static HassAccessMode
random_mode (GRand *rand, gboolean may_fail)
{
  static const HassAccessMode modes[]
      = { HASS_READ,   HASS_READ,    HASS_READ,  HASS_WRITE,
          HASS_UPDATE, HASS_COMMUTE, HASS_REDUCE };
  return modes[g_rand_int_range (rand, 0, may_fail ? 5 : 7)];
}

/* @failing: some tasks fail; then none commutes or reduces, as which of them
   find the datum invalid depends on their order. */
static Plan
random_plan (guint32 seed, guint n_steps, gboolean failing)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  gboolean written[MOST_DATA] = { FALSE };
  Plan p = { .n_steps = n_steps };
  p.n_data = (guint)g_rand_int_range (rand, 1, MOST_DATA + 1);
  p.n_scratch = (guint)g_rand_int_range (rand, 0, (gint)p.n_data);
  p.spins = g_rand_boolean (rand);
  p.steps = g_new0 (Step, n_steps);
  for (guint s = 0; s < n_steps; s++)
    {
      Step *step = &p.steps[s];
      guint taken = 0;
      guint most = g_rand_int_range (rand, 0, 8) == 0 ? MOST_ACCESSES : 4;
      guint want = (guint)g_rand_int_range (rand, 0, (gint)most + 1);
      for (guint i = 0; i < want; i++)
        {
          guint d = (guint)g_rand_int_range (rand, 0, (gint)p.n_data);
          HassAccessMode mode = random_mode (rand, failing);
          gboolean needs = mode != HASS_WRITE && mode != HASS_REDUCE;
          if (taken >> d & 1 || (d < p.n_scratch && needs && !written[d]))
            continue;
          written[d] |= mode != HASS_READ;
          taken |= 1u << d;
          step->accesses[step->n].data = d;
          step->accesses[step->n++].mode = mode;
        }
      step->salt = g_rand_int (rand);
      step->priority
          = g_rand_boolean (rand) ? g_rand_int_range (rand, -3, 4) : 0;
      step->fails = failing && g_rand_int_range (rand, 0, 40) == 0;
      if (g_rand_int_range (rand, 0, 60) == 0)
        step->wait_for = (guint)g_rand_int_range (rand, 1, 2 + (gint)p.n_data);
    }
  return p;
}

static HassDataView
view_of (State *state, guint d)
{
  return (HassDataView){ state->at[d], 16, ROWS, 24 };
}

static Arguments
arguments_of (const Plan *p, const Step *step)
{
  Arguments a = { step->salt, step->fails, p->spins, step->n, { 0 } };
  for (guint i = 0; i < step->n; i++)
    a.modes[i] = step->accesses[i].mode;
  return a;
}

static void
init (State *state, const Plan *p)
{
  memset (state, 0, sizeof *state);
  for (guint d = p->n_scratch; d < p->n_data; d++)
    for (guint r = 0; r < ROWS; r++)
      state->at[d][r][0] = mix (d * 10 + r + 1);
}

/* Returns: number of tasks that fail, themselves or in consequence. */
static guint
run_in_sequence (const Plan *p, State *state)
{
  guint n_failed = 0;
  for (guint s = 0; s < p->n_steps; s++)
    {
      const Step *step = &p->steps[s];
      Arguments a = arguments_of (p, step);
      HassDataView views[MOST_ACCESSES];
      gboolean failed = step->fails;
      for (guint i = 0; i < step->n; i++)
        {
          views[i] = view_of (state, step->accesses[i].data);
          failed |= state->invalid[step->accesses[i].data]
                    && step->accesses[i].mode != HASS_WRITE;
        }
      if (!failed)
        act (&a, views);
      n_failed += failed;
      for (guint i = 0; i < step->n; i++)
        if (failed ? step->accesses[i].mode != HASS_READ
                   : step->accesses[i].mode == HASS_WRITE)
          state->invalid[step->accesses[i].data] = failed;
    }
  return n_failed;
}

/* -- Dataflows ---------------------------------------------------------- */

typedef struct
{
  const Plan *plan;
  State *state;
  State copies; /* scratch data are copied here at the end */
  gboolean recorded;
  HassData *data[MOST_DATA];
} Trial;

static gboolean
copy_out (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  for (guint r = 0; r < ROWS; r++)
    for (guint c = 0; c < 2; c++)
      *value (&call->views[1], r, c)
          = call->views[0].data ? ((guint64 *)call->views[0].data)[r * 3 + c]
                                : 0;
  return TRUE;
}

static const HassCodelet copier
    = HASS_CODELET (.name = "copy", .cpu = copy_out);

/* A scratch datum is one row of the library; its tasks see three of ROWS. */
static gboolean
compute_any (const HassCall *call, HassWorker *worker, GError **error)
{
  HassDataView views[MOST_ACCESSES];
  for (guint i = 0; i < call->n_views; i++)
    {
      views[i] = call->views[i];
      if (views[i].rows == 1)
        views[i].pitch = 24;
      else if (views[i].pitch == 16)
        CU_ASSERT_EQUAL (views[i].rows, ROWS); /* a private copy */
    }
  HassCall own = *call;
  own.views = views;
  return compute (&own, worker, error);
}

static const HassCodelet any = HASS_CODELET (.name = "mix", .cpu = compute_any);

static void
merge_any (const HassDataView *into, const HassDataView *copy,
           gpointer user_data)
{
  HassDataView a = *into, b = *copy;
  if (a.rows == 1)
    a.pitch = b.pitch = 24;
  merge (&a, &b, user_data);
}

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  Trial *t = user_data;
  const Plan *p = t->plan;
  (void)error;
  for (guint d = 0; d < p->n_data; d++)
    {
      t->data[d] = d < p->n_scratch
                       ? hass_graph_scratch (graph, ROWS * 24)
                       : hass_graph_data (graph, t->state->at[d], 16, ROWS, 24);
      hass_graph_reduction (graph, t->data[d], NULL, merge_any, NULL);
    }
  for (guint s = 0; s < p->n_steps; s++)
    {
      const Step *step = &p->steps[s];
      Arguments a = arguments_of (p, step);
      HassAccess accesses[MOST_ACCESSES];
      HassTaskHints hints = { &a, sizeof a, step->priority, 0 };
      for (guint i = 0; i < step->n; i++)
        accesses[i] = (HassAccess){ t->data[step->accesses[i].data],
                                    step->accesses[i].mode };
      hass_graph_task (graph, &any, accesses, step->n, &hints);
      if (step->wait_for > 0 && !t->recorded)
        hass_graph_wait (graph, step->wait_for > 1 ? t->data[step->wait_for - 2]
                                                   : NULL);
    }
  for (guint d = 0; d < p->n_scratch; d++)
    {
      HassData *to = hass_graph_data (graph, t->copies.at[d], 16, ROWS, 24);
      hass_graph_task (
          graph, &copier,
          (HassAccess[]){ { t->data[d], HASS_READ }, { to, HASS_WRITE } }, 2,
          NULL);
      hass_graph_forget (graph, t->data[d]);
      hass_graph_forget (graph, to);
    }
  return TRUE;
}

/* Compares what is valid. Scratch data that were never written are not. */
static void
compare (const Plan *p, const State *want, const State *got,
         const State *copies)
{
  for (guint d = 0; d < p->n_data; d++)
    for (guint r = 0; r < ROWS && !want->invalid[d]; r++)
      for (guint c = 0; c < 2; c++)
        CU_ASSERT_EQUAL ((d < p->n_scratch ? copies : got)->at[d][r][c],
                         want->at[d][r][c]);
}

static void
write_all_scratch (Plan *p)
{
  /* the copies at the end read every scratch datum */
  for (guint d = 0; d < p->n_scratch; d++)
    {
      p->steps[d].n = 1;
      p->steps[d].fails = FALSE;
      p->steps[d].accesses[0].data = d;
      p->steps[d].accesses[0].mode = HASS_WRITE;
    }
}

static void
run_plan (Plan *p, guint n_cores, gsize window, gboolean failing)
{
  State want, got;
  HassReport *report = NULL;
  GError *error = NULL;
  write_all_scratch (p);
  init (&want, p);
  init (&got, p);
  guint n_failed = run_in_sequence (p, &want);
  Trial t = { .plan = p, .state = &got };
  HassDataflow d = HASS_DATAFLOW_INIT;
  d.user_data = &t;
  d.build = build;
  d.window = window;
  d.run.n_cores = n_cores;
  if (failing)
    d.run.on_error = HASS_ON_ERROR_CONTINUE;
  gboolean ok = hass_dataflow (&d, &report, &error);
  CU_ASSERT_TRUE (ok);
  if (error)
    printf ("\n    %s\n", error->message);
  g_clear_error (&error);
  compare (p, &want, &got, &t.copies);
  guint64 unfinished = 0;
  for (guint i = 0; report && i < report->n_unfinished; i++)
    unfinished += report->unfinished[i].n_loads;
  guint lost_copies = 0;
  for (guint s = 0; s < p->n_scratch; s++)
    lost_copies += want.invalid[s];
  CU_ASSERT_EQUAL (unfinished, n_failed + lost_copies);
  hass_report_free (report);
}

static void
random_graphs (void)
{
  for (guint32 seed = 1; seed <= 300; seed++)
    {
      Plan p = random_plan (seed, 30 + seed % 170, FALSE);
      run_plan (&p, 1 + seed % 4,
                seed % 3 == 0   ? 2
                : seed % 3 == 1 ? 16
                                : 0,
                FALSE);
      g_free (p.steps);
    }
}

static void
failing_graphs (void)
{
  for (guint32 seed = 1; seed <= 200; seed++)
    {
      Plan p = random_plan (seed, 30 + seed % 170, TRUE);
      run_plan (&p, 1 + seed % 4, seed % 2 == 0 ? 8 : 0, TRUE);
      g_free (p.steps);
    }
}

static void
recorded_graphs (void)
{
  for (guint32 seed = 1; seed <= 100; seed++)
    {
      Plan p = random_plan (seed, 30 + seed % 170, FALSE);
      State want, got, other;
      GError *error = NULL;
      write_all_scratch (&p);
      init (&want, &p);
      init (&got, &p);
      init (&other, &p);
      for (guint i = 0; i < 3; i++)
        run_in_sequence (&p, &want);
      Trial t = { .plan = &p, .state = &got, .recorded = TRUE };
      HassDataflow d = HASS_DATAFLOW_INIT;
      d.user_data = &t;
      d.build = build;
      d.run.n_cores = 1 + seed % 4;
      g_autoptr (HassRecorded) r = hass_dataflow_record (&d, &error);
      CU_ASSERT_PTR_NOT_NULL_FATAL (r);
      CU_ASSERT_TRUE (hass_recorded_run (r, 2, NULL, NULL, &error));
      CU_ASSERT_TRUE (hass_recorded_run (r, 1, NULL, NULL, &error));
      compare (&p, &want, &got, &t.copies);
      for (guint k = p.n_scratch; k < p.n_data; k++)
        hass_recorded_bind (r, t.data[k], other.at[k]);
      for (guint i = 0; i < 3; i++)
        CU_ASSERT_TRUE (hass_recorded_run (r, 0, NULL, NULL, &error));
      compare (&p, &want, &other, &t.copies);
      g_free (p.steps);
    }
}

HASS_TEST_SUITE (
    dataflow,
    { "random graphs leave the values of the sequential program",
      random_graphs },
    { "tasks fail with the data that they need, and no others",
      failing_graphs },
    { "a recorded graph does the same each time, on other data too",
      recorded_graphs })
