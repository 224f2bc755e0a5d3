/* SPDX-License-Identifier: MIT */
/* test_guard.c: when pipe-auto lets cores take what GPUs serve.
   Thread safety: one thread. */
#include "made_up_stream.h"

/* Little's law: a core holds a unit of b for 40 us, in which GPU 0 serves 20.
   An ordered stage follows, or the stream ends. */
static void
keeps_cores_out (void)
{
  static const struct
  {
    guint64 window, left, past; /* past: wait behind b for those before them */
    gboolean ordered, out;
  } cases[] = { { 10, 1000, 0, TRUE, TRUE },
                { 1000, 1000, 0, TRUE, FALSE },
                { 10, 1000, 0, FALSE, FALSE },
                { 10, 5, 0, FALSE, TRUE },
                { 1000, 1000, 995, TRUE, TRUE } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Stream s;
      HassServe serve;
      made_up_init (&s, "pipe-auto");
      s.classes[C].in_order = cases[i].ordered;
      made_up_share_b (&s, 40000);
      s.states[B].ready = 1000;
      s.states[B].done = 7 + cases[i].past;
      s.state.ended = 7;
      s.state.tokens = 2 + cases[i].past;
      s.state.waiting = cases[i].left - s.state.tokens;
      s.state.most_tokens = cases[i].window;
      s.state.generated = TRUE;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B] == G_MAXUINT32, cases[i].out);
      g_autofree char *why
          = s.strategy->ops->left_out (s.strategy->self, B, CPU);
      CU_ASSERT_EQUAL (why && strstr (why, " at most may wait behind it"),
                       cases[i].out);
      hass_strategy_free (s.strategy);
    }
}

/* A core takes 40 us for a unit of b in the mean, the GPUs 1 us together. Of a
   heavy tail every tenth unit takes ten times as long as the others, and a core
   that holds one of those holds up the 100 tokens that may be in flight. With
   one grant of a device the spread is unknown; where costs may differ, 30
   alike do not show that there is no tail. */
static void
keeps_cores_out_of_heavy_tails (void)
{
  static const struct
  {
    HassCostClass cost;
    guint grants;
    double longest;
    gboolean out;
  } cases[] = { { HASS_COST_EQUAL, 0, 1, TRUE },
                { HASS_COST_EQUAL, 40, 1, FALSE },
                { HASS_COST_EQUAL, 40, 10, TRUE },
                { HASS_COST_UNKNOWN, 30, 1, TRUE },
                { HASS_COST_UNKNOWN, 400, 1, FALSE } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Stream s;
      HassServe serve;
      made_up_init (&s, "pipe-auto");
      s.classes[C].in_order = TRUE;
      s.classes[B].cost = cases[i].cost;
      made_up_share_b (&s, 40000);
      for (guint n = 0; n < cases[i].grants; n++)
        made_up_tell_units (&s, CPU, B, 1,
                            40000 * (n % 10 == 9 ? cases[i].longest : 1)
                                / (0.9 + 0.1 * cases[i].longest));
      s.state.tokens = 50;
      s.state.waiting = 10000;
      s.state.most_tokens = 100;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B] == G_MAXUINT32, cases[i].out);
      hass_strategy_free (s.strategy);
    }
}

/* With one unit of b at a time, in which all four cores help, one holds it for
   a quarter of the time. */
