/* SPDX-License-Identifier: MIT */
/* record_file.c: writes a record as lines of JSON; doc/record-format.md.

   DESIGN. The lines of a farm are made in memory and written at once when the
   farm has ended, so that the lines of concurrent farms do not mix. The first
   farm of a process that names a file empties it, later ones append; the names
   are kept as long as the process.

   Thread safety: any thread. */
#include "record-private.h"
#include "json-private.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

/* Rows of a record (pulls or parts) in one line of the file, so that lines stay
   readable. A guess. */
#define ROWS_A_LINE 32
/* Below this, all whole numbers are doubles: 2^53. */
#define EXACT 9007199254740992.0

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static GHashTable *files; /* paths begun by this process; files_lock */

/* Returns: TRUE if the record file can be written. The first farm of the
   process that names a file empties it. */
gboolean
hass_recorder_prepare (const char *path, GError **error)
{
  pthread_mutex_lock (&files_lock);
  if (!files)
    files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  HassTextFile file;
  gboolean ok = hass_text_file_open (
      &file, "record", path, g_hash_table_contains (files, path) ? "a" : "w",
      error);
  if (ok)
    {
      g_hash_table_add (files, g_strdup (path));
      hass_text_file_close (&file, NULL);
    }
  pthread_mutex_unlock (&files_lock);
  return ok;
}

static gboolean
append (const char *path, const GString *text, GError **error)
{
  HassTextFile file;
  pthread_mutex_lock (&files_lock);
  gboolean ok = hass_text_file_open (&file, "record", path, "a", error);
  if (ok)
    {
      hass_text_file_write (&file, text->str, text->len);
      ok = hass_text_file_close (&file, error);
    }
  pthread_mutex_unlock (&files_lock);
  return ok;
}

/* -- The header --------------------------------------------------------- */

static void
add_device (const HassFarmFacts *facts, JsonBuilder *j, guint d,
            const struct HassDeviceFacts *bytes)
{
  const HassDeviceTraits *t = &facts->devices[d];
  json_builder_begin_object (j);
  json_add_string (j, "name", t->name);
  json_add_string (j, "kind", hass_device_kind_text (t->kind));
  json_add_string (j, "model", t->model);
  json_add_int (j, "cores", t->cores);
  json_add_int (j, "width", t->width);
  json_add_double (j, "latency_ns", t->latency_ns);
  json_add_double (j, "link_bytes_per_ns", t->link_bytes_per_ns);
  json_add_double (j, "work_per_ns", t->work_per_ns);
  json_add_int (j, "max_in_flight", t->max_in_flight);
  json_add_int (j, "link", t->link);
  json_add_int (j, "memory_bytes", t->memory_bytes);
  json_add_int (j, "part_bytes", t->part_bytes);
  const HassProfileRate *known = facts->known ? &facts->known[d] : NULL;
  if (known && known->work_per_ns > 0)
    {
      json_add_double (j, "known_work_per_ns", known->work_per_ns);
      json_add_double (j, "known_latency_ns", known->latency_ns);
      json_add_int (j, "known_runs", known->runs);
    }
  if (t->kind == HASS_DEVICE_GPU)
    {
      json_add_int (j, "direct_bytes", bytes->direct_bytes);
      json_add_int (j, "registered_bytes", bytes->registered_bytes);
      json_add_int (j, "staged_bytes", bytes->staged_bytes);
    }
  json_builder_end_object (j);
}

static void
add_farm (const HassFarmFacts *facts, JsonBuilder *j)
{
  static const char *const costs[] = { "equal", "sized", "unknown" };
  const HassFarm *farm = facts->farm;
  g_autoptr (GDateTime) now = g_date_time_new_now_utc ();
  g_autofree char *date = g_date_time_format (now, "%Y-%m-%dT%H:%M:%SZ");
  gboolean gpu = farm->gpu_worker || farm->gpu_worker_of;
  json_add_int (j, "hass_record", HASS_RECORD_VERSION);
  json_add_string (j, "farm", farm->name);
  json_add_string (j, "kind", hass_farm_kind_text (farm->kind));
  json_add_string (j, "cost", costs[farm->cost]);
  json_add_string (j, "engine", facts->real_time ? "live" : "virtual");
  json_add_string (j, "platform", facts->platform);
  json_add_string (j, "strategy", farm->strategy);
  json_add_int (j, "seed", farm->run->seed);
  json_add_string (j, "date", date);
  json_add_string (j, "host", g_get_host_name ());
  json_add_int (j, "block_elements", farm->block_elements);
  json_add_int (j, "halo_elements", farm->halo_elements);
  json_add_int (j, "element_threads", (gint64)farm->element_threads);
  json_add_int (j, "gpu_multiple", (gint64)farm->gpu_multiple);
  json_add_int (j, "round_loads", farm->round_loads);
  json_add_string (j, "results",
                   !farm->collect   ? "none"
                   : facts->ordered ? "ordered"
                                    : "unordered");
  json_add_string (j, "workers",
                   !gpu                ? "cpu"
                   : !farm->cpu_worker ? "gpu"
                                       : "both");
  json_builder_set_member_name (j, "constants");
  json_builder_begin_array (j);
  for (guint i = 0; i < farm->n_constants; i++)
    json_builder_add_int_value (j, (gint64)farm->constants[i].bytes);
  json_builder_end_array (j);
}

