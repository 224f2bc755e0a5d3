/* SPDX-License-Identifier: MIT */
/* json-private.h: members of a JSON object, one call each.
   Thread safety: as the builder. */
#ifndef HASS_JSON_PRIVATE_H
#define HASS_JSON_PRIVATE_H

#include <json-glib/json-glib.h>

/* NULL becomes null. */
static inline void
json_add_string (JsonBuilder *j, const char *name, const char *value)
{
  json_builder_set_member_name (j, name);
  if (value)
    json_builder_add_string_value (j, value);
  else
    json_builder_add_null_value (j);
}

/* JSON's integers end at G_MAXINT64. */
static inline void
json_add_int (JsonBuilder *j, const char *name, guint64 value)
{
  json_builder_set_member_name (j, name);
  json_builder_add_int_value (j, (gint64)MIN (value, G_MAXINT64));
}

static inline void
json_add_double (JsonBuilder *j, const char *name, double value)
{
  json_builder_set_member_name (j, name);
  json_builder_add_double_value (j, value);
}

static inline void
json_add_bool (JsonBuilder *j, const char *name, gboolean value)
{
  json_builder_set_member_name (j, name);
  json_builder_add_boolean_value (j, value);
}

/* What was built; free with g_free(). */
static inline char *
json_text (JsonBuilder *j, gboolean pretty)
{
  g_autoptr (JsonNode) root = json_builder_get_root (j);
  return json_to_string (root, pretty);
}

#endif
