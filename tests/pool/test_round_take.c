/* SPDX-License-Identifier: MIT */
/* test_round_take.c: devices take units from rounds, and give them back.
   Thread safety: one thread. */
#include "hass_test.h"
#include "round_trial.h"

static void
takes (void)
{
  open_trial_round ();
  open_equal (40);
  CU_ASSERT (
      extent_is (TAKE (GPU0, .source = HASS_FROM_FRONT, .units = 3), 0, 3));
  CU_ASSERT (
      extent_is (TAKE (GPU0, .source = HASS_FROM_BACK, .units = 3), 37, 3));
  CU_ASSERT (extent_is (
      TAKE (GPU0, .source = HASS_FROM_BACK, .units = 11, .multiple = 4), 29,
      8));
  CU_ASSERT (extent_is (TAKE (GPU0, .multiple = 20), 3, 20));
  CU_ASSERT (
      extent_is (TAKE (GPU0, .multiple = 20), 23, 6)); /* fewer are left */
  CU_ASSERT (extent_is (TAKE (GPU0, .units = 1), 0, 0));
  hass_round_clear (&round_);
}

static void
takes_by_work (void)
{
  HassLoad loads[8];
  open_trial_round ();
  open_costs (HASS_FARM_COMBINE, loads, (int[]){ 1, 2, 3, 4, 5, 6, 7, 8 }, 8);
  CU_ASSERT (
      extent_is (TAKE (GPU0, .source = HASS_FROM_FRONT, .work = 6), 0, 3));
  CU_ASSERT (
      extent_is (TAKE (GPU0, .source = HASS_FROM_BACK, .work = 15.5), 6, 2));
  CU_ASSERT (
      extent_is (TAKE (GPU0, .source = HASS_FROM_BACK, .work = 1), 5, 1));
  CU_ASSERT (extent_is (
      TAKE (GPU0, .source = HASS_FROM_BACK, .work = 9, .units = 1), 4, 1));
  hass_round_carve (&round_, (guint64[]){ 0, 0, 1 });
  CU_ASSERT (extent_is (
      TAKE (GPU1, .source = HASS_FROM_SHARE, .share = GPU1, .work = 1), 3, 1));
  open_costs (HASS_FARM_COMBINE, loads, (int[]){ 1, 2, 3, 4, 5, 6, 7, 8 }, 8);
  CU_ASSERT (extent_is (TAKE (CPU, .work = 1, .units = 5), 0, 5)); /* ignored */
  hass_round_clear (&round_);
}

static void
theft (void)
{
  open_trial_round ();
  open_equal (30);
  hass_round_carve (&round_, (guint64[]){ 10, 10, 0 });
  CU_ASSERT (extent_is (
      TAKE (GPU1, .source = HASS_FROM_THEFT, .share = GPU0, .units = 4), 16,
      4));
  CU_ASSERT (extent_is (
      TAKE (GPU0, .source = HASS_FROM_SHARE, .share = GPU0, .units = 4), 10,
      4));
  CU_ASSERT (
      extent_is (TAKE (GPU1, .source = HASS_FROM_THEFT, .share = GPU0), 14, 2));
  CU_ASSERT (
      extent_is (TAKE (GPU1, .source = HASS_FROM_THEFT, .share = GPU0), 0, 0));
  CU_ASSERT_EQUAL (hass_round_share (&round_, CPU), 10);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 10);
  hass_round_clear (&round_);
}

static void
exclusives (void)
{
  HassLoad loads[10];
  open_trial_round ();
  open_tasks (loads); /* [0, 3) CPU, [8, 10) GPU */
  CU_ASSERT (extent_is (TAKE (CPU, .units = 2), 0, 2));
  CU_ASSERT (extent_is (TAKE (GPU0, .source = HASS_FROM_FRONT), 8, 2));
  CU_ASSERT (
      extent_is (TAKE (GPU0, .source = HASS_FROM_BACK, .units = 9), 3, 5));
  CU_ASSERT (extent_is (TAKE (GPU0, .source = HASS_FROM_BACK), 0, 0));
  CU_ASSERT (
      extent_is (hass_round_take_any (&round_, HASS_DEVICE_GPU, 9), 0, 0));
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 1);
  /* Returned ones stay exclusive, in the range or in the list. */
  hass_round_give_back (&round_, (HassExtent){ 8, 2 });
  hass_round_give_back (&round_, (HassExtent){ 0, 1 });
  CU_ASSERT_EQUAL (atomic_load (&round_.n_returned[HASS_DEVICE_CPU]), 1);
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, CPU), 2);
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, GPU1), 2);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 0);
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 4);
  CU_ASSERT (extent_is (TAKE (GPU1, .units = 1), 9, 1));
  CU_ASSERT (extent_is (TAKE (GPU1, .units = 1), 8, 1));
  CU_ASSERT (extent_is (TAKE (GPU1, .units = 1), 0, 0));
  CU_ASSERT (extent_is (TAKE (CPU, .units = 9), 0, 1));
  CU_ASSERT (extent_is (TAKE (CPU, .units = 9), 2, 1));
  CU_ASSERT (extent_is (TAKE (CPU, .units = 9), 0, 0));
  hass_round_clear (&round_);
}

