/* SPDX-License-Identifier: MIT */
/* families.c: random pipelines of the kinds that people have on the machines
   that they have them on, where a GPU is many times as fast as a core.

   DESIGN. A family is a line of a table. Its pipelines read in order, compute
   and write in order. Case i of a family and seed is always the same one. "Log"
   means evenly in the logarithm.
   1. Machine: cores (log), PCIe or NVLink 12 to 50 GB/s in both directions,
      latency 5 to 12 us, launch 5 to 15 us, depth 3, noise 3 %. A GPU has
      270336 threads (an H100), a quarter of the machines with GPUs two of them.
   2. Stages in a row that cores and GPUs can compute; each takes a core 1 to
      300 ms (log) a token, equal costs, and the full GPU is so many times (log)
      as fast as a core, drawn once for a machine and 0.7 to 1.4 times that for
      a stage. With heavy tails costs are lognormal (sigma 0.8 to 1.4) or
      bimodal (1 to 5 % cost 10 to 40 times as much).
   3. Behind them, in some families, a stage of cores alone that takes them 0.2
      to 1 times (log) what the GPU takes for a token before it.
   4. Reading and writing take 0.02 to 0.4 times (log) what the GPU takes, and 4
      us at least.
   5. Bytes of a token (log); each stage keeps them. A token fills 1/4 to 8
      times (log) the GPU.
   6. Tokens (log); the bounds on those in flight are the library's.

   Thread safety: any thread. */
#include "pipe.h"

#include "tools/hass-sim/chance.h"

#include <string.h>

typedef struct
{
  const char *name;
  double cores[2];
  double gain[2]; /* of a GPU over a core; 0: no GPU */
  gint stages[2];
  gboolean encode; /* 3. */
  gboolean heavy;
  double bytes[2];
  double tokens[2];
} Family;

static const Family families[] = {
  { "one-stage",
    { 4, 33 },
    { 20, 1000 },
    { 1, 1 },
    FALSE,
    FALSE,
    { 1e5, 8e6 },
    { 300, 2000 } },
  { "video",
    { 4, 33 },
    { 20, 500 },
    { 1, 1 },
    TRUE,
    FALSE,
    { 1e6, 8e6 },
    { 300, 1000 } },
  { "chain",
    { 4, 33 },
    { 20, 1000 },
    { 2, 3 },
    FALSE,
    FALSE,
    { 1e6, 1.6e7 },
    { 300, 1000 } },
  { "tails",
    { 4, 33 },
    { 20, 500 },
    { 1, 2 },
    TRUE,
    TRUE,
    { 1e5, 4e6 },
    { 300, 2000 } },
  { "short",
    { 4, 33 },
    { 20, 500 },
    { 1, 3 },
    FALSE,
    FALSE,
    { 1e5, 8e6 },
    { 20, 301 } },
  { "slow-gpu",
    { 4, 33 },
    { 1, 8 },
    { 1, 2 },
    TRUE,
    FALSE,
    { 1e5, 4e6 },
    { 300, 1000 } },
  { "cores",
    { 16, 65 },
    { 0, 0 },
    { 1, 3 },
    TRUE,
    FALSE,
    { 1e4, 4e6 },
    { 300, 2000 } },
};

#define THREADS 270336
#define MULTIPROCESSORS 132

static HassPlatform *
draw_machine (GRand *r, const Family *f, double gain)
{
  HassPlatform *p = g_new0 (HassPlatform, 1);
  p->has_cpu = TRUE;
  p->cores = (guint)sim_log_between (r, f->cores[0], f->cores[1]);
  p->core_work_per_ns = 1;
  p->pull_ns = 200;
  p->noise = 0.03;
  gboolean two = sim_one_in (r, 4);
  p->n_gpus = gain > 0 ? 1 + two : 0;
  p->n_links = p->n_gpus;
  p->gpus = g_new0 (HassGpuModel, p->n_gpus + 1);
  for (guint g = 0; g < p->n_gpus; g++)
    {
      p->gpus[g] = (HassGpuModel){
        .multiprocessors = MULTIPROCESSORS,
        .width = THREADS,
        .work_per_ns = gain,
        .launch_ns = sim_between (r, 5e3, 15e3),
        .link_ns = sim_between (r, 5e3, 12e3),
        .h2d_bytes_per_ns = sim_log_between (r, 12, 50),
        .duplex = TRUE,
        .depth = 3,
        .kernels = 1,
        .link = g,
      };
      p->gpus[g].d2h_bytes_per_ns = p->gpus[g].h2d_bytes_per_ns;
      p->gpus[g].name = g_strdup_printf ("gpu%u", g);
    }
  p->stages = g_array_new (FALSE, FALSE, sizeof (HassStageRate));
  return p;
}

