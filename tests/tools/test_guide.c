/* SPDX-License-Identifier: MIT */
/* test_guide.c: the code of doc/writing-a-strategy.md and
   doc/writing-a-device.md builds and works; guide.sh and device_guide.sh follow
   them.
   Thread safety: single-threaded. */
#include "hass_test.h"
#include "tests/program.h"

static void
strategy (void)
{
  program_follow (HASS_TOP "/tests/tools/guide.sh");
}

static void
device (void)
{
  program_follow (HASS_TOP "/tests/tools/device_guide.sh");
}

HASS_TEST_SUITE (
    guide, { "the strategy of the guide works", strategy },
    { "the device of the guide works without a file of the library", device })
