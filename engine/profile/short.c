/* SPDX-License-Identifier: MIT */
/* short.c: farms that are too short for the store's file, as this process
   remembers them.

   DESIGN. For farms that a program runs in a loop, each of some milliseconds or
   less.
   1. Rates. They are kept as in the file, by device.
   2. Ways. What a short run shows of a device may be far from what the device
      can do: a GPU that had one small bundle seems slow, gets nothing, and so
      never shows a better rate. The same holds for the file, which knows the
      farm's longer runs, the first one of a process above all. So strategies
      are told the remembered rates only while that makes the farm faster. There
      are two ways to run a farm: the strategy is told the remembered rates
      (TOLD) or those of the file, if any (UNTOLD). The first runs are
      untold, the next ones told, then the faster way is kept; the other way has
      a run from time to time. The very first run, in which caches and devices
      are cold, is not measured.
   3. Size. Time per work depends on the amount of work. If a run has more than
      twice or less than half of the work of the run before, step 2 begins anew.
   4. Number. The file and the samples are not written in every run, but a
      strategy that puts a trial off until earlier runs have paid for it needs
      the number of runs. So all runs of the process count, long ones too, while
      a device has no rate in the file.

   Thread safety: one thread at a time; see profile.c. */
#include "profile-private.h"

/* Most farms that are remembered; when one more comes, all are forgotten. A
   guess: fewer, and programs with many farms lose what was measured; more, and
   more memory is used. */
#define MOST_FARMS 128
/* Number of latest runs of each way (the strategy is told the remembered rates,
   or is not) whose median time per work is compared with the other way's. A
   guess: fewer, and one disturbed run decides; more, and a change is noticed
   late. */
#define TIMES 5
/* Measured runs of each way (the strategy is told the remembered rates, or is
   not) before the ways are compared. A guess: fewer, and noise decides; more,
   and the slower way is used for longer. */
#define FIRST_RUNS 3
/* A run with more than SAME_WORK times, or less than 1 / SAME_WORK, of the work
   of the previous run is not compared with earlier runs. A guess: larger, and
   times per work of unlike runs are compared; smaller, and measuring often
   begins anew. */
#define SAME_WORK 2
/* One of this many runs takes the slower way (the strategy is told the
   remembered rates, or is not), to notice if it has become the faster one. A
   guess: fewer, and more time is lost in slower runs; more, and a change is
   noticed late. */
#define TRY_OTHER 64

/* The two ways to run a farm: the strategy is told the remembered rates of the
   devices, or is not. */
enum
{
  UNTOLD,
  TOLD,
  WAYS
};

struct HassShortFarm
{
  guint n_devices;
  HassProfileEntry **entries; /* [n_devices] */
  HassProfileRate *rates;     /* [n_devices] of the entries */
  /* ns per work of the latest TIMES runs of each way, as a ring */
  double ns_per_work[WAYS][TIMES];
  guint64 n_runs[WAYS];
  double work;   /* work of the last run; 0: there was none */
  guint n_begun; /* runs of any length */
};

static void
free_farm (gpointer data)
{
  HassShortFarm *farm = data;
  for (guint d = 0; d < farm->n_devices; d++)
    hass_profile_entry_free (farm->entries[d]);
  g_free (farm->entries);
  g_free (farm->rates);
  g_free (farm);
}

GHashTable *
hass_short_farms_new (void)
{
  return g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_farm);
}

/* Returns the remembered farm for these devices and this strategy; made if it
   is not there, which may drop all others. */
HassShortFarm *
hass_short_farms_find (GHashTable *farms, const HassStrategyEnv *env,
                       const char *strategy)
{
  HassShortFarm *made = g_new0 (HassShortFarm, 1);
  GString *key = g_string_new (strategy);
  made->n_devices = env->n_devices;
  made->entries = g_new (HassProfileEntry *, env->n_devices);
  made->rates = g_new0 (HassProfileRate, env->n_devices);
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

/* Puts the remembered rates in place of @rates [n_devices], those of the file,
   if the farm's next run is to be one with rates told. That run is counted. */
void
hass_short_farm_tell (HassShortFarm *farm, HassProfileRate *rates)
{
  gboolean told = is_to_be_told (farm), all = TRUE;
  for (guint d = 0; d < farm->n_devices; d++)
    {
      guint runs = rates[d].runs;
      if (told && farm->rates[d].runs > 0)
        rates[d] = farm->rates[d];
      if (runs > 0 && rates[d].latency_ns <= 0)
        rates[d].latency_ns = farm->rates[d].latency_ns;
      rates[d].runs = MAX (rates[d].runs, runs);
      all = all && runs > 0;
    }
  for (guint d = 0; d < farm->n_devices && !all; d++)
    if (rates[d].runs > 0)
      rates[d].runs = MAX (rates[d].runs, farm->n_begun);
  farm->n_begun++;
}

/* Adds a run: what it has shown of each device, whether the strategy was told
   rates, its work, and the time it took, in ns. A device with enough runs gets
   at most one sample a second. */
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
        {
          hass_profile_entry_add (entry, &samples[d], now_s);
          farm->rates[d] = hass_profile_entry_rate (entry);
        }
    }
}
