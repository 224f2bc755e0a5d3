/* SPDX-License-Identifier: MIT */
/* mini_checks.c: see mini_checks.h.
   Thread safety: one thread. */
#include "mini_checks.h"

#include <CUnit/CUnit.h>
#include <string.h>

#include "hass/error.h"

gboolean
mini_refused_with (const char *spec, guint n_devices, const char *word)
{
  static const HassDeviceTraits traits[]
      = { { .name = "cpu", .kind = HASS_DEVICE_CPU, .cores = 4 },
          { .name = "gpu0", .kind = HASS_DEVICE_GPU, .cores = 30 },
          { .name = "gpu1", .kind = HASS_DEVICE_GPU, .cores = 8 } };
  HassStrategyEnv env = { .struct_size = sizeof env,
                          .farm_name = "test",
                          .farm = HASS_FARM_COMBINE,
                          .n_devices = n_devices,
                          .devices = traits };
  GError *error = NULL;
  HassStrategy *strategy = hass_strategy_new (spec, &env, &error);
  gboolean is = !strategy
                && g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY)
                && strstr (error->message, word);
  g_clear_error (&error);
  hass_strategy_free (strategy);
  return is;
}

gboolean
mini_refused (const char *spec, const char *word)
{
  return mini_refused_with (spec, 2, word);
}

void
mini_run (MiniFarm *farm, guint32 units, MiniRound *result)
{
  mini_farm_run_equal (farm, units, result);
  CU_ASSERT (result->once && !result->hung);
  CU_ASSERT_EQUAL (result->forced, 0);
}

/* Units of a bundle of the last round; 0: there was none. */
guint64
mini_units (const MiniFarm *farm, guint grant)
{
  return grant < farm->grants->len
             ? g_array_index (farm->grants, MiniGrant, grant).units
             : 0;
}
