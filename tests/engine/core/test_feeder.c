/* SPDX-License-Identifier: MIT */
/* test_feeder.c: the feeder by itself: grants are cut, parts come back or fail,
   and the strategy is told, with no engine, no device and no clock.
   Thread safety: one thread. */
#include "feeder_rig.h"

#include "crowd.h"
#include "hass/error.h"
#include "hass_test.h"

#define UNIT_BYTES FEEDER_RIG_UNIT_BYTES
#define DEPTH FEEDER_RIG_DEPTH

static const HassBundleDone well
    = { .h2d_ns = 3, .kernel_ns = 4, .d2h_ns = 1, .host_ns = 2 };
static const HassBundleDone failed = { .failed = TRUE };

static void
comes_back (FeederRig *r, guint slot, const HassBundleDone *like)
{
  CU_ASSERT_TRUE_FATAL (feeder_rig_comes_back (r, slot, like));
}

/* -- Parts -------------------------------------------------------------- */

static void
parts_cover_the_grant (void)
{
  FeederRig r;
  guint32 at = 0, n_parts = 0;
  feeder_rig_begin (&r, 20, 10, 4 * UNIT_BYTES, FALSE);
  for (HassFeederPart *part; (part = feeder_rig_submitted (&r)); n_parts++)
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
  feeder_rig_end (&r);
}

static void
without_a_bound_one_part (void)
{
  FeederRig r;
  feeder_rig_begin (&r, 20, 20, 0, FALSE);
  HassFeederPart *part = feeder_rig_submitted (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (part);
  CU_ASSERT_EQUAL (part->extent.n, 20);
  CU_ASSERT_PTR_NULL (feeder_rig_next_part (&r));
  comes_back (&r, part->index, &well);
  feeder_rig_end (&r);
}

static void
as_many_as_slots (void)
{
  FeederRig r;
  HassFeederPart *part[DEPTH];
  feeder_rig_begin (&r, 8, 8, 2 * UNIT_BYTES, FALSE);
  for (guint i = 0; i < DEPTH; i++)
    {
      part[i] = feeder_rig_submitted (&r);
      CU_ASSERT_PTR_NOT_NULL_FATAL (part[i]);
      CU_ASSERT_EQUAL (part[i]->index, i);
    }
  CU_ASSERT_PTR_NULL (feeder_rig_next_part (&r));
  comes_back (&r, 1, &well);
  part[1] = feeder_rig_submitted (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (part[1]);
  CU_ASSERT_EQUAL (part[1]->index, 1);
  CU_ASSERT_EQUAL (part[1]->extent.first, 6);
  for (guint i = 0; i < DEPTH; i++)
    comes_back (&r, i, &well);
  feeder_rig_end (&r);
}

/* -- What the strategy is told ------------------------------------------ */

static void
told_once (void)
{
  FeederRig r;
  feeder_rig_begin (&r, 6, 6, 2 * UNIT_BYTES, FALSE);
  for (guint i = 0; i < 3; i++)
    CU_ASSERT_PTR_NOT_NULL (feeder_rig_submitted (&r));
  for (guint i = 3; i-- > 0;)
    {
      CU_ASSERT_EQUAL (r.n_told, 0);
      comes_back (&r, i, &well);
    }
  CU_ASSERT_EQUAL_FATAL (r.n_told, 1);
  CU_ASSERT_EQUAL (r.told[0].units, 6);
  CU_ASSERT_EQUAL (r.told[0].work, 6);
  CU_ASSERT_EQUAL (r.told[0].elements, 12);
  CU_ASSERT_EQUAL (r.told[0].bytes, 6 * UNIT_BYTES);
  CU_ASSERT_EQUAL (r.told[0].grant_ns, 100);
  CU_ASSERT_EQUAL (r.told[0].end_ns, 130);
  CU_ASSERT_EQUAL (r.told[0].h2d_ns, 9);
  CU_ASSERT_EQUAL (r.told[0].kernel_ns, 12);
  CU_ASSERT_EQUAL (r.told[0].d2h_ns, 3);
  CU_ASSERT_EQUAL (r.told[0].host_ns, 6);
  CU_ASSERT_FALSE (r.told[0].failed);
  CU_ASSERT_EQUAL (hass_round_progress (&r.round->round, 0).units, 6);
  feeder_rig_end (&r);
}

static void
failed_parts_go_back (void)
{
  FeederRig r;
  feeder_rig_begin (&r, 10, 10, 3 * UNIT_BYTES, FALSE);
  HassFeederPart *first = feeder_rig_submitted (&r),
                 *second = feeder_rig_submitted (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (second);
  comes_back (&r, first->index, &well);
  comes_back (&r, second->index, &failed);
  CU_ASSERT_EQUAL_FATAL (r.n_told, 1);
  CU_ASSERT_TRUE (r.told[0].failed);
  CU_ASSERT_EQUAL (r.told[0].units, 3);
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&r.round->round), 7);
  for (guint32 left = 7; left > 0;)
    {
      HassFeederPart *part = feeder_rig_submitted (&r);
      CU_ASSERT_PTR_NOT_NULL_FATAL (part);
      left -= part->extent.n;
      comes_back (&r, part->index, &well);
    }
  CU_ASSERT_EQUAL (r.job->totals[0].failures, 1);
  CU_ASSERT_STRING_EQUAL (r.job->totals[0].message, "a test");
  CU_ASSERT_FALSE (r.job->totals[0].lost);
  feeder_rig_end (&r);
}

/* Parts fail as @how until the device is lost; returns how many did. */
static guint
failures_until_lost (const HassBundleDone *how)
{
  FeederRig r;
  guint n = 0;
  feeder_rig_begin (&r, 10, 1, 0, FALSE);
  while (!r.job->totals[0].lost && n < 8)
    {
      HassFeederPart *part = feeder_rig_submitted (&r);
      CU_ASSERT_PTR_NOT_NULL_FATAL (part);
      comes_back (&r, part->index, &how[n++]);
    }
  CU_ASSERT_PTR_NULL (feeder_rig_next_part (&r));
  feeder_rig_end (&r);
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
  FeederRig r;
  HassFeederPart *unused;
  feeder_rig_begin (&r, 10, 10, 3 * UNIT_BYTES, FALSE);
  HassFeederPart *part = feeder_rig_submitted (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (part);
  hass_job_stop (
      r.job, g_error_new_literal (HASS_ERROR, HASS_ERROR_CANCELLED, "a test"));
  CU_ASSERT_EQUAL (hass_feeder_next (&r.feeder, r.now_ns, &unused),
                   HASS_FEED_DROPPED);
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&r.round->round), 7);
  CU_ASSERT_EQUAL (r.n_told, 0);
  comes_back (&r, part->index, &well);
  CU_ASSERT_EQUAL (r.n_told, 1);
  CU_ASSERT_EQUAL (hass_feeder_next (&r.feeder, r.now_ns, &unused),
                   HASS_FEED_NOTHING);
  feeder_rig_end (&r);
}

