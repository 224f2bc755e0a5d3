/* SPDX-License-Identifier: MIT */
/* test_flow_explain.c: what strategies of dataflows say of their decisions.
   Thread safety: one thread. */
#include "flow_machine.h"

#include <string.h>

/* Fails the test unless the strategy has said just this since the last call. */
static void
said (Machine *m, const char *lines)
{
  if (strcmp (m->said->str, lines) != 0)
    g_printerr ("\n    %s", m->said->str);
  CU_ASSERT_STRING_EQUAL (m->said->str, lines);
  g_string_truncate (m->said, 0);
}

static void
devices (void)
{
  Machine *m = begin_that ("flow-auto", TRUE);
  HassFlowTask task = task_of (0, 3100000, 11000);
  HassFlowVerdict v;
  set (m->task_ns, 3100000, 11000, 11000);
  set (m->copy_ns, 0, 8000, 40000);
  m->held_ns[0] = 12500;
  suits (m, 0, &task, &v);
  said (m, "gpu0 takes gemm: gpu0 31.5 us = 12.5 wait + 8 copy + 11 work; gpu1 "
           "51 us = 0 wait + 40 copy + 11 work; a core 3100 us [1]\n");
  suits (m, 1, &task, &v);
  said (m, "gpu1 leaves gemm to gpu0: gpu1 51 us = 0 wait + 40 copy + 11 work; "
           "gpu0 31.5 us = 12.5 wait + 8 copy + 11 work; a core 3100 us [1]\n");
  task.devices = 1;
  task.cores = FALSE;
  task.name = "trsm";
  task.codelet = 1;
  suits (m, 0, &task, &v);
  said (m,
        "gpu0 takes trsm: gpu0 31.5 us = 12.5 wait + 8 copy + 11 work [1]\n");
  set (m->copy_ns, 0, G_MAXDOUBLE, 0);
  task.codelet = 2;
  suits (m, 0, &task, &v);
  said (m, "");
  set (m->copy_ns, 0, 8000, 0);
  set (m->task_ns, 0, 1, 1);
  task.device_ns = 0;
  suits (m, 0, &task, &v);
  said (m, "gpu0 takes trsm: gpu0 20.5 us = 12.5 wait + 8 copy + unknown work "
           "[1]\n");
  end (m);
}

static void
copies_home (void)
{
  Machine *m = begin_that ("flow-auto", TRUE);
  HassFlowTask task = task_of (0, 300000, 11000);
  HassFlowVerdict v;
  task.home_ns = 40000;
  m->state.home_ns = 500000;
  m->state.core_free_ns = 200000;
  suits (m, 0, &task, &v);
  said (m, "gpu0 leaves gemm to cores: home in 540 us, after 500 us of copies; "
           "a core 500 us = 200 wait + 300 work [1]\n");
  end (m);
}

static void
cores (void)
{
  Machine *m = begin_that ("flow-auto", TRUE);
  HassFlowTask task = task_of (0, 3100000, 11000);
  HassFlowVerdict v;
  m->state.backlog_ns = 420000;
  m->state.rest_ns = 9000000;
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "cores leave gemm: a core 3100 us, 2260 us after devices have done "
           "2 times what waits in 840 us [1]\n");
  m->state.backlog_ns = 4000000;
  m->state.rest_ns = 4200000;
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "a core takes gemm when its data are home: a core 3100 us, devices "
           "have done all that is left in 4200 us [1]\n");
  m->state.backlog_ns = 1000;
  m->state.rest_ns = 64000000;
  set (m->after_ns, 500000, 0, 0);
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "a core takes gemm when its data are home: a core 3100 us, devices "
           "have done a 16th of what is left, less the path after it, in 3500 "
           "us [2]\n");
  task.core_ns = 0;
  task.n_known = 511;
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "cores do not try gemm: its time there is unknown, 511 tasks of 512 "
           "are known [1]\n");
  task.n_known = 512;
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "a core tries gemm when its data are home: its time there is "
           "unknown, 512 tasks of 512 are known [1]\n");
  task.n_known = 0;
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "");
  end (m);
}

/* The same answer for a codelet is told when its count has doubled; another
   codelet's, and another answer, count by themselves. */
static void
doubles (void)
{
  Machine *m = begin_that ("flow-auto", TRUE);
  HassFlowTask task = task_of (0, 3100000, 11000);
  HassFlowVerdict v;
  guint n = 0;
  set (m->task_ns, 3100000, 11000, 11000);
  for (guint i = 0; i < 1000; i++)
    suits (m, 0, &task, &v);
  for (const char *c = m->said->str; *c; c++)
    n += *c == '\n';
  CU_ASSERT_EQUAL (n, 10);
  CU_ASSERT_TRUE (g_str_has_suffix (m->said->str, "[512]\n"));
  g_string_truncate (m->said, 0);
  task.codelet = 1;
  suits (m, 0, &task, &v);
  CU_ASSERT_TRUE (g_str_has_suffix (m->said->str, "[1]\n"));
  end (m);
}

