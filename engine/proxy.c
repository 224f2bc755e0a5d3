/* SPDX-License-Identifier: MIT */
/* proxy.c: the thread that stands for a device in the live engine.

   DESIGN.
   1. The thread opens the device, which may take a while, and meanwhile the
      other devices work.
   2. While the device has room it asks the strategy for a grant. A large
      grant is handed over in parts, so that copies overlap kernels whatever
      the strategy granted; the strategy hears of the grant as a whole, when
      its last part has left.
   3. It waits on the device, never by spinning.
   4. A part that does not fit in the device's memory waits until it is alone
      there, then is halved, and what follows is cut no larger. A single unit
      that does not fit is left to the CPU, or fails with its sizes.
   5. A part whose inputs are still on the host is given back when it fails;
      after three failures in a row the device is given up, and what it held
      runs elsewhere. The first reason is kept for the report.

   Rounds are begun by cores; where there is none beside the calling thread,
   which may sit in its generator, the proxies begin them.

   Thread safety: one thread a device; it alone calls the device's ops. */
#include "live-private.h"
#include "record.h"

#include "device/urgent-private.h"

#define FAILURES_IN_A_ROW 3
#define WAIT_NS 50000000

/* What the strategy granted at once. */
typedef struct
{
  gboolean busy;
  HassSlot *round;
  HassExtent rest; /* not handed over yet */
  guint n_parts;   /* on the device */
  gboolean counted;
  gboolean failed; /* a part of it was given back */
  gint64 grant_ns, start_ns;
  HassCompletion told;
} Bundle;

/* What the device has in one of its slots. */
typedef struct
{
  Bundle *bundle; /* NULL: the slot is free */
  HassExtent extent;
  HassBlock *blocks; /* [capacity] */
  gsize capacity, n_blocks;
  guint64 bytes, out_bytes, elements;
  guint64 all_bytes; /* what both take on the device */
  gint64 submit_ns;
} Part;

typedef struct
{
  HassJob *job;
  HassLive *live;
  guint d; /* the device's index */
  HassDevice *device;
  HassDeviceFarm farm; /* the device's from open to close */
  HassWorker *worker;
  Bundle *bundles; /* [depth] */
  Part *parts;     /* [depth], by the device's slot */
  guint depth, n_in_flight, n_failures;
  guint64 part_bytes; /* 0: no bound */
  guint32 part_units; /* bound until the present grant is over; 0: none */
  gboolean alone;     /* the next part has to be alone on the device */
  gint64 last_end_ns;
  HassStages stages; /* of the part before, where there is a trace */
} Proxy;

/* -- 2. Parts ----------------------------------------------------------- */

static guint64
bytes_of (const HassBlock *block)
{
  return (block->input ? block->input_bytes : block->load->input_bytes)
         + block->output_bytes;
}

static HassBlock *
block_at (Part *part, guint32 i)
{
  if (part->capacity <= i)
    {
      part->capacity = MAX (2 * part->capacity, 16);
      part->blocks = g_renew (HassBlock, part->blocks, part->capacity);
    }
  return &part->blocks[i];
}

/* Adjacent blocks of a divisible load become one, as for a core. */
static void
cut_merged (Proxy *p, Part *part, HassRound *round, HassExtent rest,
            guint32 most)
{
  HassBlock *block = block_at (part, 0);
  hass_round_merge (round, (HassExtent){ rest.first, 1 }, block);
  guint32 n = most;
  if (p->part_bytes > 0)
    n = (guint32)CLAMP (p->part_bytes / MAX (bytes_of (block), 1), 1, most);
  part->extent = (HassExtent){ rest.first, n };
  hass_round_merge (round, part->extent, block);
  part->n_blocks = 1;
  part->bytes = block->input_bytes;
  part->out_bytes = block->output_bytes;
  part->all_bytes = bytes_of (block);
  part->elements = block->count;
}

static void
cut_single (Proxy *p, Part *part, HassRound *round, HassExtent rest,
            guint32 most)
{
  guint32 n = 0;
  part->bytes = part->out_bytes = part->all_bytes = part->elements = 0;
  for (; n < most; n++)
    {
      HassBlock *block = block_at (part, n);
      hass_round_block (round, rest.first + n, block);
      guint64 bytes = bytes_of (block);
      if (p->part_bytes > 0 && n > 0 && part->all_bytes + bytes > p->part_bytes)
        break;
      part->all_bytes += bytes;
      part->bytes += block->input_bytes;
      part->out_bytes += block->output_bytes;
      part->elements += block->count;
    }
  part->extent = (HassExtent){ rest.first, n };
  part->n_blocks = n;
}

