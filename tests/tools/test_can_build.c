/* SPDX-License-Identifier: MIT */
/* test_can_build.c: what make says where something is missing; can_build.sh has
   the cases.
   Thread safety: single-threaded. */
#include "hass_test.h"
#include "tests/program.h"

static void
sentences (void)
{
  program_follow (HASS_TOP "/tests/tools/can_build.sh");
}

HASS_TEST_SUITE (can_build,
                 { "make names a compiler, a package or a build directory that "
                   "is missing before it compiles anything",
                   sentences })
