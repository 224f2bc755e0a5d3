/* SPDX-License-Identifier: MIT */
/* profile.c: the profile store of this process.

   DESIGN. The file is read when a farm with a name first asks, and again when
   the file has changed; only the lines that are asked for are parsed. To add
   samples the file is locked, read again, since another process may have
   written meanwhile, and replaced. A file that cannot be read or written costs
   one warning and is no error: the store then is empty, and is not written
   unless the file is a profile store.

   This process remembers farms that are too short for the file, because such
   farms often run in loops; see short.c.

   Thread safety: any thread; one lock, under which the file is read and
   written. */
#include "profile-private.h"

#include "hass/error.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Least time, in us, between two looks whether the file has changed. A guess:
   shorter, and farms in a loop ask the file system often; longer, and samples
   of other processes are seen late. */
#define LOOK_US 10000

static struct
{
  pthread_mutex_t lock; /* for the fields below */
  char *path;           /* path of the file that was read */
  struct stat seen;     /* the file's state then; zero: there was none */
  GPtrArray *lines;     /* the file's entries; NULL: it cannot be read */
  gboolean ours;
  gint64 looked_us; /* when the file was last looked at */
  char *blamed;     /* the path that the last warning was about */

  /* The last farm that the store was asked about, and the rates, since programs
     run the same farm in loops. */
  HassStrategyEnv asked;
  char *asked_strategy;
  HassProfileRate *answer; /* [asked.n_devices]; NULL: nothing was asked */

  GHashTable *short_farms;  /* NULL: none was remembered yet */
  HassShortFarm *short_one; /* of the last farm asked about, or NULL */

  char *parts_of; /* the farm whose parts were last asked about, or NULL */
  gboolean has_parts;
} store = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* -- The file ----------------------------------------------------------- */

#define REPLACED " (it will be replaced)"

/* Warns on stderr that the store's file has a problem, unless the last warning
   was about the same path. Takes over @error. */
static void
blame_locked (const char *path, const char *and_now, GError *error)
{
  if (g_strcmp0 (store.blamed, path) != 0)
    g_printerr ("hass: profiles are ignored: %s%s; HASS_PROFILE names another "
                "file, or says off\n",
                error->message, and_now);
  g_free (store.blamed);
  store.blamed = g_strdup (path);
  g_error_free (error);
}

/* Drops the remembered answer, because what is in the store has changed. */
static void
forget_answer_locked (void)
{
  HassDeviceTraits *devices = (HassDeviceTraits *)store.asked.devices;
  for (guint d = 0; d < store.asked.n_devices; d++)
    {
      g_free ((char *)devices[d].name);
      g_free ((char *)devices[d].model);
    }
  g_free (devices);
  g_free ((char *)store.asked.farm_name);
  g_clear_pointer (&store.answer, g_free);
  g_clear_pointer (&store.asked_strategy, g_free);
  g_clear_pointer (&store.parts_of, g_free);
  store.short_one = NULL;
  store.asked = (HassStrategyEnv){ 0 };
}

static void
read_locked (const char *path)
{
  GError *error = NULL;
  forget_answer_locked ();
  g_clear_pointer (&store.lines, g_ptr_array_unref);
  store.lines = hass_profile_file_read (path, &store.ours, &error);
  if (error)
    blame_locked (path, store.ours ? REPLACED : "", error);
}

static struct stat
look_at (const char *path)
{
  struct stat now;
  return stat (path, &now) == 0 ? now : (struct stat){ 0 };
}

