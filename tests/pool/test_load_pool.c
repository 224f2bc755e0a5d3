/* SPDX-License-Identifier: MIT */
/* test_load_pool.c: the load pool's bounds, its order, and what its loads cost
   in memory.
   Thread safety: one thread. */
#include "hass_test.h"

#include <malloc.h>
#include <string.h>

#include "load_pool_trial.h"
#include "pool/round_engine.h"

/* Takes a span that has to hold n loads tagged first, first + 1, ... */
static HassSpan
next_is (HassLoadPool *pool, guint32 max, gsize first, guint32 n)
{
  HassSpan span = { 0 };
  CU_ASSERT (hass_load_pool_next (pool, max, &span));
  CU_ASSERT_EQUAL (span.n, n);
  for (guint32 i = 0; i < span.n; i++)
    CU_ASSERT_EQUAL (span_tag (&span, i), first + i);
  return span;
}

static void
bound_in_loads (void)
{
  HassSpan span;
  HassLoadPool *pool = hass_load_pool_new (5, G_MAXSIZE);
  CU_ASSERT (!hass_load_pool_next (pool, 9, &span));
  for (gsize i = 0; i < 5; i++)
    CU_ASSERT (pool_emit (pool, i, 0));
  CU_ASSERT (!hass_load_pool_has_room (pool));
  CU_ASSERT (!pool_emit (pool, 5, 0));
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 5);
  CU_ASSERT_EQUAL (hass_load_pool_emitted (pool), 5);
  span = next_is (pool, 2, 0, 2);
  CU_ASSERT (!pool_emit (pool, 5, 0)); /* taken, but not released */
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 3);
  hass_load_pool_release (pool, &span);
  CU_ASSERT (hass_load_pool_has_room (pool));
  CU_ASSERT (pool_emit (pool, 5, 0));
  CU_ASSERT (pool_emit (pool, 6, 0));
  CU_ASSERT (!pool_emit (pool, 7, 0));
  CU_ASSERT_EQUAL (hass_load_pool_emitted (pool), 7);
  hass_load_pool_free (pool);
}

static guint64
n_done (gpointer data)
{
  return *(guint64 *)data;
}

/* Few loads may have more bytes. */
static void
few_large_loads (void)
{
  HassLoadPool *pool = hass_load_pool_new (100, 1000);
  hass_load_pool_widen (pool, 100, 3, 2500, NULL, NULL);
  CU_ASSERT (pool_emit (pool, 0, 900));
  CU_ASSERT (pool_emit (pool, 1, 900));
  CU_ASSERT (!pool_emit (pool, 2, 701));
  CU_ASSERT (pool_emit (pool, 2, 600));
  CU_ASSERT (!pool_emit (pool, 3, 1)); /* three are there */
  CU_ASSERT (pool_emit (pool, 3, 0));
  HassSpan a = next_is (pool, 2, 0, 2);
  hass_load_pool_release (pool, &a);
  CU_ASSERT (pool_emit (pool, 4, 1800)); /* the third */
  CU_ASSERT (!pool_emit (pool, 5, 1));
  hass_load_pool_free (pool);
}

/* Loads that pass are emitted and done, and leave the bounds to others. */
static void
passing_loads (void)
{
  HassLoadPool *pool = hass_load_pool_new (5, 1000);
  hass_load_pool_widen (pool, 5, 3, 2500, NULL, NULL);
  for (guint i = 0; i < 7; i++)
    {
      hass_load_pool_pass (pool);
      CU_ASSERT (hass_load_pool_has_room (pool));
    }
  CU_ASSERT_EQUAL (hass_load_pool_emitted (pool), 7);
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 0);
  for (gsize i = 7; i < 10; i++) /* of few loads, more bytes */
    CU_ASSERT (pool_emit (pool, i, 800));
  CU_ASSERT (!pool_emit (pool, 10, 1));
  CU_ASSERT (pool_emit (pool, 10, 0) && pool_emit (pool, 11, 0));
  CU_ASSERT (!pool_emit (pool, 12, 0));
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 5);
  next_is (pool, 9, 7, 5);
  hass_load_pool_free (pool);
}

/* Loads of a round are computed and keep their bytes, but make room for others.
   A round that is released makes room though an earlier one is not. */
