/* SPDX-License-Identifier: MIT */
/* report.c: a report as a table and as JSON.
   Thread safety: see hass/report.h. */
#include "observe-private.h"
#include "json-private.h"

#include <errno.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

#include "hass/error.h"

/* most entries of unfinished units in the table; the JSON has all */
#define SHOWN 10

void
hass_report_free (HassReport *report)
{
  if (!report)
    return;
  for (guint d = 0; d < report->n_devices; d++)
    {
      g_free (report->devices[d].name);
      g_free (report->devices[d].message);
    }
  for (guint i = 0; i < report->n_unfinished; i++)
    g_free (report->unfinished[i].message);
  for (guint s = 0; s < report->n_stages; s++)
    {
      g_free (report->stages[s].name);
      g_free (report->stages[s].left_out);
    }
  g_free (report->stages);
  g_free (report->binding);
  g_free (report->devices);
  g_free (report->unfinished);
  g_free (report->farm);
  g_free (report->strategy);
  g_free (report->platform);
  g_free (report);
}

/* Writes a duration of @s seconds in s, ms or us, whichever suits its size,
   into @text. Returns: @text. */
static const char *
duration (double s, char text[16])
{
  double size = s < 0 ? -s : s;
  if (size >= 1)
    g_snprintf (text, 16, "%.3f s", s);
  else if (size >= 1e-3)
    g_snprintf (text, 16, "%.3f ms", s * 1e3);
  else
    g_snprintf (text, 16, "%.1f us", s * 1e6);
  return text;
}

/* Returns (transfer full): bytes a second, of loads without bytes their work a
   second. */
static char *
rate_of (const HassDeviceReport *v)
{
  static const char *const units[] = { "B", "kB", "MB", "GB" };
  double rate = v->busy_s > 0 ? v->bytes / v->busy_s : 0;
  guint unit = 0;
  if (v->bytes == 0)
    return g_strdup_printf ("%.3g/s", v->busy_s > 0 ? v->work / v->busy_s : 0);
  for (; rate >= 999.5 && unit + 1 < G_N_ELEMENTS (units); unit++)
    rate /= 1000;
  return g_strdup_printf ("%.*f %s/s",
                          rate < 9.995   ? 2
                          : rate < 99.95 ? 1
                                         : 0,
                          rate, units[unit]);
}

static const char *
plural (guint64 n)
{
  return n == 1 ? "" : "s";
}

/* What a device of a pipeline has computed are tokens, once for each stage. */
static void
append_devices (GString *out, const HassReport *r)
{
  char busy[16], waiting[16];
  g_string_append_printf (out, "%-8s %7s %12s %7s %12s %11s %11s %9s\n",
                          "device", "share",
                          r->kind == HASS_FARM_PIPELINE ? "computed" : "units",
                          "bundles", "bytes", "busy", "waiting", "rate");
  for (guint d = 0; d < r->n_devices; d++)
    {
      const HassDeviceReport *v = &r->devices[d];
      g_autofree char *bytes
          = g_format_size_full (v->bytes, G_FORMAT_SIZE_IEC_UNITS);
      g_autofree char *rate = rate_of (v);
      g_string_append_printf (
          out,
          "%-8s %6.1f%% %12" G_GUINT64_FORMAT " %7" G_GUINT64_FORMAT
          " %12s %11s %11s %9s%s\n",
          v->name, r->work > 0 ? 100 * v->work / r->work : 0.0, v->units,
          v->bundles, bytes, duration (v->busy_s, busy),
          duration (MAX (v->waiting_s, 0), waiting), rate,
          v->lost ? "  LOST" : "");
    }
}

static void
append_way (GString *out, guint64 bytes, const char *way, gboolean *any)
{
  if (bytes == 0)
    return;
  g_autofree char *size = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_string_append_printf (out, "%s%s %s", *any ? ", " : "", size, way);
  *any = TRUE;
}

/* Appends, for each device, how many bytes were copied to it in which way, and
   its message. */
static void
append_transfers (GString *out, const HassReport *r)
{
  for (guint d = 0; d < r->n_devices; d++)
    {
      const HassDeviceReport *v = &r->devices[d];
      gboolean any = FALSE;
      g_autoptr (GString) line = g_string_new (NULL);
      append_way (line, v->direct_bytes, "direct", &any);
      append_way (line, v->registered_bytes, "registered", &any);
      append_way (line, v->staged_bytes, "staged", &any);
      append_way (line, v->constant_bytes, "constants", &any);
      append_way (line, v->peak_bytes, "device memory", &any);
      if (any)
        g_string_append_printf (out, "%s: %s\n", v->name, line->str);
      if (v->message)
        g_string_append_printf (out, "%s: %s\n", v->name, v->message);
    }
}

