/* SPDX-License-Identifier: MIT */
/* Rounds: what units they hold, how they are ordered, carved, taken, given
   back and described.
   Thread safety: one thread, but for the crowd of the last test. */
#include "pool/round_engine.h"

#include <string.h>

#include "crowd.h"
#include "hass_test.h"

enum
{
  CPU,
  GPU0,
  GPU1,
  N_DEVICES
};

static const HassDeviceTraits devices[N_DEVICES]
    = { { .name = "cpu", .kind = HASS_DEVICE_CPU, .cores = 2 },
        { .name = "gpu0", .kind = HASS_DEVICE_GPU, .cores = 4 },
        { .name = "gpu1", .kind = HASS_DEVICE_GPU, .cores = 4 } };

#define ANY_MASK G_MAXUINT64
#define MOST 4096

static HassRound round_;

static gboolean
is (HassExtent e, guint32 first, guint32 n)
{
  return e.n == n && (n == 0 || e.first == first);
}

/* A round of n loads; load i has the tag i. */
static void
open_loads (HassFarmKind farm, HassCostClass cost, HassLoad *loads, guint32 n)
{
  for (guint32 i = 0; i < n; i++)
    loads[i].tag = GUINT_TO_POINTER (i);
  HassSpan span = { .loads = loads, .mask = ANY_MASK, .n = n };
  hass_round_begin_loads (&round_, farm, cost, &span);
  hass_round_open (&round_);
}

static void
open_equal (guint32 n)
{
  static HassLoad loads[MOST];
  memset (loads, 0, sizeof loads);
  open_loads (HASS_FARM_COMBINE, HASS_COST_EQUAL, loads, n);
}

static void
open_costs (HassFarmKind farm, HassLoad *loads, const int *costs, guint32 n)
{
  for (guint32 i = 0; i < n; i++)
    loads[i] = (HassLoad){ .cost = costs[i], .size = 1 };
  open_loads (farm, HASS_COST_SIZED, loads, n);
}

static void
setup (void)
{
  hass_round_init (&round_, N_DEVICES, devices);
}

static guint
tag_at (guint32 position)
{
  return GPOINTER_TO_UINT (hass_round_load (&round_, position)->tag);
}

/* The tags at the round's positions are these. */
static gboolean
tags_are (const int *tags, guint32 n)
{
  for (guint32 i = 0; i < n; i++)
    if (tag_at (i) != (guint)tags[i])
      return FALSE;
  return TRUE;
}

#define TAGS(...)                                                              \
  tags_are ((int[]){ __VA_ARGS__ },                                            \
            sizeof ((int[]){ __VA_ARGS__ }) / sizeof (int))

static HassExtent
take (guint device, HassGrant grant)
{
  HassExtent e = hass_round_take (&round_, device, &grant);
  CU_ASSERT_EQUAL (grant.taken, e.n);
  CU_ASSERT_EQUAL (grant.first, e.first);
  return e;
}

#define TAKE(device, ...) take (device, (HassGrant){ __VA_ARGS__ })

/* -- Order -------------------------------------------------------------- */

static void
order_sorts (void)
{
  HassLoad loads[7];
  setup ();
  open_costs (HASS_FARM_COMBINE, loads, (int[]){ 5, 2, 9, 2, 7, 1, 2 }, 7);
  hass_round_order_by_work (&round_);
  CU_ASSERT (TAGS (5, 1, 3, 6, 0, 4, 2));
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 7);
  hass_round_clear (&round_);
}

static void
order_leaves_what_was_taken (void)
{
  HassLoad loads[7];
  setup ();
  open_costs (HASS_FARM_COMBINE, loads, (int[]){ 5, 2, 9, 2, 7, 1, 2 }, 7);
  TAKE (CPU, .source = HASS_FROM_FRONT, .units = 1);
  TAKE (GPU0, .source = HASS_FROM_BACK, .units = 2);
  hass_round_order_by_work (&round_);
  CU_ASSERT (TAGS (0, 1, 3, 4, 2, 5, 6));
  CU_ASSERT_EQUAL (hass_round_front (&round_), 1);
  CU_ASSERT_EQUAL (hass_round_back (&round_), 5);
  hass_round_clear (&round_);
}

static void
order_needs_known_work (void)
{
  setup ();
  for (HassCostClass cost = HASS_COST_EQUAL; cost <= HASS_COST_UNKNOWN; cost++)
    {
      HassLoad loads[4] = { { .cost = 3 }, { .cost = 2 }, { .size = 1 } };
      open_loads (HASS_FARM_COMBINE, cost, loads, 4);
      hass_round_order_by_work (&round_);
      if (cost != HASS_COST_SIZED)
        CU_ASSERT (TAGS (0, 1, 2, 3));
      CU_ASSERT_EQUAL (hass_round_total_work (&round_),
                       cost == HASS_COST_SIZED ? 7 : 4);
    }
  hass_round_clear (&round_);
}

