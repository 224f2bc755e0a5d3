/* SPDX-License-Identifier: MIT */
/* cpu_time.h: CPU time of the test program, for tests of what costs none.
   Thread safety: any thread. */
#ifndef HASS_TESTS_CPU_TIME_H
#define HASS_TESTS_CPU_TIME_H

/* Returns: seconds that all threads of the process have computed. */
double cpu_time_s (void);

/* Returns when the process is at rest, so that what is measured next is not
   that of others: OpenBLAS' threads look for work for tens of ms after the
   program has started, and so do oneTBB's after a farm. */
void cpu_time_await_rest (void);

#endif