static gboolean
same_file (const struct stat *a, const struct stat *b)
{
  return a->st_ino == b->st_ino && a->st_size == b->st_size
         && a->st_mtim.tv_sec == b->st_mtim.tv_sec
         && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads the file unless it is unchanged since it was last read, by inode, size
   and modification time. That time has the resolution of the kernel's tick: a
   second change within one tick that keeps size and inode is noticed only after
   the next change. */
static void
refresh_locked (const char *path)
{
  gboolean same_path = g_strcmp0 (store.path, path) == 0;
  gint64 now_us = g_get_monotonic_time ();
  if (same_path && now_us - store.looked_us < LOOK_US)
    return;
  struct stat now = look_at (path);
  store.looked_us = now_us;
  if (same_path && same_file (&now, &store.seen))
    return;
  if (!same_path)
    g_clear_pointer (&store.short_farms, g_hash_table_unref);
  g_free (store.path);
  store.path = g_strdup (path);
  store.seen = now;
  read_locked (path);
}

static HassProfileEntry *
parse_locked (const char *line)
{
  HassProfileEntry *entry = hass_profile_line_parse (line);
  if (!entry)
    blame_locked (store.path, REPLACED,
                  g_error_new (HASS_ERROR, HASS_ERROR_IO, "%s has a bad line",
                               store.path));
  return entry;
}

/* Returns the store's entry for the device, or an entry without samples. */
static HassProfileEntry *
look_up_locked (const HassStrategyEnv *env, guint device)
{
  HassProfileEntry *none = hass_profile_entry_new (env, device), *found = NULL;
  g_autofree char *key = hass_profile_line_key (none);
  for (guint i = 0; store.lines && !found && i < store.lines->len; i++)
    if (g_str_has_prefix (store.lines->pdata[i], key))
      found = parse_locked (store.lines->pdata[i]);
  if (!found)
    return none;
  hass_profile_entry_free (none);
  return found;
}

/* -- What the engine asks ----------------------------------------------- */

static gboolean
asked_before_locked (const HassStrategyEnv *env, const char *strategy)
{
  const HassStrategyEnv *a = &store.asked;
  if (!store.answer || a->n_devices != env->n_devices || a->farm != env->farm
      || a->cost != env->cost || strcmp (a->farm_name, env->farm_name) != 0
      || strcmp (store.asked_strategy, strategy) != 0)
    return FALSE;
  for (guint d = 0; d < a->n_devices; d++)
    {
      const HassDeviceTraits *x = &a->devices[d], *y = &env->devices[d];
      if (x->cores != y->cores || x->width != y->width
          || strcmp (x->name, y->name) != 0
          || g_strcmp0 (x->model, y->model) != 0)
        return FALSE;
    }
  return TRUE;
}

static void
answer_locked (const HassStrategyEnv *env, const char *strategy)
{
  gsize n = env->n_devices;
  forget_answer_locked ();
  HassDeviceTraits *devices = g_memdup2 (env->devices, n * sizeof *devices);
  HassProfileRate *rates = g_new0 (HassProfileRate, n);
  for (guint d = 0; d < n; d++)
    {
      devices[d].name = g_strdup (devices[d].name);
      devices[d].model = g_strdup (devices[d].model);
      if (store.lines && store.lines->len > 0)
        {
          HassProfileEntry *entry = look_up_locked (env, d);
          rates[d] = hass_profile_entry_rate (entry);
          hass_profile_entry_free (entry);
        }
    }
  store.asked = *env;
  store.asked.farm_name = g_strdup (env->farm_name);
  store.asked_strategy = g_strdup (strategy);
  store.asked.devices = devices;
  store.answer = rates;
  if (!store.short_farms)
    store.short_farms = hass_short_farms_new ();
  store.short_one = hass_short_farms_find (store.short_farms, env, strategy);
}

/* Makes this farm the last one asked about, and looks its rates up unless it
   was that already. */
static void
ask_locked (const char *path, const HassStrategyEnv *env, const char *strategy)
{
  refresh_locked (path);
  if (!asked_before_locked (env, strategy))
    answer_locked (env, strategy);
}

/* Returns the rates of each device that the strategy should be told in the
   farm's next run; free with g_free(). NULL: the store is turned off. */
HassProfileRate *
hass_profile_find (const HassStrategyEnv *env, const char *strategy)
{
  g_autofree char *path = hass_profile_path ();
  if (!path)
    return NULL;
  pthread_mutex_lock (&store.lock);
  ask_locked (path, env, strategy);
  HassProfileRate *rates
      = g_memdup2 (store.answer, env->n_devices * sizeof *rates);
  if (store.short_one)
    hass_short_farm_tell (store.short_one, rates);
  pthread_mutex_unlock (&store.lock);
  return rates;
}

/* Sets the rates [n_devices] that devices had in runs of the farm within the
   last @fresh_s seconds, and the mean work of a unit [n_devices] in the last of
   these; either may be NULL. Leaves them where there was no run. Farms that are
   not in the file are not remembered. */
void
hass_profile_look (const HassStrategyEnv *env, gint64 fresh_s,
                   HassProfileRate *rates, double *unit_work)
{
  g_autofree char *path = hass_profile_path ();
  gint64 since_s = g_get_real_time () / G_USEC_PER_SEC - fresh_s;
  if (!path)
    return;
  pthread_mutex_lock (&store.lock);
  refresh_locked (path);
  for (guint d = 0; store.lines && store.lines->len > 0 && d < env->n_devices;
       d++)
    {
      HassProfileEntry *entry = look_up_locked (env, d);
      gboolean fresh = entry->updated_s >= since_s;
      if (fresh && rates)
        rates[d] = hass_profile_entry_rate (entry);
      if (fresh && unit_work)
        unit_work[d] = entry->unit_work;
      hass_profile_entry_free (entry);
    }
  pthread_mutex_unlock (&store.lock);
}

static gboolean
find_parts_locked (const char *farm_name)
{
  g_autofree char *farm = hass_profile_farm_key (farm_name);
  g_autofree char *machine = g_strescape (hass_profile_machine (), NULL);
  g_autofree char *escaped = g_strescape (farm, NULL);
  g_autofree char *prefix = g_strconcat (machine, "\t", escaped, "/", NULL);
  for (guint i = 0; store.lines && i < store.lines->len; i++)
    if (g_str_has_prefix (store.lines->pdata[i], prefix))
      return TRUE;
  return FALSE;
}

/* Returns: TRUE if the file has entries for parts of a farm, "farm/part". The
   last answer is kept: most dataflows that run in a loop are too short to have
   any, and have a question for each part. */
gboolean
hass_profile_has_parts (const char *farm_name)
{
  g_autofree char *path = hass_profile_path ();
  if (!path)
    return FALSE;
  pthread_mutex_lock (&store.lock);
  refresh_locked (path);
  if (g_strcmp0 (store.parts_of, farm_name) != 0)
    {
      store.has_parts = find_parts_locked (farm_name);
      g_free (store.parts_of);
      store.parts_of = g_strdup (farm_name);
    }
  gboolean has = store.has_parts;
  pthread_mutex_unlock (&store.lock);
  return has;
}

/* Appends a copy of a line of the file to @lines, unless the line is not valid.
 */
static void
keep_locked (GPtrArray *lines, const char *line)
{
  HassProfileEntry *entry = parse_locked (line);
  if (entry)
    {
      g_ptr_array_add (lines, g_strdup (line));
      hass_profile_entry_free (entry);
    }
}

/* Adds a sample to the device's entry, whose line becomes the first one. */
static void
renew_locked (const HassStrategyEnv *env, guint device,
              const HassProfileSample *sample)
{
  HassProfileEntry *entry = look_up_locked (env, device);
  g_autofree char *key = hass_profile_line_key (entry);
  hass_profile_entry_add (entry, sample, g_get_real_time () / G_USEC_PER_SEC);
  for (guint i = store.lines->len; i-- > 0;)
    if (g_str_has_prefix (store.lines->pdata[i], key))
      g_ptr_array_remove_index (store.lines, i);
  g_ptr_array_insert (store.lines, 0, hass_profile_line_new (entry));
  hass_profile_entry_free (entry);
}

/* Replaces the file: the devices' new lines are followed by the other lines.
   Under the file's lock, too. Returns: FALSE if that failed. */
static gboolean
replace_locked (const char *path, const HassStrategyEnv *farms, guint n_farms,
                const HassProfileSample *samples)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);
  GError *error = NULL;
  if (!store.lines)
    store.lines = g_ptr_array_new_with_free_func (g_free);
  guint n = farms->n_devices;
  for (guint i = n_farms * n; i-- > 0;)
    if (samples[i].work_per_ns > 0)
      renew_locked (&farms[i / n], i % n, &samples[i]);
  for (guint i = 0; i < store.lines->len; i++)
    keep_locked (lines, store.lines->pdata[i]);
  gboolean ok = hass_profile_file_write (path, lines, &error);
  if (!ok)
    blame_locked (path, "", error);
  g_ptr_array_unref (store.lines);
  store.lines = lines;
  store.seen = look_at (path);
  return ok;
}