/* Tasks: CPU only, GPU only, SPD (size 1) and MPD ones, mixed. */
static void
open_tasks (HassLoad *loads)
{
  static const HassLoad tasks[10] = {
    { .size = 8, .cost = 5 },
    { .size = 1, .cost = 4, .flags = HASS_LOAD_GPU },
    { .size = 1, .cost = 3 },
    { .size = 9, .cost = 2, .flags = HASS_LOAD_CPU },
    { .size = 4, .cost = 1 },
    { .size = 1, .cost = 2, .flags = HASS_LOAD_CPU | HASS_LOAD_GPU },
    { .size = 5, .cost = 1, .flags = HASS_LOAD_GPU },
    { .size = 1, .cost = 1, .flags = HASS_LOAD_CPU },
    { .size = 0, .cost = 1 },
    { .size = 2, .cost = 1, .flags = HASS_LOAD_CPU },
  };
  memcpy (loads, tasks, sizeof tasks);
  open_loads (HASS_FARM_FUNCTION, HASS_COST_SIZED, loads, 10);
}

static void
tasks_in_sets (void)
{
  HassLoad loads[10];
  setup ();
  open_tasks (loads);
  CU_ASSERT (TAGS (3, 7, 9, 2, 5, 8, 0, 4, 1, 6));
  CU_ASSERT_EQUAL (hass_round_front (&round_), 3);
  CU_ASSERT_EQUAL (hass_round_back (&round_), 8);
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, CPU), 3);
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, GPU0), 2);
  CU_ASSERT_EQUAL (hass_round_elements (&round_, 6), 8);
  hass_round_order_by_work (&round_);
  CU_ASSERT (TAGS (7, 9, 3, 8, 5, 2, 4, 0, 6, 1));
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 10);
  hass_round_clear (&round_);
}

static void
tasks_sorted_late (void)
{
  HassLoad loads[10];
  setup ();
  open_tasks (loads);
  CU_ASSERT_EQUAL (tag_at (TAKE (CPU, .units = 1).first), 3);
  CU_ASSERT_EQUAL (tag_at (TAKE (GPU0, .units = 1).first), 6);
  hass_round_order_by_work (&round_);
  CU_ASSERT (TAGS (3, 7, 9, 8, 5, 2, 4, 0, 1, 6));
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, CPU), 2);
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, GPU0), 1);
  hass_round_clear (&round_);
}

/* -- Work --------------------------------------------------------------- */

static void
sums_are_naive (guint32 n, guint32 *rand)
{
  for (guint trial = 0; trial < 200; trial++)
    {
      guint64 first = crowd_random (rand) % n;
      guint64 count = crowd_random (rand) % (n - first + 1);
      double sum = 0;
      for (guint64 p = first; p < first + count; p++)
        sum += hass_round_load (&round_, p)->cost;
      CU_ASSERT_DOUBLE_EQUAL (hass_round_work (&round_, first, count), sum,
                              1e-6);
      CU_ASSERT_DOUBLE_EQUAL (
          hass_round_work_taken (&round_, (HassExtent){ first, count }), sum,
          1e-6);
    }
}

static guint
by_position (HassRound *round, guint64 position, gpointer data)
{
  (void)round;
  (void)data;
  return position * 7 / 3 % (N_DEVICES + 1);
}

static void
work_sums (void)
{
  HassLoad *loads = g_new0 (HassLoad, MOST);
  guint32 rand = 3;
  setup ();
  for (guint32 n = 1; n <= MOST; n = n * 3 + 1)
    for (int ordered_first = 0; ordered_first < 2; ordered_first++)
      {
        for (guint32 i = 0; i < n; i++)
          loads[i] = (HassLoad){ .cost = crowd_random (&rand) % 1000 + 0.5 };
        open_loads (HASS_FARM_COMBINE, HASS_COST_SIZED, loads, n);
        if (!ordered_first)
          sums_are_naive (n, &rand);
        TAKE (CPU, .units = n / 5 + 1);
        TAKE (GPU0, .source = HASS_FROM_BACK, .units = n / 7);
        hass_round_order_by_work (&round_);
        sums_are_naive (n, &rand);
        TAKE (CPU, .units = n / 9);
        hass_round_assign (&round_, by_position, NULL);
        sums_are_naive (n, &rand);
      }
  hass_round_clear (&round_);
  g_free (loads);
}

/* -- Shares ------------------------------------------------------------- */

