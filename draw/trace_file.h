/* SPDX-License-Identifier: MIT */
/* trace_file.h: reads what HASS_TRACE wrote, for the Gantt chart.
   Thread safety: a trace belongs to who read it. */
#ifndef DRAW_TRACE_FILE_H
#define DRAW_TRACE_FILE_H

#include <glib.h>

G_BEGIN_DECLS

/* Rows of a GPU. A core has one row, as if it were a kernel. */
typedef enum
{
  DRAW_COPY_IN,
  DRAW_KERNEL,
  DRAW_COPY_OUT,
  DRAW_N_STAGES
} DrawStage;

/**
 * DrawBar: one device or core is busy.
 * @device: index; @core: of a CPU pool, else 0; @stage: DRAW_KERNEL there.
 * @begin_ns, @end_ns: since the farm's begin.
 * @units, @bytes: of the pull or bundle.
 */
typedef struct
{
  guint device, core;
  DrawStage stage;
  gint64 begin_ns, end_ns;
  guint64 round, units, bytes;
} DrawBar;

/**
 * DrawDevice: of the farm's line, and how it began.
 * @open_begin_ns, @open_end_ns: since the farm's begin, when a GPU was made
 *   ready; both 0: not known.
 * @not_started: a GPU that was never ready.
 */
typedef struct
{
  char *name;
  gboolean gpu;
  guint cores;
  gint64 open_begin_ns, open_end_ns;
  gboolean not_started;
} DrawDevice;

/**
 * DrawTrace: a run.
 * @platform: NULL: the real machine.
 * @end_ns: of the last event, since the farm's begin.
 * @rounds: gint64, when each began; @units: in all.
 * @bars: DrawBar; none is empty, all lie within 0 and @end_ns.
 * @failures: DrawBar of GPUs, bundles that failed; they may be empty. They have
 *   no stage.
 * @number: which farm of the file it is, from 1; @n_farms: in the file.
 */
typedef struct
{
  char *farm, *strategy, *platform;
  gint64 end_ns;
  guint64 units;
  GArray *rounds;
  guint n_devices;
  DrawDevice *devices;
  GArray *bars, *failures;
  guint number, n_farms;
} DrawTrace;

/* Reads one farm, `number` from 1, or the one that took longest with 0. NULL
   with HASS_ERROR_IO, or HASS_ERROR_INVALID that names file and line.
   Events that it does not know are passed over. */
DrawTrace *draw_trace_load (const char *path, guint number, GError **error);
void draw_trace_free (DrawTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (DrawTrace, draw_trace_free)

G_END_DECLS

#endif
