/* SPDX-License-Identifier: MIT */
/* tbb_wrapper.h: the few calls of oneTBB that hass needs, as plain C.
   Thread safety: any thread. */
#ifndef HASS_TBB_WRAPPER_H
#define HASS_TBB_WRAPPER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C"
{
#endif

  typedef struct HassTbbArena HassTbbArena;

  HassTbbArena *hass_tbb_arena_new (unsigned n_cores, void (*enter) (void));
  void hass_tbb_arena_enqueue (HassTbbArena *arena, void (*run) (void *),
                               void *data);

#ifdef __cplusplus
}
#endif

#endif
