/* SPDX-License-Identifier: MIT */
/* trace_lines.c: writes a line of a trace for each fact.
   Thread safety: see facts.h; lines by any thread. */
#include "json-private.h"
#include "observe-private.h"
#include "trace-private.h"

/* Returns the text as a JSON string with its quotes, or null. */
static char *
quoted (const char *text)
{
  if (!text)
    return g_strdup ("null");
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_VALUE);
  json_node_set_string (node, valid);
  return json_to_string (node, FALSE);
}

typedef struct
{
  char *path;
  gboolean append;
  HassTrace *trace; /* NULL: the file is not open */
  const HassFarmFacts *farm;
} Lines;

gpointer
hass_trace_lines_new (const char *path, gboolean append)
{
  Lines *lines = g_new (Lines, 1);
  *lines = (Lines){ g_strdup (path), append, NULL, NULL };
  return lines;
}

static gboolean
open_trace (gpointer self, const HassFarmFacts *farm, GError **error)
{
  Lines *lines = self;
  lines->farm = farm;
  lines->trace = hass_trace_open (lines->path, lines->append, error);
  return lines->trace != NULL;
}

static gboolean
over (gpointer self, GError **error)
{
  Lines *lines = self;
  return hass_trace_close (g_steal_pointer (&lines->trace), error);
}

static void
lines_free (gpointer self)
{
  Lines *lines = self;
  if (lines->trace)
    hass_trace_close (lines->trace, NULL);
  g_free (lines->path);
  g_free (lines);
}

static const char *
device_name (const Lines *lines, guint device)
{
  return lines->farm->devices[device].name;
}

/* Writes the first line of a trace: the farm and its devices. */
static void
begun (gpointer self)
{
  const Lines *lines = self;
  const HassFarmFacts *farm = lines->farm;
  g_autofree char *name = quoted (farm->farm->name);
  g_autofree char *strategy = quoted (farm->strategy);
  g_autofree char *platform = quoted (farm->platform);
  g_autoptr (GString) devices = g_string_new (NULL);
  for (guint d = 0; d < farm->n_devices; d++)
    {
      const HassDeviceTraits *v = &farm->devices[d];
      g_autofree char *device = quoted (v->name);
      g_string_append_printf (
          devices, "%s{\"name\":%s,\"kind\":\"%s\",\"cores\":%u}",
          d > 0 ? "," : "", device, v->kind == HASS_DEVICE_CPU ? "cpu" : "gpu",
          v->cores);
    }
  hass_trace_line (lines->trace,
                   "{\"t\":%" G_GINT64_FORMAT
                   ",\"event\":\"farm\",\"farm\":%s,\"strategy\":%s,"
                   "\"platform\":%s,\"devices\":[%s]}",
                   farm->begin_ns, name, strategy, platform, devices->str);
}

/* Writes the line for the opening of a device, which includes the copies of the
   farm's constants. */
static void
opened (gpointer self, const HassOpened *f)
{
  const Lines *lines = self;
  hass_trace_line (lines->trace,
                   "{\"t\":%" G_GINT64_FORMAT
                   ",\"event\":\"open\",\"device\":\"%s\""
                   ",\"begin\":%" G_GINT64_FORMAT ",\"ok\":%s}",
                   f->end_ns, device_name (lines, f->device), f->begin_ns,
                   f->ok ? "true" : "false");
}

static void
round_begun (gpointer self, const HassRoundFact *f)
{
  const Lines *lines = self;
  hass_trace_line (lines->trace,
                   "{\"t\":%" G_GINT64_FORMAT
                   ",\"event\":\"round\",\"round\":%" G_GUINT64_FORMAT
                   ",\"units\":%u}",
                   f->at_ns, f->round->number, f->round->n_units);
}

static void
round_ended (gpointer self, const HassRoundFact *f)
{
  const Lines *lines = self;
  hass_trace_line (lines->trace,
                   "{\"t\":%" G_GINT64_FORMAT
                   ",\"event\":\"end\",\"round\":%" G_GUINT64_FORMAT "}",
                   f->at_ns, f->round->number);
}

