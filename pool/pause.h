/* SPDX-License-Identifier: MIT */
/* pause.h: what a spinning core does between two looks.
   Thread safety: no state. */
#ifndef HASS_PAUSE_H
#define HASS_PAUSE_H

/* Some tens of ns in which the core leaves its pipeline to its sibling and
   the memory to others. On aarch64 `yield` does nothing on most cores; an
   instruction barrier empties the pipeline. Without either, loops of pauses
   would be empty and a core that looks for work would take its line from the
   generator at every turn. */
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
