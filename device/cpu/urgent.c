/* SPDX-License-Identifier: MIT */
/* urgent.c: see urgent.h.
   Thread safety: any thread. */
#include "urgent.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000
#define NICE (-10)

/* The kernel's struct sched_attr, declared here since the C library of Debian
   12 does not declare it. */
typedef struct
{
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
} SchedAttr;

void
hass_thread_urgent (void)
{
  SchedAttr attr = { .size = sizeof attr, .nice = NICE, .runtime = SLICE_NS };
  int before = getpriority (PRIO_PROCESS, 0);
  if (before < NICE)
    attr.nice = before;
  if (syscall (SYS_sched_setattr, 0, &attr, 0) == 0)
    return;
  attr.nice = before;
  syscall (SYS_sched_setattr, 0, &attr, 0);
}
