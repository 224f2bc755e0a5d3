/* SPDX-License-Identifier: MIT */
/* json-private.h: members of a JSON object, one call each.
   Thread safety: as the builder. */
#ifndef HASS_JSON_PRIVATE_H
#define HASS_JSON_PRIVATE_H

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

/* Adds a member with a string value to the JSON object. NULL becomes null;
   bytes that are not UTF-8, which JSON requires, become U+FFFD. */
static inline void
json_add_string (JsonBuilder *j, const char *name, const char *value)
{
  json_builder_set_member_name (j, name);
  g_autofree char *valid = value ? g_utf8_make_valid (value, -1) : NULL;
  if (valid)
    json_builder_add_string_value (j, valid);
  else
    json_builder_add_null_value (j);
}

/* Adds a member with an integer value to the JSON object; json-glib's integers
   are signed, so larger values become G_MAXINT64. */
static inline void
json_add_int (JsonBuilder *j, const char *name, guint64 value)
{
  json_builder_set_member_name (j, name);
  json_builder_add_int_value (j, (gint64)MIN (value, G_MAXINT64));
}

/* Bytes of a number as text: %.0f of G_MAXDOUBLE has 309 digits. */
#define JSON_NUMBER_BYTES 400

/* Writes @value as text in @format (%g or %.0f), whatever the locale. JSON has
   no infinity and no NaN: they become null. */
static inline const char *
json_number (char text[JSON_NUMBER_BYTES], const char *format, double value)
{
  return isfinite (value)
             ? g_ascii_formatd (text, JSON_NUMBER_BYTES, format, value)
             : "null";
}

/* Adds a number as an element of an array, or as the value after a member's
   name; infinity and NaN become null. json-glib writes 1e22 as 1e+22.0, which
   is not JSON, so such a number is replaced by a neighbouring double that has a
   fraction. */
static inline void
json_put_double (JsonBuilder *j, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (!isfinite (value))
    {
      json_builder_add_null_value (j);
      return;
    }
  while (strchr (g_ascii_dtostr (text, sizeof text, value), 'e')
         && !strchr (text, '.'))
    value = nextafter (value, 0);
  json_builder_add_double_value (j, value);
}

static inline void
json_add_double (JsonBuilder *j, const char *name, double value)
{
  json_builder_set_member_name (j, name);
  json_put_double (j, value);
}

static inline void
json_add_bool (JsonBuilder *j, const char *name, gboolean value)
{
  json_builder_set_member_name (j, name);
  json_builder_add_boolean_value (j, value);
}

/* Returns the text of what was built; free with g_free(). */
static inline char *
json_text (JsonBuilder *j, gboolean pretty)
{
  g_autoptr (JsonNode) root = json_builder_get_root (j);
  return json_to_string (root, pretty);
}

#endif
