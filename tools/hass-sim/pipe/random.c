/* SPDX-License-Identifier: MIT */
/* random.c: random pipelines on random machines.

   DESIGN. Case i of a seed is always the same one, whatever was drawn before
   it. "Log" means evenly in the logarithm.
   1. Machine: 1 to 32 cores (log), 0 to 4 GPUs evenly, pull 0.1 to 0.5 us; one
      kind of GPU, or, in one machine of three, each for itself. PCIe or NVLink
      bandwidth 3 to 100 GB/s, latency 5 to 20 us, launch 5 to 25 us, depth 3 to
      5; in one of four all share a link. Noise 10 %.
   2. Stages: 3 to 8. The first is ordered in half of the cases and the last in
      two of three, as what reads and writes; of the others one in eight is
      ordered and one in sixteen serial. One parallel stage in sixteen has a
      bound of tokens at once.
   3. Costs: a parallel stage takes a core 20 to 1000 us (log) a token, equal,
      lognormal (sigma 0.2 to 0.6) or bimodal (2 to 10 % cost 3 to 10 times as
      much). With GPUs, two parallel stages of three run on GPUs as well, one
      in ten on GPUs alone; a GPU is as fast there as 0.3 to 3 times (log) all
      cores, and each stage 0.3 to 3 times (log) that.
   4. A stage that computes one token at a time takes 0.05 to 1.2 times (log)
      what the cores take for a token in all, so that it binds now and then, and
      4 us at least.
   5. Bytes: a token comes with 256 B to 64 KiB (log), and a stage changes that
      by 0.25 to 2 (log). A token fills 1/64 to 1 of a GPU (log).
   6. In one case of five a stage drops up to half of the tokens or makes two or
      three of one. It runs on cores alone, as a GPU can do neither.
   7. Loads: 3000 to 10000 (log), at least 150 a core, 150 bundles that fill a
      GPU once, and as many as the cores alone would compute in half a second,
      at most 40000. So a run is long against the way of a token.
   8. Memory: 1 GiB of tokens in flight, about what fills four GPUs several
      times with the largest tokens; the bound of the steady state knows no
      bound of memory.

   Thread safety: any thread. */
#include "pipe.h"

#include "tools/hass-sim/chance.h"

/* The width of GPUs: a token's elements are a part of it. */
#define WIDTH 65536

static void
draw_gpu (GRand *r, HassGpuModel *g, guint cores)
{
  g->multiprocessors = 64;
  g->width = WIDTH;
  g->work_per_ns = cores * sim_log_between (r, 0.3, 3);
  g->launch_ns = sim_between (r, 5e3, 25e3);
  g->link_ns = sim_between (r, 5e3, 20e3);
  g->h2d_bytes_per_ns = sim_log_between (r, 3, 100);
  g->d2h_bytes_per_ns = g->h2d_bytes_per_ns * sim_between (r, 0.8, 1);
  g->duplex = g_rand_boolean (r);
  g->depth = (guint)g_rand_int_range (r, 3, 6);
  g->kernels = 1;
}

/* Work is in ns of a core. */
static HassPlatform *
draw_platform (GRand *r)
{
  HassPlatform *p = g_new0 (HassPlatform, 1);
  p->has_cpu = TRUE;
  p->cores = (guint)sim_log_between (r, 1, 33);
  p->core_work_per_ns = 1;
  p->pull_ns = sim_between (r, 100, 500);
  p->noise = 0.1;
  p->n_gpus = (guint)g_rand_int_range (r, 0, 5);
  p->gpus = g_new0 (HassGpuModel, p->n_gpus + 1);
  gboolean mixed = sim_one_in (r, 3), shared = sim_one_in (r, 4);
  for (guint g = 0; g < p->n_gpus; g++)
    {
      HassGpuModel *gpu = &p->gpus[g];
      if (g == 0 || mixed)
        draw_gpu (r, gpu, p->cores);
      else
        *gpu = p->gpus[0];
      gpu->name = g_strdup_printf ("gpu%u", g);
      gpu->link = shared ? 0 : g;
    }
  p->n_links = shared ? MIN (p->n_gpus, 1) : p->n_gpus;
  return p;
}

static void
draw_costs (GRand *r, SimStage *s)
{
  s->work = sim_log_between (r, 2e4, 1e6);
  s->cost = HASS_COST_UNKNOWN;
  switch (g_rand_int_range (r, 0, 3))
    {
    case 0:
      s->cost = HASS_COST_EQUAL;
      break;
    case 1:
      s->family = SIM_LOGNORMAL;
      s->family_a = sim_between (r, 0.2, 0.6);
      break;
    default:
      s->family = SIM_BIMODAL;
      s->family_a = sim_between (r, 0.02, 0.1);
      s->family_b = sim_between (r, 3, 10);
    }
}