/* Returns: TRUE if each device that has a sample has enough runs in the store
   and was updated less than @within_s seconds ago, so that the samples need not
   be written. */
static gboolean
well_known_locked (const HassStrategyEnv *farms, guint n_farms,
                   const HassProfileSample *samples, gint64 within_s)
{
  gint64 since_s = g_get_real_time () / G_USEC_PER_SEC - within_s;
  gboolean known = within_s > 0;
  guint n = farms->n_devices;
  for (guint i = 0; known && i < n_farms * n; i++)
    if (samples[i].work_per_ns > 0)
      {
        HassProfileEntry *entry = look_up_locked (&farms[i / n], i % n);
        known = entry->runs >= HASS_PROFILE_FEW_RUNS
                && entry->updated_s > since_s;
        hass_profile_entry_free (entry);
      }
  return known;
}

/* Adds what a run has shown of its devices to the file, unless all are well
   known and were updated within @within_s seconds. @farms: a farm, or parts of
   one with the same devices. @samples: [n_farms * n_devices]. Returns: TRUE if
   the samples are in the file. Blocks for at most a fifth of a second while
   other processes write. */
gboolean
hass_profile_add (const HassStrategyEnv *farms, guint n_farms,
                  const HassProfileSample *samples, gint64 within_s)
{
  g_autofree char *path = hass_profile_path ();
  gboolean ok = FALSE;
  GError *error = NULL;
  int lock = -1;
  if (!path)
    return FALSE;
  pthread_mutex_lock (&store.lock);
  refresh_locked (path);
  /* No lock file is made beside a file that is not a profile store. */
  if (store.ours && !well_known_locked (farms, n_farms, samples, within_s))
    lock = hass_profile_file_lock (path, &error);
  if (lock >= 0)
    {
      read_locked (path);
      ok = store.ours && replace_locked (path, farms, n_farms, samples);
      close (lock);
    }
  else if (error)
    blame_locked (path, "", error);
  pthread_mutex_unlock (&store.lock);
  return ok;
}