static void
carving (void)
{
  setup ();
  open_equal (20);
  TAKE (CPU, .units = 2);
  hass_round_carve (&round_, (guint64[]){ 3, 0, 5 });
  CU_ASSERT_EQUAL (hass_round_share (&round_, CPU), 3);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU0), 0);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU1), 5);
  CU_ASSERT_EQUAL (hass_round_front (&round_), 10);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 10);
  CU_ASSERT (is (TAKE (CPU, .source = HASS_FROM_SHARE, .share = CPU), 2, 3));
  /* GPU1 keeps what it has; what is asked beyond is clipped. */
  hass_round_carve (&round_, (guint64[]){ 4, G_MAXUINT64, 9 });
  CU_ASSERT_EQUAL (hass_round_share (&round_, CPU), 4);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU0), 6);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU1), 5);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 0);
  CU_ASSERT (is (TAKE (CPU, .source = HASS_FROM_SHARE, .share = CPU), 10, 4));
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_SHARE, .share = GPU0), 14, 6));
  CU_ASSERT (is (TAKE (GPU1, .source = HASS_FROM_SHARE, .share = GPU1), 5, 5));
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 0);
  hass_round_clear (&round_);
}

static void
carving_the_back (void)
{
  setup ();
  open_equal (20);
  TAKE (CPU, .units = 2);
  hass_round_carve_back (&round_, GPU0, 5);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU0), 5);
  CU_ASSERT_EQUAL (hass_round_front (&round_), 2);
  CU_ASSERT_EQUAL (hass_round_back (&round_), 15);
  CU_ASSERT (
      is (TAKE (GPU0, .source = HASS_FROM_SHARE, .share = GPU0, .units = 2), 15,
          2));
  CU_ASSERT (
      is (TAKE (GPU1, .source = HASS_FROM_THEFT, .share = GPU0, .units = 1), 19,
          1));
  /* It keeps what it has; others get what there is. */
  hass_round_carve_back (&round_, GPU0, 4);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU0), 2);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 13);
  hass_round_carve_back (&round_, CPU, G_MAXUINT64);
  CU_ASSERT_EQUAL (hass_round_share (&round_, CPU), 13);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 0);
  hass_round_carve_back (&round_, GPU1, 3);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU1), 0);
  CU_ASSERT (is (TAKE (CPU, .source = HASS_FROM_SHARE, .share = CPU), 2, 13));
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_SHARE, .share = GPU0), 17, 2));
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 0);
  hass_round_clear (&round_);
}

static guint
by_tag (HassRound *round, guint64 position, gpointer data)
{
  const int *owners = data;
  return owners[GPOINTER_TO_UINT (hass_round_load (round, position)->tag)];
}

static void
assigning (void)
{
  setup ();
  open_equal (10);
  int owners[10] = { 9, 2, 0, 3, 2, 0, 1, 2, 3, 9 };
  TAKE (CPU, .units = 1);
  TAKE (GPU0, .source = HASS_FROM_BACK, .units = 1);
  hass_round_assign (&round_, by_tag, owners);
  CU_ASSERT (TAGS (0, 2, 5, 6, 1, 4, 7, 3, 8, 9));
  CU_ASSERT_EQUAL (hass_round_front (&round_), 7);
  CU_ASSERT_EQUAL (hass_round_back (&round_), 9);
  CU_ASSERT (is (TAKE (CPU, .source = HASS_FROM_SHARE, .share = CPU), 1, 2));
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_SHARE, .share = GPU0), 3, 1));
  CU_ASSERT (is (
      TAKE (GPU1, .source = HASS_FROM_SHARE, .share = GPU1, .units = 1), 4, 1));
  /* GPU1 still holds two: it is assigned nothing. */
  owners[3] = GPU1;
  owners[8] = GPU0;
  hass_round_assign (&round_, by_tag, owners);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU1), 2);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU0), 1);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 1);
  CU_ASSERT (TAGS (0, 2, 5, 6, 1, 4, 7, 8, 3, 9));
  hass_round_clear (&round_);
}

/* -- Taking ------------------------------------------------------------- */

static void
takes (void)
{
  setup ();
  open_equal (40);
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_FRONT, .units = 3), 0, 3));
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_BACK, .units = 3), 37, 3));
  CU_ASSERT (
      is (TAKE (GPU0, .source = HASS_FROM_BACK, .units = 11, .multiple = 4), 29,
          8));
  CU_ASSERT (is (TAKE (GPU0, .multiple = 20), 3, 20));
  CU_ASSERT (is (TAKE (GPU0, .multiple = 20), 23, 6)); /* fewer are left */
  CU_ASSERT (is (TAKE (GPU0, .units = 1), 0, 0));
  hass_round_clear (&round_);
}

static void
takes_by_work (void)
{
  HassLoad loads[8];
  setup ();
  open_costs (HASS_FARM_COMBINE, loads, (int[]){ 1, 2, 3, 4, 5, 6, 7, 8 }, 8);
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_FRONT, .work = 6), 0, 3));
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_BACK, .work = 15.5), 6, 2));
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_BACK, .work = 1), 5, 1));
  CU_ASSERT (
      is (TAKE (GPU0, .source = HASS_FROM_BACK, .work = 9, .units = 1), 4, 1));
  hass_round_carve (&round_, (guint64[]){ 0, 0, 1 });
  CU_ASSERT (is (
      TAKE (GPU1, .source = HASS_FROM_SHARE, .share = GPU1, .work = 1), 3, 1));
  open_costs (HASS_FARM_COMBINE, loads, (int[]){ 1, 2, 3, 4, 5, 6, 7, 8 }, 8);
  CU_ASSERT (is (TAKE (CPU, .work = 1, .units = 5), 0, 5)); /* ignored */
  hass_round_clear (&round_);
}

