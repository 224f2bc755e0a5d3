/* SPDX-License-Identifier: MIT */
/* gantt_legend.c: the colours of a Gantt chart, the names in its bars, and its
   legend; of step 3 of gantt.c.
   Thread safety: see gantt-private.h. */
#include <stdlib.h>

#include "gantt-private.h"

#define AREA_NOTE "height of an area: the part at work"
#define FIRST_LINE 66 /* y of the legend's text, px */
#define LINE 20
#define SWATCH 22 /* px for a swatch before its text */
/* Narrowest bar that gets the name of its stage, in px: two letters fit; and
   narrowest one that gets the beginning of a longer name. */
#define LEAST_NAMED 14
#define LEAST_BEGUN 40

const char *const gantt_row_names[]
    = { "copy in", "kernel", "copy out", "core" };

const char *
gantt_colour (const GanttChart *c, guint look, guint stage)
{
  static const char *const colours[]
      = { "#56b4e9", "#009e73", "#e69f00", "#0072b2" };
  return c->trace->n_stages > 0 ? draw_colours[stage % DRAW_N_COLOURS]
                                : colours[look];
}

gboolean
gantt_is_light (const char *colour)
{
  gulong rgb = strtoul (colour + 1, NULL, 16);
  /* Luma by ITU-R BT.601, in thousandths; above half of white. */
  return 299 * (rgb >> 16) + 587 * (rgb >> 8 & 255) + 114 * (rgb & 255)
         > 127500;
}

char *
gantt_stages_text (const GanttChart *c, guint stage, guint fused)
{
  GString *text = g_string_new (c->trace->stages[stage]);
  for (guint s = stage + 1; s <= stage + fused; s++)
    g_string_append_printf (text, " + %s", c->trace->stages[s]);
  return g_string_free (text, FALSE);
}

void
gantt_draw_name (GanttChart *c, guint stage, guint fused, DrawBox box,
                 gboolean pale)
{
  if (c->trace->n_stages == 0 || box.width < LEAST_NAMED
      || box.height < GANTT_ROW)
    return;
  g_autofree char *name = gantt_stages_text (c, stage, fused);
  gboolean dark = !pale && !gantt_is_light (gantt_colour (c, 0, stage));
  g_autofree char *attributes
      = g_strdup_printf ("class=\"name\" text-anchor=\"middle\" "
                         "pointer-events=\"none\" font-size=\"10\" "
                         "fill=\"%s\"",
                         dark ? "#ffffff" : DRAW_INK);
  double room = box.width - 4;
  if (draw_text_width (name, 10) > room && box.width < LEAST_BEGUN)
    return;
  g_autofree char *fit = draw_fit (name, 10, room);
  draw_text (c->svg, box.x + box.width / 2, box.y + box.height / 2 + 3.5,
             attributes, fit);
}

/* Where the next entry of a legend goes. */
typedef struct
{
  double x, y;
} Pen;

/* Returns: where an entry with this text goes, and moves the pen behind it. */
static Pen
place (Pen *pen, const char *text, double before)
{
  double width = before + draw_text_width (text, 12);
  if (pen->x > GANTT_LEFT && pen->x + width > GANTT_WIDTH)
    *pen = (Pen){ GANTT_LEFT, pen->y + LINE };
  Pen at = *pen;
  pen->x += width + 22;
  return at;
}

static void
swatch (GanttChart *c, Pen *pen, const char *attributes, const char *name)
{
  Pen at = place (pen, name, SWATCH);
  if (!c->svg)
    return;
  draw_rect (c->svg, (DrawBox){ at.x, at.y - 10, 16, 12 }, attributes, NULL);
  draw_text (c->svg, at.x + SWATCH, at.y, "class=\"legend\"", name);
}

static void
draw_looks (GanttChart *c, Pen *pen)
{
  static const char *const names[]
      = { "copy to the GPU", "kernel", "copy to the host", "core computes" };
  gboolean used[GANTT_CORE + 1] = { FALSE };
  for (guint i = 0; i < c->rows->len; i++)
    used[g_array_index (c->rows, GanttRow, i).look] = TRUE;
  for (guint i = 0; i <= GANTT_CORE; i++)
    {
      guint look = (i + GANTT_CORE) % (GANTT_CORE + 1); /* cores first */
      g_autofree char *fill
          = g_strdup_printf ("rx=\"2\" fill=\"%s\"", gantt_colour (c, look, 0));
      if (used[look])
        swatch (c, pen, fill, names[look]);
    }
}

static void
draw_stages (GanttChart *c, Pen *pen)
{
  for (guint s = 0; s < c->trace->n_stages; s++)
    {
      g_autofree char *fill
          = g_strdup_printf ("rx=\"2\" fill=\"%s\"", gantt_colour (c, 0, s));
      g_autofree char *name
          = draw_fit (c->trace->stages[s], 12, GANTT_PLOT / 2.);
      swatch (c, pen, fill, name);
    }
}

static void
draw_round_sign (GanttChart *c, Pen *pen)
{
  static const char text[] = "a round begins";
  Pen at = place (pen, text, 20);
  if (!c->svg)
    return;
  draw_line (c->svg, at.x + 8, at.y - 11, at.x + 8, at.y + 3,
             "stroke=\"" DRAW_GREY "\" stroke-dasharray=\"3 2\"");
  draw_text (c->svg, at.x + 20, at.y, "class=\"legend\"", text);
}

double
gantt_draw_legend (GanttChart *c)
{
  Pen pen = { GANTT_LEFT, FIRST_LINE + (c->chain ? GANTT_CAPTION : 0) };
  if (c->trace->n_stages > 0)
    draw_stages (c, &pen);
  else
    draw_looks (c, &pen);
  swatch (c, &pen, "rx=\"2\" fill=\"" DRAW_LANE "\" stroke=\"#cbd2d9\"",
          "idle");
  if (c->chain)
    swatch (c, &pen, "rx=\"2\" fill=\"#ffffff\" stroke=\"" DRAW_INK "\"",
            "in the chain");
  if (c->trace->rounds->len > 0)
    draw_round_sign (c, &pen);
  if (gantt_any_open (c))
    swatch (c, &pen, GANTT_OPEN_LOOK, "being made ready");
  if (c->failures->len > 0)
    swatch (c, &pen, GANTT_FAILED_LOOK, "failed, given back");
  if (c->any_area)
    {
      Pen at = place (&pen, AREA_NOTE, 0);
      if (c->svg)
        draw_text (c->svg, at.x, at.y, "fill=\"" DRAW_GREY "\"", AREA_NOTE);
    }
  return pen.y - FIRST_LINE;
}
