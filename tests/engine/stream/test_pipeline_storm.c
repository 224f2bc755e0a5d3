/* SPDX-License-Identifier: MIT */
/* test_pipeline_storm.c: pipelines with fused stages on GPUs that fail in any
   way, under any strategy: each of them ends, no token is lost or doubled,
   order and bytes hold.

   DESIGN. A seed makes a plan: one to four GPUs of the stand-in for the CUDA
   runtime with one to four faults, and a pipeline of two parallel stages, which
   GPUs and perhaps cores can run, and an ordered one that checks. In some plans
   a stage before them emits parts, which may own tags, or the check cancels the
   pipeline. Else, with cores for both stages, every token must come through.
   TEST_FARMS is the number of pipelines, TEST_SEED the first seed. A plan that
   hangs ends the program, with its seed.

   Thread safety: one thread beside those of the pipelines. */
#include <gio/gio.h>
#include <string.h>

#include "device/cuda/gpus-private.h"
#include "hass/pipeline.h"
#include "hass_test.h"
#include "sched/registry.h"
#include "tests/device/fake_cudart.h"
#include "tests/engine/trial.h"
#include "tests/chance.h"
#include "tests/trials.h"

#define PIPELINES TRIALS (500, 100, 80)
#define MOST_TOKENS 512
#define MOST_PARTS 3
#define MOST_BYTES 4100
/* At pure stages cores are late with each so manyth token, by so long, in us:
   GPUs overtake them. */
#define LATE_EACH 16
#define LATE_US 1000
#define PATIENCE_S 60

typedef struct
{
  guint64 seed;
  GString *text;
  guint n_gpus, n_tokens, n_cores;
  gboolean gpu_only, pure, parts, tagged;
  guint64 cancel_at; /* loads that are through then; 0: it is not cancelled */
  GCancellable *cancellable;
  const char *strategy;
  HassErrorPolicy on_error;
  gsize tokens;
  FakePlan faults;
  guint8 *bytes[MOST_TOKENS];
  /* what has happened */
  guint64 at, seen, loads_done;
  guint came; /* parts of load @at */
  _Atomic guint released[MOST_TOKENS], committed;
  _Atomic guint64 on_gpus;
  const char *_Atomic wrong;
} Plan;

/* What has happened in all. */
typedef struct
{
  guint64 whole, failed, faults, lost, on_gpus, again, overtaken;
} Tally;

/* -- The stages: a token begins with its size in bytes ------------------ */

/* ThreadSanitizer sees the copy or the comparison of the bytes, each in one
   look, so it need not see each byte. */
__attribute__ ((no_sanitize ("thread"))) static void
triple_all (guint8 *bytes, gsize n)
{
  for (gsize i = 0; i < n; i++)
    bytes[i] = (guint8)(3 * bytes[i] + 1);
}

__attribute__ ((no_sanitize ("thread"))) static void
flip_all (guint8 *bytes, gsize n)
{
  for (gsize i = 0; i < n; i++)
    bytes[i] ^= 0x5a;
}

/* Returns: its size. */
static guint32
copy_token (guint8 *to, const guint8 *from)
{
  guint32 n;
  memcpy (&n, from, sizeof n);
  memcpy (to, from, n);
  return n;
}

static void
triple (const guint8 *in, guint8 *out)
{
  guint32 n = copy_token (out, in);
  triple_all (out + sizeof n, n - sizeof n);
}

static void
flip (const guint8 *in, guint8 *out)
{
  guint32 n = copy_token (out, in);
  flip_all (out + sizeof n, n - sizeof n);
}

static guint
n_parts (const Plan *p, guint64 seq)
{
  return p->parts ? 1 + (guint)(seq % MOST_PARTS) : 1;
}

/* The first part lies in the load, the others in buffers. */
static gboolean
cpu_parts (HassToken *t, HassWorker *worker, gpointer data, GError **error)
{
  Plan *p = data;
  (void)error;
  HassLoad part = { .input = t->input, .input_bytes = t->input_bytes };
  for (guint i = 0; i < n_parts (p, t->seq); i++)
    {
      gpointer buffer
          = i > 0 ? hass_token_buffer (t, worker, t->input_bytes) : NULL;
      if (i > 0 && !buffer)
        return FALSE;
      if (buffer)
        part.input = memcpy (buffer, t->input, t->input_bytes);
      part.tag = p->tagged ? g_memdup2 (t->input, sizeof (guint32)) : NULL;
      if (!hass_token_emit (t, worker, &part))
        {
          g_free (part.tag);
          return FALSE;
        }
    }
  return TRUE;
}

static void
free_tag (gpointer tag, gpointer data)
{
  (void)data;
  g_free (tag);
}