static void
theft (void)
{
  setup ();
  open_equal (30);
  hass_round_carve (&round_, (guint64[]){ 10, 10, 0 });
  CU_ASSERT (
      is (TAKE (GPU1, .source = HASS_FROM_THEFT, .share = GPU0, .units = 4), 16,
          4));
  CU_ASSERT (
      is (TAKE (GPU0, .source = HASS_FROM_SHARE, .share = GPU0, .units = 4), 10,
          4));
  CU_ASSERT (is (TAKE (GPU1, .source = HASS_FROM_THEFT, .share = GPU0), 14, 2));
  CU_ASSERT (is (TAKE (GPU1, .source = HASS_FROM_THEFT, .share = GPU0), 0, 0));
  CU_ASSERT_EQUAL (hass_round_share (&round_, CPU), 10);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 10);
  hass_round_clear (&round_);
}

static void
exclusives (void)
{
  HassLoad loads[10];
  setup ();
  open_tasks (loads); /* [0, 3) CPU, [8, 10) GPU */
  CU_ASSERT (is (TAKE (CPU, .units = 2), 0, 2));
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_FRONT), 8, 2));
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_BACK, .units = 9), 3, 5));
  CU_ASSERT (is (TAKE (GPU0, .source = HASS_FROM_BACK), 0, 0));
  CU_ASSERT (is (hass_round_take_any (&round_, HASS_DEVICE_GPU, 9), 0, 0));
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 1);
  /* Returned ones stay exclusive, in the range or in the list. */
  hass_round_give_back (&round_, (HassExtent){ 8, 2 });
  hass_round_give_back (&round_, (HassExtent){ 0, 1 });
  CU_ASSERT_EQUAL (atomic_load (&round_.n_returned[HASS_DEVICE_CPU]), 1);
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, CPU), 2);
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, GPU1), 2);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 0);
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 4);
  CU_ASSERT (is (TAKE (GPU1, .units = 1), 9, 1));
  CU_ASSERT (is (TAKE (GPU1, .units = 1), 8, 1));
  CU_ASSERT (is (TAKE (GPU1, .units = 1), 0, 0));
  CU_ASSERT (is (TAKE (CPU, .units = 9), 0, 1));
  CU_ASSERT (is (TAKE (CPU, .units = 9), 2, 1));
  CU_ASSERT (is (TAKE (CPU, .units = 9), 0, 0));
  hass_round_clear (&round_);
}

static void
exclusives_for_gpu_returned (void)
{
  HassLoad loads[10];
  setup ();
  open_tasks (loads);
  HassExtent last = TAKE (GPU0, .units = 1);
  CU_ASSERT (is (last, 9, 1));
  CU_ASSERT (is (TAKE (GPU0, .units = 1), 8, 1));
  hass_round_give_back (&round_, (HassExtent){ 8, 1 });
  TAKE (GPU0, .units = 1);
  hass_round_give_back (&round_, (HassExtent){ 8, 1 });
  hass_round_give_back (&round_, last);
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, GPU0), 2);
  /* Within the list, too, no kind gets the other's. */
  HassUnitRange *only = &round_.ranges[HASS_RANGE_ONLY_GPU];
  HassExtent e = hass_unit_range_seize (only);
  hass_round_give_back (&round_, e);
  CU_ASSERT_EQUAL (atomic_load (&round_.n_returned[HASS_DEVICE_GPU]), 1);
  CU_ASSERT_EQUAL (atomic_load (&round_.n_returned[HASS_DEVICE_CPU]), 0);
  CU_ASSERT (is (hass_round_take_any (&round_, HASS_DEVICE_CPU, 9), 0, 3));
  CU_ASSERT (is (hass_round_take_any (&round_, HASS_DEVICE_CPU, 9), 3, 5));
  CU_ASSERT (is (hass_round_take_any (&round_, HASS_DEVICE_CPU, 9), 0, 0));
  CU_ASSERT (is (hass_round_take_any (&round_, HASS_DEVICE_GPU, 9), 8, 2));
  hass_round_clear (&round_);
}

