/* SPDX-License-Identifier: MIT */
/* test_flow_strategies.c: what strategies of dataflows decide, asked directly.
   Thread safety: one thread. */
#include "flow_machine.h"

/* -- flow-auto ---------------------------------------------------------- */

static void
earliest_device (void)
{
  Machine *m = begin ("flow-auto");
  HassFlowTask task = task_of (0, 100, 10);
  HassFlowVerdict v;
  set (m->task_ns, 100, 10, 10);
  set (m->copy_ns, 0, 5, 20);
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_TAKE);
  CU_ASSERT_EQUAL (v.score, 5);
  CU_ASSERT_EQUAL (suits (m, 1, &task, &v), HASS_FLOW_LEAVE);
  CU_ASSERT_EQUAL (v.left_to, 1);
  m->held_ns[0] = 16;
  CU_ASSERT_EQUAL (suits (m, 1, &task, &v), HASS_FLOW_TAKE);
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_LEAVE);
  CU_ASSERT_EQUAL (v.left_to, 2);
  task.devices = 1;
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_TAKE);
  end (m);
}

/* What waits counts twice, but not more than what is left. */
static void
core_before_devices (void)
{
  Machine *m = begin ("flow-auto");
  HassFlowTask task = task_of (0, 100, 10);
  HassFlowVerdict v;
  m->state.backlog_ns = 49;
  m->state.rest_ns = 1000;
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_LEAVE);
  m->state.backlog_ns = 50;
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_IF_HOME);
  m->state.backlog_ns = m->state.rest_ns = 99;
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_LEAVE);
  m->state.rest_ns = 100;
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_IF_HOME);
  task.core_ns = 0;
  task.n_known = 511;
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_LEAVE);
  task.n_known = 512;
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_IF_HOME);
  end (m);
}

/* In a recorded graph a task and the path after it take a 16th of what is left,
   though hardly anything waits. */
static void
core_beside_much_that_is_left (void)
{
  Machine *m = begin ("flow-auto");
  HassFlowTask task = task_of (0, 100, 10);
  HassFlowVerdict v;
  m->state.backlog_ns = 1;
  m->state.rest_ns = 16 * 150;
  set (m->after_ns, 50, 0, 0);
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_IF_HOME);
  set (m->after_ns, 51, 0, 0);
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_LEAVE);
  set (m->after_ns, 0, 0, 0);
  m->state.rest_ns = 16 * 99;
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_LEAVE);
  m->state.rest_ns = 16 * 150;
  task.level = 0; /* nothing is known of what comes after it */
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_LEAVE);
  end (m);
}

/* Its copies home keep the device for longer than a core takes. */
static void
core_before_copies_home (void)
{
  Machine *m = begin ("flow-auto");
  HassFlowTask task = task_of (0, 100, 10);
  HassFlowVerdict v;
  set (m->task_ns, 100, 10, 10);
  task.home_ns = 21;
  m->state.home_ns = 99;
  m->state.core_free_ns = 20;
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_TAKE);
  m->state.home_ns = 100;
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_LEAVE);
  CU_ASSERT_EQUAL (v.left_to, 0);
  m->state.home_ns = 1;
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_TAKE);
  m->held_ns[0] = m->held_ns[1] = 90;
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_LEAVE);
  m->state.home_ns = 0;
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_TAKE);
  m->state.home_ns = 1000;
  task.cores = FALSE;
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_TAKE);
  task.cores = TRUE;
  task.core_ns = 0;
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_TAKE);
  end (m);
}

/* -- Those that assign a task when it becomes ready ---------------------- */

/* A queue is that of the worker + 1. */
static const char *const assigning[] = { "flow-dmda", "flow-dmdas",
                                         "flow-heft", "flow-level",
                                         "flow-peft", NULL };

static void
busy_devices (void)
{
  for (guint i = 0; assigning[i]; i++)
    {
      Machine *m = begin (assigning[i]);
      HassFlowTask task = task_of (0, 100, 10);
      set (m->task_ns, 100, 10, 12);
      m->queue_ns[1] = m->queue_ns[2] = 99;
      CU_ASSERT_EQUAL (place (m, &task).queue, 0);
      CU_ASSERT_EQUAL (place (m, &task).ns, 25);
      m->state.core_free_ns = 20;
      CU_ASSERT_EQUAL (place (m, &task).queue, 1);
      end (m);
    }
}

static void
moving_data (void)
{
  for (guint i = 0; assigning[i]; i++)
    {
      Machine *m = begin (assigning[i]);
      HassFlowTask task = task_of (0, 100, 10);
      set (m->task_ns, 100, 10, 12);
      set (m->copy_ns, 0, G_MAXDOUBLE, G_MAXDOUBLE);
      CU_ASSERT_EQUAL (place (m, &task).queue, 0);
      task.cores = FALSE;
      CU_ASSERT_EQUAL (place (m, &task).queue, 1);
      task.devices = 2;
      CU_ASSERT_EQUAL (place (m, &task).queue, 2);
      end (m);
    }
}

