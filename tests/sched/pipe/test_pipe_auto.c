/* SPDX-License-Identifier: MIT */
/* test_pipe_auto.c: single decisions of pipe-auto, by states of a stream that
   are made up: three classes a, b and c on four cores and two GPUs. Cores can
   run all of them, GPUs b and c.
   Thread safety: one thread. */
#include <string.h>

#include "hass_test.h"
#include "sched/pace.h"
#include "sched/registry.h"

enum
{
  CPU,
  GPU0,
  GPU1,
  DEVICES
};

enum
{
  A,
  B,
  C,
  CLASSES
};

/* A stream, as a strategy sees it. */
typedef struct
{
  HassDeviceTraits devices[DEVICES];
  HassClassTraits classes[CLASSES];
  HassStrategyEnv env;
  HassClassState states[CLASSES];
  guint64 units[DEVICES][CLASSES];
  HassDeviceHolds holds[DEVICES];
  HassStreamState state;
  HassStrategy *strategy;
} Stream;

static void
stream_init_with (Stream *s, const char *strategy, const HassProfileRate *rates)
{
  static const char *const names[] = { "cpu", "gpu0", "gpu1" };
  memset (s, 0, sizeof *s);
  for (guint d = 0; d < DEVICES; d++)
    {
      s->devices[d] = (HassDeviceTraits){ .name = names[d],
                                          .kind = d == CPU ? HASS_DEVICE_CPU
                                                           : HASS_DEVICE_GPU,
                                          .cores = 4,
                                          .width = d == CPU ? 4 : 8,
                                          .latency_ns = d == CPU ? 0 : 1000,
                                          .max_in_flight = d == CPU ? 1 : 3 };
      s->holds[d].units = s->units[d];
    }
  for (guint c = 0; c < CLASSES; c++)
    s->classes[c] = (HassClassTraits){ .name = "x",
                                       .devices = c == A ? 1 : 7,
                                       .element_threads = 1 };
  s->env = (HassStrategyEnv){ .struct_size = sizeof s->env,
                              .farm = HASS_FARM_PIPELINE,
                              .n_devices = DEVICES,
                              .devices = s->devices,
                              .n_classes = CLASSES,
                              .classes = s->classes,
                              .profile = rates };
  s->state = (HassStreamState){ .now_ns = 1,
                                .n_classes = CLASSES,
                                .classes = s->states,
                                .n_devices = DEVICES,
                                .devices = s->holds,
                                .tokens = 100,
                                .most_tokens = 100000 };
  s->strategy = hass_strategy_new (strategy, &s->env, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (s->strategy);
}

static void
stream_init (Stream *s, const char *strategy)
{
  stream_init_with (s, strategy, NULL);
}

static HassAnswer
ask (Stream *s, guint device, HassServe *serve)
{
  *serve = (HassServe){ 0 };
  return s->strategy->ops->serve (s->strategy->self, &s->state, device, FALSE,
                                  serve);
}

/* Tells the strategy of a grant of units that took @unit_ns each, of a GPU that
   they filled. */
static void
tell_units (Stream *s, guint device, guint c, guint64 units, double unit_ns)
{
  double ns = (double)units * unit_ns;
  HassServed done = { .device = device,
                      .class_index = c,
                      .units = units,
                      .busy_ns = ns,
                      .kernel_ns = ns + s->devices[device].latency_ns };
  s->strategy->ops->served (s->strategy->self, &s->state, &done);
}

static void
tell (Stream *s, guint device, guint c, double unit_ns)
{
  tell_units (s, device, c, 1000, unit_ns);
}

/* On the cores a unit takes 1 us of class a, 40 us of b and c each; on GPU 0
   2 us of b and 20 of c, on GPU 1 20 us of b and 2 of c. */
static void
tell_all (Stream *s)
{
  tell (s, CPU, A, 1000);
  tell (s, CPU, B, 40000);
  tell (s, CPU, C, 40000);
  tell (s, GPU0, B, 2000);
  tell (s, GPU0, C, 20000);
  tell (s, GPU1, B, 20000);
  tell (s, GPU1, C, 2000);
  s->state.now_ns += 10000000;
}

/* Only b is shared: a unit takes @ns on a core and 2 us on either GPU. */
static void
share_b (Stream *s, double ns)
{
  s->classes[C].devices = 1;
  tell (s, CPU, A, 10);
  tell (s, CPU, B, ns);
  tell (s, CPU, C, 10);
  tell (s, GPU0, B, 2000);
  tell (s, GPU1, B, 2000);
  s->state.now_ns += 10000000;
}

static void
gains_most (void)
{
  Stream s;
  HassServe serve;
  stream_init (&s, "pipe-auto");
  tell_all (&s);
  s.states[B].ready = s.states[C].ready = 100;
  CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_TAKE);
  CU_ASSERT_EQUAL (serve.class_index, B);
  CU_ASSERT_EQUAL (serve.in_flight, 3);
  CU_ASSERT_EQUAL (serve.units, 8); /* 16 latencies of 1 us are 8 units */
  CU_ASSERT_EQUAL (ask (&s, GPU1, &serve), HASS_TAKE);
  CU_ASSERT_EQUAL (serve.class_index, C);
  s.states[B].ready = 0;
  CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_WAIT);
  hass_strategy_free (s.strategy);
}

