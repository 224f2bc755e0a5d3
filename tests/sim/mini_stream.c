/* SPDX-License-Identifier: MIT */
/* mini_stream.c: a small event simulator of pipelines.

   DESIGN. Free cores take from the classes that run one at a time first, then
   from the others, each from the last one to the first, where more units wait
   than the strategy wants left; a GPU gets what the strategy answers,
   copies it in, computes it and copies it out, each in order of arrival. The
   generator takes no time. Events of the same time are served in the order in
   which they were made.

   Thread safety: one thread. */
#include "mini_stream.h"

#include <math.h>
#include <string.h>

#include "sched/registry.h"

enum
{
  COPY_IN,
  KERNEL,
  COPY_OUT,
  OVER
};

#define MOST_BUNDLES 16
/* The CPU pool is asked at most so often, in ns, as by the engine. */
#define ASK_NS 20000

/* A token at a stage: its number there, and the load it comes of. */
typedef struct
{
  guint64 id, load;
} Token;

typedef struct
{
  gint64 t;
  guint64 order;
  gint core; /* or -1 */
  guint device, bundle;
  guint stage;
  Token token;
  double ns;
} Event;

typedef struct
{
  gboolean used;
  guint class_index, stage;
  GArray *tokens;
  double in_ns, kernel_ns, out_ns, bytes;
  gint64 grant_ns, start_ns;
} Bundle;

typedef struct
{
  Bundle bundles[MOST_BUNDLES];
  guint n, want;
  gint64 kernel_free, last_end, again_ns;
  gboolean done;
  guint64 holds[SIM_MOST_STAGES];
} Gpu;

typedef struct
{
  GArray *fifo; /* Token; from head on */
  guint head;
  guint64 *arrived; /* ordered: [reach] load + 1 */
  guint64 next;     /* ordered: number of the next token */
  guint64 running, done;
  double bytes, busy; /* of cores, since the last report */
  guint64 reported;
} Class;

typedef struct
{
  const SimPipeCase *c;
  MiniStream *run;
  HassStrategy *strategy;
  gint64 clock, asked_ns;
  guint64 n_events, begun, in_flight, ended;
  guint32 *parts; /* [loads] tokens of it */
  GArray *heap;
  guint free_cores;
  Gpu gpus[SIM_MOST_GPUS];
  gint64 in_free[SIM_MOST_GPUS], out_free[SIM_MOST_GPUS];
  Class classes[SIM_MOST_STAGES];
  HassServe cpu;
  GRand *rand;
  gint64 late_ns;
  gboolean take_all;
} World;

/* -- Events ------------------------------------------------------------- */

static gboolean
earlier (const Event *a, const Event *b)
{
  return a->t != b->t ? a->t < b->t : a->order < b->order;
}

static void
push (World *w, Event e)
{
  e.order = w->n_events++;
  g_array_append_val (w->heap, e);
  Event *h = (Event *)w->heap->data;
  guint i = w->heap->len - 1;
  for (; i > 0 && earlier (&e, &h[(i - 1) / 2]); i = (i - 1) / 2)
    h[i] = h[(i - 1) / 2];
  h[i] = e;
}

static Event
pop (World *w)
{
  Event *h = (Event *)w->heap->data;
  Event top = h[0], moved = h[w->heap->len - 1];
  guint n = w->heap->len - 1, i = 0;
  for (guint child; (child = 2 * i + 1) < n; i = child)
    {
      child += child + 1 < n && earlier (&h[child + 1], &h[child]);
      if (!earlier (&h[child], &moved))
        break;
      h[i] = h[child];
    }
  h[i] = moved;
  g_array_set_size (w->heap, n);
  return top;
}

static double
noise (World *w, guint device)
{
  double u = 1 - g_rand_double (w->rand), v = g_rand_double (w->rand);
  double factor
      = exp (w->c->platform->noise * sqrt (-2 * log (u)) * cos (2 * G_PI * v));
  if (w->run->slow_factor > 0 && device == w->run->slow_device
      && w->clock >= w->run->slow_ns)
    factor *= w->run->slow_factor;
  return factor;
}

/* -- Ready sets --------------------------------------------------------- */

static gboolean
single (const World *w, guint s)
{
  return w->c->pipe->stages[s].mode != HASS_STAGE_PARALLEL;
}