static void
tried_once (void)
{
  for (guint i = 0; assigning[i]; i++)
    {
      Machine *m = begin (assigning[i]);
      HassFlowTask task = task_of (4, 0, 10);
      set (m->task_ns, 0, 10, 10);
      CU_ASSERT_EQUAL (place (m, &task).queue, 1);
      task.n_known = 512;
      CU_ASSERT_EQUAL (place (m, &task).queue, 0);
      CU_ASSERT_EQUAL (place (m, &task).queue, 1);
      end (m);
    }
}

static void
own_queue (void)
{
  for (guint i = 0; assigning[i]; i++)
    {
      Machine *m = begin (assigning[i]);
      for (gint worker = HASS_FLOW_CORES; worker < 2; worker++)
        {
          CU_ASSERT_EQUAL (look (m, worker, 0), worker + 1);
          CU_ASSERT_EQUAL (look (m, worker, 1), -1);
        }
      end (m);
    }
}

/* -- flow-dmda, flow-dmdas ---------------------------------------------- */

/* Workers end a task at 100, 10 and 12 and then as what they have, and the
   copies, say. */
static void
earliest_end (void)
{
  static const char *const names[] = { "flow-dmda", "flow-dmdas" };
  for (guint i = 0; i < 2; i++)
    {
      Machine *m = begin (names[i]);
      HassFlowTask task = task_of (0, 100, 10);
      set (m->task_ns, 100, 10, 12);
      HassFlowSpot spot = place (m, &task);
      CU_ASSERT_EQUAL (spot.queue, 1);
      CU_ASSERT_EQUAL (spot.ns, 10);
      set (m->copy_ns, 0, 3, 0);
      CU_ASSERT_EQUAL (place (m, &task).queue, 2);
      m->held_ns[1] = 2;
      CU_ASSERT_EQUAL (place (m, &task).queue, 1);
      CU_ASSERT_EQUAL (place (m, &task).ns, 13);
      m->queue_ns[1] = 2;
      CU_ASSERT_EQUAL (place (m, &task).queue, 2);
      end (m);
    }
}

static void
order (void)
{
  HassFlowTask task = task_of (0, 100, 10);
  Machine *m = begin ("flow-dmda");
  CU_ASSERT_EQUAL (place (m, &task).priority, 0);
  CU_ASSERT_EQUAL (place (m, &task).level, 0);
  end (m);
  m = begin ("flow-dmdas");
  CU_ASSERT_EQUAL (place (m, &task).priority, 7);
  CU_ASSERT_EQUAL (place (m, &task).level, 3);
  end (m);
}

static void
weights (void)
{
  Machine *m = begin ("flow-dmda:beta=0");
  HassFlowTask task = task_of (0, 100, 10);
  set (m->task_ns, 100, 10, 12);
  set (m->copy_ns, 0, 50, 0);
  CU_ASSERT_EQUAL (place (m, &task).queue, 1);
  end (m);
}

/* -- flow-heft ---------------------------------------------------------- */

/* A copy delays a task only if it takes longer than what the worker has. */
static void
copies_behind_work (void)
{
  static const char *const names[] = { "flow-heft", "flow-peft" };
  for (guint i = 0; i < 2; i++)
    {
      Machine *m = begin (names[i]);
      HassFlowTask task = task_of (0, 100, 10);
      set (m->task_ns, 100, 10, 12);
      set (m->copy_ns, 0, 30, 0);
      CU_ASSERT_EQUAL (place (m, &task).queue, 2);
      m->queue_ns[2] = 29;
      CU_ASSERT_EQUAL (place (m, &task).queue, 1);
      m->held_ns[0] = 30;
      CU_ASSERT_EQUAL (place (m, &task).queue, 1);
      CU_ASSERT_EQUAL (place (m, &task).ns, 10);
      m->queue_ns[1] = 2;
      CU_ASSERT_EQUAL (place (m, &task).queue, 2);
      CU_ASSERT_EQUAL (place (m, &task).priority, 7);
      CU_ASSERT_EQUAL (place (m, &task).level, i == 0 ? 3 : 0);
      end (m);
    }
}

/* -- flow-level --------------------------------------------------------- */

static void
copies_do_not_count (void)
{
  Machine *m = begin ("flow-level");
  HassFlowTask task = task_of (0, 100, 10);
  set (m->task_ns, 100, 10, 12);
  set (m->copy_ns, 0, 1e6, 0);
  CU_ASSERT_EQUAL (place (m, &task).queue, 1);
  CU_ASSERT_EQUAL (place (m, &task).ns, 10);
  m->queue_ns[1] = 3;
  CU_ASSERT_EQUAL (place (m, &task).queue, 2);
  CU_ASSERT_EQUAL (place (m, &task).priority, 7);
  CU_ASSERT_EQUAL (place (m, &task).level, 3);
  end (m);
}

