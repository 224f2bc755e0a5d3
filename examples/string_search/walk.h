/* SPDX-License-Identifier: MIT */
/* walk.h: the files that the operands name, in the order of their paths.
   Thread safety: one thread at a time. */
#ifndef STRING_SEARCH_WALK_H
#define STRING_SEARCH_WALK_H

#include <glib.h>

/* A file to search, or a message in its place. */
typedef struct
{
  char *path;   /* as it is printed */
  guint64 size; /* 0 for what is no regular file */
  gboolean is_regular;
  char *error;   /* what to say instead of searching, or NULL */
  char *open_as; /* if not path */
} FileItem;

typedef struct Walk Walk;

Walk *walk_new (char **paths);
void walk_free (Walk *walk);
FileItem *walk_next (Walk *walk);
gboolean walk_names_files (const Walk *walk);
void file_item_free (FileItem *item);

#endif
