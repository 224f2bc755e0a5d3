/* SPDX-License-Identifier: MIT */
/* unit_range.c: takes from and returns to the two-ended range.
   Thread safety: see unit_range.h. */
#include "unit_range.h"

/* Takes at most k positions from the front; n is 0 when none waits. */
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

/* Takes at most k positions from the back; n is 0 when none waits. */
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
      /* As in take_front. */
      if (atomic_compare_exchange_weak_explicit (
              &range->word, &word, hass_unit_range_pack (head, tail - n),
              memory_order_acq_rel, memory_order_relaxed))
        return (HassExtent){ tail - n, n };
    }
}

/* Takes all positions; the range accepts none until the next set. */
HassExtent
hass_unit_range_seize (HassUnitRange *range)
{
  /* Acquire pairs with the release in set, give_back and the takes. No
     release: a seized range hands nothing out before the next set. */
  guint64 word = atomic_exchange_explicit (&range->word, HASS_UNIT_RANGE_SEIZED,
                                           memory_order_acquire);
  guint32 head = (guint32)word, tail = (guint32)(word >> 32);
  return (HassExtent){ head, tail - head };
}

/* Puts positions that were taken back where they touch an end of the range.
   An empty range takes any extent. FALSE: it touches neither end, or the
   range is seized; the caller keeps it. */
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
      /* Release hands what this thread did with the units to the next taker;
         acquire keeps what was written about the others, which that taker may
         get from this word. */
      if (atomic_compare_exchange_weak_explicit (&range->word, &word, wider,
                                                 memory_order_acq_rel,
                                                 memory_order_relaxed))
        return TRUE;
    }
}