static void
exclusives_by_work (void)
{
  HassLoad loads[6];
  setup ();
  for (int i = 0; i < 6; i++)
    loads[i] = (HassLoad){ .cost = 2, .flags = HASS_LOAD_GPU };
  open_loads (HASS_FARM_FUNCTION, HASS_COST_SIZED, loads, 6);
  CU_ASSERT (is (TAKE (GPU0, .work = 5), 4, 2));
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, GPU0), 4);
  CU_ASSERT (is (TAKE (GPU0, .work = 1), 3, 1));
  hass_round_give_back (&round_, (HassExtent){ 4, 2 }); /* to the list */
  CU_ASSERT (is (TAKE (GPU0, .work = 2), 5, 1));
  CU_ASSERT (is (TAKE (GPU0, .work = 2), 4, 1));
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, GPU0), 3);
  hass_round_clear (&round_);
}

static void
returns (void)
{
  setup ();
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
  CU_ASSERT (is (TAKE (GPU1, .source = HASS_FROM_FRONT, .units = 3), 25, 3));
  CU_ASSERT (is (TAKE (CPU, .source = HASS_FROM_SHARE, .units = 3), 28, 2));
  CU_ASSERT_EQUAL (atomic_load (&round_.n_returned[HASS_DEVICE_CPU]), 0);
  CU_ASSERT (is (hass_round_take_any (&round_, HASS_DEVICE_CPU, 99), 0, 25));
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 0);
  hass_round_clear (&round_);
}

static void
everywhere (void)
{
  setup ();
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
  setup ();
  open_tasks (loads);
  for (gint32 source = HASS_PULL_DONE; source < 0; source++)
    {
      atomic_store (&round_.pull_source, source);
      CU_ASSERT (is (hass_round_pull (&round_, 1), 0, 0));
    }
  atomic_store (&round_.pull_source, HASS_RANGE_COMMON);
  CU_ASSERT (is (hass_round_pull (&round_, 9), 0, 3)); /* its own first */
  CU_ASSERT (is (hass_round_pull (&round_, 2), 3, 2));
  hass_round_carve (&round_, (guint64[]){ 2, 0, 0 });
  atomic_store (&round_.pull_source, HASS_RANGE_SHARES + CPU);
  hass_round_give_back (&round_, (HassExtent){ 0, 1 });
  CU_ASSERT (is (hass_round_pull (&round_, 9), 0, 1));
  CU_ASSERT (is (hass_round_pull (&round_, 9), 5, 2));
  CU_ASSERT (is (hass_round_pull (&round_, 9), 0, 0));
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 1);
  hass_round_clear (&round_);
}

/* -- Blocks ------------------------------------------------------------- */

static void
blocks (void)
{
  static guint8 in[2 * 23];
  static guint8 out[4 * 23];
  HassBlock b;
  HassLoad load = { .input = in,
                    .input_bytes = sizeof in,
                    .output = out,
                    .output_bytes = sizeof out,
                    .size = 23 };
  setup ();
  round_.seq_base = 77;
  hass_round_begin_load (&round_, HASS_COST_EQUAL,
                         &(HassDivision){ load, 5, 7, NULL }, 5);
  hass_round_open (&round_);
  hass_round_block (&round_, 0, &b);
  CU_ASSERT (b.first == 0 && b.count == 5 && b.seq == 77);
  CU_ASSERT (b.halo_before == 0 && b.halo_after == 7);
  CU_ASSERT (b.input == in && b.input_bytes == 10);
  CU_ASSERT (b.output == out && b.output_bytes == 20);
  hass_round_block (&round_, 3, &b);
  CU_ASSERT (b.first == 15 && b.count == 5 && b.seq == 77);
  CU_ASSERT (b.halo_before == 7 && b.halo_after == 3);
  CU_ASSERT (b.input == in + 30 && b.output == out + 60);
  hass_round_block (&round_, 4, &b);
  CU_ASSERT (b.first == 20 && b.count == 3);
  CU_ASSERT (b.halo_before == 7 && b.halo_after == 0);
  CU_ASSERT (b.input_bytes == 6 && b.output_bytes == 12);
  CU_ASSERT_EQUAL (hass_round_work (&round_, 3, 2), 8);
  CU_ASSERT_EQUAL (hass_round_total_work (&round_), 23);
  CU_ASSERT_EQUAL (hass_round_elements (&round_, 4), 3);
  CU_ASSERT_EQUAL (hass_round_elements (&round_, 3), 5);
  CU_ASSERT_EQUAL (hass_round_bytes (&round_, (HassExtent){ 3, 2 }), 16);
  CU_ASSERT_EQUAL (hass_round_input_bytes (&round_, 4), 6);
  CU_ASSERT_EQUAL (hass_round_output_bytes (&round_, 4), 12);
  CU_ASSERT_EQUAL (hass_round_input_bytes (&round_, 3), 10);
  CU_ASSERT_EQUAL (hass_round_work_taken (&round_, (HassExtent){ 3, 2 }), 8);
  hass_round_clear (&round_);
}

