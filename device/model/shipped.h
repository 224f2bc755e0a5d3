/* SPDX-License-Identifier: MIT */
/* shipped.h: platforms and workloads by the names they are shipped
   under.
   Thread safety: any thread, while nobody changes the environment. */
#ifndef HASS_SHIPPED_H
#define HASS_SHIPPED_H

#include <glib.h>

G_BEGIN_DECLS

/* The folder that has platforms/ and workloads/ in it: HASS_DATADIR, or
   what lies beside the program that runs, or the system's. NULL: there is
   none. Free with g_free(). */
char *hass_shipped_folder (void);

/* Names of all files of @kind, "platforms" or "workloads", sorted; up to NULL.
   Free with g_strfreev(). */
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
