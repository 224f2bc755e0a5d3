/* SPDX-License-Identifier: MIT */
/* query.c: the farm of Zhang 2011, section 5.3.

   DESIGN. As in the thesis this is a partition farm: the table is one large
   array of equal records, so blocks are as wide as a device needs. It comes as
   one load, or in groups that a generator reads one after another. A table of
   many small departments of unequal sizes is a combine farm: a department is
   too small for a GPU, a bundle of departments is not.

   A result is the row numbers of the persons found, as the table itself stays
   on the host. The worker that found them may format them as text at once:
   where most persons match, this is most of the work, which the collector would
   do on one core. Each side finds its own rows, a CPU worker in order, a GPU in
   any order, which the host then sorts block by block. The library delivers
   blocks in the order of the table, so the output does not depend on which
   device computed what.

   Thread safety: workers only read what they share. */
#include "query.h"

#include <math.h>

/* NULL in a program that was built without CUDA. */
gboolean person_query_gpu_worker (const HassBundle *bundle,
                                  HassGpuStream *stream, gpointer user_data,
                                  GError **error) __attribute__ ((weak));

/* Rows in one result, and persons that a core scans at a time: they stay in its
   caches. */
#define PIECE 4096
/* Lines in one result, made on the stack. */
#define LINES 128

typedef struct
{
  const PersonQuery *query;
  guint64 n_found; /* the collector's */
} Job;

static guint32
row_of (const Job *job, const HassBlock *block)
{
  return (guint32)((const Person *)(gconstpointer)block->input
                   - job->query->table->persons);
}

/* -- The rows, on cores ------------------------------------------------- */

/* Branchless: a row is written and then kept or not. The cost is the same
   whether one in a million matches or all, and less than the memory needs to
   deliver the next person. */
static gsize
select_rows (const Person *persons, gsize n, const PersonWanted *wanted,
             guint32 first, guint32 *rows)
{
  gsize n_rows = 0;
  for (gsize i = 0; i < n; i++)
    {
      rows[n_rows] = first + (guint32)i;
      n_rows += person_matches (&persons[i], wanted);
    }
  return n_rows;
}

/* Header of a result of text. */
typedef struct
{
  guint64 n_rows;
  char text[LINES * PERSON_LINE_BYTES];
} TextResult;

static gboolean
emit_lines (const PersonQuery *query, HassWorker *worker, const guint32 *rows,
            gsize n_rows)
{
  TextResult result;
  for (gsize at = 0; at < n_rows; at += result.n_rows)
    {
      char *end = result.text;
      result.n_rows = MIN (n_rows - at, LINES);
      for (gsize i = 0; i < result.n_rows; i++)
        end = query->line (end, &query->table->persons[rows[at + i]]);
      if (!hass_worker_result (worker, &result, (gsize)(end - (char *)&result)))
        return FALSE;
    }
  return TRUE;
}

static gboolean
emit (const Job *job, HassWorker *worker, const guint32 *rows, gsize n_rows)
{
  if (job->query->line)
    return emit_lines (job->query, worker, rows, n_rows);
  return n_rows == 0
         || hass_worker_result (worker, rows, n_rows * sizeof *rows);
}

static gboolean
select_work (const HassBlock *block, HassWorker *worker, gpointer user_data,
             GError **error)
{
  const Person *persons = (const Person *)(gconstpointer)block->input;
  const PersonWanted wanted
      = *(const PersonWanted *)hass_worker_constant (worker, 0);
  guint32 row = row_of (user_data, block), rows[PIECE];
  (void)error;
  for (gsize at = 0; at < block->count; at += PIECE)
    {
      gsize n = MIN (block->count - at, PIECE);
      gsize n_rows
          = select_rows (persons + at, n, &wanted, row + (guint32)at, rows);
      if (!emit (user_data, worker, rows, n_rows))
        return FALSE;
    }
  return TRUE;
}

/* -- The rows, from a GPU ----------------------------------------------- */

/* A bit for each person: no sort is faster than that where many match, and
   where few do it is a 256th of the block's bytes. */
gboolean
person_rows_in_order (const guint32 *found, gsize n_found, gsize count,
                      guint32 first, guint32 *rows)
{
  gsize n_words = (count + 63) / 64, n = 0;
  if (n_found > count)
    return FALSE;
  g_autofree guint64 *bits = g_new0 (guint64, n_words);
  for (gsize i = 0; i < n_found; i++)
    {
      if (found[i] >= count)
        return FALSE;
      bits[found[i] / 64] |= G_GUINT64_CONSTANT (1) << found[i] % 64;
    }
  for (gsize w = 0; w < n_words; w++)
    for (guint64 left = bits[w]; left != 0 && n < n_found; left &= left - 1)
      rows[n++] = first + (guint32)(64 * w) + (guint32)__builtin_ctzll (left);
  return n == n_found;
}

static gboolean
gpu_result (const HassBlock *block, gconstpointer records, gsize n_records,
            HassWorker *worker, gpointer user_data, GError **error)
{
  guint32 first = row_of (user_data, block);
  if (n_records == 0)
    return TRUE;
  g_autofree guint32 *rows = g_new (guint32, n_records);
  if (!person_rows_in_order (records, n_records, block->count, first, rows))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE,
                   "the %zu rows that a GPU found among %zu from row %u on "
                   "are not different rows of those",
                   n_records, block->count, first);
      return FALSE;
    }
  for (gsize at = 0; at < n_records; at += PIECE)
    if (!emit (user_data, worker, rows + at, MIN (n_records - at, PIECE)))
      return FALSE;
  return TRUE;
}