static void
exclusives_for_gpu_returned (void)
{
  HassLoad loads[10];
  open_trial_round ();
  open_tasks (loads);
  HassExtent last = TAKE (GPU0, .units = 1);
  CU_ASSERT (extent_is (last, 9, 1));
  CU_ASSERT (extent_is (TAKE (GPU0, .units = 1), 8, 1));
  hass_round_give_back (&round_, (HassExtent){ 8, 1 });
  TAKE (GPU0, .units = 1);
  hass_round_give_back (&round_, (HassExtent){ 8, 1 });
  hass_round_give_back (&round_, last);
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, GPU0), 2);
  /* Within the list, too, no kind gets the other's. */
  HassUnitRange *only = hass_round_partial (&round_, 2);
  HassExtent e = hass_unit_range_seize (only);
  hass_round_give_back (&round_, e);
  CU_ASSERT_EQUAL (atomic_load (&round_.n_returned[HASS_DEVICE_GPU]), 1);
  CU_ASSERT_EQUAL (atomic_load (&round_.n_returned[HASS_DEVICE_CPU]), 0);
  CU_ASSERT (
      extent_is (hass_round_take_any (&round_, HASS_DEVICE_CPU, 9), 0, 3));
  CU_ASSERT (
      extent_is (hass_round_take_any (&round_, HASS_DEVICE_CPU, 9), 3, 5));
  CU_ASSERT (
      extent_is (hass_round_take_any (&round_, HASS_DEVICE_CPU, 9), 0, 0));
  CU_ASSERT (
      extent_is (hass_round_take_any (&round_, HASS_DEVICE_GPU, 9), 8, 2));
  hass_round_clear (&round_);
}

static void
exclusives_by_work (void)
{
  HassLoad loads[6];
  open_trial_round ();
  for (int i = 0; i < 6; i++)
    loads[i] = (HassLoad){ .cost = 2, .flags = HASS_LOAD_GPU };
  open_loads (HASS_FARM_FUNCTION, HASS_COST_SIZED, loads, 6);
  CU_ASSERT (extent_is (TAKE (GPU0, .work = 5), 4, 2));
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, GPU0), 4);
  CU_ASSERT (extent_is (TAKE (GPU0, .work = 1), 3, 1));
  hass_round_give_back (&round_, (HassExtent){ 4, 2 }); /* to the list */
  CU_ASSERT (extent_is (TAKE (GPU0, .work = 2), 5, 1));
  CU_ASSERT (extent_is (TAKE (GPU0, .work = 2), 4, 1));
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, GPU0), 3);
  hass_round_clear (&round_);
}

static void
returns (void)
{
  open_trial_round ();
  open_equal (30);
  HassExtent a = TAKE (GPU0, .source = HASS_FROM_BACK, .units = 5);
  HassExtent b = TAKE (GPU1, .source = HASS_FROM_BACK, .units = 5);
  HassExtent c = TAKE (CPU, .units = 5);
  hass_round_give_back (&round_, (HassExtent){ 25, 0 });
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 15);
  hass_round_give_back (&round_, a); /* b lies between it and the range */
  CU_ASSERT_EQUAL (atomic_load (&round_.n_returned[HASS_DEVICE_CPU]), 1);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 20);
  hass_round_give_back (&round_, b);
  hass_round_give_back (&round_, c);
  CU_ASSERT_EQUAL (atomic_load (&round_.n_returned[HASS_DEVICE_GPU]), 1);
  CU_ASSERT_EQUAL (hass_round_back (&round_), 25);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 30);
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 30);
  /* Returned ones go first, in pieces, whatever the grant's source. */
  CU_ASSERT (
      extent_is (TAKE (GPU1, .source = HASS_FROM_FRONT, .units = 3), 25, 3));
  CU_ASSERT (
      extent_is (TAKE (CPU, .source = HASS_FROM_SHARE, .units = 3), 28, 2));
  CU_ASSERT_EQUAL (atomic_load (&round_.n_returned[HASS_DEVICE_CPU]), 0);
  CU_ASSERT (
      extent_is (hass_round_take_any (&round_, HASS_DEVICE_CPU, 99), 0, 25));
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 0);
  hass_round_clear (&round_);
}

