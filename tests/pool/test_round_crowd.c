/* SPDX-License-Identifier: MIT */
/* test_round_crowd.c: each unit of a round runs once, whatever several threads
   do with the round.
   Thread safety: several threads play in one test. */
#include "crowd.h"
#include "hass_test.h"
#include "round_trial.h"

#define PULLERS 2

typedef struct
{
  HassLoad loads[2][MOST];
  guint32 n, n_rounds;
  gint64 deadline;
  pthread_mutex_t decision;
  _Atomic gint over;
  _Atomic guint wrong, returned;
  _Atomic guint8 times[2][MOST];
} Field;

/* A load's tag says in which round it belongs and who may run it. */
static void
execute (Field *field, HassExtent e, guint kind)
{
  for (guint32 i = 0; i < e.n; i++)
    {
      const HassLoad *load = hass_round_load (&round_, e.first + i);
      gsize tag = GPOINTER_TO_SIZE (load->tag);
      guint kinds = load->flags ? load->flags : HASS_LOAD_CPU | HASS_LOAD_GPU;
      if (!(kinds & kind)
          || atomic_fetch_add (&field->times[tag / MOST][tag % MOST], 1) != 0)
        atomic_fetch_add (&field->wrong, 1);
    }
  atomic_fetch_sub_explicit (&round_.outstanding, e.n, memory_order_acq_rel);
}

/* Returns some of what was taken, and executes the rest. */
static void
fail_some (Field *field, HassExtent e, guint kind, guint32 *rand)
{
  if (e.n > 0 && crowd_random (rand) % 4 == 0)
    {
      guint32 give = crowd_random (rand) % e.n + 1;
      gboolean lower = crowd_random (rand) % 2;
      hass_round_give_back (
          &round_,
          (HassExtent){ lower ? e.first : e.first + e.n - give, give });
      e.first += lower ? give : 0;
      e.n -= give;
      atomic_fetch_add_explicit (&field->returned, 1, memory_order_relaxed);
    }
  if (e.n > 0)
    execute (field, e, kind);
}

static gboolean
playing (Field *field)
{
  return atomic_load (&field->over) == 0 && atomic_load (&field->wrong) == 0
         && crowd_now_ns () < field->deadline;
}

/* The loads of round r: some for CPUs only, some for GPUs only. */
static void
begin_round (Field *field, guint r, guint32 *rand)
{
  HassLoad *loads = field->loads[r % 2];
  for (guint32 i = 0; i < field->n; i++)
    {
      guint32 x = crowd_random (rand);
      loads[i] = (HassLoad){ .size = x % 3,
                             .cost = x % 1000,
                             .flags = x % 8 == 0   ? HASS_LOAD_GPU
                                      : x % 4 == 1 ? HASS_LOAD_CPU
                                                   : 0,
                             .tag = GSIZE_TO_POINTER (r % 2 * MOST + i) };
      atomic_store_explicit (&field->times[r % 2][i], 0, memory_order_relaxed);
    }
  atomic_store_explicit (&round_.pull_source, HASS_PULL_DONE,
                         memory_order_relaxed);
  HassSpan span = { .loads = loads, .mask = ANY_MASK, .n = field->n };
  hass_round_begin_loads (&round_, HASS_FARM_FUNCTION, HASS_COST_SIZED, &span);
  hass_round_open (&round_);
  atomic_store_explicit (&round_.pull_source, HASS_RANGE_COMMON,
                         memory_order_release);
}

static HassExtent
decide (guint32 *rand)
{
  guint32 what = crowd_random (rand) % 16, n = crowd_random (rand) % 32;
  HassGrant grant = { .units = n % 8 + 1, .share = n % 3 };
  gint32 source = HASS_RANGE_COMMON;
  switch (what)
    {
    case 0:
    case 1:
      hass_round_order_by_work (&round_);
      break;
    case 2:
      hass_round_carve (&round_, (guint64[]){ n, n / 2, n / 4 });
      break;
    case 3:
      hass_round_assign (&round_, by_position, NULL);
      break;
    case 4:
      grant = (HassGrant){ .source = HASS_FROM_FRONT, .units = 8 };
      HassUnitRange *allotment = &round_.ranges[HASS_RANGE_ALLOTMENT];
      if (hass_unit_range_peek (allotment).n == 0)
        {
          HassExtent e = hass_round_take (&round_, CPU, &grant);
          hass_unit_range_set (allotment, e.first, e.n);
        }
      source = HASS_RANGE_ALLOTMENT;
      break;
    case 5:
      source = HASS_RANGE_SHARES + CPU;
      break;
    case 6:
      source = HASS_PULL_WAIT;
      break;
    default:
      grant.source = what % 4;
      if (n % 4 == 0)
        grant.work = n * 100;
      return hass_round_take (&round_, GPU0, &grant);
    }
  atomic_store_explicit (&round_.pull_source, source, memory_order_release);
  return (HassExtent){ 0, 0 };
}

