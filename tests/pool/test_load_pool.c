/* SPDX-License-Identifier: MIT */
/* The load pool: its bounds, its order, what its loads cost in memory.
   Thread safety: one thread, but for the crowd of the last test. */
#include "pool/load_pool.h"

#include <malloc.h>
#include <string.h>

#include "crowd.h"
#include "hass_test.h"
#include "pool/round_engine.h"

static gboolean
emit (HassLoadPool *pool, gsize tag, gsize bytes)
{
  HassLoad load = { .tag = GSIZE_TO_POINTER (tag), .input_bytes = bytes };
  return hass_load_pool_emit (pool, &load);
}

static gsize
tag_of (const HassSpan *span, guint32 i)
{
  return GPOINTER_TO_SIZE (span->loads[(span->base + i) & span->mask].tag);
}

/* Takes a span that has to hold n loads tagged first, first + 1, ... */
static HassSpan
next_is (HassLoadPool *pool, guint32 max, gsize first, guint32 n)
{
  HassSpan span = { 0 };
  CU_ASSERT (hass_load_pool_next (pool, max, &span));
  CU_ASSERT_EQUAL (span.n, n);
  for (guint32 i = 0; i < span.n; i++)
    CU_ASSERT_EQUAL (tag_of (&span, i), first + i);
  return span;
}

static void
bound_in_loads (void)
{
  HassSpan span;
  HassLoadPool *pool = hass_load_pool_new (5, G_MAXSIZE);
  CU_ASSERT (!hass_load_pool_next (pool, 9, &span));
  for (gsize i = 0; i < 5; i++)
    CU_ASSERT (emit (pool, i, 0));
  CU_ASSERT (!hass_load_pool_has_room (pool));
  CU_ASSERT (!emit (pool, 5, 0));
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 5);
  CU_ASSERT_EQUAL (hass_load_pool_emitted (pool), 5);
  span = next_is (pool, 2, 0, 2);
  CU_ASSERT (!emit (pool, 5, 0)); /* taken, but not released */
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 3);
  hass_load_pool_release (pool, &span);
  CU_ASSERT (hass_load_pool_has_room (pool));
  CU_ASSERT (emit (pool, 5, 0));
  CU_ASSERT (emit (pool, 6, 0));
  CU_ASSERT (!emit (pool, 7, 0));
  CU_ASSERT_EQUAL (hass_load_pool_emitted (pool), 7);
  hass_load_pool_free (pool);
}

static void
bound_in_bytes (void)
{
  HassLoadPool *pool = hass_load_pool_new (100, 1000);
  CU_ASSERT (emit (pool, 0, 600));
  CU_ASSERT (emit (pool, 1, 400));
  CU_ASSERT (!emit (pool, 2, 1));
  CU_ASSERT (!hass_load_pool_has_room (pool));
  CU_ASSERT (emit (pool, 2, 0)); /* holds no bytes */
  HassSpan a = next_is (pool, 1, 0, 1);
  HassSpan b = next_is (pool, 9, 1, 2);
  CU_ASSERT (!emit (pool, 3, 500));
  hass_load_pool_release (pool, &b);
  CU_ASSERT (!hass_load_pool_has_room (pool));
  CU_ASSERT (emit (pool, 3, 300));
  CU_ASSERT (!emit (pool, 4, 500));
  hass_load_pool_release (pool, &a);
  CU_ASSERT (hass_load_pool_has_room (pool));
  CU_ASSERT (emit (pool, 4, 700));
  CU_ASSERT (!emit (pool, 5, 1));
  hass_load_pool_free (pool);
}

