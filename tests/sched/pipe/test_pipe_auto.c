/* SPDX-License-Identifier: MIT */
/* test_pipe_auto.c: single decisions of pipe-auto.
   Thread safety: one thread. */
#include "made_up_stream.h"

#include "sched/pace.h"

static void
gains_most (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  made_up_tell_all (&s);
  s.states[B].ready = s.states[C].ready = 100;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
  CU_ASSERT_EQUAL (serve.class_index, B);
  CU_ASSERT_EQUAL (serve.in_flight, 3);
  CU_ASSERT_EQUAL (serve.units, 8); /* 16 latencies of 1 us are 8 units */
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU1, &serve), HASS_TAKE);
  CU_ASSERT_EQUAL (serve.class_index, C);
  s.states[B].ready = 0;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_WAIT);
  hass_strategy_free (s.strategy);
}

/* Cores take b and c only while more wait than two bundles of the GPU that
   should do them. */
static void
leaves_bundles (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  made_up_tell_all (&s);
  s.states[B].ready = 100;
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[A], 0);
  CU_ASSERT_EQUAL (serve.leave[B], 16);
  CU_ASSERT_EQUAL (serve.leave[C], 16);
  hass_strategy_free (s.strategy);
  made_up_init (&s, "pipe-auto:leave=3");
  made_up_tell_all (&s);
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[B], 24);
  hass_strategy_free (s.strategy);
}

static void
holds_back (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  made_up_tell_all (&s);
  s.states[B].ready = 7;
  s.holds[GPU0].bundles = 1;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_WAIT);
  s.states[B].ready = 8;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
  s.states[B].ready = 7;
  s.holds[GPU0].bundles = 0;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
  hass_strategy_free (s.strategy);
}

static void
measures (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  made_up_tell (&s, CPU, B, 40000);
  s.states[B].ready = 5;
  s.state.now_ns += 10000000;
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[B], 16); /* a bundle for each GPU */
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
  s.units[GPU0][B] = 5;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_WAIT);
  hass_strategy_free (s.strategy);
}

/* All devices are ten times as slow in b as in earlier runs, as GPU 0 shows:
   the cores are slower than they were by as much, and so is GPU 1. */
static void
scales_earlier_runs (void)
{
  HassProfileRate rates[CLASSES * DEVICES] = { { 0 } };
  Stream s;
  HassPaces p;
  made_up_init (&s, "pipe-auto");
  for (guint d = 0; d < DEVICES; d++)
    rates[B * DEVICES + d].work_per_ns = d == CPU ? 4. / 400000 : 1. / 2000;
  hass_paces_init (&p, &s.env);
  p.prior = rates;
  hass_paces_update (&p, &s.state);
  CU_ASSERT_DOUBLE_EQUAL (hass_pace_ns (&p, B, CPU), 400000, 1);
  CU_ASSERT_TRUE (hass_pace_known (&p, B, CPU));
  CU_ASSERT_FALSE (hass_pace_known (&p, C, CPU));
  hass_paces_add (&p, &(HassServed){ .device = GPU0,
                                     .class_index = B,
                                     .units = 1000,
                                     .kernel_ns = 20e6 + 1000 });
  hass_paces_update (&p, &s.state);
  CU_ASSERT_DOUBLE_EQUAL (hass_pace_ns (&p, B, GPU0), 20000, 1);
  CU_ASSERT_DOUBLE_EQUAL (hass_pace_ns (&p, B, GPU1), 20000, 1);
  CU_ASSERT_DOUBLE_EQUAL (hass_pace_ns (&p, B, CPU), 4e6, 1);
  hass_paces_clear (&p);
  hass_strategy_free (s.strategy);
}

/* Eight units of b fill a GPU, which may have three bundles: fewer than 24
   tokens cannot fill all. Of 41 tokens the cores, all busy, hold four and each
   of the GPUs half of the others, at best in one bundle, as there are no copies
   that others could overlap. */
