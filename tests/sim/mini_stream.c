/* SPDX-License-Identifier: MIT */
/* mini_stream.c: a small event simulator of pipelines.

   DESIGN. Free cores take from the classes that run one at a time first, then
   from the others, each from the last one to the first, where more units wait
   than the strategy wants left; a GPU gets what the strategy answers,
   copies it in, computes it and copies it out, each in order of arrival. The
   generator takes no time. Events of the same time are served in the order in
   which they were made.

   Thread safety: one thread. */
#include "mini_stream-private.h"

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
          = (HassClassState){ .ready = mini_ready (w, s),
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
      if ((i >= n) != mini_single (w, s))
        continue;
      const SimStage *stage = &w->c->pipe->stages[s];
      Class *k = &w->classes[s];
      guint64 leave = stage->gpu && w->c->platform->n_gpus > 0 && !w->take_all
                          ? w->cpu.leave[s]
                          : 0;
      while (w->free_cores > 0 && stage->cpu && mini_ready (w, s) > leave
             && leave != G_MAXUINT32
             && (stage->at_once == 0 || k->running < stage->at_once))
        {
          Token token = mini_take (w, s);
          k->running++;
          w->free_cores--;
          double ns = w->c->platform->pull_ns
                      + w->c->ns[s][0] * sim_pipe_cost (w->c, s, token.id, 1)
                            * mini_noise (w, 0);
          mini_push (w, (Event){ .t = w->clock + (gint64)ns,
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
    bundle->kernel_ns *= mini_noise (w, g + w->c->first_gpu);
  double ns = bundle->stage == COPY_IN  ? bundle->in_ns
              : bundle->stage == KERNEL ? bundle->kernel_ns
                                        : bundle->out_ns;
  gint64 end = MAX (w->clock, *free_ns) + (gint64)ns;
  *free_ns = end;
  if (bundle->stage == KERNEL)
    w->run->busy[g + w->c->first_gpu] += ns;
  mini_push (w, (Event){ .t = end, .core = -1, .device = g, .bundle = b });
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
  units = MIN (units, mini_ready (w, s));
  for (guint64 i = 0; i < units; i++)
    {
      Token token = mini_take (w, s);
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
      mini_push (
          w, (Event){ .t = gpu->again_ns, .core = -1, .bundle = G_MAXUINT });
    }
  if (answer != HASS_TAKE || mini_ready (w, serve.class_index) == 0)
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
  mini_generate (w);
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
    if (w->c->pipe->stages[s].gpu && mini_ready (w, s) > 0)
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
    mini_advance (w, b->class_index, g_array_index (b->tokens, Token, i));
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
      mini_advance (w, e->stage, e->token);
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
      Event e = mini_pop (w);
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

static void
make_devices (const SimPipeCase *c, HassDeviceTraits *devices)
{
  const HassPlatform *p = c->platform;
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
}

void
mini_stream_env (const SimPipeCase *c, MiniEnv *env)
{
  memset (env, 0, sizeof *env);
  make_devices (c, env->devices);
  for (guint s = 0; s < c->pipe->n_stages; s++)
    {
      const SimStage *stage = &c->pipe->stages[s];
      env->classes[s]
          = (HassClassTraits){ .name = stage->name,
                               .cost = stage->cost,
                               .one_at_a_time
                               = stage->mode != HASS_STAGE_PARALLEL,
                               .in_order = stage->mode == HASS_STAGE_ORDERED,
                               .at_once = stage->at_once,
                               .element_threads = stage->elements };
      for (guint d = 0; d < c->n_devices; d++)
        if (c->ns[s][d] > 0)
          env->classes[s].devices |= (guint64)1 << d;
    }
  env->env = (HassStrategyEnv){ .struct_size = sizeof env->env,
                                .farm_name = c->pipe->name,
                                .farm = HASS_FARM_PIPELINE,
                                .cost = HASS_COST_UNKNOWN,
                                .n_devices = c->n_devices,
                                .devices = env->devices,
                                .seed = c->seed,
                                .n_classes = c->pipe->n_stages,
                                .classes = env->classes };
}

void
mini_stream_run (const SimPipeCase *c, MiniStream *run)
{
  MiniEnv env;
  GError *error = NULL;
  World w = { .c = c, .run = run };
  mini_stream_env (c, &env);
  if (run->most_tokens == 0)
    run->most_tokens = c->pipe->in_flight > 0 ? c->pipe->in_flight : 4096;
  w.strategy = hass_strategy_new (run->strategy, &env.env, &error);
  if (!w.strategy)
    {
      g_printerr ("%s\n", error->message);
      g_clear_error (&error);
      return;
    }
  simulate (&w);
  hass_strategy_free (w.strategy);
}
