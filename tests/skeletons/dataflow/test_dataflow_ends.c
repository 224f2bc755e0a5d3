/* SPDX-License-Identifier: MIT */
/* test_dataflow_ends.c: dataflows that come to an early end, at random moments
   and on 1 to 8 cores.

   Each datum is an array of equal numbers, the number of tasks that have
   written it, and each task checks that it sees what the sequential program
   would. What has been computed when the dataflow ends must then be a part of
   the sequential program: with each task all that it follows, and each datum
   as the last of its computed tasks has left it.

   Thread safety: one thread beside those of the dataflows. */
#include <gio/gio.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "crowd.h"
#include "flow.h"

#define N_DATA 6
#define N_WORDS 24
#define MOST_STEPS 400

typedef struct
{
  guint n;
  guint data[3];
  HassAccessMode modes[3];
  guint least[3], most[3]; /* numbers that it may see */
} Step;

typedef enum
{
  AT_NO_TIME,
  CANCEL_OUTSIDE, /* by another thread */
  CANCEL_IN_TASK,
  CANCEL_IN_BUILD,
  DEADLINE,
  BUILD_FAILS,
  CODELET_FAILS,
  N_ENDS
} End;

typedef struct
{
  guint n_steps;
  Step steps[MOST_STEPS];
  guint64 words[N_DATA][N_WORDS];
  _Atomic guint done[MOST_STEPS]; /* how often */
  _Atomic guint n_wrong;
  _Atomic guint n_begun;
  End end;
  guint at; /* task, or step of the build, at which the end comes */
  gboolean recorded;
  guint spin;
  GCancellable *cancellable;
} Flow;

/* -- Plans -------------------------------------------------------------- */

static void
add_access (Step *step, guint d, HassAccessMode mode, const guint *version)
{
  for (guint i = 0; i < step->n; i++)
    if (step->data[i] == d)
      return;
  step->data[step->n] = d;
  step->modes[step->n] = mode;
  step->least[step->n] = step->most[step->n] = version[d];
  step->n++;
}

/* A COMMUTE access sees any number from those of the first to those of the last
   of its group. */
static void
widen (Flow *f, guint d, guint from, guint to)
{
  guint n = 0, first = G_MAXUINT;
  for (guint pass = 0; pass < 2; pass++)
    for (guint s = from; s < to; s++)
      for (guint i = 0; i < f->steps[s].n; i++)
        if (f->steps[s].data[i] == d && f->steps[s].modes[i] == HASS_COMMUTE)
          {
            Step *step = &f->steps[s];
            first = MIN (first, step->least[i]);
            n += pass == 0;
            step->least[i] = pass == 1 ? first : step->least[i];
            step->most[i] = pass == 1 ? first + n - 1 : step->most[i];
          }
}

static void
plan (Flow *f, GRand *rand)
{
  static const HassAccessMode modes[]
      = { HASS_READ,    HASS_READ,  HASS_UPDATE, HASS_COMMUTE,
          HASS_COMMUTE, HASS_WRITE, HASS_REDUCE };
  guint version[N_DATA] = { 0 }, since[N_DATA] = { 0 };
  HassAccessMode last[N_DATA] = { HASS_READ };
  memset (f, 0, sizeof *f);
  f->n_steps = (guint)g_rand_int_range (rand, 20, MOST_STEPS);
  for (guint s = 0; s < f->n_steps; s++)
    {
      Step *step = &f->steps[s];
      guint want = (guint)g_rand_int_range (rand, 1, 4);
      for (guint i = 0; i < want; i++)
        add_access (step, (guint)g_rand_int_range (rand, 0, N_DATA),
                    modes[g_rand_int_range (rand, 0, 7)], version);
      for (guint i = 0; i < step->n; i++)
        {
          guint d = step->data[i];
          if (step->modes[i] != last[d])
            {
              widen (f, d, since[d], s);
              since[d] = s;
              last[d] = step->modes[i];
            }
          version[d] += step->modes[i] != HASS_READ;
        }
    }
  for (guint d = 0; d < N_DATA; d++)
    widen (f, d, since[d], f->n_steps);
}

/* -- Tasks -------------------------------------------------------------- */

static gboolean
view_is_whole (const guint64 *words, guint64 from, guint64 to)
{
  for (guint i = 0; i < N_WORDS; i++)
    if (words[i] != words[0])
      return FALSE;
  return words[0] >= from && words[0] <= to;
}