/* Cuts one part from the front of what is left of a bundle. */
static void
cut_part (Proxy *p, Bundle *b, Part *part)
{
  HassRound *round = &b->round->round;
  HassExtent rest = b->rest;
  HassBlock unused;
  guint32 most = p->part_units > 0 ? MIN (p->part_units, rest.n) : rest.n;
  if (hass_round_merge (round, (HassExtent){ rest.first, 1 }, &unused))
    cut_merged (p, part, round, rest, most);
  else
    cut_single (p, part, round, rest, most);
  guint32 n = part->extent.n;
  b->rest = (HassExtent){ rest.first + n, rest.n - n };
  b->n_parts++;
  part->bundle = b;
}

/* Keeps the first reason for the report. Under the decision lock. */
static void
note_locked (Proxy *p, const char *message)
{
  HassTotals *totals = &p->job->totals[p->d];
  if (message && !totals->message)
    totals->message = g_strdup (message);
}

/* A grant of which nothing is left: the strategy hears of it. */
static void
finish_bundle (Proxy *p, Bundle *b, gint64 end_ns)
{
  HassJob *job = p->job;
  b->busy = FALSE;
  p->part_units = 0;
  b->told.end_ns = end_ns;
  b->told.failed = b->failed;
  pthread_mutex_lock (&job->decision);
  hass_decide_completed (job, b->round, &b->told);
  pthread_mutex_unlock (&job->decision);
}

static void
give_up (Proxy *p, const char *message)
{
  HassJob *job = p->job;
  pthread_mutex_lock (&job->decision);
  note_locked (p, message);
  hass_decide_lost (job, p->d);
  pthread_mutex_unlock (&job->decision);
}

/* Devices tell how long the stages of a part took, not when they were. Each
   is taken to follow the one before it and the same stage of the part before,
   and none to be later than what followed it. */
static void
trace_part (Proxy *p, const Part *part, const HassBundleDone *done, gint64 end)
{
  const double ns[] = { done->h2d_ns, done->kernel_ns, done->d2h_ns };
  HassStages *s = &p->stages;
  gint64 at = part->submit_ns, last = end;
  if (!p->job->trace)
    return;
  for (guint i = 0; i < 3; i++)
    {
      s->begin_ns[i] = MAX (at, s->end_ns[i]);
      at = s->begin_ns[i] + (gint64)ns[i];
    }
  for (guint i = 3; i-- > 0;)
    {
      s->end_ns[i] = MIN (s->begin_ns[i] + (gint64)ns[i], last);
      s->begin_ns[i] = MAX (s->end_ns[i] - (gint64)ns[i],
                            MIN (part->submit_ns, s->end_ns[i]));
      last = s->begin_ns[i];
    }
  hass_job_trace_bundle (p->job, part->bundle->round, p->d, part->extent,
                         part->bytes, end, s);
}

/* Results of a part that is back, and its counts. */
static void
take_over (Proxy *p, Part *part, const HassBundleDone *done, gint64 end)
{
  HassJob *job = p->job;
  Bundle *b = part->bundle;
  HassExtent e = part->extent;
  gint64 start = MAX (part->submit_ns, p->last_end_ns);
  HassDone counted = { .n = e.n,
                       .bytes = part->bytes,
                       .work = hass_round_work_taken (&b->round->round, e),
                       .part = b->counted };
  counted.n_failed = hass_execute_bundle_results (
      job, p->worker, b->round, e, part->blocks, part->n_blocks, done);
  hass_execute_count (job, p->worker, b->round, counted, end - start, end);
  trace_part (p, part, done, end);
  b->counted = TRUE;
  b->told.units += e.n;
  b->told.work += counted.work;
  b->told.elements += part->elements;
  b->told.bytes += part->bytes;
  b->told.h2d_ns += done->h2d_ns;
  b->told.kernel_ns += done->kernel_ns;
  b->told.d2h_ns += done->d2h_ns;
}

/* 5. What of a grant was not handed over goes back as well. */
static void
give_back (Proxy *p, Part *part, const char *message)
{
  Bundle *b = part->bundle;
  HassRound *round = &b->round->round;
  pthread_mutex_lock (&p->job->decision);
  note_locked (p, message);
  hass_round_give_back (round, part->extent);
  hass_round_give_back (round, b->rest);
  pthread_mutex_unlock (&p->job->decision);
  b->rest.n = 0;
  b->failed = TRUE;
}

