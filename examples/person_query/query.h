/* SPDX-License-Identifier: MIT */
/* query.h: finds the persons of a table that match a condition.
   Thread safety: one query at a time on one thread; farms are not nested. */
#ifndef PERSON_QUERY_H
#define PERSON_QUERY_H

#include <hass/hass.h>

#include "table.h"

G_BEGIN_DECLS

/**
 * PersonFarm: how the table comes to the farm.
 * @PERSON_TABLE: as one large load that is cut into blocks.
 * @PERSON_GROUPS: as groups of rows, one after another, each cut likewise.
 * @PERSON_DEPARTMENTS: as many small loads, which GPUs get in bundles.
 */
typedef enum
{
  PERSON_TABLE,
  PERSON_GROUPS,
  PERSON_DEPARTMENTS
} PersonFarm;

/* Takes row numbers of the table, ascending, also from call to call. Threads
   as for #HassCollectFunc. */
typedef gboolean (*PersonRowsFunc) (const PersonTable *table,
                                    const guint32 *rows, gsize n_rows,
                                    gpointer user_data, GError **error);

/* Maximum bytes of text for a person. */
#define PERSON_LINE_BYTES 128

/* Writes the text of one person at @at, which has room; returns its end. On
   any core, on many at once. */
typedef char *(*PersonLineFunc) (char *at, const Person *person);

/* Takes the lines of persons in order of the table, many at a time. Threads as
   for #HassCollectFunc. */
typedef gboolean (*PersonTextFunc) (const char *text, gsize bytes,
                                    gpointer user_data, GError **error);

/**
 * PersonQuery: a query.
 * @group_persons: rows in a group, at least 1.
 * @take: gets the rows.
 * @line, @take_text: in place of @take: the worker that finds persons formats
 *   their lines, on all cores concurrently, and @take_text gets the text.
 *   Without any of them persons are only counted, and devices return nothing
 *   but counts.
 * @cpu_only, @gpu_only: exclude the other kind of device.
 * @gpu_worker: NULL: the CUDA worker, if it was built.
 */
typedef struct
{
  const PersonTable *table;
  PersonWanted wanted;
  PersonFarm farm;
  gsize group_persons;
  PersonRowsFunc take;
  PersonLineFunc line;
  PersonTextFunc take_text;
  gpointer take_data;
  gboolean cpu_only, gpu_only;
  HassGpuWorkerFunc gpu_worker;
  HassRunOptions run;
} PersonQuery;

/**
 * person_query_run:
 * @n_found: how many were found.
 * @report: (out) (optional): also when the query fails.
 *
 * Returns: FALSE with the farm's error.
 */
gboolean person_query_run (const PersonQuery *query, guint64 *n_found,
                           HassReport **report, GError **error);

/* Returns: expected matches a person, in (0, 1], from a sample of the table;
   rather too high than too low. */
double person_query_selectivity (const PersonTable *table,
                                 const PersonWanted *wanted);

/**
 * person_rows_in_order:
 * @found: [@n_found] different numbers below @count, in any order.
 * @rows: [@n_found]: the same ascending, each added to @first.
 *
 * Returns: FALSE when they are not that; @rows is then undefined.
 */
gboolean person_rows_in_order (const guint32 *found, gsize n_found, gsize count,
                               guint32 first, guint32 *rows);

/* The GPU worker, where nvcc has built it: of each bundle either a guint64
   count of matches in the accumulator, or a guint32 record for each match,
   its number within its block. Constant 0 is the PersonWanted. */
gboolean person_query_gpu_worker (const HassBundle *bundle,
                                  HassGpuStream *stream, gpointer user_data,
                                  GError **error);

/**
 * person_query_reference:
 * @rows: [@n_rows] that a query delivered; NULL: only @n_found is compared.
 *
 * Goes through the table once more, on one core and without the farm.
 * Returns: NULL when all is right; else what is not, to be freed.
 */
char *person_query_reference (const PersonTable *table,
                              const PersonWanted *wanted, const guint32 *rows,
                              gsize n_rows, guint64 n_found);

G_END_DECLS

#endif
