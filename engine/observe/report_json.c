/* SPDX-License-Identifier: MIT */
/* report_json.c: a report as JSON, and the file that HASS_REPORT names.
   Thread safety: see hass/report.h. */
#include "observe-private.h"
#include "json-private.h"

#include <errno.h>
#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

#include "hass/error.h"

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
  json_add_int (j, "taken_back", v->taken_back);
  json_add_double (j, "vain_s", v->vain_s);
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
  for (guint i = 0; i < HASS_LOSSES; i++)
    json_add_double (j, hass_loss_names[i].member, hass_report_loss (r, i));
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
