/* SPDX-License-Identifier: MIT */
/* test_round_open.c: loads of deques and of the set itself join open rounds
   that are closed and begun anew meanwhile.
   Thread safety: several threads play in one test. */
#include "crowd.h"
#include "hass_test.h"
#include "pool/round_engine.h"

#define N_CORES 3
#define ROOM 96
#define MOST 8                       /* loads pushed or pulled at once */
#define N_LOADS CROWD_SCALE (400000) /* of each core */

typedef struct
{
  HassRound round;
  HassReadySet *set;
  pthread_mutex_t decision;    /* held to close and to begin the round */
  _Atomic guint8 filled[ROOM]; /* loads at each position of the round */
  _Atomic guint8 *seen;        /* [N_CORES * N_LOADS]: times it was run */
  _Atomic gsize n_run;
  _Atomic guint wrong;
  guint n_rounds, n_part; /* rounds, and those closed before they were full */
  gint64 deadline;
} Field;

static void
begin (Field *f)
{
  hass_round_begin_loads (&f->round, HASS_FARM_FUNCTION, HASS_COST_EQUAL,
                          &(HassSpan){ .n = ROOM });
  hass_round_open (&f->round);
  hass_round_let_join (&f->round);
}

static void
field_init (Field *f)
{
  HassDeviceTraits cpu
      = { .kind = HASS_DEVICE_CPU, .cores = N_CORES, .width = N_CORES };
  hass_round_init (&f->round, 1, &cpu);
  f->set = hass_ready_set_new (FALSE, f->round.all_classes);
  hass_ready_set_add_deques (f->set, N_CORES);
  hass_round_init_open (&f->round, f->set, ROOM);
  pthread_mutex_init (&f->decision, NULL);
  f->seen = g_malloc0 ((gsize)N_CORES * N_LOADS);
  f->deadline = crowd_now_ns () + CROWD_PATIENCE_NS;
  begin (f);
  atomic_store (&f->round.pull_source, HASS_RANGE_COMMON);
}

static void
field_clear (Field *f)
{
  hass_round_clear (&f->round);
  hass_ready_set_free (f->set);
  pthread_mutex_destroy (&f->decision);
  g_free ((gpointer)f->seen);
}

static gboolean
playing (Field *f)
{
  return atomic_load (&f->n_run) < (gsize)N_CORES * N_LOADS
         && atomic_load (&f->wrong) == 0 && crowd_now_ns () < f->deadline;
}

/* Emits loads whose numbers begin with @first, one time in eight to the set.
   Returns: the number of loads. */
static guint32
emit (Field *f, guint core, gsize first, guint32 n, gboolean to_set)
{
  HassLoad loads[MOST];
  HassReadyRun run = { .mask = f->round.all_classes };
  for (guint32 i = 0; i < n; i++)
    loads[i] = (HassLoad){ .size = first + i };
  if (to_set)
    hass_ready_set_add (f->set, &run, loads, n);
  else if (!hass_ready_deque_push (f->set, core, &run, loads, n))
    atomic_fetch_add (&f->wrong, 1);
  return n;
}

/* Each load is run once, and no two are at one position. */
static void
run (Field *f, HassExtent e)
{
  for (guint32 i = 0; i < e.n; i++)
    {
      gsize number = hass_round_load (&f->round, e.first + i)->size;
      if (atomic_fetch_add (&f->filled[e.first + i], 1) != 0
          || atomic_fetch_add (&f->seen[number], 1) != 0)
        atomic_fetch_add (&f->wrong, 1);
    }
  atomic_fetch_add (&f->n_run, e.n);
  atomic_fetch_sub_explicit (&f->round.outstanding, e.n, memory_order_acq_rel);
}

/* Until the round is closed the units that may still join become fewer, also
   while a take from the set holds their positions. */
static void
count_missing (Field *f)
{
  for (guint i = 0, before = ROOM, n; i < 4; i++, before = n)
    if ((n = hass_round_missing (&f->round)) > before)
      atomic_fetch_add (&f->wrong, 1);
}

/* Closes the round, waits for its last unit, and begins it anew. Its units lie
   at its first positions, without a gap. */
static void
renew (Field *f)
{
  guint32 rest = hass_round_close (&f->round);
  atomic_fetch_sub_explicit (&f->round.outstanding, rest, memory_order_acq_rel);
  while (atomic_load_explicit (&f->round.outstanding, memory_order_acquire) > 0
         && playing (f))
    sched_yield ();
  if (rest + hass_round_units (&f->round) != ROOM)
    atomic_fetch_add (&f->wrong, 1);
  for (guint32 i = 0; i < ROOM; i++)
    if (atomic_exchange (&f->filled[i], 0) != (i < ROOM - rest))
      atomic_fetch_add (&f->wrong, playing (f));
  f->n_rounds++;
  f->n_part += rest > 0;
  begin (f);
}

static void
play (guint core, gpointer data)
{
  Field *f = data;
  guint32 rand = core + 1;
  gsize next = (gsize)core * N_LOADS, end = next + N_LOADS;
  while (playing (f))
    {
      guint32 k = 1 + crowd_random (&rand) % MOST;
      if (next < end)
        next += emit (f, core, next, (guint32)MIN (k, end - next),
                      crowd_random (&rand) % 8 == 0);
      k = 1 + crowd_random (&rand) % MOST;
      HassExtent e = hass_round_pull_own (&f->round, core, k);
      if (e.n == 0)
        e = hass_round_pull (&f->round, k);
      if (e.n > 0)
        run (f, e);
      gboolean old = !hass_round_takes_ready (&f->round)
                     || crowd_random (&rand) % 256 == 0;
      if ((old || k == 1) && pthread_mutex_trylock (&f->decision) == 0)
        {
          count_missing (f);
          if (old)
            renew (f);
          pthread_mutex_unlock (&f->decision);
        }
    }
}

static void
dense (void)
{
  static Field f;
  field_init (&f);
  crowd_run (N_CORES, play, &f);
  CU_ASSERT_EQUAL (atomic_load (&f.wrong), 0);
  CU_ASSERT_EQUAL (atomic_load (&f.n_run), (gsize)N_CORES * N_LOADS);
  CU_ASSERT_EQUAL (hass_ready_set_waiting (f.set), 0);
  CU_ASSERT (f.n_part > 0 && f.n_rounds > f.n_part);
  field_clear (&f);
}

HASS_TEST_SUITE (round_open,
                 { "loads join at adjacent positions, each once, while rounds "
                   "are closed and begun",
                   dense })
