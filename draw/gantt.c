/* SPDX-License-Identifier: MIT */
/* gantt.c: see gantt.h.

   DESIGN.
   1. The trace gives rows: a core or a stage of a GPU, each with its bars in
      order of time; a large CPU pool is one high row.
   2. Short neighbours are merged. If too many bars remain, all rows of the
      same kind become areas.
   3. From top to bottom: title, legend, rounds, rows, time axis.

   Thread safety: see gantt.h. */
#include <math.h>

#include "gantt-private.h"

#define AXIS 52 /* px below the rows */

#define AREA_NOTE "height of an area: the part at work"

static const char *const stage_names[]
    = { "copy in", "kernel", "copy out", "core" };
static const char *const stage_colours[]
    = { "#56b4e9", "#009e73", "#e69f00", "#0072b2" };

/* -- 3. Drawing --------------------------------------------------------- */

static void
swatch (GanttChart *c, double *x, const char *attributes, const char *name)
{
  double y = 66;
  draw_rect (c->svg, (DrawBox){ *x, y - 10, 16, 12 }, attributes, NULL);
  draw_text (c->svg, *x + 22, y, "class=\"legend\"", name);
  *x += 22 + draw_text_width (name, 12) + 22;
}

static void
draw_legend (GanttChart *c)
{
  static const char *const names[]
      = { "copy to the GPU", "kernel", "copy to the host", "core computes" };
  gboolean used[GANTT_CORE + 1] = { FALSE };
  double x = GANTT_LEFT;
  for (guint i = 0; i < c->rows->len; i++)
    used[g_array_index (c->rows, GanttRow, i).look] = TRUE;
  for (guint i = 0; i <= GANTT_CORE; i++)
    {
      guint look = (i + GANTT_CORE) % (GANTT_CORE + 1); /* cores first */
      g_autofree char *fill
          = g_strdup_printf ("rx=\"2\" fill=\"%s\"", stage_colours[look]);
      if (used[look])
        swatch (c, &x, fill, names[look]);
    }
  swatch (c, &x, "rx=\"2\" fill=\"" DRAW_LANE "\" stroke=\"#cbd2d9\"", "idle");
  draw_line (c->svg, x + 8, 55, x + 8, 69,
             "stroke=\"" DRAW_GREY "\" stroke-dasharray=\"3 2\"");
  draw_text (c->svg, x + 20, 66, "class=\"legend\"", "a round begins");
  x += 20 + draw_text_width ("a round begins", 12) + 22;
  if (gantt_any_open (c))
    swatch (c, &x, GANTT_OPEN_LOOK, "being made ready");
  if (c->failures->len > 0)
    swatch (c, &x, GANTT_FAILED_LOOK, "failed, given back");
  /* Below the rows if there is no room here. */
  gboolean fits = x + draw_text_width (AREA_NOTE, 12) <= GANTT_WIDTH;
  if (c->any_area)
    draw_text (c->svg, fits ? x : GANTT_LEFT, fits ? 66 : c->bottom + 46,
               "fill=\"" DRAW_GREY "\"", AREA_NOTE);
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
  g_autofree char *facts = g_strdup_printf (
      "%u core%s, %u GPU%s; %" G_GUINT64_FORMAT
      " units in %u round%s; cores and kernels are busy for %.0f %% of the "
      "time%s",
      n_cores, n_cores == 1 ? "" : "s", n_gpus, n_gpus == 1 ? "" : "s",
      t->units, t->rounds->len, t->rounds->len == 1 ? "" : "s",
      100 * busy / (n * c->ns), t->platform ? "; in virtual time" : "");
  g_autoptr (GString) all = g_string_new (facts);
  if (t->failures->len > 0)
    g_string_append_printf (all, "; %u bundle%s failed", t->failures->len,
                            t->failures->len == 1 ? "" : "s");
  if (t->n_farms > 1)
    g_string_append_printf (all, "; farm %u of %u", t->number, t->n_farms);
  draw_text (c->svg, GANTT_LEFT, 46, "fill=\"" DRAW_GREY "\"", all->str);
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
          draw_line (c->svg, x, has_name ? GANTT_TOP - 14 : GANTT_TOP - 3, x,
                     c->bottom + 4,
                     "class=\"round\" stroke=\"" DRAW_GREY
                     "\" stroke-width=\"0.8\" stroke-opacity=\"0.7\" "
                     "stroke-dasharray=\"3 2\"");
          drawn = x;
        }
      if (has_name)
        {
          draw_text (c->svg, x + 3, GANTT_TOP - 6,
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
                              : g_strdup (stage_names[row->look]);
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
  g_string_append_printf (tip, " %s", stage_names[row->look]);
  if (row->look == GANTT_CORE)
    g_string_append_printf (tip, " %u", row->core);
  if (p->n > 1)
    g_string_append_printf (tip, ", %u bars", p->n);
  g_string_append_printf (tip, "\nat %s for %s", begin, ns);
  if (p->n > 1)
    g_string_append_printf (tip, ", busy %.0f %%",
                            100 * p->busy_ns / (p->end_ns - p->begin_ns));
  g_string_append_printf (tip, "\n%" G_GUINT64_FORMAT " units", p->units);
  if (p->bytes > 0)
    {
      g_autofree char *size
          = g_format_size_full (p->bytes, G_FORMAT_SIZE_IEC_UNITS);
      g_string_append_printf (tip, ", %s", size);
    }
  g_string_append_printf (tip, ", round %" G_GUINT64_FORMAT, p->round + 1);
  return g_string_free (tip, FALSE);
}

static void
draw_pieces (GanttChart *c, const GanttRow *row)
{
  draw_put (c->svg, "<g fill=\"%s\">\n", stage_colours[row->look]);
  for (guint i = 0; i < row->pieces->len; i++)
    {
      const GanttPiece *p = &g_array_index (row->pieces, GanttPiece, i);
      double x = gantt_x (c, (double)p->begin_ns);
      double width = gantt_x (c, (double)p->end_ns) - x;
      double busy = MIN (p->busy_ns / (p->end_ns - p->begin_ns), 1);
      char look[64] = "";
      /* A narrow gap between neighbours, if there is room for it. */
      if (width > 3)
        width -= 0.5;
      width = CLAMP (width, 0.35, GANTT_LEFT + GANTT_PLOT - x);
      if (p->n > 1 && busy < 0.98)
        g_snprintf (look, sizeof look, "fill-opacity=\"%.2f\"",
                    0.25 + 0.75 * busy);
      g_autofree char *tip = tip_of (c, row, p);
      const DrawBox box = { MIN (x, GANTT_LEFT + GANTT_PLOT - width), row->y,
                            width, row->height };
      draw_rect (c->svg, box, look, tip);
    }
  draw_put (c->svg, "</g>\n");
}

/* Draws the busy part of the pool, or of the time, in each column. */
static void
draw_area (GanttChart *c, const GanttRow *row)
{
  const DrawDevice *v = &c->trace->devices[row->device];
  guint n = (GANTT_PLOT + c->column - 1) / c->column,
        width = row->folded ? v->cores : 1;
  double step = c->ns * c->column / GANTT_PLOT, bottom = row->y + row->height;
  double before = bottom;
  g_autofree double *busy = g_new0 (double, n);
  for (guint i = 0; i < row->bars->len; i++)
    {
      const DrawBar *bar = &g_array_index (row->bars, DrawBar, i);
      double begin = (double)bar->begin_ns, end = (double)bar->end_ns;
      for (guint k = (guint)(begin / step); k < n && k * step < end; k++)
        busy[k] += MIN (end, (k + 1) * step) - MAX (begin, k * step);
    }
  draw_put (c->svg, "<path class=\"area\" fill=\"%s\" d=\"M%d %.1f",
            stage_colours[row->look], GANTT_LEFT, bottom);
  for (guint k = 0; k < n; k++)
    {
      double y = bottom - MIN (busy[k] / (step * width), 1) * row->height;
      if (fabs (y - before) >= 0.1)
        {
          draw_put (c->svg, "H%uV%.1f", GANTT_LEFT + k * c->column, y);
          before = y;
        }
    }
  g_autofree char *tip = g_strdup_printf (
      "%s %s%s: busy %.1f %%, %u bars", v->name, stage_names[row->look],
      row->folded ? "s" : "", 100 * row->busy_ns / c->ns, row->bars->len);
  g_autofree char *escaped = g_markup_escape_text (tip, -1);
  draw_put (c->svg, "H%dV%.1fZ\"><title>%s</title></path>\n",
            GANTT_LEFT + GANTT_PLOT, bottom, escaped);
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
      if (row->area)
        draw_area (c, row);
      else
        draw_pieces (c, row);
      draw_labels (c, row,
                   i == 0
                       || g_array_index (c->rows, GanttRow, i - 1).device
                              != row->device);
      draw_busy (c, row);
    }
  draw_text (c->svg, GANTT_WIDTH - 14, GANTT_TOP - 6,
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
  GanttChart c = { .trace = trace, .ns = (double)MAX (trace->end_ns, 1) };
  gantt_make_rows (&c);
  gantt_merge (&c);
  c.svg = draw_svg_new (GANTT_WIDTH, c.bottom + AXIS + 6,
                        workload ? workload : trace->farm);
  draw_heading (&c, workload);
  draw_legend (&c);
  draw_rows (&c);
  draw_rounds (&c);
  gantt_draw_notes (&c);
  draw_axis (&c);
  gantt_clear (&c);
  return draw_svg_end (c.svg);
}

gboolean
draw_gantt_file (const char *trace_path, guint number, const char *svg_path,
                 const char *workload, GError **error)
{
  g_autoptr (DrawTrace) trace = draw_trace_load (trace_path, number, error);
  if (!trace)
    return FALSE;
  g_autofree char *svg = draw_gantt (trace, workload);
  return g_file_set_contents_full (svg_path, svg, -1, G_FILE_SET_CONTENTS_NONE,
                                   0666, error);
}
