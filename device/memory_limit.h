/* SPDX-License-Identifier: MIT */
/* memory_limit.h: see memory_limit.c. */
#ifndef HASS_MEMORY_LIMIT_H
#define HASS_MEMORY_LIMIT_H

#include <glib.h>

gboolean hass_gpu_memory_limit (guint64 *bytes, GError **error);

#endif
