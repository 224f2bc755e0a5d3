/* SPDX-License-Identifier: MIT */
/* unit_range.c: takes from and returns to the two-ended range.
   Thread safety: see unit_range.h. */
#include "unit_range.h"

/* Takes at most @k positions from the front of the range; n is 0 if the range
   is empty. Lock-free. */
HassExtent
hass_unit_range_take_front (HassUnitRange *range, guint32 k)
{
  /* Relaxed: the compare-and-swap below confirms what was read. */
  guint64 word = atomic_load_explicit (&range->word, memory_order_relaxed);
  for (;;)
    {
      guint32 head = (guint32)word, tail = (guint32)(word >> 32);
      guint32 n = MIN (k, tail - head);
      if (n == 0)
        return (HassExtent){ head, 0 };
      /* Acquire pairs with the release in set and give_back: the taker sees
         what was written about the units, also after other takers, whose
         read-modify-writes continue the release sequence. Release pairs with
         the acquire in seize: the thread that seizes may overwrite the order
         that this thread has read. */
      if (atomic_compare_exchange_weak_explicit (
              &range->word, &word, hass_unit_range_pack (head + n, tail),
              memory_order_acq_rel, memory_order_relaxed))
        return (HassExtent){ head, n };
    }
}

/* Takes at most @k positions from the back of the range; n is 0 if the range
   is empty. Lock-free. */
HassExtent
hass_unit_range_take_back (HassUnitRange *range, guint32 k)
{
  guint64 word = atomic_load_explicit (&range->word, memory_order_relaxed);
  for (;;)
    {
      guint32 head = (guint32)word, tail = (guint32)(word >> 32);
      guint32 n = MIN (k, tail - head);
      if (n == 0)
        return (HassExtent){ tail, 0 };
      /* Acquire and release as in hass_unit_range_take_front(). */
      if (atomic_compare_exchange_weak_explicit (
              &range->word, &word, hass_unit_range_pack (head, tail - n),
              memory_order_acq_rel, memory_order_relaxed))
        return (HassExtent){ tail - n, n };
    }
}

/* Takes all positions of the range and closes it: positions cannot be given
   back before the next hass_unit_range_set(). */
HassExtent
hass_unit_range_seize (HassUnitRange *range)
{
  /* Acquire pairs with the release in hass_unit_range_set(), give_back and the
     takes. No release is needed: positions of a seized range cannot be taken
     before the next set. */
  guint64 word = atomic_exchange_explicit (&range->word, HASS_UNIT_RANGE_SEIZED,
                                           memory_order_acquire);
  guint32 head = (guint32)word, tail = (guint32)(word >> 32);
  return (HassExtent){ head, tail - head };
}

/* Puts positions that were taken back into the range, if they touch one of its
   ends or the range is empty. Returns: FALSE if they touch neither end, or the
   range is seized; the caller keeps the positions then. */
gboolean
hass_unit_range_give_back (HassUnitRange *range, HassExtent extent)
{
  guint64 word = atomic_load_explicit (&range->word, memory_order_relaxed);
  for (;;)
    {
      guint32 head = (guint32)word, tail = (guint32)(word >> 32);
      guint64 wider;
      if (word == HASS_UNIT_RANGE_SEIZED)
        return FALSE;
      if (head == tail)
        wider = hass_unit_range_pack (extent.first, extent.first + extent.n);
      else if (extent.first == tail)
        wider = hass_unit_range_pack (head, tail + extent.n);
      else if (extent.first + extent.n == head)
        wider = hass_unit_range_pack (extent.first, tail);
      else
        return FALSE;
      /* Release publishes what this thread did with the units to the thread
         that takes them next. Acquire: that thread may also get units of
         others from this word, and must see what was written about these. */
      if (atomic_compare_exchange_weak_explicit (&range->word, &word, wider,
                                                 memory_order_acq_rel,
                                                 memory_order_relaxed))
        return TRUE;
    }
}
