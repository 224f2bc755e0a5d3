/* SPDX-License-Identifier: MIT */
/* trace.c: writes a line of a trace for each fact, in large pieces.
   Thread safety: see facts.h; lines by any thread. */
#include <pthread.h>

#include "json-private.h"
#include "observe-private.h"

/* Bytes of trace text that are collected before they are written to the file. A
   guess: smaller, and threads often wait for the file; larger, and more memory
   is used. */
#define PIECE (1 << 20)

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
  const HassFarmFacts *farm;
  pthread_mutex_t lock; /* for the fields below */
  HassTextFile file;
  GString *text; /* not yet written */
} Lines;

gpointer
hass_trace_new (const char *path, gboolean append)
{
  Lines *lines = g_new0 (Lines, 1);
  lines->path = g_strdup (path);
  lines->append = append;
  lines->text = g_string_sized_new (4096);
  pthread_mutex_init (&lines->lock, NULL);
  return lines;
}

static gboolean
open_trace (gpointer self, const HassFarmFacts *farm, GError **error)
{
  Lines *lines = self;
  lines->farm = farm;
  return hass_text_file_open (&lines->file, "trace", lines->path,
                              lines->append ? "a" : "w", error);
}

static void
write_out (Lines *lines)
{
  hass_text_file_write (&lines->file, lines->text->str, lines->text->len);
  g_string_truncate (lines->text, 0);
}

/* Writes what is left and closes the file. */
static gboolean
over (gpointer self, GError **error)
{
  Lines *lines = self;
  write_out (lines);
  return hass_text_file_close (&lines->file, error);
}

static void
lines_free (gpointer self)
{
  Lines *lines = self;
  if (lines->file.file)
    over (lines, NULL);
  pthread_mutex_destroy (&lines->lock);
  g_string_free (lines->text, TRUE);
  g_free (lines->path);
  g_free (lines);
}

/* Adds one line, given without its newline, to the trace. */
static void G_GNUC_PRINTF (2, 3) add (Lines *lines, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  pthread_mutex_lock (&lines->lock);
  g_string_append_vprintf (lines->text, format, args);
  g_string_append_c (lines->text, '\n');
  if (lines->text->len > PIECE)
    write_out (lines);
  pthread_mutex_unlock (&lines->lock);
  va_end (args);
}

static const char *
device_name (const Lines *lines, guint device)
{
  return lines->farm->devices[device].name;
}

/* Returns (transfer full): the member with the names of a pipeline's stages;
   of a farm nothing. */
static char *
stages_member (const HassFarmFacts *farm)
{
  GString *text = g_string_new (farm->n_classes > 0 ? ",\"stages\":[" : "");
  for (guint s = 0; s < farm->n_classes; s++)
    {
      g_autofree char *name = quoted (farm->classes[s].name);
      g_string_append_printf (text, "%s%s", s > 0 ? "," : "", name);
    }
  g_string_append (text, farm->n_classes > 0 ? "]" : "");
  return g_string_free (text, FALSE);
}

/* Writes the first line of a trace: the farm, its devices and stages. */
static void
begun (gpointer self)
{
  Lines *lines = self;
  const HassFarmFacts *farm = lines->farm;
  g_autofree char *name = quoted (farm->farm->name);
  g_autofree char *strategy = quoted (farm->strategy);
  g_autofree char *platform = quoted (farm->platform);
  g_autofree char *stages = stages_member (farm);
  g_autoptr (GString) devices = g_string_new (NULL);
  for (guint d = 0; d < farm->n_devices; d++)
    {
      const HassDeviceTraits *v = &farm->devices[d];
      g_autofree char *device = quoted (v->name);
      g_string_append_printf (
          devices, "%s{\"name\":%s,\"kind\":\"%s\",\"cores\":%u}",
          d > 0 ? "," : "", device, hass_device_kind_text (v->kind), v->cores);
    }
  add (lines,
       "{\"t\":%" G_GINT64_FORMAT
       ",\"event\":\"farm\",\"farm\":%s,\"kind\":\"%s\",\"strategy\":%s,"
       "\"platform\":%s,\"devices\":[%s]%s}",
       farm->begin_ns, name, hass_farm_kind_text (farm->farm->kind), strategy,
       platform, devices->str, stages);
}

/* Writes the line for the opening of a device, which includes the copies of the
   farm's constants. */
static void
opened (gpointer self, const HassOpened *f)
{
  Lines *lines = self;
  add (lines,
       "{\"t\":%" G_GINT64_FORMAT ",\"event\":\"open\",\"device\":\"%s\""
       ",\"begin\":%" G_GINT64_FORMAT ",\"ok\":%s}",
       f->end_ns, device_name (lines, f->device), f->begin_ns,
       f->ok ? "true" : "false");
}

static void
round_begun (gpointer self, const HassRoundFact *f)
{
  Lines *lines = self;
  add (lines,
       "{\"t\":%" G_GINT64_FORMAT
       ",\"event\":\"round\",\"round\":%" G_GUINT64_FORMAT
       ",\"units\":%" G_GUINT64_FORMAT "}",
       f->at_ns, f->round->number, hass_round_units (f->round));
}

static void
round_ended (gpointer self, const HassRoundFact *f)
{
  Lines *lines = self;
  add (lines,
       "{\"t\":%" G_GINT64_FORMAT
       ",\"event\":\"end\",\"round\":%" G_GUINT64_FORMAT "}",
       f->at_ns, f->round->number);
}

