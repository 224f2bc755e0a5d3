/* SPDX-License-Identifier: MIT */
/* environment.h: reads the environment variables HASS_*.
   Thread safety: any thread, while no thread changes the environment. */
#ifndef HASS_ENVIRONMENT_H
#define HASS_ENVIRONMENT_H

#include <glib.h>

gboolean hass_environment_check (GError **error);
gboolean hass_environment_uint (const char *name, guint64 min, guint64 max,
                                guint64 *value, GError **error);

#endif