/* Appends the codelets of a dataflow, or the functions of a function farm. */
static void
append_codelets (GString *out, const HassReport *r)
{
  char mean[16], busy[16], device[16];
  g_string_append_printf (out, "%-20s %12s %11s %11s %11s %6s\n",
                          r->kind == HASS_FARM_DATAFLOW ? "codelet"
                                                        : "function",
                          "tasks", "mean", "cores", "devices", "used");
  for (guint i = 0; i < r->n_stages; i++)
    {
      const HassStageReport *s = &r->stages[i];
      g_string_append_printf (
          out, "%-20s %12" G_GUINT64_FORMAT " %11s %11s %11s %5.1f%%\n",
          s->name, s->tokens,
          duration ((s->busy_s + s->device_s) / (double)MAX (s->tokens, 1),
                    mean),
          duration (s->busy_s, busy), duration (s->device_s, device),
          100 * s->utilisation);
    }
}

/* Appends the stages of a pipeline. The column "queued" is the mean number of
   tokens that waited before the stage. */
static void
append_stages (GString *out, const HassReport *r)
{
  char busy[16], device[16];
  g_string_append_printf (out, "%-12s %-8s %12s %12s %11s %11s %9s %6s\n",
                          "stage", "mode", "tokens", "bytes", "cores",
                          "devices", "queued", "used");
  for (guint i = 0; i < r->n_stages; i++)
    {
      const HassStageReport *s = &r->stages[i];
      g_autofree char *bytes
          = g_format_size_full (s->bytes, G_FORMAT_SIZE_IEC_UNITS);
      g_string_append_printf (
          out,
          "%-12s %-8s %12" G_GUINT64_FORMAT " %12s %11s %11s %9.1f %5.1f%%\n",
          s->name, s->mode, s->tokens, bytes, duration (s->busy_s, busy),
          duration (s->device_s, device),
          r->makespan_s > 0 ? s->waiting_s / r->makespan_s : 0.0,
          100 * s->utilisation);
    }
  for (guint i = 0; i < r->n_stages; i++)
    if (r->stages[i].again > 0)
      g_string_append_printf (
          out,
          "stage '%s': %" G_GUINT64_FORMAT " tokens were begun again on "
          "another device, which was done with %" G_GUINT64_FORMAT
          " of them first\n",
          r->stages[i].name, r->stages[i].again, r->stages[i].overtaken);
  for (guint i = 0; i < r->n_stages; i++)
    if (r->stages[i].left_out)
      g_string_append_printf (out, "left out of '%s': %s\n", r->stages[i].name,
                              r->stages[i].left_out);
}

static void
append_unfinished (GString *out, const HassReport *r)
{
  for (guint i = 0; i < r->n_unfinished && i < SHOWN; i++)
    {
      const HassUnfinished *u = &r->unfinished[i];
      g_string_append_printf (out, "unfinished: %s %" G_GUINT64_FORMAT,
                              r->kind == HASS_FARM_DATAFLOW ? "task" : "load",
                              u->seq);
      if (u->n_loads > 1)
        g_string_append_printf (out, " to %" G_GUINT64_FORMAT,
                                u->seq + u->n_loads - 1);
      if (u->count > 0)
        g_string_append_printf (out, ", elements %zu to %zu", u->first,
                                u->first + u->count - 1);
      g_string_append_printf (out, "%s%s\n", u->message ? ": " : "",
                              u->message ? u->message : "");
    }
  if (r->n_unfinished > SHOWN)
    g_string_append_printf (out, "unfinished: %u more\n",
                            r->n_unfinished - SHOWN);
}

/* -- Losses ------------------------------------------------------------- */

/* The losses of HassReport, in the order of a farm's life. */
static const struct
{
  const char *name, *member;
  gsize offset;
} losses[] = {
#define LOSS(name)                                                              \
  {                                                                             \
#    name, "lost_" #    name "_s", G_STRUCT_OFFSET(HassReport, lost_##name##_s) \
  }
  LOSS (startup), LOSS (generator), LOSS (copies),
  LOSS (halo),    LOSS (imbalance), LOSS (collector),
  LOSS (reduce),  LOSS (teardown),  LOSS (overhead)
#undef LOSS
};

static double
loss (const HassReport *r, guint i)
{
  return G_STRUCT_MEMBER (double, r, losses[i].offset);
}

/* Appends the efficiency and each loss of at least a thousandth of the
   makespan; smaller ones are left out of the table. */
