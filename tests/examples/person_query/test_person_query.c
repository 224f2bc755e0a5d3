/* SPDX-License-Identifier: MIT */
/* test_person_query.c: the rows of a query are those of a plain loop, in
   order, however the table is divided, whichever devices compute and
   whichever are lost.
   Thread safety: one thread. */
#include "hass_test.h"

#include <stdio.h>
#include <string.h>

#include "device/cuda/gpus-private.h"
#include "person_query/calendar.h"
#include "person_trial.h"
#include "tests/engine/stand_in.h"
#include "tests/trials.h"

gboolean person_query_gpu_worker (const HassBundle *bundle,
                                  HassGpuStream *stream, gpointer user_data,
                                  GError **error) __attribute__ ((weak));

#define THESIS HASS_TOP "/doc/platforms/thesis.platform"

/* -- Queries ------------------------------------------------------------ */

/* Of every width, from nobody to everybody. */
static PersonWanted
random_wanted (GRand *rand)
{
  PersonWanted wanted = PERSON_WANT_ALL;
  gint32 from = day_of (1929, 1, 1), to = day_of (2011, 1, 1);
  gint32 width = 1 << g_rand_int_range (rand, 0, 16);
  if (g_rand_boolean (rand))
    wanted.born_from = g_rand_int_range (rand, from, to);
  if (g_rand_boolean (rand))
    wanted.born_to
        = wanted.born_from > G_MININT32 ? wanted.born_from + width : to - width;
  if (g_rand_boolean (rand))
    wanted.salary_min = g_rand_int_range (rand, 0, 21000);
  if (g_rand_boolean (rand))
    wanted.salary_max = wanted.salary_min > G_MININT32
                            ? wanted.salary_min + width / 4
                            : g_rand_int_range (rand, 0, 21000);
  return wanted;
}

static HassFarmKind
kind_of (PersonFarm farm)
{
  return farm == PERSON_DEPARTMENTS ? HASS_FARM_COMBINE : HASS_FARM_PARTITION;
}

