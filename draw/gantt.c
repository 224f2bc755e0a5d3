/* SPDX-License-Identifier: MIT */
/* gantt.c: see gantt.h.

   DESIGN.
   1. The trace gives rows: a core or a stage of a GPU, each with its bars in
      order of time; a large CPU pool is one high row. In a farm the colour of
      a bar is that of its row; in a pipeline, that of the stage that the bar
      computes.
   2. Short neighbours are merged. If too many bars remain, all rows of the same
      kind become areas, in a pipeline one on top of the other for each stage.
   3. From top to bottom: title, legend, rounds, rows, time axis. Over the rows
      lies the chain that is asked for (gantt_chain.c), and all else is pale.

   Thread safety: see gantt.h. */
#include <math.h>
#include <string.h>

#include "gantt-private.h"

#define AXIS 52 /* px below the rows */

/* -- 3. Drawing --------------------------------------------------------- */

/* Returns (transfer full): what was computed. */
static char *
work_text (const DrawTrace *t)
{
  if (t->has_tasks)
    return g_strdup_printf ("%" G_GUINT64_FORMAT " task%s of %u codelet%s",
                            t->units, t->units == 1 ? "" : "s", t->n_stages,
                            t->n_stages == 1 ? "" : "s");
  return t->n_stages > 0
             ? g_strdup_printf (
                 "%" G_GUINT64_FORMAT " tokens passed %u stage%s", t->units,
                 t->n_stages, t->n_stages == 1 ? "" : "s")
             : g_strdup_printf ("%" G_GUINT64_FORMAT " units in %u round%s",
                                t->units, t->rounds->len,
                                t->rounds->len == 1 ? "" : "s");
}

static void
draw_heading (GanttChart *c, const char *workload)
{
  const DrawTrace *t = c->trace;
  double busy = 0;
  guint n = 0, n_gpus = 0, n_cores = 0;
  for (guint i = 0; i < c->rows->len; i++)
    {
      const GanttRow *row = &g_array_index (c->rows, GanttRow, i);
      if (row->look == GANTT_CORE || row->look == DRAW_KERNEL)
        {
          guint weight = row->folded ? t->devices[row->device].cores : 1;
          busy += row->busy_ns * weight;
          n += weight;
        }
    }
  for (guint d = 0; d < t->n_devices; d++)
    {
      n_gpus += t->devices[d].gpu;
      n_cores += t->devices[d].gpu ? 0 : t->devices[d].cores;
    }
  g_autofree char *time = draw_duration ((double)t->end_ns);
  g_autofree char *title = g_strdup_printf (
      "%s on %s, strategy %s: %s", workload ? workload : t->farm,
      t->platform ? t->platform : "this machine", t->strategy, time);
  g_autofree char *fit = draw_fit (title, 18.5, GANTT_WIDTH - GANTT_LEFT - 16);
  draw_text (c->svg, GANTT_LEFT, 27, "font-size=\"18\" font-weight=\"600\"",
             fit);
  g_autofree char *work = work_text (t);
  g_autofree char *facts = g_strdup_printf (
      "%u core%s, %u GPU%s; %s; cores and kernels are busy for %.0f %% of the "
      "time%s",
      n_cores, n_cores == 1 ? "" : "s", n_gpus, n_gpus == 1 ? "" : "s", work,
      100 * busy / (n * c->ns), t->platform ? "; in virtual time" : "");
  g_autoptr (GString) all = g_string_new (facts);
  if (t->failures->len > 0)
    g_string_append_printf (all, "; %u bundle%s failed", t->failures->len,
                            t->failures->len == 1 ? "" : "s");
  if (t->n_farms > 1)
    g_string_append_printf (all, "; farm %u of %u", t->number, t->n_farms);
  draw_text (c->svg, GANTT_LEFT, 46, "fill=\"" DRAW_GREY "\"", all->str);
  if (!c->chain)
    return;
  g_autofree char *caption = draw_chain_caption (c->chain);
  g_autofree char *short_one
      = draw_fit (caption, 12.5, GANTT_WIDTH - GANTT_LEFT - 16);
  draw_text (c->svg, GANTT_LEFT, 46 + GANTT_CAPTION,
             "class=\"chain\" font-weight=\"600\"", short_one);
}

