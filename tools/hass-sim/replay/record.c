/* SPDX-License-Identifier: MIT */
/* record.c: reads a record file.

   DESIGN. A line is the header of a farm (record_header.c) or one of its
   events, which are read here; record_members.c reports invalid members.

   Thread safety: any thread. */
#include "record.h"

#include <math.h>

#include "draw/json_line.h"
#include "hass/error.h"
#include "record_read.h"

#define PULL_COLUMNS 12
#define PART_COLUMNS 17

/* -- Events ------------------------------------------------------------- */

static gboolean
read_round (RecordReader *r, JsonObject *o)
{
  RecordRound n = { 0 };
  if (!record_whole (r, o, "round", 0, 1e18, &n.number)
      || !record_whole (r, o, "rounds", 1, 1e18, &n.n)
      || !record_whole (r, o, "first", 0, 1e18, &n.first)
      || !record_whole (r, o, "span", 0, 1e18, &n.span)
      || !record_whole (r, o, "units", 0, n.span, &n.units)
      || !record_whole (r, o, "loads", 0, 1e18, &n.loads)
      || !record_whole (r, o, "block", 0, 1e18, &n.block)
      || !record_number (r, o, "begin", 0, 1e18, &n.begin)
      || !record_number (r, o, "end", n.begin, 1e18, &n.end)
      || !record_number (r, o, "work", 0, 1e300, &n.work))
    return FALSE;
  if (json_object_has_member (o, "cpu_only")
      && (!record_whole (r, o, "cpu_only", 0, n.units, &n.cpu_only)
          || !record_whole (r, o, "gpu_only", 0, n.units - n.cpu_only,
                            &n.gpu_only)))
    return FALSE;
  GArray *rounds = r->farm->rounds;
  if (rounds->len > 0
      && g_array_index (rounds, RecordRound, rounds->len - 1).first > n.first)
    return record_broken (r, "rounds are not in order of their first units");
  g_array_append_val (rounds, n);
  return TRUE;
}

/* Returns: the @n numbers of an array; NULL with an error. */
static double *
numbers (const RecordReader *r, JsonObject *o, const char *name, guint64 n)
{
  JsonNode *node = json_object_get_member (o, name);
  JsonArray *list = node && JSON_NODE_HOLDS_ARRAY (node)
                        ? json_node_get_array (node)
                        : NULL;
  if (!list || json_array_get_length (list) != n)
    {
      record_broken (r, "'%s' is not an array of %.15g numbers", name,
                     (double)n);
      return NULL;
    }
  double *v = g_new (double, n + 1);
  for (guint i = 0; i < n; i++)
    {
      JsonNode *item = json_array_get_element (list, i);
      v[i] = record_is_number (item) ? json_node_get_double (item) : -1;
      if (!(v[i] >= 0 && v[i] <= 1e18))
        {
          record_broken (r, "'%s', number %u is not in 0 to 1e18", name, i);
          g_free (v);
          return NULL;
        }
    }
  return v;
}

