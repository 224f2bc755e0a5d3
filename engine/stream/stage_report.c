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

/* What was used for the largest part of the makespan. */
typedef struct
{
  double part;        /* of the makespan, at most 1 */
  gint device;        /* -1: a stage that computes one token at a time */
  gboolean generator; /* nothing was used enough to bind: the generator does */
} Binding;

/* Returns the part of the @left seconds that a cause of @ns explains, and
   subtracts it from @left. */
static double
take (double *left, double ns)
{
  double s = CLAMP (ns * 1e-9, 0, *left);
  *left -= s;
  return s;
}

/* Makes the time for which the binding resource was used the bound of the
   report, and attributes the rest of the makespan; HassReport says how. With
   the same shares of the work for each device the pipeline cannot be faster. */
static void
set_losses (const HassJob *job, HassReport *r, const Binding *b)
{
  const HassPhases *p = &job->phases;
  gboolean cores = b->device >= 0 && b->device == job->cpu;
  double end_ns = job->begin_ns + r->makespan_s * 1e9;
  double ready_ns = b->device >= 0 ? job->totals[b->device].ready_ns : 0;
  double generator_ns = p->generated_ns - p->generate_ns - p->room_ns;
  double left = r->makespan_s * (1 - b->part);
  if (!b->generator)
    generator_ns = cores ? generator_ns / MAX (job->n_cores, 1) : 0;
  r->bound_s = r->makespan_s * b->part;
  r->efficiency = b->part;
  r->lost_copies_s = r->lost_halo_s = r->lost_collector_s = 0;
  r->lost_overhead_s = 0;
  r->lost_startup_s
      = take (&left, MAX (p->generate_ns, ready_ns) - job->begin_ns);
  r->lost_reduce_s = take (&left, p->reduce_ns);
  r->lost_teardown_s = take (&left, end_ns - p->worked_ns - p->reduce_ns);
  r->lost_generator_s = take (&left, generator_ns);
  r->lost_imbalance_s = left;
}

/* Returns a sentence that says what bounds the rate of the pipeline, and that
   in @b. */
static char *
binding (HassStream *stream, const HassReport *report, Binding *b)
{
  double most = 0;
  g_autofree char *what = NULL;
  b->device = -1;
  for (guint d = 0; d < report->n_devices && report->makespan_s > 0; d++)
    {
      double busy = report->devices[d].busy_s / report->makespan_s;
      if (busy <= most)
        continue;
      most = busy;
      b->device = (gint)d;
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
      b->device = -1;
      g_free (what);
      what = g_strdup_printf ("stage '%s' binds: %s,", r->name, r->mode);
    }
  b->part = MIN (most, 1);
  b->generator = most < BINDS && stream->job->farm->generate;
  if (b->generator)
    return g_strdup_printf ("the generator binds: no stage and no device was "
                            "busy for more than %.0f %%",
                            100 * b->part);
  return what ? g_strdup_printf ("%s busy %.0f %%", what, 100 * b->part) : NULL;
}

void
hass_stream_report (HassJob *job, HassReport *report)
{
  HassStream *stream = hass_stream_of (job);
  Binding bound = { 0 };
  report->n_stages = stream->n_stages;
  report->stages = g_new0 (HassStageReport, stream->n_stages);
  for (guint s = 0; s < stream->n_stages; s++)
    add_stage (stream, s, report->makespan_s, &report->stages[s]);
  report->binding = binding (stream, report, &bound);
  if (bound.part > 0)
    set_losses (job, report, &bound);
}
