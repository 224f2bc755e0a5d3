/* SPDX-License-Identifier: MIT */
/* virtual_bundle.c: bundles on modelled GPUs. The numbers are those of the
   DESIGN paragraph in virtual-private.h.
   Thread safety: by the world's thread. */
#include "engine/observe/record.h"
#include "virtual-private.h"

/* What the strategy granted at once. */
struct HassVirtualGrant
{
  HassExtent rest; /* not handed over yet */
  guint n_parts;   /* on the device */
  gboolean counted;
  HassCompletion told;
};

/* A part of a grant, most often all of it. */
struct HassVirtualBundle
{
  guint device; /* a GPU */
  HassVirtualGrant *grant;
  HassExtent extent;
  gint64 submit_ns, end_ns;
  double h2d_ns, kernel_ns, d2h_ns;
  guint64 bytes, out_bytes, elements;
  guint stage;     /* 0 copy in, 1 kernel, 2 copy out, 3 host, 4 done */
  gboolean enters; /* copies what the GPU needs first in this round */
  HassStages stages;
  gboolean failed;
};

/* -- How long a bundle takes -------------------------------------------- */

static gboolean
one_block_a_unit (const HassRound *round, HassExtent e)
{
  return round->farm == HASS_FARM_INDIVISIBLE
         || (round->farm == HASS_FARM_FUNCTION
             && hass_round_elements (round, e.first) <= 1);
}

/* Kernel of a bundle whose every unit is one block. */
static double
blocks_ns (HassVirtualWorld *w, const HassRound *round,
           const HassVirtualBundle *b, const HassGpuModel *gpu)
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
      work[i] = hass_virtual_cost (w, round, b->device,
                                   (HassExtent){ e.first + i, 1 });
      elements[i] = block.count;
    }
  return hass_model_blocks_ns (gpu, work, elements, e.n);
}

/* Part of the copy for those who wait for it, but no copying. */
static double
submit_ns (const HassVirtualWorld *w, const HassVirtualBundle *b)
{
  return w->model && w->model->submit_ns ? w->model->submit_ns[b->device] : 0;
}

/* Threads that so many elements give a GPU; who models costs has widths in
   elements. */
static guint64
threads (const HassVirtualWorld *w, guint64 elements)
{
  return w->model ? elements
                  : elements * MAX (w->job->farm->element_threads, 1);
}

static void
estimate (HassVirtualWorld *w, HassRound *round, HassVirtualBundle *b,
          const HassGpuModel *gpu)
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
  double total = hass_virtual_cost (w, round, b->device, e);
  w->job->totals[b->device].cost += total;
  b->enters = w->model && !w->entered[b->device];
  if (b->enters)
    entry = w->model->entry_bytes;
  w->entered[b->device] = TRUE;
  w->entry_bytes[b->device] += (guint64)entry;
  b->h2d_ns = hass_model_h2d_ns (gpu, b->bytes + (gsize)entry);
  b->h2d_ns += submit_ns (w, b);
  b->d2h_ns = hass_model_d2h_ns (gpu, b->out_bytes);
  b->kernel_ns
      = one_block_a_unit (round, e)
            ? blocks_ns (w, round, b, gpu)
            : hass_model_kernel_ns (gpu, total, threads (w, b->elements));
  b->kernel_ns *= hass_virtual_noise (w);
}

/* -- 2. From stage to stage --------------------------------------------- */

