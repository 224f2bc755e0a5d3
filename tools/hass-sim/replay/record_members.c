/* SPDX-License-Identifier: MIT */
/* record_members.c: members of a record's lines, checked.
   Thread safety: any thread. */
#include <math.h>
#include <string.h>

#include "hass/error.h"
#include "record_read.h"

gboolean
record_broken (const RecordReader *r, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (r->error, HASS_ERROR, HASS_ERROR_INVALID,
               "record file %s, line %u: %s", r->path, r->line, what);
  return FALSE;
}

gboolean
record_is_number (JsonNode *node)
{
  GType type = node && JSON_NODE_HOLDS_VALUE (node)
                   ? json_node_get_value_type (node)
                   : G_TYPE_NONE;
  return type == G_TYPE_INT64 || type == G_TYPE_DOUBLE;
}

gboolean
record_number (const RecordReader *r, JsonObject *o, const char *name,
               double min, double max, double *value)
{
  JsonNode *node = json_object_get_member (o, name);
  if (!node)
    return record_broken (r, "'%s' is missing", name);
  if (!record_is_number (node))
    return record_broken (r, "'%s' is not a number", name);
  double v = json_node_get_double (node);
  if (!(v >= min && v <= max))
    return record_broken (r, "'%s' is %.15g, not in %.15g to %.15g", name, v,
                          min, max);
  *value = v;
  return TRUE;
}

gboolean
record_whole (const RecordReader *r, JsonObject *o, const char *name,
              double min, double max, guint64 *value)
{
  double v;
  if (!record_number (r, o, name, min, max, &v))
    return FALSE;
  if (v != floor (v))
    return record_broken (r, "'%s' is %.15g, not a whole number", name, v);
  *value = (guint64)v;
  return TRUE;
}

gboolean
record_truth (const RecordReader *r, JsonObject *o, const char *name,
              gboolean *value)
{
  JsonNode *node = json_object_get_member (o, name);
  if (!node || !JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
    return record_broken (r, "'%s' is not true or false", name);
  *value = json_node_get_boolean (node);
  return TRUE;
}

gboolean
record_string (const RecordReader *r, JsonObject *o, const char *name,
               char **value)
{
  JsonNode *node = json_object_get_member (o, name);
  *value = NULL;
  if (!node)
    return record_broken (r, "'%s' is missing", name);
  if (JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  if (!JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_STRING)
    return record_broken (r, "'%s' is not a string", name);
  *value = g_strdup (json_node_get_string (node));
  g_ptr_array_add (r->farm->strings, *value);
  return TRUE;
}

gboolean
record_word (const RecordReader *r, JsonObject *o, const char *name,
             const char *const *words, guint *value)
{
  char *text;
  if (!record_string (r, o, name, &text))
    return FALSE;
  for (guint i = 0; words[i]; i++)
    if (text && strcmp (text, words[i]) == 0)
      {
        *value = i;
        return TRUE;
      }
  g_autofree char *list = g_strjoinv (", ", (char **)words);
  return record_broken (r, "'%s' is '%s'; known are %s", name,
                        text ? text : "null", list);
}
