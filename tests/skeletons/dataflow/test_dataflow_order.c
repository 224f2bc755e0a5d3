/* SPDX-License-Identifier: MIT */
/* test_dataflow_order.c: in which order tasks begin, what waiting waits for,
   and what becomes of what tasks have reduced, failed at, or been given.
   Thread safety: one thread beside those of the dataflows. */
#include <gio/gio.h>
#include <stdatomic.h>

#include "flow.h"

#define MOST 512

static guint64 memory[MOST];
static guint order[MOST]; /* arguments of the tasks, as they were computed */
static _Atomic guint n_computed;

static void
begin (void)
{
  memset (memory, 0, sizeof memory);
  atomic_store (&n_computed, 0);
}

static HassDataflow
on_cores (HassBuildFunc build, gpointer user_data, guint n_cores)
{
  HassDataflow d = flow_of (build, user_data);
  d.run.n_cores = n_cores;
  return d;
}

static void
must_run (const HassDataflow *d)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (hass_dataflow (d, NULL, &error));
  if (error)
    printf ("\n    %s\n", error->message);
}

/* Notes its argument; takes some 20 us. */
static gboolean
note (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  g_usleep (20);
  order[atomic_fetch_add (&n_computed, 1) % MOST]
      = *(const guint *)call->arguments;
  return TRUE;
}

static const HassCodelet notes = HASS_CODELET (.name = "note", .cpu = note);

static void
submit (HassGraph *graph, const HassCodelet *codelet, HassData *data,
        HassAccessMode mode, guint argument, gint32 priority)
{
  HassTaskHints hints = { .arguments = &argument,
                          .argument_bytes = sizeof argument,
                          .priority = priority };
  CU_ASSERT_TRUE (
      hass_graph_task (graph, codelet, &(HassAccess){ data, mode }, 1, &hints));
}

/* -- Order -------------------------------------------------------------- */

#define N_RANKED 300

static gint32
priority_of (guint i)
{
  return (gint32)(i * 7919 % 1009) - 500;
}

static gboolean
build_ranked (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = hass_graph_scratch (graph, 0);
  (void)user_data, (void)error;
  submit (graph, &notes, data, HASS_WRITE, N_RANKED, 1);
  for (guint i = 0; i < N_RANKED; i++)
    submit (graph, &notes, data, HASS_READ, i, priority_of (i));
  return TRUE;
}

static void
priorities (void)
{
  HassDataflow d = on_cores (build_ranked, NULL, 1);
  guint n_wrong = 0;
  begin ();
  must_run (&d);
  CU_ASSERT_EQUAL (atomic_load (&n_computed), N_RANKED + 1);
  for (guint i = 2; i <= N_RANKED; i++)
    n_wrong += priority_of (order[i]) > priority_of (order[i - 1]);
  CU_ASSERT_EQUAL (n_wrong, 0);
}

#define N_CHAINS 12

/* Chain c has 1 + c * 5 % N_CHAINS tasks; the first has the argument c. */
static gboolean
build_chains (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *first = hass_graph_scratch (graph, 0);
  (void)user_data, (void)error;
  submit (graph, &notes, first, HASS_WRITE, MOST, 0);
  for (guint c = 0; c < N_CHAINS; c++)
    {
      HassData *data = hass_graph_data (graph, &memory[c], 8, 1, 0);
      HassAccess both[] = { { first, HASS_READ }, { data, HASS_UPDATE } };
      HassTaskHints hints = { .arguments = &c, .argument_bytes = sizeof c };
      hass_graph_task (graph, &notes, both, 2, &hints);
      for (guint i = 0; i < c * 5 % N_CHAINS; i++)
        submit (graph, &notes, data, HASS_UPDATE, MOST, 0);
    }
  return TRUE;
}

static void
longest_paths (void)
{
  HassDataflow d = on_cores (build_chains, NULL, 1);
  guint last = N_CHAINS, n = 0;
  g_autoptr (HassRecorded) r = hass_dataflow_record (&d, NULL);
  begin ();
  CU_ASSERT_TRUE (hass_recorded_run (r, 1, NULL, NULL, NULL));
  for (guint i = 0; i < atomic_load (&n_computed); i++)
    if (order[i] < MOST)
      {
        guint length = order[i] * 5 % N_CHAINS;
        CU_ASSERT_TRUE (length < last);
        last = length;
        n++;
      }
  CU_ASSERT_EQUAL (n, N_CHAINS);
}

/* -- Waiting ------------------------------------------------------------ */

static gboolean
build_readers (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = hass_graph_data (graph, memory, 8, 1, 0);
  (void)user_data, (void)error;
  submit (graph, &notes, data, HASS_WRITE, 0, 0);
  for (guint i = 1; i < 200; i++)
    submit (graph, &notes, data, HASS_READ, i, 0);
  CU_ASSERT_TRUE (hass_graph_wait (graph, data));
  CU_ASSERT_EQUAL (atomic_load (&n_computed), 200);
  return TRUE;
}

