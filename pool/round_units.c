/* SPDX-License-Identifier: MIT */
/* round_units.c: the load or block at a position of a round, and its cost.

   DESIGN. The place of a unit is computed from its position. Sums of work are
   kept for every STRIDE positions, computed when a sum is first asked for; the
   remainder is added on demand.

   Thread safety: see round_engine.h; sums of work under the engine's decision
   lock. */
#include "round_engine.h"

/* Number of positions between two stored prefix sums of work: 8 bytes for 16
   units are half a byte a unit. A larger stride saves memory and makes each
   sum slower. A guess. */
#define STRIDE 16

/* -- Where a unit lies -------------------------------------------------- */

const HassLoad *
hass_round_load (const HassRound *round, guint32 position)
{
  if (round->divisible)
    return &round->division.load;
  guint32 unit = hass_round_unit (round, position);
  return &round->loads[(round->base + unit) & round->mask];
}

/* Fills in @block for the @count elements from @first on of a divisible load
   with sequence number @seq, halos included. */
void
hass_division_slice (const HassDivision *division, guint64 seq, gsize first,
                     gsize count, HassBlock *block)
{
  const HassLoad *load = &division->load;
  gsize in = load->input_bytes / load->size;
  gsize out = load->output_bytes / load->size;
  *block = (HassBlock){
    .load = load,
    .seq = seq,
    .first = first,
    .count = count,
    .halo_before = MIN (division->halo, first),
    .halo_after = MIN (division->halo, load->size - first - count),
    .input = load->input ? (const guint8 *)load->input + first * in : NULL,
    .input_bytes = count * in,
    .output = load->output ? (guint8 *)load->output + first * out : NULL,
    .output_bytes = count * out
  };
}

/* Fills in @block for the unit at a position that the caller has taken: a
   load, or a block of a divisible load. */
void
hass_round_block (const HassRound *round, guint32 position, HassBlock *block)
{
  if (!round->divisible)
    {
      hass_round_load_block (round, position, block);
      return;
    }
  guint32 unit = hass_round_unit (round, position);
  const HassDivision *division = &round->division;
  if (division->blocks)
    {
      *block = division->blocks[unit];
      return;
    }
  gsize first = (gsize)unit * division->block_elements;
  hass_division_slice (
      division, round->seq_base, first,
      MIN (division->block_elements, division->load.size - first), block);
}

/* Fills in one block for all units of @e, if they are adjacent equal blocks of
   a divisible load. Returns: FALSE if they are not. */
gboolean
hass_round_merge (const HassRound *round, HassExtent e, HassBlock *block)
{
  const HassDivision *division = &round->division;
  if (!round->divisible || division->blocks || hass_round_order (round))
    return FALSE;
  gsize first = hass_round_element (round, e.first);
  gsize end = hass_round_element (round, (guint64)e.first + e.n);
  hass_division_slice (division, round->seq_base, first, end - first, block);
  return TRUE;
}

/* Returns: the input bytes of the units at the positions of @e. */
gsize
hass_round_bytes (const HassRound *round, HassExtent e)
{
  gsize bytes = 0;
  HassBlock block;
  if (hass_round_merge (round, e, &block))
    return block.input_bytes;
  for (guint32 i = 0; i < e.n; i++)
    if (round->divisible)
      {
        hass_round_block (round, e.first + i, &block);
        bytes += block.input_bytes;
      }
    else
      bytes += hass_round_load (round, e.first + i)->input_bytes;
  return bytes;
}

gsize
hass_round_input_bytes (const HassRound *round, guint64 position)
{
  g_return_val_if_fail (position < round->n_units, 0);
  return hass_round_bytes (round, (HassExtent){ (guint32)position, 1 });
}

gsize
hass_round_output_bytes (const HassRound *round, guint64 position)
{
  HassBlock block;
  g_return_val_if_fail (position < round->n_units, 0);
  hass_round_block (round, (guint32)position, &block);
  return block.output_bytes;
}

/* Returns: the work of the units of @e, which the caller has taken, as
   hass_round_work() does, but without the prefix sums, which a strategy may be
   writing at the same time. */
double
hass_round_work_taken (const HassRound *round, HassExtent e)
{
  HassBlock block;
  if (hass_round_merge (round, e, &block))
    return block.count;
  if (!round->divisible && round->cost != HASS_COST_SIZED)
    return e.n;
  double work = 0;
  for (guint32 i = 0; i < e.n; i++)
    work += hass_round_true_cost (round, e.first + i);
  return work;
}

/* -- Work --------------------------------------------------------------- */

/* Returns: the cost of a unit by all that is known, even if the farm's cost
   class hides it from strategies. */
double
hass_round_known_cost (const HassRound *round, guint32 unit)
{
  if (round->divisible)
    {
      const HassDivision *division = &round->division;
      if (division->blocks)
        return division->blocks[unit].count;
      gsize first = (gsize)unit * division->block_elements;
      return MIN (division->block_elements, division->load.size - first);
    }
  return hass_load_work (&round->loads[(round->base + unit) & round->mask]);
}

/* Returns: the true cost of the unit at a position. For the models of the
   virtual engine (simulation); strategies must not use it. */
double
hass_round_true_cost (const HassRound *round, guint32 position)
{
  return hass_round_known_cost (round, hass_round_unit (round, position));
}

gboolean
hass_round_counts_units (const HassRound *round)
{
  return !round->divisible && round->cost != HASS_COST_SIZED;
}

/* Computes the stored prefix sums of work from the group of STRIDE positions
   that contains @first up to position @end. */
void
hass_round_sum_up (HassRound *round, guint32 first, guint32 end)
{
  guint32 g = first / STRIDE;
  double sum = round->prefix[g];
  for (guint32 p = g * STRIDE; p < end; p++)
    {
      if (p % STRIDE == 0)
        round->prefix[p / STRIDE] = sum;
      sum += hass_round_known_cost (round, hass_round_unit (round, p));
    }
  if (end % STRIDE == 0)
    round->prefix[end / STRIDE] = sum;
}

static double
work_before (HassRound *round, guint32 position)
{
  double sum = round->prefix[position / STRIDE];
  for (guint32 p = position / STRIDE * STRIDE; p < position; p++)
    sum += hass_round_known_cost (round, hass_round_unit (round, p));
  return sum;
}

double
hass_round_work (const HassRound *constant, guint64 first, guint64 n)
{
  HassRound *round = (HassRound *)constant;
  g_return_val_if_fail (first + n <= round->n_units, 0);
  if (hass_round_counts_units (round))
    return n;
  if (round->divisible && !round->division.blocks && !hass_round_order (round))
    return hass_round_element (round, first + n)
           - hass_round_element (round, first);
  if (n <= STRIDE || round->ready)
    {
      double sum = 0;
      for (guint64 i = 0; i < n; i++)
        sum += hass_round_known_cost (round,
                                      hass_round_unit (round, first + i));
      return sum;
    }
  if (!round->prefix)
    {
      round->prefix = g_new0 (double, round->n_units / STRIDE + 2);
      hass_round_sum_up (round, 0, round->n_units);
    }
  return work_before (round, first + n) - work_before (round, first);
}

double
hass_round_total_work (const HassRound *round)
{
  return hass_round_work (round, 0, round->n_units);
}

guint64
hass_round_elements (const HassRound *round, guint64 position)
{
  g_return_val_if_fail (position < round->n_units, 0);
  if (round->divisible)
    return (guint64)hass_round_true_cost (round, position);
  return hass_round_load (round, position)->size;
}