static void
random_queries (void)
{
  static const gsize sizes[] = { 1, 2, 63, 64, 65, 4096, 4097, 50001, 150000 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (53);
  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr (PersonTable) table
          = person_table_generate (sizes[i], i, 0, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (table);
      for (guint k = 0; k < TRIALS (24, 24, 6); k++)
        {
          PersonQuery query
              = { .table = table,
                  .wanted = random_wanted (rand),
                  .farm = (PersonFarm)(k % 3),
                  .group_persons = (gsize)g_rand_int_range (rand, 1000, 30000),
                  .run = { .n_cores = (guint)g_rand_int_range (rand, 1, 6) } };
          expect_right_query (&query);
        }
    }
}

static void
every_strategy (void)
{
  g_autoptr (PersonTable) table = person_table_generate (20000, 7, 0, NULL);
  g_autofree const HassStrategyOps **all = hass_strategy_list ();
  guint n_run = 0;
  CU_ASSERT_PTR_NOT_NULL_FATAL (table);
  for (gsize i = 0; all[i]; i++)
    for (int farm = PERSON_TABLE; farm <= PERSON_DEPARTMENTS; farm++)
      for (int modelled = 0; modelled < 2; modelled++)
        {
          /* There may be no GPU here. */
          if (!(all[i]->farms & kind_of ((PersonFarm)farm))
              || (!modelled && strcmp (all[i]->name, "gpu-only") == 0))
            continue;
          PersonQuery query = { .table = table,
                                .wanted = PERSON_WANT_ALL,
                                .farm = (PersonFarm)farm,
                                .group_persons = 6000,
                                .run = { .strategy = all[i]->name,
                                         .platform = modelled ? THESIS : NULL,
                                         .n_cores = 3 } };
          query.wanted.salary_max = 1500;
          expect_right_query (&query);
          n_run++;
        }
  CU_ASSERT_TRUE (n_run >= 12);
}

static void
extremes (void)
{
  g_autoptr (PersonTable) table = person_table_generate (70000, 1, 0, NULL);
  g_autoptr (PersonTable) empty = person_table_generate (0, 1, 0, NULL);
  CU_ASSERT_FATAL (table && empty);
  for (int farm = PERSON_TABLE; farm <= PERSON_DEPARTMENTS; farm++)
    {
      PersonQuery query = { .table = table,
                            .wanted = PERSON_WANT_ALL,
                            .farm = (PersonFarm)farm,
                            .group_persons = 1 };
      if (farm == PERSON_GROUPS)
        query.group_persons = G_MAXSIZE / 2;
      expect_right_query (&query);
      query.wanted.salary_max = 399;
      expect_right_query (&query);
      query.wanted = (PersonWanted){ 5, 4, 0, 100000 };
      expect_right_query (&query);
      query.table = empty;
      expect_right_query (&query);
    }
}

/* Rows found among these birthdays, as letters. */
static void
found_by_born (const char *text, const char *wanted)
{
  static const gint32 salaries[] = { 0, G_MININT32, G_MAXINT32 };
  gint32 days[] = { day_of (1900, 2, 28),
                    day_of (1900, 3, 1),
                    day_of (1999, 12, 31),
                    day_of (2000, 1, 1),
                    day_of (2000, 2, 28),
                    day_of (2000, 2, 29),
                    day_of (2000, 3, 1),
                    day_of (2004, 2, 29),
                    G_MININT32,
                    G_MAXINT32 };
  Person persons[G_N_ELEMENTS (days)];
  PersonTable table = { .persons = persons, .n_persons = G_N_ELEMENTS (days) };
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GString) letters = g_string_new (NULL);
  PersonQuery query = { .table = &table,
                        .wanted = PERSON_WANT_ALL,
                        .take = keep_rows,
                        .take_data = rows };
  guint64 n_found;
  for (gsize i = 0; i < G_N_ELEMENTS (days); i++)
    persons[i] = (Person){ .birthday = days[i],
                           .salary = salaries[i % G_N_ELEMENTS (salaries)] };
  CU_ASSERT_TRUE (person_parse_born (text, &query.wanted.born_from,
                                     &query.wanted.born_to, NULL));
  CU_ASSERT_TRUE (person_query_run (&query, &n_found, NULL, NULL));
  for (guint i = 0; i < rows->len; i++)
    g_string_append_c (letters, (char)('a' + g_array_index (rows, guint32, i)));
  CU_ASSERT_STRING_EQUAL (letters->str, wanted);
  CU_ASSERT_EQUAL (n_found, rows->len);
}

static void
boundaries (void)
{
  found_by_born ("..", "abcdefghij");
  found_by_born ("1900-02..1900-02", "a");
  found_by_born ("1900-03-01..1999-12-31", "bc");
  found_by_born ("2000-02-29..2000-02-29", "f");
  found_by_born ("2000-02-28..2000-03-01", "efg");
  found_by_born ("..1900-02-28", "ai");
  found_by_born ("2004-02-29..", "hj");
  found_by_born ("2000..2000", "defg");
  found_by_born ("2001..2003", "");
}

static gboolean
refuse_rows (const PersonTable *table, const guint32 *rows, gsize n_rows,
             gpointer data, GError **error)
{
  (void)table, (void)rows, (void)n_rows, (void)data;
  g_set_error_literal (error, HASS_ERROR, HASS_ERROR_IO, "the disk is full");
  return FALSE;
}

static void
failing_taker (void)
{
  g_autoptr (PersonTable) table = person_table_generate (50000, 1, 0, NULL);
  g_autoptr (GError) error = NULL;
  PersonQuery query
      = { .table = table, .wanted = PERSON_WANT_ALL, .take = refuse_rows };
  guint64 n_found;
  CU_ASSERT_FALSE (person_query_run (&query, &n_found, NULL, &error));
  CU_ASSERT_TRUE (error && strstr (error->message, "the disk is full"));
}

