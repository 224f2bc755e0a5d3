/* SPDX-License-Identifier: MIT */
/* farm.c: a small farm in a project of its own: the sum of the squares below
   100000.
   Thread safety: the farm's. */
#include <hass/hass.h>
#include <stdio.h>
#include <string.h>

#if !HASS_CHECK_VERSION(0, 1, 0) || HASS_CHECK_VERSION(1000, 0, 0)
#  error "HASS_CHECK_VERSION"
#endif

static gboolean
generate (HassEmitter *emitter, gpointer user_data, GError **error)
{
  (void)user_data;
  (void)error;
  for (gsize first = 0; first < 100000; first += 100)
    {
      HassLoad load;
      memset (&load, 0, sizeof load);
      load.tag = GSIZE_TO_POINTER (first);
      load.size = 100;
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  return TRUE;
}

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer user_data,
      GError **error)
{
  guint64 *sum = (guint64 *)hass_worker_accumulator (worker);
  guint64 first = GPOINTER_TO_SIZE (block->load->tag) + block->first;
  (void)user_data;
  (void)error;
  for (guint64 i = first; i < first + block->count; i++)
    *sum += i * i;
  return TRUE;
}

static void
add (gpointer sum, gconstpointer part, gpointer user_data)
{
  (void)user_data;
  *(guint64 *)sum += *(const guint64 *)part;
}

int
main (void)
{
  guint64 sum = 0;
  GError *error = NULL;
  HassReport *report = NULL;
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "squares";
  farm.generate = generate;
  farm.cpu_worker = work;
  farm.reduce = add;
  farm.accumulator = &sum;
  farm.accumulator_bytes = sizeof sum;
  if (!hass_data_farm_combine (&farm, &report, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
  printf ("hass %s: %" G_GUINT64_FORMAT "\n", hass_version (), sum);
  hass_report_free (report);
  return 0;
}
