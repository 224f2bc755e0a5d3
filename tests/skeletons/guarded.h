/* SPDX-License-Identifier: MIT */
/* guarded.h: runs a farm under a watchdog and looks at its error.
   Thread safety: one thread. */
#ifndef GUARDED_H
#define GUARDED_H

#include <hass/hass.h>

typedef gboolean (*Run) (const HassDataFarm *, HassReport **, GError **);

/* Runs the farm; a hang is reported and ends the tests. */
gboolean guarded (Run run, const HassDataFarm *f, HassReport **report,
                  GError **error);

/* TRUE when the farm fails with this code and a message that has the text. */
gboolean fails_with (Run run, const HassDataFarm *f, HassError code,
                     const char *text);

/* A worker that adds its elements to the _Atomic guint64 at data. */
gboolean count_elements (const HassBlock *block, HassWorker *worker,
                         gpointer data, GError **error);

#endif
