/* SPDX-License-Identifier: MIT */
/* gantt_chain.c: the chain of last predecessors in a Gantt chart; of step 3 of
   gantt.c.

   DESIGN.
   1. Bars of the chain that are neighbours in a row, and too short to be
      distinguished, are one piece, of the colour of the codelet that takes most
      of its time.
   2. A link leads from the end of a bar to the begin of the next one. Links
      that differ by less than a pixel are one.
   3. Pieces and links become coarser until there are few enough of them.

   Thread safety: see gantt-private.h. */
#include <math.h>

#include "gantt-private.h"

#define MOST_PIECES 1500
#define MOST_LINKS 1500
/* With more links, arrow heads would cover one another. */
#define MOST_ARROWS 250
/* Pieces as wide as that are outlined, and bars of a row that are as far apart
   linked; px. */
#define OUTLINED_PX 4
#define LINKED_PX 3
#define SHORT_PX 1.2
#define NARROWEST_PX 0.8

/* Bars of the chain that are drawn as one: @n, of which the first is bar @first
   of the chain. @stage_ns: by how much the time of @stage exceeds that of the
   others, in a vote by majority (Boyer and Moore). */
typedef struct
{
  guint row, first, n, stage;
  double begin_ns, end_ns, stage_ns;
} Piece;

typedef struct
{
  double x1, x2;
  guint from, to; /* rows */
} Link;

/* Where the chain lies in a row: in the middle of a whole pool. */
static DrawBox
lane_of (const GanttChart *c, guint row)
{
  const GanttRow *r = &g_array_index (c->rows, GanttRow, row);
  double height = r->folded ? GANTT_ROW + 3 : r->height;
  return (DrawBox){ GANTT_LEFT, r->y + (r->height - height) / 2, GANTT_PLOT,
                    height };
}

/* -- 1. Pieces ----------------------------------------------------------- */

static void
join (Piece *p, const DrawBar *bar)
{
  double ns = (double)(bar->end_ns - bar->begin_ns);
  p->end_ns = MAX (p->end_ns, (double)bar->end_ns);
  p->n++;
  p->stage_ns += bar->pipe_stage == p->stage ? ns : -ns;
  if (p->stage_ns >= 0)
    return;
  p->stage = bar->pipe_stage;
  p->stage_ns = -p->stage_ns;
}

/* Returns: whether a bar is joined to the piece before it in its row. */
static gboolean
joins (const Piece *p, const DrawBar *bar, double short_ns)
{
  return bar->end_ns - bar->begin_ns < short_ns
         && p->end_ns - p->begin_ns < short_ns
         && bar->begin_ns - p->end_ns < short_ns;
}

static GArray *
make_pieces (const GanttChart *c, double short_ns)
{
  GArray *pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  /* of each row 1 + the index of its last piece */
  g_autofree guint *last = g_new0 (guint, c->rows->len);
  for (guint i = 0; i < c->chain->bars->len; i++)
    {
      const DrawBar *bar = draw_chain_bar (c->chain, i);
      guint row = gantt_row_of (c, bar);
      Piece *before = last[row] > 0
                          ? &g_array_index (pieces, Piece, last[row] - 1)
                          : NULL;
      if (before && joins (before, bar, short_ns))
        {
          join (before, bar);
          continue;
        }
      Piece piece = { .row = row,
                      .first = i,
                      .n = 1,
                      .stage = bar->pipe_stage,
                      .begin_ns = (double)bar->begin_ns,
                      .end_ns = (double)bar->end_ns,
                      .stage_ns = (double)(bar->end_ns - bar->begin_ns) };
      g_array_append_val (pieces, piece);
      last[row] = pieces->len;
    }
  return pieces;
}

static char *
tip_of (const GanttChart *c, const Piece *p)
{
  g_autofree char *begin = draw_duration (p->begin_ns);
  g_autofree char *length = draw_duration (p->end_ns - p->begin_ns);
  const DrawBar *bar = draw_chain_bar (c->chain, p->first);
  GString *tip = g_string_new (NULL);
  if (p->n > 1)
    g_string_append_printf (tip, "%u tasks of the chain", p->n);
  else
    g_string_append_printf (tip, "task %" G_GUINT64_FORMAT " %s", bar->round,
                            c->trace->stages[bar->pipe_stage]);
  g_string_append_printf (tip, "\nat %s for %s", begin, length);
  if (p->n == 1 && p->first > 0)
    {
      g_autofree char *wait
          = draw_duration (draw_chain_wait_ns (c->chain, p->first));
      g_string_append_printf (tip,
                              "\n%s after the end of task %" G_GUINT64_FORMAT,
                              wait, bar->after - 1);
    }
  return g_string_free (tip, FALSE);
}

