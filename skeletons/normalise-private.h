/* SPDX-License-Identifier: MIT */
/* normalise-private.h: checks and defaults that all skeletons share.
   Thread safety: any thread. */
#ifndef HASS_NORMALISE_PRIVATE_H
#define HASS_NORMALISE_PRIVATE_H

#include "engine/core/farm.h"

gboolean hass_farm_check_caller (const char *function, GError **error);
gboolean hass_farm_check (HassFarm *farm, const char *function, GError **error);
gboolean hass_farm_check_settings (const HassFarm *farm, gsize window,
                                   GError **error);
gboolean hass_farm_run (HassFarm *farm, const char *function, gsize window,
                        HassReport **report, GError **error);
void hass_farm_limits (HassFarm *farm, gsize pool_loads, gsize pool_bytes,
                       gsize round_loads, gsize window);
gboolean hass_farm_end (gboolean ok, HassReport **report, const char *name,
                        HassFarmKind kind);

/* The name of the kind of device that HassDataFarm.gpu_worker and HassTask.gpu
   are for. */
#define HASS_GPU_KIND "cuda"

#endif
