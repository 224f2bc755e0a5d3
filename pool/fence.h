/* SPDX-License-Identifier: MIT */
/* fence.h: a fence that costs its frequent side nothing.

   DESIGN. A generator that publishes a load and then looks whether a core
   sleeps, and a core that says it sleeps and then looks for loads, need a
   full fence each, or both could miss the other. Publishing happens
   millions of times a second and going to sleep seldom, so the core's fence
   is membarrier(2), which fences every thread of the process, and the
   generator's is for the compiler alone. Where the kernel has no membarrier,
   hass_fence_is_light is FALSE and the generator's store must be
   sequentially consistent, as the core's count and the look of either are.
   The barrier finds each thread at a point of its program: a generator that
   has looked before it has published too, so the core sees the load; one that
   has not will see that the core has left (tests/model/weak.pml, 1).

   Thread safety: any thread. */
#ifndef HASS_FENCE_H
#define HASS_FENCE_H

#include <glib.h>

gboolean hass_fence_is_light (void);
void hass_fence_heavy (void);

#endif
