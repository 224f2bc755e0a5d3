/* SPDX-License-Identifier: MIT */
/* stage_report.c: what the report says of the stages of a pipeline, and which
   of them bounds its rate.

   DESIGN. What binds is what was used most of the makespan: a stage that
   computes fewer tokens at once than there are cores and always computed as
   many, all cores, a device. Where nothing was used for more than BINDS of the
   time, it is what took a larger part of the time than the busiest of these was
   busy: a phase of the run in which no token could be computed, the generator
   while it did not wait for room, or the bound on tokens if it was reached.

   Thread safety: the thread that called the pipeline, at its end. */
#include "stream-private.h"

/* What was used for less than this part of the makespan does not bind. A guess:
   lower, and the sentence names what could be faster without effect; higher,
   and it names the generator where devices were about busy. The bound on tokens
   binds if more than this part of it was in flight on average. */
#define BINDS 0.7

/* A device that has computed less than one in so many of a stage's tokens has
   been left out. A guess: more, and one whose small part costs much is not
   explained. */
#define FEW_PARTS 20

static const char *const modes[]
    = { "parallel", "ordered", "serial", "caller" };

/* Returns how many tokens cores can compute at the stage at once. */
static guint
most_at_once (const HassJob *job, const HassStage *stage)
{
  guint cores = MAX (job->n_cores, 1);
  if (stage->mode != HASS_STAGE_PARALLEL)
    return 1;
  return stage->at_once > 0 ? MIN (stage->at_once, cores) : cores;
}

/* Returns the time, in s, of threads that helped with tokens of other cores. */
static double
helped_s (const HassStream *stream, guint s)
{
  double ns = 0;
  for (guint w = 0; w < stream->job->n_workers; w++)
    ns += stream->workers[w].stages[s].helped_ns;
  return ns * 1e-9;
}

/* Returns: tokens of a stage that a device has computed. */
static guint64
computed (const HassStream *stream, guint s, guint device)
{
  guint first, n;
  guint64 tokens = 0;
  hass_job_workers_of (stream->job, device, &first, &n);
  for (guint w = first; w < first + n; w++)
    tokens += stream->workers[w].stages[s].tokens;
  return tokens;
}

/* Returns (transfer full) (nullable): why devices that can compute a stage had
   little of it, as the strategy says. */
static char *
left_out (const HassStream *stream, guint s, guint64 tokens)
{
  const HassJob *job = stream->job;
  GString *text = g_string_new (NULL);
  for (guint d = 0;
       d < job->n_devices && job->strategy && job->strategy->ops->left_out; d++)
    {
      g_autofree char *why = NULL;
      if (stream->classes[s].devices >> d & 1
          && computed (stream, s, d) * FEW_PARTS < tokens)
        why = job->strategy->ops->left_out (job->strategy->self, s, d);
      if (why)
        g_string_append_printf (
            text, "%s%s: %s", text->len > 0 ? "; " : "",
            (gint)d == job->cpu ? "cores" : job->devices[d].name, why);
    }
  return g_string_free (text, text->len == 0);
}

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
      r->again += c->again;
      r->overtaken += c->overtaken;
    }
  r->left_out = left_out (stream, s, r->tokens);
  guint most = most_at_once (job, stage);
  double busy_s = r->busy_s;
  if (most < MAX (job->n_cores, 1))
    busy_s -= helped_s (stream, s);
  r->utilisation = makespan_s > 0 ? busy_s / (most * makespan_s) : 0;
}

