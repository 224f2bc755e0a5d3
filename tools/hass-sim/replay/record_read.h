/* SPDX-License-Identifier: MIT */
/* record_read.h: declarations shared by the files that read a record.

   DESIGN. Each function reads one member of a line. It returns FALSE with an
   error that names file, line and member if the member is missing or out of
   range.

   Thread safety: any thread, each with a reader of its own. */
#ifndef HASS_SIM_RECORD_READ_H
#define HASS_SIM_RECORD_READ_H

#include <json-glib/json-glib.h>

#include "record.h"

typedef struct
{
  const char *path;
  guint line;
  RecordFarm *farm; /* NULL: a header is due */
  GPtrArray *farms;
  GError **error;
} RecordReader;

/* Sets the error and returns FALSE. */
gboolean record_broken (const RecordReader *r, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

gboolean record_is_number (JsonNode *node);
gboolean record_number (const RecordReader *r, JsonObject *o, const char *name,
                        double min, double max, double *value);
gboolean record_whole (const RecordReader *r, JsonObject *o, const char *name,
                       double min, double max, guint64 *value);
gboolean record_truth (const RecordReader *r, JsonObject *o, const char *name,
                       gboolean *value);
/* A string or null; the farm owns it. */
gboolean record_string (const RecordReader *r, JsonObject *o, const char *name,
                        char **value);
/* Reads one of @words, a NULL-terminated list. */
gboolean record_word (const RecordReader *r, JsonObject *o, const char *name,
                      const char *const *words, guint *value);

/* Begins a farm, to be freed with record_farm_free(). */
gboolean record_header (RecordReader *r, JsonObject *o);
void record_farm_free (gpointer farm);

#endif
