/* SPDX-License-Identifier: MIT */
/* feeder_cut.c: cuts a part from the front of what is left of a grant.

   DESIGN. A part holds as many units as fit in the bytes that the device takes
   at once, and at least one. Where the farm has a gpu_multiple, a part ends at
   a multiple of it: pieces of rows of tiles would take a kernel and a copy
   each. Parts of a divisible load are of nearly equal size, so that no small
   one is left over. A device without a bound gets the grant as one part.

   Thread safety: the feeder's thread. */
#include "feeder.h"

#define LEAST_BLOCKS 16
/* Descriptors that are reserved at once; more are added as they are filled, so
   that a grant of millions of units touches no memory before it is needed. */
#define EXPECTED_BLOCKS 65536

/* Bytes that a block takes on the device: of a block without an input of its
   own, the input of its load. */
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

/* Units of the size of @block that make a part, of at most @most. */
static guint32
fitting (const HassFeeder *f, const HassBlock *block, guint32 most)
{
  if (f->part_bytes == 0)
    return most;
  return (guint32)CLAMP (f->part_bytes / MAX (hass_feeder_bytes (block), 1), 1,
                         most);
}

/* Units of a part of a divisible load, of which @fit would fit. */
static guint32
evenly (const HassFeeder *f, HassExtent rest, guint32 fit)
{
  if (f->part_bytes == 0 && f->part_units == 0)
    return rest.n;
  return MIN (fit, hass_part_units (rest, fit, f->job->farm->gpu_multiple));
}

/* Adjacent blocks of a divisible load become one, as for a core. */
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
  if (round->divisible) /* loads may be of any size */
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
  guint32 n = part->extent.n;
  grant->rest = (HassExtent){ rest.first + n, rest.n - n };
  grant->n_parts++;
  part->grant = grant;
}
