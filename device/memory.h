/* SPDX-License-Identifier: MIT */
/* hass/memory.h: host memory that GPUs copy directly from and to.

   Pinned memory is copied at the full rate of the link. Inputs in other memory
   are gathered into pinned staging memory first, or their pages are pinned for
   the copy. On a machine without a GPU these functions provide ordinary memory,
   so a program needs no second code path.

   Thread safety: any thread. */
#ifndef HASS_MEMORY_H
#define HASS_MEMORY_H

#include <glib.h>
#include <hass/version.h>

HASS_BEGIN_DECLS

/**
 * hass_memory_alloc:
 * @bytes: size; 0 counts as 1.
 *
 * Allocates host memory, aligned to a page and not cleared; pinned where there
 * is a GPU and the driver can pin it. The first call starts the CUDA driver,
 * where there is one, and may block for it.
 *
 * Returns: (transfer full): the memory, to be freed with hass_memory_free(); or
 * NULL with HASS_ERROR_NO_MEMORY.
 */
gpointer hass_memory_alloc (gsize bytes, GError **error);

/**
 * hass_memory_free:
 * @memory: from hass_memory_alloc(), or NULL.
 *
 * Frees memory that no farm uses any more. Does not block: while other farms
 * have kernels on GPUs, pinned memory is kept for the next
 * hass_memory_alloc().
 */
void hass_memory_free (gpointer memory);

/**
 * hass_memory_register:
 * @memory: [@bytes], owned by the caller.
 *
 * Pins memory until hass_memory_unregister(). Takes about 30 ms a GiB, which
 * pays for memory that farms read repeatedly. Has no effect where there is no
 * GPU.
 *
 * Returns: TRUE; or FALSE with HASS_ERROR_INVALID if a part of the memory is
 * already registered, HASS_ERROR_NO_MEMORY or HASS_ERROR_DEVICE if the driver
 * refuses.
 */
gboolean hass_memory_register (gpointer memory, gsize bytes, GError **error);

/**
 * hass_memory_unregister:
 * @memory: the address that was registered; NULL and other addresses are
 *   ignored.
 *
 * Unpins memory. Call it before the memory is freed.
 */
void hass_memory_unregister (gpointer memory);

/* Names of the four functions above in earlier versions; they stay exported
   (doc/compatibility.md). New code uses the names above. */
gpointer hass_alloc (gsize bytes, GError **error);
void hass_free (gpointer memory);
gboolean hass_register (gpointer memory, gsize bytes, GError **error);
void hass_unregister (gpointer memory);

HASS_END_DECLS

#endif