static void
computes_one_unit_on_all_cores (void)
{
  static const struct
  {
    guint64 window;
    double cores; /* in a unit, when it was measured */
    gboolean out, wide;
  } cases[] = { { 400, 1, TRUE, FALSE },
                { 400, 4, FALSE, TRUE },
                { 100, 4, TRUE, TRUE },
                { 1000, 4, FALSE, FALSE } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Stream s;
      HassServe serve;
      made_up_init (&s, "pipe-auto");
      s.classes[C].in_order = TRUE;
      s.classes[B].cost = HASS_COST_UNKNOWN;
      s.helping = cases[i].cores - 1;
      made_up_share_b (&s, 40000);
      s.states[B].ready = 10;
      s.state.tokens = 50;
      s.state.waiting = 10000;
      s.state.most_tokens = cases[i].window;
      s.state.generated = TRUE;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B] == G_MAXUINT32, cases[i].out);
      if (!cases[i].out)
        CU_ASSERT_EQUAL (serve.at_once[B] == 1, cases[i].wide);
      /* A unit that was begun beside others says nothing of one alone. */
      s.helping = 0;
      for (guint alone = 0; alone < 2; alone++)
        {
          for (guint n = 0; n < 100; n++)
            made_up_tell (&s, CPU, B, 40000);
          s.state.now_ns += 10000000;
          s.state.most_tokens = 50;
          made_up_ask (&s, CPU, &serve);
          CU_ASSERT_EQUAL (serve.leave[B] == G_MAXUINT32,
                           alone || cases[i].cores == 1);
          s.state.now_ns += 10000000;
        }
      hass_strategy_free (s.strategy);
    }
}

/* Only GPUs have been measured, in b and c. */
static void
know_gpus (Stream *s, double b_ns, double c_ns)
{
  for (guint gpu = GPU0; gpu <= GPU1; gpu++)
    {
      made_up_tell (s, gpu, B, b_ns);
      made_up_tell (s, gpu, C, c_ns);
    }
  s->state.now_ns += 10000000;
}

/* One core takes one unit, if the stream is long or has been run often, and
   enough tokens may be in flight for cores to help. */
static void
measures_cores (void)
{
  static const struct
  {
    guint64 left, window;
    guint runs;
    gboolean measured;
  } cases[] = {
    { 50, 1000, 0, FALSE }, { 300, 1000, 0, TRUE }, { 300, 4, 0, FALSE },
    { 300, 32, 0, FALSE },  { 3000, 32, 0, TRUE },  { 50, 1000, 1, FALSE },
    { 50, 1000, 20, TRUE },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Stream s;
      HassServe serve;
      HassProfileRate rates[CLASSES * DEVICES] = { { 0 } };
      for (guint c = B; c <= C; c++)
        for (guint d = GPU0; d <= GPU1; d++)
          rates[c * DEVICES + d]
              = (HassProfileRate){ .work_per_ns = 1. / (c == B ? 2000 : 3000),
                                   .runs = cases[i].runs };
      made_up_init_with (&s, "pipe-auto", cases[i].runs > 0 ? rates : NULL);
      s.classes[C].in_order = TRUE;
      know_gpus (&s, 2000, 3000);
      s.states[B].ready = 50;
      s.state.tokens = 50;
      s.state.waiting = cases[i].left - 50;
      s.state.most_tokens = cases[i].window;
      s.state.generated = TRUE;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B], cases[i].measured ? 0 : G_MAXUINT32);
      CU_ASSERT_EQUAL (serve.at_once[B], 1);
      made_up_tell (&s, CPU, B, 40000);
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.at_once[B],
                       serve.leave[B] == G_MAXUINT32 ? 0 : 4); /* all cores */
      hass_strategy_free (s.strategy);
    }
}

/* All cores begin, and leave nothing to GPUs that are not there. */
static void
begins_while_gpus_open (void)
{
  Stream s;
  HassServe serve;
  made_up_init (&s, "pipe-auto");
  s.states[B].ready = 50;
  s.state.tokens = 50;
  s.state.generated = TRUE;
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[B], G_MAXUINT32);
  s.devices[GPU0].opening = s.devices[GPU1].opening = TRUE;
  s.state.now_ns += 10000000;
  made_up_ask (&s, CPU, &serve);
  CU_ASSERT_EQUAL (serve.leave[B], 0);
  CU_ASSERT_EQUAL (serve.at_once[B], 0);
  hass_strategy_free (s.strategy);
}

/* A core takes 400 us for a unit of b, the GPU that is being opened 2 us. The
   10 tokens that may be in flight last it for 20 us, so cores take units as
   long as the longest of them ends soon after the opening. */
