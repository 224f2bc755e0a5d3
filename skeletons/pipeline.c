/* SPDX-License-Identifier: MIT */
/* pipeline.c: checks the settings of a pipeline and hands it to the engine.
   Thread safety: see pipeline.h. */
#include "hass/pipeline.h"

#include "engine/stream/stream.h"
#include "normalise-private.h"
#include "pool/struct_size.h"

#include <math.h>

/* Bytes of loads that wait if the user gives no bound. */
#define WAITING_BYTES ((gsize)16 << 20)
/* Loads that wait in the pool. A guess: fewer, and the generator stops often;
   more, and memory is used in vain. */
#define POOL_LOADS 8192

/* The engine runs the workers of the stages; this one only says that the
   pipeline uses the CPU pool. */
static gboolean
no_worker (const HassBlock *block, HassWorker *worker, gpointer user_data,
           GError **error)
{
  (void)block;
  (void)worker;
  (void)user_data;
  g_set_error (error, HASS_ERROR, HASS_ERROR_MISUSE,
               "a pipeline has no worker of its own");
  return FALSE;
}

/* As no_worker, for devices. */
static gboolean
no_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
               gpointer user_data, GError **error)
{
  (void)bundle;
  (void)stream;
  return no_worker (NULL, NULL, user_data, error);
}

static gboolean
has_linked_worker (const HassStage *stage)
{
  return stage->gpu || (stage->workers && stage->workers[0].kind);
}

