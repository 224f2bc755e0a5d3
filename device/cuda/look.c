/* SPDX-License-Identifier: MIT */
/* look.c: which GPUs there are.

   DESIGN. The runtime lists the GPUs, but its first call takes about 0.1 s. So
   a farm that can do without GPUs uses the list that an earlier process stored
   (remembered.c), and the first start of a GPU asks the runtime on its own
   thread. If the runtime lists other GPUs, the remembered ones become stale:
   they cannot be opened any more, but are not freed, since farms may hold them;
   later farms get the GPUs that the runtime lists.

   The runtime is asked under a lock of its own, so that a thread that only
   reads the known list does not wait for the runtime.

   Thread safety: any thread. */
#include "gpus-private.h"

#include <stdatomic.h>
#include <string.h>

#include "hass/error.h"
#include "device/cpu/topology.h"

typedef enum
{
  UNKNOWN,
  REMEMBERED,
  SEEN
} Knowledge;

/* Held while the CUDA runtime lists the GPUs, or while the file with the GPUs
   found by an earlier process is read. Lock order: taken before `lock`. */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
/* Guards the variables below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Knowledge knowledge;
static const HassCudart *looked_with; /* the runtime that listed the GPUs */
static guint n_found;
/* How long a start has taken, in ns; 0: unknown: by the stored list, and the
   longest one of this process. */
static gint64 start_ns, longest_ns;
static HassGpu *gpus[HASS_MOST_GPUS];
/* HassGpu: GPUs of the stored list that the runtime does not list; or NULL. */
static GPtrArray *stale;
static _Atomic guint noted; /* HassGpusNote */

/* -- Looking ------------------------------------------------------------ */

static Knowledge
known_locked (void)
{
  return looked_with == hass_cudart () ? knowledge : UNKNOWN;
}

static Knowledge
known (void)
{
  pthread_mutex_lock (&lock);
  Knowledge k = known_locked ();
  pthread_mutex_unlock (&lock);
  return k;
}

/* Puts the GPUs that the CUDA runtime lists into @list, which is empty; if
   there are none, @why says why. A list is too large for a thread's stack. */
static void
ask (const HassCudart *cuda, HassGpuList *list, char why[256])
{
  int n = 0;
  int code = cuda->device_count (&n);
  if (code != 0)
    g_strlcpy (why, cuda->text (code), 256);
  else if (n == 0)
    g_strlcpy (why, "there is no CUDA device", 256);
  if (code != 0)
    cuda->last_error ();
  for (int i = 0; code == 0 && i < MIN (n, HASS_MOST_GPUS); i++)
    {
      code = cuda->properties (i, &list->gpus[i]);
      if (code == 0)
        list->n++;
      else
        {
          g_snprintf (why, 256, "gpu%d cannot be described: %s", i,
                      cuda->text (code));
          cuda->last_error ();
        }
    }
}

/* Sets the link number of each GPU if there are several: GPUs behind one PCI
   Express bridge share a link, and their copies compete. */
static void
find_links (void)
{
  const char *pcis[HASS_MOST_GPUS];
  guint links[HASS_MOST_GPUS];
  if (n_found < 2)
    return;
  for (guint i = 0; i < n_found; i++)
    pcis[i] = gpus[i]->properties.pci;
  hass_topology_links (pcis, n_found, links);
  for (guint i = 0; i < n_found; i++)
    gpus[i]->link = links[i];
}

static void
take_locked (const HassCudart *cuda, Knowledge k, const HassGpuList *list)
{
  looked_with = cuda;
  knowledge = k;
  n_found = list->n;
  for (guint i = 0; i < n_found; i++)
    gpus[i] = hass_gpu_new (i, &list->gpus[i]);
  find_links ();
}

static gboolean
as_remembered_locked (const HassGpuList *list)
{
  gboolean same = list->n == n_found;
  for (guint i = 0; i < n_found && same; i++)
    same = hass_gpu_alike (&gpus[i]->properties, &list->gpus[i]);
  return same;
}