static void
waits_for_gpus_that_are_faster (void)
{
  HassProfileRate rates[CLASSES * DEVICES] = { { 0 } };
  rates[B * DEVICES + CPU].work_per_ns = 4. / 400000;
  rates[B * DEVICES + GPU0].work_per_ns = 1. / 2000;
  for (guint late = 0; late < 2; late++)
    {
      Stream s;
      HassServe serve;
      made_up_init_with (&s, "pipe-auto", rates);
      s.classes[C].devices = 1;
      s.classes[C].in_order = TRUE;
      s.devices[GPU0].opening = s.devices[GPU1].opening = TRUE;
      s.devices[GPU0].opens_at_ns = late ? 100000000 : 1000000;
      s.states[B].ready = 50;
      s.state.most_tokens = 10;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B], late ? 0 : G_MAXUINT32);
      /* It has its part at once when it is open. */
      CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_WAIT);
      s.devices[GPU0].opening = FALSE;
      CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
      hass_strategy_free (s.strategy);
    }
}

/* GPUs take 20 us for a unit of b and 2 us for one of c: that is the class in
   which a core is measured, unless it gets no units while others pass b. */
static void
measures_the_shortest (void)
{
  for (guint seen = 0; seen < 2; seen++)
    {
      Stream s;
      HassServe serve;
      made_up_init (&s, "pipe-auto");
      know_gpus (&s, 20000, 2000);
      s.states[B].ready = s.states[C].ready = 50;
      s.states[B].done = seen ? 100 : 0;
      s.state.waiting = 3000;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B], seen ? 0 : G_MAXUINT32);
      CU_ASSERT_EQUAL (serve.leave[C], 0);
      s.states[C].ready = 0;
      s.states[B].ready = 8;
      CU_ASSERT_EQUAL (made_up_ask (&s, GPU0, &serve), HASS_TAKE);
      CU_ASSERT_EQUAL (serve.class_index, B);
      CU_ASSERT_EQUAL (serve.fuse, 0); /* or no unit of c would wait */
      hass_strategy_free (s.strategy);
    }
}

/* In c a core takes 200 times as long as a GPU, so in b, of which a core has
   computed nothing, it takes at least 50 times as long. */
static void
guesses_cores (void)
{
  for (guint wide = 0; wide < 2; wide++)
    {
      Stream s;
      HassServe serve;
      made_up_init (&s, "pipe-auto");
      s.classes[A].devices = s.classes[C].devices = 7;
      s.classes[C].in_order = TRUE;
      know_gpus (&s, 2000, 2000);
      made_up_tell (&s, CPU, C, 400000);
      made_up_tell (&s, GPU0, A, 2000);
      made_up_tell (&s, CPU, A, 400000);
      s.states[B].ready = 50;
      s.state.most_tokens = wide ? 1000 : 10;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B], wide ? 0 : G_MAXUINT32);
      CU_ASSERT_EQUAL (serve.at_once[B], 1);
      hass_strategy_free (s.strategy);
    }
}

/* Earlier runs: a core takes 400 us for a unit of b, a GPU 2 us. Only the GPUs
   have been measured in this run. */
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
      made_up_init_with (&s, "pipe-auto", known ? rates : NULL);
      s.classes[C].devices = 1;
      s.classes[C].in_order = TRUE;
      made_up_tell (&s, GPU0, B, 2000);
      made_up_tell (&s, GPU1, B, 2000);
      s.states[B].ready = 50;
      s.state.tokens = 50;
      s.state.waiting = 1000;
      s.state.most_tokens = 100;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B], known ? G_MAXUINT32 : 0);
      CU_ASSERT_EQUAL (serve.at_once[B], !known);
      hass_strategy_free (s.strategy);
    }
}

/* A unit that takes a core 400 us takes all four 100 us, in which the GPUs do
   100 units. */
