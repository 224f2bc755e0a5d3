/* SPDX-License-Identifier: MIT */
/* test_dataflow_at_once.c: tasks that the submitting thread computes itself.
   How long tasks take is not measured here: each test says what the library
   believes.
   Thread safety: one thread beside those of the dataflows. */
#include <stdatomic.h>

#include "engine/graph/graph-private.h"
#include "flow.h"

#define SHORT 1
#define LONG 1000000 /* ns */

static HassGraph *graph_of;
static pthread_t submitter;
static _Atomic guint n_here, n_elsewhere;
static _Atomic gboolean held, released;

/* Has all codelets so far seem to take so long. */
static void
seem (guint ns)
{
  for (guint c = 0; c < graph_of->codelets->len; c++)
    {
      HassCodeletState *codelet = g_ptr_array_index (graph_of->codelets, c);
      atomic_store (&codelet->mean_ns, ns);
      atomic_store (&codelet->least_ns, ns);
    }
}

static void
seem_of (const HassCodelet *key, guint ns)
{
  HassCodeletState *codelet = g_hash_table_lookup (graph_of->by_key, key);
  atomic_store (&codelet->mean_ns, ns);
  atomic_store (&codelet->least_ns, ns);
}

static void
begin (HassGraph *graph)
{
  graph_of = graph;
  submitter = pthread_self ();
  atomic_store (&n_here, 0);
  atomic_store (&n_elsewhere, 0);
  atomic_store (&held, FALSE);
  atomic_store (&released, FALSE);
}

static gboolean
count (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  gboolean here = pthread_equal (pthread_self (), submitter);
  atomic_fetch_add (here ? &n_here : &n_elsewhere, 1);
  return TRUE;
}

/* Keeps the other core from what is submitted after it. */
static gboolean
hold (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  atomic_store (&held, TRUE);
  while (!atomic_load (&released))
    g_usleep (100);
  return TRUE;
}

static const HassCodelet counts = HASS_CODELET (.name = "count", .cpu = count);
static const HassCodelet holds = HASS_CODELET (.name = "hold", .cpu = hold);

static void
submit (HassData *data)
{
  CU_ASSERT_TRUE (hass_graph_task (
      graph_of, &counts, &(HassAccess){ data, HASS_UPDATE }, 1, NULL));
}

/* The other core is in hold() when this returns. */
static void
hold_core (void)
{
  CU_ASSERT_TRUE (hass_graph_task (graph_of, &holds, NULL, 0, NULL));
  while (!atomic_load (&held))
    g_usleep (100);
}

/* Returns: a datum that has a value. */
static HassData *
new_datum (void)
{
  HassData *data = hass_graph_scratch (graph_of, 0);
  hass_graph_task (graph_of, &flow_idle, &(HassAccess){ data, HASS_WRITE }, 1,
                   NULL);
  hass_graph_wait (graph_of, NULL);
  return data;
}

static void
run (HassBuildFunc build, guint n_cores)
{
  HassDataflow d = flow_of (build, NULL);
  g_autoptr (GError) error = NULL;
  d.run.n_cores = n_cores;
  CU_ASSERT_TRUE (hass_dataflow (&d, NULL, &error));
}

/* -- What is short -------------------------------------------------------- */

static void
what_is_short (void)
{
  static const struct
  {
    guint mean, least;
    gboolean is_short;
  } cases[] = { { 0, 0, FALSE },     { 50, 0, TRUE },      { 50, 50, TRUE },
                { 300, 50, TRUE },   { 500, 50, FALSE },   { 300, 150, FALSE },
                { 150, 150, FALSE }, { 150, 0, FALSE },    { 99, 99, TRUE },
                { 100, 100, FALSE }, { 399, 99, TRUE },    { 400, 99, FALSE },
                { LONG, 50, FALSE }, { LONG, LONG, FALSE } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      HassCodeletState codelet
          = { .mean_ns = cases[i].mean, .least_ns = cases[i].least };
      CU_ASSERT_EQUAL (hass_codelet_is_short (&codelet), cases[i].is_short);
    }
}

/* -- Tasks that may begin ------------------------------------------------ */

static gboolean
build_one_core (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  begin (graph);
  HassData *data = new_datum ();
  const HassCodeletState *idle
      = g_hash_table_lookup (graph->by_key, &flow_idle);
  guint mean = atomic_load (&idle->mean_ns),
        least = atomic_load (&idle->least_ns);
  CU_ASSERT_TRUE (least > 0 && least <= mean);
  for (guint i = 1; i <= 10; i++)
    {
      seem (i % 2 ? LONG : 0);
      submit (data);
      CU_ASSERT_EQUAL (atomic_load (&n_here), i);
    }
  return TRUE;
}