static void
computed_loads (void)
{
  HassLoadPool *pool = hass_load_pool_new (100, 1000);
  guint64 done = 0;
  hass_load_pool_widen (pool, 100, 3, 2500, n_done, &done);
  for (gsize i = 0; i < 3; i++)
    CU_ASSERT (pool_emit (pool, i, 400));
  HassSpan a = next_is (pool, 1, 0, 1), b = next_is (pool, 2, 1, 2);
  CU_ASSERT (!pool_emit (pool, 3, 400));
  done = 1;
  CU_ASSERT (hass_load_pool_has_room (pool));
  CU_ASSERT (pool_emit (pool, 3, 400));
  CU_ASSERT (!pool_emit (pool, 4, 400)); /* three are to be computed again */
  done = 2;
  CU_ASSERT (pool_emit (pool, 4, 400));
  done = 3;
  CU_ASSERT (!pool_emit (pool, 5, 501)); /* bytes of all */
  hass_load_pool_release (pool, &b);
  done = 1;
  CU_ASSERT (pool_emit (pool, 5, 501));
  CU_ASSERT (!pool_emit (pool, 6, 400)); /* three wait, whatever is computed */
  hass_load_pool_release (pool, &a);
  hass_load_pool_free (pool);
}

/* A round whose loads are computed but for a long one makes room for others, as
   many as the ring holds. */
static void
beside_a_long_load (void)
{
  HassLoadPool *pool = hass_load_pool_new (8, G_MAXSIZE);
  guint64 done = 0;
  hass_load_pool_widen (pool, 20, 0, 0, n_done, &done);
  for (gsize i = 0; i < 8; i++)
    CU_ASSERT (pool_emit (pool, i, 0));
  CU_ASSERT (!pool_emit (pool, 8, 0));
  HassSpan a = next_is (pool, 9, 0, 8);
  done = 1;
  CU_ASSERT (!pool_emit (pool, 8, 0)); /* less than a quarter */
  CU_ASSERT (!hass_load_pool_has_room (pool));
  done = 7;
  CU_ASSERT (hass_load_pool_has_room (pool));
  for (gsize i = 8; i < 15; i++)
    CU_ASSERT (pool_emit (pool, i, 0));
  CU_ASSERT (!pool_emit (pool, 15, 0)); /* eight are to be computed */
  HassSpan b = next_is (pool, 9, 8, 7);
  done = 14;
  for (gsize i = 15; i < 20; i++)
    CU_ASSERT (pool_emit (pool, i, 0));
  CU_ASSERT (!pool_emit (pool, 20, 0)); /* of the ring */
  hass_load_pool_release (pool, &b);    /* the long one is before these */
  done = 7;
  CU_ASSERT (!pool_emit (pool, 20, 0));
  hass_load_pool_release (pool, &a);
  done = 0;
  for (gsize i = 20; i < 23; i++)
    CU_ASSERT (pool_emit (pool, i, 0));
  CU_ASSERT (!pool_emit (pool, 23, 0));
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 8);
  hass_load_pool_free (pool);
}

static void
bound_in_bytes (void)
{
  HassLoadPool *pool = hass_load_pool_new (100, 1000);
  CU_ASSERT (pool_emit (pool, 0, 600));
  CU_ASSERT (pool_emit (pool, 1, 400));
  CU_ASSERT (!pool_emit (pool, 2, 1));
  CU_ASSERT (!hass_load_pool_has_room (pool));
  CU_ASSERT (pool_emit (pool, 2, 0)); /* holds no bytes */
  HassSpan a = next_is (pool, 1, 0, 1);
  HassSpan b = next_is (pool, 9, 1, 2);
  CU_ASSERT (!pool_emit (pool, 3, 500));
  hass_load_pool_release (pool, &b);
  CU_ASSERT (!hass_load_pool_has_room (pool));
  CU_ASSERT (pool_emit (pool, 3, 300));
  CU_ASSERT (!pool_emit (pool, 4, 500));
  hass_load_pool_release (pool, &a);
  CU_ASSERT (hass_load_pool_has_room (pool));
  CU_ASSERT (pool_emit (pool, 4, 700));
  CU_ASSERT (!pool_emit (pool, 5, 1));
  hass_load_pool_free (pool);
}