static gboolean
cpu_triple (HassToken *t, HassWorker *worker, gpointer data, GError **error)
{
  Plan *p = data;
  (void)error;
  triple (t->input, t->output);
  gint64 until = g_get_monotonic_time () + LATE_US;
  while (p->pure && t->seq % LATE_EACH == 0 && !hass_worker_stopping (worker)
         && g_get_monotonic_time () < until)
    g_thread_yield ();
  if (p->tagged && memcmp (t->tag, t->output, sizeof (guint32)) != 0)
    p->wrong = "a part has a wrong tag";
  return TRUE;
}

static gboolean
cpu_flip (HassToken *t, HassWorker *worker, gpointer data, GError **error)
{
  (void)worker, (void)data, (void)error;
  flip (t->input, t->output);
  return TRUE;
}

static void
triple_kernel (const HassBundle *b, gpointer data)
{
  Plan *p = data;
  for (gsize i = 0; i < b->n_blocks; i++)
    triple (fake_input (b, i), fake_output (b, i));
  p->on_gpus += b->n_blocks;
}

static void
flip_kernel (const HassBundle *b, gpointer data)
{
  Plan *p = data;
  for (gsize i = 0; i < b->n_blocks; i++)
    flip (fake_input (b, i), fake_output (b, i));
  p->on_gpus += b->n_blocks;
}

static gboolean
gpu_triple (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
            GError **error)
{
  fake_launch (stream, triple_kernel, bundle, data);
  return fake_check ("triple", error);
}

static gboolean
gpu_flip (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  fake_launch (stream, flip_kernel, bundle, data);
  return fake_check ("flip", error);
}

static gboolean
check (HassToken *t, HassWorker *worker, gpointer data, GError **error)
{
  Plan *p = data;
  guint8 wanted[MOST_BYTES];
  guint32 n = copy_token (wanted, p->bytes[t->seq]);
  (void)worker, (void)error;
  if (t->seq != p->at)
    p->came = 0;
  if (t->seq < p->at || p->came == n_parts (p, t->seq))
    p->wrong = "a token came twice or out of order";
  p->at = t->seq;
  p->seen += ++p->came == n_parts (p, t->seq);
  if (p->cancel_at > 0 && p->seen >= p->cancel_at)
    g_cancellable_cancel (p->cancellable);
  triple_all (wanted + sizeof n, n - sizeof n);
  flip_all (wanted + sizeof n, n - sizeof n);
  if (t->input_bytes != n)
    p->wrong = "a token has a wrong size";
  else if (memcmp (t->input, wanted, n) != 0)
    p->wrong = "a token has wrong bytes";
  return TRUE;
}

static void
released (const HassLoad *load, gboolean committed, gpointer data)
{
  Plan *p = data;
  p->released[GPOINTER_TO_UINT (load->tag)]++;
  p->committed += committed;
  g_free (p->bytes[GPOINTER_TO_UINT (load->tag)]); /* nobody reads it now */
  p->bytes[GPOINTER_TO_UINT (load->tag)] = NULL;
}

static void
progress (const HassProgressInfo *info, gpointer data)
{
  Plan *p = data;
  if (info->loads_done < p->loads_done || info->loads_done > p->n_tokens)
    p->wrong = "the progress goes back or too far";
  p->loads_done = info->loads_done;
}

/* -- A strategy that begins again whatever it may ----------------------- */

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  const HassStrategyEnv *env = self;
  (void)force;
  serve->in_flight = 2;
  serve->fuse = 1;
  serve->units = 3;
  if (env->devices[device].kind != HASS_DEVICE_GPU)
    return HASS_TAKE;
  for (guint c = 0; c < state->n_classes; c++)
    if (state->classes[c].ready > 0 && env->classes[c].devices >> device & 1)
      {
        serve->class_index = c;
        return HASS_TAKE;
      }
  serve->again = state->held.units > 0;
  return serve->again ? HASS_TAKE : HASS_WAIT;
}

static const HassStrategyOps again_ops = { .struct_size = sizeof again_ops,
                                           .name = "test-again",
                                           .summary = "a test",
                                           .source = "a test",
                                           .farms = HASS_FARM_PIPELINE,
                                           .create = trial_env,
                                           .serve = serve };

/* -- Plans -------------------------------------------------------------- */

static const char *
strategy_for (GRand *r)
{
  const char *found[64];
  guint n = 0;
  for (guint i = 0; hass_builtin_strategies[i]; i++)
    if (hass_builtin_strategies[i]->farms & HASS_FARM_PIPELINE)
      found[n++] = hass_builtin_strategies[i]->name;
  return found[below (r, n)];
}

