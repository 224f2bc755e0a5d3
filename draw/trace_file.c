/* SPDX-License-Identifier: MIT */
/* trace_file.c: see trace_file.h; doc/environment.md describes the lines.
   Thread safety: see trace_file.h. */
#include "trace-private.h"

#include <string.h>

#include "hass/error.h"
#include "json_line.h"

#define MOST_CORES 65536

/* -- Events ------------------------------------------------------------- */

/* At the end of a farm: keeps it if it is the one to be drawn. */
static void
settle (DrawTraceReader *r)
{
  DrawTrace *t = g_steal_pointer (&r->trace);
  gboolean better
      = t
        && (r->wanted > 0
                ? t->number == r->wanted
                : !r->best || (t->bars->len > 0 && r->best->bars->len == 0)
                      || (t->bars->len > 0 && t->end_ns > r->best->end_ns));
  if (!better)
    {
      draw_trace_free (t);
      return;
    }
  draw_trace_free (r->best);
  r->best = t;
}

static gboolean
read_device (DrawTraceReader *r, JsonNode *node, DrawDevice *device)
{
  gint64 cores;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return draw_trace_broken (r, "device %u must be an object",
                              r->trace->n_devices);
  JsonObject *o = json_node_get_object (node);
  const char *name = draw_trace_string (r, o, "name");
  const char *kind = draw_trace_string (r, o, "kind");
  if (!name || !kind || !draw_trace_int (r, o, "cores", 0, MOST_CORES, &cores))
    return FALSE;
  *device = (DrawDevice){ .name = g_strdup (name),
                          .gpu = strcmp (kind, "cpu") != 0,
                          .cores = (guint)cores };
  return TRUE;
}

/* Returns: an array of the farm's line with 1 to @most elements; else NULL, and
   the line is broken. */
static JsonArray *
get_list (DrawTraceReader *r, const char *name, guint most)
{
  JsonNode *node = json_object_get_member (r->object, name);
  if (!node || !JSON_NODE_HOLDS_ARRAY (node))
    {
      draw_trace_broken (r, "member '%s' must be an array", name);
      return NULL;
    }
  JsonArray *list = json_node_get_array (node);
  guint n = json_array_get_length (list);
  if (n > 0 && n <= most)
    return list;
  draw_trace_broken (r, "%u %s, must be 1 to %u", n, name, most);
  return NULL;
}

/* Reads the names of a pipeline's stages; a farm has none. */
static gboolean
read_stage_names (DrawTraceReader *r)
{
  DrawTrace *t = r->trace;
  if (!json_object_has_member (r->object, "stages"))
    return TRUE;
  JsonArray *list = get_list (r, "stages", DRAW_MOST_NAMES);
  if (!list)
    return FALSE;
  guint n = json_array_get_length (list);
  t->stages = g_new0 (char *, n + 1);
  for (; t->n_stages < n; t->n_stages++)
    {
      JsonNode *node = json_array_get_element (list, t->n_stages);
      if (!JSON_NODE_HOLDS_VALUE (node)
          || json_node_get_value_type (node) != G_TYPE_STRING)
        return draw_trace_broken (r, "the name of stage %u must be a string",
                                  t->n_stages);
      t->stages[t->n_stages] = json_node_dup_string (node);
    }
  return TRUE;
}

static gboolean
read_farm (DrawTraceReader *r)
{
  settle (r);
  DrawTrace *t = r->trace = g_new0 (DrawTrace, 1);
  t->rounds = g_array_new (FALSE, FALSE, sizeof (gint64));
  t->bars = g_array_new (FALSE, FALSE, sizeof (DrawBar));
  t->failures = g_array_new (FALSE, FALSE, sizeof (DrawBar));
  t->number = ++r->n_farms;
  const char *farm = draw_trace_string (r, r->object, "farm");
  const char *strategy = draw_trace_string (r, r->object, "strategy");
  JsonNode *platform = json_object_get_member (r->object, "platform");
  if (!farm || !strategy
      || !draw_trace_int (r, r->object, "t", 0, G_MAXINT64, &r->begin_ns))
    return FALSE;
  JsonArray *list = get_list (r, "devices", DRAW_MOST_NAMES);
  if (!list)
    return FALSE;
  t->farm = g_strdup (farm);
  t->strategy = g_strdup (strategy);
  if (platform && !JSON_NODE_HOLDS_NULL (platform)
      && !(t->platform
           = g_strdup (draw_trace_string (r, r->object, "platform"))))
    return FALSE;
  JsonNode *kind = json_object_get_member (r->object, "kind");
  t->has_tasks = kind && JSON_NODE_HOLDS_VALUE (kind)
                 && !g_strcmp0 (json_node_get_string (kind), "dataflow");
  guint n = json_array_get_length (list);
  t->devices = g_new0 (DrawDevice, n);
  for (; t->n_devices < n; t->n_devices++)
    if (!read_device (r, json_array_get_element (list, t->n_devices),
                      &t->devices[t->n_devices]))
      return FALSE;
  return read_stage_names (r);
}

