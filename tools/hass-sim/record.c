/* SPDX-License-Identifier: MIT */
/* record.c: reads a record file.
   Thread safety: any thread. */
#include "record.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "engine/record.h"
#include "hass/error.h"

#define PULL_COLUMNS 12
#define PART_COLUMNS 17

typedef struct
{
  const char *path;
  guint line;
  RecordFarm *farm; /* NULL: a header is due */
  GPtrArray *farms;
  GError **error;
} Reader;

static gboolean G_GNUC_PRINTF (2, 3)
    broken (const Reader *r, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (r->error, HASS_ERROR, HASS_ERROR_INVALID,
               "record file %s, line %u: %s", r->path, r->line, what);
  return FALSE;
}

/* -- Members ------------------------------------------------------------ */

static gboolean
is_number (JsonNode *node)
{
  GType type = node && JSON_NODE_HOLDS_VALUE (node)
                   ? json_node_get_value_type (node)
                   : G_TYPE_NONE;
  return type == G_TYPE_INT64 || type == G_TYPE_DOUBLE;
}

static gboolean
number (const Reader *r, JsonObject *o, const char *name, double min,
        double max, double *value)
{
  JsonNode *node = json_object_get_member (o, name);
  if (!node)
    return broken (r, "'%s' is missing", name);
  if (!is_number (node))
    return broken (r, "'%s' is not a number", name);
  double v = json_node_get_double (node);
  if (!(v >= min && v <= max))
    return broken (r, "'%s' is %g, not in %g to %g", name, v, min, max);
  *value = v;
  return TRUE;
}

static gboolean
whole (const Reader *r, JsonObject *o, const char *name, double min, double max,
       guint64 *value)
{
  double v;
  if (!number (r, o, name, min, max, &v))
    return FALSE;
  if (v != floor (v))
    return broken (r, "'%s' is %g, not a whole number", name, v);
  *value = (guint64)v;
  return TRUE;
}

static gboolean
truth (const Reader *r, JsonObject *o, const char *name, gboolean *value)
{
  JsonNode *node = json_object_get_member (o, name);
  if (!node || !JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_BOOLEAN)
    return broken (r, "'%s' is not true or false", name);
  *value = json_node_get_boolean (node);
  return TRUE;
}

/* A string or null; the farm owns it. */
static gboolean
string (const Reader *r, JsonObject *o, const char *name, char **value)
{
  JsonNode *node = json_object_get_member (o, name);
  *value = NULL;
  if (!node)
    return broken (r, "'%s' is missing", name);
  if (JSON_NODE_HOLDS_NULL (node))
    return TRUE;
  if (!JSON_NODE_HOLDS_VALUE (node)
      || json_node_get_value_type (node) != G_TYPE_STRING)
    return broken (r, "'%s' is not a string", name);
  *value = g_strdup (json_node_get_string (node));
  g_ptr_array_add (r->farm->strings, *value);
  return TRUE;
}

/* One of the words, which ends with NULL. */
static gboolean
word (const Reader *r, JsonObject *o, const char *name,
      const char *const *words, guint *value)
{
  char *text;
  if (!string (r, o, name, &text))
    return FALSE;
  for (guint i = 0; words[i]; i++)
    if (text && strcmp (text, words[i]) == 0)
      {
        *value = i;
        return TRUE;
      }
  g_autofree char *list = g_strjoinv (", ", (char **)words);
  return broken (r, "'%s' is '%s'; known are %s", name, text ? text : "null",
                 list);
}

/* -- The header --------------------------------------------------------- */

static void
farm_free (gpointer data)
{
  RecordFarm *f = data;
  g_free (f->path);
  g_free (f->devices);
  g_free (f->known);
  g_free (f->copied);
  g_ptr_array_unref (f->strings);
  g_array_unref (f->rounds);
  for (guint i = 0; i < f->units->len; i++)
    {
      g_free (g_array_index (f->units, RecordUnits, i).order);
      g_free (g_array_index (f->units, RecordUnits, i).work);
    }
  g_array_unref (f->units);
  g_array_unref (f->openings);
  g_array_unref (f->pulls);
  g_array_unref (f->parts);
  g_free (f);
}

