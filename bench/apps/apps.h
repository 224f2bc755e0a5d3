/* SPDX-License-Identifier: MIT */
/* apps.h: declarations shared by the files of gpu-apps: the applications, a
   run, the search for the best static division, a case, the report.

   gpu-apps runs the farms of the examples repeatedly in one process, under
   every strategy and under static divisions. A wrong result ends the program.

   Thread safety: one thread. */
#ifndef APPS_H
#define APPS_H

#include <hass/hass.h>

#include "gpu_bench.h"

G_BEGIN_DECLS

/* Prints "gpu-apps: " and the message, and ends the program. */
void apps_fail (const char *format, ...) G_GNUC_PRINTF (1, 2) G_GNUC_NORETURN;

/* -- Applications (one file each, list in main.c) ------------------------ */

/**
 * AppsMachine: where farms run.
 * @n_gpus: used; 0: only the CPU pool.
 * @platform: of the modelled machine, where results are not computed; NULL:
 *   the real one.
 */
typedef struct
{
  guint n_gpus;
  const char *platform;
} AppsMachine;

/**
 * AppsSize: the amount of data.
 * @small: a 64th of the data, to try the program itself.
 * @crew: threads that fill memory.
 */
typedef struct
{
  gboolean small;
  Crew *crew;
} AppsSize;

/**
 * AppsProgram: an application.
 * @farm: its name in the profile store.
 * @prepare: makes the data and the reference results; in virtual time only
 *   allocates memory, which is not read. NULL with an error.
 * @run: runs one farm. @strategy is a specification.
 * @check: checks the results of the last run. Not in virtual time.
 * @finish: a slower check of the last results, once; may be NULL.
 * @describe: free with g_free().
 * @has_gpu_worker: the program was built with one.
 */
typedef struct
{
  const char *name, *farm;
  gpointer (*prepare) (const AppsMachine *machine, const AppsSize *size,
                       GError **error);
  gboolean (*run) (gpointer self, const AppsMachine *machine,
                   const char *strategy, HassReport **report, GError **error);
  gboolean (*check) (gpointer self, GError **error);
  gboolean (*finish) (gpointer self, GError **error);
  char *(*describe) (gpointer self);
  void (*release) (gpointer self);
  gboolean (*has_gpu_worker) (void);
} AppsProgram;

extern const AppsProgram apps_string_search, apps_matrix_multiply, apps_pi,
    apps_asian, apps_person_query;

/* Sets the error of @check. Returns FALSE. */
gboolean apps_wrong (GError **error, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

/* -- A run (run.c) -------------------------------------------------------- */

typedef struct
{
  const AppsProgram *program;
  gpointer self;
  const AppsMachine *machine;
} AppsSubject;

/* A run: makespan, and the GPUs' part of the work. */
typedef struct
{
  double ms;
  double gpu_part;
} AppsRun;

/* Runs and checks. Returns: FALSE if the strategy refuses this farm; @why is
   the reason, to be freed. Any other failure ends the program. */
gboolean apps_run (const AppsSubject *subject, const char *strategy,
                   AppsRun *run, char **why);

/* -- The best static division (search.c) ---------------------------------- */

#define APPS_FINALISTS 3

/* A static division: the part of the CPU in tenths of a percent, and the time
   of a round. */
typedef struct
{
  guint part;
  double ms;
} AppsStatic;

/**
 * AppsSearch: the result of a search.
 * @tried: AppsStatic, by part.
 * @best: [@n_best] parts, the best first.
 * @finest: the smallest step tried around the best.
 * @cut_short: smaller steps were omitted for lack of time.
 */
typedef struct
{
  GArray *tried;
  guint best[APPS_FINALISTS];
  guint n_best;
  guint finest;
  gboolean cut_short;
} AppsSearch;

/* @until_ns: of bench_now_ns(); from then on only coarse steps are tried. */
AppsSearch *apps_search (const AppsSubject *subject, gboolean quick,
                         gint64 until_ns);
void apps_search_free (AppsSearch *search);
/* "static:cpu=..."; free with g_free(). */
char *apps_static_spec (guint part);

/* -- A case (case.c) ------------------------------------------------------ */

/**
 * AppsCase: how strategies are compared with the best static divisions.
 * @warm: with the rates of earlier runs.
 * @strategies: all but the static divisions; NULL-terminated.
 * @repeat: maximum number of rounds; fewer, but at least 3, if time is short.
 * @until_ns: end of the time, of bench_now_ns().
 */
typedef struct
{
  gboolean warm;
  char **strategies;
  guint repeat;
  gint64 until_ns;
} AppsCase;

/* Speeds in percent; NAN: nothing to compare with. */
typedef struct
{
  double of_static;
  double of_other;
} AppsVerdict;

/* Runs the case; its section goes to @markdown. */
AppsVerdict apps_case (const AppsSubject *subject, const AppsCase *how,
                       const AppsSearch *search, GString *markdown);

G_END_DECLS

#endif