static guint64
ready (const World *w, guint s)
{
  const Class *k = &w->classes[s];
  if (k->arrived)
    return k->next < w->c->reach[s] && k->arrived[k->next] && !k->running;
  if (single (w, s) && k->running)
    return 0;
  return k->fifo->len - k->head;
}

static void
arrive (World *w, guint s, Token token)
{
  Class *k = &w->classes[s];
  if (k->arrived)
    k->arrived[token.id] = token.load + 1;
  else
    g_array_append_val (k->fifo, token);
}

static Token
take (World *w, guint s)
{
  Class *k = &w->classes[s];
  if (k->arrived)
    return (Token){ k->next, k->arrived[k->next] - 1 };
  Token token = g_array_index (k->fifo, Token, k->head);
  if (++k->head > 4096 && k->head * 2 > k->fifo->len)
    {
      g_array_remove_range (k->fifo, 0, k->head);
      k->head = 0;
    }
  return token;
}

/* The token has passed the stage: what it becomes goes on. */
static void
advance (World *w, guint s, Token token)
{
  const SimPipe *p = w->c->pipe;
  guint64 first = sim_pipe_next (p, s, token.id);
  guint64 end = sim_pipe_next (p, s, token.id + 1);
  w->classes[s].done++;
  if (s + 1 == p->n_stages)
    {
      w->run->through += end - first;
      end = first;
    }
  for (guint64 id = first; id < end; id++)
    arrive (w, s + 1, (Token){ id, token.load });
  w->parts[token.load] += (guint32)(end - first);
  if (--w->parts[token.load] > 0)
    return;
  w->in_flight--;
  if (++w->ended == p->tokens * 3 / 4)
    w->late_ns = w->clock;
}

static void
generate (World *w)
{
  guint64 most = w->run->most_tokens;
  if (w->cpu.tokens > 0)
    most = MIN (most, w->cpu.tokens);
  while (w->begun < w->c->pipe->tokens && w->in_flight < most)
    {
      w->parts[w->begun] = 1;
      arrive (w, 0, (Token){ w->begun, w->begun });
      w->begun++;
      w->in_flight++;
      w->run->peak = MAX (w->run->peak, w->in_flight);
    }
}

/* -- Asking ------------------------------------------------------------- */

static HassAnswer
ask (World *w, guint device, gboolean force, HassServe *serve)
{
  HassClassState classes[SIM_MOST_STAGES];
  HassDeviceHolds devices[SIM_MOST_DEVICES];
  memset (devices, 0, sizeof devices);
  for (guint s = 0; s < w->c->pipe->n_stages; s++)
    {
      const Class *k = &w->classes[s];
      classes[s]
          = (HassClassState){ .ready = ready (w, s),
                              .running = k->running,
                              .done = k->done,
                              .bytes = (guint64)(k->done * w->c->in_bytes[s]) };
    }
  for (guint d = w->c->first_gpu; d < w->c->n_devices; d++)
    {
      devices[d].units = w->gpus[d - w->c->first_gpu].holds;
      devices[d].bundles = w->gpus[d - w->c->first_gpu].n;
    }
  HassStreamState state = { .now_ns = w->clock,
                            .n_classes = w->c->pipe->n_stages,
                            .classes = classes,
                            .n_devices = w->c->n_devices,
                            .devices = devices,
                            .tokens = w->in_flight,
                            .most_tokens = w->run->most_tokens,
                            .generated = w->begun == w->c->pipe->tokens };
  const HassStrategyOps *ops = w->strategy->ops;
  for (guint s = 0; device < w->c->first_gpu && s < state.n_classes; s++)
    {
      Class *k = &w->classes[s];
      if (k->reported == 0)
        continue;
      HassServed served = { .device = device,
                            .class_index = s,
                            .units = k->reported,
                            .bytes = (guint64)k->bytes,
                            .busy_ns = k->busy,
                            .start_ns = w->asked_ns,
                            .end_ns = w->clock };
      k->reported = 0;
      k->bytes = k->busy = 0;
      if (ops->served)
        ops->served (w->strategy->self, &state, &served);
    }
  *serve = (HassServe){ 0 };
  return ops->serve (w->strategy->self, &state, device, force, serve);
}

