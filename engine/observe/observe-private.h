/* SPDX-License-Identifier: MIT */
/* observe-private.h: makes the listeners for explanation, trace and record, and
   the files that they write.
   Thread safety: see facts.h; a file by one thread at a time. */
#ifndef HASS_OBSERVE_PRIVATE_H
#define HASS_OBSERVE_PRIVATE_H

#include <stdio.h>

#include "observe.h"

/**
 * HassTextFile: a file of text (text_file.c).
 * @what: what it is for. @file: NULL: it is closed.
 * @failure: errno of the first write that failed, or 0.
 */
typedef struct
{
  const char *what;
  char *path;
  FILE *file;
  int failure;
} HassTextFile;

gboolean hass_text_file_open (HassTextFile *f, const char *what,
                              const char *path, const char *mode,
                              GError **error);
void hass_text_file_write (HassTextFile *f, const char *text, gsize bytes);
gboolean hass_text_file_close (HassTextFile *f, GError **error);
/* Returns: TRUE if a farm should append to a file that the environment names:
   an earlier farm of the process began it. @last: interned path of the last
   file of this sort; updated. Any thread. */
gboolean hass_text_file_again (_Atomic (const char *) *last, const char *path);

/* The losses of HassReport, in the order of a farm's life: what tables and JSON
   call them, and where they are (report.c). */
#define HASS_LOSSES 9
typedef struct
{
  const char *name, *member;
  gsize offset;
} HassLossName;
extern const HassLossName hass_loss_names[HASS_LOSSES];

static inline double
hass_report_loss (const HassReport *r, guint i)
{
  return G_STRUCT_MEMBER (double, r, hass_loss_names[i].offset);
}

/* Returns how files name the kind of a device. */
static inline const char *
hass_device_kind_text (HassDeviceKind kind)
{
  return kind == HASS_DEVICE_CPU ? "cpu" : "gpu";
}

/* Returns how files name a kind of farm. */
static inline const char *
hass_farm_kind_text (HassFarmKind kind)
{
  return kind == HASS_FARM_PARTITION     ? "partition"
         : kind == HASS_FARM_COMBINE     ? "combine"
         : kind == HASS_FARM_INDIVISIBLE ? "indivisible"
         : kind == HASS_FARM_FUNCTION    ? "function"
         : kind == HASS_FARM_PIPELINE    ? "pipeline"
                                         : "dataflow";
}

/* explain.c; hass_explain_new() returns NULL with an error if the file cannot
   be written */
extern const HassListenerOps hass_explain_ops;
gpointer hass_explain_new (const char *path, const char *farm, GError **error);

/* trace.c */
extern const HassListenerOps hass_trace_ops;
gpointer hass_trace_new (const char *path, gboolean append);

/* dot_file.c */
extern const HassListenerOps hass_dot_ops;
gpointer hass_dot_file_new (const char *path);

/* record.c */
extern const HassListenerOps hass_record_ops;
gpointer hass_recorder_new (const char *path);

#endif
