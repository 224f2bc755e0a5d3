/* SPDX-License-Identifier: MIT */
/* sampler.h: measures the devices of a live farm or pipeline for the profile
   store, which keeps the times of a dataflow's codelets, too.
   Thread safety: see sampler.c. */
#ifndef HASS_SAMPLER_H
#define HASS_SAMPLER_H

#include "hass/strategy.h"

typedef struct HassSamplers HassSamplers;

/* What is known of a codelet of a dataflow on one device: tasks that it has
   computed, and the time of one on a core or the device, in ns; 0: unknown. */
typedef struct
{
  guint64 tasks;
  double ns;
} HassProfiledTasks;

typedef struct
{
  const char *name;
  HassCostClass cost;    /* SIZED: tasks have the work that the user has said */
  double work;           /* mean work of a task */
  HassProfiledTasks *on; /* [n_devices] */
} HassProfiledCodelet;

HassSamplers *hass_samplers_begin (HassStrategyEnv *env, const char *strategy);
void hass_samplers_free (HassSamplers *samplers);
void hass_samplers_observe (HassSamplers *samplers, const HassCompletion *done);
void hass_samplers_served (HassSamplers *samplers, const HassServed *done);
/* @lost: [n_devices] */
void hass_samplers_store (HassSamplers *samplers, const gboolean *lost,
                          gint64 run_ns);

/* How many loads the last run of a pipeline had, 0: unknown or a farm; and how
   many this one has had. */
guint64 hass_samplers_loads (const HassSamplers *samplers);
void hass_samplers_had_loads (HassSamplers *samplers, guint64 loads);

/* Of a dataflow: stages.c, except the last one. */
gboolean hass_profile_has_codelets (const HassStrategyEnv *env);
void hass_profile_look_codelet (const HassStrategyEnv *env,
                                HassProfiledCodelet *codelet);
void hass_samplers_store_codelets (const HassStrategyEnv *env,
                                   const HassProfiledCodelet *codelets, guint n,
                                   gint64 run_ns);

#endif
