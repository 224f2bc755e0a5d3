/* SPDX-License-Identifier: MIT */
/* large_loads.cu: the sub-command "large": 512 MiB of pinned floats, as 1 to
   1024 loads, by GPU and cores, beside streams by hand on the GPU alone.

   DESIGN. A GPU computes an element in a hundredth of a core's time, and needs
   less for it than for its copies; so a core that takes one of few loads holds
   all up. By hand: pieces of PIECE bytes over three streams. By hass: a combine
   farm, a pipeline of one stage and a partition farm with both workers. The
   round that warms up teaches hass how long a load takes; so numbers are of
   later runs, and that of the first is printed apart.

   Thread safety: one thread. */
#include "cuda_check.cuh"

#include <hass/cuda_device.cuh>
#include <hass/data_farm.h>
#include <hass/memory.h>
#include <hass/pipeline.h>
#include <math.h>

#define ALL_BYTES (512 * MIB)
#define PIECE (8 * MIB)
#define N_STREAMS 3
#define STEPS 8
#define THREADS 256

typedef enum
{
  BY_HAND,
  COMBINE,
  PIPELINE,
  PARTITION,
  N_WAYS
} Way;

/* @first_ms: what the run that warms up has taken. */
struct Large
{
  float *in, *out;
  gsize n;
  HassLoad *loads;
  cudaStream_t stream[N_STREAMS];
  float *device_in[N_STREAMS], *device_out[N_STREAMS];
  double first_ms[N_WAYS];
};

struct Contestant
{
  Large *large;
  Way way;
};

/* -- The work ----------------------------------------------------------- */

__host__ __device__ static inline float
steps (float x)
{
  for (int i = 0; i < STEPS; i++)
    x = x * 0.999f + sqrtf (fabsf (x)) * 0.01f;
  return x;
}

static __global__ void
__launch_bounds__ (THREADS) piece_kernel (const float *in, float *out, gsize n)
{
  for (gsize e = (gsize)blockIdx.x * THREADS + threadIdx.x; e < n;
       e += (gsize)gridDim.x * THREADS)
    out[e] = steps (in[e]);
}

static __global__ void
__launch_bounds__ (THREADS) bundle_kernel (HassView v)
{
  HASS_FOR_ELEMENTS (v, e)
  {
    guint64 b = hass_find_block (v, e), at = e - hass_elements_before (v, b);
    reinterpret_cast<float *> (hass_output (v, b))[at]
        = steps (reinterpret_cast<const float *> (hass_input (v, b))[at]);
  }
}

/* Thread blocks that fill any GPU. */
#define GRID 1056

static gboolean
on_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer, GError **)
{
  bundle_kernel<<<GRID, THREADS, 0, hass_cuda_stream (stream)>>> (
      hass_view (bundle));
  return TRUE;
}

static void
on_core (const void *in, void *out, gsize n)
{
  for (gsize i = 0; i < n; i++)
    static_cast<float *> (out)[i] = steps (static_cast<const float *> (in)[i]);
}

static gboolean
on_core_block (const HassBlock *block, HassWorker *, gpointer, GError **)
{
  on_core (block->input, block->output, block->count);
  return TRUE;
}

static gboolean
on_core_token (HassToken *token, HassWorker *, gpointer, GError **)
{
  on_core (token->input, token->output, token->input_bytes / sizeof (float));
  return TRUE;
}

/* -- Contestants -------------------------------------------------------- */

static void
by_hand (Large *l)
{
  const guint8 *in = reinterpret_cast<guint8 *> (l->in);
  guint8 *out = reinterpret_cast<guint8 *> (l->out);
  for (gsize at = 0, turn = 0; at < ALL_BYTES; at += PIECE, turn++)
    {
      guint s = turn % N_STREAMS;
      CU (cudaMemcpyAsync (l->device_in[s], in + at, PIECE,
                           cudaMemcpyHostToDevice, l->stream[s]));
      piece_kernel<<<GRID, THREADS, 0, l->stream[s]>>> (
          l->device_in[s], l->device_out[s], PIECE / sizeof (float));
      CU (cudaMemcpyAsync (out + at, l->device_out[s], PIECE,
                           cudaMemcpyDeviceToHost, l->stream[s]));
    }
  for (cudaStream_t stream : l->stream)
    CU (cudaStreamSynchronize (stream));
}