static void
large_alone (void)
{
  HassLoadPool *pool = hass_load_pool_new (100, 1000);
  CU_ASSERT (pool_emit (pool, 0, 1));
  CU_ASSERT (!pool_emit (pool, 1, 5000));
  HassSpan span = next_is (pool, 9, 0, 1);
  hass_load_pool_release (pool, &span);
  CU_ASSERT (hass_load_pool_has_room (pool));
  CU_ASSERT (pool_emit (pool, 1, 5000));
  CU_ASSERT (!pool_emit (pool, 2, 5000));
  CU_ASSERT (!pool_emit (pool, 2, 1));
  span = next_is (pool, 9, 1, 1);
  hass_load_pool_release (pool, &span);
  CU_ASSERT (pool_emit (pool, 2, 5000));
  hass_load_pool_free (pool);
}

/* Far more loads than any ring has slots. */
static void
wraps (void)
{
  HassLoadPool *pool = hass_load_pool_new (7, G_MAXSIZE);
  gsize in = 0, out = 0, wrong = 0;
  for (guint turn = 0; in < 200000; turn++)
    {
      while (pool_emit (pool, in, turn % 3))
        in++;
      wrong += in - out != 7;
      guint32 n = turn % 7 + 1;
      HassSpan span;
      wrong += !hass_load_pool_next (pool, n, &span) || span.n != n;
      for (guint32 i = 0; i < n; i++)
        wrong += span_tag (&span, i) != out++;
      hass_load_pool_release (pool, &span);
    }
  CU_ASSERT_EQUAL (wrong, 0);
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), in - out);
  hass_load_pool_free (pool);
}

static void
room_for_a_quarter (void)
{
  HassLoadPool *pool = hass_load_pool_new (100, G_MAXSIZE);
  for (gsize i = 0; i < 100; i++)
    pool_emit (pool, i, 0);
  for (guint i = 0; i < 25; i++)
    {
      CU_ASSERT (!hass_load_pool_has_room (pool));
      HassSpan span = next_is (pool, 1, i, 1);
      hass_load_pool_release (pool, &span);
    }
  CU_ASSERT (hass_load_pool_has_room (pool));
  hass_load_pool_free (pool);
}

static void
out_of_order (void)
{
  HassLoadPool *pool = hass_load_pool_new (8, G_MAXSIZE);
  for (gsize i = 0; i < 8; i++)
    pool_emit (pool, i, 1);
  HassSpan a = next_is (pool, 2, 0, 2), b = next_is (pool, 2, 2, 2);
  HassSpan c = next_is (pool, 2, 4, 2), d = next_is (pool, 2, 6, 2);
  hass_load_pool_release (pool, &c);
  hass_load_pool_release (pool, &b);
  CU_ASSERT (!hass_load_pool_has_room (pool)); /* a's slots are the next */
  for (guint32 i = 0; i < 2; i++)
    CU_ASSERT_EQUAL (span_tag (&a, i), i);
  hass_load_pool_release (pool, &a);
  for (gsize i = 8; i < 14; i++)
    CU_ASSERT (pool_emit (pool, i, 1));
  CU_ASSERT (!pool_emit (pool, 14, 1));
  for (guint32 i = 0; i < 2; i++)
    CU_ASSERT_EQUAL (span_tag (&d, i), 6 + i);
  hass_load_pool_release (pool, &d);
  CU_ASSERT (pool_emit (pool, 14, 1));
  next_is (pool, 99, 8, 7);
  hass_load_pool_free (pool);
}

static void
arrays_in_place (void)
{
  HassLoad array[10];
  for (gsize i = 0; i < 10; i++)
    array[i] = (HassLoad){ .tag = GSIZE_TO_POINTER (3 + i) };
  HassLoadPool *pool = hass_load_pool_new (4, G_MAXSIZE);
  for (gsize i = 0; i < 3; i++)
    pool_emit (pool, i, 0);
  hass_load_pool_add_array (pool, array, 6);     /* 3 to 8 */
  hass_load_pool_add_array (pool, array + 6, 4); /* 9 to 12 */
  CU_ASSERT (pool_emit (pool, 13, 0)); /* arrays take no room in the ring */
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 14);
  CU_ASSERT_EQUAL (hass_load_pool_emitted (pool), 14);
  HassSpan a = next_is (pool, 99, 0, 3);
  HassSpan b = next_is (pool, 4, 3, 4);
  CU_ASSERT (b.loads == array);
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 7);
  HassSpan c = next_is (pool, 99, 7, 2), d = next_is (pool, 99, 9, 4);
  HassSpan e = next_is (pool, 99, 13, 1), none;
  CU_ASSERT (!hass_load_pool_next (pool, 99, &none));
  HassSpan all[5] = { d, a, e, b, c };
  for (int i = 0; i < 5; i++)
    hass_load_pool_release (pool, &all[i]);
  for (gsize i = 0; i < 4; i++)
    CU_ASSERT (pool_emit (pool, i, 0));
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 4);
  hass_load_pool_free (pool);
}

