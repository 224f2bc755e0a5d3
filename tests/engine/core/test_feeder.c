/* SPDX-License-Identifier: MIT */
/* test_feeder.c: the feeder by itself: grants are cut, parts come back or fail,
   and the strategy is told, with no engine, no device and no clock.
   Thread safety: one thread. */
#include "engine/core/feeder.h"

#include "hass/error.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "sched/registry.h"

#define UNIT_BYTES 1000
#define DEPTH 3

/* A farm of equal loads on one device, with or without a CPU beside it. */
typedef struct
{
  HassRunOptions options;
  HassFarm farm;
  HassLoad *loads;
  HassJob *job;
  HassSlot *round;
  HassFeeder feeder;
  gint64 now_ns;
} Rig;

static guint n_granted; /* units of a grant, at most */
static HassCompletion told[64];
static guint n_told;

static gint64
now (HassJob *job)
{
  return ((Rig *)job->driver)->now_ns;
}

static gboolean
no_room (HassJob *job)
{
  (void)job;
  return FALSE;
}

static void
nothing (HassJob *job)
{
  (void)job;
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  return (gpointer)env;
}

static HassAnswer
grant (gpointer self, HassRound *round, guint device, gboolean force,
       HassGrant *g)
{
  const HassStrategyEnv *env = self;
  (void)round, (void)force;
  g->source = HASS_FROM_FRONT;
  g->units = n_granted;
  g->in_flight = DEPTH;
  return env->devices[device].kind == HASS_DEVICE_GPU ? HASS_TAKE : HASS_DONE;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  (void)self, (void)round;
  if (n_told < G_N_ELEMENTS (told))
    told[n_told++] = *done;
}

static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return FALSE;
}

