/* SPDX-License-Identifier: MIT */
/* platform.c: a platform file, and a dry farm on what it describes.
   Thread safety: see fuzz.h. */
#include <math.h>

#include "draw/json_line.h"
#include "fuzz.h"
#include "hass/hass.h"

#define UNITS 60

static gboolean
never (const HassBlock *block, HassWorker *worker, gpointer data,
       GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return FALSE;
}

static int
platform (const guint8 *data, size_t size)
{
  HassLoad loads[UNITS];
  g_autoptr (HassReport) report = NULL;
  g_autoptr (GError) error = NULL;
  for (guint i = 0; i < UNITS; i++)
    loads[i] = (HassLoad){ .size = 8,
                           .input_bytes = 80,
                           .output_bytes = 8,
                           .cost = (float)(1 + i % 7) };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "fuzz";
  f.cost = HASS_COST_SIZED;
  f.loads = loads;
  f.n_loads = UNITS;
  f.round_loads = UNITS / 2;
  f.cpu_worker = never;
  f.run.dry = TRUE;
  f.run.strategy = "auto";
  f.run.platform = fuzz_file (data, size);
  gboolean ok = hass_data_farm_combine (&f, &report, &error);
  FUZZ_CHECK (ok == (error == NULL));
  FUZZ_CHECK (!ok || report->units == UNITS);
  if (report)
    {
      g_autofree char *text = hass_report_to_json (report);
      g_autofree char *table = hass_report_to_string (report);
      JsonNode *node = draw_json_line (text, NULL);
      FUZZ_CHECK (node != NULL && table != NULL);
      if (node)
        json_node_unref (node);
      FUZZ_CHECK (isfinite (report->makespan_s) && report->makespan_s >= 0);
      FUZZ_CHECK (isfinite (report->efficiency));
    }
  return 0;
}

FUZZ_TARGET (platform, platform)
