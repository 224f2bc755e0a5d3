/* SPDX-License-Identifier: MIT */
/* cpu_pool.c: how many cores there are for us, and arenas over them.
   Thread safety: any thread. */
#include "cpu_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hass/error.h"
#include "tbb_wrapper.h"

#define MAX_CORES 4096

struct HassCpuPool
{
  guint n_cores;
  HassTbbArena *arena;
};

/* -- How many ----------------------------------------------------------- */

/* CPUs worth of time in a "quota period" pair; 0: no limit. */
static double
cpus_of (double quota, double period)
{
  return quota > 0 && period > 0 ? quota / period : 0;
}

/* The limit of one cgroup v2 folder's cpu.max, or v1 quota; 0: none. */
static double
folder_limit (const char *folder)
{
  g_autofree char *v2 = g_strconcat (folder, "/cpu.max", NULL);
  g_autofree char *text = NULL;
  if (g_file_get_contents (v2, &text, NULL, NULL))
    {
      char *end;
      double quota = g_ascii_strtod (text, &end);
      return end == text ? 0 : cpus_of (quota, g_ascii_strtod (end, NULL));
    }
  g_autofree char *q = g_strconcat (folder, "/cpu.cfs_quota_us", NULL);
  g_autofree char *p = g_strconcat (folder, "/cpu.cfs_period_us", NULL);
  g_autofree char *quota = NULL, *period = NULL;
  if (g_file_get_contents (q, &quota, NULL, NULL)
      && g_file_get_contents (p, &period, NULL, NULL))
    return cpus_of (g_ascii_strtod (quota, NULL),
                    g_ascii_strtod (period, NULL));
  return 0;
}

/* The tightest limit of our cgroup and the ones above it; 0: none. */
static double
cgroup_limit (void)
{
  g_autofree char *text = NULL;
  double least = 0;
  if (!g_file_get_contents ("/proc/self/cgroup", &text, NULL, NULL))
    return 0;
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (char **l = lines; *l; l++)
    {
      g_auto (GStrv) part = g_strsplit (*l, ":", 3);
      if (g_strv_length (part) < 3
          || (part[1][0] != '\0' && !strstr (part[1], "cpu")))
        continue;
      const char *root = part[1][0] ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";
      for (g_autofree char *path = g_strdup (part[2]);;)
        {
          g_autofree char *folder = g_strconcat (root, path, NULL);
          double limit = folder_limit (folder);
          if (limit > 0 && (least == 0 || limit < least))
            least = limit;
          char *slash = strrchr (path, '/');
          if (!slash)
            break;
          *slash = '\0';
        }
    }
  return least;
}

/* What the affinity mask allowed when the cores were counted; empty: not
   known. Threads made later may have inherited less. */
static guint n_available;
static cpu_set_t allowed;

static void
count_available (void)
{
  guint cores = 1;
  if (sched_getaffinity (0, sizeof allowed, &allowed) == 0)
    cores = CPU_COUNT (&allowed);
  else
    {
      CPU_ZERO (&allowed);
      cores = MAX (1, sysconf (_SC_NPROCESSORS_ONLN));
    }
  double limit = cgroup_limit ();
  if (limit > 0 && limit < cores)
    cores = (guint)(limit + 0.999);
  n_available = MAX (cores, 1);
}

/* Cores that the affinity mask and the cgroup leave us, read once. */
guint
hass_cpu_pool_available (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once (&once, count_available);
  return n_available;
}

/* -- Where -------------------------------------------------------------- */

/* For a thread of the library that may have been made by one that is bound to
   a few cores: gives it all that the process may use. */
void
hass_cpu_pool_unbind (void)
{
  hass_cpu_pool_available ();
  if (CPU_COUNT (&allowed) > 0)
    sched_setaffinity (0, sizeof allowed, &allowed);
}

/* The CPU of the thread that last gave work away; a fresh worker goes
   elsewhere. */
static int giver_cpu = -1;
static guint placed;