/* Draws the beginnings of rounds if they are distinguishable. */
static void
draw_rounds (GanttChart *c)
{
  double drawn = -100, named = -100;
  for (guint i = 0; i < c->trace->rounds->len; i++)
    {
      double x
          = gantt_x (c, (double)g_array_index (c->trace->rounds, gint64, i));
      g_autofree char *name
          = g_strdup_printf ("%s%u", i == 0 ? "round " : "", i + 1);
      gboolean has_name
          = x >= named
            && x + draw_text_width (name, 11) <= GANTT_LEFT + GANTT_PLOT;
      if (has_name || x - drawn >= 4)
        {
          draw_line (c->svg, x, has_name ? c->top - 14 : c->top - 3, x,
                     c->bottom + 4,
                     "class=\"round\" stroke=\"" DRAW_GREY
                     "\" stroke-width=\"0.8\" stroke-opacity=\"0.7\" "
                     "stroke-dasharray=\"3 2\"");
          drawn = x;
        }
      if (has_name)
        {
          draw_text (c->svg, x + 3, c->top - 6,
                     "font-size=\"11\" fill=\"" DRAW_GREY "\"", name);
          named = x + draw_text_width (name, 11) + 10;
        }
    }
}

/* 100 % only if it is exactly 100 %. */
static void
draw_busy (GanttChart *c, const GanttRow *row)
{
  double percent = 100 * row->busy_ns / c->ns;
  g_autofree char *text
      = percent > 99.5 && percent < 99.95
            ? g_strdup_printf ("%.1f %%", percent)
            : g_strdup_printf ("%.*g %%", percent < 1 ? 1 : 3,
                               percent < 0.05 ? 0 : MIN (round (percent), 100));
  draw_text (c->svg, GANTT_WIDTH - 14, row->y + row->height / 2 + 4,
             row->height < GANTT_ROW
                 ? "text-anchor=\"end\" font-size=\"10\" fill=\"" DRAW_GREY "\""
                 : "text-anchor=\"end\" font-size=\"11\" fill=\"" DRAW_INK "\"",
             text);
}

static void
draw_labels (GanttChart *c, const GanttRow *row, gboolean first_of_device)
{
  const DrawDevice *v = &c->trace->devices[row->device];
  double y = row->y + row->height / 2 + 4;
  const char *small
      = "text-anchor=\"end\" font-size=\"10\" fill=\"" DRAW_GREY "\"";
  if (row->folded)
    {
      g_autofree char *name = draw_fit (v->name, 13, 78);
      g_autofree char *cores = g_strdup_printf ("%u cores", v->cores);
      draw_text (c->svg, 14, y - 6, "font-size=\"13\" font-weight=\"600\"",
                 name);
      draw_text (c->svg, 14, y + 10, "font-size=\"10\" fill=\"" DRAW_GREY "\"",
                 cores);
      draw_text (c->svg, GANTT_LEFT - 8, row->y + 8, small, "100 %");
      draw_text (c->svg, GANTT_LEFT - 8, row->y + row->height, small, "0 %");
      return;
    }
  if (v->gpu ? row->look == DRAW_KERNEL : first_of_device)
    {
      g_autofree char *name = draw_fit (v->name, 13, 58);
      draw_text (c->svg, 14, y, "font-size=\"13\" font-weight=\"600\"", name);
    }
  g_autofree char *what = row->look == GANTT_CORE
                              ? g_strdup_printf ("core %u", row->core)
                              : g_strdup (gantt_row_names[row->look]);
  draw_text (c->svg, GANTT_LEFT - 8, y - (row->height < GANTT_ROW ? 0.5 : 0),
             small, what);
}

static char *
tip_of (const GanttChart *c, const GanttRow *row, const GanttPiece *p)
{
  const DrawDevice *v = &c->trace->devices[row->device];
  g_autofree char *begin = draw_duration ((double)p->begin_ns);
  g_autofree char *ns = draw_duration ((double)(p->end_ns - p->begin_ns));
  GString *tip = g_string_new (v->name);
  g_string_append_printf (tip, " %s", gantt_row_names[row->look]);
  if (row->look == GANTT_CORE)
    g_string_append_printf (tip, " %u", row->core);
  if (p->n > 1)
    g_string_append_printf (tip, ", %u bars", p->n);
  if (c->trace->n_stages > 0)
    {
      g_autofree char *stages = gantt_stages_text (c, p->stage, p->fused);
      g_string_append_printf (tip, ": %s", stages);
    }
  g_string_append_printf (tip, "\nat %s for %s", begin, ns);
  if (p->n > 1)
    g_string_append_printf (tip, ", busy %.0f %%",
                            100 * p->busy_ns / (p->end_ns - p->begin_ns));
  if (c->trace->has_tasks && p->n == 1)
    g_string_append_printf (tip, "\ntask %" G_GUINT64_FORMAT, p->round);
  else
    g_string_append_printf (tip, "\n%" G_GUINT64_FORMAT " %s", p->units,
                            c->trace->has_tasks      ? "tasks"
                            : c->trace->n_stages > 0 ? "tokens"
                                                     : "units");
  if (p->bytes > 0)
    {
      g_autofree char *size
          = g_format_size_full (p->bytes, G_FORMAT_SIZE_IEC_UNITS);
      g_string_append_printf (tip, ", %s", size);
    }
  if (c->trace->n_stages == 0)
    g_string_append_printf (tip, ", round %" G_GUINT64_FORMAT, p->round + 1);
  return g_string_free (tip, FALSE);
}