/* Draws a stage but for the cost of one that computes a token at a time; adds
   the rates of the GPUs for it to the platform. */
static void
draw_stage (GRand *r, SimStage *s, guint i, guint n, HassPlatform *p)
{
  gboolean ordered = i == 0       ? g_rand_boolean (r)
                     : i == n - 1 ? !sim_one_in (r, 3)
                                  : sim_one_in (r, 8);
  *s = (SimStage){ .name = g_strdup_printf ("s%u", i),
                   .cpu = TRUE,
                   .emits = 1,
                   .output_ratio = sim_log_between (r, 0.25, 2) };
  s->mode = ordered              ? HASS_STAGE_ORDERED
            : sim_one_in (r, 16) ? HASS_STAGE_SERIAL
                                 : HASS_STAGE_PARALLEL;
  s->elements = (guint64)(WIDTH * sim_log_between (r, 1. / 64, 1));
  draw_costs (r, s);
  if (s->mode != HASS_STAGE_PARALLEL)
    return;
  if (sim_one_in (r, 16))
    s->at_once = (guint)g_rand_int_range (r, 1, (gint)p->cores + 1);
  double gain = sim_log_between (r, 0.3, 3);
  if (p->n_gpus == 0 || sim_one_in (r, 3))
    return;
  s->gpu = TRUE;
  s->cpu = !sim_one_in (r, 10);
  for (guint g = 0; g < p->n_gpus; g++)
    {
      HassStageRate rate = { g_strdup (s->name), g_strdup (p->gpus[g].name),
                             p->gpus[g].work_per_ns * gain };
      g_array_append_val (p->stages, rate);
    }
}

/* Step 4: the costs of stages that compute one token at a time. Returns: what
   the cores take for the parallel stages of a token, in ns. */
static double
draw_single (GRand *r, SimPipe *pipe, guint cores)
{
  double all = 0;
  for (guint i = 0; i < pipe->n_stages; i++)
    if (pipe->stages[i].mode == HASS_STAGE_PARALLEL)
      all += pipe->stages[i].work;
  all = MAX (all, 2e4);
  for (guint i = 0; i < pipe->n_stages; i++)
    if (pipe->stages[i].mode != HASS_STAGE_PARALLEL)
      pipe->stages[i].work
          = MAX (all / cores * sim_log_between (r, 0.05, 1.2), 4e3);
  return all / cores;
}

SimPipeCase *
sim_pipe_random (guint64 seed, guint index)
{
  guint32 seeds[] = { (guint32)seed, (guint32)(seed >> 32), index, 0x70697065 };
  GRand *r = g_rand_new_with_seed_array (seeds, G_N_ELEMENTS (seeds));
  SimPipe *pipe = g_new0 (SimPipe, 1);
  HassPlatform *p = draw_platform (r);
  double fill = 1;
  pipe->name = g_strdup_printf ("random-%u", index);
  p->name = g_strdup (pipe->name);
  p->stages = g_array_new (FALSE, FALSE, sizeof (HassStageRate));
  pipe->n_stages = (guint)g_rand_int_range (r, 3, 9);
  pipe->bytes = sim_log_between (r, 256, 65536);
  for (guint i = 0; i < pipe->n_stages; i++)
    {
      SimStage *s = &pipe->stages[i];
      draw_stage (r, s, i, pipe->n_stages, p);
      if (s->gpu)
        fill = MAX (fill, (double)WIDTH / s->elements);
    }
  double token_ns = draw_single (r, pipe, p->cores);
  if (sim_one_in (r, 5))
    {
      gint last = (gint)pipe->n_stages - 1;
      SimStage *s = &pipe->stages[g_rand_int_range (r, 0, last)];
      s->emits = g_rand_boolean (r) ? sim_between (r, 0.5, 1)
                                    : g_rand_int_range (r, 2, 4);
      s->cpu = TRUE;
      s->gpu = FALSE;
    }
  double loads = sim_log_between (r, 3000, 10000);
  loads = MAX (loads, 150. * p->cores);
  loads = MAX (loads, 150 * fill * MAX (p->n_gpus, 1));
  loads = MAX (loads, 5e8 / token_ns);
  pipe->tokens = (guint64)MIN (loads, 40000);
  pipe->in_flight_bytes = (guint64)1 << 30;
  g_rand_free (r);
  return sim_pipe_case_new (pipe, p, seed + index, NULL);
}
