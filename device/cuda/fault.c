/* SPDX-License-Identifier: MIT */
/* fault.c: errors of the CUDA runtime, and what they leave unusable.

   DESIGN. An error belongs to one call, to one GPU or to the process:
   - Most errors belong to the call that returned them.
   - A GPU whose kernel does not end within its deadline hangs, until the
     process ends.
   - After a sticky error every call of the process fails, on all GPUs: the
     context is broken.
   A GPU is also unusable when it was remembered but not found (look.c).

   Thread safety: any thread; one lock over the text. */
#include "gpus-private.h"

#include <stdatomic.h>

#include "hass/error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char problem[256]; /* why there is no GPU, or ""; lock */
static _Atomic gboolean broken, any_hung;

/* -- The process -------------------------------------------------------- */

gboolean
hass_gpus_broken (void)
{
  return atomic_load_explicit (&broken, memory_order_relaxed);
}

/* The CUDA context of the process is unusable from now on. */
void
hass_gpus_break (const char *why)
{
  pthread_mutex_lock (&lock);
  if (!hass_gpus_broken ())
    g_snprintf (problem, sizeof problem,
                "no GPU works in this process since: %s", why);
  atomic_store_explicit (&broken, TRUE, memory_order_relaxed);
  pthread_mutex_unlock (&lock);
}

/* Why looking for GPUs found none, or ""; a broken context keeps its reason. */
void
hass_gpus_note_problem (const char *why)
{
  pthread_mutex_lock (&lock);
  if (!hass_gpus_broken ())
    g_strlcpy (problem, why, sizeof problem);
  pthread_mutex_unlock (&lock);
}

/* The reason that was noted last, without looking for GPUs; or NULL. */
const char *
hass_gpus_known_problem (void)
{
  pthread_mutex_lock (&lock);
  const char *why = problem[0] ? problem : NULL;
  pthread_mutex_unlock (&lock);
  return why;
}

/* The GPUs are looked for anew: earlier problems no longer count. */
void
hass_gpus_mend (void)
{
  pthread_mutex_lock (&lock);
  problem[0] = '\0';
  atomic_store_explicit (&broken, FALSE, memory_order_relaxed);
  pthread_mutex_unlock (&lock);
}

/* The GPUs are forgotten, and with them those that hang. */
void
hass_gpus_forget_hung (void)
{
  atomic_store_explicit (&any_hung, FALSE, memory_order_relaxed);
}

/* -- One GPU ------------------------------------------------------------ */

/* A kernel of the GPU has not ended within its deadline. */
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

/* Whether some GPU of the process hangs. Then pinning and unpinning memory
   would never return. */
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

/* TRUE if the runtime's @code is success. Otherwise sets @error, which names
   @what was called, clears the runtime's last error, and marks the process as
   broken after a sticky error. */
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
