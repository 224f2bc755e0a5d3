/* SPDX-License-Identifier: MIT */
/* json_line.h: parses JSON that comes from a file.
   Thread safety: any thread. */
#ifndef DRAW_JSON_LINE_H
#define DRAW_JSON_LINE_H

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* Arrays and objects within each other. The deepest line that hass writes has
   four. */
#define DRAW_JSON_MOST_NESTED 64

/* The value that the text holds; free with json_node_unref(). NULL with
   HASS_ERROR_INVALID where it is no JSON or is nested more deeply than
   DRAW_JSON_MOST_NESTED. */
JsonNode *draw_json_line (const char *text, GError **error);

G_END_DECLS

#endif
