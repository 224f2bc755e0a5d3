/* SPDX-License-Identifier: MIT */
/* test_round.c: what units rounds hold, how these are ordered, divided among
   devices and described.
   Thread safety: one thread. */
#include "hass_test.h"

#include <string.h>

#include "crowd.h"
#include "round_trial.h"

/* -- Order -------------------------------------------------------------- */

static void
order_sorts (void)
{
  HassLoad loads[7];
  open_trial_round ();
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
  open_trial_round ();
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
  open_trial_round ();
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

static void
tasks_in_sets (void)
{
  HassLoad loads[10];
  open_trial_round ();
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
  open_trial_round ();
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

static void
work_sums (void)
{
  HassLoad *loads = g_new0 (HassLoad, MOST);
  guint32 rand = 3;
  open_trial_round ();
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
  open_trial_round ();
  open_equal (20);
  TAKE (CPU, .units = 2);
  hass_round_carve (&round_, (guint64[]){ 3, 0, 5 });
  CU_ASSERT_EQUAL (hass_round_share (&round_, CPU), 3);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU0), 0);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU1), 5);
  CU_ASSERT_EQUAL (hass_round_front (&round_), 10);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 10);
  CU_ASSERT (
      extent_is (TAKE (CPU, .source = HASS_FROM_SHARE, .share = CPU), 2, 3));
  /* GPU1 keeps what it has; what is asked beyond is clipped. */
  hass_round_carve (&round_, (guint64[]){ 4, G_MAXUINT64, 9 });
  CU_ASSERT_EQUAL (hass_round_share (&round_, CPU), 4);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU0), 6);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU1), 5);
  CU_ASSERT_EQUAL (hass_round_waiting (&round_), 0);
  CU_ASSERT (
      extent_is (TAKE (CPU, .source = HASS_FROM_SHARE, .share = CPU), 10, 4));
  CU_ASSERT (
      extent_is (TAKE (GPU0, .source = HASS_FROM_SHARE, .share = GPU0), 14, 6));
  CU_ASSERT (
      extent_is (TAKE (GPU1, .source = HASS_FROM_SHARE, .share = GPU1), 5, 5));
  CU_ASSERT_EQUAL (hass_round_waiting_anywhere (&round_), 0);
  hass_round_clear (&round_);
}

