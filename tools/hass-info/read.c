/* SPDX-License-Identifier: MIT */
/* read.c: measures the rate at which threads read host memory.

   DESIGN. Each thread has a core of its own, if there are as many cores, and a
   part of the memory that it wrote first, so that it is on the same NUMA node;
   all parts together exceed the caches. Threads start together and read
   repeatedly until the requested time has passed; the slowest determines the
   rate.

   Thread safety: see measure.h. */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/cuda/cuda-private.h"
#include "device/cpu/memory.h"
#include "device/cpu/topology.h"
#include "measure.h"

#define LEAST_BYTES ((gsize)256 << 20)
#define MOST_BYTES ((gsize)2 << 30)
#define TIMES_CACHES 4
#define PART_OF_MEMORY 8
#define MOST_PASSES 100000

typedef guint64 Line __attribute__ ((vector_size (64), may_alias));

typedef struct Reading Reading;

typedef struct
{
  Reading *reading;
  pthread_t thread;
  gint cpu; /* -1: any */
  guint8 *memory;
  gsize bytes;
  gint64 begin_ns, end_ns; /* of the last rate */
  guint64 sum;             /* keeps the compiler from removing the loop */
} Reader;

struct Reading
{
  const InfoEffort *effort;
  Reader *readers; /* [n] */
  guint n;
  pthread_mutex_t gate; /* held until all threads exist, or one failed */
  gboolean complete;    /* gate */
  pthread_barrier_t barrier;
  guint passes; /* by reader 0, between barriers */
  double *gbps; /* [effort->rates]; by reader 0 */
};

static guint64
sum_up (const guint8 *memory, gsize bytes)
{
  const Line *lines = (const Line *)(gconstpointer)memory;
  Line a = { 0 }, b = { 0 };
  guint64 sum = 0;
  for (gsize i = 0; i + 1 < bytes / sizeof (Line); i += 2)
    {
      a += lines[i];
      b += lines[i + 1];
    }
  a += b;
  for (guint i = 0; i < sizeof (Line) / sizeof sum; i++)
    sum += a[i];
  return sum;
}

/* All threads begin together. */
static void
read_passes (Reader *r)
{
  pthread_barrier_wait (&r->reading->barrier);
  r->begin_ns = hass_clock_ns ();
  for (guint i = 0; i < r->reading->passes; i++)
    {
      r->sum += sum_up (r->memory, r->bytes);
      __asm__ volatile("" ::: "memory"); /* forces each pass to read */
    }
  r->end_ns = hass_clock_ns ();
  pthread_barrier_wait (&r->reading->barrier);
}

/* Time from the first thread's beginning to the last one's end. */
static gint64
took_ns (const Reading *reading)
{
  gint64 begin = G_MAXINT64, end = 0;
  for (guint i = 0; i < reading->n; i++)
    {
      begin = MIN (begin, reading->readers[i].begin_ns);
      end = MAX (end, reading->readers[i].end_ns);
    }
  return MAX (end - begin, 1);
}

static void
bind_to (gint cpu)
{
  cpu_set_t set;
  if (cpu < 0)
    return;
  CPU_ZERO (&set);
  CPU_SET (cpu, &set);
  sched_setaffinity (0, sizeof set, &set);
}

static void *
reader (void *data)
{
  Reader *r = data;
  Reading *all = r->reading;
  const InfoEffort *effort = all->effort;
  pthread_mutex_lock (&all->gate);
  gboolean complete = all->complete;
  pthread_mutex_unlock (&all->gate);
  if (!complete)
    return NULL;
  bind_to (r->cpu);
  memset (r->memory, 1, r->bytes);
  read_passes (r);
  if (r == all->readers)
    all->passes
        = (guint)CLAMP (effort->read_ns / took_ns (all) + 1, 1, MOST_PASSES);
  for (guint i = 0; i < effort->rates; i++)
    {
      read_passes (r);
      if (r == all->readers)
        all->gbps[i] = (double)r->bytes * all->n * all->passes / took_ns (all);
    }
  return NULL;
}

