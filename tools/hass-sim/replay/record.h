/* SPDX-License-Identifier: MIT */
/* record.h: a record file (doc/record-format.md) in memory.

   DESIGN. One structure a farm, as in the file but with times in doubles; fit.c
   interprets it. Every line is checked: an error names file and line.

   Thread safety: constant after reading. */
#ifndef HASS_SIM_RECORD_H
#define HASS_SIM_RECORD_H

#include "engine/core/farm.h"
#include "hass/strategy.h"

/* A pull of a core, a part of a grant on a device, or several merged. */
typedef struct
{
  guint who; /* core or device */
  guint64 first, span, units, n;
  double grant, begin, end, busy;
  double h2d, kernel, d2h, host;
  double work;
  guint64 elements, in_bytes, out_bytes;
  gboolean ok;
} RecordRow;

typedef struct
{
  guint64 number, n, first, span, units, loads, block;
  guint64 cpu_only, gpu_only; /* units at the begin, at the end */
  double begin, end, work;
} RecordRound;

/* Order and work of the units of a round, by position; either may be NULL. */
typedef struct
{
  guint64 first, n;
  guint32 *order; /* [n] */
  double *work;   /* [n] */
} RecordUnits;

typedef struct
{
  guint device;
  double begin, end;
  gboolean ok;
} RecordOpening;

typedef struct
{
  char *path;
  guint line; /* of the header */
  char *farm, *platform, *strategy, *date, *host;
  HassFarmKind kind;
  HassCostClass cost;
  gboolean live;
  guint64 seed, round_loads, element_threads, gpu_multiple;
  guint64 constant_bytes;
  guint n_devices;
  HassDeviceTraits *devices; /* [n_devices] */
  HassProfileRate *known;    /* [n_devices]; runs 0: nothing was known */
  guint64 *copied;           /* [n_devices * 3]: direct, registered, staged */
  GPtrArray *strings;        /* owned names and models */
  GArray *rounds;            /* RecordRound, ascending */
  GArray *units;             /* RecordUnits */
  GArray *openings;          /* RecordOpening */
  GArray *pulls, *parts;     /* RecordRow, each one's in order of time */
  gboolean failed;           /* the farm failed: rounds may be missing */
  double makespan;
  guint64 n_units;
} RecordFarm;

GPtrArray *record_read (const char *path, GError **error);

#endif
