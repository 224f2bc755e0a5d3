/* SPDX-License-Identifier: MIT */
/* json-private.h: members of a JSON object, one call each.
   Thread safety: as the builder. */
#ifndef HASS_JSON_PRIVATE_H
#define HASS_JSON_PRIVATE_H

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

/* NULL becomes null, and what is not UTF-8, as JSON is, U+FFFD. */
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

/* JSON's integers end at G_MAXINT64. */
static inline void
json_add_int (JsonBuilder *j, const char *name, guint64 value)
{
  json_builder_set_member_name (j, name);
  json_builder_add_int_value (j, (gint64)MIN (value, G_MAXINT64));
}

/* A number as text, in the format %g or %.0f, whatever the locale: in JSON
   there is none for infinity and what is no number, which become null. */
#define JSON_NUMBER_BYTES 400 /* %.0f of G_MAXDOUBLE has 309 digits */

static inline const char *
json_number (char text[JSON_NUMBER_BYTES], const char *format, double value)
{
  return isfinite (value)
             ? g_ascii_formatd (text, JSON_NUMBER_BYTES, format, value)
             : "null";
}

/* An element of an array, or the value after a member's name. json-glib writes
   1e22 as 1e+22.0, which is no JSON: a neighbour that has a fraction stands for
   such a number. */
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

/* What was built; free with g_free(). */
static inline char *
json_text (JsonBuilder *j, gboolean pretty)
{
  g_autoptr (JsonNode) root = json_builder_get_root (j);
  return json_to_string (root, pretty);
}

#endif