static void
granted (gpointer self, const HassGranted *f)
{
  Lines *lines = self;
  add (lines,
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
  Lines *lines = self;
  add (lines,
       "{\"t\":%" G_GINT64_FORMAT
       ",\"event\":\"pull\",\"round\":%" G_GUINT64_FORMAT
       ",\"core\":%u,\"begin\":%" G_GINT64_FORMAT ",\"first\":%u,\"units\":%u}",
       f->end_ns, f->round->number, f->worker, f->begin_ns, f->extent.first,
       f->extent.n);
}

static void
staged (gpointer self, const HassStaged *f)
{
  Lines *lines = self;
  add (lines,
       "{\"t\":%" G_GINT64_FORMAT ",\"event\":\"stage\",\"stage\":%u"
       ",\"core\":%u,\"begin\":%" G_GINT64_FORMAT
       ",\"first\":%" G_GUINT64_FORMAT ",\"tokens\":%u}",
       f->end_ns, f->stage, f->worker, f->begin_ns, f->first, f->n);
}

/* Writes a task of a dataflow. */
static void
computed (gpointer self, const HassComputed *f)
{
  Lines *lines = self;
  g_autofree char *codelet = quoted (f->codelet);
  g_autofree char *where
      = lines->farm->devices[f->device].kind == HASS_DEVICE_CPU
            ? g_strdup_printf ("\"core\":%u", f->worker)
            : g_strdup_printf ("\"device\":\"%s\"",
                               device_name (lines, f->device));
  g_autofree char *after
      = f->after > 0 ? g_strdup_printf ("%" G_GUINT64_FORMAT, f->after - 1)
                     : g_strdup ("null");
  add (lines,
       "{\"t\":%" G_GINT64_FORMAT
       ",\"event\":\"task\",\"task\":%" G_GUINT64_FORMAT
       ",\"codelet\":%s,%s,\"begin\":%" G_GINT64_FORMAT ",\"after\":%s}",
       f->end_ns, f->task, codelet, where, f->begin_ns, after);
}

/* Writes the stages at which a part was computed, of a farm nothing, into
   @text. Returns @text. */
static const char *
part_stages (const Lines *lines, const HassPartFact *f, char text[64])
{
  text[0] = '\0';
  if (lines->farm->n_classes > 0)
    g_snprintf (text, 64, ",\"stage\":%u,\"fused\":%u", f->stage, f->fused);
  return text;
}

static void
failed (Lines *lines, const HassPartFact *f)
{
  char stages[64];
  add (lines,
       "{\"t\":%" G_GINT64_FORMAT
       ",\"event\":\"failed\",\"round\":%" G_GUINT64_FORMAT
       ",\"device\":\"%s\",\"begin\":%" G_GINT64_FORMAT
       ",\"first\":%u,\"units\":%u,\"bytes\":%" G_GUINT64_FORMAT "%s}",
       f->end_ns, f->round->number, device_name (lines, f->device), f->start_ns,
       f->extent.first, f->extent.n, f->in_bytes,
       part_stages (lines, f, stages));
}

static void
part (gpointer self, const HassPartFact *f)
{
  Lines *lines = self;
  const HassStages *s = f->stages;
  char stages[64];
  if (f->failed)
    {
      failed (lines, f);
      return;
    }
  add (lines,
       "{\"t\":%" G_GINT64_FORMAT
       ",\"event\":\"bundle\",\"round\":%" G_GUINT64_FORMAT
       ",\"device\":\"%s\",\"first\":%u,\"units\":%u,"
       "\"bytes\":%" G_GUINT64_FORMAT ",\"in\":[%" G_GINT64_FORMAT
       ",%" G_GINT64_FORMAT "],\"kernel\":[%" G_GINT64_FORMAT
       ",%" G_GINT64_FORMAT "],\"out\":[%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
       "]%s}",
       f->end_ns, f->round->number, device_name (lines, f->device),
       f->extent.first, f->extent.n, f->in_bytes, s->begin_ns[0], s->end_ns[0],
       s->begin_ns[1], s->end_ns[1], s->begin_ns[2], s->end_ns[2],
       part_stages (lines, f, stages));
}

static void
completed (gpointer self, const HassCompleted *f)
{
  Lines *lines = self;
  const HassCompletion *told = f->told;
  char h2d[JSON_NUMBER_BYTES], kernel[JSON_NUMBER_BYTES],
      d2h[JSON_NUMBER_BYTES], setup[JSON_NUMBER_BYTES];
  add (lines,
       "{\"t\":%" G_GINT64_FORMAT
       ",\"event\":\"done\",\"round\":%" G_GUINT64_FORMAT
       ",\"device\":\"%s\",\"units\":%" G_GUINT64_FORMAT
       ",\"start\":%" G_GINT64_FORMAT
       ",\"setup\":%s,\"h2d\":%s,\"kernel\":%s,\"d2h\":%s,\"failed\":%s}",
       told->end_ns, f->round->number, device_name (lines, told->device),
       told->units, told->start_ns, json_number (setup, "%.0f", told->setup_ns),
       json_number (h2d, "%.0f", told->h2d_ns),
       json_number (kernel, "%.0f", told->kernel_ns),
       json_number (d2h, "%.0f", told->d2h_ns),
       told->failed ? "true" : "false");
}

const HassListenerOps hass_trace_ops = {
  .open = open_trace,
  .begun = begun,
  .opened = opened,
  .round_begun = round_begun,
  .granted = granted,
  .pulled = pulled,
  .staged = staged,
  .computed = computed,
  .part = part,
  .completed = completed,
  .round_ended = round_ended,
  .over = over,
  .free = lines_free,
};
