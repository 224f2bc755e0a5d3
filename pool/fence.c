/* SPDX-License-Identifier: MIT */
/* fence.c: membarrier(2), if the kernel has it.
   Thread safety: any thread. */
#include "fence.h"

#if defined __has_include && __has_include(<sys/single_threaded.h>)
#  include <sys/single_threaded.h>
#  define HAS_ONE_THREAD __libc_single_threaded
#else
#  define HAS_ONE_THREAD FALSE
#endif

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static gboolean
can (void)
{
#ifdef __NR_membarrier
  return syscall (__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
                  0)
         == 0;
#else
  return FALSE;
#endif
}

/* Returns: whether the side that runs often (the generator) may use a mere
   compiler fence, because the kernel lets the other side issue a fence on all
   cores (membarrier). The kernel is asked once. */
gboolean
hass_fence_is_light (void)
{
  static gsize answer;
  if (g_once_init_enter (&answer))
    g_once_init_leave (&answer, can () ? 2 : 1);
  return answer == 2;
}

/* Asks the kernel when the library is loaded, if the process has one thread:
   the answer then takes 1 us. In a process of several threads the kernel waits
   until each core has passed through it, which takes 10 ms, so there only a
   process that runs a farm asks. */
__attribute__ ((constructor)) static void
ask_early (void)
{
  if (HAS_ONE_THREAD)
    hass_fence_is_light ();
}

/* The fence of the side that runs rarely (a core about to sleep): a memory
   fence on all cores of the process, if hass_fence_is_light(); else nothing,
   as both sides then use ordinary fences. */
void
hass_fence_heavy (void)
{
#ifdef __NR_membarrier
  if (hass_fence_is_light ())
    syscall (__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}
