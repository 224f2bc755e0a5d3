/* SPDX-License-Identifier: MIT */
/* proxy_settle.c: what becomes of a part that has left its device, or that
   the device has not accepted; step 5 of proxy.c.

   DESIGN. Results are taken over and counted; units that failed go back to
   their round. The strategy hears of a grant when its last part has left. A
   device that fails three times in a row is given up; bundles that fail
   together are one time.

   Thread safety: the device's proxy thread. */
#include "proxy-private.h"
#include "engine/observe/record.h"

#define FAILURES_IN_A_ROW 3

/* Keeps the first reason for the report and, should no device be left, the
   error behind it for the farm's. Under the decision lock. */
void
hass_proxy_note_locked (HassProxy *p, const char *message)
{
  HassTotals *totals = &p->job->totals[p->d];
  if (message && !totals->message)
    {
      totals->error_domain = p->error_domain;
      totals->error_code = p->error_code;
    }
  hass_decide_note (p->job, p->d, message);
}

/* A grant of which nothing is left: the strategy hears of it. */
void
hass_proxy_finish_bundle (HassProxy *p, HassProxyBundle *b, gint64 end_ns)
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

void
hass_proxy_give_up (HassProxy *p, const char *message)
{
  HassJob *job = p->job;
  pthread_mutex_lock (&job->decision);
  hass_proxy_note_locked (p, message);
  hass_decide_lost (job, p->d, message);
  pthread_mutex_unlock (&job->decision);
}

/* Devices tell how long the stages of a part took, not when they were. Each
   is taken to follow the one before it and the same stage of the part before,
   and none to be later than what followed it. */
static void
trace_part (HassProxy *p, const HassProxyPart *part, const HassBundleDone *done,
            gint64 end)
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
take_over (HassProxy *p, HassProxyPart *part, const HassBundleDone *done,
           gint64 end)
{
  HassJob *job = p->job;
  HassProxyBundle *b = part->bundle;
  HassExtent e = part->extent;
  gint64 start = MAX (part->submit_ns, p->last_end_ns);
  HassDone counted = { .n = e.n,
                       .bytes = part->bytes,
                       .work = hass_round_work_taken (&b->round->round, e),
                       .part = b->counted };
  if (hass_round_is_exclusive (&b->round->round, e))
    counted.exclusive = counted.work;
  for (gsize i = 0; i < part->n_blocks; i++)
    counted.halo += part->blocks[i].halo_before + part->blocks[i].halo_after;
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
  b->told.host_ns += done->host_ns;
  b->told.worker_ns += done->worker_ns;
  b->told.kernel_busy_ns += done->kernel_busy_ns;
}

/* 5. What of a grant was not handed over goes back as well. */
static void
give_back (HassProxy *p, HassProxyPart *part, const char *message)
{
  HassProxyBundle *b = part->bundle;
  HassRound *round = &b->round->round;
  pthread_mutex_lock (&p->job->decision);
  hass_proxy_note_locked (p, message);
  hass_round_give_back (round, part->extent);
  hass_round_give_back (round, b->rest);
  pthread_mutex_unlock (&p->job->decision);
  b->rest.n = 0;
  b->failed = TRUE;
}

static void
record (HassProxy *p, const HassProxyPart *part, const HassBundleDone *done,
        gint64 end)
{
  const HassProxyBundle *b = part->bundle;
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
void
hass_proxy_settle (HassProxy *p, HassProxyPart *part,
                   const HassBundleDone *done, const char *message)
{
  HassJob *job = p->job;
  HassProxyBundle *b = part->bundle;
  HassSlot *round = b->round;
  guint32 n = part->extent.n;
  gint64 end = hass_live_now (job);
  if (!done->failed)
    p->n_failures = 0;
  else if (!done->together)
    p->n_failures++;
  if (done->lost || p->n_failures >= FAILURES_IN_A_ROW)
    hass_proxy_give_up (p, message);
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
    hass_proxy_finish_bundle (p, b, end);
  if (!done->failed)
    hass_job_units_finished (job, round, n);
  /* Where it is the only device, in the middle of a round, nobody waits for
     this: a sleeping caller need not be woken each time. */
  if (job->n_devices > 1 || done->failed
      || !atomic_load_explicit (&job->current, memory_order_acquire))
    hass_live_changed (job);
}