/* Returns what is wrong with a stage, or NULL. */
static const char *
wrong_stage (const HassStage *s)
{
  gboolean linked = has_linked_worker (s);
  gboolean parallel = s->mode == HASS_STAGE_PARALLEL;
  const struct
  {
    gboolean wrong;
    const char *what;
  } rules[] = {
    { (guint)s->mode > HASS_STAGE_CALLER, "mode is no HassStageMode" },
    { !s->cpu && !linked, "it has neither a CPU worker nor a GPU worker" },
    { !s->cpu && !parallel,
      "only PARALLEL stages can do without a CPU worker" },
    { linked && !parallel, "only PARALLEL stages can have GPU workers" },
    { s->at_once > 0 && !parallel, "at_once is for PARALLEL stages" },
    { !(s->output_ratio >= 0) || !isfinite (s->output_ratio),
      "output_ratio must be finite and not negative" },
    { s->output_bytes > G_MAXSIZE / 4, "output_bytes is too large" },
    { s->bundle_wait_us < 0 || s->bundle_wait_us > G_MAXINT64 / 2000,
      "bundle_wait_us is out of range" },
    { (guint)s->cost > HASS_COST_UNKNOWN, "cost is no HassCostClass" },
    { s->reduce && (!s->accumulator || s->accumulator_bytes == 0),
      "reduce needs accumulator and accumulator_bytes" },
    { !s->reduce
          && (s->reduce_init || s->reduce_clear || s->accumulator
              || s->accumulator_bytes > 0),
      "reduce_init, reduce_clear, accumulator and accumulator_bytes need "
      "reduce" },
    { s->reduce && linked, "reduce is for stages without GPU workers" },
    { s->pure && (!parallel || s->reduce),
      "pure is for PARALLEL stages without reduce" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (rules[i].wrong)
      return rules[i].what;
  return NULL;
}

/* Reads the user's stages, which may be those of an earlier version, into
   @stages. Returns: FALSE with an error that names the stage. */
static gboolean
read_stages (const HassPipeline *p, HassStage *stages, char **names,
             GError **error)
{
  const char *at = (const char *)p->stages;
  gsize step = p->stages[0].struct_size;
  for (guint i = 0; i < p->n_stages; i++)
    {
      HassStage *s = &stages[i];
      const char *wrong = NULL;
      gsize size = *(const gsize *)(const void *)(at + i * step);
      if (!hass_struct_read (s, sizeof *s, HASS_SIZE_UP_TO (HassStage, gpu),
                             at + i * step, "HassStage", error))
        {
          g_prefix_error (error, "pipeline '%s', stage %u of %u: ", p->name,
                          i + 1, p->n_stages);
          return FALSE;
        }
      if (size != step)
        wrong = "its struct_size differs from that of the first stage";
      if (!s->name)
        s->name = names[i] = g_strdup_printf ("stage %u", i + 1);
      if (!s->user_data)
        s->user_data = p->user_data;
      if (!wrong)
        wrong = wrong_stage (s);
      if (!wrong)
        continue;
      g_set_error (error, HASS_ERROR,
                   !s->cpu && !has_linked_worker (s) ? HASS_ERROR_NO_DEVICE
                                                     : HASS_ERROR_INVALID,
                   "pipeline '%s', stage %u of %u ('%s'): %s", p->name, i + 1,
                   p->n_stages, s->name, wrong);
      return FALSE;
    }
  return TRUE;
}

static gboolean
check_counts (const HassPipeline *p, GError **error)
{
  if (p->n_stages > 0 && p->n_stages <= HASS_MAX_CLASSES && p->stages)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               p->stages || p->n_stages == 0
                   ? "pipeline '%s': n_stages is %u; it must lie between 1 and "
                     "%u"
                   : "pipeline '%s': n_stages is %u, but stages is NULL",
               p->name, p->n_stages, HASS_MAX_CLASSES);
  return FALSE;
}

static gboolean
any_cpu (const HassStage *stages, guint n)
{
  for (guint i = 0; i < n; i++)
    if (stages[i].cpu)
      return TRUE;
  return FALSE;
}

static gboolean
has_gpu (const HassStage *stages, guint n)
{
  for (guint i = 0; i < n; i++)
    if (stages[i].gpu)
      return TRUE;
  return FALSE;
}

static void
add_kind (GArray *kinds, const char *kind)
{
  for (guint i = 0; i < kinds->len; i++)
    if (strcmp (g_array_index (kinds, HassKindWorker, i).kind, kind) == 0)
      return;
  HassKindWorker w = { kind, no_gpu_worker };
  g_array_append_val (kinds, w);
}

/* Returns (transfer full): HassKindWorker: the kinds of devices that stages
   have workers for, ended by a zero element. */
static GArray *
kinds_of (const HassStage *stages, guint n)
{
  GArray *kinds = g_array_new (TRUE, FALSE, sizeof (HassKindWorker));
  for (guint i = 0; i < n; i++)
    {
      if (stages[i].gpu)
        add_kind (kinds, HASS_GPU_KIND);
      for (const HassKindWorker *w = stages[i].workers; w && w->kind; w++)
        add_kind (kinds, w->kind);
    }
  return kinds;
}

/* Fills in the farm that the engine runs for a pipeline. */
static HassFarm
farm_of (const HassPipeline *p, const HassStage *stages,
         const HassKindWorker *kinds)
{
  /* A quarter of the bytes may wait, three quarters may be in flight. */
  gsize quarter = p->token_bytes > 0 ? p->token_bytes / 4 : WAITING_BYTES;
  HassFarm farm
      = { .name = p->name,
          .kind = HASS_FARM_PIPELINE,
          .cost = HASS_COST_EQUAL,
          .user_data = p->user_data,
          .generate = p->generate,
          .loads = p->loads,
          .n_loads = p->n_loads,
          .cpu_worker = any_cpu (stages, p->n_stages) ? no_worker : NULL,
          .gpu_worker = has_gpu (stages, p->n_stages) ? no_gpu_worker : NULL,
          .workers = kinds,
          .gpu_kind = HASS_GPU_KIND,
          .release = p->release,
          .release_data = p->user_data,
          .tag_free = p->tag_free,
          .constants = p->constants,
          .n_constants = p->n_constants,
          .source = &hass_stream_ops,
          .stages = stages,
          .n_stages = p->n_stages,
          .tokens = p->tokens,
          .run = &p->run };
  gsize waiting = p->tokens > 0 ? MIN (p->tokens, POOL_LOADS) : POOL_LOADS;
  hass_farm_limits (&farm, waiting, MAX (quarter, 1), 0, 0);
  farm.bounded_bytes = p->token_bytes > 0;
  farm.token_bytes = p->token_bytes > 0 ? p->token_bytes - quarter : 0;
  return farm;
}

/* Runs a pipeline whose settings have been read into @p. */
static gboolean
run (const HassPipeline *p, gint64 called_ns, HassReport **report,
     GError **error)
{
  if (!check_counts (p, error))
    return FALSE;
  HassStage stages[HASS_MAX_CLASSES];
  char *names[HASS_MAX_CLASSES] = { NULL };
  gboolean ok = read_stages (p, stages, names, error);
  if (ok)
    {
      g_autoptr (GArray) kinds = kinds_of (stages, p->n_stages);
      HassFarm farm = farm_of (p, stages, (const HassKindWorker *)kinds->data);
      farm.called_ns = called_ns;
      ok = hass_farm_run (&farm, "hass_pipeline", 0, report, error);
    }
  for (guint i = 0; i < p->n_stages; i++)
    g_free (names[i]);
  return ok;
}

gboolean
hass_pipeline (const HassPipeline *given, HassReport **report, GError **error)
{
  gint64 called_ns = hass_engine_clock ();
  HassPipeline p = { .name = NULL };
  if (report)
    *report = NULL;
  gboolean ok = hass_struct_read (&p, sizeof p,
                                  HASS_SIZE_UP_TO (HassPipeline, n_stages),
                                  given, "HassPipeline", error);
  if (ok && !p.name)
    p.name = "pipeline";
  ok = ok && run (&p, called_ns, report, error);
  return hass_farm_end (ok, report, p.name, HASS_FARM_PIPELINE);
}
