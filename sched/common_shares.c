/* SPDX-License-Identifier: MIT */
/* common_shares.c: equal units as whole numbers, in proportion or by Min-min.
   Thread safety: any thread. */
#include "common.h"

#include <math.h>

/* Puts each device's part of @units, in proportion to weights and rounded down,
   into @counts. Returns the number of units left. */
static guint64
whole_parts (guint64 units, const double *weights, guint n, guint64 *counts)
{
  double sum = 0;
  guint64 over = units;
  for (guint d = 0; d < n; d++)
    sum += weights[d];
  for (guint d = 0; d < n; d++)
    {
      counts[d] = sum > 0 ? (guint64)(units * (weights[d] / sum)) : 0;
      counts[d] = MIN (counts[d], over);
      over -= counts[d];
    }
  return sum > 0 ? over : 0;
}

/* Divides equal units in proportion to weights, as whole numbers in @counts
   (method of largest remainders): parts are rounded down, and the units left go
   to the devices whose parts lost most by that. */
void
hass_share_largest_remainder (guint64 units, const double *weights, guint n,
                              guint64 *counts)
{
  double sum = 0;
  for (guint d = 0; d < n; d++)
    sum += weights[d];
  for (guint64 over = whole_parts (units, weights, n, counts); over > 0; over--)
    {
      guint best = 0;
      double most = -INFINITY;
      for (guint d = 0; d < n; d++)
        {
          double off = units * (weights[d] / sum) - counts[d];
          if (weights[d] > 0 && off > most)
            {
              best = d;
              most = off;
            }
        }
      counts[best]++;
    }
}

/* Sets @counts to the number of equal units that Min-min gives each device.
   Unit by unit Min-min would choose the device with the least (count + 1) /
   rate; no device gets less than its part by rate, rounded down, so only the
   units left need that choice. */
void
hass_share_min_min (guint64 units, const double *rates, guint n,
                    guint64 *counts)
{
  for (guint64 over = whole_parts (units, rates, n, counts); over > 0; over--)
    {
      guint best = 0;
      double least = INFINITY;
      for (guint d = 0; d < n; d++)
        if (rates[d] > 0 && (counts[d] + 1) / rates[d] < least)
          {
            best = d;
            least = (counts[d] + 1) / rates[d];
          }
      counts[best]++;
    }
}