static void
plan_init (Plan *p, guint64 seed)
{
  g_autoptr (GRand) r = g_rand_new_with_seed ((guint32)seed);
  *p = (Plan){ .seed = seed, .text = g_string_new (NULL) };
  p->n_gpus = 1 + below (r, FAKE_DEVICES);
  p->strategy = strategy_for (r);
  p->n_cores = 1 + below (r, 3);
  p->gpu_only = below (r, 3) == 0;
  p->n_tokens = 1 + below (r, MOST_TOKENS);
  p->tokens = below (r, 2) ? 0 : 1 + below (r, 100);
  if (below (r, 2))
    p->on_error = HASS_ON_ERROR_CONTINUE;
  guint most = 1 << (4 + below (r, 9)); /* so a token has up to MOST_BYTES */
  for (guint i = 0; i < p->n_tokens; i++)
    {
      guint32 n = 4 + below (r, most);
      p->bytes[i] = g_malloc (n);
      memset (p->bytes[i], (int)below (r, 256), n);
      memcpy (p->bytes[i], &n, sizeof n);
    }
  g_string_printf (p->text,
                   "seed %" G_GUINT64_FORMAT ": %s, %u gpus, %u cores%s, %u "
                   "tokens:",
                   seed, p->strategy, p->n_gpus, p->n_cores,
                   p->gpu_only ? " for the last stage" : "", p->n_tokens);
  for (guint i = 1 + below (r, 4); i > 0; i--)
    fake_add_fault (r, p->n_gpus, &p->faults, p->text);
  p->faults.n_devices = p->n_gpus;
  p->pure = below (r, 2);
  if (p->pure && below (r, 4) > 0)
    p->strategy = again_ops.name;
  p->parts = below (r, 3) == 0;
  p->tagged = p->parts && below (r, 2);
  if (p->parts && p->tokens > 0)
    p->tokens += MOST_PARTS;
  if (below (r, 8) == 0)
    p->cancel_at = 1 + below (r, p->n_tokens);
  p->cancellable = g_cancellable_new ();
  g_string_append_printf (p->text, "%s%s cancel at %" G_GUINT64_FORMAT,
                          p->parts ? " parts" : "",
                          p->tagged ? " with tags" : "", p->cancel_at);
}

static void
plan_clear (Plan *p)
{
  for (guint i = 0; i < p->n_tokens; i++)
    g_free (p->bytes[i]);
  g_string_free (p->text, TRUE);
  g_object_unref (p->cancellable);
}

static gboolean
run_pipeline (Plan *p, HassReport **report, GError **error)
{
  HassLoad loads[MOST_TOKENS];
  const HassStage stages[] = {
    HASS_STAGE (.name = "parts", .cpu = cpu_parts),
    HASS_STAGE (.name = "triple", .cpu = p->gpu_only ? NULL : cpu_triple,
                .gpu = gpu_triple, .output_ratio = 1, .pure = p->pure),
    HASS_STAGE (.name = "flip", .cpu = p->gpu_only ? NULL : cpu_flip,
                .gpu = gpu_flip, .output_ratio = 1, .pure = p->pure),
    HASS_STAGE (.name = "check", .mode = HASS_STAGE_ORDERED, .cpu = check),
  };
  for (guint i = 0; i < p->n_tokens; i++)
    {
      guint32 n;
      memcpy (&n, p->bytes[i], sizeof n);
      loads[i] = (HassLoad){ .input = p->bytes[i],
                             .input_bytes = n,
                             .tag = GUINT_TO_POINTER (i) };
    }
  HassPipeline pipeline = HASS_PIPELINE_INIT;
  pipeline.name = "storm";
  pipeline.loads = loads;
  pipeline.n_loads = p->n_tokens;
  pipeline.user_data = p;
  pipeline.stages = p->parts ? stages : stages + 1;
  pipeline.n_stages = G_N_ELEMENTS (stages) - !p->parts;
  pipeline.tag_free = p->tagged ? free_tag : NULL;
  pipeline.tokens = p->tokens;
  pipeline.release = released;
  pipeline.run.strategy = p->strategy;
  pipeline.run.on_error = p->on_error;
  pipeline.run.n_cores = p->n_cores;
  pipeline.run.n_gpus = (gint)p->n_gpus;
  pipeline.run.cancellable = p->cancellable;
  pipeline.run.progress = progress;
  pipeline.run.progress_data = p;
  pipeline.run.progress_interval_ms = 1;
  if (p->faults.hang_kernel_at > 0)
    pipeline.run.bundle_deadline_ms = 30;
  return hass_pipeline (&pipeline, report, error);
}

