/* SPDX-License-Identifier: MIT */
/* pause.h: the instruction between two checks of a spinning core.
   Thread safety: no state. */
#ifndef HASS_PAUSE_H
#define HASS_PAUSE_H

/* Pauses for some tens of ns, in which the core leaves its pipeline to its
   sibling thread and memory bandwidth to other cores. On aarch64 `yield` does
   nothing on most cores, but an instruction barrier empties the pipeline.
   Without a pause a core that looks for work would take the generator's cache
   line in every iteration. */
static inline void
hass_pause (void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause ();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

#endif