static void
waits_for_readers (void)
{
  for (guint n_cores = 1; n_cores <= 3; n_cores++)
    {
      HassDataflow d = on_cores (build_readers, NULL, n_cores);
      begin ();
      must_run (&d);
    }
}

static gboolean
build_slow (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = hass_graph_data (graph, memory, 8, 1, 0);
  gboolean ok = data != NULL;
  (void)user_data, (void)error;
  for (guint i = 0; i < 50000 && ok; i++)
    ok = hass_graph_task (
        graph, &notes, &(HassAccess){ data, HASS_UPDATE }, 1,
        &(HassTaskHints){ .arguments = &i, .argument_bytes = sizeof i });
  return TRUE;
}

/* A chain of some seconds ends within its deadline, or soon after, even if that
   passes while it is built. */
static void
deadline (void)
{
  HassDataflow d = on_cores (build_slow, NULL, 1);
  g_autoptr (GError) error = NULL;
  begin ();
  d.window = 1 << 17;
  d.run.deadline_ms = 50;
  CU_ASSERT_FALSE (hass_dataflow (&d, NULL, &error));
  CU_ASSERT_TRUE (flow_says (error, HASS_ERROR_DEADLINE, "50 ms", NULL));
  CU_ASSERT (atomic_load (&n_computed) < 25000);
}

/* -- Reductions --------------------------------------------------------- */

static gboolean
add_or_fail (const HassCall *call, HassWorker *worker, GError **error)
{
  guint argument = *(const guint *)call->arguments;
  (void)worker;
  if (argument == MOST)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "as planned");
      return FALSE;
    }
  *(guint64 *)call->views[0].data += argument;
  return TRUE;
}

static gboolean
clear (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  *(guint64 *)call->views[0].data = 0;
  return TRUE;
}

static const HassCodelet adds
    = HASS_CODELET (.name = "add", .cpu = add_or_fail);
static const HassCodelet clears = HASS_CODELET (.name = "clear", .cpu = clear);

static void
merge (const HassDataView *into, const HassDataView *copy, gpointer none)
{
  (void)none;
  *(guint64 *)into->data += *(guint64 *)copy->data;
}

static gboolean
build_poisoned (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = hass_graph_data (graph, memory, 8, 1, 0);
  (void)user_data, (void)error;
  hass_graph_reduction (graph, data, NULL, merge, NULL);
  submit (graph, &adds, data, HASS_REDUCE, 100, 0);
  CU_ASSERT_TRUE (hass_graph_wait (graph, data));
  submit (graph, &adds, data, HASS_REDUCE, 1000, 0);
  submit (graph, &adds, data, HASS_REDUCE, MOST, 0);
  CU_ASSERT_FALSE (hass_graph_wait (graph, data));
  submit (graph, &adds, data, HASS_UPDATE, 5, 0);
  submit (graph, &adds, data, HASS_UPDATE, 6, 0);
  submit (graph, &clears, data, HASS_WRITE, 0, 0);
  submit (graph, &adds, data, HASS_REDUCE, 1, 0);
  CU_ASSERT_TRUE (hass_graph_wait (graph, data));
  CU_ASSERT_EQUAL (memory[0], 1);
  return TRUE;
}

static gboolean
build_stopped (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = hass_graph_data (graph, memory, 8, 1, 0);
  (void)user_data, (void)error;
  hass_graph_reduction (graph, data, NULL, merge, NULL);
  submit (graph, &adds, data, HASS_REDUCE, 1, 0);
  hass_graph_wait (graph, data);
  submit (graph, &adds, data, HASS_UPDATE, 1, 0);
  submit (graph, &adds, data, HASS_UPDATE, MOST, 0);
  return TRUE;
}

/* Tasks 0 to 6 are the user's; the library has added some of its own. */
static void
poisoned_reduction (void)
{
  HassDataflow d = on_cores (build_poisoned, NULL, 1);
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  begin ();
  d.run.on_error = HASS_ON_ERROR_CONTINUE;
  CU_ASSERT_TRUE (hass_dataflow (&d, &report, NULL));
  CU_ASSERT_EQUAL_FATAL (report->n_unfinished, 2);
  const HassUnfinished *failed = &report->unfinished[0];
  CU_ASSERT_EQUAL (failed->seq, 2);
  CU_ASSERT_PTR_NOT_NULL_FATAL (failed->message);
  CU_ASSERT_PTR_NOT_NULL (strstr (failed->message, "'add': as planned"));
  CU_ASSERT_PTR_NOT_NULL (strstr (failed->message, "2 tasks"));
  CU_ASSERT_EQUAL (report->unfinished[1].seq, 3);
  CU_ASSERT_EQUAL (report->unfinished[1].n_loads, 2);
  d = on_cores (build_stopped, NULL, 1);
  CU_ASSERT_FALSE (hass_dataflow (&d, NULL, &error));
  CU_ASSERT_TRUE (
      flow_says (error, HASS_ERROR_WORKER, "'flow'", "task 2,", "'add'", NULL));
}