static void
make_stale_locked (void)
{
  if (!stale)
    stale = g_ptr_array_new ();
  for (guint i = 0; i < n_found; i++)
    {
      atomic_store_explicit (&gpus[i]->stale, TRUE, memory_order_relaxed);
      g_ptr_array_add (stale, gpus[i]);
    }
  n_found = 0;
}

/* Makes the list of GPUs the one of the CUDA runtime: asks the runtime unless
   that has been done, and stores its answer for later processes. If a stored
   list was used so far and differs, its GPUs become stale: they cannot be
   opened any more. */
void
hass_gpus_look (void)
{
  const HassCudart *cuda = hass_cudart ();
  char why[256] = "";
  pthread_mutex_lock (&looking);
  if (known () != SEEN)
    {
      g_autofree HassGpuList *list = g_new0 (HassGpuList, 1);
      if (cuda)
        ask (cuda, list, why);
      else
        g_strlcpy (why, "hass was built without CUDA", sizeof why);
      pthread_mutex_lock (&lock);
      gboolean remembered = known_locked () == REMEMBERED;
      if (!remembered)
        hass_gpus_mend ();
      if (remembered && as_remembered_locked (list))
        knowledge = SEEN;
      else
        {
          if (remembered)
            make_stale_locked ();
          take_locked (cuda, SEEN, list);
        }
      hass_gpus_note_problem (why);
      pthread_mutex_unlock (&lock);
      if (cuda)
        hass_gpus_remember (list);
      pthread_mutex_lock (&lock);
      start_ns = list->start_ns;
      pthread_mutex_unlock (&lock);
    }
  pthread_mutex_unlock (&looking);
}

/* Stores how long the longest start has taken, of which this is one, for later
   processes. Takes no lock of a GPU. */
void
hass_gpus_note_start (gint64 ns)
{
  g_autofree HassGpuList *list = g_new0 (HassGpuList, 1);
  pthread_mutex_lock (&looking);
  pthread_mutex_lock (&lock);
  list->n = n_found;
  list->start_ns = longest_ns = MAX (longest_ns, ns);
  for (guint i = 0; i < n_found; i++)
    list->gpus[i] = gpus[i]->properties;
  pthread_mutex_unlock (&lock);
  hass_gpus_remember (list);
  pthread_mutex_unlock (&looking);
}

/* Returns: how long a start has taken in an earlier process, in ns; 0:
   unknown. */
gint64
hass_gpus_remembered_start_ns (void)
{
  pthread_mutex_lock (&lock);
  gint64 ns = start_ns;
  pthread_mutex_unlock (&lock);
  return ns;
}

/* Makes the list of GPUs the stored one of an earlier process, unless the list
   is known already; asks the runtime if nothing is stored. The stored list
   saves the time of starting the driver. */
static void
recall (void)
{
  const HassCudart *cuda = hass_cudart ();
  gboolean found = TRUE;
  pthread_mutex_lock (&looking);
  if (known () == UNKNOWN)
    {
      g_autofree HassGpuList *list = g_new0 (HassGpuList, 1);
      found = cuda && hass_gpus_recall (list);
      pthread_mutex_lock (&lock);
      if (found)
        {
          hass_gpus_mend ();
          take_locked (cuda, REMEMBERED, list);
          start_ns = list->start_ns;
        }
      pthread_mutex_unlock (&lock);
    }
  pthread_mutex_unlock (&looking);
  if (!found)
    hass_gpus_look ();
}

/* Frees all GPUs with what they hold; no GPU is known afterwards. Called after
   the last start of a GPU has ended. */
