/* SPDX-License-Identifier: MIT */
/* gantt.c: see gantt.h.

   DESIGN.
   1. The trace gives rows: a core or a stage of a GPU, each with its bars in
      order of time, or for a large CPU pool one high row.
   2. Short neighbours are merged. Where that leaves too many, all rows of the
      same kind become areas.
   3. From top to bottom: title, legend, the rounds, the rows, the time axis.

   Thread safety: see gantt.h. */
#include "gantt.h"

#include <math.h>
#include <stdlib.h>

#include "svg.h"

#define WIDTH 1280
#define LEFT 128
#define RIGHT 72 /* how busy a row was */
#define PLOT (WIDTH - LEFT - RIGHT)
#define TOP 104
#define ROW 15
#define COPY_ROW 9
#define FOLDED_ROW 84
#define ROW_GAP 3
#define GROUP_GAP 14
#define AXIS 52 /* below the rows */
#define MOST_BARS 4000
#define MOST_COLUMNS 24000
#define SHORT_PX 1.2

static const char *const stage_names[]
    = { "copy in", "kernel", "copy out", "core" };
static const char *const stage_colours[]
    = { "#56b4e9", "#009e73", "#e69f00", "#0072b2" };
#define CORE 3 /* after the stages */

/* Bars that are drawn as one. */
typedef struct
{
  gint64 begin_ns, end_ns;
  double busy_ns;
  guint n;
  guint64 units, bytes, round;
} Piece;

typedef struct
{
  guint device, core;
  guint look;      /* a stage, or CORE */
  gboolean folded; /* a whole CPU pool */
  gboolean area;   /* drawn as the part of the time, or pool, at work */
  double y, height;
  double busy_ns;
  GArray *bars;   /* DrawBar, by time */
  GArray *pieces; /* Piece, once merged */
} Row;

typedef struct
{
  const DrawTrace *trace;
  GArray *rows; /* Row */
  double bottom;
  double ns;    /* shown */
  guint column; /* pixels of a step of an area */
  gboolean any_area;
  DrawSvg *svg;
} Chart;

static double
x_of (const Chart *c, double ns)
{
  return LEFT + PLOT * ns / c->ns;
}

/* -- 1. Rows ------------------------------------------------------------ */

static void
clear_row (gpointer data)
{
  Row *row = data;
  g_array_unref (row->bars);
  g_array_unref (row->pieces);
}

static void
add_row (Chart *c, Row row, double *y)
{
  row.y = *y;
  *y += row.height + ROW_GAP;
  row.bars = g_array_new (FALSE, FALSE, sizeof (DrawBar));
  row.pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  g_array_append_val (c->rows, row);
}

