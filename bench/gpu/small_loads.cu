/* SPDX-License-Identifier: MIT */
/* small_loads.cu: the sub-command "small": thousands of small loads that are
   scattered over pageable memory, a count from each.

   DESIGN. The loads lie in random order in a heap that is more than twice as
   large as all of them, so none is adjacent to the next. By hand: one after
   another with a wait, over three streams, and gathered into pinned memory;
   the gathered ones with one thread and one copy, with one thread in pieces
   that overlap with their copies, and with several threads. By hass: a
   combine farm of all loads on one GPU, which is told of nothing but the
   loads. A contestant's time runs from the loads in the heap to their counts
   in pinned memory; the counts are compared with those of the CPU after each
   run.

   Thread safety: one thread. */
#include "cuda_check.cuh"
#include "draw/plot.h"
#include "farms.h"
#include "scan.cuh"

#include <hass/memory.h>
#include <string.h>
#include <string>
#include <vector>

#define MOST_LOADS 4096
#define N_STREAMS 3

static const char needle_text[] = "Sherlock";
static const guint8 *const needle
    = reinterpret_cast<const guint8 *> (needle_text);
static const gsize needle_length = sizeof needle_text - 1;

typedef unsigned long long Count;

/* What all contestants share, for loads of one size. */
struct Small
{
  gsize size, n;
  std::vector<const guint8 *> loads;
  std::vector<Count> expected;
  Crew *crew;
  guint8 *staging; /* pinned, for all loads */
  guint8 *device;  /* for all loads */
  Count *counts;   /* pinned, and hass knows */
  Count *device_counts;
  cudaStream_t stream[N_STREAMS];
};

struct Bundled
{
  const Small *small;
  gsize piece; /* bytes; 0: all loads at once */
  guint n_threads;
};

/* One block a load. */
static __global__ void __launch_bounds__ (256)
    bundle_kernel (const guint8 *bundle, gsize size, gsize length,
                   ScanNeedle wanted, Count *counts)
{
  unsigned mine = scan_part (bundle + blockIdx.x * size, size - length + 1,
                             size, wanted, threadIdx.x, blockDim.x);
  mine = scan_block_sum (mine);
  if (threadIdx.x == 0)
    counts[blockIdx.x] = mine;
}

static unsigned
block_threads (gsize size)
{
  return (unsigned)CLAMP ((size / 16 + 31) / 32 * 32, 32, 256);
}

/* -- Contestants -------------------------------------------------------- */

static void
check_counts (const Small *small)
{
  for (gsize i = 0; i < small->n; i++)
    if (small->counts[i] != small->expected[i])
      {
        fprintf (stderr, "load %zu of %zu bytes: counted %llu, not %llu\n", i,
                 small->size, small->counts[i], small->expected[i]);
        exit (1);
      }
  memset (small->counts, 0xff, small->n * sizeof (Count));
}

static double
finished (const Small *small, gint64 begin)
{
  double us = seconds_since (begin) * 1e6 / (double)small->n;
  check_counts (small);
  return us;
}

/* Copy, kernel, copy back, wait; the copy is from pageable memory. */
static double
measure_one_by_one (gconstpointer arg)
{
  const Small *s = static_cast<const Small *> (arg);
  cudaStream_t stream = s->stream[0];
  gint64 begin = bench_now_ns ();
  CU (cudaMemsetAsync (s->device_counts, 0, s->n * sizeof (Count), stream));
  for (gsize i = 0; i < s->n; i++)
    {
      CU (cudaMemcpyAsync (s->device, s->loads[i], s->size,
                           cudaMemcpyHostToDevice, stream));
      scan_gpu_launch (s->device, s->size, s->size,
                       scan_needle (needle, needle_length),
                       s->device_counts + i, stream);
      CU (cudaMemcpyAsync (s->counts + i, s->device_counts + i, sizeof (Count),
                           cudaMemcpyDeviceToHost, stream));
      CU (cudaStreamSynchronize (stream));
    }
  CU (cudaGetLastError ());
  return finished (s, begin);
}

