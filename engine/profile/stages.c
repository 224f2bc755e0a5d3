/* SPDX-License-Identifier: MIT */
/* stages.c: measures the stages of a live pipeline for the profile store, and
   keeps the times of a dataflow's codelets there.

   DESIGN. A pipeline has an entry for each device and stage, as if the stage
   were a farm named "pipeline/stage" whose units have the work 1. Only stages
   that more than one device can run are kept: for the others there is nothing
   to decide. A sample is the pace that the strategies' own means have at the
   end (sched/pace.h), so what they get in the next run is what they knew at the
   end of this one. A single unit is enough for a core: more than one may cost
   more than they teach where another device is hundreds of times as fast. A
   strategy that gives a device nothing because of its rate adds no sample, so
   rates expire after a day and are measured again.

   The pipeline itself has an entry for the CPU pool, as if it were a farm whose
   units are its runs, of which each has the work of its loads: so it is known
   how many loads the last run had.

   A dataflow likewise has an entry for each device and codelet, of the work
   that the user's hints say, or of 1 for each task: a core's time says how
   tasks are handed out, even where only cores can run them.

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
  guint64 loads_before;   /* of the last run; 0: unknown */
  guint64 loads;          /* of this one */
};

/* Returns: whether more than one device can run a class. */
static gboolean
is_shared (const HassStrategyEnv *env, guint c)
{
  guint64 devices = env->classes[c].devices;
  return (devices & (devices - 1)) != 0;
}

/* Returns: a part of a pipeline or dataflow as a farm of the store; free its
   name with g_free(). Its name is NULL if the store keeps no such farm. */
static HassStrategyEnv
as_farm (const HassStrategyEnv *env, const char *part, HassCostClass cost,
         char **name)
{
  HassStrategyEnv farm = *env;
  *name = g_strdup_printf ("%s/%s", env->farm_name, part);
  if (!hass_profile_wanted (*name))
    g_clear_pointer (name, g_free);
  farm.farm_name = *name;
  farm.cost = cost;
  return farm;
}

/* Returns: tasks that a device computes at a time, each in the time that is
   measured. */
static double
servers (const HassStrategyEnv *env, guint device)
{
  const HassDeviceTraits *t = &env->devices[device];
  return t->kind == HASS_DEVICE_CPU ? t->cores : 1;
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
      HassStrategyEnv farm
          = as_farm (env, env->classes[c].name, env->classes[c].cost, &name);
      if (!known)
        known = g_new0 (HassProfileRate, env->n_classes * env->n_devices);
      if (name)
        hass_profile_look (&farm, FRESH_S, &known[c * env->n_devices], NULL);
    }
  if (!known)
    return NULL;
  HassStageSamplers *s = g_new0 (HassStageSamplers, 1);
  s->env = env;
  s->known = known;
  env->profile = known;
  hass_paces_init (&s->paces, env);
  g_autofree double *loads = g_new0 (double, env->n_devices);
  hass_profile_look (env, FRESH_S, NULL, loads);
  if (s->paces.cpu < env->n_devices)
    s->loads_before = (guint64)loads[s->paces.cpu];
  return s;
}

guint64
hass_stage_samplers_loads (const HassStageSamplers *s)
{
  return s->loads_before;
}