static gint
by_begin (gconstpointer a, gconstpointer b)
{
  const DrawBar *x = a, *y = b;
  return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static void
make_rows (Chart *c)
{
  const DrawTrace *t = c->trace;
  g_autofree guint *first = g_new (guint, t->n_devices);
  double y = TOP;
  for (guint d = 0; d < t->n_devices; d++)
    {
      const DrawDevice *v = &t->devices[d];
      first[d] = c->rows->len;
      y += d > 0 ? GROUP_GAP : 0;
      if (!v->gpu && v->cores > DRAW_GANTT_MOST_CORES)
        add_row (c,
                 (Row){ .device = d,
                        .look = CORE,
                        .folded = TRUE,
                        .height = FOLDED_ROW },
                 &y);
      else if (!v->gpu)
        for (guint i = 0; i < v->cores; i++)
          add_row (c,
                   (Row){ .device = d, .core = i, .look = CORE, .height = ROW },
                   &y);
      else
        for (guint s = 0; s < DRAW_N_STAGES; s++)
          add_row (c,
                   (Row){ .device = d,
                          .look = s,
                          .height = s == DRAW_KERNEL ? ROW + 5 : COPY_ROW },
                   &y);
    }
  c->bottom = y - ROW_GAP;
  for (guint i = 0; i < t->bars->len; i++)
    {
      const DrawBar *bar = &g_array_index (t->bars, DrawBar, i);
      const DrawDevice *v = &t->devices[bar->device];
      guint at = v->gpu ? bar->stage : bar->core;
      if (!v->gpu && v->cores > DRAW_GANTT_MOST_CORES)
        at = 0;
      Row *row = &g_array_index (c->rows, Row, first[bar->device] + at);
      g_array_append_vals (row->bars, bar, 1);
      row->busy_ns += bar->end_ns - bar->begin_ns;
    }
  for (guint i = 0; i < c->rows->len; i++)
    {
      Row *row = &g_array_index (c->rows, Row, i);
      g_array_sort (row->bars, by_begin);
      if (row->folded)
        row->busy_ns /= t->devices[row->device].cores;
    }
}

/* -- 2. Merging --------------------------------------------------------- */

/* Bars shorter than this go together, until they are that long. */
static void
merge_row (Row *row, double short_ns)
{
  g_array_set_size (row->pieces, 0);
  for (guint i = 0; i < row->bars->len; i++)
    {
      const DrawBar *bar = &g_array_index (row->bars, DrawBar, i);
      Piece *last = row->pieces->len > 0 ? &g_array_index (row->pieces, Piece,
                                                           row->pieces->len - 1)
                                         : NULL;
      double ns = (double)(bar->end_ns - bar->begin_ns);
      if (last && ns < short_ns && last->end_ns - last->begin_ns < short_ns
          && bar->begin_ns - last->end_ns < short_ns)
        {
          last->end_ns = MAX (last->end_ns, bar->end_ns);
          last->busy_ns += ns;
          last->n++;
          last->units += bar->units;
          last->bytes += bar->bytes;
          continue;
        }
      Piece piece = { .begin_ns = bar->begin_ns,
                      .end_ns = bar->end_ns,
                      .busy_ns = ns,
                      .n = 1,
                      .units = bar->units,
                      .bytes = bar->bytes,
                      .round = bar->round };
      g_array_append_val (row->pieces, piece);
    }
}

static guint
n_pieces (const Chart *c, guint look)
{
  guint n = 0;
  for (guint i = 0; i < c->rows->len; i++)
    if (g_array_index (c->rows, Row, i).look == look)
      n += g_array_index (c->rows, Row, i).pieces->len;
  return n;
}

static void
make_areas (Chart *c, guint look)
{
  for (guint i = 0; i < c->rows->len; i++)
    {
      Row *row = &g_array_index (c->rows, Row, i);
      if (row->look != look)
        continue;
      row->area = TRUE;
      g_array_set_size (row->pieces, 0);
    }
}

static void
merge (Chart *c)
{
  for (guint i = 0; i < c->rows->len; i++)
    {
      Row *row = &g_array_index (c->rows, Row, i);
      row->area = row->folded;
      if (!row->folded)
        merge_row (row, SHORT_PX * c->ns / PLOT);
    }
  for (;;)
    {
      guint total = 0, most = 0;
      for (guint look = 0; look <= CORE; look++)
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
    n += g_array_index (c->rows, Row, i).area;
  c->column = n * PLOT / MOST_COLUMNS + 1;
  c->any_area = n > 0;
}

/* -- 3. Drawing --------------------------------------------------------- */

static void
swatch (Chart *c, double *x, const char *attributes, const char *name)
{
  double y = 66;
  draw_rect (c->svg, *x, y - 10, 16, 12, attributes, NULL);
  draw_text (c->svg, *x + 22, y, "class=\"legend\"", name);
  *x += 22 + draw_text_width (name, 12) + 22;
}

static void
draw_legend (Chart *c)
{
  static const char *const names[]
      = { "copy to the GPU", "kernel", "copy to the host", "core computes" };
  gboolean used[CORE + 1] = { FALSE };
  double x = LEFT;
  for (guint i = 0; i < c->rows->len; i++)
    used[g_array_index (c->rows, Row, i).look] = TRUE;
  for (guint i = 0; i <= CORE; i++)
    {
      guint look = (i + CORE) % (CORE + 1); /* cores first */
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
  if (c->any_area)
    draw_text (c->svg, x, 66, "fill=\"" DRAW_GREY "\"",
               "height of an area: the part at work");
}

static void
draw_heading (Chart *c, const char *workload)
{
  const DrawTrace *t = c->trace;
  double busy = 0;
  guint n = 0, n_gpus = 0, n_cores = 0;
  for (guint i = 0; i < c->rows->len; i++)
    {
      const Row *row = &g_array_index (c->rows, Row, i);
      if (row->look == CORE || row->look == DRAW_KERNEL)
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
  g_autofree char *fit = draw_fit (title, 18.5, WIDTH - LEFT - 16);
  draw_text (c->svg, LEFT, 27, "font-size=\"18\" font-weight=\"600\"", fit);
  g_autofree char *facts = g_strdup_printf (
      "%u core%s, %u GPU%s; %" G_GUINT64_FORMAT
      " units in %u round%s; cores and kernels are busy for %.0f %% of the "
      "time%s",
      n_cores, n_cores == 1 ? "" : "s", n_gpus, n_gpus == 1 ? "" : "s",
      t->units, t->rounds->len, t->rounds->len == 1 ? "" : "s",
      100 * busy / (n * c->ns), t->platform ? "; in virtual time" : "");
  g_autofree char *which = t->n_farms > 1
                               ? g_strdup_printf ("%s; farm %u of %u", facts,
                                                  t->number, t->n_farms)
                               : g_strdup (facts);
  draw_text (c->svg, LEFT, 46, "fill=\"" DRAW_GREY "\"", which);
}

/* Where rounds begin, as long as that can be told apart. */
static void
draw_rounds (Chart *c)
{
  double drawn = -100, named = -100;
  for (guint i = 0; i < c->trace->rounds->len; i++)
    {
      double x = x_of (c, (double)g_array_index (c->trace->rounds, gint64, i));
      g_autofree char *name
          = g_strdup_printf ("%s%u", i == 0 ? "round " : "", i + 1);
      gboolean has_name
          = x >= named && x + draw_text_width (name, 11) <= LEFT + PLOT;
      if (has_name || x - drawn >= 4)
        {
          draw_line (c->svg, x, has_name ? TOP - 14 : TOP - 3, x, c->bottom + 4,
                     "class=\"round\" stroke=\"" DRAW_GREY
                     "\" stroke-width=\"0.8\" stroke-opacity=\"0.7\" "
                     "stroke-dasharray=\"3 2\"");
          drawn = x;
        }
      if (has_name)
        {
          draw_text (c->svg, x + 3, TOP - 6,
                     "font-size=\"11\" fill=\"" DRAW_GREY "\"", name);
          named = x + draw_text_width (name, 11) + 10;
        }
    }
}

/* Not 100 % unless it is. */
static void
draw_busy (Chart *c, const Row *row)
{
  double percent = 100 * row->busy_ns / c->ns;
  g_autofree char *text
      = percent > 99.5 && percent < 99.95
            ? g_strdup_printf ("%.1f %%", percent)
            : g_strdup_printf ("%.*g %%", percent < 1 ? 1 : 3,
                               percent < 0.05 ? 0 : MIN (round (percent), 100));
  draw_text (c->svg, WIDTH - 14, row->y + row->height / 2 + 4,
             row->height < ROW
                 ? "text-anchor=\"end\" font-size=\"10\" fill=\"" DRAW_GREY "\""
                 : "text-anchor=\"end\" font-size=\"11\" fill=\"" DRAW_INK "\"",
             text);
}

static void
draw_labels (Chart *c, const Row *row, gboolean first_of_device)
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
      draw_text (c->svg, LEFT - 8, row->y + 8, small, "100 %");
      draw_text (c->svg, LEFT - 8, row->y + row->height, small, "0 %");
      return;
    }
  if (v->gpu ? row->look == DRAW_KERNEL : first_of_device)
    {
      g_autofree char *name = draw_fit (v->name, 13, 58);
      draw_text (c->svg, 14, y, "font-size=\"13\" font-weight=\"600\"", name);
    }
  g_autofree char *what = row->look == CORE
                              ? g_strdup_printf ("core %u", row->core)
                              : g_strdup (stage_names[row->look]);
  draw_text (c->svg, LEFT - 8, y - (row->height < ROW ? 0.5 : 0), small, what);
}

static char *
tip_of (const Chart *c, const Row *row, const Piece *p)
{
  const DrawDevice *v = &c->trace->devices[row->device];
  g_autofree char *begin = draw_duration ((double)p->begin_ns);
  g_autofree char *ns = draw_duration ((double)(p->end_ns - p->begin_ns));
  GString *tip = g_string_new (v->name);
  g_string_append_printf (tip, " %s", stage_names[row->look]);
  if (row->look == CORE)
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
draw_pieces (Chart *c, const Row *row)
{
  draw_put (c->svg, "<g fill=\"%s\">\n", stage_colours[row->look]);
  for (guint i = 0; i < row->pieces->len; i++)
    {
      const Piece *p = &g_array_index (row->pieces, Piece, i);
      double x = x_of (c, (double)p->begin_ns);
      double width = x_of (c, (double)p->end_ns) - x;
      double busy = MIN (p->busy_ns / (p->end_ns - p->begin_ns), 1);
      char look[64] = "";
      /* A hair of light between neighbours, where there is room for it. */
      if (width > 3)
        width -= 0.5;
      width = CLAMP (width, 0.35, LEFT + PLOT - x);
      if (p->n > 1 && busy < 0.98)
        g_snprintf (look, sizeof look, "fill-opacity=\"%.2f\"",
                    0.25 + 0.75 * busy);
      g_autofree char *tip = tip_of (c, row, p);
      draw_rect (c->svg, MIN (x, LEFT + PLOT - width), row->y, width,
                 row->height, look, tip);
    }
  draw_put (c->svg, "</g>\n");
}

/* Which part of the pool, or of the time, is at work in each column. */
static void
draw_area (Chart *c, const Row *row)
{
  const DrawDevice *v = &c->trace->devices[row->device];
  guint n = (PLOT + c->column - 1) / c->column,
        width = row->folded ? v->cores : 1;
  double step = c->ns * c->column / PLOT, bottom = row->y + row->height;
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
            stage_colours[row->look], LEFT, bottom);
  for (guint k = 0; k < n; k++)
    {
      double y = bottom - MIN (busy[k] / (step * width), 1) * row->height;
      if (fabs (y - before) >= 0.1)
        {
          draw_put (c->svg, "H%uV%.1f", LEFT + k * c->column, y);
          before = y;
        }
    }
  g_autofree char *tip = g_strdup_printf (
      "%s %s%s: busy %.1f %%, %u bars", v->name, stage_names[row->look],
      row->folded ? "s" : "", 100 * row->busy_ns / c->ns, row->bars->len);
  g_autofree char *escaped = g_markup_escape_text (tip, -1);
  draw_put (c->svg, "H%dV%.1fZ\"><title>%s</title></path>\n", LEFT + PLOT,
            bottom, escaped);
}

static void
draw_rows (Chart *c)
{
  for (guint i = 0; i < c->rows->len; i++)
    {
      const Row *row = &g_array_index (c->rows, Row, i);
      draw_rect (c->svg, LEFT, row->y, PLOT, row->height,
                 "class=\"lane\" fill=\"" DRAW_LANE "\"", NULL);
      if (row->area)
        draw_area (c, row);
      else
        draw_pieces (c, row);
      draw_labels (
          c, row,
          i == 0 || g_array_index (c->rows, Row, i - 1).device != row->device);
      draw_busy (c, row);
    }
  draw_text (c->svg, WIDTH - 14, TOP - 6,
             "text-anchor=\"end\" font-size=\"11\" fill=\"" DRAW_GREY "\"",
             "busy");
}

static void
draw_axis (Chart *c)
{
  double unit_ns, step = draw_step (c->ns, 10);
  const char *unit = draw_time_unit (c->ns, &unit_ns);
  draw_line (c->svg, LEFT, c->bottom + 8, LEFT + PLOT, c->bottom + 8,
             "stroke=\"" DRAW_GREY "\"");
  for (guint i = 0; i * step <= c->ns * (1 + 1e-9); i++)
    {
      double x = x_of (c, i * step);
      g_autofree char *text = g_strdup_printf ("%g", i * step / unit_ns);
      draw_line (c->svg, x, c->bottom + 8, x, c->bottom + 13,
                 "stroke=\"" DRAW_GREY "\"");
      draw_text (c->svg, x, c->bottom + 28, "text-anchor=\"middle\"", text);
    }
  g_autofree char *text = g_strdup_printf ("time since the begin [%s]", unit);
  draw_text (c->svg, LEFT + PLOT / 2., c->bottom + 46,
             "text-anchor=\"middle\" fill=\"" DRAW_GREY "\"", text);
}

char *
draw_gantt (const DrawTrace *trace, const char *workload)
{
  Chart c = { .trace = trace, .ns = (double)MAX (trace->end_ns, 1) };
  c.rows = g_array_new (FALSE, FALSE, sizeof (Row));
  g_array_set_clear_func (c.rows, clear_row);
  make_rows (&c);
  merge (&c);
  c.svg = draw_svg_new (WIDTH, c.bottom + AXIS + 6,
                        workload ? workload : trace->farm);
  draw_heading (&c, workload);
  draw_legend (&c);
  draw_rows (&c);
  draw_rounds (&c);
  draw_axis (&c);
  g_array_unref (c.rows);
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
  return g_file_set_contents (svg_path, svg, -1, error);
}