static void
carving_the_back (void)
{
  open_trial_round ();
  open_equal (20);
  TAKE (CPU, .units = 2);
  hass_round_carve_back (&round_, GPU0, 5);
  CU_ASSERT_EQUAL (hass_round_share (&round_, GPU0), 5);
  CU_ASSERT_EQUAL (hass_round_front (&round_), 2);
  CU_ASSERT_EQUAL (hass_round_back (&round_), 15);
  CU_ASSERT (extent_is (
      TAKE (GPU0, .source = HASS_FROM_SHARE, .share = GPU0, .units = 2), 15,
      2));
  CU_ASSERT (extent_is (
      TAKE (GPU1, .source = HASS_FROM_THEFT, .share = GPU0, .units = 1), 19,
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
  CU_ASSERT (
      extent_is (TAKE (CPU, .source = HASS_FROM_SHARE, .share = CPU), 2, 13));
  CU_ASSERT (
      extent_is (TAKE (GPU0, .source = HASS_FROM_SHARE, .share = GPU0), 17, 2));
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
  open_trial_round ();
  open_equal (10);
  int owners[10] = { 9, 2, 0, 3, 2, 0, 1, 2, 3, 9 };
  TAKE (CPU, .units = 1);
  TAKE (GPU0, .source = HASS_FROM_BACK, .units = 1);
  hass_round_assign (&round_, by_tag, owners);
  CU_ASSERT (TAGS (0, 2, 5, 6, 1, 4, 7, 3, 8, 9));
  CU_ASSERT_EQUAL (hass_round_front (&round_), 7);
  CU_ASSERT_EQUAL (hass_round_back (&round_), 9);
  CU_ASSERT (
      extent_is (TAKE (CPU, .source = HASS_FROM_SHARE, .share = CPU), 1, 2));
  CU_ASSERT (
      extent_is (TAKE (GPU0, .source = HASS_FROM_SHARE, .share = GPU0), 3, 1));
  CU_ASSERT (extent_is (
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

/* -- Blocks ------------------------------------------------------------- */

/* Begins a round of @n loads, each cut into blocks of @e elements with halos of
   @halo. */
static void
begin_blocks (const HassLoad *loads, guint32 n, gsize e, gsize halo)
{
  HassDivision division = hass_division_new (n, e, halo);
  HassSpan span = { .loads = loads, .mask = G_MAXUINT64, .n = n };
  for (guint32 i = 0; i < n; i++)
    hass_division_add (&division, (guint32)((loads[i].size + e - 1) / e),
                       loads[i].size);
  open_trial_round ();
  round_.seq_base = 77;
  hass_round_begin_blocks (&round_, HASS_COST_EQUAL, &span, &division);
  hass_round_open (&round_);
}

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
  begin_blocks (&load, 1, 5, 7);
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
  begin_blocks (&load, 1, 5, 1);
  CU_ASSERT_EQUAL (hass_round_merge (&round_, (HassExtent){ 1, 2 }, &b), 2);
  CU_ASSERT (b.first == 5 && b.count == 10 && b.output == NULL);
  CU_ASSERT (b.halo_before == 1 && b.halo_after == 1);
  CU_ASSERT_EQUAL (hass_round_merge (&round_, (HassExtent){ 3, 2 }, &b), 2);
  CU_ASSERT (b.first == 15 && b.count == 8 && b.halo_after == 0);
  /* Assigned blocks lie no longer side by side. */
  hass_round_assign (&round_, by_position, NULL);
  CU_ASSERT_EQUAL (hass_round_merge (&round_, (HassExtent){ 1, 2 }, &b), 1);
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
  HassDivision division = hass_division_new (1, 10, 0);
  hass_division_add (&division, 3, 30);
  division.blocks = cut;
  open_trial_round ();
  hass_round_begin_blocks (
      &round_, HASS_COST_EQUAL,
      &(HassSpan){ .loads = &load, .mask = G_MAXUINT64, .n = 1 }, &division);
  hass_round_open (&round_);
  CU_ASSERT_EQUAL (hass_round_merge (&round_, (HassExtent){ 0, 2 }, &b), 1);
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

/* Blocks of several loads: each has its load, its sequence number and halos
   that end with the load, and no block is of two loads. */
static void
of_several_loads (void)
{
  HassLoad loads[3] = { { .input_bytes = 23, .size = 23 },
                        { .input_bytes = 10, .size = 5 },
                        { .input_bytes = 36, .size = 12 } };
  HassBlock b;
  begin_blocks (loads, 3, 5, 2);
  CU_ASSERT_EQUAL (hass_round_units (&round_), 5 + 1 + 3);
  CU_ASSERT_EQUAL (hass_round_total_work (&round_), 40);
  CU_ASSERT_EQUAL (hass_round_merge (&round_, (HassExtent){ 3, 6 }, &b), 2);
  CU_ASSERT (b.load == &loads[0] && b.seq == 77);
  CU_ASSERT (b.first == 15 && b.count == 8);
  CU_ASSERT (b.halo_before == 2 && b.halo_after == 0);
  CU_ASSERT_EQUAL (hass_round_merge (&round_, (HassExtent){ 5, 4 }, &b), 1);
  CU_ASSERT (b.load == &loads[1] && b.seq == 78 && b.input_bytes == 10);
  CU_ASSERT (b.halo_before == 0 && b.halo_after == 0);
  CU_ASSERT_EQUAL (hass_round_merge (&round_, (HassExtent){ 6, 2 }, &b), 2);
  CU_ASSERT (b.load == &loads[2] && b.seq == 79 && b.first == 0);
  CU_ASSERT (b.count == 10 && b.input_bytes == 30 && b.halo_after == 2);
  hass_round_block (&round_, 8, &b);
  CU_ASSERT (b.load == &loads[2] && b.first == 10 && b.count == 2);
  CU_ASSERT_EQUAL (hass_round_bytes (&round_, (HassExtent){ 4, 3 }), 28);
  CU_ASSERT_EQUAL (hass_round_work (&round_, 4, 3), 13);
  CU_ASSERT_EQUAL (hass_round_work (&round_, 8, 1), 2);
  CU_ASSERT_EQUAL (hass_round_elements (&round_, 8), 2);
  for (guint32 p = 0; p < 9; p++)
    CU_ASSERT_EQUAL (hass_round_load_index (&round_, p), (p > 4) + (p > 5));
  hass_round_clear (&round_);
}

static void
in_a_ring (void)
{
  HassLoad loads[8];
  HassBlock b;
  open_trial_round ();
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
  open_trial_round ();
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
  hass_counter_add (&round_.counters[1], 9, 9, 9);
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
  open_trial_round ();
  open_equal (20);
  for (int core = 0; core < 2; core++)
    {
      HassCounter *c = &round_.counters[round_.counter_of[CPU] + core];
      hass_counter_add (c, 3 + core, 1.5, 100);
    }
  HassProgress p = hass_round_progress (&round_, CPU);
  CU_ASSERT (p.units == 7 && p.work == 3 && p.busy_ns == 100);
  CU_ASSERT_EQUAL (hass_round_progress (&round_, GPU0).units, 0);
  hass_round_clear (&round_);
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
    { "blocks tile a load, with halos and a short last one", blocks },
    { "adjacent blocks merge, moved ones do not", merging },
    { "blocks of several loads", of_several_loads },
    { "blocks cut by the user keep their sizes", user_blocks },
    { "units in a ring are found beyond its end", in_a_ring },
    { "a new round forgets the old one", reuse },
    { "progress sums a device's cores", progress })
