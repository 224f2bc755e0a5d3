/* SPDX-License-Identifier: MIT */
/* trace_job.c: the trace lines that both engines write alike; each does
   nothing where the job has no trace.
   Thread safety: any thread. */
#include "engine/core/job.h"
#include "json-private.h"

/* Text as JSON has it, with its quotes, or null. */
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

/* Opens the trace that the options or the environment ask for. Of the
   environment's, each farm of the process appends to what the first began. */
gboolean
hass_job_trace_open (HassJob *job, GError **error)
{
  static _Atomic (const char *) last; /* interned */
  const char *path = job->farm->run->trace;
  gboolean append = FALSE;
  if (!path && (path = g_getenv ("HASS_TRACE")) && *path)
    {
      path = g_intern_string (path);
      append = atomic_exchange_explicit (&last, path, memory_order_relaxed)
               == path;
    }
  if (!path || !*path)
    return TRUE;
  job->trace = hass_trace_open (path, append, error);
  return job->trace != NULL;
}

/* The first line: what runs where. */
void
hass_job_trace_farm (HassJob *job)
{
  if (!job->trace)
    return;
  g_autofree char *name = quoted (job->farm->name);
  g_autofree char *strategy = quoted (job->strategy->ops->name);
  g_autofree char *platform = quoted (job->platform_name);
  g_autoptr (GString) devices = g_string_new (NULL);
  for (guint d = 0; d < job->n_devices; d++)
    {
      const HassDeviceTraits *v = &job->devices[d];
      g_autofree char *device = quoted (v->name);
      g_string_append_printf (
          devices, "%s{\"name\":%s,\"kind\":\"%s\",\"cores\":%u}",
          d > 0 ? "," : "", device, v->kind == HASS_DEVICE_CPU ? "cpu" : "gpu",
          v->cores);
    }
  hass_trace_line (job->trace,
                   "{\"t\":%" G_GINT64_FORMAT
                   ",\"event\":\"farm\",\"farm\":%s,\"strategy\":%s,"
                   "\"platform\":%s,\"devices\":[%s]}",
                   job->begin_ns, name, strategy, platform, devices->str);
}

/* A device was made ready, with the farm's constants, or was not. */
void
hass_job_trace_opened (HassJob *job, guint device, gint64 begin_ns,
                       gint64 end_ns, gboolean ok)
{
  if (job->trace)
    hass_trace_line (
        job->trace,
        "{\"t\":%" G_GINT64_FORMAT ",\"event\":\"open\",\"device\":\"%s\""
        ",\"begin\":%" G_GINT64_FORMAT ",\"ok\":%s}",
        end_ns, job->devices[device].name, begin_ns, ok ? "true" : "false");
}

/* A core has computed a pull. */
void
hass_job_trace_pull (HassJob *job, const HassSlot *slot, guint core,
                     HassExtent e, gint64 begin_ns, gint64 end_ns)
{
  if (job->trace)
    hass_trace_line (job->trace,
                     "{\"t\":%" G_GINT64_FORMAT
                     ",\"event\":\"pull\",\"round\":%" G_GUINT64_FORMAT
                     ",\"core\":%u,\"begin\":%" G_GINT64_FORMAT
                     ",\"first\":%u,\"units\":%u}",
                     end_ns, slot->round.number, core, begin_ns, e.first, e.n);
}

/* A bundle, or a part of a large one, has left its device. */
void
hass_job_trace_bundle (HassJob *job, const HassSlot *slot, guint device,
                       HassExtent e, guint64 bytes, gint64 end_ns,
                       const HassStages *s)
{
  if (job->trace)
    hass_trace_line (job->trace,
                     "{\"t\":%" G_GINT64_FORMAT
                     ",\"event\":\"bundle\",\"round\":%" G_GUINT64_FORMAT
                     ",\"device\":\"%s\",\"first\":%u,\"units\":%u,"
                     "\"bytes\":%" G_GUINT64_FORMAT ",\"in\":[%" G_GINT64_FORMAT
                     ",%" G_GINT64_FORMAT "],\"kernel\":[%" G_GINT64_FORMAT
                     ",%" G_GINT64_FORMAT "],\"out\":[%" G_GINT64_FORMAT
                     ",%" G_GINT64_FORMAT "]}",
                     end_ns, slot->round.number, job->devices[device].name,
                     e.first, e.n, bytes, s->begin_ns[0], s->end_ns[0],
                     s->begin_ns[1], s->end_ns[1], s->begin_ns[2],
                     s->end_ns[2]);
}

/* A bundle, or a part of a large one, failed; its units are given back. */
void
hass_job_trace_failed (HassJob *job, const HassSlot *slot, guint device,
                       HassExtent e, guint64 bytes, gint64 begin_ns,
                       gint64 end_ns)
{
  if (job->trace)
    hass_trace_line (job->trace,
                     "{\"t\":%" G_GINT64_FORMAT
                     ",\"event\":\"failed\",\"round\":%" G_GUINT64_FORMAT
                     ",\"device\":\"%s\",\"begin\":%" G_GINT64_FORMAT
                     ",\"first\":%u,\"units\":%u,\"bytes\":%" G_GUINT64_FORMAT
                     "}",
                     end_ns, slot->round.number, job->devices[device].name,
                     begin_ns, e.first, e.n, bytes);
}

/* The strategy hears of a completion. */
void
hass_job_trace_done (HassJob *job, const HassSlot *slot,
                     const HassCompletion *told)
{
  char h2d[JSON_NUMBER_BYTES], kernel[JSON_NUMBER_BYTES],
      d2h[JSON_NUMBER_BYTES];
  if (!job->trace)
    return;
  hass_trace_line (
      job->trace,
      "{\"t\":%" G_GINT64_FORMAT
      ",\"event\":\"done\",\"round\":%" G_GUINT64_FORMAT
      ",\"device\":\"%s\",\"units\":%" G_GUINT64_FORMAT
      ",\"start\":%" G_GINT64_FORMAT
      ",\"h2d\":%s,\"kernel\":%s,\"d2h\":%s,\"failed\":%s}",
      told->end_ns, slot->round.number, job->devices[told->device].name,
      told->units, told->start_ns, json_number (h2d, "%.0f", told->h2d_ns),
      json_number (kernel, "%.0f", told->kernel_ns),
      json_number (d2h, "%.0f", told->d2h_ns), told->failed ? "true" : "false");
}
