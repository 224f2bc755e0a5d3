/* SPDX-License-Identifier: MIT */
/* y4m.h: reads YUV4MPEG2, uncompressed video: a line of parameters, then for
   each frame a line and the samples of its planes.
   Thread safety: a stream is used by one thread at a time. */
#ifndef Y4M_H
#define Y4M_H

#include <glib.h>
#include <stdio.h>

#include "nlm.h"

/* Longest line, and largest width and height in samples. */
#define Y4M_MAX_LINE 4096
#define Y4M_MAX_SIZE 32768

/**
 * Y4mFormat: what the first line of a stream says.
 * @header: that line without its end; free with y4m_format_clear().
 * @planes: [@n_planes], Y, Cb, Cr; sizes of subsampled planes are rounded up.
 * @frame_bytes: size of the samples of a frame.
 */
typedef struct
{
  char *header;
  int n_planes;
  NlmSize planes[NLM_MAX_PLANES];
  gsize frame_bytes;
} Y4mFormat;

/* Reads and checks the first line. FALSE with HASS_ERROR_IO if it is
   malformed, not supported or cannot be read. */
gboolean y4m_read_format (FILE *in, Y4mFormat *format, GError **error);
void y4m_format_clear (Y4mFormat *format);

/* Returns: how many frames follow in a regular file, or, if their lines have
   parameters, a few more than that; 0: unknown, @in is no regular file. */
guint64 y4m_frames_left (FILE *in, const Y4mFormat *format);

/**
 * y4m_read_frame_line:
 * @frame: number of the frame, for messages.
 * @parameters: (out): what follows FRAME, with its leading space; free with
 *   g_free(); NULL if nothing follows, and at the end of the stream.
 * @end: (out): the stream ends here.
 *
 * Returns: FALSE with an error as y4m_read_format().
 */
gboolean y4m_read_frame_line (FILE *in, guint64 frame, char **parameters,
                              gboolean *end, GError **error);

/* Reads the samples of a frame, [@bytes]. FALSE with HASS_ERROR_IO if the
   stream ends before. */
gboolean y4m_read_samples (FILE *in, guint64 frame, guint8 *samples,
                           gsize bytes, GError **error);

/* Writes a line, and flushes nothing. FALSE with HASS_ERROR_IO. */
gboolean y4m_write_line (FILE *out, const char *line, const char *parameters,
                         GError **error);

/* Writes a frame and hands it to the operating system. FALSE with
   HASS_ERROR_IO. */
gboolean y4m_write_frame (FILE *out, guint64 frame, const char *parameters,
                          const guint8 *samples, gsize bytes, GError **error);

#endif
