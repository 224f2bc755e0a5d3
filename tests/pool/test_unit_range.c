/* SPDX-License-Identifier: MIT */
/* The two-ended range: takes, returns and seizures, alone and in a crowd.
   Thread safety: one thread, but for the crowds of the last tests. */
#include "pool/unit_range.h"

#include "crowd.h"
#include "hass_test.h"

static gboolean
is (HassExtent e, guint32 first, guint32 n)
{
  return e.first == first && e.n == n;
}

static void
front (void)
{
  HassUnitRange range;
  hass_unit_range_set (&range, 10, 5);
  CU_ASSERT (is (hass_unit_range_take_front (&range, 2), 10, 2));
  CU_ASSERT (is (hass_unit_range_peek (&range), 12, 3));
  CU_ASSERT (is (hass_unit_range_take_front (&range, 9), 12, 3));
  CU_ASSERT (hass_unit_range_take_front (&range, 1).n == 0);
}

static void
back (void)
{
  HassUnitRange range;
  hass_unit_range_set (&range, 10, 5);
  CU_ASSERT (is (hass_unit_range_take_back (&range, 2), 13, 2));
  CU_ASSERT (is (hass_unit_range_peek (&range), 10, 3));
  CU_ASSERT (is (hass_unit_range_take_back (&range, 9), 10, 3));
  CU_ASSERT (hass_unit_range_take_back (&range, 1).n == 0);
}

static void
limits (void)
{
  HassUnitRange range;
  guint32 most = G_MAXUINT32 - 1;
  hass_unit_range_set (&range, 0, most);
  CU_ASSERT (is (hass_unit_range_take_back (&range, 1), most - 1, 1));
  CU_ASSERT (is (hass_unit_range_take_front (&range, 1), 0, 1));
  CU_ASSERT (
      is (hass_unit_range_take_front (&range, G_MAXUINT32), 1, most - 2));
  CU_ASSERT (hass_unit_range_peek (&range).n == 0);
  hass_unit_range_set (&range, 7, 0);
  CU_ASSERT (hass_unit_range_take_front (&range, G_MAXUINT32).n == 0);
  CU_ASSERT (hass_unit_range_take_back (&range, G_MAXUINT32).n == 0);
  CU_ASSERT (hass_unit_range_take_back (&range, 0).n == 0);
}

static void
returns (void)
{
  HassUnitRange range;
  hass_unit_range_set (&range, 10, 10);
  hass_unit_range_take_front (&range, 4);
  hass_unit_range_take_back (&range, 4);
  CU_ASSERT (!hass_unit_range_give_back (&range, (HassExtent){ 10, 2 }));
  CU_ASSERT (!hass_unit_range_give_back (&range, (HassExtent){ 18, 2 }));
  CU_ASSERT (is (hass_unit_range_peek (&range), 14, 2));
  CU_ASSERT (hass_unit_range_give_back (&range, (HassExtent){ 12, 2 }));
  CU_ASSERT (hass_unit_range_give_back (&range, (HassExtent){ 16, 2 }));
  CU_ASSERT (is (hass_unit_range_peek (&range), 12, 6));
  hass_unit_range_take_front (&range, 6);
  CU_ASSERT (hass_unit_range_give_back (&range, (HassExtent){ 13, 2 }));
  CU_ASSERT (is (hass_unit_range_peek (&range), 13, 2));
}

static void
seizure (void)
{
  HassUnitRange range;
  hass_unit_range_set (&range, 10, 5);
  CU_ASSERT (is (hass_unit_range_seize (&range), 10, 5));
  CU_ASSERT (hass_unit_range_peek (&range).n == 0);
  CU_ASSERT (hass_unit_range_take_front (&range, 3).n == 0);
  CU_ASSERT (hass_unit_range_take_back (&range, 3).n == 0);
  CU_ASSERT (!hass_unit_range_give_back (&range, (HassExtent){ 8, 2 }));
  hass_unit_range_set (&range, 10, 5);
  CU_ASSERT (hass_unit_range_give_back (&range, (HassExtent){ 8, 2 }));
  CU_ASSERT (is (hass_unit_range_peek (&range), 8, 7));
}

/* Against a set of bits. */
static void
random_walk (void)
{
  enum
  {
    N = 64
  };
  guint32 rand = 7;
  HassUnitRange range;
  GArray *held = g_array_new (FALSE, FALSE, sizeof (HassExtent));
  guint64 waits = G_MAXUINT64;
  hass_unit_range_set (&range, 0, N);
  for (guint step = 0; step < 20000; step++)
    {
      HassExtent e;
      guint what = crowd_random (&rand) % 4, k = crowd_random (&rand) % 9;
      if (what >= 2 && held->len > 0)
        {
          guint i = crowd_random (&rand) % held->len;
          e = g_array_index (held, HassExtent, i);
          if (!hass_unit_range_give_back (&range, e))
            continue;
          g_array_remove_index_fast (held, i);
          for (guint32 u = e.first; u < e.first + e.n; u++)
            waits |= G_GUINT64_CONSTANT (1) << u;
        }
      else
        {
          e = what & 1 ? hass_unit_range_take_back (&range, k)
                       : hass_unit_range_take_front (&range, k);
          CU_ASSERT (e.n <= k);
          if (e.n > 0)
            g_array_append_val (held, e);
          for (guint32 u = e.first; u < e.first + e.n; u++)
            {
              CU_ASSERT (waits >> u & 1);
              waits &= ~(G_GUINT64_CONSTANT (1) << u);
            }
        }
      guint64 says = 0;
      e = hass_unit_range_peek (&range);
      for (guint32 u = e.first; u < e.first + e.n; u++)
        says |= G_GUINT64_CONSTANT (1) << u;
      CU_ASSERT (says == waits);
    }
  g_array_unref (held);
}