#define N_BACK 200000

typedef struct
{
  FeederRig rig;
  atomic_bool over;
  guint n_between;
} Contended;

/* Looks for units that are back while the grant that they were of is not
   complete: whoever takes them then can end its round. */
static void
looks_or_fails (guint index, gpointer data)
{
  Contended *c = data;
  FeederRig *r = &c->rig;
  HassBundleDone fails = { .failed = TRUE };
  guint n = 0;
  for (; index == 0 && n < CROWD_SCALE (N_BACK); n++, fails.together = TRUE)
    {
      HassFeederPart *part = feeder_rig_submitted (r);
      if (!part || !feeder_rig_comes_back (r, part->index, &fails))
        break;
    }
  if (index == 0)
    atomic_store (&c->over, TRUE);
  while (!atomic_load (&c->over))
    {
      hass_lock_take (&r->job->decision);
      c->n_between += hass_round_waiting_anywhere (&r->round->round) == 4
                      && r->n_told < r->n_grants;
      hass_lock_give (&r->job->decision);
    }
}

static void
back_with_its_completion (void)
{
  Contended c = { .n_between = 0 };
  feeder_rig_begin (&c.rig, 4, 4, 2 * UNIT_BYTES, FALSE);
  crowd_run (2, looks_or_fails, &c);
  CU_ASSERT_EQUAL (c.n_between, 0);
  CU_ASSERT_EQUAL (c.rig.n_told, CROWD_SCALE (N_BACK));
  for (HassFeederPart *part; (part = feeder_rig_submitted (&c.rig));)
    comes_back (&c.rig, part->index, &well);
  feeder_rig_end (&c.rig);
}

/* -- Memory ------------------------------------------------------------- */