/* -- GPUs --------------------------------------------------------------- */

/* The records of a block, shuffled, and the rows that come of them. */
static void
shuffled (GRand *rand, gsize count, guint one_in)
{
  g_autofree guint32 *wanted = g_new (guint32, count + 1);
  g_autofree guint32 *found = g_new (guint32, count + 1);
  g_autofree guint32 *rows = g_new (guint32, count + 1);
  const guint32 first = 4000000000u;
  gsize n = 0;
  for (guint32 i = 0; i < count; i++)
    if (g_rand_int_range (rand, 0, (gint32)one_in) == 0)
      {
        wanted[n] = first + i;
        found[n++] = i;
      }
  for (gsize i = n; i > 1; i--)
    {
      gsize k = (gsize)g_rand_int_range (rand, 0, (gint32)i);
      guint32 swap = found[k];
      found[k] = found[i - 1];
      found[i - 1] = swap;
    }
  CU_ASSERT_TRUE (person_rows_in_order (found, n, count, first, rows));
  CU_ASSERT_EQUAL (memcmp (rows, wanted, n * sizeof *rows), 0);
  if (n < 2)
    return;
  guint32 last = found[n - 1];
  found[n - 1] = found[0]; /* twice */
  CU_ASSERT_FALSE (person_rows_in_order (found, n, count, first, rows));
  found[n - 1] = (guint32)count; /* not of the block */
  CU_ASSERT_FALSE (person_rows_in_order (found, n, count, first, rows));
  found[n - 1] = G_MAXUINT32;
  CU_ASSERT_FALSE (person_rows_in_order (found, n, count, first, rows));
  found[n - 1] = last;
  CU_ASSERT_FALSE (person_rows_in_order (found, n, n - 1, first, rows));
}

static void
gpu_rows (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  static const gsize counts[] = { 0, 1, 2, 63, 64, 65, 128, 1000, 100000 };
  for (gsize i = 0; i < G_N_ELEMENTS (counts); i++)
    for (guint one_in = 1; one_in < 1000; one_in *= 6)
      shuffled (rand, counts[i], one_in);
}