static gboolean
add_bar (DrawTraceReader *r, DrawBar bar)
{
  if (bar.end_ns > bar.begin_ns || r->trace->has_tasks)
    g_array_append_val (r->trace->bars, bar);
  r->trace->end_ns = MAX (r->trace->end_ns, bar.end_ns);
  return TRUE;
}

/* Reads the members of all bars of cores. */
static gboolean
read_core_bar (DrawTraceReader *r, gint64 t, DrawBar *bar)
{
  gint64 core;
  guint d = 0;
  while (d < r->trace->n_devices && r->trace->devices[d].gpu)
    d++;
  if (d == r->trace->n_devices)
    return draw_trace_broken (
        r, "a core computes, but the farm's line has no CPU");
  if (!draw_trace_time (r, "begin", &bar->begin_ns)
      || !draw_trace_int (r, r->object, "core", 0,
                          (gint64)r->trace->devices[d].cores - 1, &core))
    return FALSE;
  if (bar->begin_ns > t)
    return draw_trace_broken (r,
                              "what the core computes ends before it begins");
  bar->device = d;
  bar->core = (guint)core;
  bar->stage = DRAW_KERNEL;
  bar->end_ns = t;
  return TRUE;
}

static gboolean
read_pull (DrawTraceReader *r, gint64 t)
{
  gint64 units, round;
  DrawBar bar = { 0 };
  if (!read_core_bar (r, t, &bar)
      || !draw_trace_int (r, r->object, "units", 0, G_MAXINT64, &units)
      || !draw_trace_int (r, r->object, "round", 0, G_MAXINT64, &round))
    return FALSE;
  bar.units = (guint64)units;
  bar.round = (guint64)round;
  return add_bar (r, bar);
}

/* Reads the stage of a pipeline's event. */
static gboolean
get_pipe_stage (DrawTraceReader *r, DrawBar *bar)
{
  gint64 stage;
  if (!draw_trace_int (r, r->object, "stage", 0, (gint64)r->trace->n_stages - 1,
                       &stage))
    return FALSE;
  bar->pipe_stage = (guint)stage;
  return TRUE;
}

/* Counts the tokens that have passed the last stage of a pipeline. */
static void
count_passed (DrawTraceReader *r, const DrawBar *bar)
{
  if (bar->pipe_stage + bar->fused + 1 == r->trace->n_stages)
    r->trace->units += bar->units;
}

/* Reads a batch that a core has computed at a stage of a pipeline. */
static gboolean
read_batch (DrawTraceReader *r, gint64 t)
{
  gint64 tokens;
  DrawBar bar = { 0 };
  if (!read_core_bar (r, t, &bar) || !get_pipe_stage (r, &bar)
      || !draw_trace_int (r, r->object, "tokens", 0, G_MAXINT64, &tokens))
    return FALSE;
  bar.units = (guint64)tokens;
  count_passed (r, &bar);
  return add_bar (r, bar);
}