static void
draw_pieces (GanttChart *c, const GanttRow *row)
{
  draw_put (c->svg, "<g fill=\"%s\">\n", gantt_colour (c, row->look, 0));
  for (guint i = 0; i < row->pieces->len; i++)
    {
      const GanttPiece *p = &g_array_index (row->pieces, GanttPiece, i);
      double x = gantt_x (c, (double)p->begin_ns);
      double width = gantt_x (c, (double)p->end_ns) - x;
      double busy = MIN (p->busy_ns / (p->end_ns - p->begin_ns), 1);
      char fill[32] = "", opacity[32] = "";
      /* A narrow gap between neighbours, if there is room for it. */
      if (width > 3)
        width -= 0.5;
      width = CLAMP (width, 0.35, GANTT_LEFT + GANTT_PLOT - x);
      if (p->stage > 0)
        g_snprintf (fill, sizeof fill, "fill=\"%s\"",
                    gantt_colour (c, row->look, p->stage));
      if (p->n > 1 && busy < 0.98)
        g_snprintf (opacity, sizeof opacity, "%sfill-opacity=\"%.2f\"",
                    *fill ? " " : "", 0.25 + 0.75 * busy);
      g_autofree char *look = g_strconcat (fill, opacity, NULL);
      g_autofree char *tip = tip_of (c, row, p);
      const DrawBox box = { MIN (x, GANTT_LEFT + GANTT_PLOT - width), row->y,
                            width, row->height };
      draw_rect (c->svg, box, look, tip);
      if (!c->chain)
        gantt_draw_name (c, p->stage, p->fused, box, p->n > 1 && busy < 0.6);
    }
  draw_put (c->svg, "</g>\n");
}

/* An area: one row and, of a pipeline, one stage.
   @n: columns of @ns each, in which the area reaches up to @busy ns, [@n].
   @n_bars, @busy_ns: of the stage in the row. */
typedef struct
{
  guint stage, n;
  double ns, *busy;
  guint n_bars;
  double busy_ns;
} Area;

/* Adds to each column of an area how long the row is busy there at its stage.
 */
static void
add_stage (const GanttChart *c, const GanttRow *row, Area *a)
{
  double step = c->ns * c->column / GANTT_PLOT;
  a->n_bars = 0;
  a->busy_ns = 0;
  for (guint i = 0; i < row->bars->len; i++)
    {
      const DrawBar *bar = &g_array_index (row->bars, DrawBar, i);
      double begin = (double)bar->begin_ns, end = (double)bar->end_ns;
      if (bar->pipe_stage != a->stage)
        continue;
      a->n_bars++;
      a->busy_ns += (end - begin) / (a->ns / step);
      for (guint k = (guint)(begin / step); k < a->n && k * step < end; k++)
        a->busy[k] += MIN (end, (k + 1) * step) - MAX (begin, k * step);
    }
}

static void
draw_area (GanttChart *c, const GanttRow *row, const Area *a)
{
  double bottom = row->y + row->height, before = bottom;
  draw_put (c->svg, "<path class=\"area\" fill=\"%s\" d=\"M%d %.1f",
            gantt_colour (c, row->look, a->stage), GANTT_LEFT, bottom);
  for (guint k = 0; k < a->n; k++)
    {
      double y = bottom - MIN (a->busy[k] / a->ns, 1) * row->height;
      if (fabs (y - before) >= 0.1)
        {
          draw_put (c->svg, "H%uV%.1f", GANTT_LEFT + k * c->column, y);
          before = y;
        }
    }
  g_autofree char *stages
      = c->trace->n_stages > 0 ? gantt_stages_text (c, a->stage, 0) : NULL;
  g_autofree char *tip = g_strdup_printf (
      "%s %s%s%s%s: busy %.1f %%, %u bars", c->trace->devices[row->device].name,
      gantt_row_names[row->look], row->folded ? "s" : "", stages ? ", " : "",
      stages ? stages : "", 100 * (stages ? a->busy_ns : row->busy_ns) / c->ns,
      a->n_bars);
  g_autofree char *escaped = draw_escape (tip);
  draw_put (c->svg, "H%dV%.1fZ\"><title>%s</title></path>\n",
            GANTT_LEFT + GANTT_PLOT, bottom, escaped);
}

/* Draws the busy part of the pool, or of the time, in each column; of a
   pipeline the parts of its stages on top of each other, the highest area
   first, since the lower ones cover it. */