static void
one_core (void)
{
  run (build_one_core, 1);
}

static guint order[3], n_order;

static gboolean
note (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  order[n_order++] = *(const guint *)call->arguments;
  return TRUE;
}

static const HassCodelet notes = HASS_CODELET (.name = "note", .cpu = note);

static gboolean
build_priorities (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  n_order = 0;
  for (guint i = 0; i < 3; i++)
    {
      HassTaskHints hints = { &i, sizeof i, (gint)i + 1, 0 };
      CU_ASSERT_TRUE (hass_graph_task (graph, &notes, NULL, 0, &hints));
      CU_ASSERT_EQUAL (n_order, 0);
    }
  return TRUE;
}

static void
priorities (void)
{
  run (build_priorities, 1);
  CU_ASSERT_TRUE (order[0] == 2 && order[1] == 1 && order[2] == 0);
}

static gboolean
build_short (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  begin (graph);
  HassData *data = new_datum ();
  hold_core ();
  submit (data); /* how long it takes is not known */
  CU_ASSERT_EQUAL (atomic_load (&n_here), 0);
  hass_graph_wait (graph, data);
  guint before = atomic_load (&n_here);
  for (guint i = 1; i <= 10; i++)
    {
      seem (SHORT);
      submit (data);
      CU_ASSERT_EQUAL (atomic_load (&n_here), before + i);
    }
  seem (LONG);
  submit (data);
  CU_ASSERT_EQUAL (atomic_load (&n_here), before + 10);
  atomic_store (&released, TRUE);
  return TRUE;
}

static void
short_tasks (void)
{
  run (build_short, 2);
}

static gboolean
build_commuting (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  begin (graph);
  HassData *data = new_datum ();
  const HassAccess commute = { data, HASS_COMMUTE };
  CU_ASSERT_TRUE (hass_graph_task (graph, &holds, &commute, 1, NULL));
  while (!atomic_load (&held))
    g_usleep (100);
  for (guint i = 0; i < 2; i++)
    {
      CU_ASSERT_TRUE (hass_graph_task (graph, &counts, &commute, 1, NULL));
      seem_of (&counts, SHORT);
      CU_ASSERT_EQUAL (atomic_load (&n_here), 0);
    }
  seem (LONG);
  atomic_store (&released, TRUE);
  return TRUE;
}

static void
commuting (void)
{
  run (build_commuting, 2);
  CU_ASSERT_EQUAL (atomic_load (&n_here) + atomic_load (&n_elsewhere), 2);
}

/* -- Tasks that wait ----------------------------------------------------- */

/* @user_data: what hold() seems to take. */
static gboolean
build_catch_up (HassGraph *graph, gpointer user_data, GError **error)
{
  gboolean all_short = *(guint *)user_data == SHORT;
  (void)error;
  begin (graph);
  HassData *data = new_datum ();
  hold_core ();
  for (guint i = 0; i < 10; i++)
    submit (data);
  CU_ASSERT_EQUAL (atomic_load (&n_here), 0);
  seem (SHORT);
  seem_of (&holds, *(guint *)user_data);
  submit (data); /* returns although hold() does not end */
  CU_ASSERT_EQUAL (atomic_load (&n_here), all_short ? 11 : 0);
  seem (LONG); /* nothing is remembered */
  atomic_store (&released, TRUE);
  return TRUE;
}

static void
catch_up (void)
{
  static const guint paces[] = { SHORT, LONG };
  for (guint i = 0; i < G_N_ELEMENTS (paces); i++)
    {
      HassDataflow d = flow_of (build_catch_up, (gpointer)&paces[i]);
      g_autoptr (GError) error = NULL;
      CU_ASSERT_TRUE (hass_dataflow (&d, NULL, &error));
      CU_ASSERT_EQUAL (atomic_load (&n_here) + atomic_load (&n_elsewhere), 11);
    }
}

/* -- What the process remembers ------------------------------------------ */

typedef struct
{
  gsize bytes;   /* of the datum */
  gboolean here; /* the first task is computed by the submitting thread */
} Again;

