/* SPDX-License-Identifier: MIT */
/* test_load_pool_crowd.c: the load pool gives each load once, in order and
   within its bounds, whatever several threads do with it.
   Thread safety: several threads play in each test. */
#include "crowd.h"
#include "hass_test.h"
#include "load_pool_trial.h"

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
      else if (pool_emit (field->pool, i, bytes_of (i)))
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
      gsize tag = span_tag (span, i);
      if (tag >= 2 * MOST || atomic_fetch_add (&field->times[tag], 1) != 0)
        atomic_fetch_add (&field->wrong, 1);
      bytes += span->from_ring ? bytes_of (tag) : 0;
      if (tag < field->n && tag % NESTED_EVERY == 0)
        pool_add_nested (field->pool,
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
      gboolean generated = found && span_tag (span, 0) < MOST;
      for (guint32 i = 0; generated && i < span->n; i++)
        if (span_tag (span, i) != field->due++)
          atomic_fetch_add (&field->wrong, 1);
      pthread_mutex_unlock (&field->decision);
      if (!found)
        break;
      firsts[n_taken++] = span_tag (span, 0);
    }
  if (n_taken == 0)
    sched_yield ();
  while (n_taken-- > 0)
    {
      HassSpan *span = &spans[n_taken];
      gsize bytes = mark_seen (field, span);
      n_loads += span->n;
      if (span_tag (span, 0) != firsts[n_taken])
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
        pool_add_nested (field->pool, 0, 1);
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
      gboolean in = pool_emit (field->pool, i, 0);
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
    load_pool_crowd,
    { "the count of waiting loads never falls below none", counting },
    { "a crowd gets each load once, in order and within the bounds", crowd })