static void
append_header (const HassFarmFacts *facts, const HassEnded *ended, GString *out)
{
  g_autoptr (JsonBuilder) j = json_builder_new ();
  json_builder_begin_object (j);
  add_farm (facts, j);
  json_builder_set_member_name (j, "devices");
  json_builder_begin_array (j);
  for (guint d = 0; d < facts->n_devices; d++)
    add_device (facts, j, d, &ended->devices[d]);
  json_builder_end_array (j);
  json_builder_end_object (j);
  g_autofree char *text = json_text (j, FALSE);
  g_string_append (out, text);
  g_string_append_c (out, '\n');
}

/* -- The other lines ---------------------------------------------------- */

static void
append_number (GString *out, const char *format, double value)
{
  char text[JSON_NUMBER_BYTES];
  g_string_append (out, json_number (text, format, value));
}

/* Rows are many, and digits by printf would take most of the time of a record.
 */
static void
append_uint (GString *out, guint64 n)
{
  char text[20]; /* the digits of G_MAXUINT64 */
  char *first = text + sizeof text;
  do
    *--first = (char)('0' + n % 10);
  while ((n /= 10) > 0);
  g_string_append_len (out, first, text + sizeof text - first);
}

static void
append_int (GString *out, gint64 n)
{
  if (n < 0)
    g_string_append_c (out, '-');
  append_uint (out, n < 0 ? -(guint64)n : (guint64)n);
}

static void
append_ns (GString *out, double ns)
{
  if (fabs (ns) < EXACT)
    append_int (out, (gint64)rint (ns));
  else
    append_number (out, "%.0f", ns);
}

/* Appends @value with ten digits at most. */
static void
append_work (GString *out, double value)
{
  if (fabs (value) < 1e10 && value == rint (value))
    append_int (out, (gint64)value);
  else
    append_number (out, "%.10g", value);
}

static void
append_row (GString *out, gint64 t0, const HassRecordRow *r, gboolean device)
{
  const guint64 units[] = { r->first, r->last - r->first, r->units, r->n };
  const gint64 times[] = { r->grant_ns - t0, r->begin_ns - t0, r->end_ns - t0 };
  const double spans[]
      = { r->busy_ns, r->h2d_ns, r->kernel_ns, r->d2h_ns, r->host_ns };
  const guint64 rest[] = { r->elements, r->in_bytes, r->out_bytes, !r->failed };
  guint n_spans = device ? G_N_ELEMENTS (spans) : 1;
  for (guint i = 0; i < G_N_ELEMENTS (units); i++)
    {
      g_string_append_c (out, i == 0 ? '[' : ',');
      append_uint (out, units[i]);
    }
  for (guint i = device ? 0 : 1; i < G_N_ELEMENTS (times); i++)
    {
      g_string_append_c (out, ',');
      append_int (out, times[i]);
    }
  for (guint i = 0; i < n_spans; i++)
    {
      g_string_append_c (out, ',');
      append_ns (out, spans[i]);
    }
  g_string_append_c (out, ',');
  append_work (out, r->work);
  for (guint i = 0; i < G_N_ELEMENTS (rest); i++)
    {
      g_string_append_c (out, ',');
      append_uint (out, rest[i]);
    }
  g_string_append_c (out, ']');
}

static void
append_list (GString *out, const HassRecorder *recorder, guint index)
{
  const HassFarmFacts *facts = recorder->farm;
  const HassRecordList *list = &recorder->lists[index];
  guint n_cores = MAX (facts->n_cores, 1);
  gboolean device = index >= n_cores;
  for (guint32 i = 0; i < list->n; i++)
    {
      if (i % ROWS_A_LINE == 0 && device)
        g_string_append_printf (out,
                                "{\"event\":\"parts\",\"device\":%u,\"rows\":[",
                                index - n_cores + (facts->cpu >= 0));
      else if (i % ROWS_A_LINE == 0)
        g_string_append_printf (
            out, "{\"event\":\"pulls\",\"core\":%u,\"rows\":[", index);
      append_row (out, facts->begin_ns, &list->rows[i], device);
      gboolean last = i + 1 == list->n || (i + 1) % ROWS_A_LINE == 0;
      g_string_append (out, last ? "]}\n" : ",");
    }
}

