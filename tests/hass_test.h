/* SPDX-License-Identifier: MIT */
/* Registers CUnit suites with the test program, tests/main.c.
   Thread safety: suites are registered before main() starts, and one test
   runs at a time.

   A test file says, at file scope,

     HASS_TEST_SUITE (matcher, { "finds the leftmost match", leftmost },
                      { "takes the longest of them", longest })

   where each name is the claim that the function proves.  Nothing else has
   to be edited for the suite to run.  */

#ifndef HASS_TEST_H
#define HASS_TEST_H

#include <stddef.h>

#include <CUnit/CUnit.h>

typedef struct
{
  const char *claim;
  void (*run) (void);
} HassTest;

typedef struct HassTestSuite HassTestSuite;
struct HassTestSuite
{
  const char *name;
  const HassTest *tests;
  size_t n_tests;
  HassTestSuite *next;
};

/* Called by the macro below; `suite` must live as long as the program.  */
void hass_test_register (HassTestSuite *suite);

/* Counts the running test as skipped and has `reason`, a string that outlives
   the test, printed in place of "passed".  The test should return
   at once, without having asserted anything.  */
void hass_test_skip (const char *reason);

#define HASS_TEST_SUITE(suite_name, ...)                                       \
  __attribute__ ((constructor)) static void hass_test_register_##suite_name (  \
      void)                                                                    \
  {                                                                            \
    static const HassTest tests[] = { __VA_ARGS__ };                           \
    static HassTestSuite suite                                                 \
        = { #suite_name, tests, sizeof tests / sizeof tests[0], NULL };        \
                                                                               \
    hass_test_register (&suite);                                               \
  }

#endif
