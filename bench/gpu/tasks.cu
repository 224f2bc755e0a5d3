/* SPDX-License-Identifier: MIT */
/* tasks.cu: the sub-command "tasks": tasks of parallelism degree 1 (one
   block each) with eight different functions.

   DESIGN. Way 1: one kernel, whose blocks call through a table of device
   functions what their task names. Way 2: one launch a task, in turn on
   several streams. hass has both: a function farm whose tasks share one
   worker with such a table, and one whose tasks have eight workers, which run
   on streams of their own. All begin with the tasks in host memory and end
   with the results there, and all must give the same results. What one
   iteration of each function costs is measured first, so that a task lasts as
   long as it shall when its block is alone on a multiprocessor.

   Thread safety: one thread. */
#include "cuda_check.cuh"
#include "farms.h"

#include <algorithm>
#include <hass/cuda_device.cuh>
#include <hass/memory.h>
#include <math.h>
#include <string.h>
#include <vector>

#define N_FUNCTIONS 8
#define BLOCK_THREADS 128
#define MOST_TASKS 4096
#define MOST_STREAMS 32

struct Task
{
  unsigned function, seed, iterations;
};

/* -- Eight functions ---------------------------------------------------- */

typedef unsigned (*TaskFunc) (unsigned seed, unsigned iterations);

template <int K>
static __device__ __noinline__ unsigned
task_function (unsigned seed, unsigned iterations)
{
  unsigned x = seed ^ (threadIdx.x * 2654435761u);
  unsigned long long wide = x | 1;
  float f = 1.0f + (float)(x & 1023) * 1e-6f;
  double d = 1.0 + (double)(x & 1023) * 1e-6;
  for (unsigned i = 0; i < iterations; i++)
    {
      if (K == 0)
        x = x * 1664525u + 1013904223u;
      else if (K == 1)
        {
          x ^= x << 13;
          x ^= x >> 17;
          x ^= x << 5;
        }
      else if (K == 2)
        f = fmaf (f, 0.999999f, 1e-6f);
      else if (K == 3)
        d = fma (d, 0.999999, 1e-6);
      else if (K == 4)
        wide = wide * 6364136223846793005ull + 1442695040888963407ull;
      else if (K == 5)
        x += __popc (x) + i;
      else if (K == 6)
        x = __funnelshift_l (x, x, 7) + 0x9e3779b9u;
      else
        f = f * (1.9f - 0.9f * f);
    }
  return K == 2 || K == 7 ? __float_as_uint (f)
         : K == 3         ? (unsigned)__double2loint (d)
         : K == 4         ? (unsigned)(wide >> 32)
                          : x;
}

static __device__ const TaskFunc functions[N_FUNCTIONS] = {
  task_function<0>, task_function<1>, task_function<2>, task_function<3>,
  task_function<4>, task_function<5>, task_function<6>, task_function<7>
};

static __global__ void
__launch_bounds__ (BLOCK_THREADS)
    all_tasks_kernel (const Task *tasks, unsigned *results)
{
  const Task task = tasks[blockIdx.x];
  unsigned result = functions[task.function](task.seed, task.iterations);
  if (threadIdx.x == 0)
    results[blockIdx.x] = result;
}

template <int K>
static __global__ void
__launch_bounds__ (BLOCK_THREADS) one_task_kernel (Task task, unsigned *result)
{
  unsigned value = task_function<K> (task.seed, task.iterations);
  if (threadIdx.x == 0)
    *result = value;
}

typedef void (*TaskKernel) (Task task, unsigned *result);

static const TaskKernel kernels[N_FUNCTIONS]
    = { one_task_kernel<0>, one_task_kernel<1>, one_task_kernel<2>,
        one_task_kernel<3>, one_task_kernel<4>, one_task_kernel<5>,
        one_task_kernel<6>, one_task_kernel<7> };

/* -- Workers of hass ---------------------------------------------------- */

