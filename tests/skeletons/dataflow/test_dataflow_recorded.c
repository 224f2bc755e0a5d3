/* SPDX-License-Identifier: MIT */
/* test_dataflow_recorded.c: recorded graphs that run on devices.

   The graph has groups of four blocks: the first one grows; the second and the
   third are copies of it, of which one grows; the last one joins them, and is
   copied to the third. So there are chains and diamonds, tasks that wait for
   readers, and tasks that wait for one that has read and written.

   Thread safety: one thread beside those of the dataflows. */
#include <gio/gio.h>
#include <stdatomic.h>
#include <string.h>

#include "crowd.h"
#include "device_flow.h"
#include "flow.h"

#define N_GROUPS 3
#define N_BLOCKS (4 * N_GROUPS)
#define N_LAYERS 4
#define TASKS_OF_LAYER 7
#define N_TASKS (N_GROUPS * N_LAYERS * TASKS_OF_LAYER)

static Block blocks[N_BLOCKS], others[N_BLOCKS];

/* -- Codelets ----------------------------------------------------------- */

static guint64
joined (guint64 a, guint64 b, guint64 sum)
{
  return 3 * sum + a + 2 * b + 1;
}

static void
join (const HassCall *call)
{
  const HassDataView *v = call->views;
  for (gsize r = 0; r < v[2].rows; r++)
    {
      guint64 *of[3];
      for (guint i = 0; i < 3; i++)
        of[i] = (gpointer)((guint8 *)v[i].data + r * v[i].pitch);
      for (gsize w = 0; w < v[2].row_bytes / sizeof **of; w++)
        of[2][w] = joined (of[0][w], of[1][w], of[2][w]);
    }
}

/* A task that should cancel its dataflow, counted down to 0; else negative. */
static _Atomic int until_cancel = -1;
static GCancellable *cancellable;

static void
count_task (void)
{
  if (atomic_load (&until_cancel) > 0
      && atomic_fetch_sub (&until_cancel, 1) == 1)
    g_cancellable_cancel (cancellable);
}

static gboolean
on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  count_task ();
  if (call->n_views == 1)
    grow (call);
  else if (call->n_views == 2)
    copy (call);
  else
    join (call);
  return TRUE;
}

static gboolean
on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
        GError **error)
{
  (void)error;
  for (guint i = 0; i < n_calls; i++)
    {
      count_task ();
      stand_in_data_launch (stream,
                            calls[i].n_views == 1   ? grow
                            : calls[i].n_views == 2 ? copy
                                                    : join,
                            &calls[i], 0);
    }
  return TRUE;
}

/* Where the tasks of a graph may run; MIXED: by turns. */
typedef enum
{
  CORE,
  ALONE,
  BOTH,
  MIXED
} Where;

static const HassCodelet codelets[]
    = { [CORE] = HASS_CODELET (.name = "core", .cpu = on_core),
        [ALONE] = HASS_CODELET (.name = "alone", .gpu = on_gpu),
        [BOTH] = HASS_CODELET (.name = "both", .cpu = on_core, .gpu = on_gpu,
                               .gpu_most = 2) };

/* -- The graph ---------------------------------------------------------- */

static HassData *data[N_BLOCKS];

static void
submit (HassGraph *graph, Where where, guint *n, HassData *const *of,
        guint n_data)
{
  HassAccess accesses[3];
  for (guint i = 0; i < n_data; i++)
    accesses[i] = (HassAccess){ of[i], i + 1 < n_data ? HASS_READ
                                       : n_data == 2  ? HASS_WRITE
                                                      : HASS_UPDATE };
  Where here = where == MIXED ? (Where)(*n % 3) : where;
  CU_ASSERT_TRUE (
      hass_graph_task (graph, &codelets[here], accesses, n_data, NULL));
  *n += 1;
}

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  Where where = *(const Where *)user_data;
  guint n = 0;
  (void)error;
  for (guint i = 0; i < N_BLOCKS; i++)
    data[i] = block_data (graph, &blocks[i]);
  for (guint i = 0; i < N_LAYERS * N_GROUPS; i++)
    {
      HassData **d = &data[4 * (i % N_GROUPS)];
      submit (graph, where, &n, d, 1);
      submit (graph, where, &n, d, 1);
      submit (graph, where, &n, (HassData *[]){ d[0], d[1] }, 2);
      submit (graph, where, &n, (HassData *[]){ d[0], d[2] }, 2);
      submit (graph, where, &n, &d[1], 1);
      submit (graph, where, &n, &d[1], 3);
      submit (graph, where, &n, (HassData *[]){ d[3], d[2] }, 2);
    }
  CU_ASSERT_EQUAL (n, N_TASKS);
  return TRUE;
}

