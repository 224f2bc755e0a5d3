/* SPDX-License-Identifier: MIT */
/* record.c: gathers the rows and rounds of a record.

   DESIGN.
   1. Rows. A full list is halved: neighbouring rows of the same round are
      merged, and from then on a row includes the following pulls up to the
      number of pulls of a merged row. Where rounds are so short that this is
      not enough, rows of different rounds are merged, too.
   2. Parts. A device works in stages, copy in, kernel and copy out, and a part
      may wait before each. The device reports the times between the ends of a
      part's stages, which include waiting. A row holds the time that each stage
      was busy with the part, counted from when that stage had ended for the
      previous part. So the rows of several parts can be added. If the device
      was idle, the copy in begins with submit: it includes the host's work
      before the copy and the delay until the host notices the end, because no
      other row would hold them.

   Thread safety: see record-private.h. */
#include "record-private.h"

gpointer
hass_recorder_new (const char *path)
{
  HassRecorder *r = g_new0 (HassRecorder, 1);
  r->path = g_strdup (path);
  r->order = g_array_new (FALSE, FALSE, sizeof (guint32));
  r->work = g_array_new (FALSE, FALSE, sizeof (double));
  r->rounds = g_array_new (FALSE, FALSE, sizeof (HassRecordRound));
  r->openings = g_array_new (FALSE, FALSE, sizeof (HassRecordOpening));
  r->together = 1;
  return r;
}

static gboolean
open_record (gpointer self, const HassFarmFacts *farm, GError **error)
{
  HassRecorder *r = self;
  guint n_cores = MAX (farm->n_cores, 1);
  if (farm->farm->kind > HASS_FARM_PIPELINE)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "dataflow '%s': a dataflow cannot be recorded; neither the "
                   "option record nor HASS_RECORD may be set",
                   farm->farm->name);
      return FALSE;
    }
  if (!hass_recorder_prepare (r->path, error))
    return FALSE;
  if (farm->farm->kind == HASS_FARM_PIPELINE)
    {
      r->pipe = hass_pipe_recorder_new (farm);
      return TRUE;
    }
  r->farm = farm;
  r->n_lists = farm->n_workers;
  r->lists = g_new0 (HassRecordList, r->n_lists);
  for (guint i = 0; i < r->n_lists; i++)
    {
      r->lists[i].most = i < n_cores ? MAX (HASS_RECORD_CORE_ROWS / n_cores,
                                            HASS_RECORD_LEAST_ROWS)
                                     : HASS_RECORD_DEVICE_ROWS;
      r->lists[i].together = 1;
    }
  return TRUE;
}

static void
recorder_free (gpointer self)
{
  HassRecorder *r = self;
  for (guint i = 0; i < r->n_lists; i++)
    g_free (r->lists[i].rows);
  g_free (r->lists);
  g_array_unref (r->rounds);
  g_array_unref (r->order);
  g_array_unref (r->work);
  g_array_unref (r->openings);
  hass_pipe_recorder_free (r->pipe);
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
  /* The list is still full: failed and other rows alternate and cannot be
     merged. The row is not recorded. */
  if (list->n >= list->most)
    return;
  if (list->n == list->capacity)
    {
      list->capacity = CLAMP (2 * list->capacity, 64, list->most);
      list->rows = g_renew (HassRecordRow, list->rows, list->capacity);
    }
  list->rows[list->n++] = *row;
}

/* Sets the row's elements and bytes to the sums over the units of an extent. */
static void
measure (const HassRound *round, HassExtent e, HassRecordRow *row)
{
  HassBlock block;
  for (guint32 n; e.n > 0; e = hass_extent_rest (e, n))
    {
      n = hass_round_merge (round, e, &block);
      row->elements += block.count;
      row->in_bytes += block.input_bytes;
      row->out_bytes += block.output_bytes;
    }
}

static void
pulled (gpointer self, const HassPulled *f)
{
  HassRecorder *r = self;
  HassExtent e = { f->extent.first, f->n };
  guint64 first = f->first + e.first;
  if (e.n == 0)
    return;
  HassRecordRow row = { .first = first,
                        .last = first + e.n,
                        .units = e.n,
                        .n = 1,
                        .begin_ns = f->begin_ns,
                        .end_ns = f->end_ns,
                        .busy_ns = f->end_ns - f->begin_ns,
                        .work = f->work,
                        .round = f->round->number,
                        .failed = f->failed };
  measure (f->round, e, &row);
  add_row (&r->lists[f->worker], &row);
}