static gboolean
compute (const HassCall *call, HassWorker *worker, GError **error)
{
  Flow *f = call->user_data;
  guint number = *(const guint *)call->arguments;
  const Step *step = &f->steps[number];
  (void)worker;
  atomic_fetch_add (&f->n_begun, 1);
  for (guint i = 0; i < f->spin; i++)
    __asm__ volatile("");
  if (number == f->at && f->end == CANCEL_IN_TASK)
    g_cancellable_cancel (f->cancellable);
  if (number == f->at && f->end == CODELET_FAILS)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "as planned");
      return FALSE;
    }
  for (guint i = 0; i < step->n; i++)
    {
      guint64 *words = call->views[i].data;
      HassAccessMode mode = step->modes[i];
      if (mode != HASS_WRITE && mode != HASS_REDUCE
          && !view_is_whole (words, step->least[i], step->most[i]))
        atomic_fetch_add (&f->n_wrong, 1);
      for (guint w = 0; w < N_WORDS && mode != HASS_READ; w++)
        words[w] = mode == HASS_WRITE ? step->least[i] + 1 : words[w] + 1;
    }
  atomic_fetch_add (&f->done[number], 1);
  return TRUE;
}

static const HassCodelet codelet
    = HASS_CODELET (.name = "step", .cpu = compute);

static void
merge (const HassDataView *into, const HassDataView *copy, gpointer user_data)
{
  guint64 *to = into->data;
  const guint64 *from = copy->data;
  (void)user_data;
  for (guint w = 0; w < N_WORDS; w++)
    to[w] += from[w];
}

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  Flow *f = user_data;
  HassData *data[N_DATA];
  for (guint d = 0; d < N_DATA; d++)
    {
      data[d] = hass_graph_data (graph, f->words[d], sizeof f->words[d], 1, 0);
      if (data[d])
        hass_graph_reduction (graph, data[d], NULL, merge, NULL);
    }
  for (guint s = 0; s < f->n_steps; s++)
    {
      HassAccess accesses[3];
      HassTaskHints hints
          = { .arguments = &s, .argument_bytes = sizeof s, .priority = s % 3 };
      if (s == f->at && f->end == CANCEL_IN_BUILD)
        g_cancellable_cancel (f->cancellable);
      if (s == f->at && f->end == BUILD_FAILS)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "no more");
          return FALSE;
        }
      for (guint i = 0; i < f->steps[s].n; i++)
        accesses[i]
            = (HassAccess){ data[f->steps[s].data[i]], f->steps[s].modes[i] };
      if (!hass_graph_task (graph, &codelet, accesses, f->steps[s].n, &hints))
        return FALSE;
      if (s % 97 == 50 && !f->recorded && !hass_graph_wait (graph, NULL))
        return FALSE;
    }
  return TRUE;
}

/* -- What is left ------------------------------------------------------- */

/* What has been computed of a datum, step by step. */
typedef struct
{
  HassAccessMode mode; /* of the group that is open */
  guint n_open, n_open_done;
  gboolean before_done; /* all before the group */
  guint64 value;
  guint reduced; /* since the last other access; merged or not */
} Trace;

/* Follows an access of a task in the sequential program. Returns: FALSE if the
   task was computed, but not all that this access follows. */
static gboolean
follow (Trace *t, HassAccessMode mode, gboolean done)
{
  gboolean shared = mode != HASS_WRITE && mode != HASS_UPDATE;
  if (!shared || mode != t->mode)
    {
      t->before_done = t->before_done && t->n_open_done == t->n_open;
      t->n_open = t->n_open_done = 0;
      if (done)
        t->value += t->reduced;
      t->reduced = done ? 0 : t->reduced;
    }
  t->mode = mode;
  t->n_open++;
  t->n_open_done += done;
  if (mode == HASS_REDUCE)
    t->reduced += done;
  else if (mode != HASS_READ)
    t->value += done;
  return !done || t->before_done;
}

static void
check_data (const Flow *f)
{
  Trace traces[N_DATA];
  guint n_wrong = 0;
  for (guint d = 0; d < N_DATA; d++)
    traces[d] = (Trace){ .mode = HASS_UPDATE, .before_done = TRUE };
  for (guint s = 0; s < f->n_steps; s++)
    {
      guint done = atomic_load (&f->done[s]);
      n_wrong += done > 1;
      for (guint i = 0; i < f->steps[s].n; i++)
        n_wrong += !follow (&traces[f->steps[s].data[i]], f->steps[s].modes[i],
                            done > 0);
    }
  CU_ASSERT_EQUAL (n_wrong, 0);
  for (guint d = 0; d < N_DATA; d++)
    {
      const Trace *t = &traces[d];
      guint64 value = f->words[d][0];
      CU_ASSERT_TRUE (view_is_whole (f->words[d], 0, G_MAXUINT64));
      /* What was reduced last is merged or not. */
      CU_ASSERT_TRUE (value >= t->value && value <= t->value + t->reduced);
    }
  CU_ASSERT_EQUAL (atomic_load (&f->n_wrong), 0);
}

static guint
n_done (const Flow *f)
{
  guint n = 0;
  for (guint s = 0; s < f->n_steps; s++)
    n += atomic_load (&f->done[s]) > 0;
  return n;
}

