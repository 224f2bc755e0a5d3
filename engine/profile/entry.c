/* SPDX-License-Identifier: MIT */
/* entry.c: the samples of one device in one farm: their median, and when they
   have drifted.
   Thread safety: see profile-private.h. */
#include "profile-private.h"

#include <stdlib.h>
#include <string.h>

/* Number of latest samples that must all differ from the older ones for the
   rate of the device to count as changed (drifted). A guess: fewer, and a
   single disturbed run makes the store forget; more, and the store learns late
   that the device is different. */
#define RECENT 3
/* Least number of older samples that the latest ones are compared with. A
   guess: fewer, and one bad old sample looks like a drift. */
#define OLDER 2
/* Fraction of the older samples' median by which each of the latest samples
   must be above, or each below. A guess: smaller, and noise between runs counts
   as a drift; larger, and smaller changes only move the median. */
#define DRIFT 0.3

void
hass_profile_entry_free (HassProfileEntry *entry)
{
  g_free (entry->machine);
  g_free (entry->farm);
  g_free (entry->device);
  g_free (entry->model);
  g_free (entry);
}

static int
ascending (const void *a, const void *b)
{
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Writes those of the @n values that are not 0 (not measured) to @sorted, in
   ascending order. Returns: their number. */
static guint
sort (const double *values, guint n, double sorted[HASS_PROFILE_SAMPLES])
{
  guint known = 0;
  for (guint i = 0; i < n; i++)
    if (values[i] > 0)
      sorted[known++] = values[i];
  qsort (sorted, known, sizeof *sorted, ascending);
  return known;
}

/* Returns the median of those of the @n values that are not 0 (not measured);
   0: there are none. @n is at most HASS_PROFILE_SAMPLES. */
double
hass_profile_median (const double *values, guint n)
{
  double sorted[HASS_PROFILE_SAMPLES];
  n = sort (values, n, sorted);
  return n == 0 ? 0 : 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
}

static double
upper_quartile (const double *values, guint n)
{
  double sorted[HASS_PROFILE_SAMPLES];
  n = sort (values, n, sorted);
  return n == 0 ? 0 : sorted[3 * (n - 1) / 4];
}

HassProfileRate
hass_profile_entry_rate (const HassProfileEntry *entry)
{
  double floor = 0.5 * upper_quartile (entry->work_per_ns, entry->n_samples);
  double middle = hass_profile_median (entry->work_per_ns, entry->n_samples);
  return (HassProfileRate){
    .work_per_ns = MAX (middle, floor),
    .latency_ns = hass_profile_median (entry->latency_ns, entry->n_samples),
    .runs = entry->runs,
  };
}

/* Returns: TRUE if the latest RECENT samples are all faster, or all slower,
   than the older ones by the fraction DRIFT. */
static gboolean
has_drifted (const HassProfileEntry *entry)
{
  if (entry->n_samples < RECENT + OLDER)
    return FALSE;
  guint n_older = entry->n_samples - RECENT, n_faster = 0, n_slower = 0;
  double before = hass_profile_median (entry->work_per_ns, n_older);
  for (guint i = n_older; i < entry->n_samples; i++)
    {
      n_faster += entry->work_per_ns[i] > (1 + DRIFT) * before;
      n_slower += entry->work_per_ns[i] < (1 - DRIFT) * before;
    }
  return n_faster == RECENT || n_slower == RECENT;
}

static void
drop_oldest (HassProfileEntry *entry, guint n)
{
  entry->n_samples -= n;
  memmove (entry->work_per_ns, entry->work_per_ns + n,
           entry->n_samples * sizeof *entry->work_per_ns);
  memmove (entry->latency_ns, entry->latency_ns + n,
           entry->n_samples * sizeof *entry->latency_ns);
}

/* Adds a sample to the entry. Drops the oldest sample if there are too many,
   and all but the latest RECENT if the rate has drifted. */
void
hass_profile_entry_add (HassProfileEntry *entry,
                        const HassProfileSample *sample, gint64 now_s)
{
  if (entry->n_samples == HASS_PROFILE_SAMPLES)
    drop_oldest (entry, 1);
  entry->work_per_ns[entry->n_samples] = sample->work_per_ns;
  entry->latency_ns[entry->n_samples] = sample->latency_ns;
  entry->n_samples++;
  entry->runs++;
  entry->unit_work = sample->unit_work;
  entry->updated_s = now_s;
  if (has_drifted (entry))
    {
      drop_oldest (entry, entry->n_samples - RECENT);
      entry->drifted_s = now_s;
    }
}