static void
everywhere (void)
{
  open_trial_round ();
  open_equal (30);
  hass_round_carve (&round_, (guint64[]){ 4, 5, 6 });
  HassGrant grant = { .units = 7 };
  HassExtent e = hass_round_take (&round_, CPU, &grant);
  hass_unit_range_set (&round_.ranges[HASS_RANGE_ALLOTMENT], e.first, e.n);
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 30);
  guint64 seen = 0;
  while ((e = hass_round_take_any (&round_, HASS_DEVICE_CPU, 4)).n > 0)
    for (guint32 u = e.first; u < e.first + e.n; u++)
      {
        CU_ASSERT (!(seen >> u & 1));
        seen |= G_GUINT64_CONSTANT (1) << u;
      }
  CU_ASSERT_EQUAL (seen, (G_GUINT64_CONSTANT (1) << 30) - 1);
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 0);
  hass_round_clear (&round_);
}

static void
pulls (void)
{
  HassLoad loads[10];
  open_trial_round ();
  open_tasks (loads);
  for (gint32 source = HASS_PULL_DONE; source < 0; source++)
    {
      atomic_store (&round_.pull_source, source);
      CU_ASSERT (extent_is (hass_round_pull (&round_, 1), 0, 0));
    }
  atomic_store (&round_.pull_source, HASS_RANGE_COMMON);
  CU_ASSERT (
      extent_is (hass_round_pull (&round_, 9), 0, 3)); /* its own first */
  CU_ASSERT (extent_is (hass_round_pull (&round_, 2), 3, 2));
  hass_round_carve (&round_, (guint64[]){ 2, 0, 0 });
  atomic_store (&round_.pull_source, HASS_RANGE_SHARES + CPU);
  hass_round_give_back (&round_, (HassExtent){ 0, 1 });
  CU_ASSERT (extent_is (hass_round_pull (&round_, 9), 0, 1));
  CU_ASSERT (extent_is (hass_round_pull (&round_, 9), 5, 2));
  CU_ASSERT (extent_is (hass_round_pull (&round_, 9), 0, 0));
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 1);
  hass_round_clear (&round_);
}

/* Not those of another kind of device. */
static void
adjacent_returns (void)
{
  open_trial_round ();
  open_equal (30);
  TAKE (GPU0, .source = HASS_FROM_BACK, .units = 30);
  hass_round_give_back (&round_, (HassExtent){ 10, 1 }); /* the range */
  hass_round_give_back (&round_, (HassExtent){ 20, 1 });
  hass_round_give_back (&round_, (HassExtent){ 22, 1 });
  hass_round_keep_for_cpu (&round_, (HassExtent){ 23, 1 });
  hass_round_give_back (&round_, (HassExtent){ 21, 1 });
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 4);
  CU_ASSERT (extent_is (TAKE (GPU0, .units = 9), 20, 3));
  CU_ASSERT (extent_is (TAKE (CPU, .units = 9), 23, 1));
  CU_ASSERT (extent_is (TAKE (CPU, .units = 9), 10, 1));
  hass_round_clear (&round_);
}

HASS_TEST_SUITE (
    round_take,
    { "a take keeps to its end, its units and its multiple", takes },
    { "a take keeps within its work but for one unit", takes_by_work },
    { "theft takes from the back of another's share", theft },
    { "a device gets its kind's exclusive units first, never the other's",
      exclusives },
    { "returned exclusive units stay exclusive", exclusives_for_gpu_returned },
    { "the limit of work holds for exclusive units too", exclusives_by_work },
    { "returned units wait and go first", returns },
    { "adjacent ones are taken together", adjacent_returns },
    { "waiting units are found wherever they are", everywhere },
    { "cores pull from where they were sent", pulls })