/* -- Counting ----------------------------------------------------------- */

static gboolean
count_work (const HassBlock *block, HassWorker *worker, gpointer user_data,
            GError **error)
{
  const Person *persons = (const Person *)(gconstpointer)block->input;
  const PersonWanted wanted
      = *(const PersonWanted *)hass_worker_constant (worker, 0);
  guint64 n = 0;
  (void)user_data, (void)error;
  for (gsize i = 0; i < block->count; i++)
    n += person_matches (&persons[i], &wanted);
  *(guint64 *)hass_worker_accumulator (worker) += n;
  return TRUE;
}

static void
add (gpointer accumulator, gconstpointer part, gpointer user_data)
{
  (void)user_data;
  *(guint64 *)accumulator += *(const guint64 *)part;
}

/* -- The table as loads ------------------------------------------------- */

static HassLoad
load_of (const PersonTable *table, gsize first, gsize n)
{
  return (HassLoad){ .input = table->persons + first,
                     .input_bytes = n * sizeof (Person),
                     .size = n };
}

/* Emits group after group and prefetches each from the disk. */
static gboolean
generate_groups (HassEmitter *emitter, gpointer user_data, GError **error)
{
  const PersonQuery *query = ((const Job *)user_data)->query;
  gsize n_persons = query->table->n_persons, n;
  (void)error;
  for (gsize first = 0; first < n_persons; first += n)
    {
      n = MIN (n_persons - first, query->group_persons);
      HassLoad load = load_of (query->table, first, n);
      person_table_prefetch (query->table, first, n);
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  return TRUE;
}

static gboolean
generate_departments (HassEmitter *emitter, gpointer user_data, GError **error)
{
  const PersonTable *table = ((const Job *)user_data)->query->table;
  gsize end;
  (void)error;
  for (gsize first = 0; first < table->n_persons; first = end)
    {
      end = person_table_department_end (table, first);
      HassLoad load = load_of (table, first, end - first);
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
    }
  return TRUE;
}

/* -- The farm ----------------------------------------------------------- */

static gboolean
collect (const HassResult *result, gpointer user_data, GError **error)
{
  Job *job = user_data;
  gsize n_rows = result->bytes / sizeof (guint32);
  job->n_found += n_rows;
  return job->query->take (job->query->table, result->data, n_rows,
                           job->query->take_data, error);
}

static gboolean
collect_text (const HassResult *result, gpointer user_data, GError **error)
{
  const TextResult *text = result->data;
  Job *job = user_data;
  job->n_found += text->n_rows;
  return job->query->take_text (
      text->text, result->bytes - G_STRUCT_OFFSET (TextResult, text),
      job->query->take_data, error);
}

double
person_query_selectivity (const PersonTable *table, const PersonWanted *wanted)
{
  gsize n = MIN (table->n_persons, 1024), matches = 0;
  if (n == 0)
    return 1;
  for (gsize i = 0; i < n; i++)
    matches += person_matches (
        &table->persons[(guint64)i * table->n_persons / n], wanted);
  /* Three standard deviations more, and one for unseen matches. */
  double most = (double)matches + 3 * sqrt ((double)matches) + 1;
  return MIN (most / (double)n, 1);
}

gboolean
person_query_run (const PersonQuery *query, guint64 *n_found,
                  HassReport **report, GError **error)
{
  const PersonTable *table = query->table;
  Job job = { .query = query };
  gboolean wants_rows = query->take || query->line;
  HassConstant wanted = { &query->wanted, sizeof query->wanted };
  HassLoad all = load_of (table, 0, table->n_persons);
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "person_query";
  farm.user_data = &job;
  farm.element_threads = 1;
  farm.constants = &wanted;
  farm.n_constants = 1;
  farm.run = query->run;
  if (!query->gpu_only)
    farm.cpu_worker = wants_rows ? select_work : count_work;
  if (!query->cpu_only)
    farm.gpu_worker
        = query->gpu_worker ? query->gpu_worker : person_query_gpu_worker;
  if (wants_rows)
    {
      farm.collect = query->line ? collect_text : collect;
      farm.order = HASS_RESULTS_ORDERED;
      farm.gpu_result = gpu_result;
      farm.gpu_record_bytes = sizeof (guint32);
      farm.gpu_records_per_element
          = person_query_selectivity (table, &query->wanted);
    }
  else
    {
      farm.reduce = add;
      farm.accumulator = &job.n_found;
      farm.accumulator_bytes = sizeof job.n_found;
    }
  /* The table is in memory already: waiting loads do not take its size. */
  farm.pool_bytes = MAX (all.input_bytes, 1);
  farm.loads = &all;
  farm.n_loads = query->farm == PERSON_TABLE && table->n_persons > 0;
  farm.generate = query->farm == PERSON_GROUPS        ? generate_groups
                  : query->farm == PERSON_DEPARTMENTS ? generate_departments
                                                      : NULL;
  farm.cost
      = query->farm == PERSON_DEPARTMENTS ? HASS_COST_SIZED : HASS_COST_EQUAL;
  gboolean ok = query->farm == PERSON_DEPARTMENTS
                    ? hass_data_farm_combine (&farm, report, error)
                    : hass_data_farm_partition (&farm, report, error);
  *n_found = job.n_found;
  return ok;
}
