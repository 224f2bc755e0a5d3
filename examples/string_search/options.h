/* SPDX-License-Identifier: MIT */
/* options.h: the command line of string_search.
   Thread safety: read-only once parsed. */
#ifndef STRING_SEARCH_OPTIONS_H
#define STRING_SEARCH_OPTIONS_H

#include <glib.h>

#include "matcher/patterns.h"

/* Whether GPUs help with large files; see offload.h. */
typedef enum
{
  GPU_AUTO,
  GPU_ALWAYS,
  GPU_NEVER,
  GPU_ONLY
} GpuUse;

typedef struct
{
  gboolean count, line_number, only_matching, byte_offset, ignore_case;
  PatternList *patterns;
  char **paths; /* NULL-terminated, of argv; empty: the working directory */
  const char *strategy, *platform;
  gboolean report, dry, no_progress;
  guint cores;
  GpuUse gpu;
} Options;

typedef enum
{
  OPTIONS_RUN,
  OPTIONS_SHOWN, /* help or version: done */
  OPTIONS_WRONG  /* said why */
} OptionsResult;

OptionsResult options_parse (Options *options, int argc, char **argv);
void options_clear (Options *options);

#endif