/* Whether blocks are as @times runs leave them that began at version @from. */
static gboolean
are_right (const Block *of, guint64 from, guint64 times)
{
  guint64 a = from, b = from, sum = from;
  gboolean ok = TRUE;
  for (guint64 i = 0; i < times * N_LAYERS; i++)
    {
      a += 2;
      b = a + 1;
      sum = joined (b, a, sum);
    }
  for (guint i = 0; i < N_BLOCKS; i++)
    ok &= block_is (&of[i], i % 4 == 0 ? a : i % 4 == 1 ? b : sum);
  return ok;
}

static DeviceFlow
begin (const char *name)
{
  DeviceFlow f = device_flow_begin (name, 1, blocks, N_BLOCKS);
  f.calls = 1;
  return f;
}

static guint
computed_on (const DeviceFlow *f)
{
  return f->counts[0].computed + f->counts[1].computed;
}

/* -- Runs --------------------------------------------------------------- */

static void
runs_on_devices (void)
{
  static const guint64 times[] = { 1, 2, 50 };
  for (guint i = 0; i < 3 * 3 * 2; i++)
    {
      Where where = (Where)(ALONE + i % 3);
      DeviceFlow f = begin ("runs");
      f.times = times[i / 3 % 3];
      f.n_devices = 1 + i / 9;
      f.n_cores = 2;
      device_flow_must_run (&f, build, &where);
      CU_ASSERT_TRUE (are_right (blocks, 0, f.times));
      if (where == ALONE)
        CU_ASSERT_EQUAL (computed_on (&f), f.times * N_TASKS);
      if (where == MIXED)
        CU_ASSERT_TRUE (computed_on (&f) >= f.times * N_TASKS / 3);
    }
}

static gboolean
build_chains (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *first[N_BLOCKS];
  (void)user_data, (void)error;
  for (guint i = 0; i < N_BLOCKS; i++)
    first[i] = block_data (graph, &blocks[i]);
  for (guint t = 0; t < 10 * N_BLOCKS; t++)
    submit_grow (graph, &grow_alone, first[t % N_BLOCKS]);
  return TRUE;
}

static gboolean
go_on (gpointer user_data)
{
  (void)user_data;
  return TRUE;
}

/* Nothing can change data between runs where no callback is called. */
static void
data_stay (void)
{
  for (guint i = 0; i < 2; i++)
    {
      DeviceFlow f = begin ("data stay");
      f.times = 5;
      f.again = i == 0 ? NULL : go_on;
      device_flow_must_run (&f, build_chains, NULL);
      for (guint k = 0; k < N_BLOCKS; k++)
        CU_ASSERT_TRUE (block_is (&blocks[k], 50));
      CU_ASSERT_EQUAL (f.counts[0].copies_out, 5 * N_BLOCKS);
      CU_ASSERT_EQUAL (f.counts[0].copies_in, (i == 0 ? 1 : 5) * N_BLOCKS);
    }
}

/* -- Other data --------------------------------------------------------- */

/* Between two runs all data get the version 7. */
static gboolean
write_all (gpointer user_data)
{
  (void)user_data;
  for (guint i = 0; i < N_BLOCKS; i++)
    block_init (&blocks[i], 7);
  return TRUE;
}

static void
written_between_runs (void)
{
  for (Where where = ALONE; where <= MIXED; where++)
    {
      DeviceFlow f = begin ("written");
      f.times = 3;
      f.again = write_all;
      f.n_devices = 2;
      device_flow_must_run (&f, build, &where);
      CU_ASSERT_TRUE (are_right (blocks, 7, 1));
    }
}

/* Before the second call other data are bound, before the third the first. */
static void
bind_others (HassRecorded *recorded, guint call, gpointer user_data)
{
  (void)user_data;
  for (guint i = 0; i < N_BLOCKS; i++)
    hass_recorded_bind (recorded, data[i], call == 1 ? &others[i] : &blocks[i]);
}

static void
other_data (void)
{
  for (Where where = ALONE; where <= MIXED; where++)
    {
      DeviceFlow f = begin ("other data");
      f.calls = 3;
      f.times = 2;
      f.bind = bind_others;
      f.n_devices = 2;
      for (guint i = 0; i < N_BLOCKS; i++)
        block_init (&others[i], 1000);
      device_flow_must_run (&f, build, &where);
      CU_ASSERT_TRUE (are_right (blocks, 0, 4));
      CU_ASSERT_TRUE (are_right (others, 1000, 2));
    }
}

/* -- Faults ------------------------------------------------------------- */

/* Sets fault @fault of a device at its operation, or call, @n. */
static void
plan_fault (DeviceFlow *f, StandInDataPlan *p, guint fault, guint n)
{
  guint *at[] = { &p->lose_at, &p->lose_at_call, &p->fail_at, &p->hang_at,
                  &p->fail_alloc_at };
  *at[fault] = n;
  f->bundle_deadline_ms = fault == 3 ? 10 : 0;
}

/* The last operations of a device lie in the last of four runs, if it does
   about a half of all. */
