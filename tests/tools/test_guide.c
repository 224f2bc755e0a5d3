/* SPDX-License-Identifier: MIT */
/* test_guide.c: the code of doc/writing-a-strategy.md and
   doc/writing-a-device.md builds and works; guide.sh and device_guide.sh follow
   them.
   Thread safety: single-threaded. */
#include <glib.h>
#include <stdio.h>

#include "hass_test.h"

static void
follow (const char *script)
{
  const char *build = g_getenv ("TEST_BUILD");
  char *argv[]
      = { (char *)script, (char *)(build ? build : HASS_TOP "/build"), NULL };
  g_autofree char *out = NULL, *err = NULL;
  int status = -1;
  CU_ASSERT_TRUE (g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                                &out, &err, &status, NULL));
  CU_ASSERT_EQUAL (status, 0);
  if (status != 0)
    printf ("\n%s%s", out ? out : "", err ? err : "");
}

static void
strategy (void)
{
  follow (HASS_TOP "/tests/tools/guide.sh");
}

static void
device (void)
{
  follow (HASS_TOP "/tests/tools/device_guide.sh");
}

HASS_TEST_SUITE (
    guide, { "the strategy of the guide works", strategy },
    { "the device of the guide works without a file of the library", device })
