/* SPDX-License-Identifier: MIT */
/* virtual.c: runs a farm on a modelled machine, with an event queue and a
   virtual clock: its cores and the loop over events. The DESIGN paragraph is
   in virtual-private.h.
   Thread safety: each call has a world of its own. */
#include "virtual-private.h"

#include "device/kinds.h"
#include "device/memory_limit.h"
#include "engine/stream/stream.h"

#include <string.h>

/* -- 1. Asking ---------------------------------------------------------- */

/* Returns: whether the round, which may be NULL, is running and not open. */
static gboolean
is_running (const HassSlot *slot)
{
  return slot && !slot->round.ready && slot->state == HASS_SLOT_RUNNING;
}

/* Returns the round from which cores may pull now, an open one first; NULL:
   there is none. */
static HassSlot *
pullable (HassJob *job, HassSlot *slot)
{
  HassSlot *open = hass_open_slot (job, HASS_DEVICE_CPU);
  if (open && hass_decide_cpu (job, open))
    return open;
  return is_running (slot) && hass_decide_cpu (job, slot) ? slot : NULL;
}

static gboolean
feed_cores (HassVirtualWorld *w, HassSlot *running)
{
  HassJob *job = w->job;
  gboolean any = FALSE;
  for (guint c = w->first_idle; w->n_busy < job->n_cores && c < job->n_cores;
       c++)
    {
      if (w->core_busy[c] || w->clock < w->core_begins[c])
        continue;
      HassSlot *slot = pullable (job, running);
      if (!slot)
        break;
      HassWorker *worker = &job->workers[c];
      HassExtent e
          = hass_round_pull (&slot->round, hass_chunk (job, worker, slot));
      if (e.n == 0)
        break;
      double cost = hass_virtual_cost (w, &slot->round, job->cpu, e);
      double ns = w->platform->pull_ns
                  + cost / w->platform->core_work_per_ns
                        * hass_virtual_noise (w) * w->slower[job->cpu];
      worker->unit_ns
          = worker->unit_ns > 0 ? 0.5 * (worker->unit_ns + ns / e.n) : ns / e.n;
      worker->last_chunk = e.n;
      job->totals[job->cpu].cost += cost;
      hass_virtual_occupy (w, c);
      if (job->spoliates && !slot->round.ready)
        {
          hass_in_hand_begin (worker, slot, e, w->clock);
          atomic_store (&worker->in_hand.asked, TRUE);
        }
      gint64 end = hass_virtual_later (w, w->clock, MAX (ns, 1));
      hass_virtual_push (w, (HassVirtualDue){ .t = end,
                                              .core = (gint)c,
                                              .slot = slot,
                                              .extent = e,
                                              .begin = w->clock });
      any = TRUE;
    }
  return any;
}

/* Cores give back what was taken from them. Returns: whether any did. */
static gboolean
let_go (HassVirtualWorld *w)
{
  HassJob *job = w->job;
  gboolean any = FALSE;
  for (guint c = 0; job->spoliates && c < job->n_cores; c++)
    {
      HassWorker *worker = &job->workers[c];
      if (!w->core_busy[c] || !worker->unneeded || !*worker->unneeded)
        continue;
      HassVirtualDue due = hass_virtual_cancel (w, (gint)c);
      hass_virtual_vacate (w, c);
      job->totals[job->cpu].cost
          -= hass_virtual_cost (w, &due.slot->round, job->cpu, due.extent);
      hass_lock_take (&job->decision);
      hass_spoliated (job, worker, due.slot, due.extent);
      hass_lock_give (&job->decision);
      hass_in_hand_end (worker);
      any = TRUE;
    }
  return any;
}

/* Queues a wake-up at the end of each WAIT that the strategy has limited, since
   the strategy is asked again then although nothing was completed. */
static void
wake_again (HassVirtualWorld *w, const HassSlot *slot)
{
  for (guint d = 0; slot && d < w->job->n_devices; d++)
    {
      gint64 again_ns = hass_decide_again_ns (w->job, slot, d);
      if (again_ns > w->clock && again_ns != w->again_ns[d])
        {
          w->again_ns[d] = again_ns;
          hass_virtual_push (w, (HassVirtualDue){ .t = again_ns, .core = -1 });
        }
    }
}

