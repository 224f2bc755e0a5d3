/* SPDX-License-Identifier: MIT */
/* settings.c: refuses settings that have no effect in the farm they are given
   to.

   DESIGN. One table of invalid combinations. Settings for the GPU worker are
   accepted without one: a program that omits its GPU worker, without CUDA or at
   the user's request, need not clear them.

   Thread safety: any thread. */
#include "normalise-private.h"

/* Returns: the index of the first constant that has a size but no data, or
   -1. */
static gint
empty_constant (const HassFarm *farm)
{
  for (guint i = 0; i < farm->n_constants; i++)
    if (!farm->constants[i].data && farm->constants[i].bytes > 0)
      return (gint)i;
  return -1;
}

/* Checks the settings that do not apply to the farm's kind or contradict each
   other. @window: the bound for ordered results, as the user has set it.
   Returns: FALSE with HASS_ERROR_INVALID, which names the setting. */
gboolean
hass_farm_check_settings (const HassFarm *farm, gsize window, GError **error)
{
  const HassRunOptions *run = farm->run;
  const char *platform = run->platform;
  if (!platform)
    platform = g_getenv ("HASS_PLATFORM");
  gboolean ordered = farm->order == HASS_RESULTS_ORDERED && farm->collect;
  gboolean cut = farm->kind == HASS_FARM_PARTITION;
  const struct
  {
    gboolean wrong;
    const char *what;
  } rules[] = {
    { !farm->reduce && farm->reduce_init, "reduce_init needs reduce" },
    { !farm->reduce && (farm->accumulator || farm->accumulator_bytes > 0),
      "accumulator and accumulator_bytes need reduce" },
    { !farm->collect && farm->order == HASS_RESULTS_ORDERED,
      "order needs collect" },
    { window > 0 && !ordered, "a window needs collect and order ORDERED" },
    { !cut && farm->partition, "partition is for partition farms" },
    { !cut && farm->halo_elements > 0, "halo_elements is for partition farms" },
    { !cut && farm->block_elements > 0,
      "block_elements is for partition farms" },
    { !farm->partition && farm->join_tiles,
      "join_tiles needs partition, which alone makes tiles" },
    { farm->gpu_records_per_element > 0 && farm->gpu_record_bytes == 0,
      "gpu_records_per_element needs gpu_record_bytes" },
    { run->dry && (!platform || !*platform),
      "dry needs a platform: on a real machine the workers are the farm" },
    { run->loads_expected > 0
          && !(farm->kind == HASS_FARM_PIPELINE && farm->generate),
      "loads_expected is for pipelines with a generator" },
    { run->n_gpus < -1, "n_gpus must be -1 (none), 0 or a number of GPUs" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (rules); i++)
    if (rules[i].wrong)
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "%s '%s': %s",
                     hass_farm_noun (farm), farm->name, rules[i].what);
        return FALSE;
      }
  gint empty = empty_constant (farm);
  if (empty < 0)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "%s '%s': constant %d of %u has %zu bytes, but its data is "
               "NULL",
               hass_farm_noun (farm), farm->name, empty, farm->n_constants,
               farm->constants[empty].bytes);
  return FALSE;
}
