/* SPDX-License-Identifier: MIT */
/* cublas_plan.cu: launches that repeat, in memory that is kept for them.

   DESIGN. A call of cuBLAS takes the launching thread 12 us on an H200, and an
   operation of 25 such calls 300 us, of which the GPU needs 110. So the calls
   are captured as a CUDA graph, whose launch takes 3 us. A graph has the
   addresses that were captured, so what it works on is copied into memory that
   is the plan's own.

   The first run of a plan is not captured: cuBLAS may load kernels then.

   Thread safety: see cublas-private.h. */
#include "cublas-private.h"

/* Plans of one shape: one more waits for the one that was used longest ago. Two
   keep the GPU busy, as one fills it for most of its time. */
#define MOST_ALIKE 2
/* Plans of a device: more take more of its memory. */
#define MOST_PLANS 8
/* What cuBLAS asks for on GPUs of this kind. */
#define WORKSPACE_BYTES (32 << 20)

static gboolean
is_alike (const LaPlan *p, const LaShape *shape)
{
  return p->shape.type == shape->type && p->shape.upper == shape->upper
         && p->shape.rows == shape->rows && p->shape.n == shape->n;
}

/* Makes the present stream wait for the plan's last run. */
static gboolean
follow (const LaDevice *d, const LaPlan *p, GError **error)
{
  return hass_cuda_check (cudaStreamWaitEvent (d->stream, p->ended, 0),
                          "wait for a plan", error);
}

/* Frees the plan behind its last run. */
static void
destroy (LaDevice *d, LaPlan *p)
{
  follow (d, p, NULL);
  la_release (d, p->memory);
  if (p->graph)
    cudaGraphExecDestroy (p->graph);
  cudaEventDestroy (p->ended);
  g_free (p);
}

static LaPlan *
take_last (LaDevice *d)
{
  LaPlan **at = &d->plans;
  while ((*at)->next)
    at = &(*at)->next;
  LaPlan *p = *at;
  *at = NULL;
  return p;
}

/* Other plans are destroyed if there is no memory. */
static gboolean
get_memory (LaDevice *d, gsize bytes, gpointer *memory, GError **error)
{
  GError *inner = NULL;
  while (!la_get_memory (d, bytes, memory, &inner))
    {
      if (!d->plans
          || !g_error_matches (inner, HASS_ERROR, HASS_ERROR_NO_MEMORY))
        {
          g_propagate_error (error, inner);
          return FALSE;
        }
      g_clear_error (&inner);
      destroy (d, take_last (d));
    }
  return TRUE;
}

static LaPlan *
make (LaDevice *d, const LaShape *shape, gsize bytes, GError **error)
{
  LaPlan plan = { NULL, *shape };
  if (!get_memory (d, bytes + WORKSPACE_BYTES, &plan.memory, error))
    return NULL;
  plan.workspace = (guint8 *)plan.memory + bytes;
  /* Rows that no tile has are computed, too. */
  if (hass_cuda_check (cudaMemsetAsync (plan.memory, 0, bytes, d->stream),
                       "clear memory for BLAS", error)
      && hass_cuda_check (
          cudaEventCreateWithFlags (&plan.ended, cudaEventDisableTiming),
          "make an event", error))
    return (LaPlan *)g_memdup2 (&plan, sizeof plan);
  la_release (d, plan.memory);
  return NULL;
}

LaPlan *
la_plan_take (LaDevice *d, const LaShape *shape, gsize bytes, GError **error)
{
  LaPlan **alike = NULL; /* the one to use: idle, else the last */
  guint n = 0, n_alike = 0;
  gboolean idle = FALSE;
  for (LaPlan **at = &d->plans; *at; at = &(*at)->next, n++)
    if (is_alike (*at, shape))
      {
        n_alike++;
        if (!idle)
          alike = at;
        idle = idle || cudaEventQuery ((*at)->ended) == cudaSuccess;
      }
  LaPlan *p;
  if (idle || n_alike == MOST_ALIKE)
    {
      p = *alike;
      *alike = p->next;
      if (!follow (d, p, error))
        {
          p->next = d->plans;
          d->plans = p;
          return NULL;
        }
    }
  else
    {
      if (n == MOST_PLANS)
        destroy (d, take_last (d));
      p = make (d, shape, bytes, error);
      if (!p)
        return NULL;
    }
  p->next = d->plans;
  return d->plans = p;
}

static gboolean
capture (LaDevice *d, LaPlan *p, LaLaunchFunc launch, gconstpointer data,
         GError **error)
{
  cudaGraph_t graph = NULL;
  if (!la_check_blas (
          cublasSetWorkspace (d->blas, p->workspace, WORKSPACE_BYTES),
          "set cuBLAS' workspace", error)
      || !hass_cuda_check (
          cudaStreamBeginCapture (d->stream, cudaStreamCaptureModeRelaxed),
          "begin to capture", error))
    return FALSE;
  gboolean ok = launch (d, data, error);
  cudaError_t code = cudaStreamEndCapture (d->stream, &graph);
  ok = ok && hass_cuda_check (code, "capture", error)
       && hass_cuda_check (cudaGraphInstantiate (&p->graph, graph, 0),
                           "make a graph", error);
  if (graph)
    cudaGraphDestroy (graph);
  cudaGetLastError ();
  return ok;
}

gboolean
la_plan_run (LaDevice *d, LaPlan *p, LaLaunchFunc launch, gconstpointer data,
             GError **error)
{
  if (!p->has_run)
    return p->has_run = launch (d, data, error);
  if (!p->graph && !capture (d, p, launch, data, error))
    return FALSE;
  return hass_cuda_check (cudaGraphLaunch (p->graph, d->stream),
                          "launch a graph", error);
}

gboolean
la_plan_leave (LaDevice *d, LaPlan *p, GError **error)
{
  return hass_cuda_check (cudaEventRecord (p->ended, d->stream),
                          "record an event", error);
}
