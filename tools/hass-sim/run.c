/* SPDX-License-Identifier: MIT */
/* run.c: runs a strategy on a case, in virtual time and dry.
   Thread safety: any thread. */
#include "sim.h"

#include <math.h>
#include <string.h>

#include "engine/observe/observe.h"

typedef struct
{
  const SimCase *c;
  HassSimResult *result;
  HassLoad *loads; /* [n_loads] */
  gsize n_loads;   /* in one array */
  guint n_arrays;  /* one for each round whose costs are visible and differ */
  guint first_gpu;
} Run;

static double
cost (gpointer data, guint64 round, guint device, guint32 unit, guint32 n)
{
  const Run *run = data;
  return sim_case_work (run->c, round, device >= run->first_gpu, unit, n);
}

static void
round_ended (gpointer data, const HassVirtualRound *told)
{
  Run *run = data;
  HassSimResult *r = run->result;
  const HassRoundSummary *s = told->summary;
  if (r->n_rounds >= run->c->rounds)
    return;
  SimRound *round = &r->rounds[r->n_rounds++];
  *round = (SimRound){ told->begin_ns, told->end_ns, told->asked,
                       g_new0 (SimDevice, s->n_devices) };
  for (guint d = 0; d < s->n_devices; d++)
    round->devices[d]
        = (SimDevice){ s->devices[d].units,   s->devices[d].bundles,
                       told->bytes[d],        s->devices[d].work,
                       s->devices[d].busy_ns, s->devices[d].last_finish_ns };
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Run *run = data;
  (void)error;
  for (guint i = 0; i < run->c->rounds; i++)
    if (!hass_emitter_emit_array (
            emitter, run->loads + run->n_loads * (i % run->n_arrays),
            run->n_loads))
      break;
  return TRUE;
}

static void
make_loads (Run *run)
{
  const SimCase *c = run->c;
  const SimWorkload *w = c->workload;
  gboolean one = w->farm == HASS_FARM_PARTITION;
  run->n_loads = one ? 1 : w->units;
  run->n_arrays = w->cost == HASS_COST_SIZED || w->sizes ? c->period : 1;
  run->loads = g_new0 (HassLoad, run->n_loads * run->n_arrays);
  g_autofree guint8 *function = sim_function_of_units (w);
  for (guint a = 0; a < run->n_arrays; a++)
    for (gsize i = 0; i < run->n_loads; i++)
      {
        double units = one ? w->units : sim_case_sizes (c, a, (guint32)i, 1);
        run->loads[a * run->n_loads + i] = (HassLoad){
          .input_bytes = (gsize)(w->input_bytes * units),
          .output_bytes = (gsize)(w->output_bytes * units),
          .size = (gsize)MAX (w->elements * units, 1),
          .flags = function ? HASS_LOAD_FUNCTION (function[i]) : 0,
          .cost = one ? 0 : (float)sim_case_work (c, a, FALSE, (guint32)i, 1)
        };
      }
}

static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return FALSE; /* a dry run calls no worker */
}

static void
add_up (HassSimResult *r)
{
  const SimCase *c = r->of;
  double bound = 0, all_static = 0, steady = 0, steady_bound = 0, tail = 0;
  guint half = r->n_rounds / 2;
  r->worst_efficiency = r->n_rounds > 0 ? 1e9 : 0;
  r->against_static = (double)NAN;
  for (guint i = 0; i < r->n_rounds; i++)
    {
      const SimRound *round = &r->rounds[i];
      double ns = (double)(round->end_ns - round->begin_ns);
      double best = c->bound_ns ? c->bound_ns[i] : 0;
      double first = 0, last = 0;
      r->makespan_ns += ns;
      r->asked += round->asked;
      bound += best;
      all_static += c->static_ns ? c->static_ns[i] : 0;
      if (i >= half)
        {
          steady += ns;
          steady_bound += best;
        }
      if (ns > 0)
        r->worst_efficiency = MIN (r->worst_efficiency, best / ns);
      if (i == 0 && ns > 0)
        r->first_efficiency = best / ns;
      for (guint d = 0; d < c->n_devices; d++)
        {
          const SimDevice *dev = &round->devices[d];
          r->bundles += dev->bundles;
          r->bytes += dev->bytes;
          if (dev->units == 0)
            continue;
          first = first > 0 ? MIN (first, dev->finish_ns) : dev->finish_ns;
          last = MAX (last, dev->finish_ns);
        }
      tail += ns > 0 ? (last - first) / ns : 0;
    }
  if (r->n_rounds == 0)
    return;
  r->asked /= r->n_rounds;
  r->imbalance = tail / r->n_rounds;
  r->efficiency = r->makespan_ns > 0 ? bound / r->makespan_ns : 0;
  r->steady_ns = steady / (r->n_rounds - half);
  r->steady_efficiency = steady > 0 ? steady_bound / steady : 0;
  if (c->static_ns && r->makespan_ns > 0)
    r->against_static = all_static / r->makespan_ns;
}

HassSimResult *
sim_run (const SimCase *c, const char *strategy, const char *trace)
{
  const SimWorkload *w = c->workload;
  HassSimResult *r = g_new0 (HassSimResult, 1);
  Run run = { .c = c, .result = r, .first_gpu = c->platform->has_cpu ? 1 : 0 };
  gboolean oracle = strcmp (strategy, "oracle") == 0;
  GError *error = NULL;
  r->strategy = g_strdup (strategy);
  r->of = c;
  r->rounds = g_new0 (SimRound, MAX (c->rounds, 1));
  make_loads (&run);
  HassRunOptions options = { .dry = TRUE,
                             .seed = c->seed,
                             .deadline_ms = c->most_ms,
                             .trace = trace ? trace : "" };
  HassFarm farm = { .name = w->name,
                    .kind = w->farm,
                    .cost = w->cost,
                    .user_data = &run,
                    .generate = generate,
                    .cpu_worker = never,
                    .n_functions = w->n_functions,
                    .block_elements = w->elements,
                    .element_threads = 1,
                    .pool_loads = 1024,
                    .pool_bytes = G_MAXSIZE,
                    .round_loads = G_MAXUINT32 - 1,
                    .window = G_MAXUINT32,
                    .strategy = oracle ? c->static_split : strategy,
                    .run = &options,
                    .observe = hass_observe };
  HassVirtualModel model = { .entry_bytes = w->entry_bytes,
                             .merge_ns = w->merge_ns,
                             .cost = cost,
                             .stoppable = c->stoppable,
                             .round_ended = round_ended,
                             .data = &run,
                             .events = c->events,
                             .n_events = c->n_events };
  if (oracle && !c->static_split)
    r->refused = g_strdup ("the best static split was not sought");
  else if (!hass_virtual_run_model (&farm, c->platform, &model, NULL, &error))
    {
      r->refused = g_strdup (error->message);
      r->unfit = sim_unfit (farm.strategy, farm.kind, error);
      r->unwritten = g_error_matches (error, HASS_ERROR, HASS_ERROR_IO);
      r->late = g_error_matches (error, HASS_ERROR, HASS_ERROR_DEADLINE);
      g_clear_error (&error);
    }
  g_free (run.loads);
  add_up (r);
  return r;
}

void
sim_result_free (HassSimResult *r)
{
  for (guint i = 0; i < r->n_rounds; i++)
    g_free (r->rounds[i].devices);
  g_free (r->rounds);
  g_free (r->strategy);
  g_free (r->refused);
  g_free (r);
}
