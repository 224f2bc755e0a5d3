/* SPDX-License-Identifier: MIT */
/* pipelines.c: the sub-command "pipelines": a pipeline with the default
   strategy beside the same pipeline on the best single device.

   DESIGN. A generator emits tokens of a ring of inputs; a parallel stage takes
   TokenSteps on cores or GPU, with the same result; an ordered stage compares
   order and results with what they must be. A cell of the table is a ratio, the
   tokens per second of the GPU over those of one core, and a bound on the
   tokens in flight.
   1. This process finds how many steps take a core the wanted time.
   2. For each cell a process finds how many steps make the GPU as fast as the
      ratio says, with 64 tokens in flight, and whether the GPU alone serves the
      cell's tokens in flight faster with one or eight in a bundle.
   3. Each measurement is a process of its own, which opens the GPU, if it
      does, within the measured call. A first run finds an empty profile
      store, a later run that of the run before. Cores alone get few of the
      tokens, and their time is scaled.

   Thread safety: one thread; stages as hass/stage.h. */
#include "workers.h"

#include <hass/pipeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GPU_SECONDS 0.5  /* of the GPU alone, once it is open */
#define CORE_SECONDS 0.5 /* of cores alone, not scaled */
#define LEAST_TOKENS 32
#define CALIBRATED_IN_FLIGHT 64
#define BUNDLE 8 /* tokens of a bundle of the GPU alone, or 1 */
#define MOST_ROUNDS 15
#define ROUNDS_OF_ALL 3

/* What a process does. @units: 0: without the GPU; without @cpu: in a bundle.
   @token_s > 0: calibrates so that the GPU alone takes so long for a token.
   @store: profile; "": an empty one of its own. */
typedef struct
{
  guint cpu, units, in_flight, n_tokens, token_kib, n_steps, gpu_steps, buffers;
  double token_s;
  char store[512];
} Spec;

#define SPEC_FORMAT "%u:%u:%u:%u:%u:%u:%u:%u:%lg:"

/* @seconds, @part: of the run; of its tokens the GPU's per cent. A calibration
   answers @seconds of opening the GPU, @token_s, @units and @gpu_steps. */
typedef struct
{
  double seconds, part, token_s;
  guint units, gpu_steps;
} Answer;

/* @inputs: [@n_slots] tokens, of which no two in flight are the same;
   @expected: [@n_slots] results, from leaps; @next: seq at the ordered stage.
 */
typedef struct
{
  const Spec *spec;
  TokenSteps steps;
  gsize n_slots, token_bytes, result_bytes;
  guint8 *inputs, *expected;
  guint64 next;
} Run;

/* -- The pipeline ------------------------------------------------------- */

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  const Run *r = data;
  const guint8 *inputs = r->inputs;
  gsize bytes = r->n_slots * r->token_bytes;
  HassLoad load = { .input_bytes = r->token_bytes, .size = 1 };
  (void)error;
  if (r->spec->buffers)
    {
      guint8 *buffer = hass_emitter_buffer (emitter, bytes);
      inputs = buffer ? memcpy (buffer, inputs, bytes) : NULL;
      load.flags = HASS_LOAD_BUFFER;
    }
  for (guint i = 0; inputs && i < r->spec->n_tokens; i++)
    {
      load.input = inputs + i % r->n_slots * r->token_bytes;
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  return inputs != NULL;
}

static gboolean
compute (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)error;
  return token_steps_cpu (data, worker, token->input, (gpointer)token->output);
}

static gboolean
check (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Run *r = data;
  const guint8 *expected
      = r->expected + token->seq % r->n_slots * r->result_bytes;
  (void)worker;
  if (token->seq == r->next++ && token->input_bytes == r->result_bytes
      && memcmp (token->input, expected, r->result_bytes) == 0)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER,
               "out of order after %" G_GUINT64_FORMAT
               " tokens, or a wrong result",
               r->next - 1);
  return FALSE;
}

/* A pipeline that fails, or whose GPU does, ends the process. */
static Answer
look_at (const Run *r, const HassReport *report, const GError *error)
{
  Answer answer = { 0 };
  const char *wrong = error                          ? error->message
                      : r->next != r->spec->n_tokens ? "tokens are missing"
                                                     : NULL;
  for (guint d = 0; d < report->n_devices; d++)
    {
      const HassDeviceReport *device = &report->devices[d];
      if (device->kind == HASS_DEVICE_GPU)
        answer.part += 100.0 * device->units / r->spec->n_tokens;
      if (!wrong && (device->lost || device->failures > 0))
        wrong = device->message ? device->message : device->name;
    }
  if (!wrong)
    return answer;
  fprintf (stderr, "%s\n", wrong);
  exit (1);
}