static void
check_round (Field *field, guint r)
{
  for (guint32 i = 0; i < field->n; i++)
    if (atomic_load (&field->times[r % 2][i]) != 1)
      atomic_fetch_add (&field->wrong, 1);
  if (hass_round_waiting_anywhere (&round_) != 0)
    atomic_fetch_add (&field->wrong, 1);
}

static void
strategist (Field *field, guint32 *rand)
{
  for (guint r = 0; r < field->n_rounds && playing (field); r++)
    {
      begin_round (field, r, rand);
      while (atomic_load_explicit (&round_.outstanding, memory_order_acquire)
                 > 0
             && playing (field))
        {
          pthread_mutex_lock (&field->decision);
          HassExtent e = decide (rand);
          pthread_mutex_unlock (&field->decision);
          fail_some (field, e, HASS_LOAD_GPU, rand);
          if (e.n == 0)
            sched_yield ();
        }
      check_round (field, r);
    }
  atomic_store (&field->over, 1);
}

static void
crowd_in_round (guint index, gpointer data)
{
  Field *field = data;
  guint32 rand = 99 + index;
  if (index == PULLERS)
    strategist (field, &rand);
  while (playing (field))
    {
      HassExtent e = hass_round_pull (&round_, crowd_random (&rand) % 4 + 1);
      fail_some (field, e, HASS_LOAD_CPU, &rand);
      if (e.n == 0)
        sched_yield ();
    }
}

/* The pullers know nothing of rounds that begin and end, as in live.c. */
static void
crowd_plays (guint32 n, guint n_rounds)
{
  Field *field = g_new0 (Field, 1);
  open_trial_round ();
  field->n = n;
  field->n_rounds = CROWD_SCALE (n_rounds);
  field->deadline = crowd_now_ns () + CROWD_PATIENCE_NS;
  pthread_mutex_init (&field->decision, NULL);
  crowd_run (PULLERS + 1, crowd_in_round, field);
  CU_ASSERT_EQUAL (atomic_load (&field->wrong), 0);
  CU_ASSERT (atomic_load (&field->returned) > 0);
  CU_ASSERT (crowd_now_ns () < field->deadline);
  pthread_mutex_destroy (&field->decision);
  hass_round_clear (&round_);
  g_free (field);
}

static void
crowd (void)
{
  crowd_plays (MOST, 60);
  crowd_plays (100, 1000);
}

/* -- Progress ----------------------------------------------------------- */

#define N_COUNTED 200000u

/* Two cores count units, of 2 each in work and 4 in ns; a third thread reads.
   A pool's time is that of its cores divided by their number. */
static void
count_or_read (guint index, gpointer data)
{
  Field *field = data;
  if (index < 2)
    {
      HassCounter *c = &round_.counters[round_.counter_of[0] + index];
      for (guint i = 0; i < N_COUNTED; i++)
        hass_counter_add (c, 1, 2, 4);
      return;
    }
  guint64 last = 0;
  while (last < 2 * N_COUNTED && atomic_load (&field->wrong) == 0)
    {
      HassProgress p = hass_round_progress (&round_, 0);
      if (p.units < last || p.work != 2. * (double)p.units
          || p.busy_ns != 2 * (gint64)p.units)
        atomic_fetch_add (&field->wrong, 1);
      last = p.units;
    }
}

static void
progress_is_of_one_moment (void)
{
  Field *field = g_new0 (Field, 1);
  open_trial_round ();
  crowd_run (3, count_or_read, field);
  CU_ASSERT_EQUAL (atomic_load (&field->wrong), 0);
  CU_ASSERT_EQUAL (hass_round_progress (&round_, 0).units, 2 * N_COUNTED);
  hass_round_clear (&round_);
  g_free (field);
}

HASS_TEST_SUITE (round_crowd,
                 { "each unit runs once while others order, carve and steal",
                   crowd },
                 { "progress shows units, work and time of one moment",
                   progress_is_of_one_moment })