/* Cores take b and c only while more wait than two bundles of the GPU that
   should do them. */
static void
leaves_bundles (void)
{
  Stream s;
  HassServe serve;
  stream_init (&s, "pipe-auto");
  tell_all (&s);
  s.states[B].ready = 100;
  ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[A], 0);
  CU_ASSERT_EQUAL (serve.leave[B], 16);
  CU_ASSERT_EQUAL (serve.leave[C], 16);
  hass_strategy_free (s.strategy);
  stream_init (&s, "pipe-auto:leave=3");
  tell_all (&s);
  ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[B], 24);
  hass_strategy_free (s.strategy);
}

static void
holds_back (void)
{
  Stream s;
  HassServe serve;
  stream_init (&s, "pipe-auto");
  tell_all (&s);
  s.states[B].ready = 7;
  s.holds[GPU0].bundles = 1;
  CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_WAIT);
  s.states[B].ready = 8;
  CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_TAKE);
  s.states[B].ready = 7;
  s.holds[GPU0].bundles = 0;
  CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_TAKE);
  hass_strategy_free (s.strategy);
}

static void
measures (void)
{
  Stream s;
  HassServe serve;
  stream_init (&s, "pipe-auto");
  tell (&s, CPU, B, 40000);
  s.states[B].ready = 5;
  s.state.now_ns += 10000000;
  ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[B], 16); /* a bundle for each GPU */
  CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_TAKE);
  s.units[GPU0][B] = 5;
  CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_WAIT);
  hass_strategy_free (s.strategy);
}

/* Little's law: a core holds a unit of b for 40 us, in which GPU 0 serves 20.
   An ordered stage follows, or the stream ends. */
static void
keeps_cores_out (void)
{
  static const struct
  {
    guint64 window, left;
    gboolean ordered, out;
  } cases[] = { { 10, 1000, TRUE, TRUE },
                { 200, 1000, TRUE, FALSE },
                { 10, 1000, FALSE, FALSE },
                { 10, 5, FALSE, TRUE } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Stream s;
      HassServe serve;
      stream_init (&s, "pipe-auto");
      s.classes[C].in_order = cases[i].ordered;
      share_b (&s, 40000);
      s.states[B].ready = 1000;
      s.state.tokens = 2;
      s.state.waiting = cases[i].left - 2;
      s.state.most_tokens = cases[i].window;
      s.state.generated = TRUE;
      ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B] == G_MAXUINT32, cases[i].out);
      hass_strategy_free (s.strategy);
    }
}

/* A core takes 40 us for a unit of b in the mean, the GPUs 1 us together. Of a
   heavy tail every tenth unit takes ten times as long as the others, and a core
   that holds one of those holds up the 100 tokens that may be in flight. With
   one grant of a device the spread is unknown. */
