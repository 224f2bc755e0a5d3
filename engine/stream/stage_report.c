/* SPDX-License-Identifier: MIT */
/* stage_report.c: what the report says of the stages of a pipeline, and which
   of them bounds its rate.

   DESIGN. What binds is what was used most of the makespan: an ordered or
   serial stage that always computed, all cores, a device. Where nothing was
   used for more than BINDS of the time, the generator did not deliver.

   Thread safety: the thread that called the pipeline, at its end. */
#include "stream-private.h"

/* What was used for less than this part of the makespan does not bind. A guess:
   lower, and the sentence names what could be faster without effect; higher,
   and it names the generator where devices were about busy. */
#define BINDS 0.7

static const char *const modes[]
    = { "parallel", "ordered", "serial", "caller" };

static void
add_stage (HassStream *stream, guint s, double makespan_s, HassStageReport *r)
{
  HassJob *job = stream->job;
  const HassStage *stage = &stream->stages[s].public;
  *r = (HassStageReport){ .name = g_strdup (stage->name),
                          .mode = modes[stage->mode] };
  for (guint w = 0; w < job->n_workers; w++)
    {
      const HassStageCount *c = &stream->workers[w].stages[s];
      gboolean core = w < MAX (job->n_cores, 1);
      r->tokens += c->tokens;
      r->bytes += c->bytes;
      r->batches += c->batches;
      *(core ? &r->busy_s : &r->device_s) += c->busy_ns * 1e-9;
      r->waiting_s += c->waited_ns * 1e-9;
    }
  guint n = stage->mode == HASS_STAGE_PARALLEL ? MAX (job->n_cores, 1) : 1;
  r->utilisation = makespan_s > 0 ? r->busy_s / (n * makespan_s) : 0;
}

/* Makes the time for which the most used stage or device computed, @most of the
   makespan, the bound of the report: with the same shares of the work for each
   device the pipeline cannot be faster. */
static void
set_bound (HassReport *report, double most)
{
  double bound_s = MIN (most, 1) * report->makespan_s;
  report->lost_overhead_s += report->bound_s - bound_s;
  report->bound_s = bound_s;
  report->efficiency = MIN (most, 1);
}

/* Returns a sentence that says what bounds the rate of the pipeline, and in
   @used for which part of the makespan that was busy. */
static char *
binding (HassStream *stream, const HassReport *report, double *used)
{
  double most = 0;
  g_autofree char *what = NULL;
  for (guint d = 0; d < report->n_devices && report->makespan_s > 0; d++)
    {
      double busy = report->devices[d].busy_s / report->makespan_s;
      if (busy <= most)
        continue;
      most = busy;
      g_free (what);
      what = (gint)d == stream->job->cpu
                 ? g_strdup ("the cores bind: all")
                 : g_strdup_printf ("%s binds:", report->devices[d].name);
    }
  for (guint s = 0; s < report->n_stages; s++)
    {
      const HassStageReport *r = &report->stages[s];
      if (stream->stages[s].public.mode == HASS_STAGE_PARALLEL
          || r->utilisation <= most)
        continue;
      most = r->utilisation;
      g_free (what);
      what = g_strdup_printf ("stage '%s' binds: %s,", r->name, r->mode);
    }
  *used = most;
  if (most < BINDS && stream->job->farm->generate)
    return g_strdup_printf ("the generator binds: no stage and no device was "
                            "busy for more than %.0f %%",
                            100 * most);
  return what ? g_strdup_printf ("%s busy %.0f %%", what, 100 * most) : NULL;
}

void
hass_stream_report (HassJob *job, HassReport *report)
{
  HassStream *stream = hass_stream_of (job);
  double most = 0;
  report->n_stages = stream->n_stages;
  report->stages = g_new0 (HassStageReport, stream->n_stages);
  for (guint s = 0; s < stream->n_stages; s++)
    add_stage (stream, s, report->makespan_s, &report->stages[s]);
  report->binding = binding (stream, report, &most);
  set_bound (report, most);
}