/* Reads the last predecessor of a task. */
static gboolean
read_after (DrawTraceReader *r, DrawBar *bar)
{
  gint64 number;
  JsonNode *node = json_object_get_member (r->object, "after");
  if (!node)
    return TRUE;
  r->trace->has_lasts = TRUE;
  if (JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  if (!draw_trace_int (r, r->object, "after", 0, G_MAXINT64, &number))
    return FALSE;
  bar->after = (guint64)number + 1;
  return TRUE;
}

/* Reads a task of a dataflow, that a core or a device has computed. */
static gboolean
read_task (DrawTraceReader *r, gint64 t)
{
  gint64 number;
  DrawBar bar = { .stage = DRAW_KERNEL, .end_ns = t, .units = 1 };
  const char *codelet = draw_trace_string (r, r->object, "codelet");
  if (!codelet || !draw_trace_int (r, r->object, "task", 0, G_MAXINT64, &number)
      || !read_after (r, &bar))
    return FALSE;
  if (!json_object_has_member (r->object, "device"))
    {
      if (!read_core_bar (r, t, &bar))
        return FALSE;
    }
  else if (!draw_trace_device (r, &bar.device)
           || !draw_trace_time (r, "begin", &bar.begin_ns))
    return FALSE;
  if (bar.begin_ns > t)
    return draw_trace_broken (r, "the task ends before it begins");
  bar.round = (guint64)number;
  bar.pipe_stage = draw_trace_name (r->trace, codelet);
  r->trace->units++;
  return add_bar (r, bar);
}

static gboolean
is_int (JsonArray *a, guint i)
{
  JsonNode *node = json_array_get_element (a, i);
  return JSON_NODE_HOLDS_VALUE (node)
         && json_node_get_value_type (node) == G_TYPE_INT64;
}

static gboolean
read_stage (DrawTraceReader *r, const char *name, gint64 t, DrawBar bar)
{
  JsonNode *node = json_object_get_member (r->object, name);
  JsonArray *a = node && JSON_NODE_HOLDS_ARRAY (node)
                     ? json_node_get_array (node)
                     : NULL;
  if (!a || json_array_get_length (a) != 2 || !is_int (a, 0) || !is_int (a, 1))
    return draw_trace_broken (r, "member '%s' must be an array of two times",
                              name);
  bar.begin_ns = json_array_get_int_element (a, 0) - r->begin_ns;
  bar.end_ns = json_array_get_int_element (a, 1) - r->begin_ns;
  if (bar.begin_ns < 0 || bar.end_ns < bar.begin_ns || bar.end_ns > t)
    return draw_trace_broken (
        r,
        "'%s' is from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
        " ns of the farm, and the bundle ended at %" G_GINT64_FORMAT,
        name, bar.begin_ns, bar.end_ns, t);
  return add_bar (r, bar);
}

/* Reads the common members of finished and failed bundles. */
static gboolean
read_bundle_bar (DrawTraceReader *r, DrawBar *bar)
{
  gint64 units, round, bytes;
  if (!draw_trace_device (r, &bar->device)
      || !draw_trace_int (r, r->object, "units", 0, G_MAXINT64, &units)
      || !draw_trace_int (r, r->object, "bytes", 0, G_MAXINT64, &bytes)
      || !draw_trace_int (r, r->object, "round", 0, G_MAXINT64, &round))
    return FALSE;
  if (!r->trace->devices[bar->device].gpu)
    return draw_trace_broken (r, "a bundle on a CPU pool");
  bar->units = units;
  bar->bytes = bytes;
  bar->round = round;
  if (r->trace->n_stages == 0)
    return TRUE;
  gint64 fused;
  if (!get_pipe_stage (r, bar)
      || !draw_trace_int (r, r->object, "fused", 0,
                          (gint64)(r->trace->n_stages - bar->pipe_stage) - 1,
                          &fused))
    return FALSE;
  bar->fused = (guint)fused;
  return TRUE;
}

static gboolean
read_failed (DrawTraceReader *r, gint64 t)
{
  DrawBar bar = { .end_ns = t };
  if (!read_bundle_bar (r, &bar)
      || !draw_trace_time (r, "begin", &bar.begin_ns))
    return FALSE;
  if (bar.begin_ns > t)
    return draw_trace_broken (r, "the bundle failed before it began");
  g_array_append_val (r->trace->failures, bar);
  return TRUE;
}

static gboolean
read_bundle (DrawTraceReader *r, gint64 t)
{
  DrawBar bar = { 0 };
  if (!read_bundle_bar (r, &bar))
    return FALSE;
  static const char *const names[] = { "in", "kernel", "out" };
  for (bar.stage = 0; bar.stage < DRAW_N_STAGES; bar.stage++)
    if (!read_stage (r, names[bar.stage], t, bar))
      return FALSE;
  count_passed (r, &bar);
  return TRUE;
}

/* Reads when a GPU was opened, or that it was not. */
static gboolean
read_open (DrawTraceReader *r, gint64 t)
{
  gint64 begin;
  guint device;
  JsonNode *ok = json_object_get_member (r->object, "ok");
  if (!draw_trace_device (r, &device) || !draw_trace_time (r, "begin", &begin))
    return FALSE;
  DrawDevice *v = &r->trace->devices[device];
  if (!v->gpu)
    return draw_trace_broken (r, "'%s' is a CPU pool, and is made ready",
                              v->name);
  if (begin > t)
    return draw_trace_broken (r, "'%s' is ready before that begins", v->name);
  if (!ok || !JSON_NODE_HOLDS_VALUE (ok)
      || json_node_get_value_type (ok) != G_TYPE_BOOLEAN)
    return draw_trace_broken (r, "member 'ok' must be true or false");
  v->not_started = !json_node_get_boolean (ok);
  v->open_begin_ns = v->not_started ? 0 : begin;
  v->open_end_ns = v->not_started ? 0 : t;
  return TRUE;
}

static gboolean
read_event (DrawTraceReader *r)
{
  const char *event = draw_trace_string (r, r->object, "event");
  gint64 t, units;
  if (!event)
    return FALSE;
  if (!strcmp (event, "farm"))
    return read_farm (r);
  if (!r->trace)
    return draw_trace_broken (
        r, "a trace begins with the event 'farm', not '%s'", event);
  if (!draw_trace_time (r, "t", &t))
    return FALSE;
  r->trace->end_ns = MAX (r->trace->end_ns, t);
  if (!strcmp (event, "pull"))
    return read_pull (r, t);
  if (!strcmp (event, "stage"))
    return read_batch (r, t);
  if (!strcmp (event, "task") && r->trace->has_tasks)
    return read_task (r, t);
  if (!strcmp (event, "bundle"))
    return read_bundle (r, t);
  if (!strcmp (event, "failed"))
    return read_failed (r, t);
  if (!strcmp (event, "open"))
    return read_open (r, t);
  if (!strcmp (event, "round"))
    {
      if (!draw_trace_int (r, r->object, "units", 0, G_MAXINT64, &units))
        return FALSE;
      r->trace->units += units;
      g_array_append_val (r->trace->rounds, t);
    }
  return TRUE;
}

static gboolean
read_line (DrawTraceReader *r, const char *line)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = draw_json_line (line, &error);
  if (!node)
    return draw_trace_broken (r, "%s", error->message);
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return draw_trace_broken (r, "it is not a JSON object");
  r->object = json_node_get_object (node);
  return read_event (r);
}