/* -- Ends --------------------------------------------------------------- */

static gpointer
cancel_soon (gpointer data)
{
  Flow *f = data;
  while (atomic_load (&f->n_begun) < f->at / 2)
    g_usleep (1);
  g_cancellable_cancel (f->cancellable);
  return NULL;
}

static HassDataflow
dataflow_of (Flow *f, guint n_cores)
{
  HassDataflow d = flow_of (build, f);
  d.run.n_cores = n_cores;
  d.run.cancellable = f->cancellable;
  d.window = f->at % 2 == 0 ? 32 : 0;
  if (f->end == DEADLINE)
    d.run.deadline_ms = 1 + f->at % 2;
  return d;
}

static void
check_error (const Flow *f, const GError *error)
{
  switch (f->end)
    {
    case CANCEL_OUTSIDE:
    case CANCEL_IN_TASK:
    case CANCEL_IN_BUILD:
      CU_ASSERT_TRUE (flow_says (error, HASS_ERROR_CANCELLED, "'flow'", NULL));
      break;
    case DEADLINE:
      CU_ASSERT_TRUE (
          flow_says (error, HASS_ERROR_DEADLINE, "'flow'", "ms", NULL));
      break;
    case BUILD_FAILS:
      CU_ASSERT_TRUE (
          flow_says (error, HASS_ERROR_IO, "'flow'", "no more", NULL));
      break;
    default:
      CU_ASSERT_TRUE (flow_says (error, HASS_ERROR_WORKER, "'flow'", "'step'",
                                 "as planned", NULL));
    }
}

static void
end_once (Flow *f, guint n_cores)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  HassDataflow d = dataflow_of (f, n_cores);
  GThread *other = f->end == CANCEL_OUTSIDE
                       ? g_thread_new ("cancel", cancel_soon, f)
                       : NULL;
  gboolean ok = hass_dataflow (&d, &report, &error);
  atomic_store (&f->n_begun, MOST_STEPS);
  if (other)
    g_thread_join (other);
  CU_ASSERT_TRUE (!ok || n_done (f) == f->n_steps);
  if (!ok)
    check_error (f, error);
  CU_ASSERT_TRUE (!ok || f->end == CANCEL_OUTSIDE || f->end == DEADLINE);
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  check_data (f);
  guint64 unfinished = 0;
  for (guint i = 0; i < report->n_unfinished; i++)
    unfinished += report->unfinished[i].n_loads;
  CU_ASSERT_EQUAL (report->loads, n_done (f));
  CU_ASSERT_TRUE (n_done (f) + unfinished <= f->n_steps);
  CU_ASSERT_TRUE (f->end != CODELET_FAILS || unfinished > 0);
}

static void
at_random_moments (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  Flow *f = g_new (Flow, 1);
  for (guint i = 0; i < CROWD_SCALE (1500); i++)
    {
      plan (f, rand);
      f->end = (End)g_rand_int_range (rand, AT_NO_TIME + 1, N_ENDS);
      f->at = (guint)g_rand_int_range (rand, 0, (gint)f->n_steps);
      f->spin = f->end == DEADLINE ? 20000 : 300 * (i % 4);
      f->cancellable = g_cancellable_new ();
      end_once (f, 1 + i % 8);
      g_object_unref (f->cancellable);
    }
  g_free (f);
}

/* A recorded graph ends early, and runs whole afterwards. */
static void
recorded_ends (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (12);
  Flow *f = g_new (Flow, 1);
  for (guint i = 0; i < CROWD_SCALE (300); i++)
    {
      plan (f, rand);
      f->recorded = TRUE;
      f->end = i % 2 == 0 ? CANCEL_IN_TASK : CODELET_FAILS;
      f->at = (guint)g_rand_int_range (rand, 0, (gint)f->n_steps);
      f->cancellable = g_cancellable_new ();
      HassDataflow d = dataflow_of (f, 1 + i % 8);
      g_autoptr (GError) error = NULL;
      g_autoptr (HassRecorded) r = hass_dataflow_record (&d, NULL);
      CU_ASSERT_FALSE (hass_recorded_run (r, 3, NULL, NULL, &error));
      check_error (f, error);
      check_data (f);
      memset (f->words, 0, sizeof f->words);
      memset (f->done, 0, sizeof f->done);
      f->end = AT_NO_TIME;
      g_cancellable_reset (f->cancellable);
      CU_ASSERT_TRUE (hass_recorded_run (r, 1, NULL, NULL, NULL));
      CU_ASSERT_EQUAL (n_done (f), f->n_steps);
      check_data (f);
      g_object_unref (f->cancellable);
    }
  g_free (f);
}

HASS_TEST_SUITE (
    dataflow_ends,
    { "a dataflow that ends early leaves a part of the sequential program",
      at_random_moments },
    { "a recorded graph that ended early runs whole again", recorded_ends })