/* Returns: the order, if it names each unit once. */
static guint32 *
permutation (const RecordReader *r, const double *v, guint64 n)
{
  g_autofree gboolean *seen = g_new0 (gboolean, n + 1);
  guint32 *order = g_new (guint32, n + 1);
  for (guint64 i = 0; i < n; i++)
    {
      if (v[i] != floor (v[i]) || v[i] >= n || seen[(guint64)v[i]])
        {
          record_broken (
              r, "'order', number %.15g: unit %.15g is not there, or twice",
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
read_units (RecordReader *r, JsonObject *o)
{
  GArray *rounds = r->farm->rounds;
  const RecordRound *round
      = rounds->len > 0 ? &g_array_index (rounds, RecordRound, rounds->len - 1)
                        : NULL;
  RecordUnits u = { 0 };
  if (!record_whole (r, o, "first", 0, 1e18, &u.first))
    return FALSE;
  if (!round || round->first != u.first)
    return record_broken (r,
                          "the units from %.15g on follow no round of theirs",
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
read_opening (RecordReader *r, JsonObject *o)
{
  RecordOpening v = { 0 };
  guint64 device;
  if (!record_whole (r, o, "device", 0, r->farm->n_devices - 1, &device)
      || !record_number (r, o, "begin", 0, 1e18, &v.begin)
      || !record_number (r, o, "end", v.begin, 1e18, &v.end)
      || !record_truth (r, o, "ok", &v.ok))
    return FALSE;
  v.device = (guint)device;
  g_array_append_val (r->farm->openings, v);
  return TRUE;
}

static gboolean
fill_row (const RecordReader *r, guint at, const double *v, gboolean part,
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
  if (row->n == 0 || row->n > row->units || row->units > row->span)
    return record_broken (
        r,
        "row %u: %.15g units of %.15g pulls or parts over a span of %.15g "
        "cannot be",
        at, (double)row->units, (double)row->n, (double)row->span);
  if (row->end < row->begin)
    return record_broken (r,
                          "row %u: it ends at %.15g, before its begin at %.15g",
                          at, row->end, row->begin);
  return TRUE;
}

static gboolean
read_rows (RecordReader *r, JsonObject *o, guint who, gboolean part)
{
  guint columns = part ? PART_COLUMNS : PULL_COLUMNS;
  JsonNode *node = json_object_get_member (o, "rows");
  if (!node || !JSON_NODE_HOLDS_ARRAY (node))
    return record_broken (r, "'rows' is not an array");
  JsonArray *list = json_node_get_array (node);
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonNode *item = json_array_get_element (list, i);
      JsonArray *row
          = JSON_NODE_HOLDS_ARRAY (item) ? json_node_get_array (item) : NULL;
      double v[PART_COLUMNS] = { 0 };
      RecordRow filled = { .who = who };
      if (!row || json_array_get_length (row) != columns)
        return record_broken (r, "row %u has %u numbers, not %u", i,
                              row ? json_array_get_length (row) : 0, columns);
      for (guint c = 0; c < columns; c++)
        {
          JsonNode *cell = json_array_get_element (row, c);
          v[c] = record_is_number (cell) ? json_node_get_double (cell) : -1;
          if (!(v[c] >= 0 && v[c] <= 1e18))
            return record_broken (r, "row %u, number %u is not in 0 to 1e18", i,
                                  c);
        }
      if (!fill_row (r, i, v, part, &filled))
        return FALSE;
      g_array_append_val (part ? r->farm->parts : r->farm->pulls, filled);
    }
  return TRUE;
}

static gboolean
read_pulls (RecordReader *r, JsonObject *o)
{
  const HassDeviceTraits *cpu = &r->farm->devices[0];
  guint64 core;
  return record_whole (
             r, o, "core", 0,
             cpu->kind == HASS_DEVICE_CPU ? MAX (cpu->cores, 1) - 1 : 0, &core)
         && read_rows (r, o, (guint)core, FALSE);
}

static gboolean
read_parts (RecordReader *r, JsonObject *o)
{
  guint64 d;
  if (!record_whole (r, o, "device", 0, r->farm->n_devices - 1, &d))
    return FALSE;
  if (r->farm->devices[d].kind != HASS_DEVICE_GPU)
    return record_broken (r, "device %.15g computes no parts", (double)d);
  return read_rows (r, o, (guint)d, TRUE);
}

/* Checks that the units of the rounds are the farm's. */
static gboolean
check_rounds (const RecordReader *r)
{
  const RecordFarm *f = r->farm;
  for (guint i = 0; i < f->rounds->len; i++)
    {
      const RecordRound *n = &g_array_index (f->rounds, RecordRound, i);
      if (n->first + n->span > f->n_units)
        return record_broken (r,
                              "round %.15g has the units %.15g to %.15g, but "
                              "the farm has only %.15g",
                              (double)n->number, (double)n->first,
                              (double)n->first + (double)n->span - 1,
                              (double)f->n_units);
    }
  return TRUE;
}

/* Checks that the units of the rows are the farm's. */
static gboolean
check_rows (const RecordReader *r, const GArray *rows, const char *what)
{
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *row = &g_array_index (rows, RecordRow, i);
      if (row->first + row->span > r->farm->n_units)
        return record_broken (
            r, "%s of the units %.15g to %.15g, but the farm has only %.15g",
            what, (double)row->first, (double)(row->first + row->span - 1),
            (double)r->farm->n_units);
    }
  return TRUE;
}

static gboolean
read_end (RecordReader *r, JsonObject *o)
{
  RecordFarm *f = r->farm;
  gboolean ok;
  guint64 covered = 0;
  if (!record_number (r, o, "at", 0, 1e18, &f->makespan)
      || !record_whole (r, o, "units", 0, 4e9, &f->n_units)
      || !record_truth (r, o, "ok", &ok))
    return FALSE;
  f->failed = !ok;
  for (guint i = 0; i < f->rounds->len; i++)
    covered += g_array_index (f->rounds, RecordRound, i).units;
  if (covered != f->n_units && !f->failed)
    return record_broken (r, "the rounds have %.15g units, but the farm %.15g",
                          (double)covered, (double)f->n_units);
  if (!check_rounds (r) || !check_rows (r, f->pulls, "a pull")
      || !check_rows (r, f->parts, "a part"))
    return FALSE;
  r->farm = NULL;
  return TRUE;
}

static gboolean
read_event (RecordReader *r, JsonObject *o)
{
  static const char *const events[]
      = { "open", "round", "units", "pulls", "parts", "end", NULL };
  static gboolean (*const readers[]) (RecordReader *, JsonObject *) = {
    read_opening, read_round, read_units, read_pulls, read_parts, read_end
  };
  guint event;
  return record_word (r, o, "event", events, &event) && readers[event](r, o);
}

static gboolean
read_line (RecordReader *r, const char *text)
{
  g_autoptr (GError) inner = NULL;
  g_autoptr (JsonNode) root = draw_json_line (text, &inner);
  if (!root)
    return record_broken (r, "%s", inner->message);
  if (!JSON_NODE_HOLDS_OBJECT (root))
    return record_broken (r, "it is no JSON object");
  JsonObject *o = json_node_get_object (root);
  gboolean header = json_object_has_member (o, "hass_record");
  if (header && r->farm)
    return record_broken (r, "a header before the end of the farm of line %u",
                          r->farm->line);
  if (!header && !r->farm)
    return record_broken (r, "there is no header before it");
  return header ? record_header (r, o) : read_event (r, o);
}

/* Reads all farms of a record. Returns: at least one RecordFarm, in an array
   with a free function; NULL with HASS_ERROR_IO or HASS_ERROR_INVALID and a
   message with file and line. */
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
  RecordReader r = { .path = path,
                     .line = 1,
                     .farms = g_ptr_array_new_with_free_func (record_farm_free),
                     .error = error };
  gboolean ok = TRUE;
  for (guint i = 0; lines[i] && ok; i++)
    {
      r.line = i + 1;
      if (*g_strstrip (lines[i]))
        ok = read_line (&r, lines[i]);
    }
  if (ok && r.farm)
    ok = record_broken (&r, "the farm of line %u has no end", r.farm->line);
  if (ok && r.farms->len == 0)
    ok = record_broken (&r, "there is no record in it");
  if (ok)
    return r.farms;
  g_ptr_array_unref (r.farms);
  return NULL;
}
