/* SPDX-License-Identifier: MIT */
/* bound.c: the least time in which a machine can run a pipeline.

   DESIGN. In the long run the work of a stage can be divided among the devices
   in any proportion, so the highest rate is the optimum of a linear program:
   maximise the loads per ns r, where x[s][d] >= 0 tokens of stage s run on
   device d per ns, subject to
   1. the flow: sum over d of x[s][d] = r * tokens of s for each load;
   2. the cores: sum over s of x[s][cpu] * time <= cores;
   3. each GPU: sum over s of x[s][g] * time <= 1;
   4. each link: bytes in <= bandwidth, bytes out <= bandwidth, and both
      together if it is half duplex;
   5. a stage that computes one token at a time: x[s][cpu] * time <= 1, and one
      with `at_once`: <= at_once.
   A token's time on a GPU is that of the largest bundle that `in_flight`
   allows, launch included, divided by its tokens; without a limit that of the
   filled GPU. GLPK solves it.

   The bound of a run of n loads is the largest of
   - n / r;
   - for each stage that computes one token at a time: the sum of its costs, and
     where no stage drops or multiplies tokens, the shortest way of a token to
     the stage and from it to the end;
   - where no stage drops or multiplies: the longest way of a token, each stage
     on the device that is fastest for it.
   Noise is not in it, so a lucky run may be a little shorter. Fused stages,
   whose data stay on the GPU, are not in it either.

   Thread safety: any thread; GLPK keeps a state for each. */
#include "pipe.h"

#include <math.h>

#ifdef SIM_WITH_GLPK
#  include <glpk.h>

gboolean
sim_pipe_has_bound (void)
{
  return TRUE;
}

/* Returns: time in ns that one of the tokens of a GPU's largest bundle takes of
   the GPU. */
static double
filled_ns (const SimPipeCase *c, guint s, guint device)
{
  const HassGpuModel *gpu = &c->platform->gpus[device - c->first_gpu];
  double n = (double)c->pipe->in_flight, ns = c->ns[s][device];
  if (n == 0)
    return ns;
  return hass_model_kernel_ns (gpu, n * ns * gpu->work_per_ns,
                               (guint64)(n * c->pipe->stages[s].elements))
         / n;
}

/* The program under construction. Column 1 is r, column(s, d) is x[s][d]. */
typedef struct
{
  const SimPipeCase *c;
  glp_prob *lp;
  int n;
  int index[2 + SIM_MOST_STAGES * SIM_MOST_DEVICES];
  double value[2 + SIM_MOST_STAGES * SIM_MOST_DEVICES];
} Program;

static int
column (const SimPipeCase *c, guint s, guint d)
{
  return 2 + (int)(s * c->n_devices + d);
}

static void
term (Program *p, int col, double value)
{
  if (value == 0)
    return;
  p->n++;
  p->index[p->n] = col;
  p->value[p->n] = value;
}

/* Adds the row of the terms so far: = 0 if @most is 0, else <= most. */
static void
end_row (Program *p, double most)
{
  int row = glp_add_rows (p->lp, 1);
  glp_set_row_bnds (p->lp, row, most > 0 ? GLP_UP : GLP_FX, 0, most);
  glp_set_mat_row (p->lp, row, p->n, p->index, p->value);
  p->n = 0;
}

/* Rows 1 and 5: each stage. */
static void
add_stages (Program *p)
{
  const SimPipeCase *c = p->c;
  double loads = (double)c->reach[0];
  for (guint s = 0; s < c->pipe->n_stages; s++)
    {
      const SimStage *stage = &c->pipe->stages[s];
      guint most = stage->mode != HASS_STAGE_PARALLEL ? 1 : stage->at_once;
      term (p, 1, -(double)c->reach[s] / loads);
      for (guint d = 0; d < c->n_devices; d++)
        if (c->ns[s][d] > 0)
          term (p, column (c, s, d), 1);
      end_row (p, 0);
      if (most == 0 || c->first_gpu == 0 || c->ns[s][0] <= 0)
        continue;
      term (p, column (c, s, 0), c->ns[s][0]);
      end_row (p, most);
    }
}

/* Rows 2 and 3: each device. */
static void
add_devices (Program *p)
{
  const SimPipeCase *c = p->c;
  for (guint d = 0; d < c->n_devices; d++)
    {
      for (guint s = 0; s < c->pipe->n_stages; s++)
        if (c->ns[s][d] > 0)
          term (p, column (c, s, d),
                d < c->first_gpu ? c->ns[s][d] : filled_ns (c, s, d));
      if (p->n > 0)
        end_row (p, d < c->first_gpu ? c->platform->cores : 1);
    }
}