static void
merging (void)
{
  HassBlock b;
  HassLoad load = { .input = "", .input_bytes = 46, .size = 23 };
  setup ();
  hass_round_begin_load (&round_, HASS_COST_EQUAL,
                         &(HassDivision){ load, 5, 1, NULL }, 5);
  hass_round_open (&round_);
  CU_ASSERT (hass_round_merge (&round_, (HassExtent){ 1, 2 }, &b));
  CU_ASSERT (b.first == 5 && b.count == 10 && b.output == NULL);
  CU_ASSERT (b.halo_before == 1 && b.halo_after == 1);
  CU_ASSERT (hass_round_merge (&round_, (HassExtent){ 3, 2 }, &b));
  CU_ASSERT (b.first == 15 && b.count == 8 && b.halo_after == 0);
  /* Assigned blocks lie no longer side by side. */
  hass_round_assign (&round_, by_position, NULL);
  CU_ASSERT (!hass_round_merge (&round_, (HassExtent){ 1, 2 }, &b));
  double work = 0;
  gsize bytes = 0;
  for (guint32 p = 0; p < 5; p++)
    {
      hass_round_block (&round_, p, &b);
      CU_ASSERT_EQUAL (b.first, hass_round_unit (&round_, p) * 5);
      CU_ASSERT_EQUAL (hass_round_work (&round_, p, 1), b.count);
      work += b.count;
      bytes += b.input_bytes;
    }
  CU_ASSERT_EQUAL (work, 23);
  CU_ASSERT_EQUAL (bytes, 46);
  CU_ASSERT_EQUAL (hass_round_bytes (&round_, (HassExtent){ 0, 5 }), 46);
  hass_round_clear (&round_);
}

static void
user_blocks (void)
{
  HassBlock b;
  HassLoad load = { .input = "", .input_bytes = 30, .size = 30 };
  HassBlock *cut = g_new0 (HassBlock, 3);
  gsize counts[3] = { 15, 5, 10 }, first = 0;
  for (int i = 0; i < 3; first += counts[i++])
    cut[i] = (HassBlock){ .first = first,
                          .count = counts[i],
                          .input_bytes = counts[i] };
  setup ();
  hass_round_begin_load (&round_, HASS_COST_EQUAL,
                         &(HassDivision){ load, 0, 0, cut }, 3);
  hass_round_open (&round_);
  CU_ASSERT (!hass_round_merge (&round_, (HassExtent){ 0, 2 }, &b));
  CU_ASSERT_EQUAL (hass_round_work (&round_, 1, 2), 15);
  CU_ASSERT_EQUAL (hass_round_bytes (&round_, (HassExtent){ 0, 2 }), 20);
  hass_round_order_by_work (&round_);
  hass_round_block (&round_, 0, &b);
  CU_ASSERT (b.first == 15 && b.count == 5);
  hass_round_block (&round_, 2, &b);
  CU_ASSERT (b.first == 0 && b.count == 15);
  CU_ASSERT_EQUAL (hass_round_work_taken (&round_, (HassExtent){ 0, 2 }), 15);
  hass_round_clear (&round_);
}

static void
in_a_ring (void)
{
  HassLoad loads[8];
  HassBlock b;
  setup ();
  for (int i = 0; i < 8; i++)
    loads[i] = (HassLoad){ .size = i, .cost = 8 - i, .input_bytes = i };
  round_.seq_base = 100;
  HassSpan span = {
    .loads = loads, .base = G_GUINT64_CONSTANT (0x100000006), .mask = 7, .n = 4
  };
  hass_round_begin_loads (&round_, HASS_FARM_COMBINE, HASS_COST_SIZED, &span);
  hass_round_open (&round_);
  hass_round_block (&round_, 3, &b);
  CU_ASSERT (b.load == &loads[1] && b.seq == 103 && b.count == 1);
  CU_ASSERT_EQUAL (hass_round_bytes (&round_, (HassExtent){ 0, 4 }), 14);
  hass_round_order_by_work (&round_);
  hass_round_block (&round_, 0, &b);
  CU_ASSERT (b.load == &loads[7] && b.seq == 101);
  hass_round_clear (&round_);
}

static void
reuse (void)
{
  HassLoad loads[10];
  setup ();
  open_tasks (loads);
  hass_round_order_by_work (&round_);
  hass_round_carve (&round_, (guint64[]){ 1, 1, 1 });
  TAKE (GPU0, .units = 1);
  TAKE (CPU, .units = 3);
  hass_round_give_back (&round_, (HassExtent){ 1, 1 });
  hass_round_give_back (&round_, (HassExtent){ 5, 1 });
  while (hass_round_take_any (&round_, HASS_DEVICE_CPU, 9).n
         + hass_round_take_any (&round_, HASS_DEVICE_GPU, 9).n)
    ;
  hass_round_give_back (&round_, (HassExtent){ 3, 1 });
  hass_round_give_back (&round_, (HassExtent){ 6, 1 });
  CU_ASSERT_EQUAL (round_.returned->len, 1);
  atomic_store (&round_.counters[1].units, 9);
  open_equal (20);
  CU_ASSERT (hass_round_order (&round_) == NULL);
  CU_ASSERT_EQUAL (round_.returned->len, 0);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 20);
  CU_ASSERT_EQUAL (hass_round_exclusive (&round_, CPU), 0);
  CU_ASSERT_EQUAL (hass_round_progress (&round_, CPU).units, 0);
  CU_ASSERT_EQUAL (atomic_load (&round_.outstanding), 20);
  CU_ASSERT_EQUAL (hass_round_work (&round_, 0, 20), 20);
  hass_round_clear (&round_);
}