void
hass_gpus_drop (void)
{
  const HassCudart *cuda = hass_cudart ();
  pthread_mutex_lock (&lock);
  longest_ns = 0;
  for (guint i = 0; i < n_found; i++)
    {
      /* Only a GPU that was started holds anything, and must be the current
         device when this is freed. */
      if (gpus[i]->start == HASS_GPU_READY)
        cuda->set_device ((int)i);
      hass_gpu_free (gpus[i]);
    }
  for (guint i = 0; stale && i < stale->len; i++)
    hass_gpu_free (stale->pdata[i]);
  g_clear_pointer (&stale, g_ptr_array_unref);
  n_found = 0;
  knowledge = UNKNOWN;
  looked_with = NULL;
  hass_gpus_mend ();
  atomic_store_explicit (&noted, 0, memory_order_relaxed);
  pthread_mutex_unlock (&lock);
}

/* -- Asking ------------------------------------------------------------- */

static guint
most_gpus (void)
{
  const char *text = g_getenv ("HASS_NGPU");
  guint64 most = HASS_MOST_GPUS;
  if (text && *text
      && !g_ascii_string_to_unsigned (text, 10, 0, HASS_MOST_GPUS, &most, NULL))
    /* An invalid value is ignored here; the farm refuses it with an error. */
    most = HASS_MOST_GPUS;
  return hass_gpus_broken () ? 0 : (guint)most;
}

static guint
count (void)
{
  pthread_mutex_lock (&lock);
  guint n = n_found;
  pthread_mutex_unlock (&lock);
  return MIN (n, most_gpus ());
}

/* Returns: the number of GPUs that farms may use: those that the CUDA driver
   lists, which obeys CUDA_VISIBLE_DEVICES, but at most HASS_NGPU. With
   HASS_NGPU=0 the driver is not called. */
guint
hass_gpus_count (void)
{
  if (most_gpus () == 0)
    return 0;
  hass_gpus_look ();
  return count ();
}

/* Returns: the number of GPUs that farms may probably use: as
   hass_gpus_count(), but from the list stored by an earlier process if there
   is one, so that the driver need not be started. For farms that can run
   without GPUs. */
guint
hass_gpus_expected (void)
{
  if (most_gpus () == 0)
    return 0;
  if (known () == UNKNOWN)
    recall ();
  return count ();
}

/* Returns: why farms have no GPUs, or NULL if no reason is known. May look for
   GPUs. */
const char *
hass_gpus_problem (void)
{
  const char *text = g_getenv ("HASS_NGPU");
  if (text && strcmp (text, "0") == 0)
    return "HASS_NGPU is 0";
  if (known () == UNKNOWN)
    hass_gpus_look ();
  return hass_gpus_known_problem ();
}

/* Returns: the GPU with this index, which counts from 0 to hass_gpus_count()
   or hass_gpus_expected(); NULL if there is no such GPU any more. */
HassGpu *
hass_gpus_get (guint index)
{
  pthread_mutex_lock (&lock);
  HassGpu *gpu = index < n_found ? gpus[index] : NULL;
  pthread_mutex_unlock (&lock);
  return gpu;
}

/* Returns: the GPU with this index, where the stale GPUs (of the stored list,
   but not listed by the runtime) follow the present ones; NULL beyond the last
   one. For visiting all GPUs that may hold something. */
HassGpu *
hass_gpus_get_any (guint index)
{
  pthread_mutex_lock (&lock);
  guint behind = index - n_found;
  HassGpu *gpu = index < n_found                ? gpus[index]
                 : stale && behind < stale->len ? stale->pdata[behind]
                                                : NULL;
  pthread_mutex_unlock (&lock);
  return gpu;
}

/* Notes what has happened in the process since the GPUs were last dropped. */
void
hass_gpus_note (HassGpusNote what)
{
  atomic_fetch_or_explicit (&noted, what, memory_order_relaxed);
}

/* Returns: whether one of @what was noted. */
gboolean
hass_gpus_noted (guint what)
{
  return (atomic_load_explicit (&noted, memory_order_relaxed) & what) != 0;
}