static void
record (Proxy *p, const Part *part, const HassBundleDone *done, gint64 end)
{
  const Bundle *b = part->bundle;
  HassRound *round = &b->round->round;
  HassRecordPart row = { .extent = part->extent,
                         .grant_ns = b->grant_ns,
                         .submit_ns = part->submit_ns,
                         .end_ns = end,
                         .settled_ns = hass_live_now (p->job),
                         .h2d_ns = done->h2d_ns,
                         .kernel_ns = done->kernel_ns,
                         .d2h_ns = done->d2h_ns,
                         .work = hass_round_work_taken (round, part->extent),
                         .elements = part->elements,
                         .in_bytes = part->bytes,
                         .out_bytes = part->out_bytes,
                         .failed = done->failed };
  hass_record_part (p->job, p->worker, b->round, &row);
}

/* A part has left the device, or was never accepted. */
static void
settle (Proxy *p, Part *part, const HassBundleDone *done, const char *message)
{
  HassJob *job = p->job;
  Bundle *b = part->bundle;
  HassSlot *round = b->round;
  guint32 n = part->extent.n;
  gint64 end = hass_live_now (job);
  p->n_failures = done->failed ? p->n_failures + 1 : 0;
  if (done->lost || p->n_failures >= FAILURES_IN_A_ROW)
    give_up (p, message);
  if (done->failed)
    {
      give_back (p, part, message);
      hass_job_trace_failed (job, round, p->d, part->extent, part->bytes,
                             MAX (part->submit_ns, p->last_end_ns), end);
    }
  else
    take_over (p, part, done, end);
  if (G_UNLIKELY (job->recorder))
    record (p, part, done, end);
  p->last_end_ns = end;
  b->n_parts--;
  part->bundle = NULL;
  if (b->n_parts == 0 && b->rest.n == 0)
    finish_bundle (p, b, end);
  if (!done->failed)
    hass_job_units_finished (job, round, n);
  /* Where it is the only device, in the middle of a round, nobody waits for
     this: a sleeping caller need not be woken each time. */
  if (job->n_devices > 1 || done->failed
      || !atomic_load_explicit (&job->current, memory_order_acquire))
    hass_live_changed (job);
}

/* -- 4. Memory ---------------------------------------------------------- */

static gboolean
cpu_can_take (Proxy *p, HassRound *round, HassExtent e)
{
  return p->job->cpu >= 0
         && e.first + e.n <= round->n_units - round->n_only_gpu;
}

/* A single unit, alone on the device, has no room there. */
static void
refuse_unit (Proxy *p, Part *part, const char *why)
{
  HassJob *job = p->job;
  Bundle *b = part->bundle;
  HassSlot *round = b->round;
  HassExtent e = part->extent;
  gboolean elsewhere = cpu_can_take (p, &round->round, e);
  g_autofree char *message = g_strdup_printf (
      "load %" G_GUINT64_FORMAT " needs %" G_GUINT64_FORMAT " bytes on %s: %s",
      part->blocks[0].seq, bytes_of (&part->blocks[0]), job->devices[p->d].name,
      why);
  pthread_mutex_lock (&job->decision);
  note_locked (p, message);
  if (elsewhere)
    hass_round_keep_from_gpus (&round->round, e);
  pthread_mutex_unlock (&job->decision);
  if (!elsewhere)
    {
      HassDone counted = { .n = e.n, .n_failed = e.n, .part = TRUE };
      hass_execute_refused (job, p->worker, round, e, message);
      hass_execute_count (job, p->worker, round, counted, 0,
                          hass_live_now (job));
    }
  b->failed |= elsewhere;
  b->n_parts--;
  part->bundle = NULL;
  if (b->n_parts == 0 && b->rest.n == 0)
    finish_bundle (p, b, hass_live_now (job));
  if (!elsewhere)
    hass_job_units_finished (job, round, e.n);
  hass_live_changed (job);
}

/* A part did not fit. It was cut from the front of its bundle's rest, so it
   can go back there, unless another one was cut since. */
