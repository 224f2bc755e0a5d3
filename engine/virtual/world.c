/* SPDX-License-Identifier: MIT */
/* world.c: the state of a modelled machine: the queue of events, its links and
   the costs of units. The DESIGN paragraph is in virtual-private.h.
   Thread safety: by the world's thread. */
#include "virtual-private.h"

#include <gio/gio.h>

#include "engine/stream/stream.h"

/* -- Events ------------------------------------------------------------- */

static gboolean
earlier (const HassVirtualDue *a, const HassVirtualDue *b)
{
  return a->t != b->t ? a->t < b->t : a->order < b->order;
}

void
hass_virtual_push (HassVirtualWorld *w, HassVirtualDue event)
{
  event.order = w->n_events++;
  g_array_append_val (w->heap, event);
  HassVirtualDue *h = (HassVirtualDue *)w->heap->data;
  guint i = w->heap->len - 1;
  for (; i > 0 && earlier (&event, &h[(i - 1) / 2]); i = (i - 1) / 2)
    h[i] = h[(i - 1) / 2];
  h[i] = event;
}

HassVirtualDue
hass_virtual_pop (HassVirtualWorld *w)
{
  HassVirtualDue *h = (HassVirtualDue *)w->heap->data;
  guint n = w->heap->len - 1, i = 0;
  HassVirtualDue top = h[0], moved = h[n];
  for (;;)
    {
      guint child = 2 * i + 1;
      if (child >= n)
        break;
      if (child + 1 < n && earlier (&h[child + 1], &h[child]))
        child++;
      if (!earlier (&h[child], &moved))
        break;
      h[i] = h[child];
      i = child;
    }
  h[i] = moved;
  g_array_set_size (w->heap, n);
  return top;
}

/* Makes the event that a busy core has finished a mere wake-up. Returns: what
   it was. */
HassVirtualDue
hass_virtual_cancel (HassVirtualWorld *w, gint core)
{
  HassVirtualDue *due = (HassVirtualDue *)w->heap->data;
  while (due->core != core)
    due++;
  HassVirtualDue was = *due;
  due->core = -1;
  return was;
}

/* Moves the time at which a busy core has finished. */
void
hass_virtual_move (HassVirtualWorld *w, guint core, gint64 t)
{
  HassVirtualDue due = hass_virtual_cancel (w, (gint)core);
  due.t = t;
  hass_virtual_push (w, due);
}

static gint
by_time (gconstpointer a, gconstpointer b)
{
  return earlier (a, b) ? -1 : 1;
}

/* Restores the order of the event queue after times in it were changed. */
void
hass_virtual_sort (HassVirtualWorld *w)
{
  /* An array in ascending order is a heap. */
  g_array_sort (w->heap, by_time);
}

/* Returns the time until which the GPU's link is occupied in a direction. */
gint64 *
hass_virtual_gpu_link (HassVirtualGpu *gpu, gboolean out)
{
  HassVirtualLink *link = &gpu->world->links[gpu->model->link];
  return out && gpu->model->duplex ? &link->out_free : &link->in_free;
}

/* -- What things cost --------------------------------------------------- */

/* Returns a random factor for a duration, of mean 1 and of the platform's noise
   as its relative standard deviation; 1 if there is none. It is log-normal, so
   that no duration is negative. If z is normal, the mean of exp (sigma z) is
   exp (sigma^2 / 2), and its variance that mean squared times
   exp (sigma^2) - 1. */
double
hass_virtual_noise (HassVirtualWorld *w)
{
  double noise = w->platform->noise;
  if (noise == 0)
    return 1;
  double variance = log1p (noise * noise); /* sigma^2 */
  double u = 1 - g_rand_double (w->rand), v = g_rand_double (w->rand);
  double z = sqrt (-2 * log (u)) * cos (2 * G_PI * v);
  return exp (sqrt (variance) * z - variance / 2);
}

/* Returns the true work of the units of an extent on a device, as the model
   says or by the costs of the loads. Units in their order of emission are
   looked up in one call. */
double
hass_virtual_cost (const HassVirtualWorld *w, const HassRound *round,
                   guint device, HassExtent e)
{
  const HassVirtualModel *m = w->model;
  double cost = 0;
  if (m && m->cost && !hass_round_order (round))
    return m->cost (m->data, round->number, device, e.first, e.n);
  if (m && m->cost)
    {
      for (guint32 i = 0; i < e.n; i++)
        cost += m->cost (m->data, round->number, device,
                         hass_round_unit (round, e.first + i), 1);
      return cost;
    }
  if (round->divisible)
    return hass_round_work_taken (round, e);
  for (guint32 i = 0; i < e.n; i++)
    cost += hass_round_true_cost (round, e.first + i);
  return cost;
}

