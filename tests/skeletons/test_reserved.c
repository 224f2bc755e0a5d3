/* SPDX-License-Identifier: MIT */
/* test_reserved.c: reserved words of public structs, which a later version may
   use, are refused by name.
   Thread safety: one thread. */
#include <string.h>

#include "hass/hass.h"
#include "hass_test.h"

static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)error;
  *(gboolean *)data = TRUE;
  return TRUE;
}

static void
options (void)
{
  gboolean ran = FALSE;
  HassLoad load = { .size = 1 };
  for (guint i = 0; i < G_N_ELEMENTS (((HassRunOptions *)NULL)->reserved); i++)
    {
      HassDataFarm f = HASS_DATA_FARM_INIT;
      g_autofree char *word = g_strdup_printf ("run.reserved[%u]", i);
      GError *error = NULL;
      f.user_data = &ran;
      f.loads = &load;
      f.n_loads = 1;
      f.cpu_worker = never;
      f.run.reserved[i] = &ran;
      CU_ASSERT_FALSE (hass_data_farm_combine (&f, NULL, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      CU_ASSERT_TRUE (error && strstr (error->message, word));
      g_clear_error (&error);
    }
  CU_ASSERT_FALSE (ran);
}

HASS_TEST_SUITE (reserved,
                 { "an option of a later version is refused", options })