static void
draw_piece (GanttChart *c, const Piece *p)
{
  DrawBox box = lane_of (c, p->row);
  double right = GANTT_LEFT + GANTT_PLOT;
  double width = gantt_x (c, p->end_ns) - gantt_x (c, p->begin_ns);
  g_autofree char *tip = tip_of (c, p);
  box.width = MAX (width, NARROWEST_PX);
  box.x = MIN (gantt_x (c, p->begin_ns), right - box.width);
  g_autofree char *look = g_strdup_printf (
      "class=\"link\" fill=\"%s\"%s", gantt_colour (c, 0, p->stage),
      box.width >= OUTLINED_PX ? " stroke=\"" DRAW_INK "\"" : "");
  draw_rect (c->svg, box, look, tip);
  gantt_draw_name (c, p->stage, 0, box, FALSE);
}

static void
draw_pieces (GanttChart *c)
{
  double short_ns = SHORT_PX * c->ns / GANTT_PLOT;
  GArray *pieces = make_pieces (c, short_ns);
  while (pieces->len > MOST_PIECES && short_ns <= c->ns)
    {
      g_array_unref (pieces);
      pieces = make_pieces (c, short_ns *= 2);
    }
  for (guint i = 0; i < pieces->len; i++)
    draw_piece (c, &g_array_index (pieces, Piece, i));
  g_array_unref (pieces);
}

/* -- 2. Links ------------------------------------------------------------ */

/* Returns: FALSE if nothing would be visible. */
static gboolean
link_before (const GanttChart *c, guint i, Link *link)
{
  const DrawBar *from = draw_chain_bar (c->chain, i - 1);
  const DrawBar *to = draw_chain_bar (c->chain, i);
  *link = (Link){ gantt_x (c, (double)from->end_ns),
                  gantt_x (c, (double)to->begin_ns), gantt_row_of (c, from),
                  gantt_row_of (c, to) };
  return link->from != link->to || link->x2 - link->x1 >= LINKED_PX;
}

/* Returns: Link, of which no two differ by less than @px. */
static GArray *
make_links (const GanttChart *c, double px)
{
  GArray *links = g_array_new (FALSE, FALSE, sizeof (Link));
  g_autoptr (GHashTable) seen
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 1; i < c->chain->bars->len; i++)
    {
      Link link;
      if (!link_before (c, i, &link))
        continue;
      char *key = g_strdup_printf ("%.0f %.0f %u %u", link.x1 / px,
                                   link.x2 / px, link.from, link.to);
      if (g_hash_table_add (seen, key))
        g_array_append_val (links, link);
    }
  return links;
}

/* Appends a link to a path, from the edge of the one row that is near the other
   to the near edge of that. */
static void
put_link (GanttChart *c, const Link *link)
{
  DrawBox a = lane_of (c, link->from), b = lane_of (c, link->to);
  double y1 = a.y + a.height / 2, y2 = b.y + b.height / 2;
  if (link->from < link->to)
    {
      y1 = a.y + a.height;
      y2 = b.y;
    }
  else if (link->from > link->to)
    {
      y1 = a.y;
      y2 = b.y + b.height;
    }
  draw_put (c->svg, "M%.1f %.1fL%.1f %.1f", link->x1, y1, link->x2, y2);
}

/* Draws all links with the same attributes; arrow heads need a path each. */
static void
put_links (GanttChart *c, const GArray *links, const char *attributes,
           gboolean arrows)
{
  draw_put (c->svg, "<g fill=\"none\" pointer-events=\"none\" %s>\n",
            attributes);
  for (guint i = 0; i < links->len; i++)
    {
      if (arrows || i == 0)
        draw_put (c->svg, "<path%s d=\"",
                  arrows ? " marker-end=\"url(#head)\"" : "");
      put_link (c, &g_array_index (links, Link, i));
      if (arrows || i + 1 == links->len)
        draw_put (c->svg, "\"/>\n");
    }
  draw_put (c->svg, "</g>\n");
}

static void
draw_links (GanttChart *c)
{
  double px = 1;
  GArray *links = make_links (c, px);
  while (links->len > MOST_LINKS && px <= GANTT_PLOT)
    {
      g_array_unref (links);
      links = make_links (c, px *= 2);
    }
  gboolean arrows = links->len <= MOST_ARROWS;
  draw_put (c->svg,
            "<defs><marker id=\"head\" viewBox=\"0 0 6 6\" refX=\"5.5\" "
            "refY=\"3\" markerWidth=\"5\" markerHeight=\"5\" "
            "markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
            "<path fill=\"" DRAW_INK "\" d=\"M0 0L6 3L0 6Z\"/></marker>"
            "</defs>\n");
  put_links (c, links, "stroke=\"#ffffff\" stroke-width=\"3\"", FALSE);
  put_links (c, links,
             arrows ? "stroke=\"" DRAW_INK "\" stroke-width=\"1\""
                    : "stroke=\"" DRAW_INK "\" stroke-width=\"0.6\"",
             arrows);
  g_array_unref (links);
}

void
gantt_draw_chain (GanttChart *c)
{
  draw_put (c->svg, "<g class=\"chain\">\n");
  draw_links (c);
  draw_pieces (c);
  draw_put (c->svg, "</g>\n");
}
