/* SPDX-License-Identifier: MIT */
/* stream_copy.h: copies bytes that this core will not read again.

   Staging memory is written by one core after another and then read by a GPU.
   With ordinary stores each cache line would first be fetched from the core
   that wrote it last. Streaming stores, used if the machine has them, write
   past the caches.

   Thread safety: any thread; a fence is inside. */
#ifndef HASS_STREAM_COPY_H
#define HASS_STREAM_COPY_H

#include <glib.h>

void hass_stream_copy (guint8 *to, const guint8 *from, gsize bytes);

#endif
