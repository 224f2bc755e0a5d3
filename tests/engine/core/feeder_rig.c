/* SPDX-License-Identifier: MIT */
#include "feeder_rig.h"

#include "sched/registry.h"
#include "tests/engine/trial.h"

static FeederRig *rig; /* the one that has begun */

static gint64
now (HassJob *job)
{
  (void)job;
  return rig->now_ns;
}

static gboolean
no_room (HassJob *job)
{
  (void)job;
  return FALSE;
}

static void
nothing (HassJob *job)
{
  (void)job;
}

static HassAnswer
grant (gpointer self, HassRound *round, guint device, gboolean force,
       HassGrant *g)
{
  const HassStrategyEnv *env = self;
  (void)round, (void)force;
  if (env->devices[device].kind != HASS_DEVICE_GPU)
    return HASS_DONE;
  g->source = HASS_FROM_FRONT;
  g->units = rig->units;
  g->in_flight = FEEDER_RIG_DEPTH;
  rig->n_grants++;
  return HASS_TAKE;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  (void)self, (void)round;
  if (rig->n_told < G_N_ELEMENTS (rig->told))
    rig->told[rig->n_told] = *done;
  rig->n_told++;
}

static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return FALSE;
}

static HassJob *
new_job (FeederRig *r, guint64 part_bytes, gboolean with_cpu)
{
  static const HassStrategyOps ops = { .struct_size = sizeof (HassStrategyOps),
                                       .name = "fed",
                                       .summary = "grants the same again",
                                       .source = "tests",
                                       .farms = HASS_FARM_COMBINE,
                                       .create = trial_env,
                                       .grant = grant,
                                       .observe = observe };
  static const HassEngineOps engine = {
    .now = now, .make_room = no_room, .loads_came = nothing, .changed = nothing
  };
  HassDeviceTraits devices[] = { { .name = "cpu",
                                   .kind = HASS_DEVICE_CPU,
                                   .cores = 1,
                                   .width = 1,
                                   .max_in_flight = 1 },
                                 { .name = "gpu0",
                                   .kind = HASS_DEVICE_GPU,
                                   .cores = 1,
                                   .width = 1,
                                   .max_in_flight = FEEDER_RIG_DEPTH,
                                   .part_bytes = part_bytes } };
  HassDevice *none[] = { NULL, NULL };
  guint first = with_cpu ? 0 : 1;
  HassJobDevices of
      = { .devices = devices + first, .gpus = none, .n_devices = 2 - first };
  hass_strategy_register (&ops, NULL);
  return hass_job_new (&r->farm, &engine, &of, NULL);
}

void
feeder_rig_begin (FeederRig *r, guint n_loads, guint granted,
                  guint64 part_bytes, gboolean with_cpu)
{
  *r = (FeederRig){ .options = { .dry = TRUE },
                    .now_ns = 100,
                    .units = granted,
                    .loads = g_new0 (HassLoad, n_loads) };
  for (guint i = 0; i < n_loads; i++)
    r->loads[i] = (HassLoad){ .size = 2, .input_bytes = FEEDER_RIG_UNIT_BYTES };
  r->farm = (HassFarm){ .name = "fed",
                        .kind = HASS_FARM_COMBINE,
                        .loads = r->loads,
                        .n_loads = n_loads,
                        .cpu_worker = never,
                        .pool_loads = 1024,
                        .pool_bytes = G_MAXSIZE,
                        .round_loads = n_loads,
                        .window = G_MAXUINT32,
                        .strategy = "fed",
                        .run = &r->options };
  rig = r;
  r->job = new_job (r, part_bytes, with_cpu);
  g_assert (r->job);
  hass_job_generate (r->job);
  hass_lock_take (&r->job->decision);
  r->round = hass_job_begin_round (r->job);
  hass_lock_give (&r->job->decision);
  hass_feeder_init (&r->feeder, r->job, with_cpu);
}

void
feeder_rig_end (FeederRig *r)
{
  hass_feeder_clear (&r->feeder);
  hass_job_finish (r->job);
  g_clear_error (&r->job->error);
  hass_job_free (r->job);
  g_free (r->loads);
}

HassFeederPart *
feeder_rig_next_part (FeederRig *r)
{
  HassFeederPart *part;
  HassExtent e;
  HassGrant unused;
  HassFeed feed = hass_feeder_next (&r->feeder, r->now_ns, &part);
  if (feed == HASS_FEED_ASK)
    {
      hass_lock_take (&r->job->decision);
      gboolean any
          = hass_decide_gpu (r->job, r->round, r->feeder.d, &e, &unused);
      hass_lock_give (&r->job->decision);
      if (!any)
        return NULL;
      hass_feeder_grant (&r->feeder, r->round, e, r->now_ns);
      feed = hass_feeder_next (&r->feeder, r->now_ns, &part);
    }
  if (feed != HASS_FEED_PART)
    return NULL;
  part->submit_ns = r->now_ns;
  return part;
}

HassFeederPart *
feeder_rig_submitted (FeederRig *r)
{
  HassFeederPart *part = feeder_rig_next_part (r);
  if (part)
    hass_feeder_submitted (&r->feeder);
  return part;
}

gboolean
feeder_rig_comes_back (FeederRig *r, guint slot, const HassBundleDone *like)
{
  HassBundleDone done = *like;
  done.slot = slot;
  r->now_ns += 10;
  HassFeederPart *part = hass_feeder_left (&r->feeder, &done);
  if (!part)
    return FALSE;
  HassFeederBack back = { .done = &done,
                          .message = done.failed ? "a test" : NULL,
                          .left_ns = r->now_ns,
                          .end_ns = r->now_ns,
                          .settled_ns = r->now_ns };
  HassSlot *round = part->grant->round;
  if (!done.failed)
    back.counted = hass_feeder_results (&r->feeder, part, &done);
  hass_feeder_settle (&r->feeder, part, &back);
  if (!done.failed)
    hass_job_units_finished (r->job, round, back.counted.n);
  return TRUE;
}