static void
fits_bundles_into_the_window (void)
{
  static const struct
  {
    guint64 most_tokens, ready, units;
  } cases[] = { { 23, 7, 7 }, { 24, 7, 0 }, { 41, 40, 18 }, { 96, 40, 32 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Stream s;
      HassServe serve;
      made_up_init (&s, "pipe-auto:launches=64");
      made_up_tell_all (&s);
      s.states[B].ready = cases[i].ready;
      s.holds[GPU0].bundles = 1;
      s.state.most_tokens = cases[i].most_tokens;
      made_up_ask (&s, CPU, &serve); /* the parts of all */
      s.state.now_ns += 10000000;
      CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve),
                       cases[i].units > 0 ? HASS_TAKE : HASS_WAIT);
      CU_ASSERT_EQUAL (serve.units, cases[i].units);
      hass_strategy_free (s.strategy);
    }
}

/* GPU 0 has had far more than its part of b. */
static void
is_not_left_idle (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  made_up_share_b (&s, 8000);
  s.states[B].ready = 8;
  for (guint i = 0; i < 20; i++)
    CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
  s.holds[GPU0].bundles = 1;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_WAIT);
  hass_strategy_free (s.strategy);
}

/* Where it is alone in the class that follows. */
static void
fuses (void)
{
  for (guint alone = 0; alone < 2; alone++)
    {
      Stream s;
      HassServe serve;
      made_up_init (&s, "pipe-auto");
      s.classes[B].devices = 2;
      s.classes[C].devices = alone ? 2 : 7;
      made_up_tell_all (&s);
      s.states[B].ready = 3;
      CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
      CU_ASSERT_EQUAL (serve.class_index, B);
      CU_ASSERT_EQUAL (serve.fuse, alone);
      hass_strategy_free (s.strategy);
    }
}

static void
gives_up_a_class (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  s.classes[B].devices = s.classes[C].devices = 1;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_DONE);
  hass_strategy_free (s.strategy);
}

/* Nothing is left to GPUs that are lost, and others get their classes. */
static void
forgets_the_lost (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  made_up_tell_all (&s);
  s.holds[GPU0].lost = TRUE;
  s.states[B].ready = 100;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU1, &serve), HASS_TAKE);
  CU_ASSERT_EQUAL (serve.class_index, B);
  s.holds[GPU1].lost = TRUE;
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[B], 0);
  hass_strategy_free (s.strategy);
}

/* Tokens double while cores are idle and the stream becomes faster by it. */
static void
adds_tokens (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  made_up_tell_all (&s);
  s.states[A].ready = s.state.tokens;
  made_up_ask (&s, CPU, &serve);
  guint64 first = serve.tokens, before = first;
  CU_ASSERT_TRUE (first > 16 && first < 1000);
  for (guint i = 0; i < 3; i++)
    {
      s.states[C].done += before;
      s.state.now_ns += 10000000;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_TRUE (serve.tokens + 1 >= 2 * before
                      && serve.tokens <= 2 * before); /* rounded up */
      before = serve.tokens;
    }
  s.states[C].done += before; /* as fast as before */
  s.state.now_ns += 20000000;
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.tokens, before);
  s.state.most_tokens = 10;
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.tokens, 10);
  hass_strategy_free (s.strategy);
}

/* A stream whose first token is done long after the clock began: its first
   window is as fast as the second, so tokens double once. */
static void
measures_from_the_first_token (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  s.state.now_ns = G_GINT64_CONSTANT (1000000000000);
  made_up_tell_all (&s);
  s.states[A].ready = s.state.tokens;
  made_up_ask (&s, CPU, &serve);
  guint64 first = serve.tokens;
  for (guint i = 1; i <= 2; i++)
    {
      s.states[C].done += i * first;
      s.state.now_ns += i * 10000000;
      made_up_ask (&s, CPU, &serve);
    }
  CU_ASSERT_TRUE (serve.tokens >= first && serve.tokens <= 2 * first);
  hass_strategy_free (s.strategy);
}

/* 400 tokens have passed a, b and c and wait for one before them, which a core
   computes; 60 wait at a, and 39 are held by GPU 0. No unit that is computed
   now can hold up as many without that core. Those before a first class that
   takes one at a time are not held up by others. */
