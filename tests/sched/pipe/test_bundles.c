/* SPDX-License-Identifier: MIT */
/* test_bundles.c: how long pipe-auto's bundles of GPUs are, and how many units
   cores leave for them.
   Thread safety: one thread. */
#include "made_up_stream.h"

#include "sched/pipe/steady.h"

/* A GPU of 8 threads and three bundles in flight takes 2 us for a unit. */
static void
bundles_share_the_tokens_in_flight (void)
{
  static const struct
  {
    guint64 threads, tokens, units; /* threads of a unit, units of a bundle */
    double latency_ns, copy_ns;
  } cases[] = {
    /* enough of them: kernels take 16 latencies */
    { 8, 1000, 80, 10000, 2000 },
    /* copies take as long as kernels: three bundles overlap */
    { 8, 6, 2, 1000, 2000 },
    /* there are none, and launches take long: one bundle has all */
    { 8, 6, 6, 10000, 0 },
    /* four units fill the GPU: one bundle of four, not four half empty ones */
    { 2, 4, 4, 0, 100 },
    /* so do 1 1/3: a bundle of one is better than one of two that has to wait
     */
    { 6, 3, 1, 100, 2000 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Stream s;
      HassPaces p;
      made_up_init (&s, "pipe-auto");
      s.devices[GPU0].latency_ns = cases[i].latency_ns;
      s.classes[B].element_threads = cases[i].threads;
      hass_paces_init (&p, &s.env);
      *hass_pace (&p, B, GPU0)
          = (HassPace){ 2000, cases[i].copy_ns, cases[i].copy_ns, 1 };
      CU_ASSERT_EQUAL (hass_bundle_units (&p, B, GPU0, 16, cases[i].tokens),
                       cases[i].units);
      hass_paces_clear (&p);
      hass_strategy_free (s.strategy);
    }
}

/* A unit fills two thirds of a GPU whose kernels take 2 us when they are full.
   Alone in a bundle it takes 3 us. */
static void
kernels_of_units_that_do_not_fill_a_gpu_show_its_pace (void)
{
  Stream s;
  HassPaces p;
  made_up_init (&s, "pipe-auto");
  s.devices[GPU0].width = 9;
  s.classes[B].element_threads = 6;
  hass_paces_init (&p, &s.env);
  hass_paces_add (&p, &(HassServed){ .device = GPU0,
                                     .class_index = B,
                                     .units = 1,
                                     .kernel_ns = 1000 + 3000 });
  CU_ASSERT_DOUBLE_EQUAL (hass_pace (&p, B, GPU0)->ns, 2000, 1e-6);
  hass_paces_clear (&p);
  hass_strategy_free (s.strategy);
}

/* Its kernels ran beside those of other classes, and neither copied anything.
 */
static void
a_grant_that_adds_no_time_leaves_a_pace (void)
{
  Stream s;
  HassPaces p;
  made_up_init (&s, "pipe-auto");
  hass_paces_init (&p, &s.env);
  hass_paces_add (
      &p, &(HassServed){ .device = GPU0, .class_index = B, .units = 8 });
  hass_paces_update (&p, &s.state);
  for (guint d = 0; d < s.env.n_devices; d++)
    {
      double ns = hass_pace_ns (&p, B, d);
      CU_ASSERT_TRUE (ns > 0 && ns < G_MAXDOUBLE);
    }
  hass_paces_clear (&p);
  hass_strategy_free (s.strategy);
}

/* In the 400 us of a unit of b on one of the four cores each GPU serves 200.
   Cores take batches only of units that are as short as those. */
static void
one_core_feeds_the_gpus (void)
{
  static const struct
  {
    double core_ns;
    guint64 running, ready;
    guint32 at_once; /* wanted */
  } cases[] = {
    { 400000, 0, 400, 3 },  { 400000, 2, 400, 3 },  { 400000, 3, 400, 3 },
    { 400000, 0, 1000, 4 }, { 400000, 3, 1000, 4 }, { 10000, 3, 5, 0 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Stream s;
      HassServe serve;
      made_up_init (&s, "pipe-auto");
      made_up_share_b (&s, cases[i].core_ns);
      s.states[B].running = cases[i].running;
      s.states[B].ready = cases[i].ready;
      made_up_ask (&s, CPU, &serve);
      CU_ASSERT_EQUAL (serve.at_once[B], cases[i].at_once);
      hass_strategy_free (s.strategy);
    }
}

HASS_TEST_SUITE (
    sched_pipe_bundles,
    { "few tokens in flight are divided into the bundles that pass fastest",
      bundles_share_the_tokens_in_flight },
    { "kernels of units that do not fill a GPU show its pace",
      kernels_of_units_that_do_not_fill_a_gpu_show_its_pace },
    { "a grant that adds no time to the GPU's leaves a pace that can be "
      "divided by",
      a_grant_that_adds_no_time_leaves_a_pace },
    { "a core remains free to feed GPUs until enough units wait for them",
      one_core_feeds_the_gpus })