static void
knows_units_on_all_cores (void)
{
  HassProfileRate rates[CLASSES * DEVICES] = { { 0 } };
  rates[B * DEVICES + CPU].work_per_ns = 4. / 400000;
  rates[B * DEVICES + GPU0].work_per_ns = 1. / 2000;
  rates[B * DEVICES + GPU1].work_per_ns = 1. / 2000;
  for (guint known = 0; known < 2; known++)
    {
      Stream s;
      HassServe serve;
      rates[B * DEVICES + CPU].latency_ns = known ? 100000 : 0;
      made_up_init_with (&s, "pipe-auto", rates);
      s.classes[B].cost = HASS_COST_UNKNOWN;
      s.classes[C].devices = 1;
      s.classes[C].in_order = TRUE;
      s.states[B].ready = 50;
      s.state.tokens = 50;
      s.state.waiting = 100000;
      s.state.most_tokens = 4000;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B] == G_MAXUINT32, !known);
      CU_ASSERT_EQUAL (serve.at_once[B], known);
      hass_strategy_free (s.strategy);
    }
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
      made_up_init (&s, "pipe-auto");
      s.classes[C].in_order = TRUE;
      made_up_share_b (&s, begun ? 4e6 : 40000);
      made_up_tell (&s, CPU, A, 8000);
      s.state.tokens = begun ? 50 : 0;
      s.state.waiting = 10000;
      s.state.most_tokens = begun ? 100 : 65536;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B], G_MAXUINT32);
      hass_strategy_free (s.strategy);
    }
}

/* A core takes 100 us for a unit of b, the GPUs together 1 us, and 600 tokens
   may pass meanwhile. Equal units take no more than some times their mean; of
   others one may take longer than 600 us. */
static void
lets_cores_in_where_costs_are_equal (void)
{
  static const HassCostClass costs[]
      = { HASS_COST_EQUAL, HASS_COST_SIZED, HASS_COST_UNKNOWN };
  for (guint i = 0; i < G_N_ELEMENTS (costs); i++)
    {
      Stream s;
      HassServe serve;
      made_up_init (&s, "pipe-auto");
      s.classes[B].cost = costs[i];
      s.classes[C].in_order = TRUE;
      made_up_share_b (&s, 100000);
      s.states[B].ready = 500;
      s.state.tokens = s.state.most_tokens = 600;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.leave[B] < G_MAXUINT32,
                       costs[i] == HASS_COST_EQUAL);
      hass_strategy_free (s.strategy);
    }
}

/* The cores do 2 % of what two GPUs do, and take 0.2 ms for a unit, which is
   what they save in 10^4 units. */
static void
keeps_cores_out_for_the_end (void)
{
  for (guint known = 0; known < 2; known++)
    for (guint many = 0; many < 2; many++)
      {
        Stream s;
        HassServe serve;
        made_up_init (&s, "pipe-auto");
        made_up_share_b (&s, 2e5);
        s.state.generated = known;
        s.state.waiting = 500;
        for (guint c = 0; c < CLASSES; c++)
          s.states[c].done = many ? 20000 : 5000;
        if (known)
          s.state.waiting = many ? 20000 : 5000;
        made_up_ask (&s, CPU, &serve);
        CU_ASSERT_EQUAL (serve.leave[B] == G_MAXUINT32, !known && !many);
        hass_strategy_free (s.strategy);
      }
}

HASS_TEST_SUITE (
    sched_pipe_guard,
    { "cores take nothing that they would hold for too long", keeps_cores_out },
    { "cores compute one unit at a time where they hold several for too long",
      computes_one_unit_on_all_cores },
    { "cores take nothing of a heavy tail, one unit of which holds up the "
      "order",
      keeps_cores_out_of_heavy_tails },
    { "one core takes one unit of a shared class of a long stream first",
      measures_cores },
    { "cores begin while no GPU is there yet", begins_while_gpus_open },
    { "cores wait for a GPU that is known to be faster and soon there",
      waits_for_gpus_that_are_faster },
    { "a core is measured in the class in which GPUs are fastest",
      measures_the_shortest },
    { "cores are not measured where another class shows that they are slow",
      guesses_cores },
    { "cores are not measured again if earlier runs have shown their rate",
      knows_from_earlier_runs },
    { "a core's longest unit is a few times the mean if costs are equal",
      lets_cores_in_where_costs_are_equal },
    { "cores compute one unit at a time if that was faster in earlier runs",
      knows_units_on_all_cores },
    { "cores take nothing if a stream that may end soon would wait for them",
      keeps_cores_out_for_the_end },
    { "cores take nothing of what GPUs do alone if they would hold it for too "
      "long",
      keeps_cores_out_of_what_gpus_do })
