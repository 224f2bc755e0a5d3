/* SPDX-License-Identifier: MIT */
/* divide.c: cuts divisible loads into the blocks of a round.
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
follow_count (gsize halo, const HassBlock *given, HassBlock *block)
{
  HassBlock fresh;
  hass_load_slice (block->load, halo, block->seq, block->first, block->count,
                   &fresh);
  if (block->halo_after == given->halo_after)
    block->halo_after = fresh.halo_after;
  if (block->input_bytes == given->input_bytes)
    block->input_bytes = fresh.input_bytes;
  if (block->output_bytes == given->output_bytes)
    block->output_bytes = fresh.output_bytes;
}

/* Calls the user's partitioner until it has cut the whole load, and adds what
   it returns to @blocks. Returns: FALSE with an error if it fails or a block is
   not valid. */
static gboolean
cut_by_user (HassJob *job, const HassLoad *load, guint64 seq, gsize e,
             GArray *blocks, GError **error)
{
  const HassFarm *farm = job->farm;
  gsize halo = farm->halo_elements;
  for (gsize first = 0; first < load->size;)
    {
      HassBlock block;
      gsize count = MIN (e, load->size - first);
      hass_load_slice (load, halo, seq, first, count, &block);
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
                       "more than %u blocks in one round",
                       HASS_ROUND_MAX_UNITS);
          ok = FALSE;
        }
      if (!ok || !check_block (load, first, &block, error))
        return FALSE;
      block.load = load;
      if (block.count != count)
        follow_count (halo, &given, &block);
      g_array_append_val (blocks, block);
      first += block.count;
    }
  return TRUE;
}

/* Most blocks into which a round is cut when blocks are sized to fill the
   widest device, so that a narrow device does not make a round of very many
   units. A guess: lower, and blocks are larger than the device needs; higher,
   and the round's memory and time grow. */
#define MOST_BLOCKS 4096
/* Least number of blocks of a round for each core: the ends of cores differ by
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

/* Returns the number of elements of a block in a round of @n elements: the
   farm's, or by these rules, each of which outweighs those before it:
   1. as many as fill the widest device, but no more than MOST_BLOCKS blocks;
   2. at least BLOCKS_A_CORE blocks for each core, or for each GPU where there
      is no CPU pool;
   3. at least HALOS_IN_A_BLOCK halos;
   4. at least one block for each core. However large halos are, they end with
      their load, so no block takes longer than a load in one piece. */
static gsize
block_elements (const HassJob *job, gsize n)
{
  const HassFarm *farm = job->farm;
  gsize cores = job->cpu >= 0 ? job->n_cores : job->n_devices;
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
static gboolean
check_load (const HassLoad *load, gsize e, gboolean cut_evenly, GError **error)
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

static void
refuse_load (HassJob *job, guint64 seq, GError *error)
{
  g_prefix_error (&error, "farm '%s', load %" G_GUINT64_FORMAT ": ",
                  job->farm->name, seq);
  hass_job_add_unfinished (job, seq, 1, 0, 0, error->message);
  if (job->farm->run->on_error == HASS_ON_ERROR_STOP)
    hass_job_stop (job, error);
  else
    g_error_free (error);
}

/* Divides one load, with sequence number @seq, and adds it to @division and
   what the user's partitioner returns to @blocks. A load that cannot be
   divided, or after which the farm stops, is listed as unfinished and gets no
   block. */
static void
divide_load (HassJob *job, const HassLoad *load, guint64 seq,
             HassDivision *division, GArray *blocks)
{
  gsize e = division->block_elements;
  GError *error = NULL;
  guint32 n = blocks->len;
  if (hass_job_stopping (job))
    hass_job_add_unfinished (job, seq, 1, 0, 0, NULL);
  else if (!check_load (load, e, !job->farm->partition, &error)
           || (job->farm->partition
               && !cut_by_user (job, load, seq, e, blocks, &error)))
    {
      g_array_set_size (blocks, n);
      refuse_load (job, seq, error);
    }
  else
    {
      n = job->farm->partition ? blocks->len - n
                               : (guint32)((load->size - 1) / e + 1);
      hass_division_add (division, n, load->size);
      return;
    }
  hass_division_add (division, 0, 0);
}

/* Divides the loads of a span, the first of which has sequence number @seq.
   Those that cannot be divided are listed as unfinished and get no blocks. The
   caller owns the division's arrays. */
HassDivision
hass_divide (HassJob *job, const HassSpan *span, guint64 seq)
{
  gsize n = 0;
  for (guint32 i = 0; i < span->n; i++)
    n += hass_span_load (span, i)->size;
  HassDivision division = hass_division_new (span->n, block_elements (job, n),
                                             job->farm->halo_elements);
  GArray *blocks = g_array_new (FALSE, FALSE, sizeof (HassBlock));
  for (guint32 i = 0; i < span->n; i++)
    divide_load (job, hass_span_load (span, i), seq + i, &division, blocks);
  division.blocks
      = (HassBlock *)g_array_free (blocks, job->farm->partition == NULL);
  return division;
}