static gboolean
feed_cores (World *w)
{
  guint n = w->c->pipe->n_stages;
  gboolean any = FALSE;
  for (guint i = 2 * n; i-- > 0 && w->free_cores > 0;)
    {
      guint s = i % n;
      if ((i >= n) != single (w, s))
        continue;
      const SimStage *stage = &w->c->pipe->stages[s];
      Class *k = &w->classes[s];
      guint64 leave = stage->gpu && w->c->platform->n_gpus > 0 && !w->take_all
                          ? w->cpu.leave[s]
                          : 0;
      while (w->free_cores > 0 && stage->cpu && ready (w, s) > leave
             && leave != G_MAXUINT32
             && (stage->at_once == 0 || k->running < stage->at_once))
        {
          Token token = take (w, s);
          k->running++;
          w->free_cores--;
          double ns = w->c->platform->pull_ns
                      + w->c->ns[s][0] * sim_pipe_cost (w->c, s, token.id, 1)
                            * noise (w, 0);
          push (w, (Event){ .t = w->clock + (gint64)ns,
                            .core = 0,
                            .stage = s,
                            .token = token,
                            .ns = ns });
          any = TRUE;
        }
    }
  return any;
}

/* Puts a bundle into its next stage. */
static void
begin_stage (World *w, guint g, guint b)
{
  Gpu *gpu = &w->gpus[g];
  Bundle *bundle = &gpu->bundles[b];
  const HassGpuModel *m = &w->c->platform->gpus[g];
  gint64 *free_ns = bundle->stage == COPY_IN  ? &w->in_free[m->link]
                    : bundle->stage == KERNEL ? &gpu->kernel_free
                    : m->duplex               ? &w->out_free[m->link]
                                              : &w->in_free[m->link];
  if (bundle->stage == KERNEL)
    bundle->kernel_ns *= noise (w, g + w->c->first_gpu);
  double ns = bundle->stage == COPY_IN  ? bundle->in_ns
              : bundle->stage == KERNEL ? bundle->kernel_ns
                                        : bundle->out_ns;
  gint64 end = MAX (w->clock, *free_ns) + (gint64)ns;
  *free_ns = end;
  if (bundle->stage == KERNEL)
    w->run->busy[g + w->c->first_gpu] += ns;
  push (w, (Event){ .t = end, .core = -1, .device = g, .bundle = b });
}

static void
grant (World *w, guint g, guint s, guint64 units)
{
  Gpu *gpu = &w->gpus[g];
  const HassGpuModel *m = &w->c->platform->gpus[g];
  guint d = g + w->c->first_gpu, b = 0;
  while (gpu->bundles[b].used)
    b++;
  Bundle *bundle = &gpu->bundles[b];
  GArray *tokens = bundle->tokens ? bundle->tokens
                                  : g_array_new (FALSE, FALSE, sizeof (Token));
  double work = 0;
  g_array_set_size (tokens, 0);
  units = MIN (units, ready (w, s));
  for (guint64 i = 0; i < units; i++)
    {
      Token token = take (w, s);
      work += w->c->ns[s][d] * sim_pipe_cost (w->c, s, token.id, 1)
              * m->work_per_ns;
      g_array_append_val (tokens, token);
    }
  *bundle = (Bundle){
    .used = TRUE,
    .class_index = s,
    .tokens = tokens,
    .bytes = w->c->in_bytes[s] * units,
    .in_ns = hass_model_h2d_ns (m, (gsize)(w->c->in_bytes[s] * units)),
    .kernel_ns
    = hass_model_kernel_ns (m, work, w->c->pipe->stages[s].elements * units),
    .out_ns = hass_model_d2h_ns (m, (gsize)(w->c->out_bytes[s] * units)),
    .grant_ns = w->clock,
    .start_ns = MAX (w->clock, gpu->last_end)
  };
  gpu->n++;
  gpu->holds[s] += units;
  begin_stage (w, g, b);
}

static gboolean
feed_gpu (World *w, guint g, gboolean force)
{
  Gpu *gpu = &w->gpus[g];
  HassServe serve;
  if (gpu->done || gpu->n >= MAX (gpu->want, 1))
    return FALSE;
  HassAnswer answer = ask (w, g + w->c->first_gpu, force, &serve);
  gpu->done = answer == HASS_DONE;
  gpu->want = MIN (MAX (serve.in_flight, 1), MOST_BUNDLES);
  if (answer == HASS_WAIT && serve.within_ns > 0 && gpu->again_ns <= w->clock)
    {
      gpu->again_ns = w->clock + serve.within_ns;
      push (w, (Event){ .t = gpu->again_ns, .core = -1, .bundle = G_MAXUINT });
    }
  if (answer != HASS_TAKE || ready (w, serve.class_index) == 0)
    return FALSE;
  g_assert (w->c->pipe->stages[serve.class_index].gpu);
  grant (w, g, serve.class_index, MAX (serve.units, 1));
  return TRUE;
}