static void
keeps_cores_out_of_heavy_tails (void)
{
  static const struct
  {
    guint grants;
    double longest;
    gboolean out;
  } cases[] = { { 0, 1, TRUE }, { 40, 1, FALSE }, { 40, 10, TRUE } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Stream s;
      HassServe serve;
      stream_init (&s, "pipe-auto");
      s.classes[C].in_order = TRUE;
      share_b (&s, 40000);
      for (guint n = 0; n < cases[i].grants; n++)
        tell_units (&s, CPU, B, 1,
                    40000 * (n % 10 == 9 ? cases[i].longest : 1)
                        / (0.9 + 0.1 * cases[i].longest));
      s.state.tokens = 50;
      s.state.waiting = 10000;
      s.state.most_tokens = 100;
      ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B] == G_MAXUINT32, cases[i].out);
      hass_strategy_free (s.strategy);
    }
}

/* One core takes one unit, if the stream is long or a GPU is not there yet. */
static void
measures_cores (void)
{
  Stream s;
  HassServe serve;
  stream_init (&s, "pipe-auto");
  s.states[B].ready = 50;
  s.state.tokens = 50;
  s.state.generated = TRUE;
  ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[B], G_MAXUINT32);
  s.state.waiting = 250;
  ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[B], 0);
  CU_ASSERT_EQUAL (serve.at_once[B], 1);
  s.state.waiting = 0;
  s.devices[GPU0].opening = s.devices[GPU1].opening = TRUE;
  ask (&s, CPU, &serve);
  CU_ASSERT_NOT_EQUAL (serve.leave[B], G_MAXUINT32);
  CU_ASSERT_EQUAL (serve.at_once[B], 1);
  tell (&s, CPU, B, 40000);
  ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.at_once[B], 0);
  hass_strategy_free (s.strategy);
}

/* Earlier runs: a core takes 400 us for a unit of b, a GPU 2 us. Nothing has
   been measured in this run. */
static void
knows_from_earlier_runs (void)
{
  HassProfileRate rates[CLASSES * DEVICES] = { { 0 } };
  rates[B * DEVICES + CPU].work_per_ns = 4. / 400000;
  rates[B * DEVICES + GPU0].work_per_ns = 1. / 2000;
  rates[B * DEVICES + GPU1].work_per_ns = 1. / 2000;
  for (guint known = 0; known < 2; known++)
    {
      Stream s;
      HassServe serve;
      stream_init_with (&s, "pipe-auto", known ? rates : NULL);
      s.classes[C].devices = 1;
      s.classes[C].in_order = TRUE;
      s.states[B].ready = 50;
      s.state.tokens = 50;
      s.state.waiting = 1000;
      s.state.most_tokens = 100;
      ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B], known ? G_MAXUINT32 : 0);
      CU_ASSERT_EQUAL (serve.at_once[B], !known);
      hass_strategy_free (s.strategy);
    }
}

/* All devices are ten times as slow in b as in earlier runs, as GPU 0 shows:
   the cores are slower than they were by as much, and so is GPU 1. */
static void
scales_earlier_runs (void)
{
  HassProfileRate rates[CLASSES * DEVICES] = { { 0 } };
  Stream s;
  HassPaces p;
  stream_init (&s, "pipe-auto");
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

/* Cores are busy with a, so GPUs do all of b; but a unit of b on a core would
   hold up the order for longer than the tokens in flight last, whose number is
   not known before the first one begins. */
static void
keeps_cores_out_of_what_gpus_do (void)
{
  for (guint begun = 0; begun < 2; begun++)
    {
      Stream s;
      HassServe serve;
      stream_init (&s, "pipe-auto");
      s.classes[C].in_order = TRUE;
      share_b (&s, begun ? 4e6 : 40000);
      tell (&s, CPU, A, 8000);
      s.state.tokens = begun ? 50 : 0;
      s.state.waiting = 10000;
      s.state.most_tokens = begun ? 100 : 65536;
      ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B], G_MAXUINT32);
      hass_strategy_free (s.strategy);
    }
}

/* Eight units of b fill a GPU, which may have three bundles: fewer than 24
   tokens cannot fill all, and fewer than 96 not with 32 units each. */
