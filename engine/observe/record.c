/* SPDX-License-Identifier: MIT */
/* record.c: gathers the rows and rounds of a record.

   DESIGN.
   1. A list that is full is halved: neighbours of the same round become one
      row, and from then on a row takes in what follows until it has so many
      pulls. Where rounds are so short that this is not enough, neighbours of
      different rounds become one too.
   2. A device works in stages, copy in, kernel, copy out, and a part may
      queue before each. What it says of a part are the times between the
      stages' ends, queueing included; a row holds the time that each stage
      was busy with the part, counted from when it was done with the part
      before. So rows of several parts may be added up. Where the
      device had nothing else, the copy in begins with submit: what the host
      does before the copy, and how late it hears of the end, is part of it,
      for nothing else would tell of them.

   Thread safety: see record.h. */
#include "record.h"

HassRecorder *
hass_recorder_open (HassJob *job, const char *path, GError **error)
{
  if (!hass_recorder_prepare (path, error))
    return NULL;
  HassRecorder *r = g_new0 (HassRecorder, 1);
  guint n_cores = MAX (job->n_cores, 1);
  r->path = g_strdup (path);
  r->n_lists = job->n_workers;
  r->lists = g_new0 (HassRecordList, r->n_lists);
  for (guint i = 0; i < r->n_lists; i++)
    {
      r->lists[i].most = i < n_cores ? MAX (HASS_RECORD_CORE_ROWS / n_cores,
                                            HASS_RECORD_LEAST_ROWS)
                                     : HASS_RECORD_DEVICE_ROWS;
      r->lists[i].together = 1;
    }
  r->order = g_array_new (FALSE, FALSE, sizeof (guint32));
  r->work = g_array_new (FALSE, FALSE, sizeof (double));
  r->rounds = g_array_new (FALSE, FALSE, sizeof (HassRecordRound));
  r->openings = g_array_new (FALSE, FALSE, sizeof (HassRecordOpening));
  r->together = 1;
  return r;
}

void
hass_recorder_free (HassRecorder *r)
{
  for (guint i = 0; i < r->n_lists; i++)
    g_free (r->lists[i].rows);
  g_free (r->lists);
  g_array_unref (r->rounds);
  g_array_unref (r->order);
  g_array_unref (r->work);
  g_array_unref (r->openings);
  g_free (r->path);
  g_free (r);
}

/* -- 1. Rows ------------------------------------------------------------ */

static void
take_in (HassRecordRow *a, const HassRecordRow *b)
{
  a->first = MIN (a->first, b->first);
  a->last = MAX (a->last, b->last);
  a->end_ns = b->end_ns;
  a->units += b->units;
  a->n += b->n;
  a->busy_ns += b->busy_ns;
  a->h2d_ns += b->h2d_ns;
  a->kernel_ns += b->kernel_ns;
  a->d2h_ns += b->d2h_ns;
  a->host_ns += b->host_ns;
  a->work += b->work;
  a->elements += b->elements;
  a->in_bytes += b->in_bytes;
  a->out_bytes += b->out_bytes;
}

static void
put_together (HassRecordList *list, gboolean across)
{
  guint32 n = MIN (list->n, HASS_RECORD_FIRST_ROWS);
  for (guint32 i = n; i < list->n; i++)
    {
      HassRecordRow *row = &list->rows[i];
      HassRecordRow *last
          = n > HASS_RECORD_FIRST_ROWS ? &list->rows[n - 1] : NULL;
      if (last && last->n + row->n <= list->together
          && last->failed == row->failed
          && (across || last->round == row->round))
        take_in (last, row);
      else
        list->rows[n++] = *row;
    }
  list->n = n;
}

static void
make_room (HassRecordList *list)
{
  list->together *= 2;
  put_together (list, FALSE);
  if (list->n > list->most / 4 * 3)
    put_together (list, TRUE);
}

static void
add_row (HassRecordList *list, const HassRecordRow *row)
{
  HassRecordRow *last = list->n > 0 ? &list->rows[list->n - 1] : NULL;
  if (last && last->round == row->round && last->failed == row->failed
      && last->n < list->together && list->together > 1)
    {
      take_in (last, row);
      return;
    }
  for (guint i = 0; list->n >= list->most && i < 32; i++)
    make_room (list);
  /* Rows that failed and rows that did not, in turn: what follows is lost to
     the record. */
  if (list->n >= list->most)
    return;
  if (list->n == list->capacity)
    {
      list->capacity = CLAMP (2 * list->capacity, 64, list->most);
      list->rows = g_renew (HassRecordRow, list->rows, list->capacity);
    }
  list->rows[list->n++] = *row;
}

/* What the units of an extent are in elements and bytes. */
static void
measure (const HassRound *round, HassExtent e, HassRecordRow *row)
{
  HassBlock block;
  if (hass_round_merge (round, e, &block))
    {
      row->elements = block.count;
      row->in_bytes = block.input_bytes;
      row->out_bytes = block.output_bytes;
      return;
    }
  for (guint32 i = 0; i < e.n; i++)
    {
      hass_round_block (round, e.first + i, &block);
      row->elements += block.count;
      row->in_bytes += block.input_bytes;
      row->out_bytes += block.output_bytes;
    }
}

/* Before the units are counted as finished: the slot may go then. */
void
hass_record_pull (HassJob *job, const HassWorker *worker, const HassSlot *slot,
                  HassExtent e, const HassDone *done, gint64 begin_ns,
                  gint64 end_ns)
{
  e.n = done->n;
  guint64 first = slot->order_base + e.first;
  HassRecordRow row = { .first = first,
                        .last = first + e.n,
                        .units = e.n,
                        .n = 1,
                        .begin_ns = begin_ns,
                        .end_ns = end_ns,
                        .busy_ns = end_ns - begin_ns,
                        .work = done->work,
                        .round = slot->round.number,
                        .failed = done->n_failed > 0 };
  measure (&slot->round, e, &row);
  add_row (&job->recorder->lists[worker->index], &row);
}