/* Assigns one core to each thread if their numbers are equal. */
static void
choose_cpus (Reading *reading)
{
  cpu_set_t mine;
  guint n = 0;
  gboolean ok = sched_getaffinity (0, sizeof mine, &mine) == 0
                && (guint)CPU_COUNT (&mine) == reading->n;
  for (guint i = 0; i < reading->n; i++)
    reading->readers[i].cpu = -1;
  for (int c = 0; ok && c < CPU_SETSIZE; c++)
    if (CPU_ISSET (c, &mine))
      reading->readers[n++].cpu = c;
}

/* -- How much ----------------------------------------------------------- */

/* Bytes of available memory as reported by the kernel. */
static guint64
available_bytes (void)
{
  g_autofree char *info = NULL;
  guint64 bytes = hass_memory_bytes ();
  if (g_file_get_contents ("/proc/meminfo", &info, NULL, NULL))
    {
      const char *line = strstr (info, "MemAvailable:");
      if (line)
        bytes = MIN (
            bytes, g_ascii_strtoull (line + strlen ("MemAvailable:"), NULL, 10)
                       << 10);
    }
  return bytes;
}

/* Bytes that exceed the caches of @n_threads threads. */
static gsize
enough_bytes (guint n_threads)
{
  HassTopologyFacts f;
  guint64 caches = 0;
  if (hass_topology_facts (&f))
    caches = f.l3_bytes * MIN (f.n_l3, n_threads)
             + f.l2_bytes * MIN (f.n_l2, n_threads);
  guint64 bytes = CLAMP (TIMES_CACHES * caches, LEAST_BYTES, MOST_BYTES);
  return (gsize)MIN (bytes, available_bytes () / PART_OF_MEMORY);
}

/* -- Reading ------------------------------------------------------------ */

/* Returns: FALSE if some thread could not be created; then none has read. */
static gboolean
run_readers (Reading *r)
{
  guint n = 0;
  pthread_mutex_lock (&r->gate);
  while (n < r->n
         && pthread_create (&r->readers[n].thread, NULL, reader, &r->readers[n])
                == 0)
    n++;
  r->complete = n == r->n;
  pthread_mutex_unlock (&r->gate);
  for (guint i = 0; i < n; i++)
    pthread_join (r->readers[i].thread, NULL);
  return r->complete;
}

/* Returns: GB/s of @n_threads threads together; 0 if memory or threads are
   insufficient. */
double
info_measure_read (guint n_threads, const InfoEffort *effort)
{
  gsize total
      = effort->read_bytes ? effort->read_bytes : enough_bytes (n_threads);
  gsize page = (gsize)sysconf (_SC_PAGESIZE);
  gsize each = total / n_threads / page * page;
  guint8 *memory
      = mmap (NULL, MAX (each, 1) * n_threads, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (each == 0 || memory == MAP_FAILED)
    return 0;
  madvise (memory, each * n_threads, MADV_HUGEPAGE);
  g_autofree Reader *readers = g_new0 (Reader, n_threads);
  g_autofree double *gbps = g_new0 (double, effort->rates);
  Reading r = { .effort = effort,
                .readers = readers,
                .n = n_threads,
                .passes = 1,
                .gbps = gbps };
  choose_cpus (&r);
  for (guint i = 0; i < n_threads; i++)
    {
      readers[i].reading = &r;
      readers[i].memory = memory + i * each;
      readers[i].bytes = each;
    }
  pthread_mutex_init (&r.gate, NULL);
  pthread_barrier_init (&r.barrier, NULL, n_threads);
  gboolean ok = run_readers (&r);
  pthread_barrier_destroy (&r.barrier);
  pthread_mutex_destroy (&r.gate);
  munmap (memory, each * n_threads);
  return ok ? info_median (gbps, effort->rates) : 0;
}