/* The same in turn on three streams, with one wait at the end. */
static double
measure_streams (gconstpointer arg)
{
  const Small *s = static_cast<const Small *> (arg);
  gint64 begin = bench_now_ns ();
  CU (cudaMemsetAsync (s->device_counts, 0, s->n * sizeof (Count),
                       s->stream[0]));
  CU (cudaStreamSynchronize (s->stream[0]));
  for (gsize i = 0; i < s->n; i++)
    {
      cudaStream_t stream = s->stream[i % N_STREAMS];
      guint8 *device = s->device + i % N_STREAMS * s->size;
      CU (cudaMemcpyAsync (device, s->loads[i], s->size, cudaMemcpyHostToDevice,
                           stream));
      scan_gpu_launch (device, s->size, s->size,
                       scan_needle (needle, needle_length),
                       s->device_counts + i, stream);
      CU (cudaMemcpyAsync (s->counts + i, s->device_counts + i, sizeof (Count),
                           cudaMemcpyDeviceToHost, stream));
    }
  for (cudaStream_t stream : s->stream)
    CU (cudaStreamSynchronize (stream));
  CU (cudaGetLastError ());
  return finished (s, begin);
}

struct Gather
{
  const Small *small;
  gsize first, n;
  guint n_threads;
};

static void
gather (guint index, gpointer arg)
{
  const Gather *g = static_cast<const Gather *> (arg);
  const Small *s = g->small;
  gsize begin = g->first + g->n * index / g->n_threads;
  gsize end = g->first + g->n * (index + 1) / g->n_threads;
  for (gsize i = begin; i < end; i++)
    memcpy (s->staging + i * s->size, s->loads[i], s->size);
}

/* Every piece has its own place in the staging memory and on the device, so
   that nothing waits for a place. */
static double
measure_bundled (gconstpointer arg)
{
  const Bundled *b = static_cast<const Bundled *> (arg);
  const Small *s = b->small;
  const gsize piece = b->piece > 0 ? MAX (b->piece / s->size, 1) : s->n;
  const ScanNeedle wanted = scan_needle (needle, needle_length);
  gint64 begin = bench_now_ns ();
  for (gsize first = 0, turn = 0; first < s->n; first += piece, turn++)
    {
      cudaStream_t stream = s->stream[turn % N_STREAMS];
      Gather g = { s, first, MIN (piece, s->n - first), b->n_threads };
      if (b->n_threads > 1)
        crew_run (s->crew, b->n_threads, gather, &g);
      else
        gather (0, &g);
      CU (cudaMemcpyAsync (s->device + first * s->size,
                           s->staging + first * s->size, g.n * s->size,
                           cudaMemcpyHostToDevice, stream));
      bundle_kernel<<<(unsigned)g.n, block_threads (s->size), 0, stream>>> (
          s->device + first * s->size, s->size, needle_length, wanted,
          s->device_counts + first);
      CU (cudaMemcpyAsync (s->counts + first, s->device_counts + first,
                           g.n * sizeof (Count), cudaMemcpyDeviceToHost,
                           stream));
    }
  CU (cudaGetLastError ());
  for (gsize turn = 0; turn < N_STREAMS; turn++)
    CU (cudaStreamSynchronize (s->stream[turn]));
  return finished (s, begin);
}

static double
measure_farm (gconstpointer arg)
{
  static const FarmSettings settings = { "small-loads", NULL, FALSE, 1, 0 };
  static_assert (sizeof (Count) == sizeof (guint64), "counts");
  const Small *s = static_cast<const Small *> (arg);
  const HandText text = { NULL, 0, needle, needle_length };
  FarmResult r = farm_count (&settings, &text, s->loads.data (), s->size, s->n,
                             reinterpret_cast<guint64 *> (s->counts));
  check_counts (s);
  return r.seconds * 1e6 / (double)s->n;
}