static RecordFarm *
farm_new (const Reader *r)
{
  RecordFarm *f = g_new0 (RecordFarm, 1);
  f->path = g_strdup (r->path);
  f->line = r->line;
  f->strings = g_ptr_array_new_with_free_func (g_free);
  f->rounds = g_array_new (FALSE, FALSE, sizeof (RecordRound));
  f->units = g_array_new (FALSE, FALSE, sizeof (RecordUnits));
  f->openings = g_array_new (FALSE, FALSE, sizeof (RecordOpening));
  f->pulls = g_array_new (FALSE, FALSE, sizeof (RecordRow));
  f->parts = g_array_new (FALSE, FALSE, sizeof (RecordRow));
  return f;
}

static gboolean
read_known (const Reader *r, JsonObject *o, HassProfileRate *known)
{
  guint64 runs;
  if (!json_object_has_member (o, "known_runs"))
    return TRUE;
  if (!number (r, o, "known_work_per_ns", 0, 1e18, &known->work_per_ns)
      || !number (r, o, "known_latency_ns", 0, 1e18, &known->latency_ns)
      || !whole (r, o, "known_runs", 0, G_MAXUINT, &runs))
    return FALSE;
  known->runs = (guint)runs;
  return TRUE;
}

static gboolean
read_device (const Reader *r, JsonObject *o, guint d)
{
  static const char *const kinds[] = { "cpu", "gpu", NULL };
  static const char *const copies[]
      = { "direct_bytes", "registered_bytes", "staged_bytes" };
  HassDeviceTraits *t = &r->farm->devices[d];
  char *name, *model;
  guint kind;
  guint64 cores, depth, link;
  if (!string (r, o, "name", &name) || !word (r, o, "kind", kinds, &kind)
      || !string (r, o, "model", &model)
      || !whole (r, o, "cores", 0, 1 << 20, &cores)
      || !whole (r, o, "width", 0, 1e15, &t->width)
      || !number (r, o, "latency_ns", 0, 1e15, &t->latency_ns)
      || !number (r, o, "link_bytes_per_ns", 0, 1e15, &t->link_bytes_per_ns)
      || !number (r, o, "work_per_ns", 0, 1e18, &t->work_per_ns)
      || !whole (r, o, "max_in_flight", 1, 1024, &depth)
      || !whole (r, o, "link", 0, 1 << 20, &link)
      || !whole (r, o, "memory_bytes", 0, 1e18, &t->memory_bytes)
      || !whole (r, o, "part_bytes", 0, 1e18, &t->part_bytes)
      || !read_known (r, o, &r->farm->known[d]))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (copies); i++)
    if (json_object_has_member (o, copies[i])
        && !whole (r, o, copies[i], 0, 1e18, &r->farm->copied[3 * d + i]))
      return FALSE;
  if (kind == 0 && (d > 0 || cores == 0))
    return broken (r, "device %u: a CPU pool is the first device and has cores",
                   d);
  t->name = name ? name : "?";
  t->model = model;
  t->kind = kind == 0 ? HASS_DEVICE_CPU : HASS_DEVICE_GPU;
  t->cores = (guint)cores;
  t->max_in_flight = (guint)depth;
  t->link = (guint)link;
  return TRUE;
}