static void
make_smaller (Proxy *p, Part *part, const char *why)
{
  Bundle *b = part->bundle;
  HassExtent e = part->extent;
  gboolean was_alone = p->n_in_flight == 0;
  if (was_alone && e.n == 1)
    {
      p->alone = FALSE;
      refuse_unit (p, part, why);
      return;
    }
  if (was_alone)
    {
      p->part_bytes = MAX (part->all_bytes / 2, 1);
      p->part_units = e.n / 2;
    }
  p->alone = !was_alone;
  b->n_parts--;
  part->bundle = NULL;
  if (b->rest.n == 0 || e.first + e.n == b->rest.first)
    {
      b->rest = (HassExtent){ e.first, e.n + b->rest.n };
      return;
    }
  pthread_mutex_lock (&p->job->decision);
  hass_round_give_back (&b->round->round, e);
  pthread_mutex_unlock (&p->job->decision);
  b->failed = TRUE;
}

/* -- Handing over ------------------------------------------------------- */

static void
submit (Proxy *p, Bundle *b, guint index)
{
  GError *error = NULL;
  Part *part = &p->parts[index];
  cut_part (p, b, part);
  part->submit_ns = hass_live_now (p->job);
  const char *before = hass_engine_enter_callback ("gpu_worker", p->job);
  gboolean ok = p->device->ops->submit (p->device, index, part->blocks,
                                        part->n_blocks, &error);
  hass_engine_leave_callback (before);
  if (ok)
    {
      p->n_in_flight++;
      p->alone = FALSE;
      return;
    }
  const char *why = error ? error->message : "it did not say why";
  HassBundleDone done = { .slot = index, .failed = TRUE };
  if (g_error_matches (error, HASS_ERROR, HASS_ERROR_NO_MEMORY))
    make_smaller (p, part, why);
  else
    settle (p, part, &done, why);
  g_clear_error (&error);
}

/* The oldest bundle with something to hand over, or none. */
static Bundle *
bundle_with_rest (Proxy *p)
{
  Bundle *oldest = NULL;
  for (guint i = 0; i < p->depth; i++)
    {
      Bundle *b = &p->bundles[i];
      if (b->busy && b->rest.n > 0
          && (!oldest || b->grant_ns < oldest->grant_ns))
        oldest = b;
    }
  return oldest;
}

static Bundle *
free_bundle (Proxy *p)
{
  for (guint i = 0; i < p->depth; i++)
    if (!p->bundles[i].busy)
      return &p->bundles[i];
  return NULL;
}

static gboolean
free_slot (Proxy *p, guint *slot)
{
  for (guint i = 0; i < p->depth; i++)
    if (!p->parts[i].bundle)
      {
        *slot = i;
        return TRUE;
      }
  return FALSE;
}

/* Asks for one bundle. NULL: there is none now. */
static Bundle *
ask (Proxy *p)
{
  HassJob *job = p->job;
  Bundle *b = free_bundle (p);
  HassExtent extent;
  HassGrant grant;
  if (!b)
    return NULL;
  pthread_mutex_lock (&job->decision);
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gboolean begun = !slot && p->live->proxies_begin
                   && hass_job_may_begin (job, slot)
                   && hass_live_begin (job, 0);
  if (begun)
    slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  gboolean go = slot && slot->state == HASS_SLOT_RUNNING
                && hass_decide_gpu (job, slot, p->d, &extent, &grant);
  if (!go && slot && p->n_in_flight == 0 && hass_decide_stalled (job, slot))
    hass_live_changed (job);
  pthread_mutex_unlock (&job->decision);
  if (begun)
    hass_live_changed (job);
  if (!go)
    return NULL;
  gint64 now = hass_live_now (job);
  *b = (Bundle){ .busy = TRUE,
                 .round = slot,
                 .rest = extent,
                 .grant_ns = now,
                 .told = { .device = p->d,
                           .grant_ns = now,
                           .start_ns = MAX (now, p->last_end_ns) } };
  return b;
}

/* Units of a lost device's bundle that it never got. */
static void
drop_rest (Proxy *p, Bundle *b)
{
  pthread_mutex_lock (&p->job->decision);
  hass_round_give_back (&b->round->round, b->rest);
  pthread_mutex_unlock (&p->job->decision);
  b->rest.n = 0;
  b->failed = TRUE;
  if (b->n_parts == 0)
    finish_bundle (p, b, hass_live_now (p->job));
  hass_live_changed (p->job);
}

static gboolean
is_lost (Proxy *p)
{
  pthread_mutex_lock (&p->job->decision);
  gboolean lost = p->job->totals[p->d].lost;
  pthread_mutex_unlock (&p->job->decision);
  return lost;
}

