/* SPDX-License-Identifier: MIT */
/* fault.c: errors of the CUDA runtime, and what they leave unusable.

   DESIGN. An error belongs to one call, to one GPU or to the process:
   - Most errors belong to the call that returned them.
   - A GPU whose kernel does not end within its deadline hangs, until the
     process ends.
   - After a sticky error every call of the process fails, on all GPUs: the
     context is broken.
   A GPU is also unusable when it was remembered but not found (look.c).

   Thread safety: any thread, with one lock over the text; the last section: the
   device's proxy thread. */
#include "cuda-private.h"

#include <stdatomic.h>

#include "hass/error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char problem[256]; /* why there is no GPU, or ""; guarded by `lock` */
static _Atomic gboolean broken, any_hung;

/* -- The process -------------------------------------------------------- */

gboolean
hass_gpus_broken (void)
{
  return atomic_load_explicit (&broken, memory_order_relaxed);
}

/* Notes that the CUDA context of the process is broken, for the reason @why:
   no GPU is used from now on. Only the first reason is kept, and said, since
   what follows may be a hundred times slower. */
void
hass_gpus_break (const char *why)
{
  pthread_mutex_lock (&lock);
  if (!hass_gpus_broken ())
    {
      g_snprintf (problem, sizeof problem,
                  "no GPU works in this process since: %s", why);
      g_printerr ("hass: %s\n", problem);
    }
  atomic_store_explicit (&broken, TRUE, memory_order_relaxed);
  pthread_mutex_unlock (&lock);
}

/* Notes why no GPUs were found (@why), "" if some were. The reason for which
   the context is broken is never replaced. */
void
hass_gpus_note_problem (const char *why)
{
  pthread_mutex_lock (&lock);
  if (!hass_gpus_broken ())
    g_strlcpy (problem, why, sizeof problem);
  pthread_mutex_unlock (&lock);
}

/* Returns: the reason noted last why there is no GPU, or NULL. Does not look
   for GPUs. */
const char *
hass_gpus_known_problem (void)
{
  pthread_mutex_lock (&lock);
  const char *why = problem[0] ? problem : NULL;
  pthread_mutex_unlock (&lock);
  return why;
}

/* Clears the noted problem and the mark of a broken context. Called before the
   GPUs are looked for anew. */
void
hass_gpus_mend (void)
{
  pthread_mutex_lock (&lock);
  problem[0] = '\0';
  atomic_store_explicit (&broken, FALSE, memory_order_relaxed);
  pthread_mutex_unlock (&lock);
}

/* Clears the mark that some GPU of the process hangs. Called when all GPUs are
   forgotten. */
void
hass_gpus_forget_hung (void)
{
  atomic_store_explicit (&any_hung, FALSE, memory_order_relaxed);
}

/* -- One GPU ------------------------------------------------------------ */

/* Marks the GPU as hanging: one of its kernels has not ended within its
   deadline. */
void
hass_gpu_note_hung (HassGpu *gpu)
{
  atomic_store_explicit (&gpu->hung, TRUE, memory_order_relaxed);
  atomic_store_explicit (&any_hung, TRUE, memory_order_relaxed);
}

gboolean
hass_gpu_hangs (const HassGpu *gpu)
{
  return atomic_load_explicit (&((HassGpu *)gpu)->hung, memory_order_relaxed);
}

/* Returns: whether some GPU of the process hangs. If so, callers must not pin
   or unpin memory, since CUDA would wait for the kernel that hangs and never
   return. */
gboolean
hass_gpus_hang (void)
{
  return atomic_load_explicit (&any_hung, memory_order_relaxed);
}

gboolean
hass_gpu_usable (HassGpu *gpu, GError **error)
{
  if (hass_gpu_hangs (gpu))
    g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
                 "%s has not come back from a kernel", gpu->name);
  else if (atomic_load_explicit (&gpu->stale, memory_order_relaxed))
    {
      const char *why = hass_gpus_known_problem ();
      g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
                   "%s: the GPUs are not those that were remembered%s%s",
                   gpu->name, why ? ": " : "", why ? why : "");
    }
  else if (hass_gpus_broken ())
    g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "%s: %s", gpu->name,
                 hass_gpus_known_problem ());
  else
    return TRUE;
  return FALSE;
}

/* -- One call ----------------------------------------------------------- */

/* Checks the result @code of a call of the CUDA runtime; @what names the call.
   Returns: TRUE for success. Otherwise sets @error, clears the runtime's last
   error and, after a sticky error (one after which all calls fail), marks the
   context of the process as broken. */
gboolean
hass_gpu_check (const HassGpu *gpu, int code, const char *what, GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  if (code == 0)
    return TRUE;
  HassCudaKind kind = cuda->classify (code);
  g_autofree char *message
      = g_strdup_printf ("%s: %s: %s", gpu->name, what, cuda->text (code));
  cuda->last_error ();
  if (kind == HASS_CUDA_STICKY)
    hass_gpus_break (message);
  g_set_error_literal (error, HASS_ERROR,
                       kind == HASS_CUDA_NO_MEMORY ? HASS_ERROR_NO_MEMORY
                                                   : HASS_ERROR_DEVICE,
                       message);
  return FALSE;
}

/* -- What was enqueued ---------------------------------------------------- */

/* Returns: whether what was asked for with the answer @code has ended; FALSE
   with an error, which begins with @what, if the call failed. */
gboolean
hass_cuda_has_ended (HassCudaDevice *d, int code, const char *what,
                     GError **error)
{
  const HassCudart *cuda = hass_cudart ();
  if (cuda->classify (code) == HASS_CUDA_NOT_READY)
    {
      cuda->last_error ();
      return FALSE;
    }
  return hass_gpu_check (d->gpu, code, what, error);
}

/* Returns: whether the event has completed; FALSE with an error if the device
   is broken. */
gboolean
hass_cuda_passed (HassCudaDevice *d, gpointer event, const char *what,
                  GError **error)
{
  return hass_cuda_has_ended (d, hass_cudart ()->event_query (event), what,
                              error);
}

gboolean
hass_cuda_past_deadline (HassCudaDevice *d, gint64 since_ns)
{
  gint64 deadline = d->farm->bundle_deadline_ns;
  return deadline > 0 && hass_clock_ns () >= since_ns + deadline;
}

/* Marks the GPU as hanging and sets @error, which names @what has exceeded the
   deadline. */
void
hass_cuda_note_hung (HassCudaDevice *d, const char *what, GError **error)
{
  hass_gpu_note_hung (d->gpu);
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
               "%s: %s took longer than %" G_GINT64_FORMAT " ms", d->gpu->name,
               what, d->farm->bundle_deadline_ns / 1000000);
}
