/* SPDX-License-Identifier: MIT */
/* trace_file.h: reads files of HASS_TRACE for the Gantt chart.
   Thread safety: a trace belongs to the thread that read it. */
#ifndef DRAW_TRACE_FILE_H
#define DRAW_TRACE_FILE_H

#include <glib.h>

G_BEGIN_DECLS

/* Most names of devices, of stages, or of codelets. A guess. */
#define DRAW_MOST_NAMES 1024

/* Rows of a GPU. A core has one row, of kind DRAW_KERNEL. */
typedef enum
{
  DRAW_COPY_IN,
  DRAW_KERNEL,
  DRAW_COPY_OUT,
  DRAW_N_STAGES
} DrawStage;

/**
 * DrawBar: a time in which one device or core is busy.
 * @device: index of the device.
 * @core: index of the core in a CPU pool, else 0.
 * @stage: row of a GPU; DRAW_KERNEL for a core.
 * @pipe_stage: of a pipeline: index of the stage that is computed; of a
 *   dataflow: of the task's codelet; else 0.
 * @fused: likewise: number of stages after it that are computed in the same
 *   bar.
 * @begin_ns, @end_ns: in ns since the beginning of the farm.
 * @round: of a dataflow: number of the task.
 * @after: of a dataflow: 1 + the number of the task's last predecessor; 0: it
 *   has none, or the trace does not tell.
 * @units, @bytes: of the pull, batch or bundle; a task is one unit.
 */
typedef struct
{
  guint device, core;
  DrawStage stage;
  guint pipe_stage, fused;
  gint64 begin_ns, end_ns;
  guint64 round, after, units, bytes;
} DrawBar;

/**
 * DrawDevice: a device of the farm.
 * @open_begin_ns, @open_end_ns: when a GPU was opened, in ns since the
 *   beginning of the farm; both 0: unknown.
 * @not_started: a GPU that was never ready.
 * @lost_ns: when it was lost; 0: it was not, or that is unknown, as no trace
 *   tells it.
 */
typedef struct
{
  char *name;
  gboolean gpu;
  guint cores;
  gint64 open_begin_ns, open_end_ns;
  gboolean not_started;
  gint64 lost_ns;
} DrawDevice;

/**
 * DrawTrace: a run.
 * @platform: NULL: the real machine.
 * @end_ns: of the last event, in ns since the beginning of the farm.
 * @rounds: gint64, when each began; empty for a pipeline.
 * @units: total; of a pipeline the tokens that have passed its last stage.
 * @has_tasks: it is a dataflow.
 * @has_lasts: its tasks tell their last predecessors.
 * @stages: [@n_stages] names of the stages of a pipeline, or of the codelets of
 *   a dataflow; NULL and 0 for a farm.
 * @bars: DrawBar; not empty, within 0 and @end_ns. Those of tasks may have the
 *   length 0.
 * @failures: DrawBar of failed bundles of GPUs; may be empty, without stage.
 * @number: number of the farm in the file, from 1.
 * @n_farms: number of farms in the file.
 */
typedef struct
{
  char *farm, *strategy, *platform;
  gint64 end_ns;
  guint64 units;
  gboolean has_tasks, has_lasts;
  GArray *rounds;
  guint n_stages;
  char **stages;
  guint n_devices;
  DrawDevice *devices;
  GArray *bars, *failures;
  guint number, n_farms;
} DrawTrace;

/* Reads the farm @number of a file, from 1; 0: the longest. Returns: NULL with
   HASS_ERROR_IO, or with HASS_ERROR_INVALID and a message with file and line.
   Unknown events are ignored. */
DrawTrace *draw_trace_load (const char *path, guint number, GError **error);
void draw_trace_free (DrawTrace *trace);
/* Returns: the index of a codelet in @stages, where it is added if it is new;
   of those beyond DRAW_MOST_NAMES the last index. */
guint draw_trace_name (DrawTrace *trace, const char *codelet);
/* Brings the codelets in the order of their names, so that they have the same
   colours in each run of a graph. */
void draw_trace_sort_names (DrawTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DrawTrace, draw_trace_free)

G_END_DECLS

#endif
