/* SPDX-License-Identifier: MIT */
/* ahead.h: inflates a stream ahead of the stage that writes it, as far as a
   bound on memory allows, whatever the stream expands to.
   Thread safety: ahead_add() on one thread at a time, ahead_write() on one
   thread at a time; both at once are safe. */
#ifndef HZIP_AHEAD_H
#define HZIP_AHEAD_H

#include "inflater.h"
#include "job.h"

typedef struct _Ahead Ahead;

/* @inflater: used from now on by these functions alone, until ahead_free(). */
Ahead *ahead_new (Inflater *inflater);
void ahead_free (Ahead *ahead);

/* Adds the next @n bytes of the file, at @in. @members [@members_bytes]: what
   they contain, if they are whole members that have been decompressed; or NULL.
   Both must stay valid until ahead_write() has returned for these bytes. Then
   inflates what was added, in order, while there is room. Waits for no other
   thread. */
void ahead_add (Ahead *ahead, const guint8 *in, gsize n, const guint8 *members,
                gsize members_bytes);

/* Writes what the bytes of one ahead_add() contain, that of the first that is
   not written yet, and inflates what is missing. FALSE: @error is set. */
gboolean ahead_write (Ahead *ahead, Job *job, GError **error);

/* Returns: TRUE if nothing that follows in the file matters. Any thread. */
gboolean ahead_ended (Ahead *ahead);

#endif
