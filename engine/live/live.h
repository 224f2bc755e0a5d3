/* SPDX-License-Identifier: MIT */
/* live.h: runs a farm on the real machine.
   Thread safety: any thread. */
#ifndef HASS_LIVE_H
#define HASS_LIVE_H

#include "engine/core/farm.h"

/* Runs the farm on the CPU pool and the devices that its options allow, and
   makes @report, unless that is NULL. Returns: FALSE with an error if the farm
   failed; the report is then made only if the farm got as far as running. */
gboolean hass_live_run (const HassFarm *farm, HassReport **report,
                        GError **error);

#endif
