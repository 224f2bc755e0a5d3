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
      with `at_once`: <= at_once;
   6. fused stages: y[s][g] <= x[s][g] and y[s][g] <= x[s + 1][g], where y[s][g]
      tokens per ns go from s to s + 1 within GPU g: neither their output of s
      nor their input of s + 1 passes the link.
   A token's time on a GPU is that of the largest bundle that `in_flight`
   allows, launch included, divided by its tokens; without a limit that of the
   filled GPU. GLPK solves it.

   The bound of a run of n loads is the largest of
   - n / r;
   - for each stage that computes one token at a time: the sum of its costs, and
     where no stage drops or multiplies tokens, the shortest way of a token to
     the stage and from it to the end;
   - where no stage drops or multiplies: the longest way of a token, each token
     on the devices that are fastest for it.
   The way of a token is a shortest path: consecutive stages on one GPU need no
   copies in between. Noise is not in the bound, so a lucky run may be a little
   shorter.

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

/* The program under construction. Column 1 is r, column(s, d) is x[s][d], per
   @unit_ns: the time of a token on its fastest devices, so that the solution is
   near 1 and GLPK's absolute tolerances are small against it; after all of
   these comes fused(s, d), which is y[s][d]. */
#  define MOST_COLUMNS (2 + 2 * SIM_MOST_STAGES * SIM_MOST_DEVICES)
typedef struct
{
  const SimPipeCase *c;
  double unit_ns;
  glp_prob *lp;
  int n;
  int index[MOST_COLUMNS];
  double value[MOST_COLUMNS];
} Program;

static int
column (const SimPipeCase *c, guint s, guint d)
{
  return 2 + (int)(s * c->n_devices + d);
}

static int
fused (const SimPipeCase *c, guint s, guint d)
{
  return column (c, s + c->pipe->n_stages, d);
}

/* Returns: whether device @d can compute a stage and the next one without
   copies in between. */
static gboolean
can_fuse (const SimPipeCase *c, guint s, guint d)
{
  return d >= c->first_gpu && s + 1 < c->pipe->n_stages && c->ns[s][d] > 0
         && c->ns[s + 1][d] > 0;
}

/* Adds a term to the row. GLPK ends the program where it cannot scale a number,
   so what is negligible beside the solution, which is near 1, is left out, and
   what leaves nothing of it is bounded, which bounds the rate less. */
#  define LEAST_TERM 1e-30
#  define MOST_TERM 1e30
static void
term (Program *p, int col, double value)
{
  if (fabs (value) < LEAST_TERM)
    return;
  value = CLAMP (value, -MOST_TERM, MOST_TERM);
  p->n++;
  p->index[p->n] = col;
  p->value[p->n] = value;
}

/* Adds the row of the terms so far; @type: GLP_UP: <= @most, GLP_FX: = @most.
 */
static void
end_row (Program *p, int type, double most)
{
  int row = glp_add_rows (p->lp, 1);
  glp_set_row_bnds (p->lp, row, type, most, most);
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
      end_row (p, GLP_FX, 0);
      if (most == 0 || c->first_gpu == 0 || c->ns[s][0] <= 0)
        continue;
      term (p, column (c, s, 0), c->ns[s][0] / p->unit_ns);
      end_row (p, GLP_UP, most);
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
                (d < c->first_gpu ? c->ns[s][d] : filled_ns (c, s, d))
                    / p->unit_ns);
      if (p->n > 0)
        end_row (p, GLP_UP, d < c->first_gpu ? c->platform->cores : 1);
    }
}

/* Rows 6: what stays on a GPU. */
static void
add_fused (Program *p)
{
  const SimPipeCase *c = p->c;
  for (guint s = 0; s < c->pipe->n_stages; s++)
    for (guint d = 0; d < c->n_devices; d++)
      for (guint k = 0; k < 2 && can_fuse (c, s, d); k++)
        {
          term (p, fused (c, s, d), 1);
          term (p, column (c, s + k, d), -1);
          end_row (p, GLP_UP, 0);
        }
}