static void
draw_areas (GanttChart *c, const GanttRow *row)
{
  const DrawDevice *v = &c->trace->devices[row->device];
  guint n = (GANTT_PLOT + c->column - 1) / c->column, m = gantt_n_colours (c);
  double width = row->folded ? v->cores : 1;
  g_autofree double *busy = g_new0 (double, (gsize)m *n);
  g_autofree Area *areas = g_new (Area, m);
  for (guint s = 0; s < m; s++)
    {
      double *mine = busy + (gsize)s * n;
      areas[s] = (Area){ .stage = s,
                         .n = n,
                         .ns = c->ns * c->column / GANTT_PLOT * width,
                         .busy = mine };
      if (s > 0)
        memcpy (mine, mine - n, n * sizeof *mine);
      add_stage (c, row, &areas[s]);
    }
  for (guint s = m; s-- > 0;)
    if (areas[s].n_bars > 0 || m == 1)
      draw_area (c, row, &areas[s]);
}

static void
draw_rows (GanttChart *c)
{
  for (guint i = 0; i < c->rows->len; i++)
    {
      const GanttRow *row = &g_array_index (c->rows, GanttRow, i);
      const DrawBox lane = { GANTT_LEFT, row->y, GANTT_PLOT, row->height };
      draw_rect (c->svg, lane, "class=\"lane\" fill=\"" DRAW_LANE "\"", NULL);
    }
  gantt_draw_boxes (c);
  for (guint i = 0; i < c->rows->len; i++)
    {
      const GanttRow *row = &g_array_index (c->rows, GanttRow, i);
      draw_put (c->svg, c->chain ? "<g opacity=\"" GANTT_PALE "\">\n" : "");
      if (row->area)
        draw_areas (c, row);
      else
        draw_pieces (c, row);
      draw_put (c->svg, c->chain ? "</g>\n" : "");
      draw_labels (c, row,
                   i == 0
                       || g_array_index (c->rows, GanttRow, i - 1).device
                              != row->device);
      draw_busy (c, row);
    }
  draw_text (c->svg, GANTT_WIDTH - 14, c->top - 6,
             "text-anchor=\"end\" font-size=\"11\" fill=\"" DRAW_GREY "\"",
             "busy");
}

static void
draw_axis (GanttChart *c)
{
  double unit_ns, step = draw_step (c->ns, 10);
  const char *unit = draw_time_unit (c->ns, &unit_ns);
  draw_line (c->svg, GANTT_LEFT, c->bottom + 8, GANTT_LEFT + GANTT_PLOT,
             c->bottom + 8, "stroke=\"" DRAW_GREY "\"");
  for (guint i = 0; i * step <= c->ns * (1 + 1e-9); i++)
    {
      double x = gantt_x (c, i * step);
      g_autofree char *text = g_strdup_printf ("%g", i * step / unit_ns);
      draw_line (c->svg, x, c->bottom + 8, x, c->bottom + 13,
                 "stroke=\"" DRAW_GREY "\"");
      draw_text (c->svg, x, c->bottom + 28, "text-anchor=\"middle\"", text);
    }
  g_autofree char *text = g_strdup_printf ("time since the begin [%s]", unit);
  draw_text (c->svg, GANTT_LEFT + GANTT_PLOT / 2., c->bottom + 46,
             "text-anchor=\"middle\" fill=\"" DRAW_GREY "\"", text);
}

char *
draw_gantt (const DrawTrace *trace, const char *workload)
{
  return draw_gantt_chain (trace, NULL, workload);
}

char *
draw_gantt_chain (const DrawTrace *trace, const DrawChain *chain,
                  const char *workload)
{
  GanttChart c = { .trace = trace,
                   .chain = chain,
                   .ns = (double)MAX (trace->end_ns, 1) };
  gantt_make_rows (&c);
  gantt_merge (&c);
  gantt_move_rows (&c, gantt_draw_legend (&c));
  c.svg = draw_svg_new (GANTT_WIDTH, c.bottom + AXIS + 6,
                        workload ? workload : trace->farm);
  draw_heading (&c, workload);
  gantt_draw_legend (&c);
  draw_rows (&c);
  draw_rounds (&c);
  if (chain)
    gantt_draw_chain (&c);
  gantt_draw_notes (&c);
  draw_axis (&c);
  gantt_clear (&c);
  return draw_svg_end (c.svg);
}

gboolean
draw_gantt_file (const DrawTrace *trace, const DrawChain *chain,
                 const char *svg_path, const char *workload, GError **error)
{
  g_autofree char *svg = draw_gantt_chain (trace, chain, workload);
  return g_file_set_contents_full (svg_path, svg, -1, G_FILE_SET_CONTENTS_NONE,
                                   0666, error);
}
