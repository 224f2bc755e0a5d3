/* SPDX-License-Identifier: MIT */
/* feeder_cut.c: cuts a part from the front of what is left of a grant.

   DESIGN. A part holds as many units as fit in the bytes that the device takes
   at once, and at least one. Where the farm has a gpu_multiple, a part ends at
   a multiple of it: pieces of rows of tiles would take a kernel and a copy
   each. Parts of divisible loads are of nearly equal size, so that no small
   one is left over, and adjacent blocks of a load are one block, as for a CPU
   core. A device without a bound gets the grant as one part.

   Thread safety: the feeder's thread. */
#include "feeder.h"

/* Least capacity, in blocks, of a part's array of blocks. A guess; it only
   saves reallocations. */
#define LEAST_BLOCKS 16
/* Most blocks for which memory is reserved before a part of a grant is cut; the
   array grows as it is filled, so that a grant of millions of units touches no
   memory before that memory is needed. A guess: smaller, and arrays are moved
   more often; larger, and more memory is reserved in vain. */
#define EXPECTED_BLOCKS 65536

/* Returns the bytes that a block takes on the device: its input and its output.
   A block without an input of its own counts with the input of its load. */
guint64
hass_feeder_bytes (const HassBlock *block)
{
  gboolean own = block->input || block->input_bytes > 0;
  return (own ? block->input_bytes : block->load->input_bytes)
         + block->output_bytes;
}

static void
reserve (HassFeederPart *part, guint32 n)
{
  if (part->capacity >= n)
    return;
  part->capacity = MAX (MAX (2 * part->capacity, n), LEAST_BLOCKS);
  part->blocks = g_renew (HassBlock, part->blocks, part->capacity);
}

/* Returns how many units of the size of @block fit in what is left of a part
   (what the device is given at once) that has @bytes, at most @most; an empty
   part holds at least one. */
static guint32
fitting (const HassFeeder *f, guint64 bytes, const HassBlock *block,
         guint32 most)
{
  guint64 left = f->part_bytes - MIN (bytes, f->part_bytes);
  if (f->part_bytes == 0)
    return most;
  return (guint32)CLAMP (left / MAX (hass_feeder_bytes (block), 1),
                         bytes == 0 ? 1 : 0, most);
}

/* Returns the number of units for the next part (what the device is given at
   once) of divisible loads, of whose remaining units @rest at most @fit would
   fit: parts get nearly equal sizes, so that no small part is left at the end.
 */
static guint32
evenly (const HassFeeder *f, HassExtent rest, guint32 fit)
{
  if (f->part_bytes == 0 && f->part_units == 0)
    return rest.n;
  return MIN (fit, hass_part_units (rest, fit, f->job->farm->gpu_multiple));
}

/* Fills in @block for the first units of @rest that a part of @bytes has room
   for: a load, or adjacent blocks of a divisible one. Returns how many, 0 if
   there is no room; and in @rest what may follow them. Blocks of the same load
   do not, as they would have been merged. */
static guint32
next_block (const HassFeeder *f, const HassRound *round, HassExtent *rest,
            guint64 bytes, HassBlock *block)
{
  guint32 n = 1;
  if (!round->divisible)
    {
      hass_round_load_block (round, rest->first, block);
      if (f->part_bytes > 0 && bytes > 0
          && bytes + hass_feeder_bytes (block) > f->part_bytes)
        return 0;
    }
  else
    {
      hass_round_block (round, rest->first, block);
      rest->n = fitting (f, bytes, block, rest->n);
      n = rest->n > 0 ? hass_round_merge (round, *rest, block) : 0;
    }
  *rest = hass_extent_rest (*rest, n);
  return n;
}

/* Cuts a part (what the device is given at once) of at most @most units. */
static void
cut (HassFeeder *f, HassFeederPart *part, const HassRound *round,
     HassExtent rest, guint32 most)
{
  guint64 in_bytes = 0, out_bytes = 0, all_bytes = 0, elements = 0;
  HassBlock first;
  hass_round_block (round, rest.first, &first);
  guint32 fit = fitting (f, 0, &first, most);
  part->extent = (HassExtent){ rest.first, 0 };
  part->n_blocks = 0;
  reserve (part, MIN (fit, EXPECTED_BLOCKS));
  if (round->divisible) /* blocks are alike, loads need not be */
    most = MIN (most, evenly (f, rest, fit));
  rest.n = most;
  while (rest.n > 0)
    {
      reserve (part, part->n_blocks + 1);
      HassBlock *block = &part->blocks[part->n_blocks];
      guint32 n = next_block (f, round, &rest, all_bytes, block);
      if (n == 0)
        break;
      all_bytes += hass_feeder_bytes (block);
      in_bytes += block->input_bytes;
      out_bytes += block->output_bytes;
      elements += block->count;
      part->extent.n += n;
      part->n_blocks++;
    }
  part->all_bytes = all_bytes;
  part->in_bytes = in_bytes;
  part->out_bytes = out_bytes;
  part->elements = elements;
}

void
hass_feeder_cut (HassFeeder *f, HassFeederGrant *grant, HassFeederPart *part)
{
  HassExtent rest = grant->rest;
  guint32 most = f->part_units > 0 ? MIN (f->part_units, rest.n) : rest.n;
  cut (f, part, &grant->round->round, rest, most);
  for (gsize i = 0; i < part->n_blocks; i++)
    {
      part->blocks[i].stage = grant->round->stage;
      part->blocks[i].fused = grant->round->fused;
    }
  grant->rest = hass_extent_rest (rest, part->extent.n);
  grant->n_parts++;
  part->grant = grant;
}