/* Remembers, in this process only, a run of a farm that is too short for the
   file: what the run has shown of its devices [n_devices], its work, and the
   time it took, in ns. */
void
hass_profile_remember (const HassStrategyEnv *env, const char *strategy,
                       const HassProfileSample *samples, double work,
                       double run_ns)
{
  g_autofree char *path = hass_profile_path ();
  gboolean told = FALSE;
  if (!path)
    return;
  pthread_mutex_lock (&store.lock);
  ask_locked (path, env, strategy);
  for (guint d = 0; env->profile && d < env->n_devices; d++)
    told |= store.answer[d].work_per_ns != env->profile[d].work_per_ns;
  if (store.short_one)
    hass_short_farm_add (store.short_one, samples, told, work, run_ns);
  pthread_mutex_unlock (&store.lock);
}

/* -- What tools ask ----------------------------------------------------- */

static int
by_name (gconstpointer a, gconstpointer b)
{
  const HassProfileEntry *x = *(HassProfileEntry *const *)a;
  const HassProfileEntry *y = *(HassProfileEntry *const *)b;
  int order = strcmp (x->machine, y->machine);
  if (order == 0)
    order = strcmp (x->farm, y->farm);
  return order ? order : strcmp (x->device, y->device);
}

GPtrArray *
hass_profile_list (GError **error)
{
  g_autofree char *path = hass_profile_path ();
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (
      (GDestroyNotify)hass_profile_entry_free);
  gboolean ours;
  if (!path)
    return g_steal_pointer (&entries);
  g_autoptr (GPtrArray) lines = hass_profile_file_read (path, &ours, error);
  for (guint i = 0; lines && i < lines->len; i++)
    {
      HassProfileEntry *entry = hass_profile_line_parse (lines->pdata[i]);
      if (!entry)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s:%u: a bad line",
                       path, i + 2);
          return NULL;
        }
      g_ptr_array_add (entries, entry);
    }
  g_ptr_array_sort (entries, by_name);
  return lines ? g_steal_pointer (&entries) : NULL;
}
