/* SPDX-License-Identifier: MIT */
/* shipped.h: finds the platform and workload files that are shipped with the
   library, by name.
   Thread safety: any thread, while no thread changes the environment. */
#ifndef HASS_SHIPPED_H
#define HASS_SHIPPED_H

#include <glib.h>

G_BEGIN_DECLS

/* Returns: the folder that contains platforms/ and workloads/: HASS_DATADIR if
   set, else the one beside the program that runs, else beside the shared
   library, else the system's; NULL if there is none. Free with g_free(). */
char *hass_shipped_folder (void);

/* Returns: the sorted names of all files of @kind ("platforms" or
   "workloads"), NULL-terminated; free with g_strfreev(). */
char **hass_shipped_names (const char *kind);

/**
 * hass_shipped_find:
 * @kind: "platforms" or "workloads".
 * @name: one of hass_shipped_names(), or the path of a file.
 *
 * Returns: the file's path, to be freed with g_free(); or NULL with
 * HASS_ERROR_INVALID, which lists the names. A path with a slash in it is
 * returned as it is, whether there is such a file or not.
 */
char *hass_shipped_find (const char *kind, const char *name, GError **error);

G_END_DECLS

#endif