static __global__ void
__launch_bounds__ (BLOCK_THREADS) farm_kernel (HassView v)
{
  HASS_FOR_BLOCKS (v, i)
  {
    const Task task = *reinterpret_cast<const Task *> (hass_input (v, i));
    unsigned result
        = functions[hass_function (v, i)](task.seed, task.iterations);
    if (threadIdx.x == 0)
      *reinterpret_cast<unsigned *> (hass_output (v, i)) = result;
  }
}

static gboolean
table_worker (const HassBundle *b, HassGpuStream *s, gpointer, GError **error)
{
  farm_kernel<<<(unsigned)b->n_blocks, BLOCK_THREADS, 0,
                hass_cuda_stream (s)>>> (hass_view (b));
  return hass_cuda_check (cudaGetLastError (), "tasks", error);
}

template <int K>
static __global__ void
__launch_bounds__ (BLOCK_THREADS) farm_kernel_of (HassView v)
{
  HASS_FOR_BLOCKS (v, i)
  {
    const Task task = *reinterpret_cast<const Task *> (hass_input (v, i));
    unsigned result = task_function<K> (task.seed, task.iterations);
    if (threadIdx.x == 0)
      *reinterpret_cast<unsigned *> (hass_output (v, i)) = result;
  }
}

template <int K>
static gboolean
own_worker (const HassBundle *b, HassGpuStream *s, gpointer, GError **error)
{
  farm_kernel_of<K>
      <<<(unsigned)b->n_blocks, BLOCK_THREADS, 0, hass_cuda_stream (s)>>> (
          hass_view (b));
  return hass_cuda_check (cudaGetLastError (), "tasks", error);
}

static const HassGpuWorkerFunc own_workers[N_FUNCTIONS]
    = { own_worker<0>, own_worker<1>, own_worker<2>, own_worker<3>,
        own_worker<4>, own_worker<5>, own_worker<6>, own_worker<7> };

/* -- Contestants -------------------------------------------------------- */

struct Batch
{
  gsize n;
  Task *tasks;       /* pinned, and hass knows */
  unsigned *results; /* the same */
  double *us;        /* that each task lasts */
  Task *device_tasks;
  unsigned *device_results;
  cudaStream_t streams[MOST_STREAMS];
  cudaEvent_t ended[MOST_STREAMS];
  unsigned long long *digest; /* of the first contestant's results; 0: none */
};

struct OverStreams
{
  const Batch *batch;
  guint n_streams;
};

static double
finished (const Batch *b, double ms)
{
  unsigned long long digest = 1;
  for (gsize i = 0; i < b->n; i++)
    digest = digest * 1099511628211ull + b->results[i] + 1;
  if (*b->digest == 0)
    *b->digest = digest;
  if (*b->digest != digest)
    {
      fprintf (stderr, "the ways to run %zu tasks differ in their results\n",
               b->n);
      exit (1);
    }
  memset (b->results, 0, b->n * sizeof *b->results);
  return ms;
}

static double
measure_one_kernel (gconstpointer arg)
{
  const Batch *b = static_cast<const Batch *> (arg);
  cudaStream_t stream = b->streams[0];
  gint64 begin = bench_now_ns ();
  CU (cudaMemcpyAsync (b->device_tasks, b->tasks, b->n * sizeof *b->tasks,
                       cudaMemcpyHostToDevice, stream));
  all_tasks_kernel<<<(unsigned)b->n, BLOCK_THREADS, 0, stream>>> (
      b->device_tasks, b->device_results);
  CU (cudaGetLastError ());
  CU (cudaMemcpyAsync (b->results, b->device_results, b->n * sizeof *b->results,
                       cudaMemcpyDeviceToHost, stream));
  CU (cudaStreamSynchronize (stream));
  return finished (b, seconds_since (begin) * 1e3);
}

