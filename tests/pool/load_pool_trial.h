/* SPDX-License-Identifier: MIT */
/* load_pool_trial.h: loads with tags in a pool, for its tests.
   Thread safety: as the pool's functions. */
#ifndef HASS_TEST_LOAD_POOL_TRIAL_H
#define HASS_TEST_LOAD_POOL_TRIAL_H

#include "pool/load_pool.h"

/* Emits a load of so many bytes; returns what hass_load_pool_emit() does. */
gboolean pool_emit (HassLoadPool *pool, gsize tag, gsize bytes);
/* Adds @n nested loads with the tags from @first on. */
void pool_add_nested (HassLoadPool *pool, gsize first, gsize n);
/* The tag of load @i of the span. */
gsize span_tag (const HassSpan *span, guint32 i);

#endif
