/* SPDX-License-Identifier: MIT */
/* live.h: runs a farm on the real machine.
   Thread safety: any thread. */
#ifndef HASS_LIVE_H
#define HASS_LIVE_H

#include "engine/core/farm.h"

/* Runs the farm on the CPU pool and the devices of its options. FALSE with an
   error when it fails; the report, which may be NULL, is then also made if the
   farm came so far. */
gboolean hass_live_run (const HassFarm *farm, HassReport **report,
                        GError **error);

#endif
