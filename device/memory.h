/* SPDX-License-Identifier: MIT */
/* hass/memory.h: host memory that GPUs reach without a copy in between.

   Pinned memory goes over a link at its full rate; other memory is gathered
   into pinned staging first, or its pages are pinned for the copy. Without a
   GPU all of this is ordinary memory, so a program needs no second way.

   Thread safety: any thread. */
#ifndef HASS_MEMORY_H
#define HASS_MEMORY_H

#include <glib.h>
#include <hass/version.h>

HASS_BEGIN_DECLS

/**
 * hass_alloc:
 *
 * Returns: @bytes of host memory, aligned to a page, not cleared; pinned
 * where there is a GPU. NULL with HASS_ERROR_NO_MEMORY. Free with
 * hass_free(). The first call starts the CUDA driver, where there is one.
 */
gpointer hass_alloc (gsize bytes, GError **error);

/* Frees what hass_alloc() returned; NULL is allowed. No farm may be using
   it. Waits for nothing: while other farms have kernels on GPUs, pinned memory
   is kept for the next hass_alloc(). */
void hass_free (gpointer memory);

/**
 * hass_register:
 * @memory: [@bytes] that the caller owns.
 *
 * Pins memory until hass_unregister(); costs about 30 ms a GiB, and is worth
 * it for what farms read again and again. Does nothing where there is no
 * GPU. HASS_ERROR_INVALID when a part of it is registered already,
 * HASS_ERROR_NO_MEMORY or HASS_ERROR_DEVICE when the driver refuses.
 */
gboolean hass_register (gpointer memory, gsize bytes, GError **error);

/* Unpins what was registered at this address; other addresses and NULL are
   ignored. To be called before the memory is freed. */
void hass_unregister (gpointer memory);

HASS_END_DECLS

#endif
