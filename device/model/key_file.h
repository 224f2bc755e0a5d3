/* SPDX-License-Identifier: MIT */
/* key_file.h: reads platform and workload files, and checks each value.

   DESIGN. GKeyFile parses the file; this adds what it lacks: the line of an
   error, ranges of numbers, and the refusal of unknown keys and of second ones.

   Thread safety: any thread, each with a file of its own. */
#ifndef HASS_KEY_FILE_H
#define HASS_KEY_FILE_H

#include <glib.h>

/* A key file that is open. `what`: its kind in messages, as "platform";
   `path`: not owned. */
typedef struct
{
  const char *what, *path;
  char *text;
  GKeyFile *file;
} HassKeyFile;

gboolean hass_key_file_open (HassKeyFile *r, const char *what, const char *path,
                             GError **error);
void hass_key_file_close (HassKeyFile *r);

/* Sets an error that names the line of the key, or of the group if @key is
   NULL. Returns: FALSE. */
gboolean hass_key_file_broken (const HassKeyFile *r, const char *group,
                               const char *key, GError **error,
                               const char *format, ...) G_GNUC_PRINTF (5, 6);

/* Bounds of a number in the file. If the key is absent, the value keeps its
   default, or it is an error if the key is `needed`. */
typedef struct
{
  gboolean needed;
  double min, max;
} HassKeyBounds;

gboolean hass_key_file_number (const HassKeyFile *r, const char *group,
                               const char *key, HassKeyBounds bounds,
                               double *value, GError **error);
gboolean hass_key_file_whole (const HassKeyFile *r, const char *group,
                              const char *key, HassKeyBounds bounds,
                              guint64 *value, GError **error);
gboolean hass_key_file_truth (const HassKeyFile *r, const char *group,
                              const char *key, gboolean *value, GError **error);
gboolean hass_key_file_only_keys (const HassKeyFile *r, const char *group,
                                  const char *const *known, GError **error);

#endif