static void
large_alone (void)
{
  HassLoadPool *pool = hass_load_pool_new (100, 1000);
  CU_ASSERT (emit (pool, 0, 1));
  CU_ASSERT (!emit (pool, 1, 5000));
  HassSpan span = next_is (pool, 9, 0, 1);
  hass_load_pool_release (pool, &span);
  CU_ASSERT (hass_load_pool_has_room (pool));
  CU_ASSERT (emit (pool, 1, 5000));
  CU_ASSERT (!emit (pool, 2, 5000));
  CU_ASSERT (!emit (pool, 2, 1));
  span = next_is (pool, 9, 1, 1);
  hass_load_pool_release (pool, &span);
  CU_ASSERT (emit (pool, 2, 5000));
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
      while (emit (pool, in, turn % 3))
        in++;
      wrong += in - out != 7;
      guint32 n = turn % 7 + 1;
      HassSpan span;
      wrong += !hass_load_pool_next (pool, n, &span) || span.n != n;
      for (guint32 i = 0; i < n; i++)
        wrong += tag_of (&span, i) != out++;
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
    emit (pool, i, 0);
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
    emit (pool, i, 1);
  HassSpan a = next_is (pool, 2, 0, 2), b = next_is (pool, 2, 2, 2);
  HassSpan c = next_is (pool, 2, 4, 2), d = next_is (pool, 2, 6, 2);
  hass_load_pool_release (pool, &c);
  hass_load_pool_release (pool, &b);
  CU_ASSERT (!hass_load_pool_has_room (pool)); /* a's slots are the next */
  for (guint32 i = 0; i < 2; i++)
    CU_ASSERT_EQUAL (tag_of (&a, i), i);
  hass_load_pool_release (pool, &a);
  for (gsize i = 8; i < 14; i++)
    CU_ASSERT (emit (pool, i, 1));
  CU_ASSERT (!emit (pool, 14, 1));
  for (guint32 i = 0; i < 2; i++)
    CU_ASSERT_EQUAL (tag_of (&d, i), 6 + i);
  hass_load_pool_release (pool, &d);
  CU_ASSERT (emit (pool, 14, 1));
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
    emit (pool, i, 0);
  hass_load_pool_add_array (pool, array, 6);     /* 3 to 8 */
  hass_load_pool_add_array (pool, array + 6, 4); /* 9 to 12 */
  CU_ASSERT (emit (pool, 13, 0)); /* arrays take no room in the ring */
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
    CU_ASSERT (emit (pool, i, 0));
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 4);
  hass_load_pool_free (pool);
}

/* Adds n loads tagged first, ... as a worker does. */
static void
add_nested (HassLoadPool *pool, gsize first, gsize n)
{
  HassLoad *loads = g_new0 (HassLoad, n);
  for (gsize i = 0; i < n; i++)
    loads[i].tag = GSIZE_TO_POINTER (first + i);
  hass_load_pool_add_nested (pool, loads, n);
  g_free (loads);
}

static void
nested (void)
{
  HassLoadPool *pool = hass_load_pool_new (2, G_MAXSIZE);
  emit (pool, 0, 0);
  add_nested (pool, 100, 40);
  add_nested (pool, 140, 100); /* grows while no round holds any */
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 141);
  HassSpan a = next_is (pool, 10, 100, 10);
  add_nested (pool, 240, 1);   /* fits behind */
  add_nested (pool, 241, 500); /* does not: a's loads must not move */
  for (guint32 i = 0; i < 10; i++)
    CU_ASSERT_EQUAL (tag_of (&a, i), 100 + i);
  HassSpan b = next_is (pool, 5, 110, 5);
  CU_ASSERT (a.array != b.array);
  hass_load_pool_release (pool, &a);
  HassSpan c = next_is (pool, 9999, 115, 626);
  HassSpan d = next_is (pool, 9999, 0, 1);
  hass_load_pool_release (pool, &d);
  hass_load_pool_release (pool, &c);
  for (guint32 i = 0; i < 5; i++)
    CU_ASSERT_EQUAL (tag_of (&b, i), 110 + i);
  hass_load_pool_release (pool, &b);
  CU_ASSERT_EQUAL (hass_load_pool_waiting (pool), 0);
  CU_ASSERT_EQUAL (hass_load_pool_emitted (pool), 642);
  add_nested (pool, 0, 3); /* freed with the pool */
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

/* -- Crowd -------------------------------------------------------------- */

#define CONSUMERS 3
#define POOL_LOADS 50
#define POOL_BYTES 1000
#define LARGE 1500
#define NESTED_EVERY 5
#define MOST 100000

