/* SPDX-License-Identifier: MIT */
/* run.c: runs a recorded farm on a modelled machine.

   DESIGN. On the recorded machine a unit's work is its ns there and every
   device has rate 1; strategies are told the traits that they were told when
   the farm was recorded, scaled by the changes. On a machine from a file a
   unit's work is what strategies see of it, times how much dearer than its
   work the unit was.

   Thread safety: each run has a farm of its own. */
#include "replay.h"

#include "engine/observe/observe.h"
#include "hass/error.h"

typedef struct
{
  const ReplayMachine *m;
  HassLoad *loads; /* [n_units], or [n_rounds] in a partition farm */
  guint64 *ends;   /* partition farm: [n_units] elements of the round so far */
} Run;

static double
cost (gpointer data, guint64 round, guint device, guint32 unit, guint32 n)
{
  const Run *run = data;
  const Replay *r = run->m->replay;
  guint64 first = r->rounds[round].first + unit;
  if (run->m->other)
    return r->relative[first + n] - r->relative[first];
  const double *sum = r->devices[run->m->source[device]].cost;
  return sum[first + n] - sum[first];
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Run *run = data;
  const Replay *r = run->m->replay;
  gboolean partition = r->farm->kind == HASS_FARM_PARTITION;
  (void)error;
  for (guint i = 0; i < r->n_rounds; i++)
    if (!hass_emitter_emit_array (emitter,
                                  partition ? &run->loads[i]
                                            : &run->loads[r->rounds[i].first],
                                  partition ? 1 : r->rounds[i].units))
      break;
  return TRUE;
}

/* Partition farm: one load a round, whole bytes an element. */
static void
make_large_loads (Run *run)
{
  const Replay *r = run->m->replay;
  run->loads = g_new0 (HassLoad, r->n_rounds);
  run->ends = g_new0 (guint64, r->farm->n_units);
  for (guint i = 0; i < r->n_rounds; i++)
    {
      const ReplayRound *round = &r->rounds[i];
      double in = 0, out = 0;
      guint64 n = 0;
      for (guint64 u = round->first; u < round->first + round->units; u++)
        {
          n += MAX (r->elements[u], 1);
          in += r->in_bytes[u];
          out += r->out_bytes[u];
          run->ends[u] = n;
        }
      run->loads[i] = (HassLoad){ .size = n,
                                  .input_bytes = n * (gsize)(in / n + 0.5),
                                  .output_bytes = n * (gsize)(out / n + 0.5),
                                  .tag = GUINT_TO_POINTER (i) };
    }
}

static void
make_loads (Run *run)
{
  const Replay *r = run->m->replay;
  run->loads = g_new0 (HassLoad, r->farm->n_units);
  for (guint64 u = 0; u < r->farm->n_units; u++)
    run->loads[u] = (HassLoad){ .size = r->elements[u],
                                .input_bytes = r->in_bytes[u],
                                .output_bytes = r->out_bytes[u],
                                .cost = (float)r->work[u],
                                .flags = r->kinds[u] };
}

/* Cuts a load as in the record. */
static gboolean
cut (const HassLoad *load, gsize first, gsize count, HassBlock *block,
     gpointer data, GError **error)
{
  const Run *run = data;
  const ReplayRound *round
      = &run->m->replay->rounds[GPOINTER_TO_UINT (load->tag)];
  const guint64 *ends = run->ends + round->first;
  guint64 low = 0, high = round->units - 1;
  (void)count, (void)error;
  while (low < high)
    {
      guint64 middle = (low + high) / 2;
      if (ends[middle] > first)
        high = middle;
      else
        low = middle + 1;
    }
  block->count = ends[low] - first;
  block->input_bytes = block->count * (load->input_bytes / load->size);
  block->output_bytes = block->count * (load->output_bytes / load->size);
  return TRUE;
}

static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return FALSE; /* a dry run calls no worker */
}

/* Returns: the number of elements of the blocks if it is the same in all
   rounds, else 0. */
static guint64
equal_blocks (const Replay *r)
{
  guint64 e = r->elements[r->rounds[0].first];
  for (guint i = 0; i < r->n_rounds; i++)
    {
      const ReplayRound *round = &r->rounds[i];
      guint64 last = round->first + round->units - 1;
      for (guint64 u = round->first; u < last; u++)
        if (r->elements[u] != e)
          return 0;
      if (r->elements[last] > e || r->elements[last] == 0)
        return 0;
    }
  return e;
}

static double *
gaps_of (const Replay *r)
{
  double *gaps = g_new (double, r->n_rounds + 1);
  for (guint i = 0; i < r->n_rounds; i++)
    gaps[i] = r->rounds[i].gap;
  gaps[r->n_rounds] = r->gap_after;
  return gaps;
}

/* Runs the farm under a strategy; NULL: the recorded one. */
gboolean
replay_run (const ReplayMachine *m, const char *strategy, guint64 seed,
            HassReport **report, GError **error)
{
  const Replay *r = m->replay;
  const RecordFarm *f = r->farm;
  gboolean partition = f->kind == HASS_FARM_PARTITION;
  Run run = { .m = m };
  if (partition)
    make_large_loads (&run);
  else
    make_loads (&run);
  guint64 block = partition ? equal_blocks (r) : 0;
  gboolean late = !m->other && m->platform->cores == f->devices[0].cores;
  g_autofree double *gaps = gaps_of (r);
  HassRunOptions options
      = { .dry = TRUE, .seed = seed, .trace = "", .record = "" };
  HassFarm farm = { .name = f->farm,
                    .kind = f->kind,
                    .cost = f->cost,
                    .user_data = &run,
                    .generate = generate,
                    .cpu_worker = never,
                    .partition = partition && block == 0 ? cut : NULL,
                    .block_elements = MAX (block, 1),
                    .element_threads = f->element_threads,
                    .gpu_multiple = f->gpu_multiple,
                    .pool_loads = 1024,
                    .pool_bytes = G_MAXSIZE,
                    .round_loads = partition ? 1 : G_MAXUINT32 - 1,
                    .window = G_MAXUINT32,
                    .strategy = strategy ? strategy : f->strategy,
                    .profile = m->any_known ? m->known : NULL,
                    .run = &options,
                    .observe = hass_observe };
  HassVirtualModel model = { .cost = cost,
                             .data = &run,
                             .traits = m->traits,
                             .gap_ns = gaps,
                             .n_gaps = r->n_rounds + 1,
                             .late_ns = late ? r->late : NULL,
                             .n_late = r->n_rounds,
                             .open_ns = m->open,
                             .submit_ns = m->submit,
                             .host_ns = m->host };
  gboolean ok
      = hass_virtual_run_model (&farm, m->platform, &model, report, error);
  g_free (run.loads);
  g_free (run.ends);
  return ok;
}