/* Returns: time in ns that a link takes for bytes in and out of a GPU. */
static double
copies_ns (const HassGpuModel *gpu, double in, double out)
{
  return in / gpu->h2d_bytes_per_ns + out / gpu->d2h_bytes_per_ns;
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
        {
          if (c->ns[s][d] > 0)
            term (p, column (c, s, d),
                  copies_ns (gpu, in * c->in_bytes[s], out * c->out_bytes[s])
                      / p->unit_ns);
          if (can_fuse (c, s, d))
            term (
                p, fused (c, s, d),
                -copies_ns (gpu, in * c->in_bytes[s + 1], out * c->out_bytes[s])
                    / p->unit_ns);
        }
    }
  if (p->n > 0)
    end_row (p, GLP_UP, 1);
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

/* Returns: time in ns of a mean token, each stage on its fastest device. */
static double
token_ns (const SimPipeCase *c)
{
  double sum = 0;
  for (guint s = 0; s < c->pipe->n_stages; s++)
    {
      double least = G_MAXDOUBLE;
      for (guint d = 0; d < c->n_devices; d++)
        if (c->ns[s][d] > 0)
          least = MIN (least, c->ns[s][d]);
      sum += least;
    }
  return sum;
}

static void
solve (SimPipeCase *c, double *shares)
{
  Program p = { .c = c, .unit_ns = token_ns (c), .lp = glp_create_prob () };
  glp_smcp options;
  glp_init_smcp (&options);
  options.msg_lev = GLP_MSG_OFF;
  glp_set_obj_dir (p.lp, GLP_MAX);
  glp_add_cols (p.lp, 1 + 2 * (int)(c->pipe->n_stages * c->n_devices));
  for (int i = 1; i <= glp_get_num_cols (p.lp); i++)
    glp_set_col_bnds (p.lp, i, GLP_LO, 0, 0);
  glp_set_obj_coef (p.lp, 1, 1);
  add_stages (&p);
  add_devices (&p);
  add_links (&p);
  add_fused (&p);
  glp_term_out (GLP_OFF);
  glp_scale_prob (p.lp, GLP_SF_AUTO);
  if (glp_simplex (p.lp, &options) == 0 && glp_get_status (p.lp) == GLP_OPT)
    c->rate = glp_get_col_prim (p.lp, 1) / p.unit_ns;
  for (guint s = 0; shares && s < c->pipe->n_stages; s++)
    for (guint d = 0; d < c->n_devices; d++)
      shares[s * c->n_devices + d]
          = c->rate > 0 ? MAX (glp_get_col_prim (p.lp, column (c, s, d)), 0)
                              / (c->rate * p.unit_ns)
                        : 0;
  glp_delete_prob (p.lp);
  glp_term_out (GLP_ON);
}

/* -- A run of finite length --------------------------------------------- */

/* Sets @ns, [n_devices], to the least times in which token @token has passed
   the stages up to @stage, that one on each device; what has left a GPU is
   copied out. @before: those of the stage before; NULL: the way begins here. */
static void
pass (const SimPipeCase *c, guint stage, guint64 token, const double *before,
      double *ns)
{
  double cost = sim_pipe_cost (c, stage, token, 1), least = G_MAXDOUBLE;
  for (guint d = 0; d < c->n_devices; d++)
    least = before ? MIN (least, before[d]) : 0;
  for (guint d = 0; d < c->n_devices; d++)
    {
      double alone = sim_pipe_alone_ns (c, stage, d, cost);
      ns[d] = c->ns[stage][d] > 0 ? least + alone : G_MAXDOUBLE;
      if (!before || !can_fuse (c, stage - 1, d))
        continue;
      const HassGpuModel *gpu = &c->platform->gpus[d - c->first_gpu];
      double saved = hass_model_d2h_ns (gpu, (gsize)c->out_bytes[stage - 1])
                     + hass_model_h2d_ns (gpu, (gsize)c->in_bytes[stage]);
      ns[d] = MIN (ns[d], before[d] + alone - saved);
    }
}

/* Returns: the least time in which a token passes the stages from @from to
   before @to. */
static double
way_ns (const SimPipeCase *c, guint from, guint to, guint64 token)
{
  double ns[2][SIM_MOST_DEVICES], least = G_MAXDOUBLE;
  for (guint s = from; s < to; s++)
    pass (c, s, token, s > from ? ns[(s - 1) % 2] : NULL, ns[s % 2]);
  for (guint d = 0; d < c->n_devices; d++)
    least = from < to ? MIN (least, ns[(to - 1) % 2][d]) : 0;
  return least;
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
      double ns = way_ns (c, from, to, t);
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