typedef struct
{
  HassLoadPool *pool;
  gsize n; /* loads of the generator; as many / NESTED_EVERY are nested */
  HassLoad *array;
  gint64 deadline;
  pthread_mutex_t decision;
  gsize due; /* the generator's load that comes next; decision */
  _Atomic gsize finished, wrong, nested_made;
  _Atomic gsize in_loads, in_bytes; /* in the ring, at least */
  _Atomic guint8 times[2 * MOST];
} Field;

static gboolean
playing (Field *field)
{
  return atomic_load (&field->wrong) == 0 && crowd_now_ns () < field->deadline;
}

/* Of load i: mostly small, at times with no bytes, seldom too large. */
static gsize
bytes_of (gsize i)
{
  return i % 97 == 0 ? LARGE : i * 31 % 60;
}

/* Emits loads 0 .. n - 1, some of them as arrays. */
static void
generate (Field *field)
{
  guint32 rand = 9;
  for (gsize i = 0; i < field->n && playing (field);)
    {
      gsize n = crowd_random (&rand) % 20;
      if (n > 0 && n < 10 && i + n <= field->n)
        {
          for (gsize k = i; k < i + n; k++)
            field->array[k].tag = GSIZE_TO_POINTER (k);
          hass_load_pool_add_array (field->pool, field->array + i, n);
          i += n;
        }
      else if (emit (field->pool, i, bytes_of (i)))
        {
          gsize bytes = bytes_of (i);
          gsize loads = atomic_fetch_add (&field->in_loads, 1) + 1;
          bytes += atomic_fetch_add (&field->in_bytes, bytes);
          if (loads > POOL_LOADS
              || (bytes > POOL_BYTES && bytes_of (i) > 0
                  && bytes != bytes_of (i)))
            atomic_fetch_add (&field->wrong, 1);
          i++;
        }
      else
        sched_yield ();
    }
}

static gsize
mark_seen (Field *field, const HassSpan *span)
{
  gsize bytes = 0;
  for (guint32 i = 0; i < span->n; i++)
    {
      gsize tag = tag_of (span, i);
      if (tag >= 2 * MOST || atomic_fetch_add (&field->times[tag], 1) != 0)
        atomic_fetch_add (&field->wrong, 1);
      bytes += span->from_ring ? bytes_of (tag) : 0;
      if (tag < field->n && tag % NESTED_EVERY == 0)
        add_nested (field->pool,
                    MOST + atomic_fetch_add (&field->nested_made, 1), 1);
    }
  return bytes;
}

/* Takes, works on, looks at once more and releases up to 3 spans at a time,
   the last first. */
static void
consume (Field *field, guint32 *rand)
{
  HassSpan spans[3];
  gsize firsts[3], n_loads = 0;
  guint n = crowd_random (rand) % 3 + 1, n_taken = 0;
  while (n_taken < n)
    {
      HassSpan *span = &spans[n_taken];
      pthread_mutex_lock (&field->decision);
      gboolean found = hass_load_pool_next (field->pool,
                                            crowd_random (rand) % 9 + 1, span);
      gboolean generated = found && tag_of (span, 0) < MOST;
      for (guint32 i = 0; generated && i < span->n; i++)
        if (tag_of (span, i) != field->due++)
          atomic_fetch_add (&field->wrong, 1);
      pthread_mutex_unlock (&field->decision);
      if (!found)
        break;
      firsts[n_taken++] = tag_of (span, 0);
    }
  if (n_taken == 0)
    sched_yield ();
  while (n_taken-- > 0)
    {
      HassSpan *span = &spans[n_taken];
      gsize bytes = mark_seen (field, span);
      n_loads += span->n;
      if (tag_of (span, 0) != firsts[n_taken])
        atomic_fetch_add (&field->wrong, 1);
      if (span->from_ring)
        {
          atomic_fetch_sub (&field->in_loads, span->n);
          atomic_fetch_sub (&field->in_bytes, bytes);
        }
      hass_load_pool_release (field->pool, span);
    }
  atomic_fetch_add (&field->finished, n_loads);
}

