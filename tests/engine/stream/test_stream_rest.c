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
  HassJob job;
  HassStream stream;
} World;

/* The first device of the kind has computed 10 tokens within 500 ns. */
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
  w->totals[1] = (HassTotals){ .units = 10, .busy_ns = 500 };
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
  free (w);
}

static void
in_flight (void)
{
  World *w = world_new ();
  w->busy_until_ns[1] = 600;
  CU_ASSERT_EQUAL (hass_stream_rest (&w->job, 2).busy_ns, 500);
  w->bundles[1] = 2;
  CU_ASSERT_EQUAL (hass_stream_rest (&w->job, 2).busy_ns, 500 + NOW - 600);
  free (w);
}

HASS_TEST_SUITE (stream_rest,
                 { "devices of the kind count that have computed something",
                   open_ones },
                 { "what is in flight counts up to now", in_flight })
