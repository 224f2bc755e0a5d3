/* SPDX-License-Identifier: MIT */
/* test_ready_set.c: the order in which loads leave a ready set.
   Thread safety: one thread. */
#include "hass_test.h"
#include "pool/ready_set.h"

#define CPU 1u
#define GPU 2u
#define BOTH 3u

static void
add (HassReadySet *set, guint n, guint mask, gint64 priority, gfloat cost)
{
  HassLoad loads[8];
  for (guint i = 0; i < n; i++)
    loads[i] = (HassLoad){ .size = i, .cost = cost };
  hass_ready_set_add (set, &(HassReadyRun){ mask, priority, priority }, loads,
                      n);
}

/* Takes as @take says and checks that the loads are those of @cost, beginning
   with the one of number @first in its run. */
static void
expect (HassReadySet *set, HassReadyTake take, guint32 n, gfloat cost,
        gsize first)
{
  HassLoad loads[8];
  double earliest_ns[8];
  pthread_mutex_lock (&set->lock);
  CU_ASSERT_EQUAL (hass_ready_set_take (set, &take, loads, earliest_ns), n);
  pthread_mutex_unlock (&set->lock);
  for (guint32 i = 0; i < n; i++)
    {
      CU_ASSERT_EQUAL (loads[i].cost, cost);
      CU_ASSERT_EQUAL (loads[i].size, first + i);
    }
}

static void
in_order (void)
{
  HassReadySet *set = hass_ready_set_new (TRUE, BOTH);
  add (set, 3, BOTH, 5, 50);
  add (set, 2, BOTH, 9, 90);
  add (set, 2, BOTH, 5, 51);
  add (set, 1, BOTH, -1, 10);
  CU_ASSERT_EQUAL (hass_ready_set_waiting (set), 8);
  CU_ASSERT_EQUAL (hass_ready_set_work (set), 3 * 50 + 2 * 90 + 2 * 51 + 10);
  expect (set, (HassReadyTake){ .n = 2 }, 2, 90, 0);
  expect (set, (HassReadyTake){ .n = 1, .back = TRUE }, 1, 10, 0);
  expect (set, (HassReadyTake){ .n = 1, .back = TRUE }, 1, 51, 1);
  expect (set, (HassReadyTake){ .n = 3 }, 3, 50, 0);
  expect (set, (HassReadyTake){ .n = 8 }, 1, 51, 0);
  CU_ASSERT_EQUAL (hass_ready_set_waiting (set), 0);
  CU_ASSERT_EQUAL (hass_ready_set_work (set), 0);
  hass_ready_set_free (set);
}

static void
by_class (void)
{
  HassReadySet *set = hass_ready_set_new (TRUE, BOTH);
  add (set, 1, GPU, 9, 90);
  add (set, 2, CPU, 1, 10);
  add (set, 1, BOTH, 5, 50);
  CU_ASSERT_EQUAL (hass_ready_set_common (set), 1);
  CU_ASSERT_EQUAL (hass_ready_set_partial (set, 0), 2);
  CU_ASSERT_EQUAL (hass_ready_set_partial (set, 1), 1);
  expect (set, (HassReadyTake){ .klass = 0, .n = 4 }, 1, 50, 0);
  expect (set, (HassReadyTake){ .klass = 0, .n = 4 }, 2, 10, 0);
  expect (set, (HassReadyTake){ .klass = 0, .n = 4 }, 0, 0, 0);
  expect (set, (HassReadyTake){ .klass = 1, .n = 4 }, 1, 90, 0);
  hass_ready_set_free (set);
}

static void
limited (void)
{
  HassReadySet *set = hass_ready_set_new (TRUE, BOTH);
  add (set, 4, BOTH, 0, 10);
  expect (set, (HassReadyTake){ .n = 1, .leave = 3 }, 0, 0, 0);
  expect (set, (HassReadyTake){ .n = 4, .leave = 2 }, 1, 10, 0);
  expect (set, (HassReadyTake){ .n = 4, .work = 25 }, 2, 10, 1);
  expect (set, (HassReadyTake){ .n = 4, .work = 5 }, 1, 10, 3);
  hass_ready_set_free (set);
}

HASS_TEST_SUITE (ready_set,
                 { "the most urgent load leaves first, the oldest of equals",
                   in_order },
                 { "a class takes what it can run, of one mask at a time",
                   by_class },
                 { "work and what has to be left limit a take", limited })