/* Hands one part over. FALSE: nothing to do now. */
static gboolean
feed (Proxy *p)
{
  guint index;
  Bundle *b = bundle_with_rest (p);
  if (b && (hass_job_stopping (p->job) || is_lost (p)))
    {
      drop_rest (p, b);
      return TRUE;
    }
  if (hass_job_stopping (p->job) || !free_slot (p, &index)
      || (p->alone && p->n_in_flight > 0))
    return FALSE;
  if (!b)
    b = ask (p);
  if (!b)
    return FALSE;
  submit (p, b, index);
  return TRUE;
}

/* -- 3. Waiting --------------------------------------------------------- */

static void
left_device (Proxy *p, const HassBundleDone *done, const char *message)
{
  Part *part = &p->parts[done->slot];
  p->n_in_flight--;
  if (done->failed && done->too_large && !done->lost)
    make_smaller (p, part, message);
  else
    settle (p, part, done, message);
}

static void
wait_for_part (Proxy *p)
{
  HassBundleDone done = { 0 };
  GError *error = NULL;
  gboolean left = p->device->ops->wait (p->device, WAIT_NS, &done, &error);
  const char *message = error ? error->message : NULL;
  if (left && done.slot < p->depth && p->parts[done.slot].bundle)
    left_device (p, &done, message);
  else if (left || error)
    {
      /* The device cannot even say what became of its bundles: all fail. */
      give_up (p, message ? message : "it returned a bundle it did not have");
      for (guint i = 0; i < p->depth; i++)
        if (p->parts[i].bundle)
          {
            done = (HassBundleDone){ .slot = i, .failed = TRUE, .lost = TRUE };
            left_device (p, &done, message);
          }
    }
  g_clear_error (&error);
}

/* How long a proxy with nothing to do sleeps: until something changes, or
   until a few loads have waited long enough to be a round. */
static gint64
patience (Proxy *p)
{
  return p->live->proxies_begin && hass_load_pool_waiting (p->job->pool) > 0
             ? HASS_FEW_WAIT_NS
             : -1;
}

/* -- 1. The thread ------------------------------------------------------ */

static gboolean
any_device_left_locked (HassJob *job)
{
  gboolean left = job->cpu >= 0;
  for (guint d = 0; d < job->n_devices; d++)
    left |= job->gpus[d] && !job->totals[d].lost;
  return left;
}

/* A device that does not open is left out; the farm fails when it was the
   last. */
static gboolean
open_device (Proxy *p)
{
  HassJob *job = p->job;
  GError *error = NULL;
  gint64 begin = hass_live_now (job);
  gboolean ok = p->device->ops->open (p->device, &p->farm, &error);
  if (job->recorder)
    {
      pthread_mutex_lock (&job->decision);
      hass_record_opening (job, p->d, begin, ok);
      pthread_mutex_unlock (&job->decision);
    }
  if (ok)
    return TRUE;
  const char *why = error ? error->message : "it did not say why";
  pthread_mutex_lock (&job->decision);
  note_locked (p, why);
  hass_decide_lost (job, p->d);
  gboolean left = any_device_left_locked (job);
  HassSlot *slot = atomic_load_explicit (&job->current, memory_order_relaxed);
  if (left && slot)
    hass_decide_stalled (job, slot);
  pthread_mutex_unlock (&job->decision);
  if (!left)
    hass_job_stop (job, g_error_new (HASS_ERROR, HASS_ERROR_DEVICE,
                                     "farm '%s': no device could be opened: %s",
                                     job->farm->name, why));
  g_clear_error (&error);
  hass_live_changed (job);
  return FALSE;
}

static void
serve (Proxy *p)
{
  HassJob *job = p->job;
  for (;;)
    {
      guint64 epoch = hass_event_prepare (&job->event);
      if (feed (p))
        {
          hass_event_cancel (&job->event);
          continue;
        }
      gboolean over
          = atomic_load_explicit (&p->live->over, memory_order_seq_cst);
      if (p->n_in_flight > 0)
        {
          hass_event_cancel (&job->event);
          wait_for_part (p);
        }
      else if (over)
        {
          hass_event_cancel (&job->event);
          return;
        }
      else
        hass_event_wait (&job->event, epoch, patience (p));
    }
}

static void
proxy_free (Proxy *p)
{
  for (guint i = 0; i < p->depth; i++)
    g_free (p->parts[i].blocks);
  g_free (p->bundles);
  g_free (p->parts);
  g_free ((gpointer)p->farm.accumulator_init);
  g_free (p);
}