static void
append_openings (GString *out, const HassRecorder *recorder)
{
  const GArray *list = recorder->openings;
  gint64 t0 = recorder->farm->begin_ns;
  for (guint i = 0; i < list->len; i++)
    {
      const HassRecordOpening *o = &g_array_index (list, HassRecordOpening, i);
      g_string_append_printf (
          out,
          "{\"event\":\"open\",\"device\":%u,\"begin\":%" G_GINT64_FORMAT
          ",\"end\":%" G_GINT64_FORMAT ",\"ok\":%s}\n",
          o->device, o->begin_ns - t0, o->end_ns - t0,
          o->ok ? "true" : "false");
    }
}

static gint
by_place (gconstpointer a, gconstpointer b)
{
  const HassRecordRound *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

/* Sorts the rounds by their first unit: they may end in another order than they
   began in. */
void
hass_recorder_sort_rounds (HassRecorder *recorder)
{
  g_array_sort (recorder->rounds, by_place);
}

static void
append_units (GString *out, const HassRecorder *recorder,
              const HassRecordRound *r)
{
  g_string_append_printf (
      out, "{\"event\":\"units\",\"first\":%" G_GUINT64_FORMAT, r->first);
  for (guint64 i = 0; i < r->units && r->order_at > 0; i++)
    g_string_append_printf (
        out, "%s%u", i == 0 ? ",\"order\":[" : ",",
        g_array_index (recorder->order, guint32, r->order_at - 1 + i));
  g_string_append (out, r->order_at > 0 ? "]" : "");
  for (guint64 i = 0; i < r->units && r->work_at > 0; i++)
    {
      g_string_append (out, i == 0 ? ",\"work\":[" : ",");
      append_number (
          out, "%.7g",
          g_array_index (recorder->work, double, r->work_at - 1 + i));
    }
  g_string_append (out, r->work_at > 0 ? "]}\n" : "}\n");
}

static void
append_rounds (GString *out, HassRecorder *recorder)
{
  const HassFarmFacts *facts = recorder->farm;
  const GArray *list = recorder->rounds;
  hass_recorder_sort_rounds (recorder);
  for (guint i = 0; i < list->len; i++)
    {
      const HassRecordRound *r = &g_array_index (list, HassRecordRound, i);
      g_string_append_printf (
          out,
          "{\"event\":\"round\",\"round\":%" G_GUINT64_FORMAT
          ",\"rounds\":%" G_GUINT64_FORMAT ",\"first\":%" G_GUINT64_FORMAT
          ",\"span\":%" G_GUINT64_FORMAT ",\"units\":%" G_GUINT64_FORMAT
          ",\"loads\":%" G_GUINT64_FORMAT ",\"block\":%" G_GUINT64_FORMAT
          ",\"begin\":%" G_GINT64_FORMAT ",\"end\":%" G_GINT64_FORMAT
          ",\"work\":",
          r->number, r->n, r->first, r->last - r->first, r->units, r->loads,
          r->block, r->begin_ns - facts->begin_ns, r->end_ns - facts->begin_ns);
      append_number (out, "%.10g", r->work);
      if (facts->farm->kind == HASS_FARM_FUNCTION)
        g_string_append_printf (out,
                                ",\"cpu_only\":%" G_GUINT64_FORMAT
                                ",\"gpu_only\":%" G_GUINT64_FORMAT,
                                r->cpu_only, r->gpu_only);
      g_string_append (out, "}\n");
      if (r->order_at > 0 || r->work_at > 0)
        append_units (out, recorder, r);
    }
}

/* Writes the record of a farm that is over to its file, in one piece. Returns:
   FALSE with an error if that fails. */
gboolean
hass_recorder_write (HassRecorder *recorder, const HassEnded *ended,
                     GError **error)
{
  g_autoptr (GString) out = g_string_sized_new (1 << 16);
  append_header (recorder->farm, ended, out);
  append_openings (out, recorder);
  append_rounds (out, recorder);
  for (guint i = 0; i < recorder->n_lists; i++)
    append_list (out, recorder, i);
  g_string_append_printf (out,
                          "{\"event\":\"end\",\"at\":%" G_GINT64_FORMAT
                          ",\"rounds\":%" G_GUINT64_FORMAT
                          ",\"units\":%" G_GUINT64_FORMAT
                          ",\"unfinished\":%u,\"ok\":%s}\n",
                          ended->makespan_ns, ended->n_rounds, ended->n_units,
                          ended->n_unfinished, ended->ok ? "true" : "false");
  return append (recorder->path, out, error);
}
