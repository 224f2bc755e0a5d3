/* SPDX-License-Identifier: MIT */
/* chain.c: see chain.h.
   Thread safety: see chain.h. */
#include "chain.h"

#include <math.h>

#include "hass/error.h"
#include "layout.h"

/* Most bytes of the output of a stage: sums and alignment of a few such numbers
   do not overflow. */
#define MOST_BYTES ((gsize)1 << 61)

/* Most bytes of a GArray. */
#define MOST_ARRAY_BYTES G_MAXINT32

/* A stage of a chain. */
typedef struct
{
  gboolean makes; /* it makes an output */
  gboolean last;  /* no later stage makes one: it is that of the bundle */
  gsize output_bytes;
  gsize output_at; /* offset in bytes in scratch memory, unless `last` */
  gsize table_at;  /* offset in bytes of the table of its output's offsets */
  HassBundle bundle;
} HassChainLink;

static HassChainLink *
link_at (const HassChain *c, guint i)
{
  return &g_array_index (c->links, HassChainLink, i);
}

static HassBlock *
blocks_at (const HassChain *c, guint i)
{
  return &g_array_index (c->blocks, HassBlock, i * c->n_blocks);
}

void
hass_chain_init (HassChain *c)
{
  *c = (HassChain){ .n = 1,
                    .links = g_array_new (FALSE, FALSE, sizeof (HassChainLink)),
                    .blocks = g_array_new (FALSE, FALSE, sizeof (HassBlock)) };
}

void
hass_chain_clear (HassChain *c)
{
  g_array_unref (c->links);
  g_array_unref (c->blocks);
}

/* -- The stages of a farm ----------------------------------------------- */

static gboolean
makes_output (const HassDeviceStage *stage)
{
  return stage->output_bytes > 0 || stage->output_ratio > 0;
}

gsize
hass_device_stage_output (const HassDeviceStage *stage, gsize input_bytes)
{
  double scaled = ceil (stage->output_ratio * (double)input_bytes);
  if (!(scaled <= (double)MOST_BYTES) || stage->output_bytes > MOST_BYTES)
    return G_MAXSIZE;
  return stage->output_bytes + (gsize)MAX (scaled, 0);
}

/* The GPU worker of a farm with stages: calls that of the stage that the blocks
   are at. @user_data: the HassDeviceFarm. */
static gboolean
call_stage (const HassBundle *bundle, HassGpuStream *stream, gpointer user_data,
            GError **error)
{
  const HassDeviceFarm *farm = user_data;
  guint at = bundle->blocks[0].stage;
  GError *inner = NULL;
  if (at >= farm->n_stages || !farm->stages[at].worker)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "farm '%s': stage %u has no worker for the device",
                   farm->name, at);
      return FALSE;
    }
  const HassDeviceStage *stage = &farm->stages[at];
  if (stage->worker (bundle, stream, stage->user_data, &inner) && !inner)
    return TRUE;
  if (inner)
    g_propagate_prefixed_error (error, inner, "stage '%s': ", stage->name);
  else
    g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER,
                 "stage '%s' failed without a reason", stage->name);
  return FALSE;
}

void
hass_device_farm_stages (HassDeviceFarm *farm, const HassDeviceStage *stages,
                         guint n)
{
  farm->stages = stages;
  farm->n_stages = n;
  farm->gpu_worker = call_stage;
  farm->user_data = farm;
}

/* -- 1. Sizes and blocks ------------------------------------------------ */

/* Returns: FALSE with an error if @blocks cannot pass several stages on a
   device. */
static gboolean
check (const HassDeviceFarm *farm, const HassBlock *blocks, gsize n,
       GError **error)
{
  const char *why = NULL;
  if (farm->bundle || farm->unbundle)
    why = "the farm has a bundler";
  else if (farm->record_bytes > 0)
    why = "the farm has results of varying number";
  else if (farm->accumulator_bytes > 0)
    why = "the farm has accumulators";
  else if (blocks[0].stage >= farm->n_stages
           || blocks[0].fused >= farm->n_stages - blocks[0].stage)
    why = "the farm has fewer stages";
  for (gsize i = 0; i < n && !why; i++)
    if (blocks[i].input_row_bytes > 0 || blocks[i].output_row_bytes > 0)
      why = "a block is a tile";
    else if (blocks[i].stage != blocks[0].stage
             || blocks[i].fused != blocks[0].fused)
      why = "the blocks of the bundle pass different stages";
  if (!why)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "farm '%s': stages %u to %u cannot be fused: %s", farm->name,
               blocks[0].stage, blocks[0].stage + blocks[0].fused, why);
  return FALSE;
}

/* Sets @to to the block of the next stage, where @from is that of the stage
   @link. */
static void
pass_on (const HassChainLink *link, const HassBlock *from, HassBlock *to)
{
  *to = *from;
  to->stage++;
  if (!link->makes)
    return;
  to->input = NULL;
  to->input_bytes = from->output_bytes;
  to->halo_before = to->halo_after = 0;
}

/* Sets the outputs of the blocks of stage @i of the chain, whose inputs are
   set. Returns: FALSE with an error if they are too large. */
static gboolean
size_outputs (HassChain *c, const HassDeviceFarm *farm, guint i, GError **error)
{
  HassChainLink *link = link_at (c, i);
  HassBlock *blocks = blocks_at (c, i);
  const HassDeviceStage *stage = &farm->stages[blocks[0].stage];
  for (gsize k = 0; k < c->n_blocks; k++)
    {
      gsize bytes = 0;
      if (link->makes)
        bytes = hass_device_stage_output (stage, blocks[k].input_bytes);
      blocks[k].output = NULL;
      blocks[k].output_bytes = bytes;
      if (bytes <= MOST_BYTES && link->output_bytes + bytes <= MOST_BYTES)
        {
          link->output_bytes += bytes;
          continue;
        }
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "stage '%s': the outputs of %zu blocks exceed 2^61 bytes",
                   stage->name, c->n_blocks);
      return FALSE;
    }
  return TRUE;
}

