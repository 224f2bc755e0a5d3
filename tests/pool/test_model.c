/* SPDX-License-Identifier: MIT */
/* Runs tests/model/run.sh: every interleaving of small models, with spin.
   Thread safety: one thread. */
#include <stdio.h>
#include <sys/wait.h>

#include <glib.h>

#include "hass_test.h"

#ifndef HASS_TOP
#  define HASS_TOP "."
#endif

static void
models (void)
{
  const char *top = g_getenv ("HASS_TOP") ? g_getenv ("HASS_TOP") : HASS_TOP;
  char *script = g_build_filename (top, "tests", "model", "run.sh", NULL);
  char *argv[] = { "sh", script, NULL };
  char *out = NULL, *err = NULL;
  int status = -1;
  GError *error = NULL;
  gboolean ran = g_spawn_sync (NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL,
                               NULL, &out, &err, &status, &error);
  if (ran && WIFEXITED (status) && WEXITSTATUS (status) == 77)
    hass_test_skip ("spin or a C compiler is not installed");
  else
    {
      gboolean good = ran && WIFEXITED (status) && WEXITSTATUS (status) == 0;
      if (!good)
        printf ("\n%s: %s%s%s", script, out ? out : "", err ? err : "",
                error ? error->message : "");
      CU_ASSERT (good);
    }
  g_clear_error (&error);
  g_free (out);
  g_free (err);
  g_free (script);
}

HASS_TEST_SUITE (model,
                 { "spin finds no fault in the models, and finds those put in",
                   models })