/* -- flow-peft ---------------------------------------------------------- */

static void
rest_of_the_graph (void)
{
  Machine *m = begin ("flow-peft");
  HassFlowTask task = task_of (0, 100, 10);
  set (m->task_ns, 100, 10, 12);
  set (m->after_ns, 0, 1, 0);
  CU_ASSERT_EQUAL (place (m, &task).queue, 1);
  set (m->after_ns, 0, 3, 0);
  CU_ASSERT_EQUAL (place (m, &task).queue, 2);
  set (m->after_ns, 0, 99, 99);
  CU_ASSERT_EQUAL (place (m, &task).queue, 0);
  CU_ASSERT_EQUAL (place (m, &task).ns, 25);
  set (m->copy_ns, 0, 0, G_MAXDOUBLE);
  task.cores = FALSE;
  CU_ASSERT_EQUAL (place (m, &task).queue, 1);
  end (m);
}

/* The mean over four cores and two devices, in units of 16 ns. */
static void
rank_of_the_rest (void)
{
  Machine *m = begin ("flow-peft");
  HassFlowTask task = task_of (0, 100, 10);
  set (m->after_ns, 320, 640, 0);
  CU_ASSERT_EQUAL (place (m, &task).level, 20);
  set (m->after_ns, 1e12, 1e12, 1e12);
  CU_ASSERT_EQUAL (place (m, &task).level, G_MAXUINT32);
  end (m);
}

/* -- flow-heteroprio ---------------------------------------------------- */

static void
by_acceleration (void)
{
  Machine *m = begin ("flow-heteroprio");
  const HassFlowTask tasks[] = { task_of (0, 40, 10), task_of (1, 200, 10),
                                 task_of (2, 20, 10), task_of (3, 0, 10) };
  for (guint i = 0; i < 4; i++)
    CU_ASSERT_EQUAL (place (m, &tasks[i]).queue, i);
  CU_ASSERT_EQUAL (place (m, &tasks[0]).priority, 7);
  static const gint devices[] = { 3, 1, 0, 2, -1 };
  for (guint n = 0; n < 5; n++)
    {
      CU_ASSERT_EQUAL (look (m, 0, n), devices[n]);
      CU_ASSERT_EQUAL (look (m, HASS_FLOW_CORES, n),
                       n < 4 ? devices[3 - n] : -1);
    }
  HassFlowTask slower = task_of (1, 30, 10);
  HassFlowTask faster = task_of (2, 500, 10);
  place (m, &slower);
  place (m, &faster);
  static const gint later[] = { 3, 2, 0, 1, -1 };
  for (guint n = 0; n < 5; n++)
    CU_ASSERT_EQUAL (look (m, 1, n), later[n]);
  end (m);
}

static void
at_the_end (void)
{
  Machine *m = begin ("flow-heteroprio");
  HassFlowTask task = task_of (0, 40, 10);
  HassFlowVerdict v;
  task.n_waiting = 7;
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_LEAVE);
  CU_ASSERT_EQUAL (suits (m, 0, &task, &v), HASS_FLOW_TAKE);
  task.n_waiting = 8;
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_TAKE);
  task.n_waiting = 1;
  task.devices = 0;
  CU_ASSERT_EQUAL (suits (m, HASS_FLOW_CORES, &task, &v), HASS_FLOW_TAKE);
  end (m);
}

HASS_TEST_SUITE (
    flow_strategies,
    { "flow-auto: a device takes what no other would end earlier",
      earliest_device },
    { "flow-auto: a core takes what it ends before devices would come to it",
      core_before_devices },
    { "flow-auto: a core takes what is short, with all after it, beside what "
      "is left",
      core_beside_much_that_is_left },
    { "flow-auto: a device leaves what a core ends before its copies are home",
      core_before_copies_home },
    { "a task is assigned to the cores if they end it before busy devices",
      busy_devices },
    { "a task whose data are being moved is assigned to what can compute it",
      moving_data },
    { "cores are assigned one task of a codelet to try it, if many are known",
      tried_once },
    { "where tasks are assigned a worker looks into its own queue alone",
      own_queue },
    { "flow-dmda and -dmdas assign a task to the earliest predicted end",
      earliest_end },
    { "flow-dmda keeps the order of assignment, flow-dmdas that of priorities",
      order },
    { "the weights of flow-dmda can be set", weights },
    { "flow-heft and -peft have copies behind the work of the worker that ends "
      "earliest",
      copies_behind_work },
    { "flow-level assigns a task to the earliest predicted end without copies",
      copies_do_not_count },
    { "flow-peft assigns a task to the worker from which the graph ends first",
      rest_of_the_graph },
    { "flow-peft ranks a task by the mean time from its end to the graph's",
      rank_of_the_rest },
    { "flow-heteroprio: devices look first at what they speed up most, cores "
      "last",
      by_acceleration },
    { "flow-heteroprio: a core leaves tasks to which devices come earlier",
      at_the_end })