static void
feed (HassVirtualWorld *w, HassSlot *slot)
{
  HassJob *job = w->job;
  while ((is_running (slot) || job->has_opened) && !hass_job_stopping (job))
    {
      guint64 told = job->n_told;
      gboolean any
          = hass_virtual_feed_gpus (w, is_running (slot) ? slot : NULL);
      /* A pull leaves nothing new to devices that found nothing, unless it
         fills an open round, after which another one begins. */
      any |= feed_cores (w, slot) && job->has_opened;
      any |= let_go (w);
      /* If the strategy was told of a completion of the cores meanwhile, GPUs
         that wait may be asked again. */
      any |= job->n_told != told;
      if (!any && !(is_running (slot) && hass_decide_stalled (job, slot))
          && !hass_open_stalled (job))
        break;
    }
  wake_again (w, slot);
  HassSlot *open = atomic_load_explicit (&job->open, memory_order_relaxed);
  if (open != slot)
    wake_again (w, open);
}

/* -- 2. and 3. Events happen -------------------------------------------- */

static void
core_done (HassVirtualWorld *w, const HassVirtualDue *event)
{
  HassJob *job = w->job;
  HassSlot *slot = event->slot;
  HassWorker *worker = &job->workers[event->core];
  hass_virtual_vacate (w, (guint)event->core);
  hass_in_hand_end (worker);
  HassDone done = hass_execute (job, worker, slot, event->extent, job->dry);
  HASS_ANNOUNCE (job, pulled,
                 &(HassPulled){ .round = &slot->round,
                                .first = slot->order_base,
                                .worker = worker->index,
                                .extent = event->extent,
                                .n = done.n,
                                .work = done.work,
                                .failed = done.n_failed > 0,
                                .begin_ns = event->begin,
                                .end_ns = w->clock });
  if (done.n == 0)
    return;
  hass_execute_count (job, worker, slot, done, w->clock - event->begin,
                      w->clock);
  hass_virtual_finished (w, slot, done.n);
}

/* Runs one round, and open ones beside it, until nothing is in flight. Returns:
   FALSE if there was none to run, or the farm is stopping. */
static gboolean
run_round (HassVirtualWorld *w)
{
  HassJob *job = w->job;
  hass_virtual_check_stop (w);
  hass_virtual_pass_gap (w);
  hass_lock_take (&job->decision);
  HassSlot *slot = hass_job_begin_round (job);
  if (!slot)
    slot = hass_open_slot (job, HASS_DEVICE_CPU);
  hass_lock_give (&job->decision);
  if (!slot)
    return FALSE;
  if (slot->round.n_units == 0)
    return TRUE;
  HassRound *round = &slot->round;
  memset (w->entered, 0, job->n_devices * sizeof *w->entered);
  job->n_asked = 0;
  hass_virtual_round_begins (w, slot);
  feed (w, slot);
  while (w->heap->len > 0)
    {
      HassVirtualDue event = hass_virtual_pop (w);
      if (event.core < 0 && !event.gpu
          && ((!is_running (slot)
               && !atomic_load_explicit (&job->open, memory_order_relaxed))
              || hass_job_stopping (job)))
        continue;
      w->clock = event.t;
      hass_virtual_check_stop (w);
      if (event.core >= 0)
        core_done (w, &event);
      else if (event.gpu)
        hass_virtual_go_on (w, &event);
      hass_virtual_let_happen (w, slot);
      feed (w, slot);
    }
  if (!hass_job_stopping (job))
    hass_virtual_tell_of_round (w, round);
  return !hass_job_stopping (job);
}

/* -- The engine --------------------------------------------------------- */

static gint64
now (HassJob *job)
{
  return ((HassVirtualWorld *)job->driver)->clock;
}

static gboolean
make_room (HassJob *job)
{
  HassVirtualWorld *w = job->driver;
  if (w->course)
    return hass_virtual_course_room (job);
  /* run_round() may have begun no round because all waiting loads were refused,
     which makes room, too. */
  while (!hass_load_pool_has_room (job->pool))
    if (!run_round (w) && !hass_load_pool_has_room (job->pool))
      return FALSE;
  return !hass_job_stopping (job);
}

static void
nothing (HassJob *job)
{
  (void)job;
}

