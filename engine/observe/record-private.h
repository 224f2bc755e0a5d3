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

/* Most rows (pulls or parts) and rounds that a record holds before neighbours
   are merged: of all cores together, but at least LEAST for each core; of each
   other device; and of rounds. Guesses: more, and records are large; fewer, and
   a replay knows the costs of units less exactly. */
#define HASS_RECORD_CORE_ROWS 8192
#define HASS_RECORD_LEAST_ROWS 64
#define HASS_RECORD_DEVICE_ROWS 1024
#define HASS_RECORD_ROUNDS 1024
/* The first rows of each list, which are never merged: strategies measure the
   devices with them, and they hold the warm-up. A guess: fewer, and a replay of
   the beginning is less exact; more, and less room is left for other rows. */
#define HASS_RECORD_FIRST_ROWS 32
/* Most units, of all rounds together, whose order and work are kept one by one.
   A guess: more, and records are large; fewer, and later rounds are replayed
   with mean costs. */
#define HASS_RECORD_UNITS 20000

/* A row: pulls of one core, or parts of one device, that were merged. Units are
   counted from the farm's first unit, in order of rounds and, within a round,
   of positions. Times are in ns on the engine's clock. */
typedef struct
{
  guint64 first, last; /* [first, last) holds the units */
  guint64 units;
  guint64 n; /* number of pulls or parts in the row */
  gint64 grant_ns, begin_ns, end_ns;
  double busy_ns;
  /* busy times of a device's stages: see record.c, DESIGN, step 2 */
  double h2d_ns, kernel_ns, d2h_ns;
  double host_ns; /* time for taking the results over */
  double work;
  guint64 elements, in_bytes, out_bytes;
  guint64 round;
  gboolean failed;
} HassRecordRow;

typedef struct
{
  HassRecordRow *rows;
  guint32 n, capacity, most;
  /* the last row takes the next pull in while it holds fewer than this number
     of pulls */
  guint64 together;
  /* When the stages of the device (copy in, kernel, copy out) last ended. */
  gint64 copied_ns, computed_ns, done_ns;
} HassRecordList;

typedef struct
{
  guint64 number, n;   /* n rounds from number on, merged */
  guint64 first, last; /* [first, last) holds the units */
  guint64 units, loads;
  guint64 block;              /* elements of a block; 0: loads are the units */
  guint64 cpu_only, gpu_only; /* units that only the CPU, only GPUs can run */
  gint64 begin_ns, end_ns;
  double work;
  guint order_at, work_at; /* index + 1 in the recorder's lists; 0: not kept */
} HassRecordRound;

typedef struct
{
  guint device;
  gint64 begin_ns, end_ns;
  gboolean ok;
} HassRecordOpening;

/* What a record of a pipeline is made of; record_pipeline.c. */
typedef struct HassPipeRecorder HassPipeRecorder;

typedef struct
{
  char *path;
  HassPipeRecorder *pipe; /* of a pipeline; then only @openings is used, too */
  const HassFarmFacts *farm; /* NULL: the record is not open */
  HassRecordList *lists;     /* [n_workers] */
  guint n_lists;
  GArray *rounds; /* HassRecordRound */
  /* guint32: number of the unit at each position of a round */
  GArray *order;
  GArray *work;     /* double: cost of the unit at each position */
  guint64 together; /* rounds are merged up to so many */
  GArray *openings; /* HassRecordOpening */
} HassRecorder;

/* Returns how long, in ns, a device's stage was busy with a part for which the
   stage lasted from @begin_ns to @end_ns, without the time before its end for
   earlier parts, *@before_ns. Moves *@before_ns to the new end. */
static inline double
hass_record_added_ns (gint64 begin_ns, gint64 end_ns, gint64 *before_ns)
{
  double busy = end_ns - MAX (begin_ns, *before_ns);
  *before_ns = MAX (*before_ns, end_ns);
  return MAX (busy, 0);
}

/* record_file.c */
gboolean hass_recorder_prepare (const char *path, GError **error);
void hass_recorder_sort_rounds (HassRecorder *recorder);
gboolean hass_recorder_write (HassRecorder *recorder, const HassEnded *ended,
                              GError **error);

/* record_pipeline.c */
HassPipeRecorder *hass_pipe_recorder_new (const HassFarmFacts *farm);
void hass_pipe_recorder_free (HassPipeRecorder *pipe);
void hass_pipe_recorder_staged (HassPipeRecorder *pipe, const HassStaged *f);
void hass_pipe_recorder_part (HassPipeRecorder *pipe, const HassPartFact *f);
gboolean hass_pipe_recorder_write (const HassPipeRecorder *pipe,
                                   const char *path, const GArray *openings,
                                   const HassEnded *ended, GError **error);

#endif