static void
append_losses (GString *out, const HassReport *r)
{
  char text[16];
  gboolean any = FALSE;
  g_string_append_printf (out, "efficiency %.1f%% (bound %s)",
                          100 * r->efficiency, duration (r->bound_s, text));
  if (r->critical_path_s > 0)
    g_string_append_printf (out, ", critical path %s",
                            duration (r->critical_path_s, text));
  for (guint i = 0; i < G_N_ELEMENTS (losses); i++)
    if (ABS (loss (r, i)) >= 1e-3 * r->makespan_s && r->bound_s > 0)
      {
        g_string_append_printf (out, "%s %s %s", any ? "," : "; lost to",
                                losses[i].name, duration (loss (r, i), text));
        any = TRUE;
      }
  g_string_append_c (out, '\n');
  if (r->halo_elements > 0)
    g_string_append_printf (
        out, "halos: %" G_GUINT64_FORMAT " elements beside those of blocks\n",
        r->halo_elements);
}

static void
append_title (GString *out, const HassReport *r)
{
  char a[16];
  const char *kind = r->kind == HASS_FARM_PIPELINE   ? "pipeline"
                     : r->kind == HASS_FARM_DATAFLOW ? "dataflow"
                                                     : "farm";
  if (!r->strategy)
    {
      g_string_append_printf (out, "%s %s: failed before it began\n", kind,
                              r->farm);
      return;
    }
  g_string_append_printf (
      out, "%s %s, strategy %s%s%s: %s, ", kind, r->farm, r->strategy,
      r->virtual_time ? ", virtual time on " : "",
      r->virtual_time ? r->platform : "", duration (r->makespan_s, a));
  if (r->kind == HASS_FARM_PIPELINE)
    g_string_append_printf (
        out, "%" G_GUINT64_FORMAT " load%s through %u stage%s\n", r->loads,
        plural (r->loads), r->n_stages, plural (r->n_stages));
  else if (r->kind == HASS_FARM_DATAFLOW)
    g_string_append_printf (
        out, "%" G_GUINT64_FORMAT " task%s of %u codelet%s\n", r->loads,
        plural (r->loads), r->n_stages, plural (r->n_stages));
  else
    g_string_append_printf (out,
                            "%" G_GUINT64_FORMAT " unit%s of %" G_GUINT64_FORMAT
                            " load%s in %" G_GUINT64_FORMAT " round%s\n",
                            r->units, plural (r->units), r->loads,
                            plural (r->loads), r->rounds, plural (r->rounds));
}

