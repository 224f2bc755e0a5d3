/* SPDX-License-Identifier: MIT */
/* stream_copy.c: see stream_copy.h.
   Thread safety: see stream_copy.h. */
#include "stream_copy.h"

#include <string.h>

#define LINE 64
/* Shorter copies, in bytes, use memcpy: most of their cache lines are shared
   with adjacent data, which stores past the caches would write twice. A
   guess. */
#define LEAST_BYTES 512

#ifdef __SSE2__

#  include <emmintrin.h>

void
hass_stream_copy (guint8 *to, const guint8 *from, gsize bytes)
{
  gsize head = -(gsize)to & (LINE - 1);
  if (bytes < LEAST_BYTES)
    {
      memcpy (to, from, bytes);
      return;
    }
  memcpy (to, from, head);
  for (to += head, from += head, bytes -= head; bytes >= LINE;
       to += LINE, from += LINE, bytes -= LINE)
    for (gsize k = 0; k < LINE; k += sizeof (__m128i))
      _mm_stream_si128 (
          (__m128i *)(gpointer)(to + k),
          _mm_loadu_si128 ((const __m128i *)(gconstpointer)(from + k)));
  memcpy (to, from, bytes);
  _mm_sfence ();
}

#else

void
hass_stream_copy (guint8 *to, const guint8 *from, gsize bytes)
{
  memcpy (to, from, bytes);
}

#endif
