/* SPDX-License-Identifier: MIT */
/* record-private.h: what every unit of a farm cost on the device that computed
   it, for replaying the farm; doc/record-format.md.

   DESIGN. Each worker context has its own list of rows. A row is a pull of a
   core or a part that a device has computed. In a full list neighbouring rows
   are merged, so that memory and file are bounded for farms of any length. The
   file is written when the farm has ended.

   Thread safety: a worker's rows by the thread that works for it, rounds and
   openings under the decision lock, open and close by the thread that called
   the farm. */
#ifndef HASS_RECORD_PRIVATE_H
#define HASS_RECORD_PRIVATE_H

#include "observe-private.h"

/* Rows of all cores together, of one device, and rounds that a record holds
   before neighbours are put together. */
#define HASS_RECORD_CORE_ROWS 8192
#define HASS_RECORD_LEAST_ROWS 64
#define HASS_RECORD_DEVICE_ROWS 1024
#define HASS_RECORD_ROUNDS 1024
/* The first rows of each list are not merged: strategies measure with them, and
   they hold the warm-up. */
#define HASS_RECORD_FIRST_ROWS 32
/* Units whose order and work are kept one by one, of all rounds. */
#define HASS_RECORD_UNITS 20000

/* Units are counted from the farm's first, in order of rounds and, within a
   round, of positions. Times are the engine's. */
typedef struct
{
  guint64 first, last; /* [first, last) holds the units */
  guint64 units;
  guint64 n; /* pulls or parts */
  gint64 grant_ns, begin_ns, end_ns;
  double busy_ns;
  double h2d_ns, kernel_ns, d2h_ns; /* a device's: see record.c, 2. */
  double host_ns;                   /* results taken over */
  double work;
  guint64 elements, in_bytes, out_bytes;
  guint64 round;
  gboolean failed;
} HassRecordRow;

typedef struct
{
  HassRecordRow *rows;
  guint32 n, capacity, most;
  guint64 together; /* a row of fewer takes the next pull in */
  /* A device's: when its stages were last free. */
  gint64 copied_ns, computed_ns, done_ns;
} HassRecordList;

typedef struct
{
  guint64 number, n;   /* rounds from number on */
  guint64 first, last; /* [first, last) holds the units */
  guint64 units, loads;
  guint64 block;              /* elements of a block; 0: loads are the units */
  guint64 cpu_only, gpu_only; /* units at the begin, at the end */
  gint64 begin_ns, end_ns;
  double work;
  guint order_at, work_at; /* in the recorder's lists, from 1; 0: not kept */
} HassRecordRound;

typedef struct
{
  guint device;
  gint64 begin_ns, end_ns;
  gboolean ok;
} HassRecordOpening;

typedef struct
{
  char *path;
  const HassFarmFacts *farm; /* NULL: not open */
  HassRecordList *lists;     /* [n_workers] */
  guint n_lists;
  GArray *rounds;   /* HassRecordRound */
  GArray *order;    /* guint32: units by position */
  GArray *work;     /* double: by position */
  guint64 together; /* a round of fewer takes the next one in */
  GArray *openings; /* HassRecordOpening */
} HassRecorder;

/* record_file.c */
gboolean hass_recorder_prepare (const char *path, GError **error);
gboolean hass_recorder_write (const HassRecorder *recorder,
                              const HassEnded *ended, GError **error);

#endif