static void
crowd_in_pool (guint index, gpointer data)
{
  Field *field = data;
  guint32 rand = 31 + index;
  gsize all = field->n + (field->n - 1) / NESTED_EVERY + 1;
  if (index == 0)
    generate (field);
  while (atomic_load (&field->finished) < all && playing (field))
    if (index == CONSUMERS + 1)
      {
        /* Never fewer than none, whatever comes and goes meanwhile. */
        if (hass_load_pool_waiting (field->pool) > 4 * MOST)
          atomic_fetch_add (&field->wrong, 1);
      }
    else
      consume (field, &rand);
}

static void
crowd (void)
{
  Field *field = g_new0 (Field, 1);
  field->n = CROWD_SCALE (MOST);
  field->array = g_new0 (HassLoad, field->n);
  field->deadline = crowd_now_ns () + CROWD_PATIENCE_NS;
  field->pool = hass_load_pool_new (POOL_LOADS, POOL_BYTES);
  pthread_mutex_init (&field->decision, NULL);
  crowd_run (CONSUMERS + 2, crowd_in_pool, field);
  CU_ASSERT_EQUAL (atomic_load (&field->wrong), 0);
  CU_ASSERT_EQUAL (field->due, field->n);
  CU_ASSERT_EQUAL (hass_load_pool_waiting (field->pool), 0);
  CU_ASSERT_EQUAL (hass_load_pool_emitted (field->pool),
                   field->n + atomic_load (&field->nested_made));
  gboolean once = TRUE;
  for (gsize i = 0; i < field->n; i++)
    once &= atomic_load (&field->times[i]) == 1;
  for (gsize i = 0; i < atomic_load (&field->nested_made); i++)
    once &= atomic_load (&field->times[MOST + i]) == 1;
  CU_ASSERT (once);
  hass_load_pool_free (field->pool);
  pthread_mutex_destroy (&field->decision);
  g_free (field->array);
  g_free (field);
}

/* One thread puts loads in and takes them out, two add nested ones, one
   counts. */
static void
count_waiting (guint index, gpointer data)
{
  Field *field = data;
  HassSpan span;
  if (index > 1)
    while (atomic_load (&field->finished) == 0)
      {
        add_nested (field->pool, 0, 1);
        for (volatile int i = 0; i < 100; i++)
          ;
      }
  if (index == 1)
    {
      while (atomic_load (&field->finished) == 0)
        if (hass_load_pool_waiting (field->pool) > 4 * MOST)
          atomic_fetch_add (&field->wrong, 1);
    }
  if (index > 0)
    return;
  for (gsize i = 0; i < field->n; i++)
    {
      gboolean in = emit (field->pool, i, 0);
      if (!in || i % 4 == 0)
        while (hass_load_pool_next (field->pool, 9, &span))
          hass_load_pool_release (field->pool, &span);
    }
  atomic_store (&field->finished, 1);
}

static void
counting (void)
{
  Field *field = g_new0 (Field, 1);
  field->n = CROWD_SCALE (2 * MOST);
  field->pool = hass_load_pool_new (POOL_LOADS, POOL_BYTES);
  crowd_run (4, count_waiting, field);
  CU_ASSERT_EQUAL (atomic_load (&field->wrong), 0);
  hass_load_pool_free (field->pool);
  g_free (field);
}

HASS_TEST_SUITE (
    load_pool, { "a pool holds no more loads than its bound", bound_in_loads },
    { "a pool holds no more bytes than its bound", bound_in_bytes },
    { "a load larger than the bound gets in alone", large_alone },
    { "the ring wraps and keeps the order", wraps },
    { "a full pool has room again when a quarter is free", room_for_a_quarter },
    { "spans released early wait for those before them", out_of_order },
    { "arrays keep their place among emitted loads", arrays_in_place },
    { "nested loads come first and never move under a round", nested },
    { "a load costs at most 64 bytes, ordered and summed up", memory },
    { "the count of waiting loads never falls below none", counting },
    { "a crowd gets each load once, in order and within the bounds", crowd })
