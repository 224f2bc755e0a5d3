/* SPDX-License-Identifier: MIT */
/* options.h: y4m_denoise's command line.
   Thread safety: single-threaded, at start-up. */
#ifndef Y4M_OPTIONS_H
#define Y4M_OPTIONS_H

#include "denoise.h"

/* @job: all but the files and the format. @input, @output: names of files;
   NULL: standard input and output. Clear with y4m_options_clear(). */
typedef struct
{
  Y4mJob job;
  char *input, *output;
  char *strategy, *platform;
  gboolean report;
} Y4mOptions;

/* Removes what it understands from @argv. FALSE with a G_OPTION_ERROR; the
   options must be cleared then, too. */
gboolean y4m_options_parse (Y4mOptions *options, int *argc, char ***argv,
                            GError **error);
void y4m_options_clear (Y4mOptions *options);

#endif
