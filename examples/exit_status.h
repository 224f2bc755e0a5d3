/* SPDX-License-Identifier: MIT */
/* exit_status.h: the exit status of a program whose run has failed.
   Thread safety: any thread. */
#ifndef HASS_EXAMPLES_EXIT_STATUS_H
#define HASS_EXAMPLES_EXIT_STATUS_H

#include <hass/error.h>

/* Returns: 2 if an option is wrong, which only the library finds out for some:
   the strategy or the platform is unknown, or the strategy does not serve the
   farm or has wrong parameters; else 1. Wrong input is no HASS_ERROR_INVALID
   in the programs that ask here, but HASS_ERROR_IO. */
static inline int
exit_status_of (const GError *error)
{
  return error->domain == G_OPTION_ERROR
                 || g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY)
                 || g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID)
             ? 2
             : 1;
}

#endif
