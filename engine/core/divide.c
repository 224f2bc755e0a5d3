/* SPDX-License-Identifier: MIT */
/* divide.c: cuts a divisible load into the blocks of a round.
   Thread safety: under the decision lock. */
#include "job-private.h"
#include "pool/callback_error.h"

static gboolean
check_block (const HassLoad *load, gsize first, const HassBlock *block,
             GError **error)
{
  if (block->first != first)
    g_set_error (error, HASS_ERROR, HASS_ERROR_PARTITION,
                 "partitioner returned a block at element %zu where %zu was "
                 "due: blocks must not overlap or leave gaps",
                 block->first, first);
  else if (block->count == 0)
    g_set_error (error, HASS_ERROR, HASS_ERROR_PARTITION,
                 "partitioner returned an empty block at element %zu of %zu",
                 first, load->size);
  else if (block->count > load->size - first)
    g_set_error (error, HASS_ERROR, HASS_ERROR_PARTITION,
                 "partitioner returned a block of %zu elements at element %zu, "
                 "past the load's end at %zu",
                 block->count, first, load->size);
  else
    return TRUE;
  return FALSE;
}

/* Corrects a block whose length the user's partitioner has changed: the fields
   that the partitioner left as they were given (@given) are computed again for
   the new length. */
static void
follow_count (const HassDivision *division, const HassBlock *given,
              HassBlock *block)
{
  HassBlock fresh;
  hass_division_slice (division, block->seq, block->first, block->count,
                       &fresh);
  if (block->halo_after == given->halo_after)
    block->halo_after = fresh.halo_after;
  if (block->input_bytes == given->input_bytes)
    block->input_bytes = fresh.input_bytes;
  if (block->output_bytes == given->output_bytes)
    block->output_bytes = fresh.output_bytes;
}

/* Calls the user's partitioner until it has cut the whole load. Returns: the
   blocks [@n_blocks]; NULL with an error if it fails or a block is not valid.
 */
HassBlock *
hass_divide_cut (HassJob *job, HassSlot *slot, const HassLoad *load, gsize e,
                 guint32 *n_blocks, GError **error)
{
  const HassFarm *farm = job->farm;
  GArray *blocks = g_array_new (FALSE, FALSE, sizeof (HassBlock));
  HassDivision division = { *load, e, farm->halo_elements, NULL };
  const HassLoad *kept = &slot->round.division.load;
  for (gsize first = 0; first < load->size;)
    {
      HassBlock block;
      gsize count = MIN (e, load->size - first);
      hass_division_slice (&division, slot->round.seq_base, first, count,
                           &block);
      block.load = kept;
      HassBlock given = block;
      GError *inner = NULL;
      HassCallback before
          = hass_engine_enter_callback ("partitioner", job, NULL);
      gboolean ok = farm->partition (load, first, count, &block,
                                     farm->user_data, &inner);
      hass_engine_leave_callback (before);
      ok = hass_callback_ok (ok, &inner, HASS_ERROR_PARTITION);
      if (!ok)
        g_propagate_prefixed_error (
            error, inner, "partitioner failed at element %zu: ", first);
      if (ok && blocks->len >= HASS_ROUND_MAX_UNITS)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_OVERFLOW,
                       "more than %u blocks in one load", HASS_ROUND_MAX_UNITS);
          ok = FALSE;
        }
      if (!ok || !check_block (load, first, &block, error))
        {
          g_array_unref (blocks);
          return NULL;
        }
      block.load = kept;
      if (block.count != count)
        follow_count (&division, &given, &block);
      g_array_append_val (blocks, block);
      first += block.count;
    }
  *n_blocks = blocks->len;
  return (HassBlock *)g_array_free (blocks, FALSE);
}

/* Most blocks into which a load is cut when blocks are sized to fill the widest
   device, so that a narrow device does not make a round of very many units. A
   guess: lower, and blocks are larger than the device needs; higher, and the
   round's memory and time grow. */
#define MOST_BLOCKS 4096
/* Least number of blocks of a load for each core: the ends of cores differ by
   at most one block, so by 1/8 of a core's time. Lower, and cores end less
   evenly; higher, and more time goes into blocks and halos. */
#define BLOCKS_A_CORE 8
/* Least size of a block in halos (neighbouring elements that a block reads at
   each end): the two halos of a block are then at most 1/8 of it. Lower, and
   more is copied and computed twice; higher, and the load has fewer blocks to
   distribute. */
#define HALOS_IN_A_BLOCK 16

/* Returns how many elements fill the widest device: e = max sp_i of strategy
   HASS_p (Zhang 2011, Algorithm 4). */
static gsize
widest (const HassJob *job)
{
  gsize threads = MAX (job->farm->element_threads, 1), e = 1;
  for (guint d = 0; d < job->n_devices; d++)
    {
      gsize width = job->devices[d].width;
      if (job->devices[d].kind == HASS_DEVICE_GPU)
        width = width / threads + (width % threads > 0);
      e = MAX (e, width);
    }
  return e;
}

/* Returns the number of elements of a block: the farm's, or by these rules,
   each of which outweighs those before it:
   1. as many as fill the widest device, but no more than MOST_BLOCKS blocks;
   2. at least BLOCKS_A_CORE blocks for each core, or for each GPU where there
      is no CPU pool;
   3. at least HALOS_IN_A_BLOCK halos;
   4. at least one block for each core. However large halos are, they end with
      the load, so no block takes longer than the load in one piece. */
gsize
hass_divide_block_elements (HassJob *job, const HassLoad *load)
{
  const HassFarm *farm = job->farm;
  gsize n = load->size, cores = job->cpu >= 0 ? job->n_cores : job->n_devices;
  if (farm->block_elements > 0)
    return farm->block_elements;
  gsize e = MAX (n / MOST_BLOCKS, widest (job));
  e = MIN (e, n / (BLOCKS_A_CORE * cores));
  if (farm->halo_elements <= n / HALOS_IN_A_BLOCK)
    e = MAX (e, HALOS_IN_A_BLOCK * farm->halo_elements);
  else
    e = n;
  return MAX (MIN (e, n / cores + (n % cores > 0)), 1);
}

/* Checks that a load can be divided into blocks of @e elements; @cut_evenly: no
   partitioner decides the number of blocks. Returns: FALSE with an error. */
gboolean
hass_divide_check (const HassLoad *load, gsize e, gboolean cut_evenly,
                   GError **error)
{
  if (load->size == 0)
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "a divisible load must know its size in elements");
  else if (load->input_bytes % load->size || load->output_bytes % load->size)
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "%zu input and %zu output bytes are not multiples of %zu "
                 "elements",
                 load->input_bytes, load->output_bytes, load->size);
  else if (cut_evenly && (load->size - 1) / e >= HASS_ROUND_MAX_UNITS)
    g_set_error (error, HASS_ERROR, HASS_ERROR_OVERFLOW,
                 "%zu elements in blocks of %zu are more than %u blocks",
                 load->size, e, HASS_ROUND_MAX_UNITS);
  else
    return TRUE;
  return FALSE;
}
