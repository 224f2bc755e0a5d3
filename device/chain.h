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
  guint n; /* number of stages */
  gsize n_blocks;
  gsize scratch_bytes; /* of both regions */
  /* For more than one stage: */
  GArray *links;  /* HassChainLink [n] */
  GArray *blocks; /* HassBlock [n * n_blocks], by stages */
} HassChain;

void hass_chain_init (HassChain *chain);
void hass_chain_clear (HassChain *chain);
gboolean hass_chain_make (HassChain *chain, const HassDeviceFarm *farm,
                          const HassBlock *blocks, gsize n, GError **error);
gsize hass_chain_place (HassChain *chain, gsize at);
void hass_chain_fill (const HassChain *chain, guint8 *tables);
void hass_chain_describe (HassChain *chain, const HassBundle *whole,
                          const guint8 *tables, guint8 *scratch);
const HassBundle *hass_chain_bundle (const HassChain *chain, guint i,
                                     const HassBundle *whole);

/* Makes @farm, which must not move any more, one whose bundles pass @stages
   [@n], which are not copied. */
void hass_device_farm_stages (HassDeviceFarm *farm,
                              const HassDeviceStage *stages, guint n);

#endif
