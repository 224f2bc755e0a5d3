/* SPDX-License-Identifier: MIT */
/* run.c: runs a strategy on a modelled pipeline, in virtual time.

   DESIGN. The engine runs the pipeline; a token carries its number at the stage
   as its tag. The workers only drop and emit, as SimPipe says, and look at the
   order. Tokens have memory of their size, which the workers leave alone.

   Thread safety: any thread. */
#include "pipe.h"

#include "engine/observe/observe.h"
#include "engine/stream/stream.h"

#define GPU_KIND "cuda"
/* As skeletons/pipeline.c has them. */
#define POOL_LOADS 8192
#define WAITING_BYTES ((gsize)16 << 20)

/* What the worker of a stage needs. `next`: of an ordered stage, the number of
   the next token. */
typedef struct
{
  const SimPipeCase *c;
  SimPipeResult *result;
  guint stage;
  guint64 next;
} Place;

static gboolean
compute (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Place *place = data;
  const SimPipe *pipe = place->c->pipe;
  guint s = place->stage;
  guint64 number = GPOINTER_TO_SIZE (token->tag);
  guint64 first = sim_pipe_next (pipe, s, number);
  guint64 end = sim_pipe_next (pipe, s, number + 1);
  HassStageMode mode = pipe->stages[s].mode;
  (void)error;
  if ((mode == HASS_STAGE_ORDERED || mode == HASS_STAGE_CALLER)
      && number != place->next++)
    place->result->in_order = FALSE;
  if (s + 1 == pipe->n_stages)
    place->result->through += end - first;
  if (first == end)
    hass_token_drop (token, worker);
  token->tag = GSIZE_TO_POINTER (first);
  if (end - first < 2 || s + 1 == pipe->n_stages)
    return TRUE;
  for (guint64 part = first; part < end; part++)
    {
      HassLoad load = { .input = token->output,
                        .input_bytes = token->output_bytes,
                        .tag = GSIZE_TO_POINTER (part) };
      if (!hass_token_emit (token, worker, &load))
        break;
    }
  return TRUE;
}

static gboolean
on_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

/* What says that the pipeline uses cores; the engine calls the stages. */
static gboolean
on_core (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return FALSE;
}

/* The engine divides the work by the rate that the platform has for the stage,
   so that the time is that of the case. */
static double
token_work (gpointer data, guint stage, guint device, const HassToken *token)
{
  const SimPipeCase *c = data;
  const HassPlatform *p = c->platform;
  const HassGpuModel *gpu
      = device < c->first_gpu ? NULL : &p->gpus[device - c->first_gpu];
  double rate = hass_platform_stage_rate (p, c->pipe->stages[stage].name,
                                          gpu ? gpu->name : NULL);
  if (rate <= 0)
    rate = gpu ? gpu->work_per_ns : p->core_work_per_ns;
  return c->ns[stage][device] * rate
         * sim_pipe_cost (c, stage, GPOINTER_TO_SIZE (token->tag), 1);
}

static HassStage
stage_of (const SimStage *s, Place *place)
{
  gboolean empty = s->output_bytes + s->output_ratio <= 0;
  return (HassStage){ .struct_size = sizeof (HassStage),
                      .name = s->name,
                      .mode = s->mode,
                      .cpu = s->cpu ? compute : NULL,
                      .gpu = s->gpu ? on_gpu : NULL,
                      .user_data = place,
                      .at_once = s->at_once,
                      /* 0 would leave the token as it came */
                      .output_bytes = empty ? 1 : (gsize)s->output_bytes,
                      .output_ratio = s->output_ratio,
                      .cost = s->cost,
                      .element_threads = s->elements };
}

/* Returns: the time in ns for which a token occupies what it occupies longest,
   the device or its link in one direction, as the profile store keeps it. */
static double
longest_ns (const SimPipeCase *c, guint s, guint d)
{
  if (d < c->first_gpu)
    return c->ns[s][d];
  const HassGpuModel *gpu = &c->platform->gpus[d - c->first_gpu];
  double in_ns = c->in_bytes[s] / gpu->h2d_bytes_per_ns;
  double out_ns = c->out_bytes[s] / gpu->d2h_bytes_per_ns;
  return MAX (c->ns[s][d], MAX (in_ns, out_ns));
}

/* Returns: [n_stages * n_devices] what earlier runs have measured, by the mean
   times of the stages. */
