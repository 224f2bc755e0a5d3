/* SPDX-License-Identifier: MIT */
/* test_guide.c: who follows doc/writing-a-strategy.md gets a strategy that
   works; guide.sh does.
   Thread safety: single-threaded. */
#include <glib.h>
#include <stdio.h>

#include "hass_test.h"

static void
followed (void)
{
  const char *build = g_getenv ("TEST_BUILD");
  char *argv[] = { HASS_TOP "/tests/tools/guide.sh",
                   (char *)(build ? build : HASS_TOP "/build"), NULL };
  g_autofree char *out = NULL, *err = NULL;
  int status = -1;
  CU_ASSERT_TRUE (g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                                &out, &err, &status, NULL));
  CU_ASSERT_EQUAL (status, 0);
  if (status != 0)
    printf ("\n%s%s", out ? out : "", err ? err : "");
}

HASS_TEST_SUITE (guide, { "the strategy of the guide works", followed })
