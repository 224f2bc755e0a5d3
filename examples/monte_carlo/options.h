/* SPDX-License-Identifier: MIT */
/* options.h: the command line of monte_carlo.
   Thread safety: read-only once parsed. */
#ifndef MONTE_CARLO_OPTIONS_H
#define MONTE_CARLO_OPTIONS_H

#include "monte_carlo.h"

typedef struct
{
  McJob job;
  McOption option;
  char *strategy, *platform;
  gboolean report, json, verify;
} McOptions;

/* FALSE with @error for what is no such command line. --help ends the
   program. */
gboolean monte_carlo_options_parse (McOptions *options, int *argc, char ***argv,
                                    GError **error);
void monte_carlo_options_clear (McOptions *options);

#endif