static Answer
run_once (Run *r)
{
  const Spec *s = r->spec;
  GError *error = NULL;
  HassReport *report = NULL;
  char alone[64];
  r->steps = token_steps (s->token_kib, s->n_steps, s->gpu_steps);
  r->next = 0;
  const HassStage stages[]
      = { HASS_STAGE (.name = "steps", .cpu = s->cpu ? compute : NULL,
                      .gpu = s->units ? worker_token_steps : NULL,
                      .user_data = &r->steps, .output_bytes = r->result_bytes,
                      .element_threads = r->steps.n_words),
          HASS_STAGE (.name = "check", .mode = HASS_STAGE_ORDERED,
                      .cpu = check) };
  HassPipeline p = HASS_PIPELINE_INIT;
  p.name = "gpu-bench";
  p.user_data = r;
  p.generate = generate;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.tokens = s->in_flight;
  p.run.n_gpus = s->units ? 1 : -1;
  g_snprintf (alone, sizeof alone, "pipe-fixed:s1=1,units=%u", s->units);
  p.run.strategy = s->cpu ? NULL : alone;
  gint64 begin = bench_now_ns ();
  hass_pipeline (&p, &report, &error);
  double seconds = (bench_now_ns () - begin) * 1e-9;
  Answer answer = look_at (r, report, error);
  answer.seconds = seconds;
  hass_report_free (report);
  return answer;
}

/* -- The process -------------------------------------------------------- */

/* Step 2. The first number of steps is a guess that any other would do for;
   each run corrects it. */
static Answer
calibrate (Spec *s, Run *r)
{
  guint in_flight = s->in_flight;
  Answer found = { .token_s = G_MAXDOUBLE };
  s->in_flight = CALIBRATED_IN_FLIGHT;
  s->units = BUNDLE;
  s->gpu_steps = (1u << 30) / r->steps.n_words;
  s->n_tokens = (guint)CLAMP (0.06 / s->token_s, LEAST_TOKENS, 4000);
  double opening = run_once (r).seconds;
  opening -= run_once (r).seconds;
  for (guint i = 0; i < 5; i++)
    {
      double token_s = run_once (r).seconds / s->n_tokens;
      s->gpu_steps = (guint)CLAMP (s->gpu_steps * s->token_s / token_s, 1, 4e9);
    }
  s->in_flight = in_flight;
  for (s->units = 1; s->units <= MIN (BUNDLE, in_flight); s->units *= BUNDLE)
    {
      double token_s = run_once (r).seconds / s->n_tokens;
      if (token_s < found.token_s)
        found = (Answer){ opening, 0, token_s, s->units, s->gpu_steps };
    }
  return found;
}

static int
run_spec (const char *text)
{
  Spec s = { .store = "" };
  if (sscanf (text, SPEC_FORMAT "%511[^\n]", &s.cpu, &s.units, &s.in_flight,
              &s.n_tokens, &s.token_kib, &s.n_steps, &s.gpu_steps, &s.buffers,
              &s.token_s, s.store)
      < 9)
    return 2;
  if (*s.store)
    g_setenv ("HASS_PROFILE", s.store, TRUE);
  Run r = { .spec = &s,
            .steps = token_steps (s.token_kib, s.n_steps, s.gpu_steps) };
  r.n_slots = MAX (s.in_flight, CALIBRATED_IN_FLIGHT);
  r.token_bytes = s.token_kib * KIB;
  r.result_bytes = r.token_bytes / WORDS_SUMMED;
  r.inputs = pages_new (r.n_slots * r.token_bytes, FALSE);
  r.expected = pages_new (r.n_slots * r.result_bytes, FALSE);
  token_steps_fill (&r.steps, r.n_slots, r.inputs, r.expected);
  Answer answer = s.token_s > 0 ? calibrate (&s, &r) : run_once (&r);
  printf ("%.9f %.9f %.9f %u %u\n", answer.seconds, answer.part, answer.token_s,
          answer.units, answer.gpu_steps);
  return 0;
}

static Answer
in_process (const Spec *s)
{
  Answer a;
  char *spec = g_strdup_printf (
      SPEC_FORMAT "%s", s->cpu, s->units, s->in_flight, s->n_tokens,
      s->token_kib, s->n_steps, s->gpu_steps, s->buffers, s->token_s, s->store);
  child_scan ("pipelines", spec, 5, "%lf %lf %lf %u %u", &a.seconds, &a.part,
              &a.token_s, &a.units, &a.gpu_steps);
  return a;
}

/* -- A cell ------------------------------------------------------------- */

enum
{
  FIRST,
  LATER,
  GPU,
  CORES,
  N_WAYS
};

typedef struct
{
  Spec spec;
  double ms[MOST_ROUNDS], part[MOST_ROUNDS];
} Way;

/* The lowest per cent of the best single device in all cells, and where. */
typedef struct
{
  double of_best;
  guint ratio, in_flight;
} Worst;

/* @spec: of the GPU alone. Each round begins with another way; a later run has
   had a first one. */
