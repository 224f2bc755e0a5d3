/* SPDX-License-Identifier: MIT */
/* test_against_grep.c: string_search prints what GNU grep prints; the
   comparison itself is against_grep.sh.
   Thread safety: single-threaded. */
#include "hass_test.h"
#include "program.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define CANNOT 77

static void
compare (const char *mode)
{
  g_autofree char *search = program_path ("string_search");
  char *argv[] = { HASS_TOP "/tests/examples/against_grep.sh", (char *)mode,
                   search, NULL };
  g_autofree char *out = NULL;
  int status = -1;
  if (!g_spawn_sync (NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, NULL,
                     &status, NULL))
    {
      CU_FAIL ("against_grep.sh cannot be run");
      return;
    }
  if (WIFEXITED (status) && WEXITSTATUS (status) == CANNOT)
    {
      printf ("\n%s", out);
      hass_test_skip ("no GNU grep");
      return;
    }
  if (status != 0)
    printf ("\n%s", out);
  CU_ASSERT_EQUAL (status, 0);
}

static void
text (void)
{
  compare ("text");
}

static void
hostile (void)
{
  compare ("hostile");
}

static void
tree (void)
{
  compare ("tree");
}

static void
platform (void)
{
  compare ("platform");
}

HASS_TEST_SUITE (
    against_grep,
    { "string_search and GNU grep print the same on 60 MB of text", text },
    { "they print the same on hostile files", hostile },
    { "they print the same on trees with links, pipes and odd names", tree },
    { "string_search prints the same on modelled machines, whatever the "
      "strategy",
      platform })