static gboolean
build_again (HassGraph *graph, gpointer user_data, GError **error)
{
  const Again *again = user_data;
  (void)error;
  begin (graph);
  HassData *data = hass_graph_scratch (graph, again->bytes);
  hold_core ();
  CU_ASSERT_TRUE (hass_graph_task (graph, &counts,
                                   &(HassAccess){ data, HASS_WRITE }, 1, NULL));
  CU_ASSERT_EQUAL (atomic_load (&n_here), again->here);
  atomic_store (&released, TRUE);
  hass_graph_wait (graph, NULL);
  seem_of (&counts, again->bytes == 100 ? SHORT : LONG);
  return TRUE;
}

static void
remembered (void)
{
  static const Again runs[]
      = { { 100, FALSE }, { 100, TRUE },  { 80, TRUE },
          { 80, FALSE },  { 100, FALSE }, { 120, FALSE } };
  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      HassDataflow d = flow_of (build_again, (gpointer)&runs[i]);
      g_autoptr (GError) error = NULL;
      CU_ASSERT_TRUE (hass_dataflow (&d, NULL, &error));
    }
}

/* -- Recorded graphs ----------------------------------------------------- */

#define N_RECORDED 60

/* @turn: the task from which on the codelet seems long. @n_run: tasks that ran.
   @n_early: of these, those before the turn that ran out of order; @n_late:
   likewise, those from the turn on. */
static guint turn;
static guint64 sum;
static _Atomic guint n_run, n_early, n_late;

static gboolean
add (const HassCall *call, HassWorker *worker, GError **error)
{
  guint i = *(const guint *)call->arguments;
  (void)worker, (void)error;
  guint at = atomic_fetch_add (&n_run, 1);
  atomic_fetch_add (at < turn ? &n_early : &n_late, i != at);
  if (i % 2 == 0) /* a chain; the others wait for nothing */
    sum = 3 * sum + i;
  seem (i >= turn ? LONG : SHORT);
  return TRUE;
}

static const HassCodelet adds = HASS_CODELET (.name = "add", .cpu = add);

static gboolean
build_recorded (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data, (void)error;
  begin (graph);
  HassData *data = hass_graph_data (graph, &sum, sizeof sum, 1, 0);
  for (guint i = 0; i < N_RECORDED; i++)
    {
      HassTaskHints hints = { .arguments = &i, .argument_bytes = sizeof i };
      hass_graph_task (graph, &adds, &(HassAccess){ data, HASS_UPDATE },
                       i % 2 == 0, &hints);
    }
  return TRUE;
}

/* Runs the graph until a run was in order up to the turn: a task that was held
   up while it was measured seems long, too. Returns: FALSE if none was. */
static gboolean
turns (HassRecorded *r, guint64 want)
{
  for (guint i = 0; i < 100; i++)
    {
      g_autoptr (GError) error = NULL;
      seem (SHORT);
      sum = 0;
      atomic_store (&n_run, 0);
      atomic_store (&n_early, 0);
      atomic_store (&n_late, 0);
      CU_ASSERT_TRUE (hass_recorded_run (r, 1, NULL, NULL, &error));
      CU_ASSERT_EQUAL (sum, want);
      CU_ASSERT_EQUAL (atomic_load (&n_run), N_RECORDED);
      /* To all cores those go first that wait for nothing. */
      CU_ASSERT_TRUE (turn + 8 > N_RECORDED || atomic_load (&n_late) > 0);
      if (atomic_load (&n_early) == 0)
        return TRUE;
    }
  return FALSE;
}

static void
recorded (void)
{
  HassDataflow d = flow_of (build_recorded, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (HassRecorded) r = hass_dataflow_record (&d, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r);
  guint64 want = 0;
  for (guint i = 0; i < N_RECORDED; i += 2)
    want = 3 * want + i;
  /* Until runs by all cores are known, then in order until that is known. */
  turn = 0;
  CU_ASSERT_TRUE (hass_recorded_run (r, 3, NULL, NULL, &error));
  for (turn = 1; turn <= N_RECORDED; turn++)
    CU_ASSERT_TRUE (turns (r, want));
}

HASS_TEST_SUITE (
    dataflow_at_once,
    { "what is short, by the mean time and the least", what_is_short },
    { "one core computes each task when it is submitted", one_core },
    { "but not before it knows the priorities of others", priorities },
    { "short tasks are computed by the submitting thread", short_tasks },
    { "but none that must not run beside another one", commuting },
    { "so are those that they wait for, if all are short", catch_up },
    { "what was short in one run is so in the next, of no more bytes",
      remembered },
    { "a recorded graph goes on at all cores when tasks get long", recorded })