/* Sets the places in host memory of the output of the bundle, @blocks, in the
   blocks of the stage that makes it. Returns: FALSE with an error if their
   sizes differ from those of this output. */
static gboolean
meet_host (HassChain *c, const HassDeviceFarm *farm, const HassBlock *blocks,
           GError **error)
{
  HassBlock *ours = NULL;
  for (guint i = 0; i < c->n; i++)
    if (link_at (c, i)->last)
      ours = blocks_at (c, i);
  for (gsize k = 0; k < c->n_blocks; k++)
    {
      gsize bytes = ours ? ours[k].output_bytes : 0;
      if (bytes != blocks[k].output_bytes)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                       "farm '%s': block %zu has %zu bytes for outputs, stages "
                       "%u to %u make %zu",
                       farm->name, k, blocks[k].output_bytes, blocks[k].stage,
                       blocks[k].stage + blocks[k].fused, bytes);
          return FALSE;
        }
      if (ours)
        ours[k].output = blocks[k].output;
    }
  return TRUE;
}

/* 2. Lays the outputs between the stages out in scratch memory. */
static void
place_outputs (HassChain *c)
{
  gsize region[2] = { 0, 0 };
  guint turn = 0;
  for (guint i = 0; i < c->n; i++)
    {
      const HassChainLink *link = link_at (c, i);
      if (link->makes && !link->last)
        {
          region[turn]
              = MAX (region[turn], hass_layout_aligned (link->output_bytes));
          turn ^= 1;
        }
    }
  turn = 0;
  for (guint i = 0; i < c->n; i++)
    {
      HassChainLink *link = link_at (c, i);
      if (link->makes && !link->last)
        {
          link->output_at = turn * region[0];
          turn ^= 1;
        }
    }
  c->scratch_bytes = region[0] + region[1];
}

/* As hass_chain_make(), for more than one stage. */
gboolean
hass_chain_fuse (HassChain *c, const HassDeviceFarm *farm,
                 const HassBlock *blocks, gsize n, GError **error)
{
  if (!check (farm, blocks, n, error))
    return FALSE;
  c->n += blocks[0].fused;
  c->n_blocks = n;
  if (n > MOST_ARRAY_BYTES / sizeof (HassBlock) / c->n)
    {
      g_set_error (
          error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
          "farm '%s': %zu blocks are too many for a chain of %u stages",
          farm->name, n, c->n);
      return FALSE;
    }
  g_array_set_size (c->links, c->n);
  g_array_set_size (c->blocks, (guint)(c->n * n));
  gboolean last = TRUE;
  for (guint i = c->n; i-- > 0;)
    {
      gboolean makes = makes_output (&farm->stages[blocks[0].stage + i]);
      *link_at (c, i)
          = (HassChainLink){ .makes = makes, .last = makes && last };
      last &= !makes;
    }
  for (guint i = 0; i < c->n; i++)
    {
      for (gsize k = 0; k < n; k++)
        if (i == 0)
          {
            blocks_at (c, 0)[k] = blocks[k];
            blocks_at (c, 0)[k].fused = 0;
          }
        else
          pass_on (link_at (c, i - 1), &blocks_at (c, i - 1)[k],
                   &blocks_at (c, i)[k]);
      if (!size_outputs (c, farm, i, error))
        return FALSE;
    }
  place_outputs (c);
  return meet_host (c, farm, blocks, error);
}

/* -- 3. Tables ---------------------------------------------------------- */

gsize
hass_chain_place_tables (HassChain *c, gsize at)
{
  if (c->n_blocks == 1)
    return at;
  for (guint i = 0; i < c->n; i++)
    {
      link_at (c, i)->table_at = at;
      if (link_at (c, i)->makes)
        at += (c->n_blocks + 1) * sizeof (guint64);
    }
  return hass_layout_aligned (at);
}

void
hass_chain_fill_tables (const HassChain *c, guint8 *tables)
{
  if (c->n_blocks == 1)
    return;
  for (guint i = 0; i < c->n; i++)
    if (link_at (c, i)->makes)
      {
        const HassBlock *blocks = blocks_at (c, i);
        guint64 *offsets
            = (guint64 *)(gpointer)(tables + link_at (c, i)->table_at);
        offsets[0] = 0;
        for (gsize k = 0; k < c->n_blocks; k++)
          offsets[k + 1] = offsets[k] + blocks[k].output_bytes;
      }
}

/* -- 4. Bundles --------------------------------------------------------- */

void
hass_chain_describe_stages (HassChain *c, const HassBundle *whole,
                            const guint8 *tables, guint8 *scratch)
{
  HassBundle b = *whole;
  for (guint i = 0; i < c->n; i++)
    {
      HassChainLink *link = link_at (c, i);
      const guint64 *offsets
          = c->n_blocks == 1
                ? NULL
                : (const guint64 *)(gconstpointer)(tables + link->table_at);
      b.blocks = blocks_at (c, i);
      b.output = link->last    ? whole->output
                 : link->makes ? scratch + link->output_at
                               : NULL;
      b.output_bytes = link->output_bytes;
      b.output_offsets = link->output_bytes > 0 ? offsets : NULL;
      link->bundle = b;
      if (!link->makes)
        continue;
      b.input = b.output;
      b.input_bytes = b.output_bytes;
      b.input_start = 0;
      b.offsets = offsets;
      b.halos = NULL;
    }
}

const HassBundle *
hass_chain_bundle_of (const HassChain *c, guint i)
{
  return &link_at (c, i)->bundle;
}