static void
progress (void)
{
  setup ();
  open_equal (20);
  for (int core = 0; core < 2; core++)
    {
      HassCounter *c = &round_.counters[round_.counter_of[CPU] + core];
      atomic_store (&c->units, 3 + core);
      atomic_store (&c->work, 1.5);
      atomic_store (&c->busy_ns, 100);
    }
  HassProgress p = hass_round_progress (&round_, CPU);
  CU_ASSERT (p.units == 7 && p.work == 3 && p.busy_ns == 100);
  CU_ASSERT_EQUAL (hass_round_progress (&round_, GPU0).units, 0);
  hass_round_clear (&round_);
}

/* -- Crowd -------------------------------------------------------------- */

#define PULLERS 2

typedef struct
{
  HassLoad loads[2][MOST];
  guint32 n, n_rounds;
  gint64 deadline;
  pthread_mutex_t decision;
  _Atomic gint over;
  _Atomic guint wrong, returned;
  _Atomic guint8 times[2][MOST];
} Field;

/* A load's tag says in which round it belongs and who may run it. */
static void
execute (Field *field, HassExtent e, guint kind)
{
  for (guint32 i = 0; i < e.n; i++)
    {
      const HassLoad *load = hass_round_load (&round_, e.first + i);
      gsize tag = GPOINTER_TO_SIZE (load->tag);
      guint kinds = load->flags ? load->flags : HASS_LOAD_CPU | HASS_LOAD_GPU;
      if (!(kinds & kind)
          || atomic_fetch_add (&field->times[tag / MOST][tag % MOST], 1) != 0)
        atomic_fetch_add (&field->wrong, 1);
    }
  atomic_fetch_sub_explicit (&round_.outstanding, e.n, memory_order_acq_rel);
}

/* Returns some of what was taken, and executes the rest. */
static void
fail_some (Field *field, HassExtent e, guint kind, guint32 *rand)
{
  if (e.n > 0 && crowd_random (rand) % 4 == 0)
    {
      guint32 give = crowd_random (rand) % e.n + 1;
      gboolean lower = crowd_random (rand) % 2;
      hass_round_give_back (
          &round_,
          (HassExtent){ lower ? e.first : e.first + e.n - give, give });
      e.first += lower ? give : 0;
      e.n -= give;
      atomic_fetch_add_explicit (&field->returned, 1, memory_order_relaxed);
    }
  if (e.n > 0)
    execute (field, e, kind);
}

static gboolean
playing (Field *field)
{
  return atomic_load (&field->over) == 0 && atomic_load (&field->wrong) == 0
         && crowd_now_ns () < field->deadline;
}

/* The loads of round r: some for CPUs only, some for GPUs only. */
static void
begin_round (Field *field, guint r, guint32 *rand)
{
  HassLoad *loads = field->loads[r % 2];
  for (guint32 i = 0; i < field->n; i++)
    {
      guint32 x = crowd_random (rand);
      loads[i] = (HassLoad){ .size = x % 3,
                             .cost = x % 1000,
                             .flags = x % 8 == 0   ? HASS_LOAD_GPU
                                      : x % 4 == 1 ? HASS_LOAD_CPU
                                                   : 0,
                             .tag = GSIZE_TO_POINTER (r % 2 * MOST + i) };
      atomic_store_explicit (&field->times[r % 2][i], 0, memory_order_relaxed);
    }
  atomic_store_explicit (&round_.pull_source, HASS_PULL_DONE,
                         memory_order_relaxed);
  HassSpan span = { .loads = loads, .mask = ANY_MASK, .n = field->n };
  hass_round_begin_loads (&round_, HASS_FARM_FUNCTION, HASS_COST_SIZED, &span);
  hass_round_open (&round_);
  atomic_store_explicit (&round_.pull_source, HASS_RANGE_COMMON,
                         memory_order_release);
}