/* -- The sub-command ---------------------------------------------------- */

/* Loads of @size bytes: each somewhere in its slot of the heap, taken in
   random order. */
static void
scatter (Small *s, const guint8 *heap, gsize size, gsize n)
{
  GRand *rand = g_rand_new_with_seed (7);
  gsize slot = 2 * size + 64;
  s->size = size;
  s->n = n;
  s->loads.resize (n);
  s->expected.resize (n);
  for (gsize i = 0; i < n; i++)
    {
      /* at least 32 bytes to the next slot */
      gsize room = (slot - size - 32) / 8;
      s->loads[i] = heap + i * slot
                    + 8 * (gsize)g_rand_int_range (rand, 0, (gint32)room + 1);
    }
  for (gsize i = n - 1; i > 0; i--)
    {
      gsize other = (gsize)g_rand_int_range (rand, 0, (gint32)i + 1);
      const guint8 *load = s->loads[i];
      s->loads[i] = s->loads[other];
      s->loads[other] = load;
    }
  for (gsize i = 0; i < n; i++)
    s->expected[i] = scan_cpu (s->loads[i], size, size, needle, needle_length);
  g_rand_free (rand);
}

/* Rows of each contest. */
enum
{
  ONE_BY_ONE,
  STREAMS,
  GATHERED, /* by one thread */
  PIECES,
  CROWD,
  HASS,
  N_ROWS
};

static Contest *
run_size (const Small *s, guint repeat)
{
  guint several = MIN (8, crew_size (s->crew));
  const Bundled at_once = { s, 0, 1 }, pieces = { s, 2 * MIB, 1 };
  const Bundled crowd = { s, 16 * MIB, several };
  Contest *contest
      = contest_new (BENCH_LESS_IS_BETTER, "us a load",
                     "%zu scattered loads of %zu bytes", s->n, s->size);
  contest_add (contest, measure_one_by_one, s, "one by one, with a wait");
  contest_add (contest, measure_streams, s, "over 3 streams");
  contest_add (contest, measure_bundled, &at_once, "by hand, 1 thread, 1 copy");
  contest_add (contest, measure_bundled, &pieces,
               "by hand, 1 thread, pieces of 2 MiB");
  contest_add (contest, measure_bundled, &crowd,
               "by hand, %u threads, 16 MiB pieces", several);
  contest_add (contest, measure_farm, s, "hass");
  contest_reference (contest, GATHERED);
  contest_run (contest, repeat, TRUE);
  return contest;
}

static void
add_targets (const Contest *contest, gsize n)
{
  target_add (TARGET_AT_LEAST, 50, contest_ratio (contest, ONE_BY_ONE, HASS),
              "times", "%zu loads of 4 KiB, hass: faster than one by one", n);
  target_add (TARGET_AT_LEAST, 1, contest_ratio (contest, GATHERED, HASS),
              "times", "the same: faster than gathered by hand by one thread");
  target_add (TARGET_NONE, 0, contest_ratio (contest, CROWD, HASS), "times",
              "the same: faster than gathered by hand by several threads");
  target_add (TARGET_NONE, 0, contest_median (contest, HASS) * 1e-3 * (double)n,
              "ms", "the same: all loads");
}

static std::string
size_name (gsize bytes)
{
  char text[32];
  if (bytes >= MIB)
    g_snprintf (text, sizeof text, "%zu MiB", bytes / MIB);
  else if (bytes >= KIB)
    g_snprintf (text, sizeof text, "%zu KiB", bytes / KIB);
  else
    g_snprintf (text, sizeof text, "%zu B", bytes);
  return text;
}

static void
write_plot (const DrawPlot *plot, const char *path)
{
  char *svg = draw_plots (plot, 1);
  GError *error = NULL;
  if (g_file_set_contents (path, svg, -1, &error))
    printf ("\nPlot: %s\n", path);
  else
    fprintf (stderr, "%s\n", error->message);
  g_clear_error (&error);
  g_free (svg);
}

