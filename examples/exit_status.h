/* SPDX-License-Identifier: MIT */
/* exit_status.h: the exit status of a program whose run has failed.
   Thread safety: any thread. */
#ifndef HASS_EXAMPLES_EXIT_STATUS_H
#define HASS_EXAMPLES_EXIT_STATUS_H

#include <hass/error.h>

/* Returns: 2 if the strategy is unknown, does not serve the farm or has wrong
   parameters, as for other wrong options; else 1. */
static inline int
exit_status_of (const GError *error)
{
  return g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY) ? 2 : 1;
}

#endif