static HassExtent
decide (guint32 *rand)
{
  guint32 what = crowd_random (rand) % 16, n = crowd_random (rand) % 32;
  HassGrant grant = { .units = n % 8 + 1, .share = n % 3 };
  gint32 source = HASS_RANGE_COMMON;
  switch (what)
    {
    case 0:
    case 1:
      hass_round_order_by_work (&round_);
      break;
    case 2:
      hass_round_carve (&round_, (guint64[]){ n, n / 2, n / 4 });
      break;
    case 3:
      hass_round_assign (&round_, by_position, NULL);
      break;
    case 4:
      grant = (HassGrant){ .source = HASS_FROM_FRONT, .units = 8 };
      HassUnitRange *allotment = &round_.ranges[HASS_RANGE_ALLOTMENT];
      if (hass_unit_range_peek (allotment).n == 0)
        {
          HassExtent e = hass_round_take (&round_, CPU, &grant);
          hass_unit_range_set (allotment, e.first, e.n);
        }
      source = HASS_RANGE_ALLOTMENT;
      break;
    case 5:
      source = HASS_RANGE_SHARES + CPU;
      break;
    case 6:
      source = HASS_PULL_WAIT;
      break;
    default:
      grant.source = what % 4;
      if (n % 4 == 0)
        grant.work = n * 100;
      return hass_round_take (&round_, GPU0, &grant);
    }
  atomic_store_explicit (&round_.pull_source, source, memory_order_release);
  return (HassExtent){ 0, 0 };
}

static void
check_round (Field *field, guint r)
{
  for (guint32 i = 0; i < field->n; i++)
    if (atomic_load (&field->times[r % 2][i]) != 1)
      atomic_fetch_add (&field->wrong, 1);
  if (hass_round_waiting_anywhere (&round_) != 0)
    atomic_fetch_add (&field->wrong, 1);
}

static void
strategist (Field *field, guint32 *rand)
{
  for (guint r = 0; r < field->n_rounds && playing (field); r++)
    {
      begin_round (field, r, rand);
      while (atomic_load_explicit (&round_.outstanding, memory_order_acquire)
                 > 0
             && playing (field))
        {
          pthread_mutex_lock (&field->decision);
          HassExtent e = decide (rand);
          pthread_mutex_unlock (&field->decision);
          fail_some (field, e, HASS_LOAD_GPU, rand);
          if (e.n == 0)
            sched_yield ();
        }
      check_round (field, r);
    }
  atomic_store (&field->over, 1);
}

static void
crowd_in_round (guint index, gpointer data)
{
  Field *field = data;
  guint32 rand = 99 + index;
  if (index == PULLERS)
    strategist (field, &rand);
  while (playing (field))
    {
      HassExtent e = hass_round_pull (&round_, crowd_random (&rand) % 4 + 1);
      fail_some (field, e, HASS_LOAD_CPU, &rand);
      if (e.n == 0)
        sched_yield ();
    }
}

/* The pullers know nothing of rounds that begin and end, as in live.c. */
static void
crowd_plays (guint32 n, guint n_rounds)
{
  Field *field = g_new0 (Field, 1);
  setup ();
  field->n = n;
  field->n_rounds = CROWD_SCALE (n_rounds);
  field->deadline = crowd_now_ns () + CROWD_PATIENCE_NS;
  pthread_mutex_init (&field->decision, NULL);
  crowd_run (PULLERS + 1, crowd_in_round, field);
  CU_ASSERT_EQUAL (atomic_load (&field->wrong), 0);
  CU_ASSERT (atomic_load (&field->returned) > 0);
  CU_ASSERT (crowd_now_ns () < field->deadline);
  pthread_mutex_destroy (&field->decision);
  hass_round_clear (&round_);
  g_free (field);
}

static void
crowd (void)
{
  crowd_plays (MOST, 60);
  crowd_plays (100, 1000);
}

HASS_TEST_SUITE (
    round, { "order by work sorts ascending, ties as emitted", order_sorts },
    { "order by work leaves taken units alone", order_leaves_what_was_taken },
    { "without known work nothing is sorted", order_needs_known_work },
    { "tasks lie CPU only, SPD, MPD, GPU only, each sorted", tasks_in_sets },
    { "exclusive tasks that were taken are not sorted", tasks_sorted_late },
    { "sums of work agree with adding up, also after re-ordering", work_sums },
    { "carving cuts shares off the front and clips", carving },
    { "or off the back", carving_the_back },
    { "assigning moves units to their owners in order visited", assigning },
    { "a take keeps to its end, its units and its multiple", takes },
    { "a take keeps within its work but for one unit", takes_by_work },
    { "theft takes from the back of another's share", theft },
    { "a device gets its kind's exclusive units first, never the other's",
      exclusives },
    { "returned exclusive units stay exclusive", exclusives_for_gpu_returned },
    { "the limit of work holds for exclusive units too", exclusives_by_work },
    { "returned units wait and go first", returns },
    { "waiting units are found wherever they are", everywhere },
    { "cores pull from where they were sent", pulls },
    { "blocks tile a load, with halos and a short last one", blocks },
    { "adjacent blocks merge, moved ones do not", merging },
    { "blocks cut by the user keep their sizes", user_blocks },
    { "units in a ring are found beyond its end", in_a_ring },
    { "a new round forgets the old one", reuse },
    { "progress sums a device's cores", progress },
    { "each unit runs once while others order, carve and steal", crowd })
