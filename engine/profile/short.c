/* SPDX-License-Identifier: MIT */
/* profile_short.c: farms that are too short for the store's file, as this
   process remembers them.

   DESIGN. For farms that a program runs in a loop, each of some milliseconds or
   less.
   1. Rates are kept as in the file, by device; what the file knows of a device
      goes first.
   2. What a short run shows of a device may be far from what it can do: a GPU
      that had one small bundle seems slow, gets nothing, and shows nothing
      more. So strategies are told only while farms are faster for it. The first
      runs are without, the next with what is known, and then the faster of the
      two ways is kept; the other one has a run from time to time. The very
      first run, in which everything is cold, is no measure.
   3. Time per work depends on how much there is. A run of more than twice or
      less than half of the work of the one before begins anew with 2.

   Thread safety: one at a time; see profile.c. */
#include "profile-private.h"

#define MOST_FARMS 128 /* more and all are forgotten */
#define TIMES 5        /* the last ones, of each way */
#define FIRST_RUNS 3   /* each way, that are measures */
#define SAME_WORK 2    /* times */
#define TRY_OTHER 64   /* runs, one of which is the other way */

enum
{
  UNTOLD,
  TOLD,
  WAYS
};

struct HassShortFarm
{
  guint n_devices;
  HassProfileEntry **entries;      /* [n_devices] */
  double ns_per_work[WAYS][TIMES]; /* of the last runs, in no order */
  guint64 n_runs[WAYS];
  double work; /* of the last run; 0: there was none */
};

static void
free_farm (gpointer data)
{
  HassShortFarm *farm = data;
  for (guint d = 0; d < farm->n_devices; d++)
    hass_profile_entry_free (farm->entries[d]);
  g_free (farm->entries);
  g_free (farm);
}

GHashTable *
hass_short_farms_new (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_farm);
}

/* The farm on these devices, under that strategy. It may take the place of all
   others. */
HassShortFarm *
hass_short_farms_find (GHashTable *farms, const HassStrategyEnv *env,
                       const char *strategy)
{
  HassShortFarm *made = g_new0 (HassShortFarm, 1);
  GString *key = g_string_new (strategy);
  made->n_devices = env->n_devices;
  made->entries = g_new (HassProfileEntry *, env->n_devices);
  for (guint d = 0; d < env->n_devices; d++)
    {
      made->entries[d] = hass_profile_entry_new (env, d);
      g_autofree char *of_device = hass_profile_line_key (made->entries[d]);
      g_string_append (key, of_device);
    }
  HassShortFarm *found = g_hash_table_lookup (farms, key->str);
  if (found)
    {
      free_farm (made);
      g_string_free (key, TRUE);
      return found;
    }
  if (g_hash_table_size (farms) >= MOST_FARMS)
    g_hash_table_remove_all (farms);
  g_hash_table_insert (farms, g_string_free (key, FALSE), made);
  return made;
}

static double
usual_ns (const HassShortFarm *farm, guint way)
{
  return hass_profile_median (farm->ns_per_work[way],
                              (guint)MIN (farm->n_runs[way], TIMES));
}

static gboolean
is_to_be_told (const HassShortFarm *farm)
{
  guint64 n = farm->n_runs[UNTOLD] + farm->n_runs[TOLD];
  if (farm->n_runs[UNTOLD] < FIRST_RUNS || farm->n_runs[TOLD] < FIRST_RUNS)
    return farm->n_runs[UNTOLD] >= FIRST_RUNS;
  gboolean faster = usual_ns (farm, TOLD) < usual_ns (farm, UNTOLD);
  return n % TRY_OTHER == 0 ? !faster : faster;
}

/* What a strategy is to know of the devices, [n_devices], beside what is known
   already. */
void
hass_short_farm_tell (const HassShortFarm *farm, HassProfileRate *rates)
{
  gboolean told = is_to_be_told (farm);
  for (guint d = 0; d < farm->n_devices && told; d++)
    if (rates[d].runs == 0)
      rates[d] = hass_profile_entry_rate (farm->entries[d]);
}

/* What a run showed, and how long it took. Of devices that are well known
   something is added once a second. */
void
hass_short_farm_add (HassShortFarm *farm, const HassProfileSample *samples,
                     gboolean told, double work, double run_ns)
{
  gint64 now_s = g_get_real_time () / G_USEC_PER_SEC;
  guint way = told ? TOLD : UNTOLD;
  if (work > SAME_WORK * farm->work || work * SAME_WORK < farm->work)
    farm->n_runs[UNTOLD] = farm->n_runs[TOLD] = 0;
  else
    farm->ns_per_work[way][farm->n_runs[way]++ % TIMES] = run_ns / work;
  farm->work = work;
  for (guint d = 0; d < farm->n_devices; d++)
    {
      HassProfileEntry *entry = farm->entries[d];
      if (samples[d].work_per_ns > 0
          && (entry->runs < HASS_PROFILE_FEW_RUNS || entry->updated_s != now_s))
        hass_profile_entry_add (entry, &samples[d], now_s);
    }
}
