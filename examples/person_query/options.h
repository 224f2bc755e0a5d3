/* SPDX-License-Identifier: MIT */
/* options.h: the command line of person_query.
   Thread safety: single-threaded, at start-up. */
#ifndef PERSON_OPTIONS_H
#define PERSON_OPTIONS_H

#include "query.h"

/**
 * PersonOptions: the command line.
 * @output, @table, @make_table, @strategy, @platform: NULL if not given.
 */
typedef struct
{
  gsize n_persons;
  guint64 seed;
  PersonWanted wanted;
  PersonFarm farm;
  gsize group_persons;
  guint n_cores;
  gboolean count, quiet, verify, report, json, cpu_only, gpu_only;
  char *output, *table, *make_table, *strategy, *platform;
} PersonOptions;

/* FALSE with an error that names the option; --help ends the program. */
gboolean person_options_parse (PersonOptions *options, int *argc, char ***argv,
                               GError **error);
void person_options_clear (PersonOptions *options);

#endif
