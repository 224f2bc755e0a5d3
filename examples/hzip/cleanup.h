/* SPDX-License-Identifier: MIT */
/* cleanup.h: an output file that is not complete is removed, however the
   program ends.
   Thread safety: the functions run on one thread; the signals that end the
   program are taken by another one. */
#ifndef HZIP_CLEANUP_H
#define HZIP_CLEANUP_H

#include <glib.h>

/* Takes over the signals that end the program, unless no thread can be made:
   then they leave the file that is not complete. To be called once, before any
   other thread is started: threads inherit what is blocked. */
void cleanup_start (void);

/* Creates a file, which must not exist, for its owner alone. Returns: a file
   descriptor, or -1 with errno set. */
int cleanup_create (const char *path);

/* The file is complete and remains. */
void cleanup_keep (void);

/* Removes the file, if there is one that is not complete. */
void cleanup_remove (void);

/* A write has failed with EPIPE: ends the program as SIGPIPE would have, after
   cleanup_remove(). Returns if SIGPIPE was ignored at the start. */
void cleanup_broken_pipe (void);

#endif