/* -- 2. Parts ----------------------------------------------------------- */

/* How long a stage that ended now was busy since before, and moves before. */
static double
stage (gint64 begin_ns, gint64 end_ns, gint64 *before_ns)
{
  double busy = end_ns - MAX (begin_ns, *before_ns);
  *before_ns = MAX (*before_ns, end_ns);
  return MAX (busy, 0);
}

/* Also before the units are counted as finished. */
void
hass_record_part (HassJob *job, const HassWorker *worker, const HassSlot *slot,
                  const HassRecordPart *part)
{
  HassRecordList *list = &job->recorder->lists[worker->index];
  guint64 first = slot->order_base + part->extent.first;
  gint64 computed = part->end_ns - (gint64)part->d2h_ns;
  gint64 copied = computed - (gint64)part->kernel_ns;
  gint64 free_ns = MAX (part->submit_ns, list->done_ns);
  /* While the part before is on the device nobody waits for the host. */
  gint64 begun = MIN (copied - (gint64)part->h2d_ns, free_ns);
  HassRecordRow row = { .first = first,
                        .last = first + part->extent.n,
                        .units = part->extent.n,
                        .n = 1,
                        .grant_ns = part->grant_ns,
                        .begin_ns = part->submit_ns,
                        .end_ns = part->end_ns,
                        .busy_ns = part->end_ns - free_ns,
                        .host_ns = part->settled_ns - part->end_ns,
                        .work = part->work,
                        .elements = part->elements,
                        .in_bytes = part->in_bytes,
                        .out_bytes = part->out_bytes,
                        .round = slot->round.number,
                        .failed = part->failed };
  if (part->busy_times)
    {
      row.h2d_ns = part->h2d_ns;
      row.kernel_ns = part->kernel_ns;
      row.d2h_ns = part->d2h_ns;
    }
  else if (!part->failed)
    {
      row.h2d_ns = stage (begun, copied, &list->copied_ns);
      row.kernel_ns = stage (copied, computed, &list->computed_ns);
      row.d2h_ns = stage (computed, part->end_ns, &list->done_ns);
    }
  list->done_ns = MAX (list->done_ns, part->end_ns);
  add_row (list, &row);
}

/* -- Openings and rounds; under the decision lock ------------------------ */

void
hass_record_opening (HassJob *job, guint device, gint64 begin_ns, gboolean ok)
{
  HassRecordOpening opening = { device, begin_ns, job->engine->now (job), ok };
  g_array_append_val (job->recorder->openings, opening);
}

static gint
by_place (gconstpointer a, gconstpointer b)
{
  const HassRecordRound *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

/* Rounds may end in another order than they began. */
static void
join_rounds (HassRecorder *r)
{
  guint n = 0;
  r->together *= 2;
  g_array_sort (r->rounds, by_place);
  for (guint i = 0; i < r->rounds->len; i++)
    {
      HassRecordRound *b = &g_array_index (r->rounds, HassRecordRound, i);
      HassRecordRound *a
          = n > 0 ? &g_array_index (r->rounds, HassRecordRound, n - 1) : NULL;
      if (a && a->n + b->n <= r->together)
        {
          a->number = MIN (a->number, b->number);
          a->n += b->n;
          a->order_at = a->work_at = 0;
          a->last = MAX (a->last, b->last);
          a->units += b->units;
          a->loads += b->loads;
          a->cpu_only += b->cpu_only;
          a->gpu_only += b->gpu_only;
          a->work += b->work;
          a->begin_ns = MIN (a->begin_ns, b->begin_ns);
          a->end_ns = MAX (a->end_ns, b->end_ns);
        }
      else
        g_array_index (r->rounds, HassRecordRound, n++) = *b;
    }
  g_array_set_size (r->rounds, n);
}

/* Which unit lay at which position, where a strategy has moved them, and what
   each was said to cost, as long as there is room. */
static void
keep_units (HassRecorder *r, const HassRound *round, HassRecordRound *entry)
{
  const guint32 *order = hass_round_order (round);
  guint32 n = round->n_units;
  if (order && r->order->len + n <= HASS_RECORD_UNITS)
    {
      entry->order_at = r->order->len + 1;
      g_array_append_vals (r->order, order, n);
    }
  if (round->divisible || round->cost != HASS_COST_SIZED
      || r->work->len + n > HASS_RECORD_UNITS)
    return;
  entry->work_at = r->work->len + 1;
  for (guint32 i = 0; i < n; i++)
    {
      double work = hass_round_true_cost (round, i);
      g_array_append_val (r->work, work);
    }
}

/* A round has ended; its devices are summed up in job->summary. */
void
hass_record_round (HassJob *job, const HassSlot *slot, gint64 end_ns)
{
  HassRecorder *r = job->recorder;
  const HassRound *round = &slot->round;
  HassRecordRound entry
      = { .number = round->number,
          .n = 1,
          .first = slot->order_base,
          .last = slot->order_base + round->n_units,
          .units = round->n_units,
          .loads = slot->span.n,
          .block = round->divisible ? round->division.block_elements : 0,
          .cpu_only = round->n_partial_cpu,
          .gpu_only = round->n_partial_linked,
          .begin_ns = round->begin_ns,
          .end_ns = end_ns };
  for (guint d = 0; d < job->n_devices; d++)
    entry.work += job->summary[d].work;
  keep_units (r, round, &entry);
  g_array_append_val (r->rounds, entry);
  if (r->rounds->len >= HASS_RECORD_ROUNDS)
    join_rounds (r);
}