/* Holds the books of a pipeline that has ended to the contract. */
static void
check_books (Plan *p, gboolean ok, const HassReport *report,
             const GError *error)
{
  guint64 unfinished = 0;
  /* The report of what has not begun names no strategy. */
  gboolean begun = report && report->strategy;
  for (guint i = 0; report && i < report->n_unfinished; i++)
    unfinished += report->unfinished[i].n_loads;
  for (guint i = 0; i < p->n_tokens; i++)
    if (p->released[i] != (begun ? 1 : 0))
      p->wrong = "a load was not released once";
  if (p->committed != p->seen)
    p->wrong = "what was committed was not seen, or the other way round";
  if (begun && unfinished != p->n_tokens - p->seen)
    p->wrong = "a token is neither through nor listed";
  if (!ok && !error)
    p->wrong = "it failed without an error";
  if (!p->gpu_only && p->cancel_at == 0 && (!ok || p->seen != p->n_tokens))
    p->wrong = "cores could have computed what is missing";
}

/* Returns: FALSE if something was wrong, which has been told. */
static gboolean
run_plan (Plan *p, Tally *tally)
{
  const FakePlan calm = { .n_devices = p->n_gpus };
  HassReport *report = NULL;
  g_autoptr (GError) error = NULL;
  gboolean lost = FALSE;
  hass_gpus_forget ();
  fake_cudart_install (&calm);
  fake_cudart_plan (&p->faults);
  watchdog (PATIENCE_S, p->text->str);
  gboolean ok = run_pipeline (p, &report, &error);
  fake_cudart_plan (&calm);
  fake_end_hang ();
  hass_gpus_forget ();
  FakeCounts counts = fake_cudart_remove ();
  watchdog (0, NULL);
  check_books (p, ok, report, error);
  for (guint d = 0; report && d < report->n_devices; d++)
    lost |= report->devices[d].lost;
  for (guint s = 0; report && s < report->n_stages; s++)
    {
      tally->again += report->stages[s].again;
      tally->overtaken += report->stages[s].overtaken;
      if (report->stages[s].overtaken > report->stages[s].tokens)
        p->wrong = "more tokens are overtaken than computed";
      if (report->stages[s].tokens
          > (guint64)p->n_tokens * (p->parts ? MOST_PARTS : 1))
        p->wrong = "a token counts twice at a stage";
    }
  tally->lost += lost;
  tally->faults += counts.faults;
  tally->on_gpus += p->on_gpus;
  *(ok && p->seen == p->n_tokens ? &tally->whole : &tally->failed) += 1;
  hass_report_free (report);
  /* Pages that a lost GPU may be reading stay pinned. */
  gboolean leaks = counts.leaks[0] && !lost;
  if (p->wrong || counts.wrong[0] || leaks)
    g_printerr ("\n    %s\n    %s %s %s %s", p->text->str,
                p->wrong ? p->wrong : "", counts.wrong,
                leaks ? counts.leaks : "", error ? error->message : "");
  return !p->wrong && !counts.wrong[0] && !leaks;
}

static guint64
from_environment (const char *name, guint64 preset)
{
  const char *text = g_getenv (name);
  return text && *text ? g_ascii_strtoull (text, NULL, 0) : preset;
}

static void
storm (void)
{
  guint64 n = from_environment ("TEST_FARMS", PIPELINES);
  guint64 first = from_environment ("TEST_SEED", 1);
  guint n_wrong = 0;
  Tally t = { 0 };
  hass_strategy_register (&again_ops, NULL); /* once is enough */
  for (guint64 i = 0; i < n && n_wrong < 10; i++)
    {
      Plan p;
      plan_init (&p, first + i);
      n_wrong += !run_plan (&p, &t);
      plan_clear (&p);
    }
  printf ("\n    %" G_GUINT64_FORMAT " pipelines whole, %" G_GUINT64_FORMAT
          " failed; %" G_GUINT64_FORMAT " faults, %" G_GUINT64_FORMAT
          " lost a GPU, %" G_GUINT64_FORMAT
          " tokens' stages on GPUs, %" G_GUINT64_FORMAT
          " begun again, %" G_GUINT64_FORMAT " overtaken ",
          t.whole, t.failed, t.faults, t.lost, t.on_gpus, t.again, t.overtaken);
  CU_ASSERT_EQUAL (n_wrong, 0);
  CU_ASSERT_TRUE (n < PIPELINES
                  || (t.whole > 0 && t.faults > 0 && t.lost > 0 && t.on_gpus > 0
                      && t.overtaken > 0 && t.again > t.overtaken));
}

HASS_TEST_SUITE (pipeline_storm,
                 { "pipelines on GPUs that fail in any way end, lose no token "
                   "and keep the order",
                   storm })