static void
dies_in_some_run (void)
{
  guint lost = 0, late = 0;
  for (guint n = 1; n <= 2 * N_TASKS; n += CROWD_SCALE (200) > 100 ? 3 : 17)
    for (guint fault = 0; fault < 5; fault++)
      {
        Where where = n % 3 == 0 ? MIXED : ALONE;
        DeviceFlow f = begin ("dies");
        f.times = 4;
        f.n_devices = 2;
        f.plans[0].seed = n;
        f.plans[1].seed = 100 + n;
        plan_fault (&f, &f.plans[n % 2], fault, n);
        device_flow_must_run (&f, build, &where);
        CU_ASSERT_TRUE (are_right (blocks, 0, f.times));
        lost += f.counts[n % 2].lost;
        late += f.counts[n % 2].lost && f.counts[n % 2].computed > N_TASKS / 2;
      }
  CU_ASSERT_TRUE (lost > 0);
  CU_ASSERT_TRUE (late > 0);
}

/* Cores compute what the only device does not. */
static void
cores_go_on (void)
{
  Where where = BOTH;
  for (guint n = 1; n <= 60; n++)
    {
      DeviceFlow f = begin ("cores go on");
      f.times = 3;
      plan_fault (&f, &f.plans[0], n % 3, n / 3 + 1);
      device_flow_must_run (&f, build, &where);
      CU_ASSERT_TRUE (are_right (blocks, 0, f.times));
    }
}

static void
last_device_lost (void)
{
  Where where = ALONE;
  for (guint n = 1; n <= 3 * N_TASKS; n += 20)
    {
      g_autoptr (GError) error = NULL;
      DeviceFlow f = begin ("last device lost");
      f.times = 3;
      f.plans[0].lose_at = n;
      CU_ASSERT_FALSE (device_flow_run (&f, build, &where, &error));
      CU_ASSERT_TRUE (
          flow_says (error, HASS_ERROR_DEVICE, "'flow'", "'alone'", NULL));
      g_clear_pointer (&f.report, hass_report_free);
    }
}

/* -- Cancelling --------------------------------------------------------- */

static const DeviceFlow *flow;

/* Each task of a run that was begun is computed or unfinished. */
static void
check_report (const HassReport *r)
{
  guint64 n_tasks = r->loads;
  for (guint i = 0; i < r->n_unfinished; i++)
    n_tasks += r->unfinished[i].n_loads;
  CU_ASSERT_EQUAL (n_tasks % N_TASKS, 0);
}

/* The call before this one was cancelled: all data are whole. They begin
   anew. */
static void
begin_anew (HassRecorded *recorded, guint call, gpointer user_data)
{
  (void)recorded, (void)call, (void)user_data;
  check_report (flow->report);
  for (guint i = 0; i < N_BLOCKS; i++)
    {
      CU_ASSERT_TRUE (block_is (&blocks[i], blocks[i].at[0][0]));
      block_init (&blocks[i], 0);
    }
  atomic_store (&until_cancel, -1);
  g_cancellable_reset (cancellable);
}

static void
cancelled (void)
{
  guint n_cancelled = 0;
  for (guint seed = 0; seed < CROWD_SCALE (200); seed++)
    {
      g_autoptr (GError) error = NULL;
      Where where = (Where)(ALONE + seed % 3);
      DeviceFlow f = begin ("cancelled");
      f.calls = 2;
      f.times = 3;
      f.retries = TRUE;
      f.bind = begin_anew;
      f.n_devices = f.n_cores = 1 + seed / 3 % 2;
      f.plans[0].seed = f.plans[1].seed = seed;
      f.plans[0].threads = seed % 4 == 0 ? 2 : 0;
      f.cancellable = cancellable = g_cancellable_new ();
      atomic_store (&until_cancel, 1 + (int)(seed * 31 % (3 * N_TASKS)));
      flow = &f;
      CU_ASSERT_TRUE (device_flow_run (&f, build, &where, &error));
      CU_ASSERT_TRUE (are_right (blocks, 0, f.times));
      CU_ASSERT_TRUE (
          !error || flow_says (error, HASS_ERROR_CANCELLED, "'flow'", NULL));
      n_cancelled += error != NULL;
      g_clear_pointer (&f.report, hass_report_free);
      g_object_unref (cancellable);
    }
  CU_ASSERT_TRUE (n_cancelled > 0);
}

HASS_TEST_SUITE (
    dataflow_recorded,
    { "a recorded graph on devices leaves the sequential values at each run",
      runs_on_devices },
    { "data stay on a device from run to run unless a callback may write them",
      data_stay },
    { "what is written between two runs is copied to devices again",
      written_between_runs },
    { "a recorded graph runs on devices with other data, too", other_data },
    { "a recorded graph goes on if a device fails or is lost in any run",
      dies_in_some_run },
    { "cores go on with a recorded graph if the only device fails",
      cores_go_on },
    { "a recorded graph fails if its last device is lost", last_device_lost },
    { "a recorded graph that was cancelled on devices runs whole again",
      cancelled })
