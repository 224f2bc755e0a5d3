/* SPDX-License-Identifier: MIT */
/* virtual.c: runs a farm on a modelled machine, with an event queue and a
   virtual clock.

   DESIGN. One thread. Rounds do not overlap; the generator takes no time.
   1. Idle devices are asked, GPUs first, then cores pull, until nobody wants
      more.
   2. The earliest event moves the clock: a core has finished its pull, or a
      bundle has finished a stage (copy in, kernel, copy out) and queues for
      the next; links, copy engines and kernels serve one at a time, in order
      of arrival.
   3. When a unit's time has come, the application's CPU worker computes its
      true result, on whatever modelled device, unless the run is dry.
   4. What goes wrong: a device becomes slower or is lost, when a part of the
      rounds is over or at a time.
   Events at the same time are served in the order they were made, and noise
   comes from the seed: the same seed gives the same trace, byte for byte.

   Thread safety: each call has a world of its own. */
#include "record.h"

#include <math.h>
#include <string.h>

#include "device/model.h"
#include "virtual.h"

/* What the strategy granted at once. */
typedef struct
{
  HassExtent rest; /* not handed over yet */
  guint n_parts;   /* on the device */
  gboolean counted;
  HassCompletion told;
} Grant;

/* A part of a grant, most often all of it. */
typedef struct
{
  guint device; /* a GPU */
  Grant *grant;
  HassExtent extent;
  gint64 submit_ns, end_ns;
  double h2d_ns, kernel_ns, d2h_ns;
  guint64 bytes, out_bytes, elements;
  guint stage; /* 0 copy in, 1 kernel, 2 copy out, 3 host, 4 done */
  HassStages stages;
  gboolean failed;
} Bundle;

typedef struct
{
  gint64 t;
  guint64 order;
  gint core; /* or -1 */
  HassExtent extent;
  gint64 begin;
  Bundle *bundle; /* NULL with no core: only the clock moves */
} Event;

typedef struct
{
  gint64 in_free, out_free;
} Link;

typedef struct
{
  HassJob *job;
  HassPlatform *platform;
  gint64 clock;
  guint64 n_events;
  GArray *heap; /* Event */
  gboolean *core_busy;
  gint64 *kernel_free; /* [n_gpus] */
  gint64 *last_end;    /* [n_gpus] */
  Grant **granted;     /* [n_gpus], with something left to hand over, or NULL */
  guint *n_on;         /* [n_gpus], parts on the device */
  gint64 *host_free;   /* [n_gpus], when the host is done with the last part */
  gint64 *core_begins; /* [cores], in this round */
  guint64 n_gaps;      /* that have passed */
  Link *links;
  GRand *rand;
  const HassVirtualModel *model; /* or NULL */
  double *slower;                /* [n_devices] */
  gboolean *happened;            /* [model->n_events] */
  gboolean *entered;             /* [n_devices], in this round */
  guint64 *entry_bytes;          /* [n_devices], over all rounds */
  guint64 *bytes_before;         /* [n_devices], of earlier rounds */
  guint64 *bytes;                /* [n_devices], scratch */
  GArray *work, *elements;       /* scratch, of a bundle's units */
} World;

/* -- Events ------------------------------------------------------------- */

static gboolean
earlier (const Event *a, const Event *b)
{
  return a->t != b->t ? a->t < b->t : a->order < b->order;
}

static void
push (World *w, Event event)
{
  event.order = w->n_events++;
  g_array_append_val (w->heap, event);
  Event *h = (Event *)w->heap->data;
  guint i = w->heap->len - 1;
  for (; i > 0 && earlier (&event, &h[(i - 1) / 2]); i = (i - 1) / 2)
    h[i] = h[(i - 1) / 2];
  h[i] = event;
}

