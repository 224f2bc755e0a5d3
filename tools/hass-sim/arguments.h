/* SPDX-License-Identifier: MIT */
/* arguments.h: what the command line of hass-sim says.
   Thread safety: one thread. */
#ifndef HASS_SIM_ARGUMENTS_H
#define HASS_SIM_ARGUMENTS_H

#include <glib.h>

/**
 * SimArguments: the options by their names.
 * @rounds, @part_mib, @start_ms, @kernels, @times, @replay_farm: SIM_NOT_GIVEN:
 * not given.
 * @noise, @loops: of noise_text and loops_text; -1: the platform's, the
 * pipeline's.
 * @strategies: NULL-terminated; NULL: those that were recorded, or the text
 * in strategy is read elsewhere.
 */
typedef struct
{
  char *platform, *workload, *pipeline, *strategy, *suite, *trace;
  char *gantt, *plot, *replay, *explanation, *family_name, *dataflow, *task,
      *noise_text, *loops_text;
  char **slow, **lose, **changes;
  gint random_cases, replay_farm;
  gint rounds, part_mib, start_ms, kernels, times;
  gint64 seed;
  gboolean json, csv, list, summary_only, no_static, known, pure, stoppable;
  double noise, loops;
  char **strategies;
} SimArguments;

/* Called once. Returns: the arguments of the program, which live as long as it
   does; NULL with an error: they are malformed or do not fit together. */
const SimArguments *sim_arguments (int argc, char **argv, GError **error);

#endif