/* -- What tokens of a pipeline cost -------------------------------------- */

/* Returns the work of a token at a stage on a device, in the platform's unit.
 */
double
hass_virtual_token_work (const HassVirtualWorld *w, guint stage, guint device,
                         const HassToken *token)
{
  const HassVirtualModel *m = w->model;
  if (m && m->token_work)
    return m->token_work (m->data, stage, device, token);
  if (token->load->cost > 0)
    return token->load->cost;
  return token->input_bytes > 0 ? (double)token->input_bytes : 1;
}

/* Returns the rate of a core at a stage, in work per ns. */
double
hass_virtual_core_rate (const HassVirtualWorld *w, guint stage)
{
  double rate = hass_platform_stage_rate (
      w->platform, w->job->farm->stages[stage].name, NULL);
  return rate > 0 ? rate : w->platform->core_work_per_ns;
}

/* Returns the time of the kernels of a grant, in ns: those of the stages that
   the device computes, one after another. */
double
hass_virtual_flow_kernel_ns (HassVirtualGpu *gpu, gsize n)
{
  HassVirtualWorld *w = gpu->world;
  HassSlot *slot = gpu->round;
  double ns = 0;
  for (guint s = slot->stage; s <= slot->stage + slot->fused; s++)
    {
      const HassStage *stage = &w->job->farm->stages[s];
      HassGpuModel model = *gpu->model;
      double rate
          = hass_platform_stage_rate (w->platform, stage->name, model.name);
      double work = 0;
      if (rate > 0)
        model.work_per_ns = rate;
      for (guint32 i = 0; i < gpu->extent.n; i++)
        work += hass_virtual_token_work (
            w, s, gpu->d, hass_ticket_token (slot, gpu->extent.first + i));
      ns += hass_model_kernel_ns (&model, work,
                                  n * MAX (stage->element_threads, 1));
    }
  return ns;
}

/* -- The end ------------------------------------------------------------ */

/* Stops the farm if it is past its deadline or was cancelled. */
void
hass_virtual_check_stop (HassVirtualWorld *w)
{
  HassJob *job = w->job;
  GCancellable *cancellable = job->farm->run->cancellable;
  hass_job_check_deadline (job, w->clock);
  if (cancellable && g_cancellable_is_cancelled (cancellable)
      && !hass_job_stopping (job))
    hass_job_fail (job, HASS_ERROR_CANCELLED, "it was cancelled");
}

/* -- State -------------------------------------------------------------- */

void
hass_virtual_world_init (HassVirtualWorld *w, guint n_devices)
{
  const HassPlatform *p = w->platform;
  guint64 seed = w->job->farm->run->seed;
  w->heap = g_array_new (FALSE, FALSE, sizeof (HassVirtualDue));
  w->work = g_array_new (FALSE, FALSE, sizeof (double));
  w->elements = g_array_new (FALSE, FALSE, sizeof (guint64));
  w->core_busy = g_new0 (gboolean, MAX (p->cores, 1));
  w->batches = g_new0 (struct HassBatch *, MAX (p->cores, 1));
  w->loops = g_new0 (HassVirtualLoop, MAX (p->cores, 1));
  w->core_begins = g_new0 (gint64, MAX (p->cores, 1));
  w->links = g_new0 (HassVirtualLink, MAX (p->n_links, 1));
  w->rand = g_rand_new_with_seed ((guint32)(seed ^ seed >> 32));
  w->again_ns = g_new0 (gint64, n_devices);
  w->open_ns = g_new0 (gint64, n_devices);
  w->slower = g_new (double, n_devices);
  w->happened = g_new0 (gboolean, w->model ? w->model->n_events : 0);
  w->entered = g_new0 (gboolean, n_devices);
  w->entry_bytes = g_new0 (guint64, n_devices);
  w->bytes_before = g_new0 (guint64, n_devices);
  w->bytes = g_new0 (guint64, n_devices);
  for (guint d = 0; d < n_devices; d++)
    w->slower[d] = 1;
}

void
hass_virtual_world_clear (HassVirtualWorld *w)
{
  g_rand_free (w->rand);
  g_array_unref (w->heap);
  g_array_unref (w->work);
  g_array_unref (w->elements);
  g_free (w->core_busy);
  g_free (w->batches);
  g_free (w->loops);
  g_free (w->core_begins);
  g_free (w->links);
  g_free (w->again_ns);
  g_free (w->open_ns);
  g_free (w->slower);
  g_free (w->happened);
  g_free (w->entered);
  g_free (w->entry_bytes);
  g_free (w->bytes_before);
  g_free (w->bytes);
}