static void
changed (HassJob *job)
{
  ((HassVirtualWorld *)job->driver)->changed = TRUE;
}

static const HassEngineOps virtual_ops = {
  .now = now,
  .make_room = make_room,
  .loads_came = nothing,
  .joined = changed,
  .changed = changed,
};

/* Returns: TRUE if a modelled device participates. In a data farm every device
   does: the model runs, not the worker's code. In a function farm a task runs
   on the kinds of devices that it has functions for: a device participates if a
   task may have a function for its kind, as in a live farm, or if there is no
   CPU pool, so that the error names the task. A run with a HassVirtualModel
   uses all devices, because the bench marks the loads itself. */
static gboolean
participates (const HassVirtualWorld *w, const HassFarm *farm,
              const HassGpuModel *gpu)
{
  if (w->model || farm->kind != HASS_FARM_FUNCTION || !w->platform->has_cpu)
    return TRUE;
  if (!gpu->kind)
    return farm->gpu_worker_of != NULL;
  return farm->may_use && hass_device_kind_find (gpu->kind) >= 0
         && farm->may_use (farm->cpu_worker_data, gpu->kind);
}

/* Moves the GPUs that participate to the front of the platform's list, in their
   order. Returns: their number. */
static guint
choose_gpus (const HassVirtualWorld *w, const HassFarm *farm)
{
  HassPlatform *p = w->platform;
  guint n = 0;
  for (guint g = 0; g < p->n_gpus; g++)
    {
      HassGpuModel chosen = p->gpus[g];
      if (!participates (w, farm, &chosen))
        continue;
      memmove (&p->gpus[n + 1], &p->gpus[n], (g - n) * sizeof chosen);
      p->gpus[n++] = chosen;
    }
  return n;
}

static guint32
load_flag (const HassFarm *farm, const HassGpuModel *gpu)
{
  gint kind = gpu->kind ? hass_device_kind_find (gpu->kind) : -1;
  return farm->worker_of && kind >= 0 ? HASS_LOAD_KIND ((guint)kind) : 0;
}

static HassDeviceTraits *
make_devices (HassVirtualWorld *w, const HassFarm *farm, guint *n)
{
  const HassPlatform *p = w->platform;
  HassDeviceTraits *t = g_new0 (HassDeviceTraits, 1 + p->n_gpus);
  w->n_gpus = choose_gpus (w, farm);
  w->gpus = g_new0 (HassVirtualGpu, MAX (w->n_gpus, 1));
  *n = 0;
  if (p->has_cpu)
    t[(*n)++] = (HassDeviceTraits){
      .name = "cpu",
      .kind = HASS_DEVICE_CPU,
      .cores = p->cores,
      .width = p->cores,
      .work_per_ns = p->calibrated ? p->core_work_per_ns * p->cores : 0,
      .max_in_flight = 1
    };
  for (guint g = 0; g < w->n_gpus; g++)
    {
      HassDevice *device = &w->gpus[g].parent;
      hass_virtual_gpu_init (&w->gpus[g], w, g);
      device->ops->describe (device, &t[*n]);
      t[(*n)++].load_flag = load_flag (farm, &p->gpus[g]);
    }
  return t;
}

/* Opens the modelled GPUs. Each accepts its first part at open_ns, when its
   opening time has passed since the farm's begin. */
static void
open_gpus (HassVirtualWorld *w)
{
  HassDeviceFarm farm = { .name = w->job->farm->name,
                          .kind = w->job->farm->kind,
                          .user_data = w->job->farm->user_data };
  for (guint g = 0; g < w->n_gpus; g++)
    {
      HassVirtualGpu *gpu = &w->gpus[g];
      hass_feeder_init (&gpu->feeder, w->job, gpu->d);
      gpu->feeder.busy_times = TRUE;
      /* Without part_bytes a grant is not cut, so the strategy itself decides
         how many copies overlap. */
      gpu->feeder.few_copies = w->job->devices[gpu->d].part_bytes > 0;
      gpu->parent.ops->open (&gpu->parent, &farm, NULL);
      w->open_ns[gpu->d] = gpu->parent.ops->opening_ns (&gpu->parent);
    }
}