static void
begin (Rig *r, guint n_loads, guint granted, guint64 part_bytes,
       gboolean with_cpu)
{
  static const HassStrategyOps ops = { .struct_size = sizeof (HassStrategyOps),
                                       .name = "fed",
                                       .summary = "grants the same again",
                                       .source = "tests",
                                       .farms = HASS_FARM_COMBINE,
                                       .create = create,
                                       .grant = grant,
                                       .observe = observe };
  static const HassEngineOps engine = {
    .now = now, .make_room = no_room, .loads_came = nothing, .changed = nothing
  };
  HassDeviceTraits devices[] = { { .name = "cpu",
                                   .kind = HASS_DEVICE_CPU,
                                   .cores = 1,
                                   .width = 1,
                                   .max_in_flight = 1 },
                                 { .name = "gpu0",
                                   .kind = HASS_DEVICE_GPU,
                                   .cores = 1,
                                   .width = 1,
                                   .max_in_flight = DEPTH,
                                   .part_bytes = part_bytes } };
  HassDevice *none[] = { NULL, NULL };
  guint first = with_cpu ? 0 : 1;
  hass_strategy_register (&ops, NULL);
  n_granted = granted;
  n_told = 0;
  *r = (Rig){ .options = { .dry = TRUE }, .now_ns = 100 };
  r->loads = g_new0 (HassLoad, n_loads);
  for (guint i = 0; i < n_loads; i++)
    r->loads[i] = (HassLoad){ .size = 2, .input_bytes = UNIT_BYTES };
  r->farm = (HassFarm){ .name = "fed",
                        .kind = HASS_FARM_COMBINE,
                        .loads = r->loads,
                        .n_loads = n_loads,
                        .cpu_worker = never,
                        .pool_loads = 1024,
                        .pool_bytes = G_MAXSIZE,
                        .round_loads = n_loads,
                        .window = G_MAXUINT32,
                        .strategy = "fed",
                        .run = &r->options };
  HassJobDevices of
      = { .devices = devices + first, .gpus = none, .n_devices = 2 - first };
  r->job = hass_job_new (&r->farm, &engine, &of, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (r->job);
  r->job->driver = r;
  hass_job_generate (r->job);
  pthread_mutex_lock (&r->job->decision);
  r->round = hass_job_begin_round (r->job);
  pthread_mutex_unlock (&r->job->decision);
  hass_feeder_init (&r->feeder, r->job, 1 - first);
}

static void
end (Rig *r)
{
  hass_feeder_clear (&r->feeder);
  hass_job_finish (r->job);
  g_clear_error (&r->job->error);
  hass_job_free (r->job);
  g_free (r->loads);
}

/* What an engine does until nothing more can be handed over: the part is not
   submitted yet. NULL: there is none. */
static HassFeederPart *
next_part (Rig *r)
{
  HassFeederPart *part;
  HassExtent e;
  HassGrant unused;
  HassFeed feed = hass_feeder_next (&r->feeder, r->now_ns, &part);
  if (feed == HASS_FEED_ASK
      && hass_decide_gpu (r->job, r->round, r->feeder.d, &e, &unused))
    {
      hass_feeder_grant (&r->feeder, r->round, e, r->now_ns);
      feed = hass_feeder_next (&r->feeder, r->now_ns, &part);
    }
  if (feed != HASS_FEED_PART)
    return NULL;
  part->submit_ns = r->now_ns;
  return part;
}

static HassFeederPart *
submitted (Rig *r)
{
  HassFeederPart *part = next_part (r);
  if (part)
    hass_feeder_submitted (&r->feeder);
  return part;
}

static void
settle (Rig *r, HassFeederPart *part, const HassBundleDone *done)
{
  HassFeederBack back = { .done = done,
                          .message = done->failed ? "a test" : NULL,
                          .left_ns = r->now_ns,
                          .end_ns = r->now_ns,
                          .settled_ns = r->now_ns };
  HassSlot *round = part->grant->round;
  if (!done->failed)
    back.counted = hass_feeder_results (&r->feeder, part, done);
  hass_feeder_settle (&r->feeder, part, &back);
  if (!done->failed)
    hass_job_units_finished (r->job, round, back.counted.n);
}

/* A part comes back after so long. */
static void
comes_back (Rig *r, guint slot, const HassBundleDone *like)
{
  HassBundleDone done = *like;
  done.slot = slot;
  r->now_ns += 10;
  HassFeederPart *part = hass_feeder_left (&r->feeder, &done);
  CU_ASSERT_PTR_NOT_NULL_FATAL (part);
  settle (r, part, &done);
}

static const HassBundleDone well
    = { .h2d_ns = 3, .kernel_ns = 4, .d2h_ns = 1, .host_ns = 2 };
static const HassBundleDone failed = { .failed = TRUE };

/* -- Parts -------------------------------------------------------------- */

static void
parts_cover_the_grant (void)
{
  Rig r;
  guint32 at = 0, n_parts = 0;
  begin (&r, 20, 10, 4 * UNIT_BYTES, FALSE);
  for (HassFeederPart *part; (part = submitted (&r)); n_parts++)
    {
      CU_ASSERT_EQUAL (part->extent.first, at);
      CU_ASSERT_EQUAL (part->extent.n, n_parts % 3 < 2 ? 4 : 2);
      CU_ASSERT_EQUAL (part->n_blocks, part->extent.n);
      CU_ASSERT_EQUAL (part->in_bytes, part->extent.n * UNIT_BYTES);
      CU_ASSERT_EQUAL (part->elements, part->extent.n * 2);
      at += part->extent.n;
      comes_back (&r, part->index, &well);
    }
  CU_ASSERT_EQUAL (at, 20);
  CU_ASSERT_EQUAL (n_parts, 6);
  end (&r);
}

static void
without_a_bound_one_part (void)
{
  Rig r;
  begin (&r, 20, 20, 0, FALSE);
  HassFeederPart *part = submitted (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (part);
  CU_ASSERT_EQUAL (part->extent.n, 20);
  CU_ASSERT_PTR_NULL (next_part (&r));
  comes_back (&r, part->index, &well);
  end (&r);
}

static void
as_many_as_slots (void)
{
  Rig r;
  HassFeederPart *part[DEPTH];
  begin (&r, 8, 8, 2 * UNIT_BYTES, FALSE);
  for (guint i = 0; i < DEPTH; i++)
    {
      part[i] = submitted (&r);
      CU_ASSERT_PTR_NOT_NULL_FATAL (part[i]);
      CU_ASSERT_EQUAL (part[i]->index, i);
    }
  CU_ASSERT_PTR_NULL (next_part (&r));
  comes_back (&r, 1, &well);
  part[1] = submitted (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (part[1]);
  CU_ASSERT_EQUAL (part[1]->index, 1);
  CU_ASSERT_EQUAL (part[1]->extent.first, 6);
  for (guint i = 0; i < DEPTH; i++)
    comes_back (&r, i, &well);
  end (&r);
}

/* -- What the strategy is told ------------------------------------------ */

static void
told_once (void)
{
  Rig r;
  begin (&r, 6, 6, 2 * UNIT_BYTES, FALSE);
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_PTR_NOT_NULL (submitted (&r));
  for (guint i = 3; i-- > 0;)
    {
      CU_ASSERT_EQUAL (n_told, 0);
      comes_back (&r, i, &well);
    }
  CU_ASSERT_EQUAL_FATAL (n_told, 1);
  CU_ASSERT_EQUAL (told[0].units, 6);
  CU_ASSERT_EQUAL (told[0].work, 6);
  CU_ASSERT_EQUAL (told[0].elements, 12);
  CU_ASSERT_EQUAL (told[0].bytes, 6 * UNIT_BYTES);
  CU_ASSERT_EQUAL (told[0].grant_ns, 100);
  CU_ASSERT_EQUAL (told[0].end_ns, 130);
  CU_ASSERT_EQUAL (told[0].h2d_ns, 9);
  CU_ASSERT_EQUAL (told[0].kernel_ns, 12);
  CU_ASSERT_EQUAL (told[0].d2h_ns, 3);
  CU_ASSERT_EQUAL (told[0].host_ns, 6);
  CU_ASSERT_FALSE (told[0].failed);
  CU_ASSERT_EQUAL (hass_round_progress (&r.round->round, 0).units, 6);
  end (&r);
}

static void
failed_parts_go_back (void)
{
  Rig r;
  begin (&r, 10, 10, 3 * UNIT_BYTES, FALSE);
  HassFeederPart *first = submitted (&r), *second = submitted (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (second);
  comes_back (&r, first->index, &well);
  comes_back (&r, second->index, &failed);
  CU_ASSERT_EQUAL_FATAL (n_told, 1);
  CU_ASSERT_TRUE (told[0].failed);
  CU_ASSERT_EQUAL (told[0].units, 3);
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&r.round->round), 7);
  for (guint32 left = 7; left > 0;)
    {
      HassFeederPart *part = submitted (&r);
      CU_ASSERT_PTR_NOT_NULL_FATAL (part);
      left -= part->extent.n;
      comes_back (&r, part->index, &well);
    }
  CU_ASSERT_EQUAL (r.job->totals[0].failures, 1);
  CU_ASSERT_STRING_EQUAL (r.job->totals[0].message, "a test");
  CU_ASSERT_FALSE (r.job->totals[0].lost);
  end (&r);
}

/* Parts fail as @how until the device is lost; returns how many did. */
static guint
failures_until_lost (const HassBundleDone *how)
{
  Rig r;
  guint n = 0;
  begin (&r, 10, 1, 0, FALSE);
  while (!r.job->totals[0].lost && n < 8)
    {
      HassFeederPart *part = submitted (&r);
      CU_ASSERT_PTR_NOT_NULL_FATAL (part);
      comes_back (&r, part->index, &how[n++]);
    }
  CU_ASSERT_PTR_NULL (next_part (&r));
  end (&r);
  return n;
}

static void
lost_after_three (void)
{
  static const HassBundleDone bad = { .failed = TRUE };
  static const HassBundleDone again = { .failed = TRUE, .together = TRUE };
  static const HassBundleDone gone = { .failed = TRUE, .lost = TRUE };
  static const HassBundleDone good = { .kernel_ns = 1 };
  HassBundleDone three[8] = { bad, bad, bad, good };
  HassBundleDone with_good[8] = { bad, bad, good, bad, bad, bad, good };
  HassBundleDone together[8] = { bad, again, again, bad, again, bad };
  HassBundleDone at_once[8] = { good, gone };
  CU_ASSERT_EQUAL (failures_until_lost (three), 3);
  CU_ASSERT_EQUAL (failures_until_lost (with_good), 6);
  CU_ASSERT_EQUAL (failures_until_lost (together), 6);
  CU_ASSERT_EQUAL (failures_until_lost (at_once), 2);
}

/* What was not cut goes back when the farm stops. */
static void
stop_drops_the_rest (void)
{
  Rig r;
  HassFeederPart *unused;
  begin (&r, 10, 10, 3 * UNIT_BYTES, FALSE);
  HassFeederPart *part = submitted (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (part);
  hass_job_stop (
      r.job, g_error_new_literal (HASS_ERROR, HASS_ERROR_CANCELLED, "a test"));
  CU_ASSERT_EQUAL (hass_feeder_next (&r.feeder, r.now_ns, &unused),
                   HASS_FEED_DROPPED);
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&r.round->round), 7);
  CU_ASSERT_EQUAL (n_told, 0);
  comes_back (&r, part->index, &well);
  CU_ASSERT_EQUAL (n_told, 1);
  CU_ASSERT_EQUAL (hass_feeder_next (&r.feeder, r.now_ns, &unused),
                   HASS_FEED_NOTHING);
  end (&r);
}

/* -- Memory ------------------------------------------------------------- */

static void
halved_when_alone (void)
{
  Rig r;
  begin (&r, 16, 16, 8 * UNIT_BYTES, FALSE);
  HassFeederPart *first = submitted (&r), *second = next_part (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (second);
  CU_ASSERT_EQUAL (second->extent.n, 8);
  hass_feeder_too_large (&r.feeder, second, "full", r.now_ns);
  CU_ASSERT_PTR_NULL (next_part (&r)); /* waits until the device is empty */
  comes_back (&r, first->index, &well);
  second = next_part (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (second);
  CU_ASSERT_EQUAL (second->extent.n, 8);
  hass_feeder_too_large (&r.feeder, second, "full", r.now_ns);
  for (guint i = 0; i < 2; i++)
    {
      second = submitted (&r);
      CU_ASSERT_PTR_NOT_NULL_FATAL (second);
      CU_ASSERT_EQUAL (second->extent.first, 8 + 4 * i);
      CU_ASSERT_EQUAL (second->extent.n, 4);
    }
  comes_back (&r, 0, &well);
  comes_back (&r, 1, &well);
  CU_ASSERT_EQUAL (n_told, 1);
  CU_ASSERT_EQUAL (told[0].units, 16);
  CU_ASSERT_FALSE (told[0].failed);
  end (&r);
}

static void
a_unit_that_never_fits (void)
{
  for (guint with_cpu = 0; with_cpu < 2; with_cpu++)
    {
      Rig r;
      begin (&r, 1, 1, 0, with_cpu);
      HassFeederPart *part = next_part (&r);
      CU_ASSERT_PTR_NOT_NULL_FATAL (part);
      hass_feeder_too_large (&r.feeder, part, "full", r.now_ns);
      CU_ASSERT_EQUAL (n_told, 1);
      CU_ASSERT_EQUAL (told[0].failed, (gboolean)with_cpu);
      CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&r.round->round), with_cpu);
      CU_ASSERT_EQUAL (r.job->totals[with_cpu].failed_units, !with_cpu);
      CU_ASSERT_STRING_EQUAL (r.job->totals[with_cpu].message,
                              "load 0 needs 1000 bytes on gpu0: full");
      end (&r);
    }
}

/* -- How many in flight ------------------------------------------------- */

/* Parts that are enough when one with such a copy has come back while @others
   are on the device. */
static guint
enough_after (double h2d_ns, guint others, gboolean busy_times,
              gboolean few_copies)
{
  Rig r;
  HassBundleDone done = { .h2d_ns = h2d_ns, .kernel_ns = 1e6 };
  begin (&r, 60000, 60000, 10000 * UNIT_BYTES, FALSE);
  r.feeder.busy_times = busy_times;
  r.feeder.few_copies = few_copies;
  for (guint i = 0; i <= others; i++)
    CU_ASSERT_PTR_NOT_NULL (submitted (&r));
  comes_back (&r, 0, &done);
  guint enough = r.feeder.enough;
  for (guint i = 1; i <= others; i++)
    comes_back (&r, i, &well);
  while (submitted (&r))
    comes_back (&r, 0, &well);
  end (&r);
  return enough;
}

static void
two_large_copies (void)
{
  CU_ASSERT_EQUAL (enough_after (3e6, 0, FALSE, TRUE), DEPTH);
  CU_ASSERT_EQUAL (enough_after (5e6, 0, FALSE, TRUE), 2);
  CU_ASSERT_EQUAL (enough_after (5e6, 0, FALSE, FALSE), DEPTH);
  CU_ASSERT_EQUAL (enough_after (9e6, 2, FALSE, TRUE), DEPTH);
  CU_ASSERT_EQUAL (enough_after (9e6, 2, TRUE, TRUE), 2);
}

HASS_TEST_SUITE (
    feeder,
    { "parts cover a grant in order, within the device's bytes",
      parts_cover_the_grant },
    { "a device without a bound gets the grant as one part",
      without_a_bound_one_part },
    { "no more parts are in flight than the device has slots",
      as_many_as_slots },
    { "the strategy is told of a grant once, with the sums of its parts",
      told_once },
    { "a part that fails goes back with what is left of its grant",
      failed_parts_go_back },
    { "a device is given up after three failures in a row", lost_after_three },
    { "a farm that stops takes back what was not handed over",
      stop_drops_the_rest },
    { "a part that does not fit in an empty device is halved",
      halved_when_alone },
    { "a unit that never fits goes to the CPU or fails with its sizes",
      a_unit_that_never_fits },
    { "two parts are in flight where large copies take far longer than the "
      "rest",
      two_large_copies })
