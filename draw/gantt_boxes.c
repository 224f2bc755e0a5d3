/* SPDX-License-Identifier: MIT */
/* gantt_boxes.c: what spans all rows of a GPU: its opening, failed bundles, and
   the notes of one that was not started or was lost; of step 3 of gantt.c.
   Thread safety: see gantt-private.h. */
#include "gantt-private.h"

/* -- Made ready --------------------------------------------------------- */

/* Returns: whether the opening is long enough to be visible. */
static gboolean
shows_open (const GanttChart *c, guint device)
{
  const DrawDevice *v = &c->trace->devices[device];
  return GANTT_PLOT * (double)(v->open_end_ns - v->open_begin_ns)
         >= GANTT_OPEN * c->ns;
}

/* A box over all rows of a GPU, clipped to the plot. */
static void
draw_box (GanttChart *c, guint device, double x, double width, const char *look,
          const char *tip)
{
  const GanttRow *row = &g_array_index (c->rows, GanttRow, c->first[device]);
  const GanttRow *last = row + gantt_n_gpu_rows (c) - 1;
  const DrawBox box = { MIN (x, GANTT_LEFT + GANTT_PLOT - width), row->y, width,
                        last->y + last->height - row->y };
  draw_rect (c->svg, box, look, tip);
}

static void
draw_opens (GanttChart *c)
{
  for (guint d = 0; d < c->trace->n_devices; d++)
    {
      const DrawDevice *v = &c->trace->devices[d];
      if (!shows_open (c, d))
        continue;
      double x = gantt_x (c, (double)v->open_begin_ns);
      double width = gantt_x (c, (double)v->open_end_ns) - x;
      g_autofree char *begin = draw_duration ((double)v->open_begin_ns);
      g_autofree char *ns
          = draw_duration ((double)(v->open_end_ns - v->open_begin_ns));
      g_autofree char *tip = g_strdup_printf ("%s is made ready\nat %s for %s",
                                              v->name, begin, ns);
      draw_box (c, d, x, width, GANTT_OPEN_LOOK, tip);
    }
}

/* -- Failures ----------------------------------------------------------- */

static char *
failure_tip (const GanttChart *c, const GanttFailure *f)
{
  g_autofree char *end = draw_duration ((double)f->end_ns);
  g_autofree char *ns = draw_duration ((double)(f->end_ns - f->begin_ns));
  g_autofree char *size
      = g_format_size_full (f->bytes, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *which = f->n == 1 ? g_strdup ("a bundle")
                                     : g_strdup_printf ("%u bundles", f->n);
  GString *tip = g_string_new (c->trace->devices[f->device].name);
  g_string_append_printf (tip, ", %s failed\nat %s, after %s\n", which, end,
                          ns);
  g_string_append_printf (tip, "%" G_GUINT64_FORMAT " unit%s", f->units,
                          f->units == 1 ? " was" : "s were");
  g_string_append (tip, " given back");
  if (f->bytes > 0)
    g_string_append_printf (tip, ", %s", size);
  g_string_append_printf (tip, ", round %" G_GUINT64_FORMAT, f->round + 1);
  return g_string_free (tip, FALSE);
}

/* The stage in which a bundle failed is unknown: its box spans all rows of the
   GPU and lies below concurrent bars. */
static void
draw_failures (GanttChart *c)
{
  for (guint i = 0; i < c->failures->len; i++)
    {
      const GanttFailure *f = &g_array_index (c->failures, GanttFailure, i);
      double x = gantt_x (c, (double)f->begin_ns);
      double width = MAX (gantt_x (c, (double)f->end_ns) - x, GANTT_FAILED);
      g_autofree char *tip = failure_tip (c, f);
      draw_box (c, f->device, x, width, GANTT_FAILED_LOOK, tip);
    }
}

/* -- Both --------------------------------------------------------------- */

/* A pattern of slanting lines, each @part of @step pixels wide. */
static void
hatch (GanttChart *c, const char *name, guint step, double part,
       const char *paper, const char *ink)
{
  draw_put (c->svg,
            "<defs><pattern id=\"%s\" width=\"%u\" height=\"%u\" "
            "patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate(45)\"><rect width=\"%u\" "
            "height=\"%u\" fill=\"%s\"/><rect width=\"%g\" "
            "height=\"%u\" fill=\"%s\"/></pattern></defs>\n",
            name, step, step, step, step, paper, part, step, ink);
}

gboolean
gantt_any_open (const GanttChart *c)
{
  for (guint d = 0; d < c->trace->n_devices; d++)
    if (shows_open (c, d))
      return TRUE;
  return FALSE;
}

void
gantt_draw_boxes (GanttChart *c)
{
  if (gantt_any_open (c))
    hatch (c, "open", 6, 1.5, "#f6f7f9", GANTT_HATCH);
  if (c->failures->len > 0)
    hatch (c, "failed", 5, 2, "#fbe3e4", GANTT_RED);
  draw_opens (c);
  draw_failures (c);
}

/* -- Not started, lost -------------------------------------------------- */

static gboolean
has_bars (const GanttChart *c, guint device)
{
  for (guint s = 0; s < gantt_n_gpu_rows (c); s++)
    if (g_array_index (c->rows, GanttRow, c->first[device] + s).bars->len > 0)
      return TRUE;
  for (guint i = 0; i < c->failures->len; i++)
    if (g_array_index (c->failures, GanttFailure, i).device == device)
      return TRUE;
  return FALSE;
}

/* A text in the row of a GPU's kernels. A white outline keeps lines of rounds
   from crossing it. */
static void
draw_note (GanttChart *c, guint device, double x, const char *text)
{
  const GanttRow *row = &g_array_index (
      c->rows, GanttRow, c->first[device] + gantt_kernel_row (c));
  double most = GANTT_LEFT + GANTT_PLOT - draw_text_width (text, 11) - 4;
  draw_text (c->svg, MIN (x, most), row->y + row->height / 2 + 4,
             "font-size=\"11\" fill=\"" DRAW_GREY "\" stroke=\"" DRAW_LANE
             "\" stroke-width=\"5\" paint-order=\"stroke\"",
             text);
}

void
gantt_draw_notes (GanttChart *c)
{
  for (guint d = 0; d < c->trace->n_devices; d++)
    {
      const DrawDevice *v = &c->trace->devices[d];
      if (v->gpu && v->lost_ns > 0)
        draw_note (c, d, gantt_x (c, (double)v->lost_ns) + 6, "lost");
      else if (v->not_started && !has_bars (c, d))
        draw_note (c, d, GANTT_LEFT + 12, "not started");
    }
}
