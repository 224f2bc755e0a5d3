/* SPDX-License-Identifier: MIT */
/* cpu_pool.c: how many cores the process may use, and pools of oneTBB's
   threads on them.
   Thread safety: any thread. */
#include "cpu_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hass/error.h"
#include "limits.h"
#include "tasks.h"
#include "tbb_wrapper.h"

#define MAX_CORES 4096

struct HassCpuPool
{
  guint n_asked;
  guint n_cores; /* the calling thread and the threads that can be made */
  /* Errno of the thread that could not be made; 0: none failed. */
  int failure;
  HassTbbArena *arena;
  HassTasks *tasks; /* what the arena's threads run */
};

/* -- How many ----------------------------------------------------------- */

/* The cores that the affinity mask allowed when they were first counted;
   empty: unknown. Later threads may have inherited a smaller mask. */
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
  double limit = hass_limits_cpus ("");
  if (limit > 0 && limit < cores)
    cores = (guint)(limit + 0.999);
  n_available = MAX (cores, 1);
}

/* Returns: the number of cores that affinity mask and cgroup allow the
   process, determined by the first call. */
guint
hass_cpu_pool_available (void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once (&once, count_available);
  return n_available;
}

/* -- Where -------------------------------------------------------------- */

/* Lets the calling thread run on all cores that the process may use. For
   threads of the library whose creator may have been bound to a few cores. */
void
hass_cpu_pool_unbind (void)
{
  hass_cpu_pool_available ();
  if (CPU_COUNT (&allowed) > 0)
    sched_setaffinity (0, sizeof allowed, &allowed);
}

/* CPU of the thread that last fetched another (-1: none): a new worker is
   placed on another one, since that thread goes on computing. */
static int giver_cpu = -1;
static guint placed; /* number of oneTBB's threads that have started */

/* Moves a new thread of the pool to a core of its own when it first enters an
   arena (oneTBB's group of threads), then allows it all cores again. Without
   this the kernel may leave a new thread on its creator's core for 15 ms. */
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

/* Moves the calling thread to the first CPU from @from on, cyclically, that
   its affinity mask contains and @taken does not, and then allows it all CPUs
   of the mask again. Returns: that CPU; -1 if there is none. */
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

/* Tests how many threads the process can make: makes up to @n that live at the
   same time, and ends them. @failure: the errno for which there were no more;
   0 if all could be made. Returns: their number. */
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

/* Returns: how many of @n threads the process can make; @failure: as
   hass_cpu_pool_try_threads(). To make them all takes 60 us each, so where
   limits are far one is made. */
static guint
can_make (guint n, int *failure)
{
  if (n > 1 && hass_limits_allow_threads ("", n)
      && hass_cpu_pool_try_threads (1, failure) == 1)
    return n;
  return hass_cpu_pool_try_threads (n, failure);
}

/* Makes a pool of @n_cores cores; earlier pools may still make @promised
   threads. oneTBB makes its threads on first use, and the process ends with an
   exception if it cannot. So the pool gets no more threads than can be made
   besides the promised ones. */
static HassCpuPool *
make_pool (guint n_cores, guint promised)
{
  HassCpuPool *pool = g_new0 (HassCpuPool, 1);
  guint wanted = promised + n_cores - 1;
  guint alive = MIN (__atomic_load_n (&placed, __ATOMIC_RELAXED), wanted);
  guint made = alive + can_make (wanted - alive, &pool->failure);
  pool->n_asked = n_cores;
  pool->n_cores = 1 + (made > promised ? made - promised : 0);
  pool->arena = hass_tbb_arena_new (pool->n_cores, place_thread);
  if (!pool->arena)
    g_clear_pointer (&pool, g_free);
  else
    pool->tasks = hass_tasks_new (HASS_TASKS_SLEEP_NS);
  return pool;
}

/* Returns: the pool of @n_cores cores, which lives as long as the process;
   NULL with an error. The pool has fewer cores if not so many threads can be
   made: see hass_cpu_pool_problem(). */
HassCpuPool *
hass_cpu_pool_get (guint n_cores, GError **error)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static GPtrArray *pools; /* guarded by `lock` */
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

/* Returns: the number of cores of the pool, including that of the calling
   thread. */
guint
hass_cpu_pool_cores (const HassCpuPool *pool)
{
  return pool->n_cores;
}

/* Returns: why the pool has fewer cores than asked for, free with g_free();
   NULL if it has all of them. */
char *
hass_cpu_pool_problem (const HassCpuPool *pool)
{
  if (pool->n_cores == pool->n_asked)
    return NULL;
  return g_strdup_printf ("%u of %u threads cannot be made: %s",
                          pool->n_asked - pool->n_cores, pool->n_asked - 1,
                          g_strerror (pool->failure));
}

/* -- Work --------------------------------------------------------------- */

/* Raised before a function is handed to oneTBB and read by the thread that runs
   it, and the other way round at the end. oneTBB orders both, but out of the
   sight of ThreadSanitizer. */
static _Atomic guint handed_over;

static void
hand_over (void)
{
  atomic_fetch_add_explicit (&handed_over, 1, memory_order_release);
}

static void
take_over (void)
{
  atomic_load_explicit (&handed_over, memory_order_acquire);
}

static void
serve (gpointer data)
{
  take_over ();
  hass_tasks_serve (data);
}

/* Fetches a thread from oneTBB. */
static void
fetch (HassCpuPool *pool)
{
  __atomic_store_n (&giver_cpu, sched_getcpu (), __ATOMIC_RELAXED);
  hand_over ();
  hass_tbb_arena_enqueue (pool->arena, serve, pool->tasks);
}

/* Runs @run (@data) on another core of the pool soon. In a pool that has only
   the caller's core it may never run. */
void
hass_cpu_pool_enqueue (HassCpuPool *pool, void (*run) (gpointer data),
                       gpointer data)
{
  if (hass_tasks_give (pool->tasks, run, data))
    fetch (pool);
}

/* Runs @run (@data) on another core of the pool if one has nothing else to do
   before hass_tasks_withdraw() of @data. */
void
hass_cpu_pool_offer (HassCpuPool *pool, void (*run) (gpointer data),
                     gpointer data)
{
  if (hass_tasks_offer (pool->tasks, run, data))
    fetch (pool);
}

/* Returns: what the pool's threads run. For loops and tests. */
HassTasks *
hass_cpu_pool_tasks (const HassCpuPool *pool)
{
  return pool->tasks;
}