static void
assigned (void)
{
  static const char *const names[]
      = { "flow-dmda", "flow-dmdas", "flow-heft", "flow-level", "flow-peft" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      Machine *m = begin_that (names[i], TRUE);
      HassFlowTask task = task_of (0, 3100000, 11000);
      set (m->task_ns, 3100000, 11000, 11000);
      m->held_ns[0] = 12500;
      place (m, &task);
      said (m, "gemm waits for gpu1: cores 3100 us, gpu0 23.5 us, gpu1 11 us "
               "[1]\n");
      set (m->copy_ns, 0, 0, G_MAXDOUBLE);
      task.cores = FALSE;
      place (m, &task);
      said (m, "gemm waits for gpu0: gpu0 23.5 us [1]\n");
      task = task_of (4, 0, 11000);
      task.n_known = 512;
      place (m, &task);
      said (m, "gemm waits for the cores, where its time is unknown [1]\n");
      end (m);
    }
}

static void
first (void)
{
  Machine *m = begin_that ("flow-eager", TRUE);
  HassFlowTask task = task_of (0, 3100000, 11000);
  HassFlowVerdict v;
  suits (m, 1, &task, &v);
  said (m, "gpu1 takes gemm: the first that it can compute; a core 3100 us; a "
           "device 11 us [1]\n");
  task.core_ns = 0;
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "a core takes gemm when its data are home: the first that it can "
           "compute; a device 11 us [1]\n");
  end (m);
}

static void
accelerated (void)
{
  Machine *m = begin_that ("flow-heteroprio", TRUE);
  HassFlowTask task = task_of (0, 44000, 11000);
  HassFlowVerdict v;
  suits (m, 0, &task, &v);
  said (m, "gpu0 takes gemm: devices are 4 times as fast; a core 44 us; a "
           "device 11 us [1]\n");
  task.n_waiting = 7;
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "cores leave gemm: devices are 4 times as fast, cores leave fewer "
           "than 8, 7 wait; a core 44 us; a device 11 us [1]\n");
  task.n_waiting = 8;
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "a core takes gemm when its data are home: devices are 4 times as "
           "fast, cores leave fewer than 8, 8 wait; a core 44 us; a device 11 "
           "us [1]\n");
  task = task_of (1, 0, 11000);
  suits (m, 0, &task, &v);
  said (m, "gpu0 takes gemm: its time on cores is unknown; a device 11 us "
           "[1]\n");
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "");
  task.n_known = 511;
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "cores do not try gemm: its time there is unknown, 511 tasks of 512 "
           "are known [1]\n");
  task = task_of (2, 0, 0);
  task.devices = 0;
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "a core takes gemm when its data are home: no device can compute it "
           "[1]\n");
  task = task_of (3, 44000, 0);
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "cores leave gemm: the time of devices is unknown; a core 44 us "
           "[1]\n");
  end (m);
}

static void
stolen (void)
{
  Machine *m = begin_that ("flow-lws", TRUE);
  HassFlowTask task = task_of (0, 3100000, 11000);
  HassFlowVerdict v;
  place (m, &task);
  said (m, "gemm waits for gpu0: its turn [1]\n");
  task.maker = 0;
  place (m, &task);
  said (m, "gemm waits for gpu0: made ready there [1]\n");
  task.maker = HASS_FLOW_CORES;
  place (m, &task);
  said (m, "gemm waits for the cores: made ready there [1]\n");
  look (m, 1, 0);
  suits (m, 1, &task, &v);
  said (m, "");
  look (m, 1, 1);
  suits (m, 1, &task, &v);
  said (m,
        "gpu1 takes gemm: stolen from the cores; a core 3100 us; a device 11 "
        "us [1]\n");
  look (m, HASS_FLOW_CORES, 2);
  suits (m, HASS_FLOW_CORES, &task, &v);
  said (m, "a core takes gemm when its data are home: stolen from gpu1; a "
           "core 3100 us; a device 11 us [1]\n");
  end (m);
}

HASS_TEST_SUITE (
    flow_explain,
    { "flow-auto: a device takes or leaves a task by the ends that are named",
      devices },
    { "flow-auto: a device leaves a task to cores, for the copies home",
      copies_home },
    { "flow-auto: cores leave a task that they would end after devices have "
      "done all",
      cores },
    { "an answer is told when its count has doubled", doubles },
    { "strategies that assign tasks tell the ends that they compare",
      assigned },
    { "flow-eager: a worker takes the first task", first },
    { "flow-heteroprio: how much faster devices are, and what cores leave",
      accelerated },
    { "flow-lws: who made a task ready, and from whom one is stolen", stolen })
