/* SPDX-License-Identifier: MIT */
/* stages.c: measures the stages of a live pipeline for the profile store.

   DESIGN. A pipeline has an entry for each device and stage, as if the stage
   were a farm named "pipeline/stage" whose units have the work 1. Only stages
   that more than one device can run are kept: for the others there is nothing
   to decide. A sample is the pace that the strategies' own means have at the
   end (sched/pace.h), so what they get in the next run is what they knew at the
   end of this one. A single unit is enough for a core: more than one may cost
   more than they teach where another device is hundreds of times as fast. A
   strategy that gives a device nothing because of its rate adds no sample, so
   rates expire after a day and are measured again.

   Thread safety: see sampler.h. */
#include "profile-private.h"

#include "sched/pace.h"

/* Rates of stages that are older than this, in s, are not told. A guess:
   shorter, and what is known is measured again, which may hold a stream up for
   as long as a core takes for a unit; longer, and a device that has become
   faster gets nothing for as long. */
#define FRESH_S (24 * 3600)
/* Least time, in ns, for which a device must have computed a stage for a sample
   of its rate. A guess: less, and samples are noisy; more, and devices with few
   units give none. */
#define LEAST_BUSY_NS 1000000

struct HassStageSamplers
{
  const HassStrategyEnv *env;
  HassPaces paces;
  HassProfileRate *known; /* [n_classes * n_devices] */
};

/* Returns: whether more than one device can run a class. */
static gboolean
is_shared (const HassStrategyEnv *env, guint c)
{
  guint64 devices = env->classes[c].devices;
  return (devices & (devices - 1)) != 0;
}

/* Returns: a class as a farm of the store; free its name with g_free(). Its
   name is NULL if the store keeps no such farm. */
static HassStrategyEnv
as_farm (const HassStrategyEnv *env, guint c, char **name)
{
  HassStrategyEnv farm = *env;
  *name = g_strdup_printf ("%s/%s", env->farm_name, env->classes[c].name);
  if (!hass_profile_wanted (*name))
    g_clear_pointer (name, g_free);
  farm.farm_name = *name;
  farm.cost = env->classes[c].cost;
  return farm;
}

/* Looks up the rates of earlier runs and puts them into @env for the strategy.
   Returns: NULL if nothing is to be measured. */
HassStageSamplers *
hass_stage_samplers_begin (HassStrategyEnv *env)
{
  HassProfileRate *known = NULL;
  for (guint c = 0; c < env->n_classes; c++)
    {
      g_autofree char *name = NULL;
      if (!is_shared (env, c))
        continue;
      HassStrategyEnv farm = as_farm (env, c, &name);
      if (!known)
        known = g_new0 (HassProfileRate, env->n_classes * env->n_devices);
      if (name)
        hass_profile_look (&farm, FRESH_S, &known[c * env->n_devices]);
    }
  if (!known)
    return NULL;
  HassStageSamplers *s = g_new0 (HassStageSamplers, 1);
  s->env = env;
  s->known = known;
  env->profile = known;
  hass_paces_init (&s->paces, env);
  return s;
}

void
hass_stage_samplers_free (HassStageSamplers *s)
{
  hass_paces_clear (&s->paces);
  g_free (s->known);
  g_free (s);
}

void
hass_stage_samplers_observe (HassStageSamplers *s, const HassServed *done)
{
  hass_paces_add (&s->paces, done);
}

static HassProfileSample
sample_of (const HassStageSamplers *s, guint c, guint device)
{
  const HassPace *pace = hass_pace (&s->paces, c, device);
  double ns = hass_pace_ns (&s->paces, c, device);
  double servers = device == s->paces.cpu ? s->env->devices[device].cores : 1;
  if (ns <= 0 || (double)pace->units * ns < LEAST_BUSY_NS)
    return (HassProfileSample){ 0 };
  return (HassProfileSample){ .work_per_ns = servers / ns, .unit_work = 1 };
}

/* Stores the rates of the devices at each stage; @devices as in
   hass_samplers_store(), @within_s as in hass_profile_add(). */
void
hass_stage_samplers_store (HassStageSamplers *s, const HassSampled *devices,
                           gint64 within_s)
{
  guint n = s->env->n_devices;
  g_autofree HassProfileSample *samples = g_new (HassProfileSample, n);
  for (guint c = 0; c < s->env->n_classes; c++)
    {
      g_autofree char *name = NULL;
      gboolean any = FALSE;
      if (!is_shared (s->env, c))
        continue;
      HassStrategyEnv farm = as_farm (s->env, c, &name);
      for (guint d = 0; d < n; d++)
        {
          samples[d] = devices[d].lost ? (HassProfileSample){ 0 }
                                       : sample_of (s, c, d);
          any |= samples[d].work_per_ns > 0;
        }
      if (any && name)
        hass_profile_add (&farm, samples, within_s);
    }
}
