/* SPDX-License-Identifier: MIT */
/* test_spoliation.c: which units a device takes from cores.
   Thread safety: one thread. */
#include "hass_test.h"

#include "sched/spoliation.h"

enum
{
  MS = 1000000
};

/* A device that takes 1 ms for a bundle and 1 ms for each work, beside cores
   that take 100 ms for one, or whose rate is unknown. */
static const HassSpoliator known = { MS, MS, 0, 1. / (100 * MS) };
static const HassSpoliator unknown = { MS, MS, 0, 0 };

static guint apart = 1; /* positions of units */

/* Lets the device decide about units of 1 work that cores have computed for so
   many ms. Returns: a bit for each that it takes. */
static guint
taken (const HassSpoliator *by, const gint64 *ms, guint n, gint64 *again_ns)
{
  HassBegun begun[8] = { { 0 } };
  guint mask = 0;
  for (guint i = 0; i < n; i++)
    begun[i] = (HassBegun){
      .first = i * apart, .units = 1, .work = 1, .ns = ms[i] * MS
    };
  *again_ns = hass_spoliation (by, begun, n);
  for (guint i = 0; i < n; i++)
    mask |= (guint)begun[i].take << i;
  return mask;
}

/* 2 ms for one unit, twice that to be sure; a core that has computed for as
   long is taken to be in the middle. */
static void
unknown_rate (void)
{
  gint64 again_ns, young = 3, old = 5;
  CU_ASSERT_EQUAL (taken (&unknown, &young, 1, &again_ns), 0);
  CU_ASSERT_TRUE (again_ns >= 1 * MS && again_ns <= 1 * MS + 1);
  CU_ASSERT_EQUAL (taken (&unknown, &old, 1, &again_ns), 1);
  CU_ASSERT_EQUAL (again_ns, 0);
}

static void
known_rate (void)
{
  gint64 again_ns, begun = 1, nearly_done = 97, late = 150;
  CU_ASSERT_EQUAL (taken (&known, &begun, 1, &again_ns), 1);
  CU_ASSERT_EQUAL (taken (&known, &nearly_done, 1, &again_ns), 0);
  CU_ASSERT_EQUAL (again_ns, 0);
  CU_ASSERT_EQUAL (taken (&known, &late, 1, &again_ns), 0);
}

/* Those that end last: three, in two bundles, take the device 5 ms. */
static void
last_ones (void)
{
  gint64 again_ns;
  const gint64 ms[] = { 20, 98, 85, 10, 97 };
  CU_ASSERT_EQUAL (taken (&known, ms, 5, &again_ns), 1 | 4 | 8);
}

/* All of them, or none: two would be worth it, three that are alike as well. */
static void
together (void)
{
  gint64 again_ns;
  const gint64 ms[] = { 9, 9, 9 };
  CU_ASSERT_EQUAL (taken (&unknown, ms, 3, &again_ns), 7);
  const gint64 less[] = { 7, 7, 7 };
  CU_ASSERT_EQUAL (taken (&unknown, less, 3, &again_ns), 3);
}

/* Each a bundle of its own: two take 4 ms. */
static void
scattered (void)
{
  gint64 again_ns;
  apart = 2;
  const gint64 ms[] = { 9, 9, 9 };
  CU_ASSERT_EQUAL (taken (&unknown, ms, 3, &again_ns), 3);
  apart = 1;
}

/* A bundle of one takes as long as one that fills the device. */
static void
fill (void)
{
  gint64 again_ns;
  HassSpoliator wide = unknown;
  wide.fill = 9;
  const gint64 ms[] = { 19, 21 };
  CU_ASSERT_EQUAL (taken (&wide, ms, 1, &again_ns), 0);
  CU_ASSERT_EQUAL (taken (&wide, ms + 1, 1, &again_ns), 1);
}

HASS_TEST_SUITE (
    spoliation,
    { "of cores whose rate is unknown, units that took long", unknown_rate },
    { "of others, those that end late", known_rate },
    { "the ones that end last", last_ones },
    { "as many as the device has done before the next one would end",
      together },
    { "units that are not adjacent are several bundles", scattered },
    { "a small bundle takes as long as one that fills the device", fill })
