/* SPDX-License-Identifier: MIT */
/* test_flow_lws.c: what flow-lws decides, asked directly.
   Thread safety: one thread. */
#include "flow_machine.h"

/* Of two tasks that one worker has made ready the later one goes first. */
static void
with_its_maker (void)
{
  Machine *m = begin ("flow-lws");
  HassFlowTask task = task_of (0, 100, 10);
  HassFlowSpot last = { .level = 0 };
  task.level = 0;
  for (task.maker = HASS_FLOW_CORES; task.maker < 2; task.maker++)
    {
      HassFlowSpot spot = place (m, &task);
      CU_ASSERT_EQUAL (spot.queue, task.maker + 1);
      CU_ASSERT_EQUAL (spot.priority, 7);
      CU_ASSERT_TRUE (spot.level > last.level);
      last = spot;
    }
  end (m);
}

/* Each of the four cores has its turn. */
static void
in_turn (void)
{
  Machine *m = begin ("flow-lws");
  HassFlowTask task = task_of (0, 100, 10);
  guint n[3] = { 0 };
  task.maker = HASS_FLOW_NO_WORKER;
  for (guint i = 0; i < 12; i++)
    n[place (m, &task).queue]++;
  CU_ASSERT_TRUE (n[0] == 8 && n[1] == 2 && n[2] == 2);
  task.maker = 0;
  task.devices = 2;
  task.cores = FALSE;
  CU_ASSERT_EQUAL (place (m, &task).queue, 2);
  task.maker = HASS_FLOW_CORES;
  CU_ASSERT_EQUAL (place (m, &task).queue, 2);
  task.devices = 0; /* none is open */
  CU_ASSERT_EQUAL (place (m, &task).queue, 0);
  end (m);
}

static void
nearest_first (void)
{
  static const gint queues[][6] = { { 0, 1, 2, 3, 4, -1 },
                                    { 1, 0, 2, 4, 3, -1 },
                                    { 2, 0, 3, 1, 4, -1 },
                                    { 3, 0, 4, 2, 1, -1 },
                                    { 4, 0, 1, 3, 2, -1 } };
  Machine *m = begin ("flow-lws");
  m->state.n_devices = 4;
  for (guint w = 0; w < 5; w++)
    for (guint n = 0; n < 6; n++)
      {
        gboolean from_end;
        CU_ASSERT_EQUAL (look_from (m, (gint)w - 1, n, &from_end),
                         queues[w][n]);
        CU_ASSERT_EQUAL (from_end, n > 0 && n < 5);
      }
  end (m);
}

/* A recorded graph has levels; its last tasks, of which nothing is known yet,
   have 0. */
static void
by_level (void)
{
  Machine *m = begin ("flow-lws");
  HassFlowTask task = task_of (0, 100, 10);
  gboolean from_end;
  task.maker = 0;
  CU_ASSERT_EQUAL (place (m, &task).level, 3);
  task.level = 0;
  CU_ASSERT_EQUAL (place (m, &task).level, 0);
  look_from (m, 0, 1, &from_end);
  CU_ASSERT_FALSE (from_end);
  end (m);
}

HASS_TEST_SUITE (
    flow_lws,
    { "a task waits at its maker, before those that came earlier",
      with_its_maker },
    { "of a recorded graph a worker and thieves take the highest level first",
      by_level },
    { "tasks that no able worker has made ready are dealt out", in_turn },
    { "a worker takes its newest task, then its neighbours' oldest",
      nearest_first })