static double
measure_streams (gconstpointer arg)
{
  const OverStreams *o = static_cast<const OverStreams *> (arg);
  const Batch *b = o->batch;
  gint64 begin = bench_now_ns ();
  for (gsize i = 0; i < b->n; i++)
    kernels[b->tasks[i].function]<<<1, BLOCK_THREADS, 0,
                                    b->streams[i % o->n_streams]>>> (
        b->tasks[i], b->device_results + i);
  CU (cudaGetLastError ());
  for (guint s = 1; s < o->n_streams; s++)
    {
      CU (cudaEventRecord (b->ended[s], b->streams[s]));
      CU (cudaStreamWaitEvent (b->streams[0], b->ended[s], 0));
    }
  CU (cudaMemcpyAsync (b->results, b->device_results, b->n * sizeof *b->results,
                       cudaMemcpyDeviceToHost, b->streams[0]));
  CU (cudaStreamSynchronize (b->streams[0]));
  return finished (b, seconds_since (begin) * 1e3);
}

static double
measure_farm (const Batch *b, gboolean table)
{
  static const FarmSettings settings[]
      = { { "tasks-of-eight-workers", NULL, FALSE, 1, 0 },
          { "tasks-of-a-table", NULL, FALSE, 1, 0 } };
  std::vector<HassTask> tasks (b->n);
  for (gsize i = 0; i < b->n; i++)
    {
      HassTask *t = &tasks[i];
      t->gpu = table ? table_worker : own_workers[b->tasks[i].function];
      t->gpu_function = b->tasks[i].function;
      t->input = &b->tasks[i];
      t->input_bytes = sizeof b->tasks[i];
      t->output = &b->results[i];
      t->output_bytes = sizeof b->results[i];
      t->expected_time = b->us[i];
      t->parallelism = 1;
    }
  return finished (b, farm_tasks (&settings[table], tasks.data (), b->n).seconds
                          * 1e3);
}

static double
measure_table (gconstpointer arg)
{
  return measure_farm (static_cast<const Batch *> (arg), TRUE);
}

static double
measure_workers (gconstpointer arg)
{
  return measure_farm (static_cast<const Batch *> (arg), FALSE);
}

/* -- The sub-command ---------------------------------------------------- */

/* An idle GPU's clock is slow; after this it is not. */
static void
wake_up (const Batch *b)
{
  for (gint64 begin = bench_now_ns (); seconds_since (begin) < 0.3;)
    {
      kernels[0]<<<1024, BLOCK_THREADS, 0, b->streams[0]>>> (
          Task{ 0, 1, 100000 }, b->device_results);
      CU (cudaGetLastError ());
      CU (cudaStreamSynchronize (b->streams[0]));
    }
}

/* Iterations a microsecond of each function, one block alone. */
static void
calibrate (const Batch *b, double *iterations_per_us)
{
  const unsigned few = 20000, many = 220000;
  for (unsigned f = 0; f < N_FUNCTIONS; f++)
    {
      double us[2][5];
      for (int turn = -1; turn < 5; turn++)
        for (int more = 0; more < 2; more++)
          {
            Task task = { f, 1, more ? many : few };
            gint64 begin = bench_now_ns ();
            kernels[f]<<<1, BLOCK_THREADS, 0, b->streams[0]>>> (
                task, b->device_results);
            CU (cudaGetLastError ());
            CU (cudaStreamSynchronize (b->streams[0]));
            if (turn >= 0)
              us[more][turn] = seconds_since (begin) * 1e6;
          }
      iterations_per_us[f]
          = (double)(many - few)
            / MAX (median_of (us[1], 5) - median_of (us[0], 5), 1e-3);
    }
}

/* Tasks of @least to @most us, evenly spread over the orders of magnitude.
   Returns the sum. */
static double
make_tasks (Batch *b, gsize n, double least, double most,
            const double *iterations_per_us)
{
  GRand *rand = g_rand_new_with_seed (11);
  double sum = 0;
  b->n = n;
  *b->digest = 0;
  for (gsize i = 0; i < n; i++)
    {
      Task *task = &b->tasks[i];
      double us = least * pow (most / least, g_rand_double (rand));
      task->function = g_rand_int (rand) % N_FUNCTIONS;
      task->seed = g_rand_int (rand);
      task->iterations
          = (unsigned)MAX (us * iterations_per_us[task->function], 1);
      b->us[i] = us;
      sum += us;
    }
  g_rand_free (rand);
  return sum;
}

