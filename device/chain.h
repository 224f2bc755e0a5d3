/* SPDX-License-Identifier: MIT */
/* chain.h: the stages of a pipeline that a bundle passes on a device, without
   a copy to the host between them.

   DESIGN. A bundle passes a chain of one or more stages. The worker of the
   first stage gets the inputs of the blocks; the output of a stage is the input
   of the next one; a stage without output leaves its input to the next. The
   last output is that of the bundle, which the device copies to the host. The
   sizes of all outputs are known before the chain begins.
   1. hass_chain_make() computes the sizes, and the blocks as each worker sees
      them.
   2. The outputs between stages lie alternately in two regions of scratch
      memory, because a stage reads no older output than the one before it. The
      device makes room for scratch_bytes.
   3. hass_chain_place() and hass_chain_fill() make the tables with the offsets
      of the blocks in these outputs. The device copies them with its other
      tables.
   4. hass_chain_describe() makes the bundle that each worker gets.
   The bundle of a farm is a chain of one stage: it has no scratch memory, no
   tables and no descriptions of its own.

   Thread safety: a chain belongs to one thread. */
#ifndef HASS_CHAIN_H
#define HASS_CHAIN_H

#include "hass/device.h"

typedef struct
{
  guint n;             /* number of stages */
  gsize scratch_bytes; /* of both regions */
  /* For more than one stage: */
  gsize n_blocks;
  GArray *links;  /* HassChainLink [n] */
  GArray *blocks; /* HassBlock [n * n_blocks], by stages */
} HassChain;

void hass_chain_init (HassChain *chain);
void hass_chain_clear (HassChain *chain);
gboolean hass_chain_fuse (HassChain *chain, const HassDeviceFarm *farm,
                          const HassBlock *blocks, gsize n, GError **error);
gsize hass_chain_place_tables (HassChain *chain, gsize at);
void hass_chain_fill_tables (const HassChain *chain, guint8 *tables);
void hass_chain_describe_stages (HassChain *chain, const HassBundle *whole,
                                 const guint8 *tables, guint8 *scratch);
const HassBundle *hass_chain_bundle_of (const HassChain *chain, guint i);

/* Makes the chain of the stages that @blocks [@n] pass on a device opened for
   @farm. Takes O(1) time for one stage, else O(stages * blocks). Returns: FALSE
   with HASS_ERROR_INVALID if the blocks cannot pass these stages in a chain,
   with HASS_ERROR_NO_MEMORY if their outputs are too large to be counted. */
static inline gboolean
hass_chain_make (HassChain *chain, const HassDeviceFarm *farm,
                 const HassBlock *blocks, gsize n, GError **error)
{
  chain->n = 1;
  chain->scratch_bytes = 0;
  return G_LIKELY (blocks[0].fused == 0)
         || hass_chain_fuse (chain, farm, blocks, n, error);
}

/* Places the tables of the chain at offset @at in the tables of the bundle.
   Returns: the offset behind them, aligned if there are any. */
static inline gsize
hass_chain_place (HassChain *chain, gsize at)
{
  return G_LIKELY (chain->n == 1) ? at : hass_chain_place_tables (chain, at);
}

/* Writes the tables of the chain into @tables, those of the bundle. */
static inline void
hass_chain_fill (const HassChain *chain, guint8 *tables)
{
  if (G_UNLIKELY (chain->n > 1))
    hass_chain_fill_tables (chain, tables);
}

/* Makes the bundles for the workers of several stages. @whole: the bundle with
   the inputs of the first stage and the output of the last one that makes one.
   @tables, @scratch: where the tables of the bundle and the scratch memory lie
   on the device. */
static inline void
hass_chain_describe (HassChain *chain, const HassBundle *whole,
                     const guint8 *tables, guint8 *scratch)
{
  if (G_UNLIKELY (chain->n > 1))
    hass_chain_describe_stages (chain, whole, tables, scratch);
}

/* Returns: the bundle for the worker of stage @i of the chain, which is @whole
   if there is only one. */
static inline const HassBundle *
hass_chain_bundle (const HassChain *chain, guint i, const HassBundle *whole)
{
  return G_LIKELY (chain->n == 1) ? whole : hass_chain_bundle_of (chain, i);
}

/* Makes @farm, which must not move any more, one whose bundles pass @stages
   [@n], which are not copied. */
void hass_device_farm_stages (HassDeviceFarm *farm,
                              const HassDeviceStage *stages, guint n);

#endif
