/* SPDX-License-Identifier: MIT */
/* test_dataflow_last.c: the last predecessors of tasks in a trace: on cores and
   devices, live and in virtual time, recorded and built.
   Thread safety: one thread beside those of the dataflows. */
#include <json-glib/json-glib.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "device_flow.h"
#include "tests/engine/virtual/virtual_flow.h"

#define N_BLOCKS 12
#define N_TASKS 400
#define NONE (-1)

/* -- Reference ----------------------------------------------------------- */

/* What a task of the plan does: @to is updated, commuted with, or written from
   @from, which is read. */
typedef struct
{
  guint from, to;
  HassAccessMode mode;
} Step;

typedef struct
{
  HassAccessMode mode; /* of @group */
  GArray *before;      /* gint: those that all of the group follow */
  GArray *group;       /* gint */
} Datum;

/* Plans, and for each pair of tasks whether the first may directly follow the
   second, by the accesses in the order of submission. */
typedef struct
{
  guint n;
  Step steps[N_TASKS];
  gboolean follows[N_TASKS][N_TASKS];
  gboolean waits[N_TASKS]; /* it follows any */
  Block blocks[N_BLOCKS];
} Plan;

static void
link_to (Plan *plan, guint task, const GArray *others)
{
  for (guint i = 0; i < others->len; i++)
    {
      guint other = (guint)g_array_index (others, gint, i);
      plan->follows[task][other] = plan->waits[task] = TRUE;
    }
}

static void
add_use (Plan *plan, Datum *datum, guint task, HassAccessMode mode)
{
  gint me = (gint)task;
  gboolean shared = mode == HASS_READ || mode == HASS_COMMUTE;
  gboolean joins = shared && (datum->group->len == 0 || datum->mode == mode);
  if (!joins && datum->group->len > 0)
    {
      g_array_set_size (datum->before, 0);
      g_array_append_vals (datum->before, datum->group->data,
                           datum->group->len);
      g_array_set_size (datum->group, 0);
    }
  link_to (plan, task, datum->before);
  if (shared)
    {
      /* Tasks that commute exclude each other, in any order. */
      for (guint i = 0; mode == HASS_COMMUTE && i < datum->group->len; i++)
        {
          guint other = (guint)g_array_index (datum->group, gint, i);
          plan->follows[task][other] = plan->follows[other][task] = TRUE;
        }
      datum->mode = mode;
      g_array_append_val (datum->group, me);
      return;
    }
  g_array_set_size (datum->before, 0);
  g_array_append_val (datum->before, me);
}

static void
refer (Plan *plan)
{
  Datum data[N_BLOCKS];
  for (guint d = 0; d < N_BLOCKS; d++)
    data[d] = (Datum){ .before = g_array_new (FALSE, FALSE, sizeof (gint)),
                       .group = g_array_new (FALSE, FALSE, sizeof (gint)) };
  for (guint t = 0; t < plan->n; t++)
    {
      const Step *s = &plan->steps[t];
      if (s->mode == HASS_WRITE)
        add_use (plan, &data[s->from], t, HASS_READ);
      add_use (plan, &data[s->to], t, s->mode);
    }
  for (guint d = 0; d < N_BLOCKS; d++)
    {
      g_array_unref (data[d].before);
      g_array_unref (data[d].group);
    }
}

static Plan *
random_plan (guint32 seed, gboolean commutes)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  Plan *plan = g_new0 (Plan, 1);
  plan->n = N_TASKS;
  for (guint t = 0; t < plan->n; t++)
    {
      guint to = (guint)g_rand_int_range (rand, 0, N_BLOCKS);
      gint kind = g_rand_int_range (rand, 0, commutes ? 4 : 3);
      plan->steps[t]
          = (Step){ .to = to,
                    .from
                    = (to + 1 + (guint)g_rand_int_range (rand, 0, N_BLOCKS - 1))
                      % N_BLOCKS,
                    .mode = kind == 0   ? HASS_UPDATE
                            : kind == 3 ? HASS_COMMUTE
                                        : HASS_WRITE };
    }
  refer (plan);
  return plan;
}

/* -- Traces -------------------------------------------------------------- */

/* A task's line. @after: NONE: null. */
typedef struct
{
  gint task, after;
  gint64 begin, end;
} Line;

