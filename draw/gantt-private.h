/* SPDX-License-Identifier: MIT */
/* gantt-private.h: what the files of the Gantt chart share: its rows, and
   what is drawn in them.
   Thread safety: a chart belongs to the thread that draws it. */
#ifndef DRAW_GANTT_PRIVATE_H
#define DRAW_GANTT_PRIVATE_H

#include "gantt.h"
#include "svg.h"

G_BEGIN_DECLS

#define GANTT_WIDTH 1280
#define GANTT_LEFT 128
#define GANTT_RIGHT 72 /* how busy a row was */
#define GANTT_PLOT (GANTT_WIDTH - GANTT_LEFT - GANTT_RIGHT)
#define GANTT_TOP 104
#define GANTT_ROW 15
#define GANTT_FAILED 4 /* wide at least, so that none is overlooked */
#define GANTT_OPEN 3   /* wide at least, or it is left out */
#define GANTT_CORE 3   /* after the stages */

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

/* Bundles of a GPU that failed, one soon after another. */
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
  guint column; /* pixels of a step of an area */
  gboolean any_area;
  DrawSvg *svg;
} GanttChart;

/* The horizontal position of a time, in pixels. */
static inline double
gantt_x (const GanttChart *c, double ns)
{
  return GANTT_LEFT + GANTT_PLOT * ns / c->ns;
}

/* Makes the rows of a chart that has its trace and ns. */
void gantt_make_rows (GanttChart *c);
/* Fills in their pieces, or makes areas of them, and the failures. */
void gantt_merge (GanttChart *c);
/* Frees rows and failures. */
void gantt_clear (GanttChart *c);

/* Was a GPU made ready for long enough to be seen? */
gboolean gantt_any_open (const GanttChart *c);
/* What has all rows of a GPU: when it was made ready, and failures. */
void gantt_draw_boxes (GanttChart *c);
/* Names the GPUs that were not started, in their rows. */
void gantt_draw_notes (GanttChart *c);

G_END_DECLS

#endif