static void
nested (void)
{
  HassLoadPool *pool = hass_load_pool_new (2, G_MAXSIZE);
  pool_emit (pool, 0, 0);
  pool_add_nested (pool, 100, 40);
  pool_add_nested (pool, 140, 100); /* grows while no round holds any */
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 141);
  HassSpan a = next_is (pool, 10, 100, 10);
  pool_add_nested (pool, 240, 1);   /* fits behind */
  pool_add_nested (pool, 241, 500); /* does not: a's loads must not move */
  for (guint32 i = 0; i < 10; i++)
    CU_ASSERT_EQUAL (span_tag (&a, i), 100 + i);
  HassSpan b = next_is (pool, 5, 110, 5);
  CU_ASSERT (a.array != b.array);
  hass_load_pool_release (pool, &a);
  HassSpan c = next_is (pool, 9999, 115, 626);
  HassSpan d = next_is (pool, 9999, 0, 1);
  hass_load_pool_release (pool, &d);
  hass_load_pool_release (pool, &c);
  for (guint32 i = 0; i < 5; i++)
    CU_ASSERT_EQUAL (span_tag (&b, i), 110 + i);
  hass_load_pool_release (pool, &b);
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 0);
  CU_ASSERT_EQUAL (hass_load_pool_emitted (pool), 642);
  pool_add_nested (pool, 0, 3); /* freed with the pool */
  hass_load_pool_free (pool);
}

/* -- Memory ------------------------------------------------------------- */

#define MANY (1 << 18)

static gsize
allocated (void)
{
#if __GLIBC_PREREQ(2, 33)
  struct mallinfo2 info = mallinfo2 ();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

static void
memory (void)
{
  CU_ASSERT (sizeof (HassLoad) <= 64);
  static const HassDeviceTraits cpu = { .kind = HASS_DEVICE_CPU, .cores = 1 };
  HassRound round;
  HassSpan span;
  gsize before = allocated ();
  HassLoadPool *pool = hass_load_pool_new (MANY, G_MAXSIZE);
  HassLoad load = { .size = 1 };
  gboolean all = TRUE;
  for (gsize i = 0; i < MANY; i++)
    {
      load.cost = i * 7919 % 1000 + 1;
      all &= hass_load_pool_emit (pool, &load);
    }
  CU_ASSERT_FATAL (all && hass_load_pool_next (pool, MANY, &span));
  hass_round_init (&round, 1, &cpu);
  hass_round_begin_loads (&round, HASS_FARM_COMBINE, HASS_COST_SIZED, &span);
  hass_round_open (&round);
  hass_round_order_by_work (&round);
  CU_ASSERT (hass_round_total_work (&round) > MANY); /* makes the sums */
  CU_ASSERT (hass_round_order (&round) != NULL && round.prefix != NULL);
  gsize bytes = allocated () - before;
  /* A sanitizer's allocator reports nothing; 16 KiB for all that is fixed. */
  CU_ASSERT (bytes <= (gsize)MANY * 64 + 16384);
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
  CU_ASSERT (bytes >= (gsize)MANY * sizeof (HassLoad));
#endif
  hass_round_clear (&round);
  hass_load_pool_release (pool, &span);
  hass_load_pool_free (pool);
}

HASS_TEST_SUITE (
    load_pool, { "a pool holds no more loads than its bound", bound_in_loads },
    { "a pool holds no more bytes than its bound", bound_in_bytes },
    { "few loads may have more bytes", few_large_loads },
    { "loads that pass fill nothing", passing_loads },
    { "of which those that are computed make room before their round ends",
      computed_loads },
    { "a long load keeps no others waiting", beside_a_long_load },
    { "a load larger than the bound gets in alone", large_alone },
    { "the ring wraps and keeps the order", wraps },
    { "a full pool has room again when a quarter is free", room_for_a_quarter },
    { "spans released early wait for those before them", out_of_order },
    { "arrays keep their place among emitted loads", arrays_in_place },
    { "nested loads come first and never move under a round", nested },
    { "a load costs at most 64 bytes, ordered and summed up", memory })
