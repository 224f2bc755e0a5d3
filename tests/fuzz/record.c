/* SPDX-License-Identifier: MIT */
/* record.c: a record, and the replay of its first farm under its strategy and
   under auto.
   Thread safety: see fuzz.h. */
#include <math.h>

#include "fuzz.h"
#include "hass/report.h"
#include "tools/hass-sim/replay/replay.h"

/* Larger ones take long, and show nothing more. */
#define MOST_UNITS 2000
#define MOST_CORES 64

static void
run (const ReplayMachine *m, const char *strategy)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) report = NULL;
  gboolean ok = replay_run (m, strategy, 1, &report, &error);
  FUZZ_CHECK (ok == (error == NULL));
  FUZZ_CHECK (!ok
              || (isfinite (report->makespan_s) && report->makespan_s >= 0));
}

static void
replay (const RecordFarm *farm)
{
  g_autoptr (GError) error = NULL;
  gboolean large = farm->n_units > MOST_UNITS;
  for (guint d = 0; d < farm->n_devices; d++)
    large |= farm->devices[d].cores > MOST_CORES;
  if (large)
    return;
  Replay *p = replay_fit (farm, &error);
  FUZZ_CHECK ((p == NULL) == (error != NULL));
  if (!p)
    return;
  ReplayMachine *m = replay_machine (p);
  run (m, NULL);
  run (m, "auto");
  replay_machine_free (m);
  replay_free (p);
}

static int
record (const guint8 *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) farms = record_read (fuzz_file (data, size), &error);
  FUZZ_CHECK ((farms == NULL) == (error != NULL));
  if (farms)
    replay (farms->pdata[0]);
  return 0;
}

FUZZ_TARGET (record, record)