static gpointer
run (gpointer data)
{
  Proxy *p = data;
  const HassDeviceOps *ops = p->device->ops;
  hass_thread_urgent ();
  if (open_device (p))
    {
      serve (p);
      ops->close (p->device);
      if (ops->struct_size > G_STRUCT_OFFSET (HassDeviceOps, transfers)
          && ops->transfers)
        ops->transfers (p->device, &p->job->totals[p->d].transfers);
    }
  proxy_free (p);
  return NULL;
}

/* What a device has to know of the farm. */
static void
describe_farm (HassJob *job, HassDeviceFarm *f)
{
  const HassFarm *farm = job->farm;
  double per_element = farm->gpu_records_per_element;
  *f = (HassDeviceFarm){
    .name = farm->name,
    .kind = farm->kind,
    .gpu_worker = farm->gpu_worker,
    .gpu_worker_of = farm->gpu_worker_of,
    .gpu_function_of = farm->gpu_function_of,
    .bundle = farm->bundle,
    .unbundle = farm->unbundle,
    .constants = farm->constants,
    .n_constants = farm->n_constants,
    .record_bytes = farm->gpu_record_bytes,
    .records_per_element = per_element > 0 ? per_element : 1 / 256.0,
    .bundle_deadline_ns = farm->run->bundle_deadline_ms * 1000000,
    .user_data = farm->user_data,
  };
  if (!farm->reduce)
    return;
  f->accumulator_bytes = farm->accumulator_bytes;
  if (!farm->reduce_init)
    return;
  gpointer init = g_malloc0 (farm->accumulator_bytes);
  const char *before = hass_engine_enter_callback ("reduce_init", job);
  farm->reduce_init (init, farm->user_data);
  hass_engine_leave_callback (before);
  f->accumulator_init = init;
}

static gboolean
start_one (HassJob *job, HassLive *live, guint d, GError **error)
{
  const HassDeviceTraits *traits = &job->devices[d];
  Proxy *p = g_new0 (Proxy, 1);
  describe_farm (job, &p->farm);
  p->job = job;
  p->live = live;
  p->d = d;
  p->device = job->gpus[d];
  p->depth = MAX (traits->max_in_flight, 1);
  p->bundles = g_new0 (Bundle, p->depth);
  p->parts = g_new0 (Part, p->depth);
  p->part_bytes = traits->part_bytes;
  if (traits->memory_bytes > 0)
    {
      guint64 each = MAX (traits->memory_bytes / p->depth, 1);
      p->part_bytes = p->part_bytes > 0 ? MIN (p->part_bytes, each) : each;
    }
  /* Contexts of the cores come first; without a pool, the caller's. */
  guint first_gpu = job->cpu >= 0 ? 1 : 0;
  p->worker = &job->workers[MAX (job->n_cores, 1) + d - first_gpu];
  int failure = pthread_create (&live->proxies[d], NULL, run, p);
  if (failure == 0)
    {
      live->has_proxy[d] = TRUE;
      return TRUE;
    }
  g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
               "no thread can be made for %s: %s", traits->name,
               g_strerror (failure));
  proxy_free (p);
  return FALSE;
}

/* Starts the devices' threads. FALSE when no device at all is left. */
gboolean
hass_proxies_start (HassJob *job, HassLive *live)
{
  guint n_left = job->cpu >= 0;
  GError *error = NULL;
  live->proxies = g_new0 (pthread_t, MAX (job->n_devices, 1));
  live->has_proxy = g_new0 (gboolean, MAX (job->n_devices, 1));
  for (guint d = 0; d < job->n_devices; d++)
    {
      if (!job->gpus[d])
        continue;
      if (start_one (job, live, d, error ? NULL : &error))
        n_left++;
      else
        {
          pthread_mutex_lock (&job->decision);
          job->totals[d].lost = TRUE;
          pthread_mutex_unlock (&job->decision);
        }
    }
  if (n_left == 0)
    hass_job_stop (job, g_error_new (HASS_ERROR, HASS_ERROR_DEVICE,
                                     "farm '%s': no device could be opened: "
                                     "%s",
                                     job->farm->name,
                                     error ? error->message : "none present"));
  g_clear_error (&error);
  return n_left > 0;
}

void
hass_proxies_stop (HassJob *job, HassLive *live)
{
  atomic_store_explicit (&live->over, TRUE, memory_order_seq_cst);
  hass_event_notify (&job->event);
  for (guint d = 0; d < job->n_devices; d++)
    if (live->has_proxy[d])
      pthread_join (live->proxies[d], NULL);
  g_free (live->proxies);
  g_free (live->has_proxy);
}