static gboolean
enqueue_nothing (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
                 GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

static void
lost_devices (void)
{
  g_autoptr (PersonTable) table = person_table_generate (120000, 5, 0, NULL);
  StandInPlan plans[] = { { .depth = 2, .fail_bundle_every = 1 },
                          { .name = "gpu1", .depth = 1, .lose_at = 1 } };
  HassDevice *devices[]
      = { stand_in_new (&plans[0]), stand_in_new (&plans[1]) };
  for (int farm = PERSON_TABLE; farm <= PERSON_DEPARTMENTS; farm++)
    {
      PersonQuery query = { .table = table,
                            .wanted = PERSON_WANT_ALL,
                            .farm = (PersonFarm)farm,
                            .group_persons = 50000,
                            .gpu_worker = enqueue_nothing,
                            .run = { .n_cores = 2,
                                     .devices = devices,
                                     .n_devices = G_N_ELEMENTS (devices) } };
      query.wanted.salary_min = 1001;
      expect_right_query (&query);
    }
  for (guint i = 0; i < G_N_ELEMENTS (devices); i++)
    {
      StandInCounts counts = stand_in_counts (devices[i]);
      CU_ASSERT_TRUE (counts.submitted > 0);
      CU_ASSERT_EQUAL (counts.finished, 0);
      CU_ASSERT_PTR_NULL (counts.wrong);
      stand_in_free (devices[i]);
    }
}

static void
selectivity (void)
{
  g_autoptr (PersonTable) table = person_table_generate (200000, 2, 0, NULL);
  g_autoptr (PersonTable) few = person_table_generate (3, 2, 0, NULL);
  PersonWanted wanted = PERSON_WANT_ALL;
  CU_ASSERT_EQUAL (person_query_selectivity (table, &wanted), 1);
  CU_ASSERT_EQUAL (person_query_selectivity (few, &wanted), 1);
  wanted.born_from = day_of (1970, 1, 1);
  double half = person_query_selectivity (table, &wanted);
  CU_ASSERT_TRUE (half > 0.5 && half < 0.65);
  wanted.salary_min = 1000000;
  double none = person_query_selectivity (table, &wanted);
  CU_ASSERT_TRUE (none > 0 && none < 0.002);
}

/* Alone and together with the cores; from nobody to everybody, so that
   records also are more than were expected. */
static void
real_gpus (void)
{
  if (!person_query_gpu_worker || hass_gpus_count () == 0)
    {
      hass_test_skip (person_query_gpu_worker ? "no GPU"
                                              : "built without nvcc");
      return;
    }
  gsize sizes[] = { 1, 65, 70001, 3000000 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);
  if (g_getenv ("TEST_GPU_SMALL"))
    sizes[3] = 200000;
  for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      g_autoptr (PersonTable) table
          = person_table_generate (sizes[i], i, 0, NULL);
      CU_ASSERT_PTR_NOT_NULL_FATAL (table);
      for (guint k = 0; k < 18; k++)
        {
          PersonQuery query = { .table = table,
                                .wanted = random_wanted (rand),
                                .farm = (PersonFarm)(k % 3),
                                .group_persons = 1000000,
                                .gpu_only = k % 2 == 0 };
          if (k < 6)
            query.wanted = (PersonWanted)PERSON_WANT_ALL;
          expect_right_query (&query);
        }
      /* Its first part alone matches, of which the sample says nothing. */
      PersonQuery first
          = { .table = table, .wanted = PERSON_WANT_ALL, .gpu_only = TRUE };
      Person *persons = (Person *)(gpointer)table->persons;
      for (gsize k = 0; k < sizes[i]; k++)
        persons[k].salary = k < sizes[i] / 50 ? 1 : 2;
      first.wanted.salary_max = 1;
      expect_right_query (&first);
    }
}

static void
judges (const guint32 *rows, gsize n_rows, guint64 n_found, const char *wanted)
{
  g_autoptr (PersonTable) table = person_table_generate (4, 1, 0, NULL);
  PersonWanted all = PERSON_WANT_ALL;
  g_autofree char *wrong
      = person_query_reference (table, &all, rows, n_rows, n_found);
  CU_ASSERT_EQUAL (g_strcmp0 (wrong, wanted), 0);
}

/* A reference that cannot say no proves nothing. */
static void
reference (void)
{
  static const guint32 right[] = { 0, 1, 2, 3, 4 }, order[] = { 0, 2, 1, 3 },
                       lacks[] = { 1, 2, 3, 3 }, twice[] = { 0, 0, 1, 2 };
  judges (right, 4, 4, NULL);
  judges (right, 3, 3,
          "row 3 is wanted, but was not delivered after the last of 3");
  judges (right, 5, 5, "result 4 is row 4, but no more are wanted");
  judges (order, 4, 4, "result 1 is row 2, not row 1");
  judges (lacks, 4, 4, "result 0 is row 1, not row 0");
  judges (twice, 4, 4, "result 1 is row 0, not row 1");
  judges (right, 4, 5, "5 found, not 4");
  judges (NULL, 0, 5, "5 found, not 4");
  judges (NULL, 0, 4, NULL);
}

HASS_TEST_SUITE (
    person_query, { "the reference finds what is wrong", reference },
    { "random queries are right, however the table comes", random_queries },
    { "every strategy is right, live and modelled", every_strategy },
    { "nobody, everybody, an empty table", extremes },
    { "leap days and ends of ranges", boundaries },
    { "a taker that fails ends the query", failing_taker },
    { "a GPU's rows are put in order, wrong ones refused", gpu_rows },
    { "devices that are lost lose no row", lost_devices },
    { "the selectivity is guessed, rather too high", selectivity })

HASS_TEST_SUITE (gpu_person_query,
                 { "GPUs find the same, alone and with the cores", real_gpus })
