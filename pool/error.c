/* SPDX-License-Identifier: MIT */
/* error.c: registers the error domain.
   Thread safety: any thread. */
#include "hass/error.h"

GQuark
hass_error_quark (void)
{
  return g_quark_from_static_string ("hass-error-quark");
}