static gboolean
read_devices (const Reader *r, JsonObject *o)
{
  RecordFarm *f = r->farm;
  JsonNode *node = json_object_get_member (o, "devices");
  if (!node || !JSON_NODE_HOLDS_ARRAY (node))
    return broken (r, "'devices' is not an array");
  JsonArray *list = json_node_get_array (node);
  guint n = json_array_get_length (list);
  if (n == 0 || n > 1024)
    return broken (r, "there are %u devices, not 1 to 1024", n);
  f->n_devices = n;
  f->devices = g_new0 (HassDeviceTraits, n);
  f->known = g_new0 (HassProfileRate, n);
  f->copied = g_new0 (guint64, 3 * n);
  for (guint d = 0; d < n; d++)
    {
      JsonNode *device = json_array_get_element (list, d);
      if (!JSON_NODE_HOLDS_OBJECT (device))
        return broken (r, "device %u is not an object", d);
      if (!read_device (r, json_node_get_object (device), d))
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_constants (const Reader *r, JsonObject *o)
{
  JsonNode *node = json_object_get_member (o, "constants");
  if (!node || !JSON_NODE_HOLDS_ARRAY (node))
    return broken (r, "'constants' is not an array");
  JsonArray *list = json_node_get_array (node);
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonNode *bytes = json_array_get_element (list, i);
      if (!is_number (bytes) || json_node_get_double (bytes) < 0)
        return broken (r, "constant %u is not a number of bytes", i);
      r->farm->constant_bytes += (guint64)json_node_get_double (bytes);
    }
  return TRUE;
}

static gboolean
read_header (Reader *r, JsonObject *o)
{
  static const char *const kinds[]
      = { "partition", "combine", "indivisible", "function", NULL };
  static const char *const costs[] = { "equal", "sized", "unknown", NULL };
  static const char *const engines[] = { "live", "virtual", NULL };
  guint kind, cost, engine;
  guint64 version;
  RecordFarm *f = r->farm = farm_new (r);
  g_ptr_array_add (r->farms, f);
  if (!whole (r, o, "hass_record", 1, G_MAXINT, &version))
    return FALSE;
  if (version != HASS_RECORD_VERSION)
    return broken (r,
                   "format version %" G_GUINT64_FORMAT "; this program reads "
                   "version %d",
                   version, HASS_RECORD_VERSION);
  if (!string (r, o, "farm", &f->farm) || !word (r, o, "kind", kinds, &kind)
      || !word (r, o, "cost", costs, &cost)
      || !word (r, o, "engine", engines, &engine)
      || !string (r, o, "platform", &f->platform)
      || !string (r, o, "strategy", &f->strategy)
      || !whole (r, o, "seed", 0, 1.9e19, &f->seed)
      || !string (r, o, "date", &f->date) || !string (r, o, "host", &f->host)
      || !whole (r, o, "round_loads", 0, 1e18, &f->round_loads)
      || !read_constants (r, o) || !read_devices (r, o))
    return FALSE;
  if (!f->farm || !f->strategy)
    return broken (r, "'farm' and 'strategy' are needed");
  f->kind = 1 << kind;
  f->cost = (HassCostClass)cost;
  f->live = engine == 0;
  return TRUE;
}

/* -- Events ------------------------------------------------------------- */

static gboolean
read_round (Reader *r, JsonObject *o)
{
  RecordRound n = { 0 };
  if (!whole (r, o, "round", 0, 1e18, &n.number)
      || !whole (r, o, "rounds", 1, 1e18, &n.n)
      || !whole (r, o, "first", 0, 1e18, &n.first)
      || !whole (r, o, "span", 0, 1e18, &n.span)
      || !whole (r, o, "units", 0, n.span, &n.units)
      || !whole (r, o, "loads", 0, 1e18, &n.loads)
      || !whole (r, o, "block", 0, 1e18, &n.block)
      || !number (r, o, "begin", 0, 1e18, &n.begin)
      || !number (r, o, "end", n.begin, 1e18, &n.end)
      || !number (r, o, "work", 0, 1e300, &n.work))
    return FALSE;
  GArray *rounds = r->farm->rounds;
  if (rounds->len > 0
      && g_array_index (rounds, RecordRound, rounds->len - 1).first > n.first)
    return broken (r, "rounds are not in order of their first units");
  g_array_append_val (rounds, n);
  return TRUE;
}

/* The numbers of an array of so many; NULL with an error. */
static double *
numbers (const Reader *r, JsonObject *o, const char *name, guint64 n)
{
  JsonNode *node = json_object_get_member (o, name);
  JsonArray *list = node && JSON_NODE_HOLDS_ARRAY (node)
                        ? json_node_get_array (node)
                        : NULL;
  if (!list || json_array_get_length (list) != n)
    {
      broken (r, "'%s' is not an array of %g numbers", name, (double)n);
      return NULL;
    }
  double *v = g_new (double, n + 1);
  for (guint i = 0; i < n; i++)
    {
      JsonNode *item = json_array_get_element (list, i);
      v[i] = is_number (item) ? json_node_get_double (item) : -1;
      if (!(v[i] >= 0 && v[i] <= 1e18))
        {
          broken (r, "'%s', number %u is not in 0 to 1e18", name, i);
          g_free (v);
          return NULL;
        }
    }
  return v;
}

/* An order names each unit once. */
static guint32 *
permutation (const Reader *r, const double *v, guint64 n)
{
  g_autofree gboolean *seen = g_new0 (gboolean, n + 1);
  guint32 *order = g_new (guint32, n + 1);
  for (guint64 i = 0; i < n; i++)
    {
      if (v[i] != floor (v[i]) || v[i] >= n || seen[(guint64)v[i]])
        {
          broken (r, "'order', number %g: unit %g is not there, or twice",
                  (double)i, v[i]);
          g_free (order);
          return NULL;
        }
      order[i] = (guint32)v[i];
      seen[order[i]] = TRUE;
    }
  return order;
}

static gboolean
read_units (Reader *r, JsonObject *o)
{
  GArray *rounds = r->farm->rounds;
  const RecordRound *round
      = rounds->len > 0 ? &g_array_index (rounds, RecordRound, rounds->len - 1)
                        : NULL;
  RecordUnits u = { 0 };
  if (!whole (r, o, "first", 0, 1e18, &u.first))
    return FALSE;
  if (!round || round->first != u.first)
    return broken (r, "the units from %g on follow no round of theirs",
                   (double)u.first);
  u.n = round->units;
  if (json_object_has_member (o, "order"))
    {
      g_autofree double *v = numbers (r, o, "order", u.n);
      if (!v || !(u.order = permutation (r, v, u.n)))
        return FALSE;
    }
  if (json_object_has_member (o, "work")
      && !(u.work = numbers (r, o, "work", u.n)))
    {
      g_free (u.order);
      return FALSE;
    }
  g_array_append_val (r->farm->units, u);
  return TRUE;
}

static gboolean
read_opening (Reader *r, JsonObject *o)
{
  RecordOpening v = { 0 };
  guint64 device;
  if (!whole (r, o, "device", 0, r->farm->n_devices - 1, &device)
      || !number (r, o, "begin", 0, 1e18, &v.begin)
      || !number (r, o, "end", v.begin, 1e18, &v.end)
      || !truth (r, o, "ok", &v.ok))
    return FALSE;
  v.device = (guint)device;
  g_array_append_val (r->farm->openings, v);
  return TRUE;
}

static gboolean
fill_row (const Reader *r, guint at, const double *v, gboolean part,
          RecordRow *row)
{
  guint i = 0;
  row->first = (guint64)v[i++];
  row->span = (guint64)v[i++];
  row->units = (guint64)v[i++];
  row->n = (guint64)v[i++];
  row->grant = part ? v[i++] : v[i];
  row->begin = v[i++];
  row->end = v[i++];
  row->busy = v[i++];
  if (part)
    {
      row->h2d = v[i++];
      row->kernel = v[i++];
      row->d2h = v[i++];
      row->host = v[i++];
    }
  row->work = v[i++];
  row->elements = (guint64)v[i++];
  row->in_bytes = (guint64)v[i++];
  row->out_bytes = (guint64)v[i++];
  row->ok = v[i] != 0;
  if (row->units == 0 || row->n == 0 || row->units > row->span)
    return broken (r,
                   "row %u: %g units of %g pulls or parts over a span of %g "
                   "cannot be",
                   at, (double)row->units, (double)row->n, (double)row->span);
  if (row->end < row->begin)
    return broken (r, "row %u: it ends at %g, before its begin at %g", at,
                   row->end, row->begin);
  return TRUE;
}

static gboolean
read_rows (Reader *r, JsonObject *o, guint who, gboolean part)
{
  guint columns = part ? PART_COLUMNS : PULL_COLUMNS;
  JsonNode *node = json_object_get_member (o, "rows");
  if (!node || !JSON_NODE_HOLDS_ARRAY (node))
    return broken (r, "'rows' is not an array");
  JsonArray *list = json_node_get_array (node);
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonNode *item = json_array_get_element (list, i);
      JsonArray *row
          = JSON_NODE_HOLDS_ARRAY (item) ? json_node_get_array (item) : NULL;
      double v[PART_COLUMNS] = { 0 };
      RecordRow filled = { .who = who };
      if (!row || json_array_get_length (row) != columns)
        return broken (r, "row %u has %u numbers, not %u", i,
                       row ? json_array_get_length (row) : 0, columns);
      for (guint c = 0; c < columns; c++)
        {
          JsonNode *cell = json_array_get_element (row, c);
          v[c] = is_number (cell) ? json_node_get_double (cell) : -1;
          if (!(v[c] >= 0 && v[c] <= 1e18))
            return broken (r, "row %u, number %u is not in 0 to 1e18", i, c);
        }
      if (!fill_row (r, i, v, part, &filled))
        return FALSE;
      g_array_append_val (part ? r->farm->parts : r->farm->pulls, filled);
    }
  return TRUE;
}