/* -- 2. Parts ----------------------------------------------------------- */

static void
staged (gpointer self, const HassStaged *f)
{
  HassRecorder *r = self;
  hass_pipe_recorder_staged (r->pipe, f);
}

static void
part (gpointer self, const HassPartFact *f)
{
  HassRecorder *r = self;
  if (r->pipe)
    {
      hass_pipe_recorder_part (r->pipe, f);
      return;
    }
  HassRecordList *list = &r->lists[f->worker];
  guint64 first = f->first + f->extent.first;
  gint64 computed = f->left_ns - (gint64)f->d2h_ns;
  gint64 copied = computed - (gint64)f->kernel_ns;
  gint64 free_ns = MAX (f->submit_ns, list->done_ns);
  /* While the previous part is on the device, the host's work delays nothing,
     so the stage begins at the reported time or when the device is free,
     whichever is earlier. */
  gint64 begun = MIN (copied - (gint64)f->h2d_ns, free_ns);
  if (f->n == 0)
    return;
  HassRecordRow row = { .first = first,
                        .last = first + f->n,
                        .units = f->n,
                        .n = 1,
                        .grant_ns = f->grant_ns,
                        .begin_ns = f->submit_ns,
                        .end_ns = f->left_ns,
                        .busy_ns = f->left_ns - free_ns,
                        .host_ns = f->settled_ns - f->left_ns,
                        .work = f->work,
                        .elements = f->elements,
                        .in_bytes = f->in_bytes,
                        .out_bytes = f->out_bytes,
                        .round = f->round->number,
                        .failed = f->failed };
  if (f->busy_times)
    {
      row.h2d_ns = f->h2d_ns;
      /* No kernel's time holds waiting, but kernels may run side by side. */
      row.kernel_ns = hass_record_added_ns (f->stages->begin_ns[HASS_KERNEL],
                                            f->stages->end_ns[HASS_KERNEL],
                                            &list->computed_ns);
      row.d2h_ns = f->d2h_ns;
    }
  else if (!f->failed)
    {
      row.h2d_ns = hass_record_added_ns (begun, copied, &list->copied_ns);
      row.kernel_ns
          = hass_record_added_ns (copied, computed, &list->computed_ns);
      row.d2h_ns = hass_record_added_ns (computed, f->left_ns, &list->done_ns);
    }
  list->done_ns = MAX (list->done_ns, f->left_ns);
  add_row (list, &row);
}

/* -- Openings and rounds; under the decision lock ------------------------ */

static void
opened (gpointer self, const HassOpened *f)
{
  HassRecorder *r = self;
  HassRecordOpening opening = { f->device, f->begin_ns, f->end_ns, f->ok };
  g_array_append_val (r->openings, opening);
}

/* Merges neighbouring rounds of the record, since a record holds at most
   HASS_RECORD_ROUNDS. */
static void
join_rounds (HassRecorder *r)
{
  guint n = 0;
  r->together *= 2;
  hass_recorder_sort_rounds (r);
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

/* Keeps, as long as there is room, the order of the round's units, if a
   strategy has changed it, and the cost that each unit was given. */
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

static void
round_ended (gpointer self, const HassRoundFact *f)
{
  HassRecorder *r = self;
  const HassRound *round = f->round;
  HassRecordRound entry
      = { .number = round->number,
          .n = 1,
          .first = f->first,
          .last = f->first + round->n_units,
          .units = round->n_units,
          .loads = f->n_loads,
          .block = round->divisible ? round->division.block_elements : 0,
          .cpu_only = round->n_partial_cpu,
          .gpu_only = round->n_partial_linked,
          .begin_ns = round->begin_ns,
          .end_ns = f->at_ns,
          .work = f->work };
  keep_units (r, round, &entry);
  g_array_append_val (r->rounds, entry);
  if (r->rounds->len >= HASS_RECORD_ROUNDS)
    join_rounds (r);
}

static gboolean
ended (gpointer self, const HassEnded *fact, GError **error)
{
  HassRecorder *r = self;
  if (r->pipe)
    return hass_pipe_recorder_write (r->pipe, r->path, r->openings, fact,
                                     error);
  return hass_recorder_write (r, fact, error);
}

const HassListenerOps hass_record_ops = {
  .open = open_record,
  .opened = opened,
  .pulled = pulled,
  .staged = staged,
  .part = part,
  .round_ended = round_ended,
  .ended = ended,
  .free = recorder_free,
};
