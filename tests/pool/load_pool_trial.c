/* SPDX-License-Identifier: MIT */
/* load_pool_trial.c: loads with tags in a pool, for its tests.
   Thread safety: load_pool_trial.h. */
#include "load_pool_trial.h"

gboolean
pool_emit (HassLoadPool *pool, gsize tag, gsize bytes)
{
  HassLoad load = { .tag = GSIZE_TO_POINTER (tag), .input_bytes = bytes };
  return hass_load_pool_emit (pool, &load);
}

gsize
span_tag (const HassSpan *span, guint32 i)
{
  return GPOINTER_TO_SIZE (span->loads[(span->base + i) & span->mask].tag);
}

/* Adds n loads tagged first, ... as a worker does. */
void
pool_add_nested (HassLoadPool *pool, gsize first, gsize n)
{
  HassLoad *loads = g_new0 (HassLoad, n);
  for (gsize i = 0; i < n; i++)
    loads[i].tag = GSIZE_TO_POINTER (first + i);
  hass_load_pool_add_nested (pool, loads, n);
  g_free (loads);
}
