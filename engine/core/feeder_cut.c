/* SPDX-License-Identifier: MIT */
/* feeder_cut.c: cuts a part from the front of what is left of a grant.

   DESIGN. A part holds as many units as fit in the bytes that the device takes
   at once, and at least one. Where the farm has a gpu_multiple, a part ends at
   a multiple of it: pieces of rows of tiles would take a kernel and a copy
   each. Parts of a divisible load are of nearly equal size, so that no small
   one is left over. A device without a bound gets the grant as one part.

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

/* Returns how many units of the size of @block fit in the bytes of a part (what
   the device is given at once), at least 1 and at most @most. */
static guint32
fitting (const HassFeeder *f, const HassBlock *block, guint32 most)
{
  if (f->part_bytes == 0)
    return most;
  return (guint32)CLAMP (f->part_bytes / MAX (hass_feeder_bytes (block), 1), 1,
                         most);
}

/* Returns the number of units for the next part (what the device is given at
   once) of a divisible load, of whose remaining units @rest at most @fit would
   fit: parts get nearly equal sizes, so that no small part is left at the end.
 */
static guint32
evenly (const HassFeeder *f, HassExtent rest, guint32 fit)
{
  if (f->part_bytes == 0 && f->part_units == 0)
    return rest.n;
  return MIN (fit, hass_part_units (rest, fit, f->job->farm->gpu_multiple));
}

/* Cuts a part of a grant (what the device is given at once) from adjacent
   blocks of a divisible load, and merges these into one block, as for a CPU
   core, so that the device computes them in one call. */
static void
cut_merged (HassFeeder *f, HassFeederPart *part, HassRound *round,
            HassExtent rest, guint32 most)
{
  reserve (part, 1);
  HassBlock *block = &part->blocks[0];
  hass_round_merge (round, (HassExtent){ rest.first, 1 }, block);
  guint32 n = evenly (f, rest, fitting (f, block, most));
  part->extent = (HassExtent){ rest.first, n };
  hass_round_merge (round, part->extent, block);
  part->n_blocks = 1;
  part->in_bytes = block->input_bytes;
  part->out_bytes = block->output_bytes;
  part->all_bytes = hass_feeder_bytes (block);
  part->elements = block->count;
}

static void
cut_single (HassFeeder *f, HassFeederPart *part, HassRound *round,
            HassExtent rest, guint32 most)
{
  guint64 in_bytes = 0, out_bytes = 0, all_bytes = 0, elements = 0;
  guint32 n = 0, fit;
  HassBlock first;
  hass_round_block (round, rest.first, &first);
  fit = fitting (f, &first, most);
  reserve (part, MIN (fit, EXPECTED_BLOCKS));
  if (round->divisible) /* blocks are alike, loads need not be */
    most = MIN (most, evenly (f, rest, fit));
  for (; n < most; n++)
    {
      reserve (part, n + 1);
      HassBlock *block = &part->blocks[n];
      if (round->divisible)
        hass_round_block (round, rest.first + n, block);
      else
        hass_round_load_block (round, rest.first + n, block);
      guint64 each = hass_feeder_bytes (block);
      if (f->part_bytes > 0 && n > 0 && all_bytes + each > f->part_bytes)
        break;
      all_bytes += each;
      in_bytes += block->input_bytes;
      out_bytes += block->output_bytes;
      elements += block->count;
    }
  part->all_bytes = all_bytes;
  part->in_bytes = in_bytes;
  part->out_bytes = out_bytes;
  part->elements = elements;
  part->extent = (HassExtent){ rest.first, n };
  part->n_blocks = n;
}

void
hass_feeder_cut (HassFeeder *f, HassFeederGrant *grant, HassFeederPart *part)
{
  HassRound *round = &grant->round->round;
  HassExtent rest = grant->rest;
  HassBlock unused;
  guint32 most = f->part_units > 0 ? MIN (f->part_units, rest.n) : rest.n;
  if (hass_round_merge (round, (HassExtent){ rest.first, 1 }, &unused))
    cut_merged (f, part, round, rest, most);
  else
    cut_single (f, part, round, rest, most);
  for (gsize i = 0; i < part->n_blocks; i++)
    {
      part->blocks[i].stage = grant->round->stage;
      part->blocks[i].fused = grant->round->fused;
    }
  guint32 n = part->extent.n;
  grant->rest = (HassExtent){ rest.first + n, rest.n - n };
  grant->n_parts++;
  part->grant = grant;
}