static void
run_ways (Way *ways, const Spec *spec, double core_s, guint rounds)
{
  const char *store = g_getenv ("HASS_PROFILE");
  guint width = MIN (bench_cores (), spec->in_flight),
        most = (guint)MAX (CORE_SECONDS / core_s, 2) * width;
  for (guint w = 0; w < N_WAYS; w++)
    {
      Spec *s = &ways[w].spec;
      *s = *spec;
      s->cpu = w != GPU;
      s->units = w == CORES ? 0 : s->units;
      s->n_tokens = w == CORES ? MIN (s->n_tokens, most) : s->n_tokens;
      g_strlcpy (s->store, w <= LATER ? store : "", sizeof s->store);
    }
  for (guint i = 0; i < rounds * N_WAYS; i++)
    {
      guint round = i / N_WAYS, w = (i + round) % N_WAYS;
      if (w == FIRST)
        unlink (store);
      Answer a = in_process (&ways[w].spec);
      ways[w].ms[round]
          = a.seconds * 1e3 * spec->n_tokens / ways[w].spec.n_tokens;
      ways[w].part[round] = a.part;
    }
}

static void
run_cell (Spec spec, guint ratio, double core_s, guint rounds, Worst *worst)
{
  Way ways[N_WAYS];
  double ms[N_WAYS], ratios[MOST_ROUNDS];
  spec.token_s = core_s / ratio;
  Answer found = in_process (&spec);
  spec.units = found.units;
  spec.gpu_steps = found.gpu_steps;
  spec.n_tokens = (guint)MAX (GPU_SECONDS / found.token_s, LEAST_TOKENS);
  spec.token_s = 0;
  run_ways (ways, &spec, core_s, rounds);
  for (guint w = 0; w < N_WAYS; w++)
    ms[w] = median_of (ways[w].ms, rounds);
  const Way *best = &ways[ms[GPU] < ms[CORES] ? GPU : CORES];
  printf ("| %5u | %7.1f | %9u | %6u | %7.1f | %11.1f | %9.1f | %6u |", ratio,
          core_s / found.token_s, spec.in_flight, spec.n_tokens,
          found.seconds * 1e3, ms[CORES], ms[GPU], spec.units);
  for (guint w = FIRST; w <= LATER; w++)
    {
      for (guint i = 0; i < rounds; i++)
        ratios[i] = 100 * best->ms[i] / ways[w].ms[i];
      double of_best = median_of (ratios, rounds);
      printf (" %7.1f | %5.1f | %7.1f |", ms[w],
              median_of (ways[w].part, rounds), of_best);
      if (worst[w].ratio == 0 || of_best < worst[w].of_best)
        worst[w] = (Worst){ of_best, ratio, spec.in_flight };
    }
  printf ("\n");
  fflush (stdout);
}

/* -- The sub-command ---------------------------------------------------- */

gboolean
pipelines_can (const GpuBenchOptions *o)
{
  return o->ratio >= 0 && o->units >= 0 && o->in_flight >= 0
         && o->in_flight <= 32768 && o->token_kib >= 1 && o->token_kib <= 65536
         && o->core_ms >= 0.1 && o->core_ms <= 1000;
}

int
pipelines_main (const GpuBenchOptions *options)
{
  static const guint ratios[] = { 2, 10, 50, 300, 1000 },
                     in_flight[] = { 8, 64, 512 };
  static const char *const run[] = { "first run", "later runs" };
  const guint ratio = (guint)options->ratio, bound = (guint)options->in_flight;
  guint rounds
      = MIN (options->repeat, options->targets ? ROUNDS_OF_ALL : MOST_ROUNDS);
  Worst worst[] = { { 0, 0, 0 }, { 0, 0, 0 } };
  Spec spec = { .token_kib = (guint)options->token_kib,
                .buffers = options->buffers ? 1 : 0 };
  if (options->run)
    return run_spec (options->run);
  double core_s = token_steps_calibrate (
      spec.token_kib, options->core_ms * 1e-3, &spec.n_steps);
  printf (
      "\nTokens of %u KiB, %.2f ms (%u steps) each on a core. Times in ms, "
      "opening the GPU included, medians of %u processes; \"reached\": the "
      "ratio with the tokens in flight of the line; \"GPU\": per cent "
      "of the tokens; \"of best\": per cent of the best single device's "
      "speed.\n\n"
      "| ratio | reached | in flight | tokens | opening | cores alone | GPU "
      "alone | bundle |   first |   GPU | of best |   later |   GPU | of "
      "best |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
      spec.token_kib, core_s * 1e3, spec.n_steps, rounds);
  for (guint i = 0; i < (ratio ? 1 : G_N_ELEMENTS (ratios)); i++)
    for (guint k = 0; k < (bound ? 1 : G_N_ELEMENTS (in_flight)); k++)
      {
        spec.in_flight = bound ? bound : in_flight[k];
        run_cell (spec, ratio ? ratio : ratios[i], core_s, rounds, worst);
      }
  for (guint w = FIRST; w <= LATER; w++)
    target_add (TARGET_AT_LEAST, 97, worst[w].of_best, "%",
                "pipelines, %s, worst (ratio %u, %u in flight): of the best "
                "single device",
                run[w], worst[w].ratio, worst[w].in_flight);
  return 0;
}
