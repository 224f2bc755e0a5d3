/* SPDX-License-Identifier: MIT */
/* error.c: registers the error domain.
   Thread safety: any thread. */
#include "hass/error.h"

G_DEFINE_QUARK (hass - error - quark, hass_error)
