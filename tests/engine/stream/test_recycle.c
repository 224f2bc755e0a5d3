/* SPDX-License-Identifier: MIT */
/* test_recycle.c: free objects that pass from worker to worker.
   Thread safety: one thread, but for the crowd. */
#include "engine/stream/recycle.h"

#include <stdatomic.h>

#include "hass_test.h"
#include "tests/crowd.h"

#define SIZE 4

typedef struct
{
  HassFree free;
  _Atomic guint users; /* that have taken it and not freed it */
} Object;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Takes what there is, at most ten magazines, and counts it; then frees it if
   @and_free. */
static guint
take_all (HassRack *rack, HassDepot *depot, guint size, gboolean and_free)
{
  HassFree *got[10 * SIZE];
  guint n = 0;
  while (n < G_N_ELEMENTS (got)
         && (got[n] = hass_recycle_take (rack, depot, &lock, size)))
    n++;
  for (guint i = 0; i < n && and_free; i++)
    hass_recycle_put (rack, depot, &lock, got[i], size);
  return n;
}

static void
last_first (void)
{
  HassRack rack = { 0 };
  HassDepot depot = { 0 };
  Object o[2] = { 0 };
  CU_ASSERT_PTR_NULL (hass_recycle_take (&rack, &depot, &lock, SIZE));
  for (guint i = 0; i < 2; i++)
    hass_recycle_put (&rack, &depot, &lock, &o[i].free, SIZE);
  for (guint i = 2; i-- > 0;)
    CU_ASSERT_PTR_EQUAL (hass_recycle_take (&rack, &depot, &lock, SIZE), &o[i]);
  CU_ASSERT_PTR_NULL (hass_recycle_take (&rack, &depot, &lock, SIZE));
}

/* One worker frees, another one takes all but what the first keeps, and frees
   it again for a third. */
static void
passed_on (void)
{
  for (guint n = 0; n <= 8 * SIZE; n++)
    {
      HassRack first = { 0 }, second = { 0 }, third = { 0 };
      HassDepot depot = { 0 };
      Object o[8 * SIZE] = { 0 };
      for (guint i = 0; i < n; i++)
        hass_recycle_put (&first, &depot, &lock, &o[i].free, SIZE);
      guint got = take_all (&second, &depot, SIZE, TRUE);
      CU_ASSERT_EQUAL (got % SIZE, 0);
      CU_ASSERT_TRUE (n - got <= 2 * SIZE);
      guint again = take_all (&third, &depot, SIZE, FALSE);
      CU_ASSERT_EQUAL (again % SIZE, 0);
      CU_ASSERT_TRUE (got - again <= 2 * SIZE);
      CU_ASSERT_EQUAL (take_all (&first, &depot, SIZE, FALSE), n - got);
      CU_ASSERT_EQUAL (take_all (&second, &depot, SIZE, FALSE), got - again);
    }
}

/* Frees and takes about the edge of a magazine use no depot. */
static void
edge (void)
{
  HassRack rack = { 0 };
  HassDepot depot = { 0 };
  Object o[SIZE + 2] = { 0 };
  for (guint i = 0; i < SIZE; i++)
    hass_recycle_put (&rack, &depot, &lock, &o[i].free, SIZE);
  for (guint k = 0; k < 3; k++)
    {
      for (guint i = SIZE; i < SIZE + 2; i++)
        hass_recycle_put (&rack, &depot, &lock, &o[i].free, SIZE);
      for (guint i = SIZE + 2; i-- > SIZE;)
        CU_ASSERT_PTR_EQUAL (hass_recycle_take (&rack, &depot, &lock, SIZE),
                             &o[i]);
    }
  CU_ASSERT_PTR_NULL (depot.full);
}

/* A worker frees into a magazine of which it has taken some. */
static void
refilled (void)
{
  HassRack rack = { 0 };
  HassDepot depot = { 0 };
  Object o[3 * SIZE] = { 0 };
  for (guint i = 1; i < SIZE; i++)
    o[i - 1].free.next = &o[i].free;
  hass_depot_add (&depot, &lock, &o[0].free);
  CU_ASSERT_PTR_EQUAL (hass_recycle_take (&rack, &depot, &lock, SIZE), &o[0]);
  hass_recycle_put (&rack, &depot, &lock, &o[0].free, SIZE);
  for (guint i = SIZE; i < 2 * SIZE; i++)
    hass_recycle_put (&rack, &depot, &lock, &o[i].free, SIZE);
  CU_ASSERT_PTR_NULL (depot.full);
  hass_recycle_put (&rack, &depot, &lock, &o[2 * SIZE].free, SIZE);
  CU_ASSERT_PTR_EQUAL (depot.full, &o[0]);
}

static void
none_kept (void)
{
  HassRack from = { 0 }, to = { 0 };
  HassDepot depot = { 0 };
  Object o[3] = { 0 };
  for (guint i = 0; i < 3; i++)
    hass_recycle_put (&from, &depot, &lock, &o[i].free, 0);
  CU_ASSERT_EQUAL (take_all (&to, &depot, 0, FALSE), 3);
}

/* -- Many at a time ----------------------------------------------------- */

#define N_THREADS 4
#define FEW 1       /* objects in a magazine, so that the depot is used often */
#define N_HANDED 64 /* objects on their way from those that take */
#define N_TURNS CROWD_SCALE (300000)

static HassDepot shared;
static Object made[4096];
static Object *_Atomic handed[N_HANDED];
static _Atomic guint n_made, n_wrong;

/* Takes an object for another thread; frees it if there is no place for it. */
static void
take_one (HassRack *rack, guint place)
{
  Object *none = NULL;
  Object *o = (Object *)hass_recycle_take (rack, &shared, &lock, FEW);
  if (!o)
    o = &made[n_made++ % G_N_ELEMENTS (made)];
  n_wrong += atomic_fetch_add (&o->users, 1) != 0;
  if (atomic_compare_exchange_strong (&handed[place], &none, o))
    return;
  n_wrong += atomic_fetch_sub (&o->users, 1) != 1;
  hass_recycle_put (rack, &shared, &lock, &o->free, FEW);
}

static void
free_one (HassRack *rack, guint place)
{
  Object *o = atomic_exchange (&handed[place], NULL);
  if (!o)
    return;
  n_wrong += atomic_fetch_sub (&o->users, 1) != 1;
  hass_recycle_put (rack, &shared, &lock, &o->free, FEW);
}

static gpointer
work (gpointer data)
{
  guint self = GPOINTER_TO_UINT (data);
  HassRack rack = { 0 };
  for (guint i = 0; i < N_TURNS; i++)
    if (self % 2)
      free_one (&rack, (i + self) % N_HANDED);
    else
      take_one (&rack, (i + self) % N_HANDED);
  return NULL;
}

static void
crowd (void)
{
  GThread *threads[N_THREADS];
  for (guint i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("recycle", work, GUINT_TO_POINTER (i));
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  CU_ASSERT_EQUAL (n_wrong, 0);
  /* What is handed over; and of each thread two magazines, one on its way to
     the depot, and the object that it has in hand. */
  CU_ASSERT_TRUE (n_made <= N_HANDED + N_THREADS * (3 * FEW + 1));
}

HASS_TEST_SUITE (
    recycle, { "the object that was freed last is taken first", last_first },
    { "what one worker frees another one takes, but for two magazines",
      passed_on },
    { "a worker at the edge of a magazine needs no other", edge },
    { "a magazine that was used in part is filled up again", refilled },
    { "of large objects a worker keeps none", none_kept },
    { "no object is taken twice by many workers, and few are made", crowd })
