/* SPDX-License-Identifier: MIT */
/* cpu_time.c: see cpu_time.h.
   Thread safety: see cpu_time.h. */
#include "tests/cpu_time.h"

#include <time.h>
#include <unistd.h>

/* At rest is a process whose threads compute for less than a twentieth of such
   a pause. */
#define PAUSE_US 20000

double
cpu_time_s (void)
{
  struct timespec t;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

void
cpu_time_await_rest (void)
{
  double used_s;
  do
    {
      used_s = cpu_time_s ();
      usleep (PAUSE_US);
      used_s = cpu_time_s () - used_s;
    }
  while (used_s > 1e-6 * PAUSE_US / 20);
}
