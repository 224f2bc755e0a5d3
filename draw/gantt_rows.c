/* SPDX-License-Identifier: MIT */
/* gantt_rows.c: makes the rows of a Gantt chart and merges short bars; steps 1
   and 2 of gantt.c.
   Thread safety: see gantt-private.h. */
#include "gantt-private.h"

#define COPY_ROW 9
#define FOLDED_ROW 84
#define ROW_GAP 3
#define GROUP_GAP 14
#define MOST_BARS 4000
#define MOST_FAILURES 1000
#define MOST_COLUMNS 24000
#define SHORT_PX 1.2

/* -- 1. Rows ------------------------------------------------------------ */

static void
clear_row (gpointer data)
{
  GanttRow *row = data;
  g_array_unref (row->bars);
  g_array_unref (row->pieces);
}

static void
add_row (GanttChart *c, GanttRow row, double *y)
{
  row.y = *y;
  *y += row.height + ROW_GAP;
  row.bars = g_array_new (FALSE, FALSE, sizeof (DrawBar));
  row.pieces = g_array_new (FALSE, FALSE, sizeof (GanttPiece));
  g_array_append_val (c->rows, row);
}

static gint
by_begin (gconstpointer a, gconstpointer b)
{
  const DrawBar *x = a, *y = b;
  return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* The time that the bar adds to earlier ones, which cover the row until
   @until_ns: kernels may overlap. */
static double
added_ns (const DrawBar *bar, gint64 until_ns)
{
  return (double)MAX (bar->end_ns - MAX (bar->begin_ns, until_ns), 0);
}

/* Busy time of a row; of a pool the sum over its cores, which do not overlap
   with themselves. */
static double
busy_ns (const GanttChart *c, const GanttRow *row)
{
  double ns = 0;
  gint64 until_ns = 0;
  for (guint i = 0; i < row->bars->len; i++)
    {
      const DrawBar *bar = &g_array_index (row->bars, DrawBar, i);
      ns += added_ns (bar, row->folded ? 0 : until_ns);
      until_ns = MAX (until_ns, bar->end_ns);
    }
  return row->folded ? ns / c->trace->devices[row->device].cores : ns;
}

static void
add_gpu_rows (GanttChart *c, guint device, double *y)
{
  for (guint s = 0; s < DRAW_N_STAGES; s++)
    if (s == DRAW_KERNEL || !c->trace->has_tasks)
      add_row (
          c,
          (GanttRow){ .device = device,
                      .look = s,
                      .height = s == DRAW_KERNEL ? GANTT_ROW + 5 : COPY_ROW },
          y);
}

guint
gantt_row_of (const GanttChart *c, const DrawBar *bar)
{
  const DrawDevice *v = &c->trace->devices[bar->device];
  guint at = !v->gpu               ? bar->core
             : c->trace->has_tasks ? gantt_kernel_row (c)
                                   : bar->stage;
  if (!v->gpu && v->cores > DRAW_GANTT_MOST_CORES)
    at = 0;
  return c->first[bar->device] + at;
}

void
gantt_make_rows (GanttChart *c)
{
  const DrawTrace *t = c->trace;
  double y = c->top = GANTT_TOP;
  c->rows = g_array_new (FALSE, FALSE, sizeof (GanttRow));
  g_array_set_clear_func (c->rows, clear_row);
  c->first = g_new (guint, t->n_devices);
  for (guint d = 0; d < t->n_devices; d++)
    {
      const DrawDevice *v = &t->devices[d];
      c->first[d] = c->rows->len;
      y += d > 0 ? GROUP_GAP : 0;
      if (!v->gpu && v->cores > DRAW_GANTT_MOST_CORES)
        add_row (c,
                 (GanttRow){ .device = d,
                             .look = GANTT_CORE,
                             .folded = TRUE,
                             .height = FOLDED_ROW },
                 &y);
      else if (!v->gpu)
        for (guint i = 0; i < v->cores; i++)
          add_row (c,
                   (GanttRow){ .device = d,
                               .core = i,
                               .look = GANTT_CORE,
                               .height = GANTT_ROW },
                   &y);
      else
        add_gpu_rows (c, d, &y);
    }
  c->bottom = y - ROW_GAP;
  for (guint i = 0; i < t->bars->len; i++)
    {
      const DrawBar *bar = &g_array_index (t->bars, DrawBar, i);
      GanttRow *row = &g_array_index (c->rows, GanttRow, gantt_row_of (c, bar));
      if (bar->end_ns > bar->begin_ns)
        g_array_append_vals (row->bars, bar, 1);
    }
  for (guint i = 0; i < c->rows->len; i++)
    {
      GanttRow *row = &g_array_index (c->rows, GanttRow, i);
      g_array_sort (row->bars, by_begin);
      row->busy_ns = busy_ns (c, row);
    }
}

void
gantt_move_rows (GanttChart *c, double px)
{
  c->top += px;
  c->bottom += px;
  for (guint i = 0; i < c->rows->len; i++)
    g_array_index (c->rows, GanttRow, i).y += px;
}

/* -- 2. Merging --------------------------------------------------------- */

/* Merges bars shorter than @short_ns until they are that long. */
static void
merge_row (GanttRow *row, double short_ns)
{
  g_array_set_size (row->pieces, 0);
  for (guint i = 0; i < row->bars->len; i++)
    {
      const DrawBar *bar = &g_array_index (row->bars, DrawBar, i);
      GanttPiece *last
          = row->pieces->len > 0
                ? &g_array_index (row->pieces, GanttPiece, row->pieces->len - 1)
                : NULL;
      double ns = (double)(bar->end_ns - bar->begin_ns);
      if (last && last->stage == bar->pipe_stage && last->fused == bar->fused
          && ns < short_ns && last->end_ns - last->begin_ns < short_ns
          && bar->begin_ns - last->end_ns < short_ns)
        {
          last->busy_ns += added_ns (bar, last->end_ns);
          last->end_ns = MAX (last->end_ns, bar->end_ns);
          last->n++;
          last->units += bar->units;
          last->bytes += bar->bytes;
          continue;
        }
      GanttPiece piece = { .begin_ns = bar->begin_ns,
                           .end_ns = bar->end_ns,
                           .busy_ns = ns,
                           .n = 1,
                           .stage = bar->pipe_stage,
                           .fused = bar->fused,
                           .units = bar->units,
                           .bytes = bar->bytes,
                           .round = bar->round };
      g_array_append_val (row->pieces, piece);
    }
}

static guint
n_pieces (const GanttChart *c, guint look)
{
  guint n = 0;
  for (guint i = 0; i < c->rows->len; i++)
    if (g_array_index (c->rows, GanttRow, i).look == look)
      n += g_array_index (c->rows, GanttRow, i).pieces->len;
  return n;
}

static void
make_areas (GanttChart *c, guint look)
{
  for (guint i = 0; i < c->rows->len; i++)
    {
      GanttRow *row = &g_array_index (c->rows, GanttRow, i);
      if (row->look != look)
        continue;
      row->area = TRUE;
      g_array_set_size (row->pieces, 0);
    }
}

static gint
by_device (gconstpointer a, gconstpointer b)
{
  const DrawBar *x = a, *y = b;
  return x->device != y->device ? (x->device > y->device ? 1 : -1)
                                : by_begin (a, b);
}

/* Merges failures that are near and short, and those within another: what a
   lost device had in flight. */
static void
join_failures (GanttChart *c, const GArray *bars, double short_ns)
{
  g_array_set_size (c->failures, 0);
  for (guint i = 0; i < bars->len; i++)
    {
      const DrawBar *bar = &g_array_index (bars, DrawBar, i);
      GanttFailure *last = c->failures->len > 0 ? &g_array_index (
                               c->failures, GanttFailure, c->failures->len - 1)
                                                : NULL;
      if (last && last->device == bar->device
          && bar->begin_ns - last->end_ns < short_ns
          && (bar->end_ns <= last->end_ns
              || (bar->end_ns - bar->begin_ns < short_ns
                  && last->end_ns - last->begin_ns < short_ns)))
        {
          last->end_ns = MAX (last->end_ns, bar->end_ns);
          last->n++;
          last->units += bar->units;
          last->bytes += bar->bytes;
          continue;
        }
      GanttFailure failure = { .device = bar->device,
                               .n = 1,
                               .begin_ns = bar->begin_ns,
                               .end_ns = bar->end_ns,
                               .units = bar->units,
                               .bytes = bar->bytes,
                               .round = bar->round };
      g_array_append_val (c->failures, failure);
    }
}

static void
make_failures (GanttChart *c)
{
  g_autoptr (GArray) bars = g_array_copy (c->trace->failures);
  double short_ns = GANTT_FAILED * c->ns / GANTT_PLOT;
  g_array_sort (bars, by_device);
  c->failures = g_array_new (FALSE, FALSE, sizeof (GanttFailure));
  join_failures (c, bars, short_ns);
  while (c->failures->len > MOST_FAILURES && short_ns <= c->ns)
    join_failures (c, bars, short_ns *= 2);
}

void
gantt_merge (GanttChart *c)
{
  make_failures (c);
  for (guint i = 0; i < c->rows->len; i++)
    {
      GanttRow *row = &g_array_index (c->rows, GanttRow, i);
      row->area = row->folded;
      if (!row->folded)
        merge_row (row, SHORT_PX * c->ns / GANTT_PLOT);
    }
  for (;;)
    {
      guint total = 0, most = 0;
      for (guint look = 0; look <= GANTT_CORE; look++)
        {
          total += n_pieces (c, look);
          if (n_pieces (c, look) > n_pieces (c, most))
            most = look;
        }
      if (total <= MOST_BARS)
        break;
      make_areas (c, most);
    }
  guint n = 0;
  for (guint i = 0; i < c->rows->len; i++)
    n += g_array_index (c->rows, GanttRow, i).area;
  c->column = n * gantt_n_colours (c) * GANTT_PLOT / MOST_COLUMNS + 1;
  c->any_area = n > 0;
}

void
gantt_clear (GanttChart *c)
{
  g_array_unref (c->rows);
  g_array_unref (c->failures);
  g_free (c->first);
}
