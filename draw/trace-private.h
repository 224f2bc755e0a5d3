/* SPDX-License-Identifier: MIT */
/* trace-private.h: the reader of a trace, shared by the files that read it.
   Thread safety: see trace_file.h. */
#ifndef DRAW_TRACE_PRIVATE_H
#define DRAW_TRACE_PRIVATE_H

#include "json_line.h"
#include "trace_file.h"

G_BEGIN_DECLS

typedef struct
{
  DrawTrace *trace; /* the farm being read, or NULL */
  DrawTrace *best;  /* the best candidate of the farms read so far, or NULL */
  guint wanted, n_farms;
  const char *path;
  guint line;
  gint64 begin_ns; /* of the farm */
  JsonObject *object;
  GError **error;
} DrawTraceReader;

/* Sets the error of the reader, with file and line. Returns: FALSE. */
gboolean draw_trace_broken (DrawTraceReader *r, const char *format, ...)
    G_GNUC_PRINTF (2, 3);
/* Each reads a member of the present line, draw_trace_int() and
   draw_trace_string() of @o. Returns: FALSE or NULL if it is not as it must be;
   then the line is broken. */
gboolean draw_trace_int (DrawTraceReader *r, JsonObject *o, const char *name,
                         gint64 least, gint64 most, gint64 *value);
const char *draw_trace_string (DrawTraceReader *r, JsonObject *o,
                               const char *name);
/* A time, relative to the beginning of the farm. */
gboolean draw_trace_time (DrawTraceReader *r, const char *name, gint64 *ns);
/* The index of the device that the member `device` names. */
gboolean draw_trace_device (DrawTraceReader *r, guint *device);

G_END_DECLS

#endif
