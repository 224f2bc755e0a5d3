/* SPDX-License-Identifier: MIT */
/* gantt-private.h: the rows of a Gantt chart and their contents, shared by the
   files of the chart.
   Thread safety: a chart belongs to the thread that draws it. */
#ifndef DRAW_GANTT_PRIVATE_H
#define DRAW_GANTT_PRIVATE_H

#include "gantt.h"
#include "svg.h"

G_BEGIN_DECLS

#define GANTT_WIDTH 1280
#define GANTT_LEFT 128
#define GANTT_RIGHT 72 /* px, for the busy percentage */
#define GANTT_PLOT (GANTT_WIDTH - GANTT_LEFT - GANTT_RIGHT)
#define GANTT_TOP 104
#define GANTT_ROW 15
#define GANTT_FAILED                                                           \
  4 /* minimum width of a failure, px, so that it is visible */
#define GANTT_OPEN                                                             \
  3 /* minimum width of an opening, px; narrower ones are omitted */
#define GANTT_CORE 3 /* colour index of a core, after the stages */

#define GANTT_HATCH "#b4bec8"
#define GANTT_RED "#c1121f"
#define GANTT_FAILED_LOOK                                                      \
  "class=\"failed\" fill=\"url(#failed)\" stroke=\"" GANTT_RED "\""
#define GANTT_OPEN_LOOK                                                        \
  "class=\"open\" fill=\"url(#open)\" stroke=\"" GANTT_HATCH "\""

/* Bars that are drawn as one. */
typedef struct
{
  gint64 begin_ns, end_ns;
  double busy_ns;
  guint n;
  guint64 units, bytes, round;
} GanttPiece;

typedef struct
{
  guint device, core;
  guint look;      /* a stage, or GANTT_CORE */
  gboolean folded; /* a whole CPU pool */
  gboolean area;   /* drawn as the part of the time, or pool, at work */
  double y, height;
  double busy_ns;
  GArray *bars;   /* DrawBar, by time */
  GArray *pieces; /* GanttPiece, once merged */
} GanttRow;

/* Bundles of a GPU that failed within a short time. */
typedef struct
{
  guint device, n;
  gint64 begin_ns, end_ns;
  guint64 units, bytes, round;
} GanttFailure;

typedef struct
{
  const DrawTrace *trace;
  GArray *rows;     /* GanttRow */
  guint *first;     /* [n_devices], of its rows */
  GArray *failures; /* GanttFailure, by device and time */
  double bottom;
  double ns;    /* shown */
  guint column; /* width of a step of an area, px */
  gboolean any_area;
  DrawSvg *svg;
} GanttChart;

/* The horizontal position of a time, in pixels. */
static inline double
gantt_x (const GanttChart *c, double ns)
{
  return GANTT_LEFT + GANTT_PLOT * ns / c->ns;
}

/* Makes the rows of a chart whose trace and ns are set. */
void gantt_make_rows (GanttChart *c);
/* Merges the bars of the rows into pieces or areas, and finds the failures. */
void gantt_merge (GanttChart *c);
/* Frees rows and failures. */
void gantt_clear (GanttChart *c);

/* Returns: whether the opening of a GPU is long enough to be visible. */
gboolean gantt_any_open (const GanttChart *c);
/* Draws what spans all rows of a GPU: its opening and its failures. */
void gantt_draw_boxes (GanttChart *c);
/* Draws a note in the rows of GPUs that were not started. */
void gantt_draw_notes (GanttChart *c);

G_END_DECLS

#endif
