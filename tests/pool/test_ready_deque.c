/* SPDX-License-Identifier: MIT */
/* test_ready_deque.c: the deques of a ready set, in order and under stress.
   Thread safety: one thread, beside those of a test's crowd. */
#include "hass/types.h"
#include "hass_test.h"
#include "pool/ready_set.h"
#include "tests/crowd.h"

#define CPU 1u
#define BOTH 3u
#define N_CORES 4
#define N_LOADS CROWD_SCALE (200000) /* of each core */
#define MOST 40                      /* loads moved at once */

static HassReadySet *
new_set (guint n_deques)
{
  HassReadySet *set = hass_ready_set_new (TRUE, BOTH);
  hass_ready_set_add_deques (set, n_deques);
  return set;
}

/* Pushes @n loads of the numbers from @first on. */
static gboolean
push (HassReadySet *set, guint deque, gsize first, guint32 n, guint mask,
      gint64 priority)
{
  HassLoad loads[MOST];
  for (guint32 i = 0; i < n; i++)
    loads[i] = (HassLoad){ .size = first + i, .cost = 2 };
  return hass_ready_deque_push (
      set, deque, &(HassReadyRun){ mask, priority, (double)first }, loads, n);
}

/* Takes up to @n loads of a deque to @loads. Returns: their number. */
static guint32
take (HassReadySet *set, guint deque, guint32 n, gboolean newest,
      HassLoad *loads)
{
  double earliest_ns[MOST];
  HassReadyDeque *d = &set->deques[deque];
  pthread_mutex_lock (&d->lock);
  n = MIN (n, hass_ready_deque_n (d));
  hass_ready_deque_take (set, d, n, newest, loads, earliest_ns);
  pthread_mutex_unlock (&d->lock);
  return n;
}

static void
by_age (void)
{
  HassReadySet *set = new_set (2);
  HassLoad loads[MOST];
  for (gsize i = 0; i < 10; i++)
    CU_ASSERT_TRUE (push (set, 1, i * 30, 30, BOTH, 0));
  CU_ASSERT_EQUAL (hass_ready_set_waiting (set), 300);
  CU_ASSERT_EQUAL (hass_ready_set_common (set), 300);
  CU_ASSERT_EQUAL (hass_ready_set_work (set), 600);
  CU_ASSERT_EQUAL (take (set, 1, 2, TRUE, loads), 2);
  CU_ASSERT_EQUAL (loads[0].size, 298);
  CU_ASSERT_EQUAL (loads[1].size, 299);
  CU_ASSERT_EQUAL (take (set, 1, 3, FALSE, loads), 3);
  CU_ASSERT_EQUAL (loads[0].size, 0);
  CU_ASSERT_EQUAL (loads[2].size, 2);
  /* Other takers find the oldest first, in the set. */
  for (gsize i = 3; i < 298; i++)
    {
      CU_ASSERT_TRUE (hass_ready_set_pop (set, HASS_DEVICE_CPU, loads));
      CU_ASSERT_EQUAL (loads->size, i);
    }
  CU_ASSERT_FALSE (hass_ready_set_pop (set, HASS_DEVICE_CPU, loads));
  CU_ASSERT_EQUAL (hass_ready_set_waiting (set), 0);
  CU_ASSERT_EQUAL (hass_ready_set_work (set), 0);
  hass_ready_set_free (set);
}

static void
only_alike (void)
{
  HassReadySet *set = new_set (2);
  HassLoad load;
  CU_ASSERT_FALSE (push (set, 2, 0, 1, BOTH, 0)); /* no core's */
  CU_ASSERT_FALSE (push (set, 0, 0, 1, 2, 0));    /* not for cores */
  CU_ASSERT_TRUE (push (set, 0, 0, 1, CPU, 0));
  CU_ASSERT_FALSE (push (set, 0, 1, 1, BOTH, 0));
  CU_ASSERT_EQUAL (hass_ready_set_common (set), 0);
  CU_ASSERT_EQUAL (hass_ready_set_partial (set, HASS_DEVICE_CPU), 1);
  CU_ASSERT_EQUAL (hass_ready_set_partial (set, HASS_DEVICE_GPU), 0);
  CU_ASSERT_EQUAL (take (set, 0, 1, TRUE, &load), 1);
  CU_ASSERT_TRUE (push (set, 0, 1, 1, BOTH, 0));
  CU_ASSERT_FALSE (push (set, 1, 2, 1, BOTH, 7));
  CU_ASSERT_FALSE (push (set, 1, 3, 1, BOTH, 0)); /* priorities are in use */
  CU_ASSERT_EQUAL (hass_ready_set_waiting (set), 1);
  hass_ready_set_free (set);
}