/* Adds the terms of one link: time of the copies in, out, or both. */
static void
link_terms (Program *p, guint link, gboolean in, gboolean out)
{
  const SimPipeCase *c = p->c;
  for (guint g = 0; g < c->platform->n_gpus; g++)
    {
      const HassGpuModel *gpu = &c->platform->gpus[g];
      guint d = c->first_gpu + g;
      for (guint s = 0; gpu->link == link && s < c->pipe->n_stages; s++)
        if (c->ns[s][d] > 0)
          term (p, column (c, s, d),
                (in ? c->in_bytes[s] / gpu->h2d_bytes_per_ns : 0)
                    + (out ? c->out_bytes[s] / gpu->d2h_bytes_per_ns : 0));
    }
  if (p->n > 0)
    end_row (p, 1);
}

/* Rows 4: each link. A link is half duplex if one of its GPUs says so, as its
   copies out then wait for copies in; those of the others need not. */
static void
add_links (Program *p)
{
  const HassPlatform *machine = p->c->platform;
  for (guint link = 0; link < machine->n_links; link++)
    {
      gboolean half = TRUE;
      for (guint g = 0; g < machine->n_gpus; g++)
        if (machine->gpus[g].link == link && machine->gpus[g].duplex)
          half = FALSE;
      link_terms (p, link, TRUE, half);
      if (!half)
        link_terms (p, link, FALSE, TRUE);
    }
}

static void
solve (SimPipeCase *c, double *shares)
{
  Program p = { .c = c, .lp = glp_create_prob () };
  glp_smcp options;
  glp_init_smcp (&options);
  options.msg_lev = GLP_MSG_OFF;
  glp_set_obj_dir (p.lp, GLP_MAX);
  glp_add_cols (p.lp, 1 + (int)(c->pipe->n_stages * c->n_devices));
  for (int i = 1; i <= glp_get_num_cols (p.lp); i++)
    glp_set_col_bnds (p.lp, i, GLP_LO, 0, 0);
  glp_set_obj_coef (p.lp, 1, 1);
  add_stages (&p);
  add_devices (&p);
  add_links (&p);
  glp_term_out (GLP_OFF);
  glp_scale_prob (p.lp, GLP_SF_AUTO);
  if (glp_simplex (p.lp, &options) == 0 && glp_get_status (p.lp) == GLP_OPT)
    c->rate = glp_get_col_prim (p.lp, 1);
  for (guint s = 0; shares && s < c->pipe->n_stages; s++)
    for (guint d = 0; d < c->n_devices; d++)
      shares[s * c->n_devices + d]
          = c->rate > 0 ? glp_get_col_prim (p.lp, column (c, s, d)) / c->rate
                        : 0;
  glp_delete_prob (p.lp);
  glp_term_out (GLP_ON);
}

/* -- A run of finite length --------------------------------------------- */

static double
fastest_ns (const SimPipeCase *c, guint stage, guint64 token)
{
  double ns = G_MAXDOUBLE, cost = sim_pipe_cost (c, stage, token, 1);
  for (guint d = 0; d < c->n_devices; d++)
    ns = MIN (ns, sim_pipe_alone_ns (c, stage, d, cost));
  return ns;
}

/* Sets @least and @most to the shortest and the longest way of a token through
   the stages from @from to before @to; both 0 where tokens change. */
static void
ways (const SimPipeCase *c, guint from, guint to, double *least, double *most)
{
  *least = G_MAXDOUBLE;
  *most = 0;
  for (guint64 t = 0; t < c->reach[0]; t++)
    {
      double ns = 0;
      for (guint s = from; s < to; s++)
        ns += fastest_ns (c, s, t);
      *least = MIN (*least, ns);
      *most = MAX (*most, ns);
    }
}

static double
finite_ns (const SimPipeCase *c)
{
  const SimPipe *p = c->pipe;
  guint n = p->n_stages;
  gboolean same = TRUE;
  double bound = 0, before, after, longest;
  for (guint s = 0; s < n; s++)
    same = same && p->stages[s].emits == 1;
  if (same)
    ways (c, 0, n, &before, &bound);
  for (guint s = 0; s < n; s++)
    {
      if (p->stages[s].mode == HASS_STAGE_PARALLEL || c->first_gpu == 0)
        continue;
      before = after = 0;
      if (same)
        {
          ways (c, 0, s, &before, &longest);
          ways (c, s + 1, n, &after, &longest);
        }
      bound = MAX (bound,
                   before + after
                       + c->ns[s][0] * sim_pipe_cost (c, s, 0, c->reach[s]));
    }
  return bound;
}

void
sim_pipe_bound (SimPipeCase *c, double *shares)
{
  solve (c, shares);
  c->bound_ns = MAX (c->rate > 0 ? c->reach[0] / c->rate : 0, finite_ns (c));
}

#else

gboolean
sim_pipe_has_bound (void)
{
  return FALSE;
}

void
sim_pipe_bound (SimPipeCase *c, double *shares)
{
  (void)c, (void)shares;
}

#endif
