/* SPDX-License-Identifier: MIT */
/* inflater.h: decompresses any gzip file as a stream, with the answers of
   gzip: which bytes come out, which messages, which exit status.
   Thread safety: one thread at a time. */
#ifndef HZIP_INFLATER_H
#define HZIP_INFLATER_H

#include "hzip.h"

typedef struct _Inflater Inflater;

/* Where the bytes go. @get: returns memory of INFLATER_PART bytes, or NULL,
   which ends the stream; @put: takes the first @bytes, at least 1, of what
   @get returned last. */
typedef struct
{
  guint8 *(*get) (gpointer user_data);
  void (*put) (guint8 *part, gsize bytes, gpointer user_data);
  gpointer user_data;
} InflaterSink;

#define INFLATER_PART ((gsize)256 << 10)

/* @name: of the input, in messages; must outlive the inflater. */
Inflater *inflater_new (const Options *options, const char *name);
void inflater_free (Inflater *inflater);

/* Takes of the next @n bytes of the file, at @in, which move on by what it has
   taken, until it has put one part or there are none left. Returns: TRUE if it
   is to be called again with what remains, which may be no byte, before the
   next bytes of the file. */
gboolean inflater_feed (Inflater *inflater, const guint8 **in, gsize *n,
                        const InflaterSink *sink);

/* The file has ended. */
void inflater_end (Inflater *inflater, const InflaterSink *sink);

/* Returns: TRUE between two members, where whole members may be skipped. */
gboolean inflater_between_members (const Inflater *inflater);

/* Skips the members in @in [@n], whose headers tell their lengths and which
   have been decompressed to @out. */
void inflater_skip (Inflater *inflater, const guint8 *in, gsize n,
                    const guint8 *out);

/* Returns: TRUE if nothing that follows in the file matters. */
gboolean inflater_ended (const Inflater *inflater);

/* Returns: the CRC-32 of the last member. */
guint32 inflater_crc (const Inflater *inflater);

/* Prints the messages, and sets the exit status. Returns: FALSE if the output
   is not valid. As in gzip, some errors abort the program. */
gboolean inflater_tell (const Inflater *inflater, Hzip *hzip);

#endif
