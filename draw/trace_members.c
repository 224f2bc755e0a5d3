/* SPDX-License-Identifier: MIT */
/* trace_members.c: reads members of the lines of a trace.
   Thread safety: see trace_file.h. */
#include "trace-private.h"

#include <string.h>

#include "hass/error.h"

gboolean
draw_trace_broken (DrawTraceReader *r, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  if (r->error && !*r->error)
    g_set_error (r->error, HASS_ERROR, HASS_ERROR_INVALID,
                 "trace '%s', line %u: %s", r->path, r->line, what);
  return FALSE;
}

gboolean
draw_trace_int (DrawTraceReader *r, JsonObject *o, const char *name,
                gint64 least, gint64 most, gint64 *value)
{
  JsonNode *node = json_object_get_member (o, name);
  if (!node || !JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_INT64)
    return draw_trace_broken (r, "member '%s' must be a whole number", name);
  *value = json_node_get_int (node);
  if (*value < least || *value > most)
    return draw_trace_broken (r,
                              "'%s' is %" G_GINT64_FORMAT
                              ", must be from %" G_GINT64_FORMAT
                              " to %" G_GINT64_FORMAT,
                              name, *value, least, most);
  return TRUE;
}

const char *
draw_trace_string (DrawTraceReader *r, JsonObject *o, const char *name)
{
  JsonNode *node = json_object_get_member (o, name);
  if (node && JSON_NODE_HOLDS_VALUE (node)
      && json_node_get_value_type (node) == G_TYPE_STRING)
    return json_node_get_string (node);
  draw_trace_broken (r, "member '%s' must be a string", name);
  return NULL;
}

/* Reads a time, relative to the beginning of the farm. */
gboolean
draw_trace_time (DrawTraceReader *r, const char *name, gint64 *ns)
{
  if (!draw_trace_int (r, r->object, name, r->begin_ns, G_MAXINT64, ns))
    return FALSE;
  *ns -= r->begin_ns;
  return TRUE;
}

gboolean
draw_trace_device (DrawTraceReader *r, guint *device)
{
  const char *name = draw_trace_string (r, r->object, "device");
  if (!name)
    return FALSE;
  for (guint d = 0; d < r->trace->n_devices; d++)
    if (!strcmp (r->trace->devices[d].name, name))
      {
        *device = d;
        return TRUE;
      }
  return draw_trace_broken (r, "device '%s' is not in the farm's line", name);
}