static gboolean
idle (const World *w)
{
  if (w->c->platform->has_cpu && w->free_cores < w->c->platform->cores)
    return FALSE;
  for (guint g = 0; g < w->c->platform->n_gpus; g++)
    if (w->gpus[g].n > 0)
      return FALSE;
  return TRUE;
}

static void
feed (World *w)
{
  gboolean any = TRUE;
  if (w->c->first_gpu > 0 && w->clock >= w->asked_ns + ASK_NS)
    {
      ask (w, 0, FALSE, &w->cpu);
      w->asked_ns = w->clock;
    }
  generate (w);
  while (any)
    {
      any = FALSE;
      for (guint g = 0; g < w->c->platform->n_gpus; g++)
        while (feed_gpu (w, g, FALSE))
          any = TRUE;
      any |= feed_cores (w);
    }
  if (!idle (w) || w->in_flight == 0)
    return;
  w->run->forced++;
  for (guint g = 0; g < w->c->platform->n_gpus; g++)
    any |= feed_gpu (w, g, TRUE);
  ask (w, 0, TRUE, &w->cpu);
  any |= feed_cores (w);
  w->take_all = !any;
  any = any || feed_cores (w);
  w->take_all = FALSE;
  for (guint s = 0; !any && s < w->c->pipe->n_stages; s++)
    if (w->c->pipe->stages[s].gpu && ready (w, s) > 0)
      {
        grant (w, 0, s, 1);
        any = TRUE;
      }
}

/* -- What happens ------------------------------------------------------- */

static void
bundle_over (World *w, guint g, Bundle *b)
{
  Gpu *gpu = &w->gpus[g];
  HassServed served = { .device = g + w->c->first_gpu,
                        .class_index = b->class_index,
                        .units = b->tokens->len,
                        .bytes = (guint64)b->bytes,
                        .busy_ns = (double)(w->clock - b->start_ns),
                        .grant_ns = b->grant_ns,
                        .start_ns = b->start_ns,
                        .end_ns = w->clock,
                        .h2d_ns = b->in_ns,
                        .kernel_ns = b->kernel_ns,
                        .d2h_ns = b->out_ns };
  HassStreamState state = { .now_ns = w->clock,
                            .n_classes = w->c->pipe->n_stages,
                            .n_devices = w->c->n_devices };
  b->used = FALSE;
  w->run->units[b->class_index][g + w->c->first_gpu] += b->tokens->len;
  gpu->n--;
  gpu->holds[b->class_index] -= b->tokens->len;
  gpu->last_end = w->clock;
  if (w->strategy->ops->served)
    w->strategy->ops->served (w->strategy->self, &state, &served);
  for (guint i = 0; i < b->tokens->len; i++)
    advance (w, b->class_index, g_array_index (b->tokens, Token, i));
}

static void
happen (World *w, const Event *e)
{
  if (e->core >= 0)
    {
      Class *k = &w->classes[e->stage];
      w->free_cores++;
      w->run->units[e->stage][0]++;
      k->running--;
      k->reported++;
      k->bytes += w->c->in_bytes[e->stage];
      k->busy += e->ns;
      w->run->busy[0] += e->ns / w->c->platform->cores;
      if (k->arrived && e->token.id != k->next++)
        w->run->in_order = FALSE;
      advance (w, e->stage, e->token);
    }
  else if (e->bundle != G_MAXUINT)
    {
      Bundle *b = &w->gpus[e->device].bundles[e->bundle];
      if (++b->stage == OVER)
        bundle_over (w, e->device, b);
      else
        begin_stage (w, e->device, e->bundle);
    }
}

static void
world_init (World *w)
{
  const SimPipeCase *c = w->c;
  w->heap = g_array_new (FALSE, FALSE, sizeof (Event));
  w->rand = g_rand_new_with_seed ((guint32)c->seed);
  w->parts = g_new0 (guint32, c->pipe->tokens + 1);
  w->free_cores = c->platform->has_cpu ? c->platform->cores : 0;
  w->asked_ns = -ASK_NS;
  for (guint s = 0; s < c->pipe->n_stages; s++)
    {
      w->classes[s].fifo = g_array_new (FALSE, FALSE, sizeof (Token));
      if (c->pipe->stages[s].mode == HASS_STAGE_ORDERED
          || c->pipe->stages[s].mode == HASS_STAGE_CALLER)
        w->classes[s].arrived = g_new0 (guint64, c->reach[s] + 1);
    }
}

