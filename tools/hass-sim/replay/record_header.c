/* SPDX-License-Identifier: MIT */
/* record_header.c: the header of a farm in a record.
   Thread safety: any thread. */
#include "engine/observe/observe.h"
#include "record_read.h"

#define MOST_CORES 4096 /* as in a platform file */

void
record_farm_free (gpointer data)
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
farm_new (const RecordReader *r)
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
read_known (const RecordReader *r, JsonObject *o, HassProfileRate *known)
{
  guint64 runs;
  if (!json_object_has_member (o, "known_runs"))
    return TRUE;
  if (!record_number (r, o, "known_work_per_ns", 0, 1e18, &known->work_per_ns)
      || !record_number (r, o, "known_latency_ns", 0, 1e18, &known->latency_ns)
      || !record_whole (r, o, "known_runs", 0, G_MAXUINT, &runs))
    return FALSE;
  known->runs = (guint)runs;
  return TRUE;
}

static gboolean
read_device (const RecordReader *r, JsonObject *o, guint d)
{
  static const char *const kinds[] = { "cpu", "gpu", NULL };
  static const char *const copies[]
      = { "direct_bytes", "registered_bytes", "staged_bytes" };
  HassDeviceTraits *t = &r->farm->devices[d];
  char *name, *model;
  guint kind;
  guint64 cores, depth, link;
  if (!record_string (r, o, "name", &name)
      || !record_word (r, o, "kind", kinds, &kind)
      || !record_string (r, o, "model", &model)
      || !record_whole (r, o, "cores", 0, 1 << 20, &cores)
      || !record_whole (r, o, "width", 0, 1e15, &t->width)
      || !record_number (r, o, "latency_ns", 0, 1e15, &t->latency_ns)
      || !record_number (r, o, "link_bytes_per_ns", 0, 1e15,
                         &t->link_bytes_per_ns)
      || !record_number (r, o, "work_per_ns", 0, 1e18, &t->work_per_ns)
      || !record_whole (r, o, "max_in_flight", 1, 1024, &depth)
      || !record_whole (r, o, "link", 0, 1 << 20, &link)
      || !record_whole (r, o, "memory_bytes", 0, 1e18, &t->memory_bytes)
      || !record_whole (r, o, "part_bytes", 0, 1e18, &t->part_bytes)
      || !read_known (r, o, &r->farm->known[d]))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (copies); i++)
    if (json_object_has_member (o, copies[i])
        && !record_whole (r, o, copies[i], 0, 1e18,
                          &r->farm->copied[3 * d + i]))
      return FALSE;
  if (kind == 0 && (d > 0 || cores == 0 || cores > MOST_CORES))
    return record_broken (r,
                          "device %u: a CPU pool is the first device and has "
                          "1 to %d cores",
                          d, MOST_CORES);
  t->name = name ? name : "?";
  t->model = model;
  t->kind = kind == 0 ? HASS_DEVICE_CPU : HASS_DEVICE_GPU;
  t->cores = (guint)cores;
  t->max_in_flight = (guint)depth;
  t->link = (guint)link;
  return TRUE;
}

static gboolean
read_devices (const RecordReader *r, JsonObject *o)
{
  RecordFarm *f = r->farm;
  JsonNode *node = json_object_get_member (o, "devices");
  if (!node || !JSON_NODE_HOLDS_ARRAY (node))
    return record_broken (r, "'devices' is not an array");
  JsonArray *list = json_node_get_array (node);
  guint n = json_array_get_length (list);
  if (n == 0 || n > 1024)
    return record_broken (r, "there are %u devices, not 1 to 1024", n);
  f->n_devices = n;
  f->devices = g_new0 (HassDeviceTraits, n);
  f->known = g_new0 (HassProfileRate, n);
  f->copied = g_new0 (guint64, 3 * n);
  for (guint d = 0; d < n; d++)
    {
      JsonNode *device = json_array_get_element (list, d);
      if (!JSON_NODE_HOLDS_OBJECT (device))
        return record_broken (r, "device %u is not an object", d);
      if (!read_device (r, json_node_get_object (device), d))
        return FALSE;
    }
  return TRUE;
}

static gboolean
read_constants (const RecordReader *r, JsonObject *o)
{
  JsonNode *node = json_object_get_member (o, "constants");
  if (!node || !JSON_NODE_HOLDS_ARRAY (node))
    return record_broken (r, "'constants' is not an array");
  JsonArray *list = json_node_get_array (node);
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonNode *bytes = json_array_get_element (list, i);
      double n = record_is_number (bytes) ? json_node_get_double (bytes) : -1;
      if (!(n >= 0 && n <= 1e15))
        return record_broken (
            r, "constant %u is not a number of bytes from 0 to 1e15", i);
      r->farm->constant_bytes += (guint64)n;
    }
  return TRUE;
}

/* Members that records of earlier versions lack: then an element has one
   thread, and GPUs get any number of units. */
static gboolean
read_later_members (const RecordReader *r, JsonObject *o)
{
  static const char threads[] = "element_threads", multiple[] = "gpu_multiple";
  r->farm->element_threads = 1;
  return (!json_object_has_member (o, threads)
          || record_whole (r, o, threads, 0, 1e18, &r->farm->element_threads))
         && (!json_object_has_member (o, multiple)
             || record_whole (r, o, multiple, 0, 1e9, &r->farm->gpu_multiple));
}

gboolean
record_header (RecordReader *r, JsonObject *o)
{
  static const char *const kinds[]
      = { "partition", "combine", "indivisible", "function", NULL };
  static const char *const costs[] = { "equal", "sized", "unknown", NULL };
  static const char *const engines[] = { "live", "virtual", NULL };
  guint kind, cost, engine;
  guint64 version;
  RecordFarm *f = r->farm = farm_new (r);
  g_ptr_array_add (r->farms, f);
  if (!record_whole (r, o, "hass_record", 1, G_MAXINT, &version))
    return FALSE;
  if (version != HASS_RECORD_VERSION)
    return record_broken (r,
                          "format version %" G_GUINT64_FORMAT
                          "; this program reads "
                          "version %d",
                          version, HASS_RECORD_VERSION);
  if (!record_string (r, o, "farm", &f->farm)
      || !record_word (r, o, "kind", kinds, &kind)
      || !record_word (r, o, "cost", costs, &cost)
      || !record_word (r, o, "engine", engines, &engine)
      || !record_string (r, o, "platform", &f->platform)
      || !record_string (r, o, "strategy", &f->strategy)
      || !record_whole (r, o, "seed", 0, 9.3e18, &f->seed)
      || !record_string (r, o, "date", &f->date)
      || !record_string (r, o, "host", &f->host)
      || !record_whole (r, o, "round_loads", 0, 1e18, &f->round_loads)
      || !read_later_members (r, o) || !read_constants (r, o)
      || !read_devices (r, o))
    return FALSE;
  if (!f->farm || !f->strategy)
    return record_broken (r, "'farm' and 'strategy' are needed");
  f->kind = 1 << kind;
  f->cost = (HassCostClass)cost;
  f->live = engine == 0;
  return TRUE;
}