static void
append_window (GString *out, const HassReport *r)
{
  g_autofree char *bytes
      = g_format_size_full (r->most_bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_string_append_printf (
      out, "at most %" G_GUINT64_FORMAT " tokens and %s in flight\n",
      r->most_tokens, bytes);
}

char *
hass_report_to_string (const HassReport *r)
{
  GString *out = g_string_new (NULL);
  append_title (out, r);
  if (!r->strategy)
    return g_string_free (out, FALSE);
  if (r->kind == HASS_FARM_PIPELINE && r->n_stages > 0)
    append_stages (out, r);
  else if (r->kind == HASS_FARM_DATAFLOW || r->n_stages > 0)
    append_codelets (out, r);
  if (r->binding)
    g_string_append_printf (out, "%s\n", r->binding);
  if (r->most_tokens > 0)
    append_window (out, r);
  append_devices (out, r);
  append_transfers (out, r);
  append_losses (out, r);
  if (r->saturated)
    g_string_append (out, "virtual time ended after 31 years: all times are "
                          "at least these\n");
  append_unfinished (out, r);
  return g_string_free (out, FALSE);
}

static void
add_device (JsonBuilder *j, const HassDeviceReport *v)
{
  json_builder_begin_object (j);
  json_add_string (j, "name", v->name);
  json_add_string (j, "kind", hass_device_kind_text (v->kind));
  json_add_int (j, "cores", v->cores);
  json_add_int (j, "units", v->units);
  json_add_int (j, "bytes", v->bytes);
  json_add_int (j, "bundles", v->bundles);
  json_add_int (j, "failures", v->failures);
  json_add_double (j, "work", v->work);
  json_add_double (j, "busy_s", v->busy_s);
  json_add_double (j, "kernel_s", v->kernel_s);
  json_add_double (j, "waiting_s", v->waiting_s);
  json_add_double (j, "tail_s", v->tail_s);
  json_add_bool (j, "lost", v->lost);
  json_add_string (j, "message", v->message);
  json_add_int (j, "direct_bytes", v->direct_bytes);
  json_add_int (j, "registered_bytes", v->registered_bytes);
  json_add_int (j, "staged_bytes", v->staged_bytes);
  json_add_int (j, "constant_bytes", v->constant_bytes);
  json_add_int (j, "peak_bytes", v->peak_bytes);
  json_builder_end_object (j);
}

static void
add_unfinished (JsonBuilder *j, const HassUnfinished *u)
{
  json_builder_begin_object (j);
  json_add_int (j, "seq", u->seq);
  json_add_int (j, "n_loads", u->n_loads);
  json_add_int (j, "first", u->first);
  json_add_int (j, "count", u->count);
  json_add_string (j, "message", u->message);
  json_builder_end_object (j);
}

/* Adds the stages of a pipeline, or codelets of a dataflow, and what binds; or
   the functions of a function farm. */
static void
add_stages (JsonBuilder *j, const HassReport *r)
{
  if (r->n_stages == 0)
    return;
  if (r->kind != HASS_FARM_FUNCTION)
    json_add_string (j, "binding", r->binding);
  if (r->kind == HASS_FARM_DATAFLOW)
    json_add_double (j, "critical_path_s", r->critical_path_s);
  else if (r->kind == HASS_FARM_PIPELINE)
    {
      json_add_int (j, "most_tokens", (gint64)r->most_tokens);
      json_add_int (j, "most_bytes", (gint64)r->most_bytes);
    }
  json_builder_set_member_name (j, "stages");
  json_builder_begin_array (j);
  for (guint i = 0; i < r->n_stages; i++)
    {
      const HassStageReport *s = &r->stages[i];
      json_builder_begin_object (j);
      json_add_string (j, "name", s->name);
      json_add_string (j, "mode", s->mode);
      json_add_int (j, "tokens", s->tokens);
      json_add_int (j, "bytes", s->bytes);
      json_add_int (j, "batches", s->batches);
      json_add_double (j, "busy_s", s->busy_s);
      json_add_double (j, "device_s", s->device_s);
      json_add_double (j, "waiting_s", s->waiting_s);
      json_add_double (j, "utilisation", s->utilisation);
      json_add_int (j, "again", s->again);
      json_add_int (j, "overtaken", s->overtaken);
      json_add_string (j, "left_out", s->left_out);
      json_builder_end_object (j);
    }
  json_builder_end_array (j);
}

static void
add_report (JsonBuilder *j, const HassReport *r)
{
  json_add_string (j, "farm", r->farm);
  json_add_string (j, "kind", hass_farm_kind_text (r->kind));
  json_add_string (j, "strategy", r->strategy);
  json_add_string (j, "platform", r->platform);
  json_add_bool (j, "virtual_time", r->virtual_time);
  json_add_bool (j, "saturated", r->saturated);
  json_add_double (j, "makespan_s", r->makespan_s);
  json_add_int (j, "rounds", r->rounds);
  json_add_int (j, "loads", r->loads);
  json_add_int (j, "units", r->units);
  json_add_int (j, "bytes", r->bytes);
  json_add_int (j, "results", r->results);
  json_add_double (j, "work", r->work);
  json_add_double (j, "bound_s", r->bound_s);
  json_add_double (j, "efficiency", r->efficiency);
  for (guint i = 0; i < G_N_ELEMENTS (losses); i++)
    json_add_double (j, losses[i].member, loss (r, i));
  json_add_int (j, "halo_elements", r->halo_elements);
  add_stages (j, r);
  json_builder_set_member_name (j, "devices");
  json_builder_begin_array (j);
  for (guint d = 0; d < r->n_devices; d++)
    add_device (j, &r->devices[d]);
  json_builder_end_array (j);
  json_builder_set_member_name (j, "unfinished");
  json_builder_begin_array (j);
  for (guint i = 0; i < r->n_unfinished; i++)
    add_unfinished (j, &r->unfinished[i]);
  json_builder_end_array (j);
}

char *
hass_report_to_json (const HassReport *r)
{
  g_autoptr (JsonBuilder) j = json_builder_new ();
  json_builder_begin_object (j);
  add_report (j, r);
  json_builder_end_object (j);
  return json_text (j, TRUE);
}

/* -- HASS_REPORT -------------------------------------------------------- */

int
hass_report_open (const char *path, GError **error)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0)
    g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                 "report file '%s' cannot be written: %s", path,
                 g_strerror (errno));
  return fd;
}

void
hass_report_append (int fd, const HassReport *r, const char *farm,
                    const char *why)
{
  g_autoptr (JsonBuilder) j = json_builder_new ();
  json_builder_begin_object (j);
  if (r)
    add_report (j, r);
  else
    json_add_string (j, "farm", farm);
  json_add_string (j, "error", why);
  json_builder_end_object (j);
  g_autofree char *text = json_text (j, FALSE);
  g_autofree char *line = g_strconcat (text, "\n", NULL);
  size_t bytes = strlen (line);
  /* One write() for the whole line, as several processes may append to the file
     at once. */
  if (write (fd, line, bytes) != (ssize_t)bytes)
    g_printerr ("hass: the report of '%s' could not be written: %s\n", farm,
                g_strerror (errno));
  close (fd);
}
