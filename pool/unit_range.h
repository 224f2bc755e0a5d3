/* SPDX-License-Identifier: MIT */
/* unit_range.h: the two-ended range of unit positions, the buffer of every
   farm.

   DESIGN. [head, tail) is one 64-bit word, so each take is one
   compare-and-swap, and the word is the whole state: a word that returns to an
   old value describes the same waiting units again, hence there is no ABA
   hazard. CPU cores take from the front, GPUs take or steal k units from the
   back (Zhang 2011, 3.4.2 multi-stealing; 3.5.2 LTF and STF when the positions
   are sorted by size). A failed bundle that touches an end of the range is
   given back by one compare-and-swap; the round keeps any other. A thread that
   moves the waiting units seizes them: the range is then empty and refuses
   returns, which set would overwrite.

   Thread safety: take and give_back from any thread; seize and set by one
   thread at a time; set only after seize, or while no thread gives back. */
#ifndef HASS_UNIT_RANGE_H
#define HASS_UNIT_RANGE_H

#include <glib.h>
#include <stdatomic.h>

#define HASS_CACHE_LINE 64

/* An extent: the adjacent positions [first, first + n) of a round. */
typedef struct
{
  guint32 first;
  guint32 n;
} HassExtent;

/* Returns: what is left of @e behind its first @n positions. */
static inline HassExtent
hass_extent_rest (HassExtent e, guint32 n)
{
  return (HassExtent){ e.first + n, e.n - n };
}

/* The waiting positions [head, tail), in one word so that both ends change
   atomically: head in the low half, tail in the high half. */
typedef struct
{
  _Alignas(HASS_CACHE_LINE) _Atomic guint64 word;
} HassUnitRange;

static inline guint64
hass_unit_range_pack (guint32 head, guint32 tail)
{
  return (guint64)tail << 32 | head;
}

/* Sets the range to positions [first, first + n) and publishes them. The
   release pairs with the acquire of every take: the thread that takes a unit
   sees everything written about it before. Without the release a core could
   read the load array of an older round. */
static inline void
hass_unit_range_set (HassUnitRange *range, guint32 first, guint32 n)
{
  atomic_store_explicit (&range->word, hass_unit_range_pack (first, first + n),
                         memory_order_release);
}

/* Returns: the positions that wait in the range now; a moment later they may
   be fewer. The acquire pairs with hass_unit_range_set() and give_back, so
   that the caller may read the sizes of the units. */
static inline HassExtent
hass_unit_range_peek (const HassUnitRange *range)
{
  guint64 word = atomic_load_explicit (&((HassUnitRange *)range)->word,
                                       memory_order_acquire);
  guint32 head = (guint32)word, tail = (guint32)(word >> 32);
  return (HassExtent){ head, tail - head };
}

/* The value of `word` while the range is seized: empty, at a position that no
   unit has. */
#define HASS_UNIT_RANGE_SEIZED G_MAXUINT64

HassExtent hass_unit_range_seize (HassUnitRange *range);
HassExtent hass_unit_range_take_front (HassUnitRange *range, guint32 k);
HassExtent hass_unit_range_take_back (HassUnitRange *range, guint32 k);
gboolean hass_unit_range_give_back (HassUnitRange *range, HassExtent extent);

#endif