/* Moves a thread to a core of its own when it first enters, then lets it
   go to all of them. */
static void
place_thread (void)
{
  static __thread gboolean done;
  if (done)
    return;
  done = TRUE;
  cpu_set_t one;
  hass_cpu_pool_available ();
  int n = CPU_COUNT (&allowed),
      giver = __atomic_load_n (&giver_cpu, __ATOMIC_RELAXED);
  if (n < 2)
    return;
  guint skip = __atomic_fetch_add (&placed, 1, __ATOMIC_RELAXED) % (n - 1);
  int cpu = -1;
  for (int c = 0, i = 0; c < CPU_SETSIZE; c++)
    if (CPU_ISSET (c, &allowed) && c != giver && i++ == (int)skip)
      {
        cpu = c;
        break;
      }
  if (cpu < 0)
    return;
  CPU_ZERO (&one);
  CPU_SET (cpu, &one);
  sched_setaffinity (0, sizeof one, &one);
  hass_cpu_pool_unbind ();
}

/* Moves the calling thread to a CPU that is not taken, of those where it may
   run, the first from @from on, and lets it go to all of them again. Returns
   which; -1: there is none. */
int
hass_cpu_pool_move (const cpu_set_t *taken, int from)
{
  cpu_set_t own, one;
  if (sched_getaffinity (0, sizeof own, &own) != 0)
    return -1;
  for (int i = 0; i < CPU_SETSIZE; i++)
    {
      int cpu = (MAX (from, 0) + i) % CPU_SETSIZE;
      if (!CPU_ISSET (cpu, &own) || CPU_ISSET (cpu, taken))
        continue;
      CPU_ZERO (&one);
      CPU_SET (cpu, &one);
      if (sched_setaffinity (0, sizeof one, &one) != 0)
        continue;
      sched_setaffinity (0, sizeof own, &own);
      return cpu;
    }
  return -1;
}

/* -- Arenas ------------------------------------------------------------- */

/* The pool of so many cores; lives as long as the process. */
HassCpuPool *
hass_cpu_pool_get (guint n_cores, GError **error)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static GPtrArray *pools; /* lock */
  if (n_cores < 1 || n_cores > MAX_CORES)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "%u cores asked for, 1 to %u are possible", n_cores,
                   MAX_CORES);
      return NULL;
    }
  HassCpuPool *pool = NULL;
  pthread_mutex_lock (&lock);
  if (!pools)
    pools = g_ptr_array_new ();
  for (guint i = 0; i < pools->len && !pool; i++)
    if (((HassCpuPool *)pools->pdata[i])->n_cores == n_cores)
      pool = pools->pdata[i];
  if (!pool)
    {
      HassTbbArena *arena = hass_tbb_arena_new (n_cores, place_thread);
      if (arena)
        {
          pool = g_new (HassCpuPool, 1);
          *pool = (HassCpuPool){ n_cores, arena };
          g_ptr_array_add (pools, pool);
        }
      else
        g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
                     "oneTBB could not make an arena of %u cores", n_cores);
    }
  pthread_mutex_unlock (&lock);
  return pool;
}

guint
hass_cpu_pool_cores (const HassCpuPool *pool)
{
  return pool->n_cores;
}

/* Runs a function on another core, soon. */
void
hass_cpu_pool_enqueue (HassCpuPool *pool, void (*run) (gpointer data),
                       gpointer data)
{
  __atomic_store_n (&giver_cpu, sched_getcpu (), __ATOMIC_RELAXED);
  hass_tbb_arena_enqueue (pool->arena, run, data);
}

/* Runs body over [0, n) on this thread and idle cores; returns when done. */
void
hass_cpu_pool_parallel_for (HassCpuPool *pool, gsize n, gsize grain,
                            void (*body) (gsize first, gsize count,
                                          gpointer data),
                            gpointer data)
{
  if (n > 0)
    hass_tbb_arena_parallel_for (pool->arena, n, grain, body, data);
}