static gboolean
read_pulls (Reader *r, JsonObject *o)
{
  const HassDeviceTraits *cpu = &r->farm->devices[0];
  guint64 core;
  return whole (r, o, "core", 0,
                cpu->kind == HASS_DEVICE_CPU ? MAX (cpu->cores, 1) - 1 : 0,
                &core)
         && read_rows (r, o, (guint)core, FALSE);
}

static gboolean
read_parts (Reader *r, JsonObject *o)
{
  guint64 d;
  if (!whole (r, o, "device", 0, r->farm->n_devices - 1, &d))
    return FALSE;
  if (r->farm->devices[d].kind != HASS_DEVICE_GPU)
    return broken (r, "device %g computes no parts", (double)d);
  return read_rows (r, o, (guint)d, TRUE);
}

/* All units that rows name lie in the rounds. */
static gboolean
check_rows (const Reader *r, const GArray *rows, const char *what)
{
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *row = &g_array_index (rows, RecordRow, i);
      if (row->first + row->span > r->farm->n_units)
        return broken (r, "%s of the units %g to %g, but the farm has only %g",
                       what, (double)row->first,
                       (double)(row->first + row->span - 1),
                       (double)r->farm->n_units);
    }
  return TRUE;
}

static gboolean
read_end (Reader *r, JsonObject *o)
{
  RecordFarm *f = r->farm;
  gboolean ok;
  guint64 covered = 0;
  if (!number (r, o, "at", 0, 1e18, &f->makespan)
      || !whole (r, o, "units", 0, 4e9, &f->n_units)
      || !truth (r, o, "ok", &ok))
    return FALSE;
  f->failed = !ok;
  for (guint i = 0; i < f->rounds->len; i++)
    covered += g_array_index (f->rounds, RecordRound, i).units;
  if (covered != f->n_units && !f->failed)
    return broken (r, "the rounds have %g units, but the farm %g",
                   (double)covered, (double)f->n_units);
  if (!check_rows (r, f->pulls, "a pull")
      || !check_rows (r, f->parts, "a part"))
    return FALSE;
  r->farm = NULL;
  return TRUE;
}

