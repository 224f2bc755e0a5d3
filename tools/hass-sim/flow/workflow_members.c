/* SPDX-License-Identifier: MIT */
/* workflow_members.c: members of a workflow's JSON, checked.
   Thread safety: any thread. */
#include "workflow.h"

#include "hass/error.h"

gboolean
workflow_broken (const Workflow *w, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (w->error, HASS_ERROR, HASS_ERROR_INVALID,
               "dataflow file %s%s%s: %s", w->path, *w->where ? ", " : "",
               w->where, what);
  return FALSE;
}

void
workflow_look_at (Workflow *w, guint task)
{
  g_snprintf (w->where, sizeof w->where, "task %u ('%.60s')", task + 1,
              (const char *)w->ids->pdata[task]);
}

gboolean
workflow_array (const Workflow *w, JsonObject *o, const char *name,
                gboolean needed, JsonArray **array)
{
  JsonNode *node = json_object_get_member (o, name);
  *array = NULL;
  if (!node)
    return !needed || workflow_broken (w, "'%s' is missing", name);
  if (!JSON_NODE_HOLDS_ARRAY (node))
    return workflow_broken (w, "'%s' is not an array", name);
  *array = json_node_get_array (node);
  return TRUE;
}

gboolean
workflow_object (const Workflow *w, JsonObject *o, const char *name,
                 gboolean needed, JsonObject **object)
{
  JsonNode *node = json_object_get_member (o, name);
  *object = NULL;
  if (!node)
    return !needed || workflow_broken (w, "'%s' is missing", name);
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return workflow_broken (w, "'%s' is not an object", name);
  *object = json_node_get_object (node);
  return TRUE;
}

gboolean
workflow_object_at (const Workflow *w, JsonArray *array, guint i,
                    const char *what, JsonObject **object)
{
  JsonNode *node = json_array_get_element (array, i);
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return workflow_broken (w, "%s %u is not an object", what, i + 1);
  *object = json_node_get_object (node);
  return TRUE;
}

gboolean
workflow_text (const Workflow *w, JsonObject *o, const char *name,
               gboolean needed, const char **text)
{
  JsonNode *node = json_object_get_member (o, name);
  *text = NULL;
  if (!node)
    return !needed || workflow_broken (w, "'%s' is missing", name);
  if (!JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_STRING)
    return workflow_broken (w, "'%s' is not a string", name);
  *text = json_node_get_string (node);
  return **text || workflow_broken (w, "'%s' is empty", name);
}

gboolean
workflow_text_at (const Workflow *w, JsonArray *array, guint i,
                  const char *name, const char **text)
{
  JsonNode *node = json_array_get_element (array, i);
  if (!JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_STRING)
    return workflow_broken (w, "'%s', element %u is not a string", name, i + 1);
  *text = json_node_get_string (node);
  return TRUE;
}

gboolean
workflow_number (const Workflow *w, JsonObject *o, const char *name,
                 double most, double *value)
{
  JsonNode *node = json_object_get_member (o, name);
  GType type = node && JSON_NODE_HOLDS_VALUE (node)
                   ? json_node_get_value_type (node)
                   : G_TYPE_NONE;
  if (!node)
    return workflow_broken (w, "'%s' is missing", name);
  if (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE)
    return workflow_broken (w, "'%s' is not a number", name);
  *value = json_node_get_double (node);
  return (*value >= 0 && *value <= most)
         || workflow_broken (w, "'%s' is %.15g, not in 0 to %.15g", name,
                             *value, most);
}