static void
world_clear (World *w)
{
  for (guint s = 0; s < w->c->pipe->n_stages; s++)
    {
      g_array_unref (w->classes[s].fifo);
      g_free (w->classes[s].arrived);
    }
  for (guint g = 0; g < w->c->platform->n_gpus; g++)
    for (guint b = 0; b < MOST_BUNDLES; b++)
      if (w->gpus[g].bundles[b].tokens)
        g_array_unref (w->gpus[g].bundles[b].tokens);
  g_array_unref (w->heap);
  g_rand_free (w->rand);
  g_free (w->parts);
}

static void
simulate (World *w)
{
  MiniStream *run = w->run;
  world_init (w);
  run->in_order = TRUE;
  feed (w);
  while (w->heap->len > 0)
    {
      Event e = pop (w);
      w->clock = e.t;
      happen (w, &e);
      feed (w);
    }
  if (w->ended == w->c->pipe->tokens)
    {
      run->makespan_ns = w->clock;
      run->late_rate = (double)(w->ended - w->ended * 3 / 4)
                       / (double)MAX (w->clock - w->late_ns, 1);
    }
  for (guint d = 0; d < w->c->n_devices; d++)
    run->busy[d] /= (double)MAX (w->clock, 1);
  world_clear (w);
}

void
mini_stream_run (const SimPipeCase *c, MiniStream *run)
{
  const HassPlatform *p = c->platform;
  HassDeviceTraits devices[SIM_MOST_DEVICES];
  HassClassTraits classes[SIM_MOST_STAGES];
  memset (devices, 0, sizeof devices);
  memset (classes, 0, sizeof classes);
  if (p->has_cpu)
    devices[0] = (HassDeviceTraits){ .name = "cpu",
                                     .kind = HASS_DEVICE_CPU,
                                     .cores = p->cores,
                                     .width = p->cores,
                                     .max_in_flight = 1 };
  for (guint g = 0; g < p->n_gpus; g++)
    devices[c->first_gpu + g] = (HassDeviceTraits){
      .name = p->gpus[g].name,
      .kind = HASS_DEVICE_GPU,
      .cores = p->gpus[g].multiprocessors,
      .width = p->gpus[g].width,
      .latency_ns = p->gpus[g].launch_ns + p->gpus[g].link_ns,
      .link_bytes_per_ns = p->gpus[g].h2d_bytes_per_ns,
      .max_in_flight = p->gpus[g].depth,
      .link = p->n_links < p->n_gpus ? p->gpus[g].link + 1 : 0
    };
  for (guint s = 0; s < c->pipe->n_stages; s++)
    {
      const SimStage *stage = &c->pipe->stages[s];
      classes[s]
          = (HassClassTraits){ .name = stage->name,
                               .cost = stage->cost,
                               .one_at_a_time
                               = stage->mode != HASS_STAGE_PARALLEL,
                               .in_order = stage->mode == HASS_STAGE_ORDERED,
                               .at_once = stage->at_once,
                               .element_threads = stage->elements };
      for (guint d = 0; d < c->n_devices; d++)
        if (c->ns[s][d] > 0)
          classes[s].devices |= (guint64)1 << d;
    }
  HassStrategyEnv env = { .struct_size = sizeof env,
                          .farm_name = c->pipe->name,
                          .farm = HASS_FARM_PIPELINE,
                          .cost = HASS_COST_UNKNOWN,
                          .n_devices = c->n_devices,
                          .devices = devices,
                          .seed = c->seed,
                          .n_classes = c->pipe->n_stages,
                          .classes = classes };
  GError *error = NULL;
  World w = { .c = c, .run = run };
  if (run->most_tokens == 0)
    run->most_tokens = c->pipe->in_flight > 0 ? c->pipe->in_flight : 4096;
  w.strategy = hass_strategy_new (run->strategy, &env, &error);
  if (!w.strategy)
    {
      g_printerr ("%s\n", error->message);
      g_clear_error (&error);
      return;
    }
  simulate (&w);
  hass_strategy_free (w.strategy);
}
