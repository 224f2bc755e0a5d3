/* SPDX-License-Identifier: MIT */
/* test_package.c: what an installation and a tarball hold, and that others
   can build with it; the scripts beside this file look.
   Thread safety: single-threaded. */
#include <glib.h>
#include <hass/hass.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "hass_test.h"

#define CANNOT 77

static void
script (const char *name)
{
  const char *build = g_getenv ("TEST_BUILD");
  g_autofree char *path
      = g_build_filename (HASS_TOP, "tests", "consumer", name, NULL);
  char *argv[] = { path, (char *)(build ? build : HASS_TOP "/build"), NULL };
  g_autofree char *out = NULL, *err = NULL;
  int status = -1;
  CU_ASSERT_TRUE (g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                                &out, &err, &status, NULL));
  if (WIFEXITED (status) && WEXITSTATUS (status) == CANNOT)
    {
      printf ("\n%s", out);
      hass_test_skip ("cannot be tried here, see above");
      return;
    }
  CU_ASSERT_EQUAL (status, 0);
  if (status != 0)
    printf ("\n%s%s", out ? out : "", err ? err : "");
}

static void
exports (void)
{
  script ("exports.sh");
}

static void
installed (void)
{
  script ("installed.sh");
}

static void
tarball (void)
{
  script ("tarball.sh");
}

static void
version (void)
{
  CU_ASSERT_STRING_EQUAL (hass_version (), "0.1.0");
  CU_ASSERT_TRUE (HASS_CHECK_VERSION (0, 1, 0));
  CU_ASSERT_FALSE (HASS_CHECK_VERSION (0, 1, 1));
  CU_ASSERT_FALSE (HASS_CHECK_VERSION (0, 2, 0));
  CU_ASSERT_FALSE (HASS_CHECK_VERSION (1, 0, 0));
}

HASS_TEST_SUITE (package, { "the version is the headers'", version },
                 { "the shared library exports what the headers declare",
                   exports },
                 { "projects build against an installation that may be moved, "
                   "and uninstalling takes all of it",
                   installed },
                 { "the tarball holds all that is built", tarball })