static Event
pop (World *w)
{
  Event *h = (Event *)w->heap->data;
  guint n = w->heap->len - 1, i = 0;
  Event top = h[0], moved = h[n];
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

/* -- Models ------------------------------------------------------------- */

/* A factor around 1; log-normal, so that no time is negative. */
static double
noise (World *w)
{
  double sigma = w->platform->noise;
  if (sigma == 0)
    return 1;
  double u = 1 - g_rand_double (w->rand), v = g_rand_double (w->rand);
  return exp (sigma * sqrt (-2 * log (u)) * cos (2 * G_PI * v));
}

/* To the nearest, as records are written: a replay of what they say then ends
   at the same ns, and no tie is broken another way. */
static gint64
whole_ns (double ns)
{
  return (gint64)(ns + 0.5);
}

/* True work of units on a device. Units that lie as they were emitted are
   looked up at once. */
static double
cost_of (const World *w, const HassRound *round, guint device, HassExtent e)
{
  const HassVirtualModel *m = w->model;
  HassBlock block;
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
  if (hass_round_merge (round, e, &block))
    return block.count;
  for (guint32 i = 0; i < e.n; i++)
    cost += hass_round_true_cost (round, e.first + i);
  return cost;
}

static gboolean
one_block_a_unit (const HassRound *round, HassExtent e)
{
  return round->farm == HASS_FARM_INDIVISIBLE
         || (round->farm == HASS_FARM_FUNCTION
             && hass_round_elements (round, e.first) <= 1);
}

/* Kernel of a bundle whose every unit is one block. */
static double
blocks_ns (World *w, const HassRound *round, const Bundle *b,
           const HassGpuModel *gpu)
{
  HassExtent e = b->extent;
  HassBlock block;
  g_array_set_size (w->work, e.n);
  g_array_set_size (w->elements, e.n);
  double *work = (double *)w->work->data;
  guint64 *elements = (guint64 *)w->elements->data;
  for (guint32 i = 0; i < e.n; i++)
    {
      hass_round_block (round, e.first + i, &block);
      work[i] = cost_of (w, round, b->device, (HassExtent){ e.first + i, 1 });
      elements[i] = block.count;
    }
  return hass_model_blocks_ns (gpu, work, elements, e.n);
}

/* Part of the copy for those who wait for it, but no copying. */
static double
submit_ns (const World *w, const Bundle *b)
{
  return w->model && w->model->submit_ns ? w->model->submit_ns[b->device] : 0;
}

static void
estimate (World *w, HassRound *round, Bundle *b, const HassGpuModel *gpu)
{
  HassExtent e = b->extent;
  HassBlock block;
  double entry = 0;
  if (hass_round_merge (round, e, &block))
    {
      b->elements = block.count;
      b->bytes = block.input_bytes;
      b->out_bytes = block.output_bytes;
    }
  else
    for (guint32 i = 0; i < e.n; i++)
      {
        hass_round_block (round, e.first + i, &block);
        b->elements += block.count;
        b->bytes += block.input_bytes;
        b->out_bytes += block.output_bytes;
      }
  double total = cost_of (w, round, b->device, e);
  w->job->totals[b->device].cost += total;
  if (w->model && !w->entered[b->device])
    entry = w->model->entry_bytes;
  w->entered[b->device] = TRUE;
  w->entry_bytes[b->device] += (guint64)entry;
  b->h2d_ns = hass_model_h2d_ns (gpu, b->bytes + (gsize)entry);
  b->h2d_ns += submit_ns (w, b);
  b->d2h_ns = hass_model_d2h_ns (gpu, b->out_bytes);
  b->kernel_ns = one_block_a_unit (round, e)
                     ? blocks_ns (w, round, b, gpu)
                     : hass_model_kernel_ns (gpu, total, b->elements);
  b->kernel_ns *= noise (w);
}

/* -- 1. Asking ---------------------------------------------------------- */

static guint
first_gpu (const World *w)
{
  return w->platform->has_cpu ? 1 : 0;
}

/* Queues the bundle for its next stage. */
static void
next_stage (World *w, Bundle *b)
{
  guint g = b->device - first_gpu (w);
  const HassGpuModel *gpu = &w->platform->gpus[g];
  Link *link = &w->links[gpu->link];
  gint64 unused = w->clock;
  gint64 *resource = &unused;
  double ns = 0;
  if (b->stage == 0)
    {
      ns = b->h2d_ns;
      resource = ns > 0 ? &link->in_free : &unused;
    }
  else if (b->stage == 1)
    {
      b->kernel_ns *= w->slower[b->device];
      ns = b->kernel_ns;
      resource = &w->kernel_free[g];
    }
  else if (b->stage == 2)
    {
      ns = b->d2h_ns;
      if (ns > 0)
        resource = gpu->duplex ? &link->out_free : &link->in_free;
    }
  else
    {
      b->end_ns = w->clock;
      ns = w->model->host_ns[b->device];
      resource = &w->host_free[g];
    }
  gint64 begin = MAX (w->clock, *resource), end = begin + whole_ns (ns);
  *resource = end;
  if (b->stage < HASS_N_STAGES)
    {
      b->stages.begin_ns[b->stage] = begin;
      b->stages.end_ns[b->stage] = end;
    }
  b->stage++;
  push (w, (Event){ .t = end, .core = -1, .bundle = b });
}

/* The host has work with a part that is back only where a model says so. */
static gboolean
is_over (const World *w, const Bundle *b)
{
  return b->failed || b->stage > (w->model && w->model->host_ns ? 3 : 2);
}

/* Units from the front of what is left that make a part, as proxy.c cuts
   it. */
static guint32
units_of_part (const HassJob *job, const HassRound *round, guint device,
               HassExtent rest)
{
  const HassDeviceTraits *traits = &job->devices[device];
  guint64 each = traits->memory_bytes / traits->max_in_flight;
  guint64 most = traits->part_bytes, bytes = 0;
  HassBlock block;
  guint32 n = 0;
  if (each > 0)
    most = most > 0 ? MIN (most, each) : each;
  if (most == 0)
    return rest.n;
  if (hass_round_merge (round, (HassExtent){ rest.first, 1 }, &block))
    {
      bytes = block.input_bytes + block.output_bytes;
      return (guint32)CLAMP (most / MAX (bytes, 1), 1, rest.n);
    }
  for (; n < rest.n && (n == 0 || bytes <= most); n++)
    {
      hass_round_block (round, rest.first + n, &block);
      bytes += block.input_bytes + block.output_bytes;
    }
  return bytes > most && n > 1 ? n - 1 : n;
}

static Grant *
ask_gpu (World *w, HassSlot *slot, guint d)
{
  HassExtent e = { 0, 0 };
  HassGrant unused;
  if (!hass_decide_gpu (w->job, slot, d, &e, &unused))
    return NULL;
  Grant *grant = g_new0 (Grant, 1);
  grant->rest = e;
  grant->told
      = (HassCompletion){ .device = d,
                          .grant_ns = w->clock,
                          .start_ns
                          = MAX (w->clock, w->last_end[d - first_gpu (w)]) };
  return grant;
}

static gboolean
is_open (const World *w, guint d)
{
  return !w->model || !w->model->open_ns || w->clock >= w->model->open_ns[d];
}

/* Hands one part over. FALSE: nothing to do now. */
static gboolean
feed_gpu (World *w, HassSlot *slot, guint d)
{
  HassJob *job = w->job;
  guint g = d - first_gpu (w);
  if (!is_open (w, d) || w->clock < w->host_free[g]
      || w->n_on[g] >= job->devices[d].max_in_flight)
    return FALSE;
  if (!w->granted[g])
    w->granted[g] = ask_gpu (w, slot, d);
  Grant *grant = w->granted[g];
  if (!grant)
    return FALSE;
  Bundle *b = g_new0 (Bundle, 1);
  guint32 n = units_of_part (job, &slot->round, d, grant->rest);
  b->device = d;
  b->grant = grant;
  b->extent = (HassExtent){ grant->rest.first, n };
  b->submit_ns = w->clock;
  estimate (w, &slot->round, b, &w->platform->gpus[g]);
  grant->rest.first += n;
  grant->rest.n -= n;
  grant->n_parts++;
  w->n_on[g]++;
  if (grant->rest.n == 0)
    w->granted[g] = NULL;
  next_stage (w, b);
  return TRUE;
}

static gboolean
feed_gpus (World *w, HassSlot *slot)
{
  gboolean any = FALSE;
  for (guint d = first_gpu (w); d < w->job->n_devices; d++)
    while (feed_gpu (w, slot, d))
      any = TRUE;
  return any;
}

static gboolean
feed_cores (World *w, HassSlot *slot)
{
  HassJob *job = w->job;
  gboolean any = FALSE;
  for (guint c = 0; c < job->n_cores; c++)
    {
      if (w->core_busy[c] || w->clock < w->core_begins[c])
        continue;
      if (!hass_decide_cpu (job, slot))
        break;
      HassWorker *worker = &job->workers[c];
      HassExtent e
          = hass_round_pull (&slot->round, hass_chunk (job, worker, slot));
      if (e.n == 0)
        break;
      double cost = cost_of (w, &slot->round, job->cpu, e);
      double ns = w->platform->pull_ns
                  + cost / w->platform->core_work_per_ns * noise (w)
                        * w->slower[job->cpu];
      worker->unit_ns
          = worker->unit_ns > 0 ? 0.5 * (worker->unit_ns + ns / e.n) : ns / e.n;
      worker->last_chunk = e.n;
      job->totals[job->cpu].cost += cost;
      w->core_busy[c] = TRUE;
      push (w, (Event){ .t = w->clock + MAX (whole_ns (ns), 1),
                        .core = (gint)c,
                        .extent = e,
                        .begin = w->clock });
      any = TRUE;
    }
  return any;
}

static void
feed (World *w, HassSlot *slot)
{
  while (slot->state == HASS_SLOT_RUNNING && !hass_job_stopping (w->job))
    {
      guint64 told = w->job->n_told;
      gboolean any = feed_gpus (w, slot);
      any |= feed_cores (w, slot);
      /* A completion of the cores that was told here lets GPUs be asked. */
      any |= w->job->n_told != told;
      if (!any && !hass_decide_stalled (w->job, slot))
        return;
    }
}

/* -- 2. and 3. Events happen -------------------------------------------- */

/* The host merges when the last of the units is in and more than one device
   had a part in them. */
static void
finished (World *w, HassSlot *slot, guint32 n)
{
  HassJob *job = w->job;
  HassRound *round = &slot->round;
  guint n_took = 0;
  if (n > 0 && w->model && w->model->merge_ns > 0
      && atomic_load_explicit (&round->outstanding, memory_order_relaxed) == n)
    {
      for (guint d = 0; d < job->n_devices; d++)
        n_took += hass_round_progress (round, d).units > 0;
      if (job->cpu >= 0)
        {
          pthread_mutex_lock (&job->decision);
          hass_decide_report_cpu (job, slot);
          pthread_mutex_unlock (&job->decision);
        }
      if (n_took > 1)
        w->clock += (gint64)w->model->merge_ns;
    }
  hass_job_units_finished (job, slot, n);
}

static void
give_back (HassJob *job, HassSlot *slot, HassExtent e)
{
  pthread_mutex_lock (&job->decision);
  hass_round_give_back (&slot->round, e);
  pthread_mutex_unlock (&job->decision);
}

static void
core_done (World *w, HassSlot *slot, const Event *event)
{
  HassJob *job = w->job;
  HassWorker *worker = &job->workers[event->core];
  w->core_busy[event->core] = FALSE;
  HassDone done = hass_execute (job, worker, slot, event->extent, job->dry);
  hass_job_trace_pull (job, slot, (guint)event->core, event->extent,
                       event->begin, w->clock);
  if (done.n == 0)
    return;
  hass_execute_count (job, worker, slot, done, w->clock - event->begin,
                      w->clock);
  if (job->recorder)
    hass_record_pull (job, worker, slot, event->extent, &done, event->begin,
                      w->clock);
  finished (w, slot, done.n);
}

static void
record (World *w, const HassSlot *slot, const HassWorker *worker,
        const Bundle *b, const HassDone *done)
{
  HassRecordPart part = { .extent = { b->extent.first, done->n },
                          .grant_ns = b->grant->told.grant_ns,
                          .submit_ns = b->submit_ns,
                          .end_ns = b->end_ns,
                          .settled_ns = w->clock,
                          .h2d_ns = b->h2d_ns,
                          .kernel_ns = b->kernel_ns,
                          .d2h_ns = b->d2h_ns,
                          .busy_times = TRUE,
                          .work = done->work,
                          .elements = b->elements,
                          .in_bytes = b->bytes,
                          .out_bytes = b->out_bytes };
  hass_record_part (w->job, worker, slot, &part);
}

/* A part is back; with the last of its grant the strategy hears of it. */
static void
bundle_done (World *w, HassSlot *slot, Bundle *b)
{
  HassJob *job = w->job;
  guint g = b->device - first_gpu (w);
  HassWorker *worker = &job->workers[MAX (job->n_cores, 1) + g];
  Grant *grant = b->grant;
  gint64 start = MAX (b->submit_ns, w->last_end[g]);
  w->last_end[g] = w->clock;
  w->n_on[g]--;
  grant->n_parts--;
  b->end_ns = b->end_ns > 0 ? b->end_ns : w->clock;
  HassDone done = { 0 };
  if (b->failed)
    give_back (job, slot, b->extent);
  else
    {
      done = hass_execute (job, worker, slot, b->extent, job->dry);
      hass_job_trace_bundle (job, slot, b->device, b->extent, b->bytes,
                             w->clock, &b->stages);
    }
  if (grant->rest.n > 0 && (b->failed || hass_job_stopping (job)))
    {
      give_back (job, slot, grant->rest);
      grant->rest.n = 0;
      w->granted[g] = NULL;
    }
  done.part = grant->counted;
  if (done.n > 0)
    {
      hass_execute_count (job, worker, slot, done, w->clock - start, w->clock);
      grant->counted = TRUE;
    }
  if (done.n > 0 && job->recorder)
    record (w, slot, worker, b, &done);
  HassCompletion *told = &grant->told;
  told->units += done.n;
  told->work += done.work;
  told->elements += b->elements;
  told->bytes += b->bytes;
  told->h2d_ns += b->h2d_ns - submit_ns (w, b);
  told->kernel_ns += b->kernel_ns;
  told->d2h_ns += b->d2h_ns;
  told->end_ns = w->clock;
  told->failed |= done.n == 0;
  if (grant->n_parts == 0 && grant->rest.n == 0)
    {
      pthread_mutex_lock (&job->decision);
      hass_decide_completed (job, slot, told);
      pthread_mutex_unlock (&job->decision);
      g_free (grant);
    }
  g_free (b);
  finished (w, slot, done.n);
}

/* -- 4. What goes wrong ------------------------------------------------- */

static gint
by_time (gconstpointer a, gconstpointer b)
{
  return earlier (a, b) ? -1 : 1;
}

/* What the device has in flight fails now, and it takes no more. */
static void
lose (World *w, guint device)
{
  HassJob *job = w->job;
  Event *h = (Event *)w->heap->data;
  for (guint i = 0; i < w->heap->len; i++)
    if (h[i].bundle && h[i].bundle->device == device)
      {
        h[i].t = w->clock;
        h[i].bundle->failed = TRUE;
      }
  /* An array in ascending order is a heap. */
  g_array_sort (w->heap, by_time);
  pthread_mutex_lock (&job->decision);
  if (!job->totals[device].message)
    job->totals[device].message = g_strdup ("the model says so");
  hass_decide_lost (job, device);
  pthread_mutex_unlock (&job->decision);
}

static gboolean
is_due (const World *w, const HassVirtualEvent *event, const HassSlot *slot)
{
  if (event->at_ns > 0)
    return w->clock >= event->at_ns;
  const HassRound *round = &slot->round;
  double left
      = atomic_load_explicit (&round->outstanding, memory_order_relaxed);
  double done = 1 - left / MAX (round->n_units, 1);
  return round->number + done >= event->round;
}

static void
let_happen (World *w, const HassSlot *slot)
{
  for (guint i = 0; w->model && i < w->model->n_events; i++)
    {
      const HassVirtualEvent *event = &w->model->events[i];
      if (w->happened[i] || event->device >= w->job->n_devices
          || !is_due (w, event, slot))
        continue;
      w->happened[i] = TRUE;
      if (event->slower > 0)
        w->slower[event->device] *= event->slower;
      else if ((gint)event->device != w->job->cpu
               && !w->job->totals[event->device].lost)
        lose (w, event->device);
    }
}

/* Moves the clock to an event's time even where no device is about to end
   anything then. */
static void
announce_times (World *w)
{
  for (guint i = 0; w->model && i < w->model->n_events; i++)
    if (!w->happened[i] && w->model->events[i].at_ns > w->clock)
      push (w, (Event){ .t = w->model->events[i].at_ns, .core = -1 });
}

/* The time that passes before a round in which nothing runs. */
static void
pass_gap (World *w)
{
  guint64 number = w->job->n_rounds;
  if (!w->model || !w->model->gap_ns || number < w->n_gaps
      || number >= w->model->n_gaps)
    return;
  w->n_gaps = number + 1;
  w->clock += (gint64)w->model->gap_ns[number];
}

/* When cores come in and devices are open; the clock stops there. */
static void
let_in (World *w, const HassSlot *slot)
{
  const HassVirtualModel *m = w->model;
  guint cores = w->job->n_cores;
  guint64 number = slot->round.number;
  for (guint c = 0; c < cores; c++)
    {
      w->core_begins[c] = w->clock;
      if (m && m->late_ns && number < m->n_late)
        w->core_begins[c] += (gint64)m->late_ns[number * cores + c];
      if (w->core_begins[c] > w->clock)
        push (w, (Event){ .t = w->core_begins[c], .core = -1 });
    }
  for (guint d = first_gpu (w); d < w->job->n_devices; d++)
    if (!is_open (w, d))
      push (w, (Event){ .t = (gint64)ceil (m->open_ns[d]), .core = -1 });
}

static void
tell_of_round (World *w, const HassRound *round)
{
  HassJob *job = w->job;
  if (!w->model || !w->model->round_ended)
    return;
  HassRoundSummary summary
      = { round->number, round->n_units, (double)(w->clock - round->begin_ns),
          job->n_devices, job->summary };
  for (guint d = 0; d < job->n_devices; d++)
    {
      guint64 now = job->totals[d].bytes + w->entry_bytes[d];
      w->bytes[d] = now - w->bytes_before[d];
      w->bytes_before[d] = now;
    }
  HassVirtualRound told = { .summary = &summary,
                            .begin_ns = round->begin_ns,
                            .end_ns = w->clock,
                            .bytes = w->bytes,
                            .asked = job->n_asked };
  w->model->round_ended (w->model->data, &told);
}

static void
check_stop (World *w)
{
  HassJob *job = w->job;
  GCancellable *cancellable = job->farm->run->cancellable;
  hass_job_check_deadline (job, w->clock);
  if (cancellable && g_cancellable_is_cancelled (cancellable)
      && !hass_job_stopping (job))
    hass_job_stop (job,
                   g_error_new (HASS_ERROR, HASS_ERROR_CANCELLED,
                                "farm '%s' was cancelled", job->farm->name));
}

/* Runs one round to its end. FALSE: there was none to run, or the farm is
   stopping. */
static gboolean
run_round (World *w)
{
  HassJob *job = w->job;
  check_stop (w);
  pass_gap (w);
  pthread_mutex_lock (&job->decision);
  HassSlot *slot = hass_job_begin_round (job);
  pthread_mutex_unlock (&job->decision);
  if (!slot)
    return FALSE;
  if (slot->round.n_units == 0)
    return TRUE;
  memset (w->entered, 0, job->n_devices * sizeof *w->entered);
  job->n_asked = 0;
  let_happen (w, slot);
  announce_times (w);
  let_in (w, slot);
  feed (w, slot);
  while (w->heap->len > 0)
    {
      Event event = pop (w);
      if (event.core < 0 && !event.bundle && slot->state != HASS_SLOT_RUNNING)
        continue;
      w->clock = event.t;
      check_stop (w);
      if (event.core >= 0)
        core_done (w, slot, &event);
      else if (event.bundle && !is_over (w, event.bundle))
        next_stage (w, event.bundle);
      else if (event.bundle)
        bundle_done (w, slot, event.bundle);
      let_happen (w, slot);
      feed (w, slot);
    }
  if (!hass_job_stopping (job))
    tell_of_round (w, &slot->round);
  return !hass_job_stopping (job);
}

/* -- The engine --------------------------------------------------------- */

static gint64
now (HassJob *job)
{
  return ((World *)job->driver)->clock;
}

static gboolean
make_room (HassJob *job)
{
  World *w = job->driver;
  /* No round may have begun because all that waited was refused. */
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

static const HassEngineOps virtual_ops = {
  .now = now,
  .make_room = make_room,
  .loads_came = nothing,
  .changed = nothing,
};

/* 0: no other GPU is on this one's link. */
static guint
shared_link (const HassPlatform *p, guint gpu)
{
  for (guint i = 0; i < p->n_gpus; i++)
    if (i != gpu && p->gpus[i].link == p->gpus[gpu].link)
      return p->gpus[gpu].link + 1;
  return 0;
}

static HassDeviceTraits *
traits_of (const HassPlatform *p, guint *n)
{
  HassDeviceTraits *t = g_new0 (HassDeviceTraits, 1 + p->n_gpus);
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
  for (guint i = 0; i < p->n_gpus; i++)
    {
      const HassGpuModel *g = &p->gpus[i];
      t[(*n)++] = (HassDeviceTraits){ .name = g->name,
                                      .kind = HASS_DEVICE_GPU,
                                      .cores = g->multiprocessors,
                                      .width = g->width,
                                      .latency_ns = g->launch_ns + g->link_ns,
                                      .link_bytes_per_ns = g->h2d_bytes_per_ns,
                                      .work_per_ns
                                      = p->calibrated ? g->work_per_ns : 0,
                                      .max_in_flight = g->depth,
                                      .link = shared_link (p, i) };
    }
  return t;
}

static void
drive (World *w)
{
  hass_job_generate (w->job);
  while (run_round (w))
    ;
  check_stop (w);
}

static void
world_init (World *w, guint n_devices)
{
  const HassPlatform *p = w->platform;
  guint64 seed = w->job->farm->run->seed;
  w->heap = g_array_new (FALSE, FALSE, sizeof (Event));
  w->work = g_array_new (FALSE, FALSE, sizeof (double));
  w->elements = g_array_new (FALSE, FALSE, sizeof (guint64));
  w->core_busy = g_new0 (gboolean, MAX (p->cores, 1));
  w->kernel_free = g_new0 (gint64, MAX (p->n_gpus, 1));
  w->last_end = g_new0 (gint64, MAX (p->n_gpus, 1));
  w->granted = g_new0 (Grant *, MAX (p->n_gpus, 1));
  w->n_on = g_new0 (guint, MAX (p->n_gpus, 1));
  w->host_free = g_new0 (gint64, MAX (p->n_gpus, 1));
  w->core_begins = g_new0 (gint64, MAX (p->cores, 1));
  w->links = g_new0 (Link, MAX (p->n_links, 1));
  w->rand = g_rand_new_with_seed ((guint32)(seed ^ seed >> 32));
  w->slower = g_new (double, n_devices);
  w->happened = g_new0 (gboolean, w->model ? w->model->n_events : 0);
  w->entered = g_new0 (gboolean, n_devices);
  w->entry_bytes = g_new0 (guint64, n_devices);
  w->bytes_before = g_new0 (guint64, n_devices);
  w->bytes = g_new0 (guint64, n_devices);
  for (guint d = 0; d < n_devices; d++)
    w->slower[d] = 1;
}

static void
world_clear (World *w)
{
  g_rand_free (w->rand);
  g_array_unref (w->heap);
  g_array_unref (w->work);
  g_array_unref (w->elements);
  g_free (w->core_busy);
  g_free (w->kernel_free);
  g_free (w->last_end);
  g_free (w->granted);
  g_free (w->n_on);
  g_free (w->host_free);
  g_free (w->core_begins);
  g_free (w->links);
  g_free (w->slower);
  g_free (w->happened);
  g_free (w->entered);
  g_free (w->entry_bytes);
  g_free (w->bytes_before);
  g_free (w->bytes);
}

/* Runs the farm on the modelled machine. */
gboolean
hass_virtual_run (const HassFarm *farm, HassPlatform *platform,
                  HassReport **report, GError **error)
{
  return hass_virtual_run_model (farm, platform, NULL, report, error);
}

/* The same with what a bench adds to the machine; model may be NULL. */
gboolean
hass_virtual_run_model (const HassFarm *farm, HassPlatform *platform,
                        const HassVirtualModel *model, HassReport **report,
                        GError **error)
{
  guint n_devices;
  g_autofree HassDeviceTraits *devices = traits_of (platform, &n_devices);
  g_autofree HassDevice **gpus = g_new0 (HassDevice *, n_devices);
  if (model && model->traits)
    memcpy (devices, model->traits, n_devices * sizeof *devices);
  if (!farm->cpu_worker && !farm->run->dry)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                   "farm '%s' has no CPU worker, which computes the results "
                   "of a modelled machine; a dry run needs none",
                   farm->name);
      return FALSE;
    }
  HassJob *job = hass_job_new (farm, &virtual_ops, devices, gpus, n_devices,
                               model ? model->entry_bytes : 0,
                               model ? model->merge_ns : 0, error);
  if (!job)
    return FALSE;
  World w = { .job = job, .platform = platform, .model = model };
  job->driver = &w;
  job->platform_name = platform->name;
  for (guint d = 0; d < n_devices; d++)
    job->totals[d].rate = d < first_gpu (&w)
                              ? platform->core_work_per_ns * platform->cores
                              : platform->gpus[d - first_gpu (&w)].work_per_ns;
  job->deadline_ns = farm->run->deadline_ms * 1000000;
  world_init (&w, n_devices);
  drive (&w);
  hass_job_finish (job);
  hass_job_write_record (job, w.clock);
  if (report)
    *report = hass_job_report (job, w.clock);
  gboolean ok = job->error == NULL;
  if (!ok)
    g_propagate_error (error, g_steal_pointer (&job->error));
  world_clear (&w);
  hass_job_free (job);
  return ok;
}