static void
close_gpus (HassVirtualWorld *w)
{
  for (guint g = 0; g < w->n_gpus; g++)
    {
      w->gpus[g].parent.ops->close (&w->gpus[g].parent);
      hass_feeder_clear (&w->gpus[g].feeder);
    }
}

static void
drive (HassVirtualWorld *w)
{
  if (w->course)
    {
      hass_virtual_drive_course (w);
      return;
    }
  hass_job_begin (w->job);
  hass_job_generate (w->job);
  while (run_round (w))
    ;
  hass_virtual_check_stop (w);
}

static gboolean
can_compute (const HassFarm *farm, GError **error)
{
  if (farm->run->dry)
    return TRUE;
  for (guint s = 0; s < farm->n_stages; s++)
    if (!farm->stand_in && !hass_stage_has_cpu (farm, s))
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                     "pipeline '%s': a stage has no CPU worker, which computes "
                     "the results of a modelled machine: stage %u of %u",
                     farm->name, s + 1, farm->n_stages);
        return FALSE;
      }
  if (farm->cpu_worker || farm->stand_in)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
               "farm '%s' has no CPU worker, which computes the results "
               "of a modelled machine; a dry run needs none",
               farm->name);
  return FALSE;
}

static void
run (HassVirtualWorld *w, HassReport **report)
{
  HassJob *job = w->job;
  guint first_gpu = hass_virtual_first_gpu (w);
  job->driver = w;
  job->spoliates &= w->model && w->model->stoppable;
  w->course = job->farm->kind == HASS_FARM_DATAFLOW   ? &hass_virtual_dataflow
              : job->farm->kind == HASS_FARM_PIPELINE ? &hass_virtual_flow
                                                      : NULL;
  job->platform_name = w->platform->name;
  if (job->cpu >= 0)
    job->fastest = w->platform->core_work_per_ns;
  for (guint g = 0; g < w->n_gpus; g++)
    job->fastest = MAX (job->fastest, w->platform->gpus[g].work_per_ns);
  for (guint d = 0; d < job->n_devices; d++)
    job->totals[d].rate
        = d < first_gpu ? w->platform->core_work_per_ns * w->platform->cores
                        : w->platform->gpus[d - first_gpu].work_per_ns;
  job->deadline_ns = job->farm->run->deadline_ms * 1000000;
  hass_virtual_world_init (w, job->n_devices);
  open_gpus (w);
  drive (w);
  close_gpus (w);
  hass_job_finish (job);
  hass_job_end (job, w->clock);
  if (report)
    {
      *report = hass_job_report (job, w->clock);
      (*report)->saturated = w->saturated;
    }
  hass_virtual_world_clear (w);
}

gboolean
hass_virtual_run_model (const HassFarm *farm, HassPlatform *platform,
                        const HassVirtualModel *model, HassReport **report,
                        GError **error)
{
  guint n_devices;
  HassVirtualWorld w = { .platform = platform, .model = model };
  if (!can_compute (farm, error)
      || !hass_gpu_memory_limit (&w.memory_limit, error))
    return FALSE;
  g_autofree HassDeviceTraits *devices = make_devices (&w, farm, &n_devices);
  g_autofree HassDevice **gpus = g_new0 (HassDevice *, n_devices);
  for (guint g = 0; farm->kind == HASS_FARM_DATAFLOW && g < w.n_gpus; g++)
    gpus[w.gpus[g].d] = &w.gpus[g].parent;
  if (model && model->traits)
    memcpy (devices, model->traits, n_devices * sizeof *devices);
  HassJobDevices of = { .devices = devices,
                        .gpus = gpus,
                        .n_devices = n_devices,
                        .entry_bytes = model ? model->entry_bytes : 0,
                        .merge_ns = model ? model->merge_ns : 0 };
  w.job = hass_job_new (farm, &virtual_ops, &of, error);
  gboolean ok = FALSE;
  if (w.job)
    {
      run (&w, report);
      ok = w.job->error == NULL;
      if (!ok)
        g_propagate_error (error, g_steal_pointer (&w.job->error));
      hass_job_free (w.job);
    }
  g_free (w.gpus);
  return ok;
}

gboolean
hass_virtual_run (const HassFarm *farm, HassPlatform *platform,
                  HassReport **report, GError **error)
{
  return hass_virtual_run_model (farm, platform, NULL, report, error);
}
