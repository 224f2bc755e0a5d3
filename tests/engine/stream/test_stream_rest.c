/* SPDX-License-Identifier: MIT */
/* test_stream_rest.c: what the proxies of unopened devices are told of a
   pipeline, of which the state is set by hand.
   Thread safety: one thread. */
#include <stdlib.h>
#include <string.h>

#include "engine/stream/stream-private.h"
#include "hass_test.h"

#define N 4 /* the CPU pool, two devices of one kind and one of another */
#define NOW 1000
#define TOKEN_NS 50
#define LOADS 64 /* that the pool holds */

static gint64
now (HassJob *job)
{
  (void)job;
  return NOW;
}

typedef struct
{
  HassEngineOps engine;
  HassDeviceOps kinds[2];
  HassDevice devices[N], *gpus[N];
  HassTotals totals[N];
  guint bundles[N];
  gint64 busy_until_ns[N];
  HassRunOptions run;
  HassFarm farm;
  HassJob job;
  HassStream stream;
} World;

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)emitter, (void)data, (void)error;
  return TRUE;
}

/* The first device of the kind has computed 10 tokens. */
static World *
world_new (void)
{
  World *w = aligned_alloc (HASS_CACHE_LINE, sizeof *w);
  memset (w, 0, sizeof *w);
  w->engine.now = now;
  w->kinds[0].kind = "one";
  w->kinds[1].kind = "other";
  for (guint d = 1; d < N; d++)
    {
      w->devices[d].ops = &w->kinds[d == 3];
      w->gpus[d] = &w->devices[d];
    }
  w->totals[1] = (HassTotals){ .units = 10, .busy_ns = 10 * TOKEN_NS };
  w->farm.run = &w->run;
  w->farm.generate = generate;
  w->job.farm = &w->farm;
  w->job.pool = hass_load_pool_new (LOADS, G_MAXSIZE);
  w->job.engine = &w->engine;
  w->job.flow = &w->stream;
  w->job.gpus = w->gpus;
  w->job.n_devices = N;
  w->job.totals = w->totals;
  w->stream.job = &w->job;
  w->stream.bundles = w->bundles;
  w->stream.busy_until_ns = w->busy_until_ns;
  return w;
}

static void
world_free (World *w)
{
  hass_load_pool_free (w->job.pool);
  free (w);
}

static void
emit (World *w, guint n)
{
  static const HassLoad load = { .size = 1 };
  for (guint i = 0; i < n; i++)
    CU_ASSERT_TRUE (hass_load_pool_emit (w->job.pool, &load));
}

/* What is left is so many tokens, and more may come. */
static void
left (World *w, guint n, gboolean more)
{
  HassRest rest = hass_stream_rest (&w->job, 2);
  CU_ASSERT_EQUAL (rest.ns, n * TOKEN_NS);
  CU_ASSERT_EQUAL (rest.more, more);
}

static void
open_ones (void)
{
  World *w = world_new ();
  w->totals[3] = (HassTotals){ .units = 10, .busy_ns = 900 };
  HassRest rest = hass_stream_rest (&w->job, 2);
  CU_ASSERT_TRUE (rest.shown);
  CU_ASSERT_EQUAL (rest.open, 1 << 1);
  CU_ASSERT_EQUAL (rest.busy_ns, 500);
  w->totals[2] = (HassTotals){ .units = 10, .busy_ns = 100 };
  rest = hass_stream_rest (&w->job, 2);
  CU_ASSERT_EQUAL (rest.open, 1 << 1 | 1 << 2);
  CU_ASSERT_EQUAL (rest.busy_ns, 300);
  w->totals[1].lost = TRUE;
  rest = hass_stream_rest (&w->job, 2);
  CU_ASSERT_EQUAL (rest.open, 1 << 2);
  CU_ASSERT_EQUAL (rest.busy_ns, 100);
  w->totals[2].lost = TRUE;
  rest = hass_stream_rest (&w->job, 2);
  CU_ASSERT_FALSE (rest.shown);
  CU_ASSERT_EQUAL (rest.open, 0);
  world_free (w);
}

static void
in_flight (void)
{
  World *w = world_new ();
  w->busy_until_ns[1] = 600;
  CU_ASSERT_EQUAL (hass_stream_rest (&w->job, 2).busy_ns, 500);
  w->bundles[1] = 2;
  CU_ASSERT_EQUAL (hass_stream_rest (&w->job, 2).busy_ns, 500 + NOW - 600);
  world_free (w);
}

/* Loads that wait in the pool count beside the tokens in flight. */
static void
no_length (void)
{
  World *w = world_new ();
  atomic_store (&w->stream.n_tokens, 5);
  emit (w, 10);
  left (w, 15, TRUE);
  atomic_store (&w->job.generated, TRUE);
  left (w, 15, FALSE);
  world_free (w);
}

static void
length (void)
{
  World *w = world_new ();
  atomic_store (&w->stream.n_tokens, 5);
  w->run.loads_expected = 20;
  left (w, 25, FALSE);
  emit (w, 20);
  left (w, 25, FALSE);
  emit (w, 1);
  left (w, 26, TRUE);
  world_free (w);
}

/* Of an array before the generator, and of one that ends early. */
static void
length_with_array (void)
{
  static const HassLoad loads[30];
  World *w = world_new ();
  w->farm.n_loads = G_N_ELEMENTS (loads);
  w->run.loads_expected = G_MAXUINT64;
  CU_ASSERT_FALSE (hass_stream_rest (&w->job, 2).more);
  CU_ASSERT_TRUE (hass_stream_rest (&w->job, 2).ns > 1e18);
  w->run.loads_expected = 20;
  left (w, 50, FALSE);
  hass_load_pool_add_array (w->job.pool, loads, G_N_ELEMENTS (loads));
  left (w, 50, FALSE);
  emit (w, 8);
  left (w, 50, FALSE);
  atomic_store (&w->job.generated, TRUE);
  left (w, 38, FALSE);
  world_free (w);
}

static void
array (void)
{
  static const HassLoad loads[30];
  World *w = world_new ();
  w->farm.generate = NULL;
  w->farm.n_loads = G_N_ELEMENTS (loads);
  left (w, 30, FALSE);
  hass_load_pool_add_array (w->job.pool, loads, G_N_ELEMENTS (loads));
  left (w, 30, FALSE);
  world_free (w);
}

HASS_TEST_SUITE (
    stream_rest,
    { "devices of the kind count that have computed something", open_ones },
    { "what is in flight counts up to now", in_flight },
    { "without a length more may come until the generator has returned",
      no_length },
    { "with a length nothing more comes until it was too small", length },
    { "loads that are given count beside those expected", length_with_array },
    { "an array counts before it is in the pool", array })