static gboolean
farm (const Large *l, Way way, GError **error)
{
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = way == COMBINE ? "large-combine" : "large-partition";
  f.loads = l->loads;
  f.n_loads = l->n;
  f.cpu_worker = on_core_block;
  f.gpu_worker = on_gpu;
  f.element_threads = 1;
  return way == COMBINE ? hass_data_farm_combine (&f, NULL, error)
                        : hass_data_farm_partition (&f, NULL, error);
}

static gboolean
pipeline (const Large *l, GError **error)
{
  HassStage stage = HASS_STAGE_INIT;
  HassPipeline p = HASS_PIPELINE_INIT;
  stage.name = "steps";
  stage.cpu = on_core_token;
  stage.gpu = on_gpu;
  stage.output_ratio = 1;
  stage.element_threads = l->loads[0].size;
  p.name = "large";
  p.loads = l->loads;
  p.n_loads = l->n;
  p.stages = &stage;
  p.n_stages = 1;
  return hass_pipeline (&p, NULL, error);
}

/* In ms. */
static double
measure (gconstpointer arg)
{
  const Contestant *c = static_cast<const Contestant *> (arg);
  Large *l = c->large;
  GError *error = NULL;
  gboolean ok = TRUE;
  gint64 begin = bench_now_ns ();
  if (c->way == BY_HAND)
    by_hand (l);
  else
    ok = c->way == PIPELINE ? pipeline (l, &error) : farm (l, c->way, &error);
  double ms = seconds_since (begin) * 1e3;
  if (!ok)
    {
      fprintf (stderr, "large: %s\n", error->message);
      exit (1);
    }
  if (l->first_ms[c->way] <= 0)
    l->first_ms[c->way] = ms;
  return ms;
}

/* -- The sub-command ---------------------------------------------------- */

static void
run_loads (Large *l, gsize n, guint repeat)
{
  static const char *const names[N_WAYS]
      = { "three streams by hand, GPU alone", "hass, combine farm",
          "hass, pipeline", "hass, partition farm" };
  Contestant of[N_WAYS];
  gsize bytes = ALL_BYTES / n;
  l->n = n;
  l->loads = g_new0 (HassLoad, n);
  for (gsize i = 0; i < n; i++)
    {
      l->loads[i].size = bytes / sizeof (float);
      l->loads[i].input = l->in + i * l->loads[i].size;
      l->loads[i].output = l->out + i * l->loads[i].size;
      l->loads[i].input_bytes = l->loads[i].output_bytes = bytes;
    }
  Contest *contest = contest_new (BENCH_LESS_IS_BETTER, "ms",
                                  "%zu loads of %zu KiB", n, bytes / KIB);
  for (guint way = 0; way < N_WAYS; way++)
    {
      of[way] = { l, static_cast<Way> (way) };
      l->first_ms[way] = 0;
      contest_add (contest, measure, &of[way], "%s", names[way]);
    }
  contest_run (contest, repeat, TRUE);
  printf ("\nThe first runs took");
  for (guint way = 0; way < N_WAYS; way++)
    printf (" %.1f%s", l->first_ms[way], way + 1 < N_WAYS ? "," : " ms.\n\n");
  fflush (stdout);
  contest_free (contest);
  g_free (l->loads);
}

int
large_main (const GpuBenchOptions *options)
{
  Large l = {};
  l.in = static_cast<float *> (hass_memory_alloc (ALL_BYTES, NULL));
  l.out = static_cast<float *> (hass_memory_alloc (ALL_BYTES, NULL));
  if (!l.in || !l.out)
    {
      fprintf (stderr, "large: no %zu bytes of memory\n", 2 * ALL_BYTES);
      return 1;
    }
  for (gsize i = 0; i < ALL_BYTES / sizeof (float); i++)
    l.in[i] = (float)(i % 1000);
  for (guint s = 0; s < N_STREAMS; s++)
    {
      CU (cudaStreamCreateWithFlags (&l.stream[s], cudaStreamNonBlocking));
      CU (cudaMalloc (&l.device_in[s], PIECE));
      CU (cudaMalloc (&l.device_out[s], PIECE));
    }
  for (gsize n : { 4, 16, 128, 1024 })
    run_loads (&l, n, options->repeat);
  for (guint s = 0; s < N_STREAMS; s++)
    {
      CU (cudaStreamDestroy (l.stream[s]));
      CU (cudaFree (l.device_in[s]));
      CU (cudaFree (l.device_out[s]));
    }
  hass_memory_free (l.in);
  hass_memory_free (l.out);
  return 0;
}
