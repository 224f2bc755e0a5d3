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

/* Pieces of a nested loop for each core: a core that comes late or a long
   piece costs a small part of the loop, pulling one some 10 ns. */
#define PIECES_PER_CORE 64

struct HassCpuPool
{
  guint n_asked;
  guint n_cores; /* the caller and the threads that can be made */
  int failure;   /* why they are fewer than asked for; 0: they are not */
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
static guint placed; /* oneTBB's threads that have come to life */

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
  guint before = __atomic_fetch_add (&placed, 1, __ATOMIC_RELAXED);
  if (n < 2)
    return;
  guint skip = before % (n - 1);
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

static gpointer
pass_gate (gpointer gate)
{
  pthread_mutex_lock (gate);
  pthread_mutex_unlock (gate);
  return NULL;
}

/* Makes up to @n threads that live at the same time, and ends them.
   @failure: why there were no more; 0 where all could be made. */
guint
hass_cpu_pool_try_threads (guint n, int *failure)
{
  g_autofree pthread_t *threads = g_new (pthread_t, n);
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  guint made = 0;
  *failure = 0;
  pthread_mutex_lock (&gate);
  while (made < n
         && (*failure = pthread_create (&threads[made], NULL, pass_gate, &gate))
                == 0)
    made++;
  pthread_mutex_unlock (&gate);
  for (guint i = 0; i < made; i++)
    pthread_join (threads[i], NULL);
  pthread_mutex_destroy (&gate);
  return made;
}

/* oneTBB makes its threads on first use, each from another thread of its own;
   if that fails, the exception ends the process. So a pool gets no more threads
   than can be made in addition to those that earlier pools may still make. */
static HassCpuPool *
make_pool (guint n_cores, guint promised)
{
  HassCpuPool *pool = g_new0 (HassCpuPool, 1);
  guint wanted = promised + n_cores - 1;
  guint alive = MIN (__atomic_load_n (&placed, __ATOMIC_RELAXED), wanted);
  guint made
      = alive + hass_cpu_pool_try_threads (wanted - alive, &pool->failure);
  pool->n_asked = n_cores;
  pool->n_cores = 1 + (made > promised ? made - promised : 0);
  pool->arena = hass_tbb_arena_new (pool->n_cores, place_thread);
  if (!pool->arena)
    g_clear_pointer (&pool, g_free);
  return pool;
}

/* The pool of so many cores; lives as long as the process. It has fewer where
   not so many threads can be made, see hass_cpu_pool_problem(). */
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
  guint promised = 0;
  pthread_mutex_lock (&lock);
  if (!pools)
    pools = g_ptr_array_new ();
  for (guint i = 0; i < pools->len; i++)
    {
      HassCpuPool *other = pools->pdata[i];
      if (other->n_asked == n_cores || (!pool && other->n_cores == n_cores))
        pool = other;
      promised += other->n_cores - 1;
    }
  if (!pool && (pool = make_pool (n_cores, promised)))
    g_ptr_array_add (pools, pool);
  pthread_mutex_unlock (&lock);
  if (!pool)
    g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
                 "oneTBB could not make an arena of %u cores", n_cores);
  return pool;
}

/* Cores that it can use, the caller's own among them. */
guint
hass_cpu_pool_cores (const HassCpuPool *pool)
{
  return pool->n_cores;
}

/* Why it has fewer cores than asked for; NULL: it has them all. Free with
   g_free(). */
char *
hass_cpu_pool_problem (const HassCpuPool *pool)
{
  if (pool->n_cores == pool->n_asked)
    return NULL;
  return g_strdup_printf ("%u of %u threads cannot be made: %s",
                          pool->n_asked - pool->n_cores, pool->n_asked - 1,
                          g_strerror (pool->failure));
}

/* Runs a function on another core, soon. Where the pool has only the
   caller's core it may never run. */
void
hass_cpu_pool_enqueue (HassCpuPool *pool, void (*run) (gpointer data),
                       gpointer data)
{
  __atomic_store_n (&giver_cpu, sched_getcpu (), __ATOMIC_RELAXED);
  hass_tbb_arena_enqueue (pool->arena, run, data);
}

/* Runs body over [0, n) in pieces of at least @grain, on this thread and idle
   cores; returns when done. */
void
hass_cpu_pool_parallel_for (HassCpuPool *pool, gsize n, gsize grain,
                            void (*body) (gsize first, gsize count,
                                          gpointer data),
                            gpointer data)
{
  gsize n_pieces = MIN (n / MAX (grain, 1), PIECES_PER_CORE * pool->n_cores);
  if (n_pieces > 1 && pool->n_cores > 1)
    hass_tbb_arena_parallel_for (pool->arena, pool->n_cores, n, n_pieces, body,
                                 data);
  else if (n > 0)
    body (0, n, data);
}