/* -- Stress ------------------------------------------------------------- */

typedef struct
{
  HassReadySet *set;
  _Atomic guint8 *seen; /* [N_CORES * N_LOADS]: how often each was taken */
  _Atomic gsize n_taken;
  _Atomic guint n_missed;
  _Atomic gboolean ended;
  _Atomic guint phase; /* odd: a load waits */
} Stress;

static void
note (Stress *s, const HassLoad *loads, guint32 n)
{
  for (guint32 i = 0; i < n; i++)
    atomic_fetch_add (&s->seen[loads[i].size], 1);
  atomic_fetch_add (&s->n_taken, n);
}

/* A core pushes all its loads, and takes its own, those of other cores, and
   those of the set until all cores' loads are taken. */
static void
emit_and_steal (guint core, gpointer data)
{
  Stress *s = data;
  guint32 rand = core + 1;
  HassLoad loads[MOST];
  gsize next = (gsize)core * N_LOADS, end = next + N_LOADS;
  gint64 late = crowd_now_ns () + CROWD_PATIENCE_NS;
  while (atomic_load (&s->n_taken) < (gsize)N_CORES * N_LOADS
         && crowd_now_ns () < late)
    {
      guint32 n = 1 + crowd_random (&rand) % MOST;
      n = (guint32)MIN (n, end - next);
      if (n > 0 && push (s->set, core, next, n, BOTH, 0))
        next += n;
      guint what = crowd_random (&rand) % 16;
      n = 1 + crowd_random (&rand) % MOST;
      if (what == 0)
        note (s, loads, hass_ready_set_pop (s->set, HASS_DEVICE_CPU, loads));
      else if (what < 4)
        note (s, loads, take (s->set, what, n, FALSE, loads));
      else
        note (s, loads, take (s->set, core, n, TRUE, loads));
    }
}

static void
once_each (void)
{
  Stress s = { .set = new_set (N_CORES) };
  guint wrong = 0;
  s.seen = g_malloc0 ((gsize)N_CORES * N_LOADS);
  crowd_run (N_CORES, emit_and_steal, &s);
  for (gsize i = 0; i < (gsize)N_CORES * N_LOADS; i++)
    wrong += atomic_load (&s.seen[i]) != 1;
  CU_ASSERT_EQUAL (wrong, 0);
  CU_ASSERT_EQUAL (hass_ready_set_waiting (s.set), 0);
  CU_ASSERT_EQUAL (hass_ready_set_work (s.set), 0);
  g_free ((gpointer)s.seen);
  hass_ready_set_free (s.set);
}

/* One thread moves a load from the deque to the set; the other one looks. */
static void
move_or_look (guint index, gpointer data)
{
  Stress *s = data;
  HassLoad load;
  if (index == 0)
    {
      for (guint i = 0; i < N_LOADS; i++)
        {
          push (s->set, 0, 0, 1, BOTH, 0);
          atomic_fetch_add (&s->phase, 1);
          hass_ready_set_gather (s->set);
          atomic_fetch_add (&s->phase, 1);
          hass_ready_set_pop (s->set, HASS_DEVICE_CPU, &load);
        }
      atomic_store (&s->ended, TRUE);
      return;
    }
  while (!atomic_load (&s->ended))
    {
      guint phase = atomic_load (&s->phase);
      gboolean none = hass_ready_set_waiting (s->set) == 0;
      atomic_fetch_add (&s->n_missed, none && phase % 2 == 1
                                          && atomic_load (&s->phase) == phase);
    }
}

static void
none_missed (void)
{
  Stress s = { .set = new_set (1) };
  crowd_run (2, move_or_look, &s);
  CU_ASSERT_EQUAL (atomic_load (&s.n_missed), 0);
  hass_ready_set_free (s.set);
}

HASS_TEST_SUITE (
    ready_deque, { "a core takes its newest loads, others the oldest", by_age },
    { "loads with priorities or for other devices are not put in deques",
      only_alike },
    { "cores that push, take and steal move each load once", once_each },
    { "a load that moves from a deque to the set is always counted",
      none_missed })