static void
fits_bundles_into_the_window (void)
{
  static const struct
  {
    guint64 most_tokens, ready, units;
  } cases[] = { { 23, 7, 7 }, { 24, 7, 0 }, { 95, 40, 31 }, { 96, 40, 32 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Stream s;
      HassServe serve;
      stream_init (&s, "pipe-auto:launches=64");
      tell_all (&s);
      s.states[B].ready = cases[i].ready;
      s.holds[GPU0].bundles = 1;
      s.state.most_tokens = cases[i].most_tokens;
      CU_ASSERT_EQUAL (ask (&s, GPU0, &serve),
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
  stream_init (&s, "pipe-auto");
  share_b (&s, 8000);
  s.states[B].ready = 8;
  for (guint i = 0; i < 20; i++)
    CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_TAKE);
  s.holds[GPU0].bundles = 1;
  CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_WAIT);
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
      stream_init (&s, "pipe-auto");
      s.classes[B].devices = 2;
      s.classes[C].devices = alone ? 2 : 7;
      tell_all (&s);
      s.states[B].ready = 3;
      CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_TAKE);
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
  stream_init (&s, "pipe-auto");
  s.classes[B].devices = s.classes[C].devices = 1;
  CU_ASSERT_EQUAL (ask (&s, GPU0, &serve), HASS_DONE);
  hass_strategy_free (s.strategy);
}

/* Nothing is left to GPUs that are lost, and others get their classes. */
static void
forgets_the_lost (void)
{
  Stream s;
  HassServe serve;
  stream_init (&s, "pipe-auto");
  tell_all (&s);
  s.holds[GPU0].lost = TRUE;
  s.states[B].ready = 100;
  CU_ASSERT_EQUAL (ask (&s, GPU1, &serve), HASS_TAKE);
  CU_ASSERT_EQUAL (serve.class_index, B);
  s.holds[GPU1].lost = TRUE;
  ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[B], 0);
  hass_strategy_free (s.strategy);
}

/* Tokens double while cores are idle and the stream becomes faster by it. */
static void
adds_tokens (void)
{
  Stream s;
  HassServe serve;
  stream_init (&s, "pipe-auto");
  tell_all (&s);
  ask (&s, CPU, &serve);
  guint64 first = serve.tokens, before = first;
  CU_ASSERT_TRUE (first > 16 && first < 1000);
  for (guint i = 0; i < 3; i++)
    {
      s.states[C].done += before;
      s.state.now_ns += 10000000;
      ask (&s, CPU, &serve);
      CU_ASSERT_TRUE (serve.tokens + 1 >= 2 * before
                      && serve.tokens <= 2 * before); /* rounded up */
      before = serve.tokens;
    }
  s.states[C].done += before; /* as fast as before */
  s.state.now_ns += 20000000;
  ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.tokens, before);
  s.state.most_tokens = 10;
  ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.tokens, 10);
  hass_strategy_free (s.strategy);
}

static void
is_the_default (void)
{
  CU_ASSERT_STRING_EQUAL (
      hass_strategy_default (HASS_FARM_PIPELINE, HASS_COST_UNKNOWN),
      "pipe-auto");
}

HASS_TEST_SUITE (
    sched_pipe_auto,
    { "unlike GPUs take the classes in which they gain most", gains_most },
    { "cores leave bundles of shared classes to GPUs", leaves_bundles },
    { "a busy GPU takes no bundle that does not fill it", holds_back },
    { "a GPU that has not served a class takes one bundle of it", measures },
    { "cores take nothing that they would hold for too long", keeps_cores_out },
    { "cores take nothing of a heavy tail, one unit of which holds up the "
      "order",
      keeps_cores_out_of_heavy_tails },
    { "one core takes one unit of a shared class of a long stream first",
      measures_cores },
    { "cores are not measured again if earlier runs have shown their rate",
      knows_from_earlier_runs },
    { "if one device is slower than in earlier runs, so are all",
      scales_earlier_runs },
    { "cores take nothing of what GPUs do alone if they would hold it for too "
      "long",
      keeps_cores_out_of_what_gpus_do },
    { "bundles leave room for others in the tokens that may be in flight",
      fits_bundles_into_the_window },
    { "an idle GPU takes what is ready though it is ahead of its part",
      is_not_left_idle },
    { "a GPU fuses the class that it serves alone", fuses },
    { "a GPU that can run no class is not asked again", gives_up_a_class },
    { "nothing is left to a GPU that is lost", forgets_the_lost },
    { "tokens are added while devices are idle and it helps", adds_tokens },
    { "pipe-auto is the default of pipelines", is_the_default })
