/* SPDX-License-Identifier: MIT */
/* test_layers.c: what tools/check-layers.sh accepts and refuses; layers.sh has
   the cases.
   Thread safety: single-threaded. */
#include "hass_test.h"
#include "tests/program.h"

static void
refused (void)
{
  program_follow (HASS_TOP "/tests/tools/layers.sh");
}

HASS_TEST_SUITE (layers, { "an arrow, a circle or a size that is added is "
                           "refused by name",
                           refused })