static SimStage *
add_stage (SimPipe *pipe, const char *name, HassStageMode mode, double work)
{
  SimStage *s = &pipe->stages[pipe->n_stages++];
  *s = (SimStage){ .name = g_strdup (name),
                   .mode = mode,
                   .cpu = TRUE,
                   .work = work,
                   .cost = HASS_COST_EQUAL,
                   .output_ratio = 1,
                   .elements = 1,
                   .emits = 1 };
  return s;
}

/* Step 2. Returns: what the fastest device takes for a token, in ns. */
static double
draw_stage (GRand *r, const Family *f, SimPipe *pipe, HassPlatform *p,
            double gain)
{
  g_autofree char *name = g_strdup_printf ("compute%u", pipe->n_stages);
  SimStage *s = add_stage (pipe, name, HASS_STAGE_PARALLEL,
                           sim_log_between (r, 1e6, 3e8));
  s->elements = (guint64)(THREADS * sim_log_between (r, 0.25, 8));
  if (f->heavy)
    {
      s->cost = HASS_COST_UNKNOWN;
      s->family = sim_one_in (r, 2) ? SIM_LOGNORMAL : SIM_BIMODAL;
      s->family_a = s->family == SIM_LOGNORMAL ? sim_between (r, 0.8, 1.4)
                                               : sim_between (r, 0.01, 0.05);
      s->family_b = sim_between (r, 10, 40);
    }
  gain *= sim_between (r, 0.7, 1.4);
  s->gpu = p->n_gpus > 0;
  for (guint g = 0; g < p->n_gpus; g++)
    {
      HassStageRate rate
          = { g_strdup (name), g_strdup (p->gpus[g].name), gain };
      g_array_append_val (p->stages, rate);
    }
  return s->work / (s->gpu ? MAX (gain, 1) : p->cores);
}

static const Family *
find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (families); i++)
    if (strcmp (families[i].name, name) == 0)
      return &families[i];
  return NULL;
}

gboolean
sim_pipe_is_family (const char *name)
{
  return find (name) != NULL;
}

SimPipeCase *
sim_pipe_of_family (const char *name, guint64 seed, guint index)
{
  const Family *f = find (name);
  guint32 seeds[]
      = { (guint32)seed, (guint32)(seed >> 32), index, g_str_hash (name) };
  GRand *r = g_rand_new_with_seed_array (seeds, G_N_ELEMENTS (seeds));
  SimPipe *pipe = g_new0 (SimPipe, 1);
  double gain
      = f->gain[0] > 0 ? sim_log_between (r, f->gain[0], f->gain[1]) : 0;
  HassPlatform *p = draw_machine (r, f, gain);
  pipe->name = g_strdup_printf ("%s-%u", name, index);
  p->name = g_strdup (pipe->name);
  pipe->bytes = sim_log_between (r, f->bytes[0], f->bytes[1]);
  pipe->tokens = (guint64)sim_log_between (r, f->tokens[0], f->tokens[1]);
  SimStage *read = add_stage (pipe, "read", HASS_STAGE_ORDERED, 0);
  gint n = g_rand_int_range (r, f->stages[0], f->stages[1] + 1);
  double ns = 0;
  for (gint i = 0; i < n; i++)
    ns += draw_stage (r, f, pipe, p, gain);
  ns /= MAX (p->n_gpus, 1);
  if (f->encode)
    add_stage (pipe, "encode", HASS_STAGE_PARALLEL,
               ns * p->cores * sim_log_between (r, 0.2, 1));
  read->work = MAX (ns * sim_log_between (r, 0.02, 0.4), 4e3);
  add_stage (pipe, "write", HASS_STAGE_ORDERED,
             MAX (ns * sim_log_between (r, 0.02, 0.4), 4e3));
  g_rand_free (r);
  return sim_pipe_case_new (pipe, p, seed + index, NULL);
}