/* Waiting for @gate does not merge the other data. */
static gboolean
build_forgotten (HassGraph *graph, gpointer user_data, GError **error)
{
  static guint64 gate_memory;
  HassData *gate = hass_graph_data (graph, &gate_memory, 8, 1, 0);
  (void)user_data, (void)error;
  for (guint i = 0; i < MOST; i++)
    {
      guint argument = 7;
      HassData *data = hass_graph_data (graph, &memory[i], 8, 1, 0);
      HassAccess both[] = { { data, HASS_REDUCE }, { gate, HASS_UPDATE } };
      HassTaskHints hints
          = { .arguments = &argument, .argument_bytes = sizeof argument };
      hass_graph_reduction (graph, data, NULL, merge, NULL);
      hass_graph_task (graph, &adds, both, 2, &hints);
      hass_graph_wait (graph, gate);
      hass_graph_forget (graph, data);
    }
  return TRUE;
}

static void
forgotten_reductions (void)
{
  HassDataflow d = on_cores (build_forgotten, NULL, 2);
  guint n_wrong = 0;
  begin ();
  must_run (&d);
  for (guint i = 0; i < MOST; i++)
    n_wrong += memory[i] != 7;
  CU_ASSERT_EQUAL (n_wrong, 0);
}

/* -- COMMUTE ------------------------------------------------------------ */

typedef struct
{
  GCancellable *cancellable;
  gboolean cancels;
} Parking;

static gboolean
park (const HassCall *call, HassWorker *worker, GError **error)
{
  Parking *p = call->user_data;
  (void)worker, (void)error;
  g_usleep (p->cancels ? 2000 : 50);
  if (p->cancels)
    g_cancellable_cancel (p->cancellable);
  ++*(guint64 *)call->views[0].data;
  return TRUE;
}

static gboolean
build_parking (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet parks = HASS_CODELET (.name = "park", .cpu = park);
  HassData *data = hass_graph_data (graph, memory, 8, 1, 0);
  (void)user_data, (void)error;
  for (guint i = 0; i < 6; i++)
    submit (graph, &parks, data, HASS_COMMUTE, i, 0);
  return TRUE;
}

/* The graph is stopped while tasks wait for a datum that one uses. */
static void
parked_at_the_end (void)
{
  Parking p = { g_cancellable_new (), TRUE };
  HassDataflow d = on_cores (build_parking, &p, 4);
  d.run.cancellable = p.cancellable;
  g_autoptr (HassRecorded) r = hass_dataflow_record (&d, NULL);
  for (guint i = 0; i < 20; i++)
    {
      p.cancels = TRUE;
      CU_ASSERT_FALSE (hass_recorded_run (r, 1, NULL, NULL, NULL));
      g_cancellable_reset (p.cancellable);
      p.cancels = FALSE;
      begin ();
      CU_ASSERT_TRUE (hass_recorded_run (r, 1, NULL, NULL, NULL));
      CU_ASSERT_EQUAL (memory[0], 6);
    }
  g_object_unref (p.cancellable);
}

/* -- Arguments ---------------------------------------------------------- */

static gboolean
check_arguments (const HassCall *call, HassWorker *worker, GError **error)
{
  const guint8 *bytes = call->arguments;
  (void)worker, (void)error;
  for (guint i = 0; i < bytes[0]; i++)
    if (bytes[i] != bytes[0])
      return FALSE;
  return TRUE;
}

static gboolean
build_arguments (HassGraph *graph, gpointer user_data, GError **error)
{
  static const HassCodelet checks
      = HASS_CODELET (.name = "check", .cpu = check_arguments);
  HassData *data[5];
  HassAccess accesses[5];
  (void)user_data, (void)error;
  for (guint i = 0; i < 5; i++)
    {
      data[i] = hass_graph_data (graph, &memory[i], 8, 1, 0);
      accesses[i] = (HassAccess){ data[i], HASS_UPDATE };
    }
  for (guint n = 1; n < 200; n++)
    {
      guint8 bytes[200];
      HassTaskHints hints = { .arguments = bytes, .argument_bytes = n };
      memset (bytes, (gint)n, n);
      CU_ASSERT_TRUE (
          hass_graph_task (graph, &checks, accesses, n % 6, &hints));
      memset (bytes, 0, n);
    }
  return TRUE;
}

static void
arguments (void)
{
  HassDataflow d = on_cores (build_arguments, NULL, 2);
  d.window = 16;
  must_run (&d);
}

HASS_TEST_SUITE (
    dataflow_order,
    { "ready tasks begin in the order of their priorities", priorities },
    { "tasks of a recorded graph begin by the longest path to its end",
      longest_paths },
    { "waiting for a datum waits for those who read it", waits_for_readers },
    { "a deadline ends a long chain", deadline },
    { "what was reduced before a failure is not merged after it",
      poisoned_reduction },
    { "what was reduced into a datum that is forgotten is merged",
      forgotten_reductions },
    { "tasks that waited for a datum are forgotten when the graph stops",
      parked_at_the_end },
    { "arguments of any size arrive as they were submitted", arguments })
