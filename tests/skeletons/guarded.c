/* SPDX-License-Identifier: MIT */
/* guarded.c: what the skeletons' tests share.
   Thread safety: one thread. */
#include "guarded.h"

#include <stdatomic.h>
#include <string.h>

#include "tests/engine/trial.h"

gboolean
guarded (Run run, const HassDataFarm *f, HassReport **report, GError **error)
{
  watchdog (30, f->name);
  gboolean ok = run (f, report, error);
  watchdog (0, NULL);
  return ok;
}

gboolean
fails_with (Run run, const HassDataFarm *f, HassError code, const char *text)
{
  GError *error = NULL;
  gboolean right = !guarded (run, f, NULL, &error)
                   && g_error_matches (error, HASS_ERROR, code)
                   && strstr (error->message, text);
  if (!right)
    g_printerr ("\n    '%s' was due, got: %s", text,
                error ? error->message : "success");
  g_clear_error (&error);
  return right;
}

gboolean
count_elements (const HassBlock *block, HassWorker *worker, gpointer data,
                GError **error)
{
  (void)worker, (void)error;
  atomic_fetch_add ((_Atomic guint64 *)data, block->count);
  return TRUE;
}