static void
halved_when_alone (void)
{
  FeederRig r;
  feeder_rig_begin (&r, 16, 16, 8 * UNIT_BYTES, FALSE);
  HassFeederPart *first = feeder_rig_submitted (&r),
                 *second = feeder_rig_next_part (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (second);
  CU_ASSERT_EQUAL (second->extent.n, 8);
  hass_feeder_too_large (&r.feeder, second, "full", r.now_ns);
  CU_ASSERT_PTR_NULL (
      feeder_rig_next_part (&r)); /* waits until the device is empty */
  comes_back (&r, first->index, &well);
  second = feeder_rig_next_part (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (second);
  CU_ASSERT_EQUAL (second->extent.n, 8);
  hass_feeder_too_large (&r.feeder, second, "full", r.now_ns);
  for (guint i = 0; i < 2; i++)
    {
      second = feeder_rig_submitted (&r);
      CU_ASSERT_PTR_NOT_NULL_FATAL (second);
      CU_ASSERT_EQUAL (second->extent.first, 8 + 4 * i);
      CU_ASSERT_EQUAL (second->extent.n, 4);
    }
  comes_back (&r, 0, &well);
  comes_back (&r, 1, &well);
  CU_ASSERT_EQUAL (r.n_told, 1);
  CU_ASSERT_EQUAL (r.told[0].units, 16);
  CU_ASSERT_FALSE (r.told[0].failed);
  feeder_rig_end (&r);
}

static void
a_unit_that_never_fits (void)
{
  for (guint with_cpu = 0; with_cpu < 2; with_cpu++)
    {
      FeederRig r;
      feeder_rig_begin (&r, 1, 1, 0, with_cpu);
      HassFeederPart *part = feeder_rig_next_part (&r);
      CU_ASSERT_PTR_NOT_NULL_FATAL (part);
      hass_feeder_too_large (&r.feeder, part, "full", r.now_ns);
      CU_ASSERT_EQUAL (r.n_told, 1);
      CU_ASSERT_EQUAL (r.told[0].failed, (gboolean)with_cpu);
      CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&r.round->round), with_cpu);
      CU_ASSERT_EQUAL (r.job->totals[with_cpu].failed_units, !with_cpu);
      CU_ASSERT_STRING_EQUAL (r.job->totals[with_cpu].message,
                              "load 0 needs 1000 bytes on gpu0: full");
      feeder_rig_end (&r);
    }
}

static void
a_unit_that_never_fits_without_a_reason (void)
{
  FeederRig r;
  feeder_rig_begin (&r, 1, 1, 0, FALSE);
  HassFeederPart *part = feeder_rig_next_part (&r);
  CU_ASSERT_PTR_NOT_NULL_FATAL (part);
  hass_feeder_too_large (&r.feeder, part, NULL, r.now_ns);
  CU_ASSERT_STRING_EQUAL (
      r.job->totals[0].message,
      "load 0 needs 1000 bytes on gpu0: it did not say why");
  feeder_rig_end (&r);
}

/* -- How many in flight ------------------------------------------------- */

/* Parts that are enough when one with such a copy has come back while @others
   are on the device. */
static guint
enough_after (double h2d_ns, guint others, gboolean busy_times,
              gboolean few_copies)
{
  FeederRig r;
  HassBundleDone done = { .h2d_ns = h2d_ns, .kernel_ns = 1e6 };
  feeder_rig_begin (&r, 60000, 60000, 10000 * UNIT_BYTES, FALSE);
  r.feeder.busy_times = busy_times;
  r.feeder.few_copies = few_copies;
  for (guint i = 0; i <= others; i++)
    CU_ASSERT_PTR_NOT_NULL (feeder_rig_submitted (&r));
  comes_back (&r, 0, &done);
  guint enough = r.feeder.enough;
  for (guint i = 1; i <= others; i++)
    comes_back (&r, i, &well);
  while (feeder_rig_submitted (&r))
    comes_back (&r, 0, &well);
  feeder_rig_end (&r);
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
    { "units that are back and the end of their grant are seen at once",
      back_with_its_completion },
    { "a part that does not fit in an empty device is halved",
      halved_when_alone },
    { "a unit that never fits goes to the CPU or fails with its sizes",
      a_unit_that_never_fits },
    { "a unit that never fits, of a device that gives no reason, fails with "
      "its sizes",
      a_unit_that_never_fits_without_a_reason },
    { "two parts are in flight where large copies take far longer than the "
      "rest",
      two_large_copies })
