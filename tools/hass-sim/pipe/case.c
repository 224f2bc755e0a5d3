/* SPDX-License-Identifier: MIT */
/* case.c: a pipeline on a machine: how long each token takes at each stage.
   Thread safety: any thread, each with a case of its own. */
#include "pipe.h"

#include <math.h>

#include "hass/error.h"

/* Returns: time in ns of a mean token of a stage on a device, 0 if the device
   cannot run it: as the pipeline's file says, or by the rate that the platform
   has for this stage, or by its general rate. */
static double
mean_ns (const SimPipeCase *c, const SimStage *s, guint device)
{
  const HassPlatform *p = c->platform;
  if (device < c->first_gpu)
    {
      double rate = hass_platform_stage_rate (p, s->name, NULL);
      return !s->cpu ? 0
             : s->cpu_ns > 0
                 ? s->cpu_ns
                 : s->work / (rate > 0 ? rate : p->core_work_per_ns);
    }
  const HassGpuModel *gpu = &p->gpus[device - c->first_gpu];
  double rate = hass_platform_stage_rate (p, s->name, gpu->name);
  return !s->gpu         ? 0
         : s->gpu_ns > 0 ? s->gpu_ns
                         : s->work / (rate > 0 ? rate : gpu->work_per_ns);
}

guint64
sim_pipe_next (const SimPipe *pipe, guint stage, guint64 token)
{
  double e = pipe->stages[stage].emits;
  return e == 1 ? token : (guint64)floor ((double)token * e + 1e-9);
}

/* Sets what flows: tokens and bytes at each stage, times and costs. */
static gboolean
add_stage (SimPipeCase *c, guint i, double *bytes)
{
  const SimStage *s = &c->pipe->stages[i];
  gboolean any = FALSE;
  c->in_bytes[i] = *bytes;
  *bytes = s->output_bytes + s->output_ratio * *bytes;
  c->out_bytes[i] = *bytes;
  c->reach[i + 1] = sim_pipe_next (c->pipe, i, c->reach[i]);
  for (guint d = 0; d < c->n_devices; d++)
    {
      c->ns[i][d] = mean_ns (c, s, d);
      any = any || c->ns[i][d] > 0;
    }
  SimWorkload drawn = { .units = (guint32)MAX (c->reach[i], 1),
                        .work = 1,
                        .gpu_ramp = 1,
                        .family = s->family,
                        .family_a = s->family_a,
                        .family_b = s->family_b };
  c->costs[i] = sim_costs_new (&drawn, c->seed * 1000 + i).cpu;
  return any;
}

SimPipeCase *
sim_pipe_case_new (SimPipe *pipe, HassPlatform *platform, guint64 seed,
                   GError **error)
{
  SimPipeCase *c = g_new0 (SimPipeCase, 1);
  double bytes = pipe->bytes;
  c->pipe = pipe;
  c->platform = platform;
  c->seed = seed;
  c->first_gpu = platform->has_cpu ? 1 : 0;
  c->n_devices = c->first_gpu + platform->n_gpus;
  c->reach[0] = pipe->tokens;
  for (guint i = 0; i < pipe->n_stages; i++)
    if (!add_stage (c, i, &bytes))
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                     "pipeline '%s': no device of %s can run stage %s",
                     pipe->name, platform->name, pipe->stages[i].name);
        sim_pipe_case_free (c);
        return NULL;
      }
  return c;
}

void
sim_pipe_case_free (SimPipeCase *c)
{
  for (guint i = 0; i < c->pipe->n_stages; i++)
    g_free (c->costs[i]);
  sim_pipe_free (c->pipe);
  hass_platform_free (c->platform);
  g_free (c);
}

double
sim_pipe_cost (const SimPipeCase *c, guint stage, guint64 token, guint64 n)
{
  const double *sum = c->costs[stage];
  return sum ? sum[token + n] - sum[token] : (double)n;
}

double
sim_pipe_alone_ns (const SimPipeCase *c, guint stage, guint device, double cost)
{
  double ns = c->ns[stage][device] * cost;
  if (ns <= 0)
    return G_MAXDOUBLE;
  if (device < c->first_gpu)
    return ns / MAX (c->pipe->stages[stage].loops * c->platform->cores, 1);
  const HassGpuModel *gpu = &c->platform->gpus[device - c->first_gpu];
  return hass_model_kernel_ns (gpu, ns * gpu->work_per_ns,
                               c->pipe->stages[stage].elements)
         + hass_model_h2d_ns (gpu, (gsize)c->in_bytes[stage])
         + hass_model_d2h_ns (gpu, (gsize)c->out_bytes[stage]);
}
