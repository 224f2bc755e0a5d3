/* SPDX-License-Identifier: MIT */
/* json_line.h: parses JSON from untrusted files.
   Thread safety: any thread. */
#ifndef DRAW_JSON_LINE_H
#define DRAW_JSON_LINE_H

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* Maximum nesting of arrays and objects. The deepest line that hass writes has
   four levels. */
#define DRAW_JSON_MOST_NESTED 64

/* Returns: the parsed value; free with json_node_unref(). NULL with
   HASS_ERROR_INVALID if the text is not JSON or nests more deeply than
   DRAW_JSON_MOST_NESTED. */
JsonNode *draw_json_line (const char *text, GError **error);

G_END_DECLS

#endif