static gboolean
read_event (Reader *r, JsonObject *o)
{
  static const char *const events[]
      = { "open", "round", "units", "pulls", "parts", "end", NULL };
  static gboolean (*const readers[]) (Reader *, JsonObject *) = {
    read_opening, read_round, read_units, read_pulls, read_parts, read_end
  };
  guint event;
  return word (r, o, "event", events, &event) && readers[event](r, o);
}

static gboolean
read_line (Reader *r, const char *text)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  GError *inner = NULL;
  if (!json_parser_load_from_data (parser, text, -1, &inner))
    {
      broken (r, "it is no JSON: %s", inner->message);
      g_clear_error (&inner);
      return FALSE;
    }
  JsonNode *root = json_parser_get_root (parser);
  if (!root || !JSON_NODE_HOLDS_OBJECT (root))
    return broken (r, "it is no JSON object");
  JsonObject *o = json_node_get_object (root);
  gboolean header = json_object_has_member (o, "hass_record");
  if (header && r->farm)
    return broken (r, "a header before the end of the farm of line %u",
                   r->farm->line);
  if (!header && !r->farm)
    return broken (r, "there is no header before it");
  return header ? read_header (r, o) : read_event (r, o);
}

/* Reads all farms of a record. Returns an array of RecordFarm with a free
   function, at least one; NULL with HASS_ERROR_IO or HASS_ERROR_INVALID, with
   file and line. */
GPtrArray *
record_read (const char *path, GError **error)
{
  g_autofree char *text = NULL;
  GError *inner = NULL;
  if (!g_file_get_contents (path, &text, NULL, &inner))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "record file: %s",
                   inner->message);
      g_clear_error (&inner);
      return NULL;
    }
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  Reader r = { .path = path,
               .line = 1,
               .farms = g_ptr_array_new_with_free_func (farm_free),
               .error = error };
  gboolean ok = TRUE;
  for (guint i = 0; lines[i] && ok; i++)
    {
      r.line = i + 1;
      if (*g_strstrip (lines[i]))
        ok = read_line (&r, lines[i]);
    }
  if (ok && r.farm)
    ok = broken (&r, "the farm of line %u has no end", r.farm->line);
  if (ok && r.farms->len == 0)
    ok = broken (&r, "there is no record in it");
  if (ok)
    return r.farms;
  g_ptr_array_unref (r.farms);
  return NULL;
}