static void
run_batch (Batch *b, double sum_us, const char *length, guint repeat)
{
  const OverStreams s8 = { b, 8 }, s16 = { b, 16 }, s32 = { b, 32 };
  Contest *contest = contest_new (BENCH_LESS_IS_BETTER, "ms", "tasks");
  contest_add (contest, measure_one_kernel, b, "one kernel");
  for (const OverStreams *o : { &s8, &s16, &s32 })
    contest_add (contest, measure_streams, o, "%u streams", o->n_streams);
  contest_add (contest, measure_table, b, "hass, a table");
  contest_add (contest, measure_workers, b, "hass, 8 workers");
  contest_run (contest, repeat, FALSE);
  printf ("| %5zu | %8s | %9.2f |", b->n, length, sum_us * 1e-3);
  for (guint row = 0; row < contest_size (contest); row++)
    printf (" %10.3f |", contest_median (contest, row));
  printf (" %7.2f |\n",
          MIN (contest_median (contest, 1),
               MIN (contest_median (contest, 2), contest_median (contest, 3)))
              / contest_median (contest, 0));
  fflush (stdout);
  contest_free (contest);
}

int
tasks_main (const GpuBenchOptions *options)
{
  static const gsize numbers[] = { 64, 256, 1024, 4096 };
  static const struct
  {
    const char *name;
    double least, most;
  } lengths[] = {
    { "2", 2, 2 }, { "20", 20, 20 }, { "200", 200, 200 }, { "2 to 200", 2, 200 }
  };
  double iterations_per_us[N_FUNCTIONS];
  unsigned long long digest = 0;
  Batch b;
  CU (cudaSetDevice (0));
  b.digest = &digest;
  b.tasks = static_cast<Task *> (
      hass_memory_alloc (MOST_TASKS * sizeof *b.tasks, NULL));
  b.results = static_cast<unsigned *> (
      hass_memory_alloc (MOST_TASKS * sizeof *b.results, NULL));
  b.us = g_new (double, MOST_TASKS);
  CU (cudaMalloc (&b.device_tasks, MOST_TASKS * sizeof *b.tasks));
  CU (cudaMalloc (&b.device_results, MOST_TASKS * sizeof *b.results));
  for (int s = 0; s < MOST_STREAMS; s++)
    {
      CU (cudaStreamCreateWithFlags (&b.streams[s], cudaStreamNonBlocking));
      CU (cudaEventCreateWithFlags (&b.ended[s], cudaEventDisableTiming));
    }
  wake_up (&b);
  calibrate (&b, iterations_per_us);
  printf ("\nTasks of one block of %d threads, %d functions; medians of %u "
          "rounds [ms]. Iterations a microsecond:",
          BLOCK_THREADS, N_FUNCTIONS, options->repeat);
  for (double value : iterations_per_us)
    printf (" %.0f", value);
  printf ("\n\n| tasks | us each  | sum [ms]  | one kernel |  8 streams | "
          "16 streams | 32 streams | hass table | hass 8 ws. | best/1  |\n"
          "|------:|---------:|----------:|-----------:|-----------:|"
          "-----------:|-----------:|-----------:|-----------:|--------:|\n");
  for (gsize n : numbers)
    for (const auto &length : lengths)
      {
        double sum
            = make_tasks (&b, n, length.least, length.most, iterations_per_us);
        run_batch (&b, sum, length.name, options->repeat);
      }
  for (int s = 0; s < MOST_STREAMS; s++)
    {
      CU (cudaStreamDestroy (b.streams[s]));
      CU (cudaEventDestroy (b.ended[s]));
    }
  CU (cudaFree (b.device_results));
  CU (cudaFree (b.device_tasks));
  g_free (b.us);
  hass_memory_free (b.results);
  hass_memory_free (b.tasks);
  return 0;
}
