/* SPDX-License-Identifier: MIT */
/* test_facts.c: what a farm announces to those who listen.
   Thread safety: one thread. */
#include "device/model/model.h"
#include "engine/core/facts.h"
#include "engine/virtual/virtual.h"
#include "hass/error.h"
#include "hass_test.h"

#define N_LOADS 40

/* What the listener below has heard. */
typedef struct
{
  GString *order; /* a letter a fact */
  guint64 pulled, ended_units;
  gint64 makespan_ns;
  gboolean refuses, fails, ok;
  guint n_freed;
} Heard;

static Heard heard;

static gboolean
open_ (gpointer self, const HassFarmFacts *farm, GError **error)
{
  Heard *h = self;
  g_string_append_c (h->order, 'o');
  CU_ASSERT_STRING_EQUAL (farm->farm->name, "announces");
  CU_ASSERT_STRING_EQUAL (farm->strategy, "shared-queue");
  CU_ASSERT_EQUAL (farm->n_devices, 1);
  CU_ASSERT_EQUAL (farm->n_cores, 2);
  if (h->refuses)
    g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "refused");
  return !h->refuses;
}

static void
begun (gpointer self)
{
  g_string_append_c (((Heard *)self)->order, 'b');
}

static void
round_begun (gpointer self, const HassRoundFact *fact)
{
  g_string_append_c (((Heard *)self)->order, 'r');
  CU_ASSERT_EQUAL (fact->n_loads, N_LOADS);
}

static void
pulled (gpointer self, const HassPulled *fact)
{
  Heard *h = self;
  h->pulled += fact->n;
  CU_ASSERT_TRUE (fact->end_ns > fact->begin_ns && fact->worker < 2);
}

static void
round_ended (gpointer self, const HassRoundFact *fact)
{
  g_string_append_c (((Heard *)self)->order, 'e');
  CU_ASSERT_EQUAL (fact->work, N_LOADS);
}

static gboolean
over (gpointer self, GError **error)
{
  Heard *h = self;
  g_string_append_c (h->order, 'v');
  if (h->fails)
    g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "not complete");
  return !h->fails;
}

static gboolean
ended (gpointer self, const HassEnded *fact, GError **error)
{
  Heard *h = self;
  (void)error;
  g_string_append_c (h->order, 'E');
  h->ended_units = fact->n_units;
  h->makespan_ns = fact->makespan_ns;
  h->ok = fact->ok;
  return TRUE;
}

static void
freed (gpointer self)
{
  ((Heard *)self)->n_freed++;
}

static const HassListenerOps ops = { .open = open_,
                                     .begun = begun,
                                     .round_begun = round_begun,
                                     .pulled = pulled,
                                     .round_ended = round_ended,
                                     .over = over,
                                     .ended = ended,
                                     .free = freed };

static gboolean
observe (const HassRunOptions *run, const char *name, HassListener **listeners,
         GError **error)
{
  (void)run, (void)name, (void)error;
  *listeners = g_new (HassListener, 1);
  **listeners = (HassListener){ NULL, &ops, &heard };
  return TRUE;
}

/* Runs a farm of equal loads on two modelled cores. */
static gboolean
run (gboolean refuses, gboolean fails, GError **error)
{
  HassLoad loads[N_LOADS] = { 0 };
  HassPlatform platform = { .name = (char *)"two cores",
                            .has_cpu = TRUE,
                            .cores = 2,
                            .core_work_per_ns = 1e-3,
                            .n_links = 1 };
  HassRunOptions options = { .dry = TRUE };
  HassFarm farm = { .name = "announces",
                    .kind = HASS_FARM_COMBINE,
                    .loads = loads,
                    .n_loads = N_LOADS,
                    .block_elements = 1,
                    .element_threads = 1,
                    .pool_loads = 1024,
                    .pool_bytes = G_MAXSIZE,
                    .round_loads = G_MAXUINT32 - 1,
                    .window = G_MAXUINT32,
                    .strategy = "shared-queue",
                    .run = &options,
                    .observe = observe };
  for (guint i = 0; i < N_LOADS; i++)
    loads[i].size = 1;
  heard = (Heard){ .order = g_string_new (NULL),
                   .refuses = refuses,
                   .fails = fails };
  return hass_virtual_run (&farm, &platform, NULL, error);
}

static void
whole_farm (void)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (run (FALSE, FALSE, &error));
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_STRING_EQUAL (heard.order->str, "obrevE");
  CU_ASSERT_EQUAL (heard.pulled, N_LOADS);
  CU_ASSERT_EQUAL (heard.ended_units, N_LOADS);
  /* Two cores, 1000 ns a load. */
  CU_ASSERT_EQUAL (heard.makespan_ns, N_LOADS / 2 * 1000);
  CU_ASSERT_TRUE (heard.ok);
  CU_ASSERT_EQUAL (heard.n_freed, 1);
  g_string_free (heard.order, TRUE);
}

static void
refused_farm (void)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_FALSE (run (TRUE, FALSE, &error));
  CU_ASSERT_STRING_EQUAL (error ? error->message : "", "refused");
  CU_ASSERT_STRING_EQUAL (heard.order->str, "o");
  CU_ASSERT_EQUAL (heard.n_freed, 1);
  g_string_free (heard.order, TRUE);
}

static void
incomplete_file (void)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_FALSE (run (FALSE, TRUE, &error));
  CU_ASSERT_STRING_EQUAL (error ? error->message : "", "not complete");
  CU_ASSERT_STRING_EQUAL (heard.order->str, "obrevE");
  CU_ASSERT_FALSE (heard.ok);
  g_string_free (heard.order, TRUE);
}

HASS_TEST_SUITE (
    facts,
    { "a listener hears of a farm from its begin to its end", whole_farm },
    { "a listener that cannot open its file refuses the farm", refused_farm },
    { "a listener that cannot write all makes the farm fail", incomplete_file })
