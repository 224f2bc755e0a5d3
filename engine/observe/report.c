/* SPDX-License-Identifier: MIT */
/* report.c: a report as a table.
   Thread safety: see hass/report.h. */
#include "observe-private.h"

#include <string.h>

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

static void
append_taken (GString *out, const HassDeviceReport *v)
{
  char vain[16];
  if (v->taken_back > 0)
    g_string_append_printf (out,
                            "%s: %" G_GUINT64_FORMAT
                            " unit%s that its cores had begun %s taken from "
                            "them; they had spent %s in vain\n",
                            v->name, v->taken_back, plural (v->taken_back),
                            v->taken_back == 1 ? "was" : "were",
                            duration (v->vain_s, vain));
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
      append_taken (out, v);
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

const HassLossName hass_loss_names[HASS_LOSSES] = {
#define LOSS(name)                                                              \
  {                                                                             \
#    name, "lost_" #    name "_s", G_STRUCT_OFFSET(HassReport, lost_##name##_s) \
  }
  LOSS (startup), LOSS (generator), LOSS (copies),
  LOSS (halo),    LOSS (imbalance), LOSS (collector),
  LOSS (reduce),  LOSS (teardown),  LOSS (overhead)
#undef LOSS
};

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
  for (guint i = 0; i < HASS_LOSSES; i++)
    if (ABS (hass_report_loss (r, i)) >= 1e-3 * r->makespan_s && r->bound_s > 0)
      {
        g_string_append_printf (out, "%s %s %s", any ? "," : "; lost to",
                                hass_loss_names[i].name,
                                duration (hass_report_loss (r, i), text));
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
