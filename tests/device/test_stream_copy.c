/* SPDX-License-Identifier: MIT */
/* test_stream_copy.c: streaming copies are copies.
   Thread safety: one thread. */
#include "hass_test.h"

#include <string.h>

#include "device/stream_copy.h"

static void
copies_any_size_and_place (void)
{
  enum
  {
    ROOM = 4096
  };
  guint8 from[ROOM], to[ROOM], wanted[ROOM];
  for (gsize i = 0; i < ROOM; i++)
    from[i] = (guint8)(i * 31 + i / 256);
  for (gsize at = 0; at < 70; at++)
    for (gsize n = 0; n < 2000; n += n < 700 ? 1 : 37)
      {
        memset (to, 0xEE, ROOM);
        memcpy (wanted, to, ROOM);
        memcpy (wanted + at, from + 3 + at % 5, n);
        hass_stream_copy (to + at, from + 3 + at % 5, n);
        if (memcmp (to, wanted, ROOM) != 0)
          {
            CU_FAIL ("a byte is wrong, or one beside was written");
            return;
          }
      }
  CU_PASS ("all sizes and places");
}

HASS_TEST_SUITE (stream_copy, { "any size to any place, and nothing beside",
                                copies_any_size_and_place })
