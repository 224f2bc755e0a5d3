/* SPDX-License-Identifier: MIT */
/* version.c: see version.h.
   Thread safety: immutable. */
#include "version.h"

const char *
hass_version (void)
{
  return G_STRINGIFY (HASS_VERSION_MAJOR) "." G_STRINGIFY (
      HASS_VERSION_MINOR) "." G_STRINGIFY (HASS_VERSION_MICRO);
}
