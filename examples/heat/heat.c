/* SPDX-License-Identifier: MIT */
/* heat.c: see heat.h.
   Thread safety: as heat.h. */
#include "heat.h"

#include <math.h>

/* Views of a task: the block, the rims around it, its own, and the largest
   change. */
enum
{
  BLOCK,
  AROUND,
  RIM = AROUND + HEAT_SIDES,
  CHANGE,
  MOST_VIEWS
};

/* A run of a job. @change: of the last step that was measured. @steps: that
   have been computed, those of the current run of the graph included. */
typedef struct
{
  const HeatJob *job;
  double change;
  gsize steps;
} Heat;

/* The data of a graph. @blocks: [n_down][n_across]; @rims: [2][n_down]
   [n_across]. */
typedef struct
{
  const HeatPlate *plate;
  HassData **blocks, **rims, *border[HEAT_SIDES], *change;
} Data;

static HeatBlock
block_of (const HassCall *call)
{
  const HassDataView *v = call->views;
  HeatBlock b = { .cells = v[BLOCK].data,
                  .rows = v[BLOCK].rows,
                  .columns = v[BLOCK].row_bytes / sizeof (double),
                  .pitch = v[BLOCK].pitch / sizeof (double) };
  for (gsize s = 0; s < HEAT_SIDES; s++)
    {
      gsize side = v[RIM].row_bytes / sizeof (double);
      b.around[s] = (const double *)v[AROUND + s].data + (s ^ 1) * side;
      b.rim[s] = (double *)v[RIM].data + s * side;
    }
  return b;
}

static gboolean
sweep (const HassCall *call, HassWorker *worker, GError **error)
{
  HeatBlock block = block_of (call);
  (void)worker, (void)error;
  heat_sweep (&block);
  return TRUE;
}

static gboolean
sweep_measured (const HassCall *call, HassWorker *worker, GError **error)
{
  HeatBlock block = block_of (call);
  double *change = call->views[CHANGE].data;
  (void)worker, (void)error;
  *change = fmax (*change, heat_sweep_measured (&block));
  return TRUE;
}

static gboolean
forget_change (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  *(double *)call->views[0].data = 0;
  return TRUE;
}

static void
keep_larger (const HassDataView *into, const HassDataView *copy,
             gpointer user_data)
{
  double *a = into->data;
  const double *b = copy->data;
  (void)user_data;
  *a = fmax (*a, *b);
}

static HassData **
rim_of (const Data *d, gsize parity, gsize down, gsize across)
{
  const HeatPlate *p = d->plate;
  return d->rims + (parity * p->n_down + down) * p->n_across + across;
}

static void
data_init (Data *d, HassGraph *graph, Heat *heat)
{
  const HeatPlate *p = heat->job->plate;
  gsize edge = p->side * sizeof (double);
  d->plate = p;
  d->blocks = g_new (HassData *, p->n_down * p->n_across);
  d->rims = g_new (HassData *, 2 * p->n_down * p->n_across);
  for (gsize i = 0; i < p->n_down * p->n_across; i++)
    {
      gsize down = i / p->n_across, across = i % p->n_across;
      HeatBlock b = heat_block (p, 0, down, across);
      d->blocks[i]
          = hass_graph_data (graph, b.cells, b.columns * sizeof (double),
                             b.rows, b.pitch * sizeof (double));
      for (gsize k = 0; k < 2; k++)
        *rim_of (d, k, down, across) = hass_graph_data (
            graph, heat_rim (p, k, down, across), edge, HEAT_SIDES, 0);
    }
  for (gsize s = 0; s < HEAT_SIDES; s++)
    d->border[s] = hass_graph_data (graph, p->border + s * HEAT_SIDES * p->side,
                                    edge, HEAT_SIDES, 0);
  d->change = hass_graph_data (graph, &heat->change, sizeof (double), 1, 0);
  hass_graph_reduction (graph, d->change, NULL, keep_larger, NULL);
}

static void
data_clear (Data *d)
{
  g_free (d->blocks);
  g_free (d->rims);
}

static const HassCodelet plain = HASS_CODELET (.name = "step", .cpu = sweep);
static const HassCodelet measured
    = HASS_CODELET (.name = "last step", .cpu = sweep_measured);
static const HassCodelet reset
    = HASS_CODELET (.name = "reset", .cpu = forget_change);

