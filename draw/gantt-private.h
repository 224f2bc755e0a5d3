/* SPDX-License-Identifier: MIT */
/* gantt-private.h: the rows of a Gantt chart and their contents, shared by the
   files of the chart.
   Thread safety: a chart belongs to the thread that draws it. */
#ifndef DRAW_GANTT_PRIVATE_H
#define DRAW_GANTT_PRIVATE_H

#include "chain.h"
#include "gantt.h"
#include "svg.h"

G_BEGIN_DECLS

#define GANTT_WIDTH 1280
#define GANTT_LEFT 128
#define GANTT_RIGHT 72 /* px, for the busy percentage */
#define GANTT_PLOT (GANTT_WIDTH - GANTT_LEFT - GANTT_RIGHT)
#define GANTT_TOP 104 /* of the rows, below a legend of one line */
#define GANTT_ROW 15
#define GANTT_FAILED                                                           \
  4 /* minimum width of a failure, px, so that it is visible */
#define GANTT_OPEN                                                             \
  3 /* minimum width of an opening, px; narrower ones are omitted */
#define GANTT_CAPTION 20  /* px, height of the line that tells of the chain */
#define GANTT_PALE "0.22" /* opacity of what is not in the chain */
#define GANTT_CORE 3      /* colour index of a core, after the stages */

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
  guint stage, fused; /* of a pipeline, as in DrawBar */
  guint64 units, bytes, round;
} GanttPiece;

typedef struct
{
  guint device, core;
  guint look;      /* a DrawStage, or GANTT_CORE */
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
  const DrawChain *chain; /* NULL: none is shown */
  GArray *rows;           /* GanttRow */
  guint *first;           /* [n_devices], of its rows */
  GArray *failures;       /* GanttFailure, by device and time */
  double top, bottom;     /* of the rows */
  double ns;              /* shown */
  guint column;           /* width of a step of an area, px */
  gboolean any_area;
  DrawSvg *svg;
} GanttChart;

/* The horizontal position of a time, in pixels. */
static inline double
gantt_x (const GanttChart *c, double ns)
{
  return GANTT_LEFT + GANTT_PLOT * ns / c->ns;
}

/* Returns: the number of rows of a GPU: one for each stage of its bundles. The
   trace of a dataflow has no copies, so there is one row, of kernels. */
static inline guint
gantt_n_gpu_rows (const GanttChart *c)
{
  return c->trace->has_tasks ? 1 : DRAW_N_STAGES;
}

/* Returns: the index among these rows of that of kernels. */
static inline guint
gantt_kernel_row (const GanttChart *c)
{
  return c->trace->has_tasks ? 0 : DRAW_KERNEL;
}

extern const char *const gantt_row_names[GANTT_CORE + 1];

/* Returns: the number of colours of a row's contents: a colour for each stage
   of a pipeline; else the row has one. */
static inline guint
gantt_n_colours (const GanttChart *c)
{
  return MAX (c->trace->n_stages, 1);
}

/* Returns: the colour of a row's contents; @stage: of a pipeline. */
const char *gantt_colour (const GanttChart *c, guint look, guint stage);
/* Returns: whether dark text is readable on the colour, "#rrggbb", and white
   text is not. */
gboolean gantt_is_light (const char *colour);
/* Returns (transfer full): the names of the stages of a bar of a pipeline;
   free with g_free(). */
char *gantt_stages_text (const GanttChart *c, guint stage, guint fused);
/* Draws the legend, if the chart has an image. Returns: how much the legend is
   higher than one line, in pixels. */
double gantt_draw_legend (GanttChart *c);

/* Makes the rows of a chart whose trace and ns are set. */
void gantt_make_rows (GanttChart *c);
/* Returns: the index of the row that a bar lies in. */
guint gantt_row_of (const GanttChart *c, const DrawBar *bar);
/* Moves the rows down by @px. */
void gantt_move_rows (GanttChart *c, double px);
/* Merges the bars of the rows into pieces or areas, and finds the failures. */
void gantt_merge (GanttChart *c);
/* Frees rows and failures. */
void gantt_clear (GanttChart *c);

/* Writes the name of a bar's stage into the bar, as far as there is room.
   @pale: the bar is. */
void gantt_draw_name (GanttChart *c, guint stage, guint fused, DrawBox box,
                      gboolean pale);
/* Draws the bars of the chain over the rows, and what links them. */
void gantt_draw_chain (GanttChart *c);

/* Returns: whether the opening of a GPU is long enough to be visible. */
gboolean gantt_any_open (const GanttChart *c);
/* Draws what spans all rows of a GPU: its opening and its failures. */
void gantt_draw_boxes (GanttChart *c);
/* Draws a note in the rows of GPUs that were not started or were lost. */
void gantt_draw_notes (GanttChart *c);

G_END_DECLS

#endif
