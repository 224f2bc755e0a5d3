/* SPDX-License-Identifier: MIT */
/* output.h: an output file, from its creation to the removal of the original.
   Thread safety: one thread. */
#ifndef HZIP_OUTPUT_H
#define HZIP_OUTPUT_H

#include <sys/stat.h>

#include "hzip.h"

/* Creates the file, asking on a terminal, or with -f, whether one of this name
   is to be replaced. Returns: a file descriptor, or -1; the message is printed
   and the exit status set. */
int output_create (Hzip *hzip, const char *path);

/* Gives the file the mode, times and, where allowed, the owner of @original,
   the time @mtime in place of that of @original if it is not 0, and closes it.
   Returns: FALSE if that, or an earlier write, failed: the file is removed. */
gboolean output_finish (Hzip *hzip, int fd, const char *path,
                        const struct stat *original, guint32 mtime);

/* Closes and removes a file that is not to be finished. */
void output_remove (int fd);

#endif