/* -- Crowds ------------------------------------------------------------- */

#define CROWD 3
#define MOST (1 << 17)

typedef struct
{
  HassUnitRange range;
  pthread_barrier_t barrier;
  guint n_threads, n_rounds;
  guint32 n;
  gint64 deadline;
  _Atomic gint64 left; /* units not executed */
  _Atomic guint wrong; /* units executed twice or lost */
  _Atomic guint8 times[MOST];
} Field;

static void
execute (Field *field, HassExtent e)
{
  for (guint32 u = e.first; u < e.first + e.n; u++)
    if (u >= field->n
        || atomic_fetch_add_explicit (&field->times[u], 1, memory_order_relaxed)
               != 0)
      atomic_fetch_add (&field->wrong, 1);
  atomic_fetch_sub (&field->left, e.n);
}

/* Takes 1 to 8 units and now and then returns some of them. */
static void
take_some (Field *field, gboolean at_back, guint32 *rand)
{
  guint32 k = crowd_random (rand) % 8 + 1;
  HassExtent e = at_back ? hass_unit_range_take_back (&field->range, k)
                         : hass_unit_range_take_front (&field->range, k);
  if (e.n == 0)
    {
      sched_yield ();
      return;
    }
  if (crowd_random (rand) % 4 == 0)
    {
      guint32 give = crowd_random (rand) % e.n + 1, keep = e.n - give;
      gboolean lower = crowd_random (rand) % 4 == 0 ? !at_back : at_back;
      HassExtent given = { lower ? e.first : e.first + keep, give };
      HassExtent kept = { lower ? e.first + give : e.first, keep };
      if (hass_unit_range_give_back (&field->range, given))
        e = kept;
    }
  execute (field, e);
}

static void
seize_and_set (Field *field)
{
  HassExtent e = hass_unit_range_seize (&field->range);
  for (volatile int i = 0; i < 20; i++)
    ;
  hass_unit_range_set (&field->range, e.first, e.n);
  sched_yield ();
}

static void
crowd_in_field (guint index, gpointer data)
{
  Field *field = data;
  guint32 rand = 77 + index;
  for (guint r = 0; r < field->n_rounds; r++)
    {
      if (index == 0)
        {
          for (guint32 u = 0; u < field->n; u++)
            atomic_store_explicit (&field->times[u], 0, memory_order_relaxed);
          atomic_store (&field->left, field->n);
          hass_unit_range_set (&field->range, 0, field->n);
        }
      pthread_barrier_wait (&field->barrier);
      while (atomic_load (&field->left) > 0 && atomic_load (&field->wrong) == 0
             && crowd_now_ns () < field->deadline)
        for (guint i = 0; i < 16; i++)
          if (index < CROWD)
            take_some (field, index == CROWD - 1, &rand);
          else
            seize_and_set (field);
      pthread_barrier_wait (&field->barrier);
      if (index == 0)
        for (guint32 u = 0; u < field->n; u++)
          if (atomic_load_explicit (&field->times[u], memory_order_relaxed)
              != 1)
            atomic_fetch_add (&field->wrong, 1);
    }
}

static guint
wrong_in (guint n_threads, guint32 n, guint n_rounds)
{
  static Field field;
  field.n_threads = n_threads;
  field.n_rounds = CROWD_SCALE (n_rounds);
  field.n = n;
  field.deadline = crowd_now_ns () + CROWD_PATIENCE_NS;
  atomic_store (&field.wrong, 0);
  pthread_barrier_init (&field.barrier, NULL, n_threads);
  crowd_run (n_threads, crowd_in_field, &field);
  pthread_barrier_destroy (&field.barrier);
  return atomic_load (&field.wrong);
}

static void
crowd_large (void)
{
  CU_ASSERT_EQUAL (wrong_in (CROWD, CROWD_SCALE (MOST), 8), 0);
}

static void
crowd_small (void)
{
  CU_ASSERT_EQUAL (wrong_in (CROWD, 40, 1000), 0);
}

static void
crowd_seized (void)
{
  CU_ASSERT_EQUAL (wrong_in (CROWD + 1, CROWD_SCALE (MOST / 8), 4), 0);
  CU_ASSERT_EQUAL (wrong_in (CROWD + 1, 40, 500), 0);
}

HASS_TEST_SUITE (
    unit_range, { "the front gives the lowest positions, at most k", front },
    { "the back gives the highest positions, at most k", back },
    { "a range holds from no unit to 2^32 - 2", limits },
    { "returns are taken where they touch an end or nothing waits", returns },
    { "a seized range is empty and refuses returns until set", seizure },
    { "any sequence of takes and returns agrees with a set of bits",
      random_walk },
    { "a crowd takes and returns: each unit comes out once", crowd_large },
    { "a crowd takes each unit of a nearly empty range once", crowd_small },
    { "a crowd takes each unit once while the range is seized and set again",
      crowd_seized })