static gboolean
submit_block (const Data *d, HassGraph *graph, gsize step, gsize down,
              gsize across, gboolean is_last)
{
  HassAccess accesses[MOST_VIEWS];
  accesses[BLOCK] = (HassAccess){ d->blocks[down * d->plate->n_across + across],
                                  HASS_UPDATE };
  for (int s = 0; s < HEAT_SIDES; s++)
    {
      gsize there = down, here = across;
      HassData *rim = heat_neighbour (d->plate, &there, &here, s)
                          ? *rim_of (d, step % 2, there, here)
                          : d->border[s];
      accesses[AROUND + s] = (HassAccess){ rim, HASS_READ };
    }
  accesses[RIM]
      = (HassAccess){ *rim_of (d, (step + 1) % 2, down, across), HASS_WRITE };
  accesses[CHANGE] = (HassAccess){ d->change, HASS_REDUCE };
  return hass_graph_task (graph, is_last ? &measured : &plain, accesses,
                          is_last ? MOST_VIEWS : CHANGE, NULL);
}

/* Submits the steps up to the next look at the change. */
static gboolean
submit_steps (const Data *d, HassGraph *graph, gsize steps)
{
  HassAccess change = { d->change, HASS_WRITE };
  gboolean ok = hass_graph_task (graph, &reset, &change, 1, NULL);
  for (gsize step = 0; step < steps; step++)
    for (gsize down = 0; down < d->plate->n_down; down++)
      for (gsize across = 0; ok && across < d->plate->n_across; across++)
        ok = submit_block (d, graph, step, down, across, step + 1 == steps);
  return ok;
}

/* Returns: whether another @check steps are to be computed. */
static gboolean
again (gpointer user_data)
{
  Heat *heat = user_data;
  if (heat->change <= heat->job->tolerance || heat->steps >= heat->job->steps)
    return FALSE;
  heat->steps += heat->job->check;
  return TRUE;
}

static gboolean
build_once (HassGraph *graph, gpointer user_data, GError **error)
{
  Heat *heat = user_data;
  Data data;
  (void)error;
  data_init (&data, graph, heat);
  submit_steps (&data, graph, heat->job->check);
  data_clear (&data);
  return TRUE;
}

static gboolean
build_all (HassGraph *graph, gpointer user_data, GError **error)
{
  Heat *heat = user_data;
  Data data;
  (void)error;
  data_init (&data, graph, heat);
  while (submit_steps (&data, graph, heat->job->check)
         && hass_graph_wait (graph, data.change) && again (heat))
    ;
  data_clear (&data);
  return TRUE;
}

static HassDataflow
dataflow_of (Heat *heat, HassBuildFunc build)
{
  HassDataflow flow = HASS_DATAFLOW_INIT;
  flow.name = "heat";
  flow.user_data = heat;
  flow.build = build;
  flow.run = heat->job->run;
  return flow;
}

struct HeatGraph
{
  Heat heat;
  HassRecorded *recorded;
};

HeatGraph *
heat_record (const HeatJob *job, GError **error)
{
  HeatGraph *g = g_new0 (HeatGraph, 1);
  g->heat.job = job;
  HassDataflow flow = dataflow_of (&g->heat, build_once);
  g->recorded = hass_dataflow_record (&flow, error);
  if (!g->recorded)
    g_clear_pointer (&g, g_free);
  return g;
}

void
heat_graph_free (HeatGraph *g)
{
  hass_recorded_free (g->recorded);
  g_free (g);
}

gboolean
heat_run (HeatGraph *g, HeatResult *result, HassReport **report, GError **error)
{
  const HeatJob *job = g->heat.job;
  g->heat.steps = job->check;
  if (!hass_recorded_run (g->recorded, job->steps / job->check, again, report,
                          error))
    return FALSE;
  *result = (HeatResult){ g->heat.steps, g->heat.change };
  return TRUE;
}

gboolean
heat_built (const HeatJob *job, HeatResult *result, HassReport **report,
            GError **error)
{
  Heat heat = { .job = job, .steps = job->check };
  HassDataflow flow = dataflow_of (&heat, build_all);
  if (!hass_dataflow (&flow, report, error))
    return FALSE;
  *result = (HeatResult){ heat.steps, heat.change };
  return TRUE;
}
