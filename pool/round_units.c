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

/* Returns: a division of up to @most_loads loads, which are added in the order
   of their span, as many as it has. */
HassDivision
hass_division_new (guint32 most_loads, gsize block_elements, gsize halo)
{
  return (HassDivision){ .block_elements = block_elements,
                         .halo = halo,
                         .cuts = g_new0 (HassCut, (gsize)most_loads + 1) };
}

/* Adds a load of @elements elements in @n_blocks blocks; one that cannot be
   computed has none of either. */
void
hass_division_add (HassDivision *division, guint32 n_blocks, gsize elements)
{
  const HassCut *last = &division->cuts[division->n_loads++];
  division->cuts[division->n_loads]
      = (HassCut){ last->block + n_blocks, last->elements + elements };
}

/* Returns: the index of the load that block @unit is of; n_loads for the block
   after the last. */
static guint32
load_of (const HassDivision *division, guint32 unit)
{
  guint32 lo = 0, hi = division->n_loads;
  while (lo < hi)
    {
      guint32 middle = lo + (hi - lo + 1) / 2;
      if (division->cuts[middle].block <= unit)
        lo = middle;
      else
        hi = middle - 1;
    }
  return lo;
}

/* Returns: the elements before block @unit in its load, the @load th, if loads
   are cut into equal blocks. */
static inline gsize
first_of (const HassDivision *division, guint32 load, guint32 unit)
{
  return (gsize)(unit - division->cuts[load].block) * division->block_elements;
}

/* Returns: the elements of all loads before block @unit, if they are cut into
   equal blocks; of the round for the block after the last. */
static guint64
elements_before (const HassDivision *division, guint32 unit)
{
  guint32 load = load_of (division, unit);
  return division->cuts[load].elements + first_of (division, load, unit);
}

const HassLoad *
hass_round_load (const HassRound *round, guint32 position)
{
  return hass_span_load (&round->span, hass_round_load_index (round, position));
}

/* Returns: the index in its span of the load that the unit at @position is, or
   is a block of. */
guint32
hass_round_load_index (const HassRound *round, guint32 position)
{
  guint32 unit = hass_round_unit (round, position);
  return round->divisible ? load_of (&round->division, unit) : unit;
}

/* Notes a number that the functions of all tasks of a new round are below. */
void
hass_round_note_functions (HassRound *round)
{
  guint32 most = 0;
  if (round->most_functions < 2)
    return;
  for (guint32 i = 0; i < round->n_units; i++)
    most = MAX (most,
                hass_span_load (&round->span, i)->flags & HASS_LOAD_FUNCTIONS);
  round->n_functions = most / HASS_LOAD_FUNCTION (1) + 1;
}

/* Fills in @block for the @count elements from @first on of a divisible load
   with sequence number @seq, with halos of up to @halo elements. */
void
hass_load_slice (const HassLoad *load, gsize halo, guint64 seq, gsize first,
                 gsize count, HassBlock *block)
{
  gsize in = load->input_bytes / load->size;
  gsize out = load->output_bytes / load->size;
  *block = (HassBlock){
    .load = load,
    .seq = seq,
    .first = first,
    .count = count,
    .halo_before = MIN (halo, first),
    .halo_after = MIN (halo, load->size - first - count),
    .input = load->input ? (const guint8 *)load->input + first * in : NULL,
    .input_bytes = count * in,
    .output = load->output ? (guint8 *)load->output + first * out : NULL,
    .output_bytes = count * out
  };
}

/* Fills in @block for the units [@unit, @unit + @n) of one load that is cut
   into equal blocks, or for as many as the load has. Returns: how many. */
static guint32
slice (const HassRound *round, guint32 unit, guint32 n, HassBlock *block)
{
  const HassDivision *d = &round->division;
  guint32 index = load_of (d, unit);
  const HassLoad *load = hass_span_load (&round->span, index);
  gsize first = first_of (d, index, unit);
  n = MIN (n, d->cuts[index + 1].block - unit);
  gsize count = load->size - first;
  if (unit + n < d->cuts[index + 1].block)
    count = n * d->block_elements;
  hass_load_slice (load, d->halo, round->seq_base + index, first, count, block);
  return n;
}

/* Fills in @block for the unit at a position that the caller has taken: a
   load, or a block of a divisible load. */
void
hass_round_block (const HassRound *round, guint32 position, HassBlock *block)
{
  if (!round->divisible)
    hass_round_load_block (round, position, block);
  else if (round->division.blocks)
    *block = round->division.blocks[hass_round_unit (round, position)];
  else
    slice (round, hass_round_unit (round, position), 1, block);
}

/* Returns: whether units that are adjacent in position are adjacent blocks, as
   the loads were cut into equal ones. */
static inline gboolean
is_even (const HassRound *round)
{
  return round->divisible && !round->division.blocks
         && !hass_round_order (round);
}

/* Fills in one block for the first units of @e: for those that are adjacent
   equal blocks of one divisible load, or else for one. Returns: for how many.
   A part of @e that begins behind them is merged in the same way. */
guint32
hass_round_merge (const HassRound *round, HassExtent e, HassBlock *block)
{
  if (is_even (round))
    return slice (round, e.first, e.n, block);
  hass_round_block (round, e.first, block);
  return 1;
}

/* Returns: the input bytes of the units at the positions of @e. */
gsize
hass_round_bytes (const HassRound *round, HassExtent e)
{
  gsize bytes = 0;
  guint32 n;
  HassBlock block;
  for (; e.n > 0 && round->divisible; e = hass_extent_rest (e, n))
    {
      n = hass_round_merge (round, e, &block);
      bytes += block.input_bytes;
    }
  for (guint32 i = 0; i < e.n; i++)
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

/* Returns: the work of adjacent equal blocks. */
static double
work_of (const HassRound *round, HassExtent e)
{
  return elements_before (&round->division, e.first + e.n)
         - elements_before (&round->division, e.first);
}

/* Returns: the work of the units of @e, which the caller has taken, as
   hass_round_work() does, but without the prefix sums, which a strategy may be
   writing at the same time. */
double
hass_round_work_taken (const HassRound *round, HassExtent e)
{
  if (hass_round_counts_units (round))
    return e.n;
  if (is_even (round))
    return work_of (round, e);
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
      guint32 load = load_of (division, unit);
      return MIN (division->block_elements,
                  hass_span_load (&round->span, load)->size
                      - first_of (division, load, unit));
    }
  return hass_load_work (hass_span_load (&round->span, unit));
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
  g_return_val_if_fail (first <= round->n_units && n <= round->n_units - first,
                        0);
  if (hass_round_counts_units (round))
    return n;
  if (is_even (round))
    return work_of (round, (HassExtent){ (guint32)first, (guint32)n });
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

/* Returns: the mask of the classes of devices that can run a load; all_classes
   if every class can. */
guint
hass_round_mask_of (const HassRound *round, const HassLoad *load)
{
  guint mask = 0;
  for (guint c = 0; c < round->n_classes; c++)
    if (load->flags & round->class_flags[c])
      mask |= 1u << c;
  if (!(load->flags & (HASS_LOAD_CPU | HASS_LOAD_GPU | HASS_LOAD_KINDS)))
    return round->all_classes;
  return (mask & round->all_classes) == round->all_classes ? round->all_classes
                                                           : mask;
}
