/* SPDX-License-Identifier: MIT */
/* hass/dataflow.h: a dataflow: tasks that sequential code submits, and which
   run concurrently as far as the data that they access allow.

   The build callback submits tasks, each a codelet with the data that it reads
   and writes. Dependences follow from these accesses in the order of submission
   (the functions with precedence constraints of Zhang 2011, section 3.6.4,
   without its rounds), so the result is that of the sequential program.

   Thread safety: dataflows and farms may run on several threads at once. A call
   blocks until the dataflow has ended; its thread builds the graph and works as
   one of the cores. */
#ifndef HASS_DATAFLOW_H
#define HASS_DATAFLOW_H

#include <hass/codelet.h>
#include <hass/report.h>
#include <string.h>

HASS_BEGIN_DECLS

/**
 * HassBuildFunc: submits the tasks of a dataflow, on the thread that called it.
 *
 * If it fails, the dataflow stops with its error.
 */
typedef gboolean (*HassBuildFunc) (HassGraph *graph, gpointer user_data,
                                   GError **error);

/**
 * HassDataflow: the settings of a dataflow. Start from HASS_DATAFLOW_INIT or
 * hass_dataflow_init(). Nothing that the struct points to is copied or freed.
 * @struct_size: set by the initialiser; the struct may end after @build.
 * @name: in messages and reports; NULL: "dataflow".
 * @user_data: last argument of @build, and of codelets without their own.
 * @build: submits the tasks.
 * @window: most tasks that are submitted and have not ended; 0: 16384. Rounded
 *   up to a power of two, at most 2^24.
 * @run: how the dataflow runs. With HASS_ON_ERROR_CONTINUE a task fails if its
 *   codelet fails, or if it accesses a datum that is invalid other than by
 *   WRITE; such a datum becomes invalid when a task that writes it fails, and
 *   valid when a task WRITEs it. The report lists the tasks whose codelets have
 *   failed and how many failed in consequence. When the dataflow is cancelled
 *   or its deadline is over, tasks that have begun end, others do not begin.
 */
typedef struct
{
  gsize struct_size;
  const char *name;
  gpointer user_data;
  HassBuildFunc build;
  gsize window;
  HassRunOptions run;
} HassDataflow;

/* Returns: a dataflow with all fields zero but struct_size. */
static inline HassDataflow
hass_dataflow_init (void)
{
  HassDataflow dataflow;
  memset (&dataflow, 0, sizeof dataflow);
  dataflow.struct_size = sizeof dataflow;
  return dataflow;
}

/* Returns: a codelet with all fields zero but struct_size. */
static inline HassCodelet
hass_codelet_init (void)
{
  HassCodelet codelet;
  memset (&codelet, 0, sizeof codelet);
  codelet.struct_size = sizeof codelet;
  return codelet;
}

/* Initialisers with all fields zero but struct_size; HASS_CODELET may be
   followed by further designated fields: HASS_CODELET (.cpu = gemm). In C++ the
   first two are function calls. */
#ifdef __cplusplus
#  define HASS_DATAFLOW_INIT hass_dataflow_init ()
#  define HASS_CODELET_INIT hass_codelet_init ()
#else
#  define HASS_DATAFLOW_INIT                                                   \
    {                                                                          \
      .struct_size = sizeof (HassDataflow)                                     \
    }
#  define HASS_CODELET_INIT                                                    \
    {                                                                          \
      .struct_size = sizeof (HassCodelet)                                      \
    }
#  define HASS_CODELET(...)                                                    \
    {                                                                          \
      .struct_size = sizeof (HassCodelet), __VA_ARGS__                         \
    }
#endif

/**
 * hass_dataflow:
 * @report: (out) (optional): set in every case; free with hass_report_free().
 *
 * Builds and runs a dataflow and blocks until all tasks have ended; not from a
 * callback.
 *
 * Returns: TRUE if every task was computed, or, with HASS_ON_ERROR_CONTINUE, if
 * the dataflow came to its end. FALSE with any HassError, or with the error of
 * a callback.
 */
gboolean hass_dataflow (const HassDataflow *dataflow, HassReport **report,
                        GError **error);

/**
 * HassRecorded: a graph that was built once, to be run many times.
 */
typedef struct HassRecorded HassRecorded;

/**
 * hass_dataflow_record:
 *
 * Builds a graph without running it. @dataflow is copied; what its codelets,
 * data and options point to must stay valid. Not from a callback, and the build
 * callback may not wait.
 * Whether there are devices for a codelet without a function for cores is found
 * out when the graph runs.
 *
 * Returns: (transfer full): NULL with an error.
 */
HassRecorded *hass_dataflow_record (const HassDataflow *dataflow,
                                    GError **error);

/**
 * hass_recorded_bind:
 * @data: made by hass_graph_data() while the graph was recorded.
 * @host: memory of the same rows and pitch, which later runs use.
 *
 * Not while the graph runs. If it does, if @data is not such a datum, or if
 * @host is NULL, this or the next run fails. That @host overlaps no other datum
 * is not checked.
 */
void hass_recorded_bind (HassRecorded *recorded, HassData *data, gpointer host);

/**
 * hass_recorded_run:
 * @times: how often the graph is run, one run after the other, unless @again
 *   ends it; 0: once.
 * @again: (nullable): called on the calling thread after each run but the last
 *   one, when the data are valid in memory; FALSE ends the runs.
 *
 * Runs a recorded graph as hass_dataflow() would, on cores and devices. After
 * each run all data are valid in memory, but for those that a failed task has
 * spoilt under HASS_ON_ERROR_CONTINUE: these stay invalid, for later runs, too,
 * until the call ends. What devices have of them they need
 * not get again in the next run if @again is NULL; else it may have changed
 * them. Tasks of equal priority begin by the length of the longest path to the
 * end of the graph.
 *
 * Returns: as hass_dataflow(); FALSE with HASS_ERROR_MISUSE if the graph is
 * NULL or running already, or if it was used other than to bind since it was
 * recorded.
 */
gboolean hass_recorded_run (HassRecorded *recorded, guint64 times,
                            gboolean (*again) (gpointer user_data),
                            HassReport **report, GError **error);

/**
 * hass_recorded_free:
 * @recorded: (nullable): not while it runs.
 */
void hass_recorded_free (HassRecorded *recorded);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (HassRecorded, hass_recorded_free)

HASS_END_DECLS

#endif