static HassProfileRate *
known_rates (const SimPipeCase *c)
{
  guint n = c->n_devices;
  HassProfileRate *rates = g_new0 (HassProfileRate, c->pipe->n_stages * n);
  for (guint s = 0; s < c->pipe->n_stages; s++)
    for (guint d = 0; d < n; d++)
      {
        gboolean cpu = d < c->first_gpu;
        double servers = cpu ? c->platform->cores : 1;
        double all = cpu ? c->pipe->stages[s].loops * servers : 0;
        if (c->ns[s][d] > 0)
          rates[s * n + d] = (HassProfileRate){
            .work_per_ns = servers / longest_ns (c, s, d),
            .latency_ns = all > 1 ? c->ns[s][d] / all : 0,
            .runs = 1
          };
      }
  return rates;
}

/* Runs the farm; its stages and loads are set. */
static gboolean
run (const SimPipeCase *c, HassFarm *farm, const SimPipeOptions *options,
     HassReport **report, GError **error)
{
  static const HassKindWorker kinds[]
      = { { GPU_KIND, on_gpu }, { NULL, NULL } };
  static const HassStage stand_in
      = { .struct_size = sizeof (HassStage), .cpu = compute };
  gsize given = c->pipe->in_flight_bytes;
  HassRunOptions run = { .seed = c->seed,
                         .trace = options->trace ? options->trace : "",
                         .record = options->record ? options->record : "" };
  double loops[SIM_MOST_STAGES];
  HassVirtualModel model = { .token_work = token_work,
                             .loops = loops,
                             .data = (gpointer)c,
                             .events = options->events,
                             .n_events = options->n_events };
  g_autofree HassProfileRate *known = options->known ? known_rates (c) : NULL;
  gboolean gpu = FALSE, cpu = FALSE;
  for (guint s = 0; s < farm->n_stages; s++)
    {
      loops[s] = c->pipe->stages[s].loops;
      gpu = gpu || farm->stages[s].gpu;
      cpu = cpu || farm->stages[s].cpu;
    }
  farm->name = c->pipe->name;
  farm->observe = hass_observe;
  farm->kind = HASS_FARM_PIPELINE;
  farm->cost = HASS_COST_EQUAL;
  farm->cpu_worker = cpu ? on_core : NULL;
  farm->gpu_worker = gpu ? on_gpu : NULL;
  farm->workers = gpu ? kinds : &kinds[1];
  farm->gpu_kind = GPU_KIND;
  farm->stand_in = &stand_in;
  farm->source = &hass_stream_ops;
  farm->tokens = options->tokens > 0 ? options->tokens : c->pipe->in_flight;
  farm->token_bytes = given - given / 4;
  farm->block_elements = farm->element_threads = 1;
  farm->pool_loads
      = farm->tokens > 0 ? MIN (farm->tokens, POOL_LOADS) : POOL_LOADS;
  farm->pool_bytes = given > 0 ? MAX (given / 4, 1) : WAITING_BYTES;
  farm->round_loads = G_MAXUINT32 - 1;
  farm->window = G_MAXUINT32;
  farm->strategy = options->strategy;
  farm->profile = known;
  farm->run = &run;
  return hass_virtual_run_model (farm, c->platform, &model, report, error);
}

gboolean
sim_pipe_run (const SimPipeCase *c, const SimPipeOptions *options,
              SimPipeResult *result, GError **error)
{
  HassStage stages[SIM_MOST_STAGES];
  Place places[SIM_MOST_STAGES];
  guint64 n = c->pipe->tokens;
  *result = (SimPipeResult){ .in_order = TRUE };
  g_autofree guint8 *bytes = g_try_malloc ((gsize)MAX (c->pipe->bytes, 1));
  g_autofree HassLoad *loads = g_try_new0 (HassLoad, n);
  if (!bytes || !loads)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "pipeline '%s': its tokens need too much memory",
                   c->pipe->name);
      return FALSE;
    }
  for (guint64 i = 0; i < n; i++)
    loads[i] = (HassLoad){ .input = bytes,
                           .input_bytes = (gsize)c->pipe->bytes,
                           .size = 1,
                           .tag = GSIZE_TO_POINTER (i) };
  for (guint s = 0; s < c->pipe->n_stages; s++)
    {
      places[s] = (Place){ .c = c, .result = result, .stage = s };
      stages[s] = stage_of (&c->pipe->stages[s], &places[s]);
      stages[s].pure = options->pure && stages[s].gpu;
    }
  HassFarm farm = { .loads = loads,
                    .n_loads = n,
                    .stages = stages,
                    .n_stages = c->pipe->n_stages };
  if (!run (c, &farm, options, &result->report, error))
    {
      g_clear_pointer (&result->report, hass_report_free);
      return FALSE;
    }
  result->makespan_ns = result->report->makespan_s * 1e9;
  return TRUE;
}