static void
granted (gpointer self, const HassGranted *f)
{
  const Lines *lines = self;
  hass_trace_line (lines->trace,
                   "{\"t\":%" G_GINT64_FORMAT
                   ",\"event\":\"grant\",\"round\":%" G_GUINT64_FORMAT
                   ",\"device\":\"%s\",\"first\":%" G_GUINT64_FORMAT
                   ",\"units\":%" G_GUINT64_FORMAT "}",
                   f->at_ns, f->round->number, device_name (lines, f->device),
                   f->grant->first, f->grant->taken);
}

static void
pulled (gpointer self, const HassPulled *f)
{
  const Lines *lines = self;
  hass_trace_line (lines->trace,
                   "{\"t\":%" G_GINT64_FORMAT
                   ",\"event\":\"pull\",\"round\":%" G_GUINT64_FORMAT
                   ",\"core\":%u,\"begin\":%" G_GINT64_FORMAT
                   ",\"first\":%u,\"units\":%u}",
                   f->end_ns, f->round->number, f->worker, f->begin_ns,
                   f->extent.first, f->extent.n);
}

static void
failed (const Lines *lines, const HassPartFact *f)
{
  hass_trace_line (lines->trace,
                   "{\"t\":%" G_GINT64_FORMAT
                   ",\"event\":\"failed\",\"round\":%" G_GUINT64_FORMAT
                   ",\"device\":\"%s\",\"begin\":%" G_GINT64_FORMAT
                   ",\"first\":%u,\"units\":%u,\"bytes\":%" G_GUINT64_FORMAT
                   "}",
                   f->end_ns, f->round->number, device_name (lines, f->device),
                   f->start_ns, f->extent.first, f->extent.n, f->in_bytes);
}

static void
part (gpointer self, const HassPartFact *f)
{
  const Lines *lines = self;
  const HassStages *s = f->stages;
  if (f->failed)
    {
      failed (lines, f);
      return;
    }
  hass_trace_line (lines->trace,
                   "{\"t\":%" G_GINT64_FORMAT
                   ",\"event\":\"bundle\",\"round\":%" G_GUINT64_FORMAT
                   ",\"device\":\"%s\",\"first\":%u,\"units\":%u,"
                   "\"bytes\":%" G_GUINT64_FORMAT ",\"in\":[%" G_GINT64_FORMAT
                   ",%" G_GINT64_FORMAT "],\"kernel\":[%" G_GINT64_FORMAT
                   ",%" G_GINT64_FORMAT "],\"out\":[%" G_GINT64_FORMAT
                   ",%" G_GINT64_FORMAT "]}",
                   f->end_ns, f->round->number, device_name (lines, f->device),
                   f->extent.first, f->extent.n, f->in_bytes, s->begin_ns[0],
                   s->end_ns[0], s->begin_ns[1], s->end_ns[1], s->begin_ns[2],
                   s->end_ns[2]);
}

static void
completed (gpointer self, const HassCompleted *f)
{
  const Lines *lines = self;
  const HassCompletion *told = f->told;
  char h2d[JSON_NUMBER_BYTES], kernel[JSON_NUMBER_BYTES],
      d2h[JSON_NUMBER_BYTES];
  hass_trace_line (
      lines->trace,
      "{\"t\":%" G_GINT64_FORMAT
      ",\"event\":\"done\",\"round\":%" G_GUINT64_FORMAT
      ",\"device\":\"%s\",\"units\":%" G_GUINT64_FORMAT
      ",\"start\":%" G_GINT64_FORMAT
      ",\"h2d\":%s,\"kernel\":%s,\"d2h\":%s,\"failed\":%s}",
      told->end_ns, f->round->number, device_name (lines, told->device),
      told->units, told->start_ns, json_number (h2d, "%.0f", told->h2d_ns),
      json_number (kernel, "%.0f", told->kernel_ns),
      json_number (d2h, "%.0f", told->d2h_ns), told->failed ? "true" : "false");
}

const HassListenerOps hass_trace_ops = {
  .open = open_trace,
  .begun = begun,
  .opened = opened,
  .round_begun = round_begun,
  .granted = granted,
  .pulled = pulled,
  .part = part,
  .completed = completed,
  .round_ended = round_ended,
  .over = over,
  .free = lines_free,
};