static void
leaves_out_what_is_held_up (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  s.classes[C].cost = HASS_COST_UNKNOWN;
  made_up_tell_all (&s);
  s.states[A].ready = s.state.tokens;
  made_up_ask (&s, CPU, &serve);
  guint64 wanted = serve.tokens;
  s.state.tokens = 500;
  s.states[A].ready = 60;
  s.units[GPU0][B] = 39;
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_TRUE (serve.tokens < wanted + 200);
  s.states[C].running = 1;
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.tokens, wanted + 400);
  s.classes[A].one_at_a_time = TRUE;
  s.states[A].ready = 0;
  s.states[A].done = 1000;
  s.state.ended = 700; /* 200 wait for their turn at a */
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.tokens, wanted + 260);
  hass_strategy_free (s.strategy);
}

static void
is_the_default (void)
{
  CU_ASSERT_STRING_EQUAL (
      hass_strategy_default (HASS_FARM_PIPELINE, HASS_COST_UNKNOWN),
      "pipe-auto");
}

/* A core takes 40 us for a unit of b, GPU 0 2 us and its latencies. */
static void
begins_again (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  made_up_tell_all (&s);
  s.state.tokens = s.state.most_tokens = 20;
  s.state.held = (HassHeld){ B, CPU, 1, s.state.now_ns };
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
  CU_ASSERT_TRUE (serve.again);
  s.state.tokens = 19; /* another token may come */
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_WAIT);
  s.state.generated = TRUE;
  s.state.waiting = 0; /* there is none */
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
  s.state.waiting = 1;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_WAIT);
  s.state.waiting = 0;
  s.holds[GPU0].bundles = 1;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_WAIT);
  s.holds[GPU0].bundles = 0;
  s.states[B].ready = 100; /* there is other work */
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
  CU_ASSERT_FALSE (serve.again);
  hass_strategy_free (s.strategy);
}

/* A core that has a microsecond left is waited for; one that is late as long
   again is expected to take as long as it has. */
static void
begins_again_in_time (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  made_up_tell_all (&s);
  s.state.tokens = s.state.most_tokens = 20;
  s.state.held = (HassHeld){ B, CPU, 1, s.state.now_ns - 39000 };
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_WAIT);
  CU_ASSERT_DOUBLE_EQUAL ((double)serve.within_ns, 1000, 10);
  s.state.held.since_ns -= serve.within_ns;
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
  CU_ASSERT_TRUE (serve.again);
  /* GPU 1 takes 20 us for a unit, GPU 0, which holds 8 units, 2 us for each. */
  s.units[GPU0][B] = 8;
  s.state.held = (HassHeld){ B, GPU0, 8, s.state.now_ns };
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU1, &serve), HASS_WAIT);
  s.state.held.since_ns -= 1000000; /* it hangs */
  CU_ASSERT_EQUAL (made_up_ask (&s, GPU1, &serve), HASS_TAKE);
  CU_ASSERT_TRUE (serve.again);
  hass_strategy_free (s.strategy);
}

HASS_TEST_SUITE (
    sched_pipe_auto,
    { "unlike GPUs take the classes in which they gain most", gains_most },
    { "cores leave bundles of shared classes to GPUs", leaves_bundles },
    { "a busy GPU takes no bundle that does not fill it", holds_back },
    { "a GPU that has not served a class takes one bundle of it", measures },
    { "if one device is slower than in earlier runs, so are all",
      scales_earlier_runs },
    { "bundles leave room for others in the tokens that may be in flight",
      fits_bundles_into_the_window },
    { "an idle GPU takes what is ready though it is ahead of its part",
      is_not_left_idle },
    { "a GPU fuses the class that it serves alone", fuses },
    { "a GPU that can run no class is not asked again", gives_up_a_class },
    { "nothing is left to a GPU that is lost", forgets_the_lost },
    { "tokens are added while devices are idle and it helps", adds_tokens },
    { "tokens that wait for those before them do not count",
      leaves_out_what_is_held_up },
    { "the time until the first token is done makes no window slow",
      measures_from_the_first_token },
    { "pipe-auto is the default of pipelines", is_the_default },
    { "an idle GPU begins again what a core holds, if no token can "
      "begin",
      begins_again },
    { "it waits for a device that is about to be done, not for one "
      "that is late",
      begins_again_in_time })