/* Queues the bundle for its next stage. */
static void
next_stage (HassVirtualWorld *w, HassVirtualBundle *b)
{
  guint g = b->device - hass_virtual_first_gpu (w);
  const HassGpuModel *gpu = &w->platform->gpus[g];
  HassVirtualLink *link = &w->links[gpu->link];
  gint64 unused = w->clock;
  gint64 *resource = &unused;
  double ns = 0;
  if (b->stage == 0)
    {
      ns = b->h2d_ns;
      /* With nothing to copy it still waits for the entry copy. */
      resource = ns > 0 ? &link->in_free : &w->entry_end[g];
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
  gint64 begin = MAX (w->clock, *resource);
  gint64 end = hass_virtual_later (w, begin, ns);
  *resource = end;
  if (b->stage == 0 && b->enters)
    w->entry_end[g] = end;
  if (b->stage < HASS_N_STAGES)
    {
      b->stages.begin_ns[b->stage] = begin;
      b->stages.end_ns[b->stage] = end;
    }
  b->stage++;
  hass_virtual_push (w, (HassVirtualDue){ .t = end, .core = -1, .bundle = b });
}

/* The host has work with a part that is back only where a model says so. */
static gboolean
is_over (const HassVirtualWorld *w, const HassVirtualBundle *b)
{
  return b->failed || b->stage > (w->model && w->model->host_ns ? 3 : 2);
}

/* -- 1. Asking ---------------------------------------------------------- */

/* Units from the front of what is left that make a part, as proxy_parts.c cuts
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
      n = (guint32)CLAMP (most / MAX (bytes, 1), 1, rest.n);
      return hass_part_units (rest, n, job->farm->gpu_multiple);
    }
  for (; n < rest.n && (n == 0 || bytes <= most); n++)
    {
      hass_round_block (round, rest.first + n, &block);
      bytes += block.input_bytes + block.output_bytes;
    }
  n = bytes > most && n > 1 ? n - 1 : n;
  return round->divisible ? hass_part_units (rest, n, job->farm->gpu_multiple)
                          : n;
}

static HassVirtualGrant *
ask_gpu (HassVirtualWorld *w, HassSlot *slot, guint d)
{
  HassExtent e = { 0, 0 };
  HassGrant unused;
  if (!hass_decide_gpu (w->job, slot, d, &e, &unused))
    return NULL;
  HassVirtualGrant *grant = g_new0 (HassVirtualGrant, 1);
  grant->rest = e;
  grant->told = (HassCompletion){
    .device = d,
    .grant_ns = w->clock,
    .start_ns = MAX (w->clock, w->last_end[d - hass_virtual_first_gpu (w)])
  };
  return grant;
}

/* Hands one part over. FALSE: nothing to do now. */
static gboolean
feed_gpu (HassVirtualWorld *w, HassSlot *slot, guint d)
{
  HassJob *job = w->job;
  guint g = d - hass_virtual_first_gpu (w);
  if (!hass_virtual_is_open (w, d) || w->clock < w->host_free[g]
      || w->n_on[g] >= job->devices[d].max_in_flight)
    return FALSE;
  job->devices[d].opening = FALSE;
  if (!w->granted[g])
    w->granted[g] = ask_gpu (w, slot, d);
  HassVirtualGrant *grant = w->granted[g];
  if (!grant)
    return FALSE;
  HassVirtualBundle *b = g_new0 (HassVirtualBundle, 1);
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

/* Hands over as much as the GPUs take. FALSE: nothing. */
gboolean
hass_virtual_feed_gpus (HassVirtualWorld *w, HassSlot *slot)
{
  gboolean any = FALSE;
  for (guint d = hass_virtual_first_gpu (w); d < w->job->n_devices; d++)
    while (feed_gpu (w, slot, d))
      any = TRUE;
  return any;
}

/* -- 3. What is back ---------------------------------------------------- */

static void
give_back (HassJob *job, HassSlot *slot, HassExtent e)
{
  pthread_mutex_lock (&job->decision);
  hass_round_give_back (&slot->round, e);
  pthread_mutex_unlock (&job->decision);
}

static void
record (HassVirtualWorld *w, const HassSlot *slot, const HassWorker *worker,
        const HassVirtualBundle *b, const HassDone *done)
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
bundle_done (HassVirtualWorld *w, HassSlot *slot, HassVirtualBundle *b)
{
  HassJob *job = w->job;
  guint g = b->device - hass_virtual_first_gpu (w);
  HassWorker *worker = &job->workers[MAX (job->n_cores, 1) + g];
  HassVirtualGrant *grant = b->grant;
  gint64 start = MAX (b->submit_ns, w->last_end[g]);
  w->last_end[g] = w->clock;
  w->n_on[g]--;
  grant->n_parts--;
  b->end_ns = b->end_ns > 0 ? b->end_ns : w->clock;
  HassDone done = { 0 };
  if (b->failed)
    {
      give_back (job, slot, b->extent);
      hass_job_trace_failed (job, slot, b->device, b->extent, b->bytes, start,
                             w->clock);
    }
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
  told->kernel_busy_ns += b->kernel_ns;
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
  hass_virtual_finished (w, slot, done.n);
}

/* A stage is over: the bundle goes on to the next, or is back. */
void
hass_virtual_go_on (HassVirtualWorld *w, HassSlot *slot, HassVirtualBundle *b)
{
  if (is_over (w, b))
    bundle_done (w, slot, b);
  else
    next_stage (w, b);
}

/* What the device has in flight fails now, and it takes no more. */
void
hass_virtual_lose (HassVirtualWorld *w, guint device)
{
  HassJob *job = w->job;
  HassVirtualDue *h = (HassVirtualDue *)w->heap->data;
  for (guint i = 0; i < w->heap->len; i++)
    if (h[i].bundle && h[i].bundle->device == device)
      {
        h[i].t = w->clock;
        h[i].bundle->failed = TRUE;
      }
  hass_virtual_sort (w);
  pthread_mutex_lock (&job->decision);
  hass_decide_lost (job, device, "the model says so");
  pthread_mutex_unlock (&job->decision);
}