/* Returns: Line, of the tasks of the program. */
static GArray *
lines_of (const char *text)
{
  GArray *lines = g_array_new (FALSE, FALSE, sizeof (Line));
  g_auto (GStrv) parts = g_strsplit (text, "\n", -1);
  for (guint i = 0; parts[i]; i++)
    {
      if (!strstr (parts[i], "\"event\":\"task\"")
          || strstr (parts[i], "(order)"))
        continue;
      g_autoptr (JsonNode) node = json_from_string (parts[i], NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (node);
      JsonObject *o = json_node_get_object (node);
      CU_ASSERT_TRUE_FATAL (json_object_has_member (o, "after"));
      Line line = { .task = (gint)json_object_get_int_member (o, "task"),
                    .after = NONE,
                    .begin = json_object_get_int_member (o, "begin"),
                    .end = json_object_get_int_member (o, "t") };
      if (!json_object_get_null_member (o, "after"))
        line.after = (gint)json_object_get_int_member (o, "after");
      g_array_append_val (lines, line);
    }
  return lines;
}

/* Traces what @run does. */
static GArray *
traced (void (*run) (gpointer data), gpointer data)
{
  g_autofree char *path = NULL, *text = NULL;
  int fd = g_file_open_tmp ("hass-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  g_setenv ("HASS_TRACE", path, TRUE);
  run (data);
  g_unsetenv ("HASS_TRACE");
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  return lines_of (text);
}

/* Returns: TRUE if task @of was computed, and had ended by @begin. */
static gboolean
ended_before (const GArray *lines, gint of, gint64 begin)
{
  for (guint i = 0; i < lines->len; i++)
    {
      const Line *line = &g_array_index (lines, Line, i);
      if (line->task == of && line->end <= begin)
        return TRUE;
    }
  return FALSE;
}

/* Each task has a last predecessor, if it follows any. @gate: 1 if the first
   task is the gate, which all others follow; else 0. */
static void
check (const Plan *plan, const GArray *lines, gint gate)
{
  guint n_false = 0, n_late = 0, n_none = 0, n_some = 0;
  for (guint i = 0; i < lines->len; i++)
    {
      const Line *line = &g_array_index (lines, Line, i);
      gint task = line->task - gate, after = line->after - gate;
      CU_ASSERT_TRUE_FATAL (task >= -gate && task < (gint)plan->n);
      n_none += line->after == NONE && task >= 0
                && (gate == 1 || plan->waits[task]);
      if (line->after == NONE)
        continue;
      n_some++;
      CU_ASSERT_TRUE_FATAL (task >= 0 && after >= -gate
                            && after < (gint)plan->n);
      n_false += after >= 0 && !plan->follows[task][after];
      n_late += !ended_before (lines, line->after, line->begin);
    }
  CU_ASSERT_EQUAL (n_false, 0);
  CU_ASSERT_EQUAL (n_late, 0);
  CU_ASSERT_TRUE (n_some > 0);
  CU_ASSERT_EQUAL (n_none, 0);
}

/* -- Live ---------------------------------------------------------------- */

typedef struct
{
  Plan *plan;
  guint n_devices, calls;
} Live;

/* @blocks: [N_BLOCKS] accesses to them. */
static gboolean
submit_plan (HassGraph *graph, const Plan *plan, const HassAccess *blocks)
{
  gboolean ok = TRUE;
  for (guint t = 0; t < plan->n && ok; t++)
    {
      const Step *s = &plan->steps[t];
      const HassAccess commute[] = { { blocks[s->to].data, HASS_COMMUTE } };
      if (s->mode == HASS_WRITE)
        ok = submit_copy (graph, &copy_alone, blocks[s->from].data,
                          blocks[s->to].data);
      else if (s->mode == HASS_UPDATE)
        ok = submit_grow (graph, &grow_both, blocks[s->to].data);
      else
        ok = hass_graph_task (graph, &grow_core, commute, 1, NULL);
    }
  return ok;
}

static _Atomic gboolean submitted;

static gboolean
wait_at_gate (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  while (!atomic_load (&submitted))
    g_usleep (100);
  return TRUE;
}

static const HassCodelet gate
    = HASS_CODELET (.name = "gate", .cpu = wait_at_gate);

/* No task begins before all are submitted. */
static gboolean
build_behind_gate (HassGraph *graph, gpointer user_data, GError **error)
{
  Plan *plan = user_data;
  HassAccess accesses[N_BLOCKS];
  (void)error;
  atomic_store (&submitted, FALSE);
  for (guint d = 0; d < N_BLOCKS; d++)
    accesses[d]
        = (HassAccess){ block_data (graph, &plan->blocks[d]), HASS_UPDATE };
  gboolean ok = hass_graph_task (graph, &gate, accesses, N_BLOCKS, NULL)
                && submit_plan (graph, plan, accesses);
  atomic_store (&submitted, TRUE);
  return ok;
}

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  Plan *plan = user_data;
  HassAccess accesses[N_BLOCKS];
  (void)error;
  for (guint d = 0; d < N_BLOCKS; d++)
    accesses[d].data = block_data (graph, &plan->blocks[d]);
  return submit_plan (graph, plan, accesses);
}

static void
run_live (gpointer data)
{
  const Live *live = data;
  DeviceFlow flow = device_flow_begin ("last", live->n_devices,
                                       live->plan->blocks, N_BLOCKS);
  flow.n_cores = 3;
  flow.calls = live->calls;
  flow.times = 2;
  device_flow_must_run (&flow, live->calls > 0 ? build : build_behind_gate,
                        live->plan);
  hass_report_free (flow.report);
}

static void
live (guint n_devices, gboolean commutes, guint calls)
{
  for (guint32 seed = 0; seed < 8; seed++)
    {
      g_autofree Plan *plan = random_plan (seed, commutes);
      g_autoptr (GArray) lines
          = traced (run_live, &(Live){ plan, n_devices, calls });
      CU_ASSERT_TRUE (lines->len >= plan->n);
      check (plan, lines, calls == 0);
    }
}

static void
built (void)
{
  live (1, TRUE, 0);
  live (2, FALSE, 0);
}

static void
recorded (void)
{
  live (1, TRUE, 1);
  live (2, FALSE, 1);
}

/* -- Virtual time --------------------------------------------------------- */

/* 0 before 1 and 2, which are before 3; the second takes the longest. */
static gboolean
diamond (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *x = hass_graph_scratch (graph, 0),
           *y = hass_graph_scratch (graph, 0);
  HassData *z = hass_graph_scratch (graph, 0);
  const HassAccess accesses[4][2] = {
    { { x, HASS_WRITE } },
    { { x, HASS_READ }, { y, HASS_WRITE } },
    { { x, HASS_READ }, { z, HASS_WRITE } },
    { { y, HASS_READ }, { z, HASS_READ } },
  };
  static const double work[] = { 10, 30, 20, 5 };
  (void)user_data, (void)error;
  for (guint t = 0; t < 4; t++)
    if (!hass_graph_task (graph, &virtual_flow_counts, accesses[t],
                          t == 0 ? 1 : 2, &(HassTaskHints){ .work = work[t] }))
      return FALSE;
  return TRUE;
}

static void
run_diamond (gpointer data)
{
  CU_ASSERT_TRUE (virtual_flow_run (data, diamond, NULL));
}

static void
check_diamond (VirtualFlow flow, const Line want[4])
{
  g_autoptr (GArray) lines = traced (run_diamond, &flow);
  CU_ASSERT_EQUAL_FATAL (lines->len, 4);
  for (guint i = 0; i < 4; i++)
    {
      const Line *line = &g_array_index (lines, Line, i);
      const Line *is = &want[line->task];
      CU_ASSERT_EQUAL (line->after, is->after);
      CU_ASSERT_EQUAL (line->begin, is->begin);
      CU_ASSERT_EQUAL (line->end, is->end);
    }
  hass_report_free (flow.report);
}

static void
diamonds (void)
{
  /* On one core the graph that is built has 2 before 1; the one that is
     recorded knows that 1 is on the longest path. */
  static const Line one[] = { { 0, NONE, 0, 10000 },
                              { 1, 0, 30000, 60000 },
                              { 2, 0, 10000, 30000 },
                              { 3, 1, 60000, 65000 } },
                    ranked[] = { { 0, NONE, 0, 10000 },
                                 { 1, 0, 10000, 40000 },
                                 { 2, 0, 40000, 60000 },
                                 { 3, 2, 60000, 65000 } },
                    two[] = { { 0, NONE, 0, 10000 },
                              { 1, 0, 10000, 40000 },
                              { 2, 0, 10000, 30000 },
                              { 3, 1, 40000, 45000 } };
  check_diamond ((VirtualFlow){ .n_cores = 1 }, one);
  check_diamond ((VirtualFlow){ .n_cores = 1, .times = 1 }, ranked);
  check_diamond ((VirtualFlow){ .n_cores = 2 }, two);
  check_diamond ((VirtualFlow){ .n_cores = 2, .times = 1 }, two);
}

HASS_TEST_SUITE (
    trace_last,
    { "a diamond in virtual time has exactly these last predecessors",
      diamonds },
    { "a live task begins after its last predecessor, which it depends on",
      built },
    { "so does a task of a recorded graph, and none but the first lack one",
      recorded })