static void
plot (const std::vector<Contest *> &contests, const std::vector<gsize> &sizes,
      const GpuBenchOptions *options)
{
  std::vector<std::vector<double>> values (N_ROWS);
  std::vector<std::string> names;
  std::vector<const char *> labels;
  DrawSeries series[N_ROWS] = {};
  char *path = options->svg ? g_strdup (options->svg)
               : options->out
                   ? g_build_filename (options->out, "small.svg", NULL)
                   : NULL;
  for (gsize size : sizes)
    names.push_back (size_name (size));
  for (const std::string &name : names)
    labels.push_back (name.c_str ());
  for (guint row = 0; row < N_ROWS; row++)
    {
      for (const Contest *contest : contests)
        values[row].push_back (contest_median (contest, row));
      series[row].name = contest_name (contests[0], row);
      series[row].values = values[row].data ();
      series[row].dashed = row != HASS;
    }
  DrawPlot p = {};
  p.kind = DRAW_LINES;
  p.title = "Scattered small loads on one GPU";
  p.subtitle = "a count from each, from pageable host memory and back; medians";
  p.x_title = "bytes of a load";
  p.y_title = "time per load [us]";
  p.series = series;
  p.n_series = N_ROWS;
  p.n_points = (guint)sizes.size ();
  p.log = TRUE;
  p.labels = labels.data ();
  if (path)
    write_plot (&p, path);
  g_free (path);
}

static void
print_summary (const std::vector<Contest *> &contests,
               const std::vector<gsize> &sizes)
{
  printf ("\nTime a load [us], medians\n\n| bytes ");
  for (guint row = 0; row < contest_size (contests[0]); row++)
    printf ("| %s ", contest_name (contests[0], row));
  printf ("|\n|--:");
  for (guint row = 0; row < contest_size (contests[0]); row++)
    printf ("|--:");
  printf ("|\n");
  for (gsize i = 0; i < contests.size (); i++)
    {
      printf ("| %zu ", sizes[i]);
      for (guint row = 0; row < contest_size (contests[i]); row++)
        printf ("| %.4f ", contest_median (contests[i], row));
      printf ("|\n");
    }
  fflush (stdout);
}

int
small_main (const GpuBenchOptions *options)
{
  const std::vector<gsize> sizes
      = { 64, 256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB };
  const gsize most = (gsize)(MIN (options->gib, 1.0) * GIB);
  const gsize heap_bytes = 2 * most + 64 * MOST_LOADS;
  std::vector<Contest *> contests;
  Small s;
  CU (cudaSetDevice (0));
  s.crew = crew_new (bench_cores ());
  guint8 *heap = static_cast<guint8 *> (g_malloc (heap_bytes));
  text_fill (heap, heap_bytes, 3, needle, needle_length, s.crew);
  CU (cudaHostAlloc (&s.staging, most, cudaHostAllocDefault));
  CU (cudaMalloc (&s.device, most));
  s.counts = static_cast<Count *> (
      hass_memory_alloc (MOST_LOADS * sizeof (Count), NULL));
  CU (cudaMalloc (&s.device_counts, MOST_LOADS * sizeof (Count)));
  for (cudaStream_t &stream : s.stream)
    CU (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  for (gsize size : sizes)
    {
      gsize n = MIN ((gsize)MOST_LOADS, most / size);
      scatter (&s, heap, size, n);
      contests.push_back (run_size (&s, options->repeat));
      if (size == 4 * KIB)
        add_targets (contests.back (), n);
    }
  print_summary (contests, sizes);
  plot (contests, sizes, options);
  for (Contest *contest : contests)
    contest_free (contest);
  for (cudaStream_t stream : s.stream)
    CU (cudaStreamDestroy (stream));
  CU (cudaFree (s.device_counts));
  hass_memory_free (s.counts);
  CU (cudaFree (s.device));
  CU (cudaFreeHost (s.staging));
  g_free (heap);
  crew_free (s.crew);
  return 0;
}