/* Takes the requested farm if it can be drawn. */
static gboolean
finish (DrawTraceReader *r)
{
  settle (r);
  if (r->wanted > r->n_farms)
    return draw_trace_broken (
        r, "the end, after %u farms; number %u was asked for", r->n_farms,
        r->wanted);
  if (!r->best || r->best->bars->len == 0)
    return draw_trace_broken (r,
                              "nothing was computed before the end of the %s",
                              r->wanted > 0 ? "farm" : "file");
  r->best->n_farms = r->n_farms;
  if (r->best->has_tasks && r->best->n_stages > 0)
    draw_trace_sort_names (r->best);
  return TRUE;
}

DrawTrace *
draw_trace_load (const char *path, guint number, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) failure = NULL;
  gsize length = 0;
  if (!g_file_get_contents (path, &text, &length, &failure))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                   "trace '%s' cannot be read: %s", path, failure->message);
      return NULL;
    }
  DrawTraceReader r = { .path = path, .wanted = number, .error = &failure };
  gboolean ok = TRUE;
  for (char *line = text; ok && line < text + length;)
    {
      char *end = strchrnul (line, '\n');
      *end = 0;
      r.line++;
      ok = read_line (&r, line);
      line = end + 1;
    }
  if (ok && finish (&r))
    return r.best;
  draw_trace_free (r.trace);
  draw_trace_free (r.best);
  g_propagate_error (error, g_steal_pointer (&failure));
  return NULL;
}
