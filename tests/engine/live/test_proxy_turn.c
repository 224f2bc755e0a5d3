/* SPDX-License-Identifier: MIT */
/* test_proxy_turn.c: when the proxy of an unopened device opens it beside
   others of its kind; the source says what the test wants, and no time passes.
   Thread safety: one thread. */
#include <stdlib.h>
#include <string.h>

#include "engine/live/proxy-private.h"
#include "hass_test.h"

#define START_NS G_GINT64_CONSTANT (100000000)
#define LOOK_NS (START_NS / 100)
#define FIRST 1 /* bit of the device that is open */

static HassRest said;

static HassRest
rest (HassJob *job, guint device)
{
  (void)job, (void)device;
  return said;
}

/* A device that judges, at @now_ns. */
typedef struct
{
  HassSourceOps source;
  HassJob job;
  HassProxy proxy;
  HassProxyWatch watch;
  gint64 now_ns;
} World;

static World *
world_new (HassRest first)
{
  World *w = aligned_alloc (HASS_CACHE_LINE, sizeof *w);
  memset (w, 0, sizeof *w);
  w->source.rest = rest;
  w->job.source = &w->source;
  w->proxy.job = &w->job;
  w->proxy.d = 1;
  w->watch.open_ns = START_NS;
  w->now_ns = START_NS;
  said = first;
  said.shown = TRUE;
  return w;
}

static gboolean
opens (World *w)
{
  return hass_proxy_has_turn (&w->proxy, &w->watch, w->now_ns);
}

/* The open devices are busy for a part of the time of @n looks. Returns: after
   how many looks the device opens; 0: it does not. */
static guint
runs (World *w, guint n, double busy)
{
  for (guint i = 1; i <= n; i++)
    {
      w->now_ns += LOOK_NS;
      said.busy_ns += busy * (double)LOOK_NS;
      if (opens (w))
        return i;
    }
  return 0;
}

static const HassRest stream = { .more = TRUE, .open = FIRST, .binds = 0.9 };

static void
idle (void)
{
  World *w = world_new (stream);
  CU_ASSERT_FALSE (opens (w));
  CU_ASSERT_EQUAL (runs (w, 1000, 0.89), 0);
  free (w);
}

static void
busy (void)
{
  World *w = world_new (stream);
  CU_ASSERT_FALSE (opens (w));
  CU_ASSERT_EQUAL (runs (w, 1000, 0.91), 100);
  free (w);
}

/* Half of the second period is idle, then two are needed. */
static void
becomes_busy (void)
{
  World *w = world_new (stream);
  CU_ASSERT_FALSE (opens (w));
  CU_ASSERT_EQUAL (runs (w, 150, 0.3), 0);
  CU_ASSERT_EQUAL (runs (w, 1000, 1), 150);
  free (w);
}

/* Of a long bundle that began in the period before, the mean is above one. */
static void
long_bundle (void)
{
  World *w = world_new (stream);
  CU_ASSERT_FALSE (opens (w));
  CU_ASSERT_EQUAL (runs (w, 99, 0), 0);
  CU_ASSERT_EQUAL (runs (w, 1, 99), 1);
  free (w);
}

/* A new device has been busy for less than a period, and a lost one took its
   time along. */
static void
others (void)
{
  World *w = world_new (stream);
  CU_ASSERT_FALSE (opens (w));
  CU_ASSERT_EQUAL (runs (w, 99, 1), 0);
  said.open = FIRST | 4;
  CU_ASSERT_EQUAL (runs (w, 99, 1), 0);
  said.open = 4;
  said.busy_ns = 0;
  CU_ASSERT_EQUAL (runs (w, 1000, 1), 101);
  free (w);
}

/* No more work comes while the devices bind, and then it does. */
static void
more_later (void)
{
  World *w = world_new (stream);
  said.more = FALSE;
  CU_ASSERT_EQUAL (runs (w, 350, 1), 0);
  said.more = TRUE;
  CU_ASSERT_EQUAL (runs (w, 1, 1), 1);
  free (w);
}

static void
unknown (void)
{
  World *w = world_new ((HassRest){ .more = TRUE });
  CU_ASSERT_FALSE (opens (w));
  CU_ASSERT_EQUAL (runs (w, 1000, 0), 100);
  said.more = FALSE;
  CU_ASSERT_EQUAL (runs (w, 150, 0), 0);
  said.more = TRUE;
  CU_ASSERT_EQUAL (runs (w, 1000, 0), 1);
  free (w);
}

/* Work for many starts is left, of which the cores are the bound at first. */
static void
much_left (void)
{
  World *w = world_new (stream);
  said.more = FALSE;
  said.ns = 1000.0 * START_NS;
  CU_ASSERT_FALSE (opens (w));
  CU_ASSERT_EQUAL (runs (w, 500, 0.5), 0);
  CU_ASSERT_EQUAL (runs (w, 1000, 1), 25);
  said.ns = 1.9 * START_NS;
  CU_ASSERT_EQUAL (runs (w, 500, 1), 0);
  free (w);
  w = world_new ((HassRest){ .ns = 1000.0 * START_NS });
  CU_ASSERT_TRUE (opens (w));
  free (w);
}

HASS_TEST_SUITE (
    proxy_turn,
    { "a device beside which others are often idle is never opened", idle },
    { "a device is opened once others have been busy for a start", busy },
    { "a stream that becomes heavy has the device two periods later",
      becomes_busy },
    { "a bundle that ends counts in the period of its end", long_bundle },
    { "a period with other devices says nothing", others },
    { "devices that bind still do when more work comes", more_later },
    { "much work needs a device only if the others bind for a quarter start",
      much_left },
    { "devices whose busy time is unknown bind", unknown })
