/* SPDX-License-Identifier: MIT */
/* The event count: who sleeps is woken by each change made after its look.
   Thread safety: one thread, but for the crowds. */
#include "pool/event.h"

#include "crowd.h"
#include "hass_test.h"

/* A sleep of so long, in ns, was never woken. A guess: shorter, and a thread
   that a busy machine does not run seems lost. */
#define LOST_NS G_GINT64_CONSTANT (60000000000)

static void
timeout (void)
{
  HassEvent event;
  hass_event_init (&event);
  gint64 begin = crowd_now_ns ();
  hass_event_wait (&event, hass_event_prepare (&event), 20000000);
  CU_ASSERT (crowd_now_ns () - begin >= 19000000);
  hass_event_wait (&event, hass_event_prepare (&event), 0);
  CU_ASSERT_EQUAL (atomic_load (&event.sleepers), 0);
  hass_event_clear (&event);
}

static void
notified_before (void)
{
  HassEvent event;
  hass_event_init (&event);
  guint64 epoch = hass_event_prepare (&event);
  hass_event_notify (&event);
  gint64 begin = crowd_now_ns ();
  hass_event_wait (&event, epoch, LOST_NS);
  CU_ASSERT (crowd_now_ns () - begin < LOST_NS / 2);
  hass_event_clear (&event);
}

static void
cancelled (void)
{
  HassEvent event;
  hass_event_init (&event);
  hass_event_prepare (&event);
  hass_event_prepare (&event);
  CU_ASSERT_EQUAL (atomic_load (&event.sleepers), 2);
  hass_event_cancel (&event);
  CU_ASSERT_EQUAL (atomic_load (&event.sleepers), 1);
  hass_event_cancel (&event);
  CU_ASSERT_EQUAL (atomic_load (&event.sleepers), 0);
  hass_event_clear (&event);
}

/* -- Crowds ------------------------------------------------------------- */

typedef struct
{
  HassEvent event;
  guint n_threads, n_turns;
  gboolean ordered; /* changes and checks are seq_cst */
  _Alignas(64) _Atomic guint turn;
  _Alignas(64) _Atomic guint ready; /* ambush: turn that is waited for */
  _Alignas(64) _Atomic guint slept; /* sleeps */
  _Atomic guint lost;               /* sleeps that nothing ended */
} Game;

/* Otherwise relaxed: that a change is seen at all is what the event promises.
 */
static guint
turn_of (Game *game)
{
  return game->ordered
             ? atomic_load_explicit (&game->turn, memory_order_seq_cst)
             : atomic_load_explicit (&game->turn, memory_order_relaxed);
}

static void
set_turn (Game *game, guint turn)
{
  if (game->ordered)
    {
      atomic_store_explicit (&game->turn, turn, memory_order_seq_cst);
      hass_event_notify_sleepers (&game->event);
    }
  else
    {
      atomic_store_explicit (&game->turn, turn, memory_order_relaxed);
      hass_event_notify (&game->event);
    }
}

/* Sleeps until *turn is at least `until`. FALSE: the wake-up was lost. */
static gboolean
sleep_until (Game *game, guint until)
{
  while (turn_of (game) < until)
    {
      guint64 epoch = hass_event_prepare (&game->event);
      if (turn_of (game) >= until || atomic_load (&game->lost) > 0)
        {
          hass_event_cancel (&game->event);
          break;
        }
      gint64 begin = crowd_now_ns ();
      hass_event_wait (&game->event, epoch, LOST_NS);
      atomic_fetch_add_explicit (&game->slept, 1, memory_order_relaxed);
      if (crowd_now_ns () - begin >= LOST_NS)
        {
          atomic_fetch_add (&game->lost, 1);
          hass_event_notify (&game->event);
        }
    }
  return atomic_load (&game->lost) == 0;
}

/* Threads take turns; a plain store and a notify hand the turn on. */
static void
play (guint index, gpointer data)
{
  Game *game = data;
  guint32 rand = 5 + index;
  for (guint t = index; t < game->n_turns; t += game->n_threads)
    {
      if (!sleep_until (game, t))
        return;
      for (guint i = crowd_random (&rand) % 512; i > 0; i--)
        __asm__ volatile("");
      set_turn (game, t + 1);
    }
}

/* One thread makes changes, when all others sleep; these see each of them. */
static void
watch (guint index, gpointer data)
{
  Game *game = data;
  guint32 rand = 5;
  /* Until then each notification only makes sleepers look and sleep again. */
  while (index == 0 && atomic_load (&game->slept) < game->n_threads - 1
         && atomic_load (&game->lost) == 0)
    {
      hass_event_notify (&game->event);
      sched_yield ();
    }
  for (guint t = 1; t <= game->n_turns; t++)
    if (index > 0)
      {
        if (!sleep_until (game, t))
          return;
      }
    else
      {
        for (guint i = crowd_random (&rand) % 4096; i > 0; i--)
          __asm__ volatile("");
        set_turn (game, t);
      }
}

/* Of two threads one goes to sleep just when the other makes the change. */
static void
ambush (guint index, gpointer data)
{
  Game *game = data;
  guint32 rand = 5 + index;
  for (guint t = 1; t <= game->n_turns; t++)
    {
      if (index > 0)
        atomic_store (&game->ready, t);
      else
        for (guint i = 1; atomic_load (&game->ready) < t; i++)
          {
            if (atomic_load (&game->lost) > 0)
              return;
            if (i % 4096 == 0)
              sched_yield ();
          }
      for (guint i = crowd_random (&rand) % 1024; i > 0; i--)
        __asm__ volatile("");
      if (index > 0)
        {
          if (!sleep_until (game, t))
            return;
        }
      else
        set_turn (game, t);
    }
}

static void
run_game (guint n_threads, guint n_turns, gboolean ordered, CrowdFunc body)
{
  Game game = { .n_threads = n_threads,
                .n_turns = CROWD_SCALE (n_turns),
                .ordered = ordered };
  hass_event_init (&game.event);
  crowd_run (n_threads, body, &game);
  CU_ASSERT_EQUAL (atomic_load (&game.lost), 0);
  CU_ASSERT (atomic_load (&game.slept) > 0); /* else it proved nothing */
  CU_ASSERT_EQUAL (atomic_load (&game.turn), game.n_turns);
  CU_ASSERT_EQUAL (atomic_load (&game.event.sleepers), 0);
  hass_event_clear (&game.event);
}

static void
ping_pong (void)
{
  run_game (2, 20000, FALSE, play);
}

static void
ambushes (void)
{
  run_game (2, 100000, FALSE, ambush);
}

static void
ordered_ambushes (void)
{
  run_game (2, 100000, TRUE, ambush);
}

static void
round_robin (void)
{
  run_game (4, 8000, FALSE, play);
}

static void
watchers (void)
{
  run_game (4, 20000, FALSE, watch);
}

HASS_TEST_SUITE (
    event, { "a sleep ends at its timeout", timeout },
    { "a notification between look and sleep is not missed", notified_before },
    { "a thread that cancels its sleep is no sleeper", cancelled },
    { "two threads wake each other and no wake-up is lost", ping_pong },
    { "no wake-up is lost where change and sleep come together", ambushes },
    { "no wake-up is lost where only sleepers are notified", ordered_ambushes },
    { "no wake-up is lost with more threads than cores", round_robin },
    { "all sleepers see each change", watchers })
