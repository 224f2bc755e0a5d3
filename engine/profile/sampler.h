/* SPDX-License-Identifier: MIT */
/* sampler.h: measures the devices of a live farm or pipeline for the profile
   store.
   Thread safety: see sampler.c. */
#ifndef HASS_SAMPLER_H
#define HASS_SAMPLER_H

#include "hass/strategy.h"

typedef struct HassSamplers HassSamplers;

/* Totals of a device over the whole farm. */
typedef struct
{
  guint64 bundles; /* number of grants; of a CPU pool: of pulls */
  double work;
  gboolean lost;
} HassSampled;

HassSamplers *hass_samplers_begin (HassStrategyEnv *env, const char *strategy);
void hass_samplers_free (HassSamplers *samplers);
void hass_samplers_observe (HassSamplers *samplers, const HassCompletion *done);
void hass_samplers_served (HassSamplers *samplers, const HassServed *done);
void hass_samplers_store (HassSamplers *samplers, const HassSampled *devices,
                          gint64 run_ns);

#endif
