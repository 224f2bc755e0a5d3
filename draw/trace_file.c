/* SPDX-License-Identifier: MIT */
/* trace_file.c: see trace_file.h; doc/environment.md describes the lines.
   Thread safety: see trace_file.h. */
#include "trace_file.h"

#include <string.h>

#include "hass/error.h"
#include "json_line.h"

#define MOST_DEVICES 1024
#define MOST_CORES 65536

typedef struct
{
  DrawTrace *trace; /* the farm being read, or NULL */
  DrawTrace *best;  /* the best candidate of the farms read so far, or NULL */
  guint wanted, n_farms;
  const char *path;
  guint line;
  gint64 begin_ns; /* of the farm */
  JsonObject *object;
  GError **error;
} Reader;

void
draw_trace_free (DrawTrace *trace)
{
  if (!trace)
    return;
  for (guint d = 0; d < trace->n_devices; d++)
    g_free (trace->devices[d].name);
  g_free (trace->devices);
  g_free (trace->farm);
  g_free (trace->strategy);
  g_free (trace->platform);
  g_array_unref (trace->rounds);
  g_array_unref (trace->bars);
  g_array_unref (trace->failures);
  g_free (trace);
}

static gboolean broken (Reader *r, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

static gboolean
broken (Reader *r, const char *format, ...)
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

/* -- Members ------------------------------------------------------------ */

static gboolean
get_int (Reader *r, JsonObject *o, const char *name, gint64 least, gint64 most,
         gint64 *value)
{
  JsonNode *node = json_object_get_member (o, name);
  if (!node || !JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_INT64)
    return broken (r, "member '%s' must be a whole number", name);
  *value = json_node_get_int (node);
  if (*value < least || *value > most)
    return broken (r,
                   "'%s' is %" G_GINT64_FORMAT
                   ", must be from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                   name, *value, least, most);
  return TRUE;
}

static const char *
get_string (Reader *r, JsonObject *o, const char *name)
{
  JsonNode *node = json_object_get_member (o, name);
  if (node && JSON_NODE_HOLDS_VALUE (node)
      && json_node_get_value_type (node) == G_TYPE_STRING)
    return json_node_get_string (node);
  broken (r, "member '%s' must be a string", name);
  return NULL;
}

/* Reads a time, relative to the beginning of the farm. */
static gboolean
get_time (Reader *r, const char *name, gint64 *ns)
{
  if (!get_int (r, r->object, name, r->begin_ns, G_MAXINT64, ns))
    return FALSE;
  *ns -= r->begin_ns;
  return TRUE;
}

static gboolean
get_device (Reader *r, guint *device)
{
  const char *name = get_string (r, r->object, "device");
  if (!name)
    return FALSE;
  for (guint d = 0; d < r->trace->n_devices; d++)
    if (!strcmp (r->trace->devices[d].name, name))
      {
        *device = d;
        return TRUE;
      }
  return broken (r, "device '%s' is not in the farm's line", name);
}

/* -- Events ------------------------------------------------------------- */

/* At the end of a farm: keeps it if it is the one to be drawn. */
static void
settle (Reader *r)
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
read_farm (Reader *r)
{
  settle (r);
  DrawTrace *t = r->trace = g_new0 (DrawTrace, 1);
  t->rounds = g_array_new (FALSE, FALSE, sizeof (gint64));
  t->bars = g_array_new (FALSE, FALSE, sizeof (DrawBar));
  t->failures = g_array_new (FALSE, FALSE, sizeof (DrawBar));
  t->number = ++r->n_farms;
  const char *farm = get_string (r, r->object, "farm");
  const char *strategy = get_string (r, r->object, "strategy");
  JsonNode *platform = json_object_get_member (r->object, "platform");
  JsonNode *devices = json_object_get_member (r->object, "devices");
  if (!farm || !strategy
      || !get_int (r, r->object, "t", 0, G_MAXINT64, &r->begin_ns))
    return FALSE;
  if (!devices || !JSON_NODE_HOLDS_ARRAY (devices))
    return broken (r, "member 'devices' must be an array");
  JsonArray *list = json_node_get_array (devices);
  guint n = json_array_get_length (list);
  if (n == 0 || n > MOST_DEVICES)
    return broken (r, "%u devices, must be 1 to %d", n, MOST_DEVICES);
  t->farm = g_strdup (farm);
  t->strategy = g_strdup (strategy);
  if (platform && !JSON_NODE_HOLDS_NULL (platform)
      && !(t->platform = g_strdup (get_string (r, r->object, "platform"))))
    return FALSE;
  t->devices = g_new0 (DrawDevice, n);
  for (; t->n_devices < n; t->n_devices++)
    {
      JsonNode *node = json_array_get_element (list, t->n_devices);
      gint64 cores;
      if (!JSON_NODE_HOLDS_OBJECT (node))
        return broken (r, "device %u must be an object", t->n_devices);
      JsonObject *o = json_node_get_object (node);
      const char *name = get_string (r, o, "name");
      const char *kind = get_string (r, o, "kind");
      if (!name || !kind || !get_int (r, o, "cores", 0, MOST_CORES, &cores))
        return FALSE;
      t->devices[t->n_devices] = (DrawDevice){ .name = g_strdup (name),
                                               .gpu = strcmp (kind, "cpu") != 0,
                                               .cores = (guint)cores };
    }
  return TRUE;
}

static gboolean
add_bar (Reader *r, DrawBar bar)
{
  if (bar.end_ns > bar.begin_ns)
    g_array_append_val (r->trace->bars, bar);
  r->trace->end_ns = MAX (r->trace->end_ns, bar.end_ns);
  return TRUE;
}

static gboolean
read_pull (Reader *r, gint64 t)
{
  gint64 begin, core, units, round;
  guint d = 0;
  while (d < r->trace->n_devices && r->trace->devices[d].gpu)
    d++;
  if (d == r->trace->n_devices)
    return broken (r, "a pull, but the farm's line has no CPU");
  if (!get_time (r, "begin", &begin)
      || !get_int (r, r->object, "core", 0,
                   (gint64)r->trace->devices[d].cores - 1, &core)
      || !get_int (r, r->object, "units", 0, G_MAXINT64, &units)
      || !get_int (r, r->object, "round", 0, G_MAXINT64, &round))
    return FALSE;
  if (begin > t)
    return broken (r, "the pull ends before it begins");
  return add_bar (r, (DrawBar){ .device = d,
                                .core = (guint)core,
                                .stage = DRAW_KERNEL,
                                .begin_ns = begin,
                                .end_ns = t,
                                .round = round,
                                .units = units });
}

static gboolean
is_int (JsonArray *a, guint i)
{
  JsonNode *node = json_array_get_element (a, i);
  return JSON_NODE_HOLDS_VALUE (node)
         && json_node_get_value_type (node) == G_TYPE_INT64;
}

static gboolean
read_stage (Reader *r, const char *name, gint64 t, DrawBar bar)
{
  JsonNode *node = json_object_get_member (r->object, name);
  JsonArray *a = node && JSON_NODE_HOLDS_ARRAY (node)
                     ? json_node_get_array (node)
                     : NULL;
  if (!a || json_array_get_length (a) != 2 || !is_int (a, 0) || !is_int (a, 1))
    return broken (r, "member '%s' must be an array of two times", name);
  bar.begin_ns = json_array_get_int_element (a, 0) - r->begin_ns;
  bar.end_ns = json_array_get_int_element (a, 1) - r->begin_ns;
  if (bar.begin_ns < 0 || bar.end_ns < bar.begin_ns || bar.end_ns > t)
    return broken (r,
                   "'%s' is from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                   " ns of the farm, and the bundle ended at %" G_GINT64_FORMAT,
                   name, bar.begin_ns, bar.end_ns, t);
  return add_bar (r, bar);
}

/* Reads the common members of finished and failed bundles. */
static gboolean
read_bundle_bar (Reader *r, DrawBar *bar)
{
  gint64 units, round, bytes;
  if (!get_device (r, &bar->device)
      || !get_int (r, r->object, "units", 0, G_MAXINT64, &units)
      || !get_int (r, r->object, "bytes", 0, G_MAXINT64, &bytes)
      || !get_int (r, r->object, "round", 0, G_MAXINT64, &round))
    return FALSE;
  if (!r->trace->devices[bar->device].gpu)
    return broken (r, "a bundle on a CPU pool");
  bar->units = units;
  bar->bytes = bytes;
  bar->round = round;
  return TRUE;
}

static gboolean
read_failed (Reader *r, gint64 t)
{
  DrawBar bar = { .end_ns = t };
  if (!read_bundle_bar (r, &bar) || !get_time (r, "begin", &bar.begin_ns))
    return FALSE;
  if (bar.begin_ns > t)
    return broken (r, "the bundle failed before it began");
  g_array_append_val (r->trace->failures, bar);
  return TRUE;
}

static gboolean
read_bundle (Reader *r, gint64 t)
{
  DrawBar bar = { 0 };
  if (!read_bundle_bar (r, &bar))
    return FALSE;
  static const char *const names[] = { "in", "kernel", "out" };
  for (bar.stage = 0; bar.stage < DRAW_N_STAGES; bar.stage++)
    if (!read_stage (r, names[bar.stage], t, bar))
      return FALSE;
  return TRUE;
}

/* Reads when a GPU was opened, or that it was not. */
static gboolean
read_open (Reader *r, gint64 t)
{
  gint64 begin;
  guint device;
  JsonNode *ok = json_object_get_member (r->object, "ok");
  if (!get_device (r, &device) || !get_time (r, "begin", &begin))
    return FALSE;
  DrawDevice *v = &r->trace->devices[device];
  if (!v->gpu)
    return broken (r, "'%s' is a CPU pool, and is made ready", v->name);
  if (begin > t)
    return broken (r, "'%s' is ready before that begins", v->name);
  if (!ok || !JSON_NODE_HOLDS_VALUE (ok)
      || json_node_get_value_type (ok) != G_TYPE_BOOLEAN)
    return broken (r, "member 'ok' must be true or false");
  v->not_started = !json_node_get_boolean (ok);
  v->open_begin_ns = v->not_started ? 0 : begin;
  v->open_end_ns = v->not_started ? 0 : t;
  return TRUE;
}

static gboolean
read_event (Reader *r)
{
  const char *event = get_string (r, r->object, "event");
  gint64 t, units;
  if (!event)
    return FALSE;
  if (!strcmp (event, "farm"))
    return read_farm (r);
  if (!r->trace)
    return broken (r, "a trace begins with the event 'farm', not '%s'", event);
  if (!get_time (r, "t", &t))
    return FALSE;
  r->trace->end_ns = MAX (r->trace->end_ns, t);
  if (!strcmp (event, "pull"))
    return read_pull (r, t);
  if (!strcmp (event, "bundle"))
    return read_bundle (r, t);
  if (!strcmp (event, "failed"))
    return read_failed (r, t);
  if (!strcmp (event, "open"))
    return read_open (r, t);
  if (!strcmp (event, "round"))
    {
      if (!get_int (r, r->object, "units", 0, G_MAXINT64, &units))
        return FALSE;
      r->trace->units += units;
      g_array_append_val (r->trace->rounds, t);
    }
  return TRUE;
}

static gboolean
read_line (Reader *r, const char *line)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = draw_json_line (line, &error);
  if (!node)
    return broken (r, "%s", error->message);
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return broken (r, "it is not a JSON object");
  r->object = json_node_get_object (node);
  return read_event (r);
}

/* Takes the requested farm if it can be drawn. */
static gboolean
finish (Reader *r)
{
  settle (r);
  if (r->wanted > r->n_farms)
    return broken (r, "the end, after %u farms; number %u was asked for",
                   r->n_farms, r->wanted);
  if (!r->best || r->best->bars->len == 0)
    return broken (r, "nothing was computed before the end of the %s",
                   r->wanted > 0 ? "farm" : "file");
  r->best->n_farms = r->n_farms;
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
  Reader r = { .path = path, .wanted = number, .error = &failure };
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
