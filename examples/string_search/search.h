/* SPDX-License-Identifier: MIT */
/* search.h: searches files with farms.

   DESIGN. The walk's files are cut into stretches: crowds of small files,
   each stretch a combine farm whose loads are files; and single large files,
   each a partition farm over the mapped file. Farms run one after another, so
   the output comes in the order of the paths.

   Thread safety: the fields of Search are constant while a farm runs, but
   those of the output, which the collector alone writes. */
#ifndef STRING_SEARCH_SEARCH_H
#define STRING_SEARCH_SEARCH_H

#include <hass/hass.h>
#include <stdio.h>

#include "format.h"
#include "gpu_filter.h"
#include "matcher/matcher.h"
#include "options.h"
#include "terminal.h"
#include "walk.h"

typedef struct
{
  const Options *options;
  const Matcher *matcher;
  FormatOptions format;
  Terminal *terminal;
  HassReport *total; /* of all farms so far, or NULL */
  GpuFilter *filter; /* made on first use; may be NULL then, too */
  gboolean filter_tried;

  /* The output. */
  FILE *output;
  guint64 n_lines; /* selected */
  gboolean failed; /* something could not be read */
  int write_error; /* errno of the first output that was lost, or 0 */
} Search;

/* Both return FALSE when the farm failed. */
gboolean search_small_files (Search *search, Walk *walk, FileItem **large,
                             GError **error);
gboolean search_large_file (Search *search, const FileItem *item,
                            gboolean with_name, GError **error);

gboolean is_large (const FileItem *item);
LineScanFlags scan_flags (const Search *search);
HassRunOptions run_options (const Search *search, HassFarmKind kind);
void search_write (Search *search, const char *text, gsize length);
void search_complain (Search *search, const char *text);
void search_add_report (Search *search, HassReport *report);

#endif