/* What was used for the largest part of the makespan. */
typedef struct
{
  double part;        /* of the makespan, at most 1 */
  gint device;        /* -1: a stage with fewer tokens at once than cores */
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

/* Finds what was used for the largest part of the makespan, and puts it into
   @b. Returns: the beginning of a sentence that says so. */
static char *
find_busiest (HassStream *stream, const HassReport *report, Binding *b)
{
  HassJob *job = stream->job;
  char *what = NULL;
  b->device = -1;
  for (guint d = 0; d < report->n_devices && report->makespan_s > 0; d++)
    {
      double busy = report->devices[d].busy_s / report->makespan_s;
      if (busy <= b->part)
        continue;
      b->part = busy;
      b->device = (gint)d;
      g_free (what);
      what = (gint)d == job->cpu
                 ? g_strdup ("the cores bind: all")
                 : g_strdup_printf ("%s binds:", report->devices[d].name);
    }
  for (guint s = 0; s < report->n_stages; s++)
    {
      const HassStageReport *r = &report->stages[s];
      const HassStage *stage = &stream->stages[s].public;
      guint most = most_at_once (job, stage);
      gboolean parallel = stage->mode == HASS_STAGE_PARALLEL;
      if ((parallel && most == MAX (job->n_cores, 1))
          || r->utilisation <= b->part)
        continue;
      b->part = r->utilisation;
      b->device = -1;
      g_free (what);
      what = parallel
                 ? g_strdup_printf ("stage '%s' binds: at most %u token%s "
                                    "at once,",
                                    r->name, most, most == 1 ? "" : "s")
                 : g_strdup_printf ("stage '%s' binds: %s,", r->name, r->mode);
    }
  b->part = MIN (b->part, 1);
  return what;
}

/* Returns how many tokens were in flight on average: the sum of the times that
   they waited and were computed, divided by the makespan. While a batch is
   computed, all its tokens are in flight. */
static double
in_flight (const HassStream *stream, const HassReport *report)
{
  double token_s = 0;
  for (guint s = 0; s < report->n_stages; s++)
    {
      const HassStageReport *r = &report->stages[s];
      double batch = r->batches > 0 ? (double)r->tokens / r->batches : 0;
      double busy_s = r->busy_s + r->device_s - helped_s (stream, s);
      token_s += r->waiting_s + busy_s * MAX (batch, 1);
    }
  return token_s / report->makespan_s;
}

/* Returns what a token counted on average in the bound on bytes when it began.
 */
static double
mean_charge (const HassStream *stream)
{
  guint64 n = atomic_load_explicit (&stream->n_begun, memory_order_relaxed);
  guint64 bytes
      = atomic_load_explicit (&stream->bytes_begun, memory_order_relaxed);
  return n > 0 ? (double)bytes / (double)n : 0;
}

/* Returns what bounds the rate of a pipeline in which nothing was used enough
   to bind, and that in @b. */
static char *
other_cause (HassStream *stream, const HassReport *report, Binding *b)
{
  const HassJob *job = stream->job;
  const HassPhases *p = &job->phases;
  double makespan_ns = report->makespan_s * 1e9;
  double end_ns = job->begin_ns + makespan_ns;
  double n = in_flight (stream, report);
  double tokens = n / (double)stream->user_tokens;
  double bytes = n * mean_charge (stream) / (double)report->most_bytes;
  g_autofree char *size
      = g_format_size_full (report->most_bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *bound = g_strdup_printf (
      "the bound on tokens (tokens = %zu)", stream->user_tokens);
  g_autofree char *of_bytes = g_strdup_printf (
      "the bound on bytes of tokens (token_bytes, %s in flight)", size);
  const struct
  {
    const char *name;
    double part; /* of the makespan */
  } causes[] = {
    { "the generator",
      job->farm->generate
          ? (p->generated_ns - p->generate_ns - p->room_ns) / makespan_ns
          : 0 },
    { "start-up", (p->generate_ns - job->begin_ns) / makespan_ns },
    { "reduction", p->reduce_ns / makespan_ns },
    { "teardown", (end_ns - p->worked_ns - p->reduce_ns) / makespan_ns },
    { bound, tokens < BINDS ? 0 : tokens },
    { of_bytes, bytes < BINDS ? 0 : bytes },
  };
  double most = b->part;
  const char *name = NULL;
  for (guint i = 0; i < G_N_ELEMENTS (causes); i++)
    if (causes[i].part > most)
      {
        most = causes[i].part;
        name = causes[i].name;
        b->generator = i == 0;
      }
  g_autofree char *why
      = name == bound || name == of_bytes
            ? g_strdup_printf ("on average %.0f %% of them were in "
                               "flight; ",
                               100 * MIN (most, 1))
        : name ? g_strdup_printf ("it took %.0f %% of the time; ", 100 * most)
               : g_strdup ("");
  return g_strdup_printf ("%s binds: %sno stage and no device was busy for "
                          "more than %.0f %%",
                          name ? name : "nothing", why, 100 * b->part);
}

/* Returns a sentence that says what bounds the rate of the pipeline, and that
   in @b. */
static char *
binding (HassStream *stream, const HassReport *report, Binding *b)
{
  g_autofree char *what = find_busiest (stream, report, b);
  if (report->makespan_s > 0 && b->part < BINDS)
    return other_cause (stream, report, b);
  return what ? g_strdup_printf ("%s busy %.0f %%", what, 100 * b->part) : NULL;
}

void
hass_stream_report (HassJob *job, HassReport *report)
{
  HassStream *stream = hass_stream_of (job);
  Binding bound = { 0 };
  report->n_stages = stream->n_stages;
  report->stages = g_new0 (HassStageReport, stream->n_stages);
  report->units = 0;
  report->most_tokens
      = atomic_load_explicit (&stream->most_tokens, memory_order_relaxed);
  report->most_bytes
      = atomic_load_explicit (&stream->most_bytes, memory_order_relaxed);
  for (guint w = 0; w < job->n_workers; w++)
    report->units += stream->workers[w].n_through;
  for (guint s = 0; s < stream->n_stages; s++)
    add_stage (stream, s, report->makespan_s, &report->stages[s]);
  report->binding = binding (stream, report, &bound);
  if (bound.part > 0)
    set_losses (job, report, &bound);
}