void
hass_stage_samplers_had_loads (HassStageSamplers *s, guint64 loads)
{
  s->loads = loads;
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

/* Returns: what @units of @work each have shown, in @ns each. */
static HassProfileSample
sample_of (const HassStrategyEnv *env, guint device, guint64 units, double work,
           double ns)
{
  if (ns <= 0 || (double)units * ns < LEAST_BUSY_NS)
    return (HassProfileSample){ 0 };
  return (HassProfileSample){ .work_per_ns = servers (env, device) * work / ns,
                              .unit_work = work };
}

/* Stores samples [n * n_devices] of @n parts of a pipeline or dataflow; parts
   without a name are left out. */
static void
store_parts (const HassStrategyEnv *parts, guint n, HassProfileSample *samples,
             gint64 within_s)
{
  gboolean any = FALSE;
  for (guint i = 0; n > 0 && i < n * parts->n_devices; i++)
    {
      if (!parts[i / parts->n_devices].farm_name)
        samples[i] = (HassProfileSample){ 0 };
      any |= samples[i].work_per_ns > 0;
    }
  if (any)
    hass_profile_add (parts, n, samples, within_s);
  for (guint k = 0; k < n; k++)
    g_free ((char *)parts[k].farm_name);
}

/* Stores the rates of the devices at each stage, and how many loads the run
   had; @lost, @run_ns as in hass_samplers_store(), @within_s as in
   hass_profile_add(). */
void
hass_stage_samplers_store (HassStageSamplers *s, const gboolean *lost,
                           gint64 run_ns, gint64 within_s)
{
  const HassStrategyEnv *env = s->env;
  guint n = env->n_devices, n_parts = 0, most = env->n_classes + 1;
  g_autofree HassProfileSample *samples
      = g_new0 (HassProfileSample, (gsize)most * n);
  g_autofree HassStrategyEnv *parts = g_new (HassStrategyEnv, most);
  for (guint c = 0; c < env->n_classes; c++)
    {
      char *name;
      if (!is_shared (env, c))
        continue;
      for (guint d = 0; d < n; d++)
        if (!lost[d])
          {
            HassProfileSample *sample = &samples[n_parts * n + d];
            *sample = sample_of (env, d, hass_pace (&s->paces, c, d)->units, 1,
                                 hass_pace_ns (&s->paces, c, d));
            if (d == s->paces.cpu && sample->work_per_ns > 0)
              sample->latency_ns = hass_pace_wide_ns (&s->paces, c);
          }
      parts[n_parts++]
          = as_farm (env, env->classes[c].name, env->classes[c].cost, &name);
    }
  if (s->paces.cpu < n && s->loads > 0)
    samples[n_parts * n + s->paces.cpu]
        = (HassProfileSample){ .work_per_ns = (double)s->loads / (double)run_ns,
                               .unit_work = (double)s->loads };
  parts[n_parts] = *env;
  parts[n_parts++].farm_name = g_strdup (env->farm_name);
  store_parts (parts, n_parts, samples, within_s);
}

/* -- Codelets ----------------------------------------------------------- */

/* Returns: TRUE if earlier runs of a dataflow have stored something, and it is
   worth looking for its codelets. */
gboolean
hass_profile_has_codelets (const HassStrategyEnv *env)
{
  return hass_profile_wanted (env->farm_name)
         && hass_profile_has_parts (env->farm_name);
}

/* Sets the time of a task on each device, by earlier runs. */
void
hass_profile_look_codelet (const HassStrategyEnv *env,
                           HassProfiledCodelet *codelet)
{
  g_autofree char *name = NULL;
  g_autofree HassProfileRate *rates = g_new0 (HassProfileRate, env->n_devices);
  HassStrategyEnv farm = as_farm (env, codelet->name, codelet->cost, &name);
  if (name)
    hass_profile_look (&farm, FRESH_S, rates, NULL);
  for (guint d = 0; d < env->n_devices; d++)
    codelet->on[d].ns
        = rates[d].work_per_ns > 0
              ? servers (env, d) * codelet->work / rates[d].work_per_ns
              : 0;
}

/* Stores the times of @n codelets; @within_s as in hass_profile_add(). */
void
hass_stages_store_codelets (const HassStrategyEnv *env,
                            const HassProfiledCodelet *codelets, guint n,
                            gint64 within_s)
{
  guint n_devices = env->n_devices;
  g_autofree HassProfileSample *samples
      = g_new (HassProfileSample, (gsize)n * n_devices);
  g_autofree HassStrategyEnv *parts = g_new (HassStrategyEnv, n);
  for (guint k = 0; k < n; k++)
    {
      const HassProfiledCodelet *c = &codelets[k];
      char *name;
      for (guint d = 0; d < n_devices; d++)
        samples[k * n_devices + d]
            = sample_of (env, d, c->on[d].tasks, c->work, c->on[d].ns);
      parts[k] = as_farm (env, c->name, c->cost, &name);
    }
  store_parts (parts, n, samples, within_s);
}
