/* SPDX-License-Identifier: MIT */
/* test_person_query.c: the rows of a query are those of a plain loop, in
   order, whatever way the table comes, whoever computes and whatever device
   is lost on the way; dates and table files are what they should be.
   Thread safety: single-threaded. */
#include "hass_test.h"
#include "program.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cuda/gpus-private.h"
#include "person_query/calendar.h"
#include "person_query/print.h"
#include "person_query/query.h"
#include "tests/engine/stand_in.h"
#include "tests/engine/trial.h"

gboolean person_query_gpu_worker (const HassBundle *bundle,
                                  HassGpuStream *stream, gpointer user_data,
                                  GError **error) __attribute__ ((weak));

#define THESIS HASS_TOP "/doc/platforms/thesis.platform"

/* -- Dates -------------------------------------------------------------- */

static void
calendar (void)
{
  g_autoptr (GDate) date = g_date_new_dmy (1, 1, 1);
  g_autoptr (GDate) epoch = g_date_new_dmy (1, 1, 1970);
  gint32 days = -(gint32)(g_date_get_julian (epoch) - 1);
  guint n_wrong = 0;
  for (; g_date_get_year (date) <= 9999; g_date_add_days (date, 1), days++)
    {
      gint64 year;
      guint month, day;
      person_days_to_date (days, &year, &month, &day);
      n_wrong += year != g_date_get_year (date)
                 || month != g_date_get_month (date)
                 || day != g_date_get_day (date)
                 || person_date_to_days (year, month, day) != days;
    }
  CU_ASSERT_EQUAL (n_wrong, 0);
  for (gint32 far = G_MININT32; far < G_MAXINT32 - 99999999; far += 99999999)
    {
      gint64 year;
      guint month, day;
      person_days_to_date (far, &year, &month, &day);
      CU_ASSERT_EQUAL (person_date_to_days (year, month, day), far);
    }
}

static gint32
day_of (guint year, guint month, guint day)
{
  g_autoptr (GDate) date
      = g_date_new_dmy ((GDateDay)day, (GDateMonth)month, (GDateYear)year);
  g_autoptr (GDate) epoch = g_date_new_dmy (1, 1, 1970);
  return g_date_days_between (epoch, date);
}

static void
born (const char *text, gint32 from, gint32 to)
{
  gint32 a = 1, b = 1;
  CU_ASSERT_TRUE (person_parse_born (text, &a, &b, NULL));
  CU_ASSERT_EQUAL (a, from);
  CU_ASSERT_EQUAL (b, to);
}

static void
born_ranges (void)
{
  born ("..", G_MININT32, G_MAXINT32);
  born ("1966..", day_of (1966, 1, 1), G_MAXINT32);
  born ("..1965", G_MININT32, day_of (1965, 12, 31));
  born ("2000-02..2000-02", day_of (2000, 2, 1), day_of (2000, 2, 29));
  born ("1900-02..1900-02", day_of (1900, 2, 1), day_of (1900, 2, 28));
  born ("1968-12..1970-12", day_of (1968, 12, 1), day_of (1970, 12, 31));
  born ("2004-02-29..2004-02-29", day_of (2004, 2, 29), day_of (2004, 2, 29));
  born ("0001..9999-12-31", day_of (1, 1, 1), day_of (9999, 12, 31));
}

static void
refused_ranges (void)
{
  static const char *const dates[] = {
    "",          "1966",       "1966.1967",     "2001-02-29..", "1900-02-29..",
    "..1999-13", "..1999-00",  "..1999-01-00",  "..1999-01-32", "0000..",
    "12345..",   "1999-1..",   "..1999-01-01x", "1990-..",      "1990-01-..",
    "-990..",    "1990..1989", "1990..1991..",  " 1990..",      "19 0.."
  };
  static const char *const salaries[]
      = { "", "5", "5..4", "x..", "..1e3", "2147483648..", "..5 ", "1..2..3" };
  for (gsize i = 0; i < G_N_ELEMENTS (dates) + G_N_ELEMENTS (salaries); i++)
    {
      g_autoptr (GError) error = NULL;
      gint32 a = 7, b = 8;
      gboolean is_date = i < G_N_ELEMENTS (dates);
      const char *text
          = is_date ? dates[i] : salaries[i - G_N_ELEMENTS (dates)];
      gboolean ok = is_date ? person_parse_born (text, &a, &b, &error)
                            : person_parse_salary (text, &a, &b, &error);
      if (ok)
        printf ("\n    '%s' was taken", text);
      CU_ASSERT_FALSE (ok);
      CU_ASSERT_TRUE (a == 7 && b == 8);
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
    }
  gint32 a, b;
  CU_ASSERT_TRUE (person_parse_salary ("-5..2147483647", &a, &b, NULL));
  CU_ASSERT_TRUE (a == -5 && b == G_MAXINT32);
}

/* -- Queries ------------------------------------------------------------ */

static gboolean
keep (const PersonTable *table, const guint32 *rows, gsize n_rows,
      gpointer data, GError **error)
{
  (void)table, (void)error;
  g_array_append_vals (data, rows, (guint)n_rows);
  return TRUE;
}

static void
append_line (GString *text, const Person *person)
{
  char line[PERSON_LINE_BYTES];
  g_string_append_len (text, line, person_put_line (line, person) - line);
}

static gboolean
keep_text (const char *text, gsize bytes, gpointer data, GError **error)
{
  (void)error;
  g_string_append_len (data, text, (gssize)bytes);
  return TRUE;
}

/* Runs the query for lines; NULL: they are those of the rows. */
static char *
try_lines (PersonQuery query, const GArray *rows)
{
  g_autoptr (GString) wanted = g_string_new (NULL);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  guint64 n_found = 0;
  query.take = NULL;
  query.line = person_put_line;
  query.take_text = keep_text;
  query.take_data = text;
  if (!person_query_run (&query, &n_found, NULL, &error))
    return g_strdup (error->message);
  for (guint i = 0; i < rows->len; i++)
    append_line (wanted,
                 &query.table->persons[g_array_index (rows, guint32, i)]);
  if (n_found != rows->len || !g_string_equal (text, wanted))
    return g_strdup_printf ("%zu bytes of %zu lines are not the %zu of %u rows",
                            text->len, (gsize)n_found, wanted->len, rows->len);
  return NULL;
}

/* Runs the query for rows, for lines and for a count; NULL: all right. */
static char *
try_query (const PersonQuery *what)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autoptr (GError) error = NULL;
  PersonQuery query = *what;
  guint64 n_found = 0;
  char *wrong = NULL;
  watchdog (60, "person_query");
  g_array_set_size (rows, 1); /* so that there is an array */
  g_array_set_size (rows, 0);
  query.take = keep;
  query.take_data = rows;
  if (!person_query_run (&query, &n_found, NULL, &error))
    wrong = g_strdup (error->message);
  else
    wrong = person_query_reference (query.table, &query.wanted,
                                    (const guint32 *)(gpointer)rows->data,
                                    rows->len, n_found);
  if (!wrong)
    wrong = try_lines (query, rows);
  query.take = NULL;
  if (!wrong && !person_query_run (&query, &n_found, NULL, &error))
    wrong = g_strdup (error->message);
  if (!wrong)
    wrong
        = person_query_reference (query.table, &query.wanted, NULL, 0, n_found);
  watchdog (0, NULL);
  return wrong;
}

static void
expect_right (const PersonQuery *query)
{
  g_autofree char *wrong = try_query (query);
  if (!wrong)
    return;
  printf ("\n    farm %d, strategy %s, %u cores, %zu persons: %s", query->farm,
          query->run.strategy ? query->run.strategy : "default",
          query->run.n_cores, query->table->n_persons, wrong);
  CU_FAIL ("the rows are wrong");
}

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
      for (guint k = 0; k < 24; k++)
        {
          PersonQuery query
              = { .table = table,
                  .wanted = random_wanted (rand),
                  .farm = (PersonFarm)(k % 3),
                  .group_persons = (gsize)g_rand_int_range (rand, 1000, 30000),
                  .run = { .n_cores = (guint)g_rand_int_range (rand, 1, 6) } };
          expect_right (&query);
        }
    }
}

static void
every_strategy (void)
{
  g_autoptr (PersonTable) table = person_table_generate (60000, 7, 0, NULL);
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
                                .group_persons = 17000,
                                .run = { .strategy = all[i]->name,
                                         .platform = modelled ? THESIS : NULL,
                                         .n_cores = 3 } };
          query.wanted.salary_max = 1500;
          expect_right (&query);
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
      expect_right (&query);
      query.wanted.salary_max = 399;
      expect_right (&query);
      query.wanted = (PersonWanted){ 5, 4, 0, 100000 };
      expect_right (&query);
      query.table = empty;
      expect_right (&query);
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
  PersonQuery query = {
    .table = &table, .wanted = PERSON_WANT_ALL, .take = keep, .take_data = rows
  };
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
      expect_right (&query);
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
          expect_right (&query);
        }
      /* Its first part alone matches, of which the sample says nothing. */
      PersonQuery first
          = { .table = table, .wanted = PERSON_WANT_ALL, .gpu_only = TRUE };
      Person *persons = (Person *)(gpointer)table->persons;
      for (gsize k = 0; k < sizes[i]; k++)
        persons[k].salary = k < sizes[i] / 50 ? 1 : 2;
      first.wanted.salary_max = 1;
      expect_right (&first);
    }
}

/* -- Tables ------------------------------------------------------------- */

static char *
temporary (void)
{
  char *path = NULL;
  int fd = g_file_open_tmp ("hass-persons-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  return path;
}

static void
files (void)
{
  g_autofree char *path = temporary ();
  g_autoptr (PersonTable) made = person_table_generate (40000, 9, 2, NULL);
  CU_ASSERT_TRUE (person_table_write (path, 40000, 9, NULL));
  g_autoptr (PersonTable) read = person_table_open (path, NULL);
  CU_ASSERT_FATAL (made && read);
  CU_ASSERT_EQUAL (read->n_persons, 40000);
  CU_ASSERT_EQUAL (
      memcmp (read->persons, made->persons, 40000 * sizeof (Person)), 0);
  for (int farm = PERSON_TABLE; farm <= PERSON_DEPARTMENTS; farm++)
    {
      PersonQuery query = { .table = read,
                            .wanted = PERSON_WANT_ALL,
                            .farm = (PersonFarm)farm,
                            .group_persons = 7000 };
      query.wanted.salary_max = 1000;
      expect_right (&query);
    }
  CU_ASSERT_TRUE (person_table_write (path, 0, 9, NULL));
  g_autoptr (PersonTable) empty = person_table_open (path, NULL);
  CU_ASSERT_TRUE (empty && empty->n_persons == 0);
  g_unlink (path);
}

/* The message that a file gets whose byte @at is changed, cut to @bytes. */
static void
broken (gsize at, guint8 byte, gsize bytes, const char *wanted)
{
  g_autofree char *path = temporary (), *text = NULL;
  g_autoptr (GError) error = NULL;
  gsize length;
  CU_ASSERT_TRUE (person_table_write (path, 10, 1, NULL));
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, &length, NULL));
  CU_ASSERT_EQUAL (length, 64 + 320);
  text = g_realloc (text, 1000);
  text[at] = (char)byte;
  CU_ASSERT_TRUE (g_file_set_contents (path, text, (gssize)bytes, NULL));
  g_autoptr (PersonTable) table = person_table_open (path, &error);
  CU_ASSERT_PTR_NULL (table);
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
  if (!error || !strstr (error->message, wanted)
      || !strstr (error->message, path))
    {
      printf ("\n    %s, not %s", error ? error->message : "taken", wanted);
      CU_FAIL ("the message is not as wanted");
    }
  g_unlink (path);
}

static void
broken_files (void)
{
  gsize all = 64 + 320;
  broken (0, 'P', 0, "0 bytes, its header alone has 64");
  broken (0, 'P', 63, "63 bytes, its header alone has 64");
  broken (0, 'p', all, "no table of persons");
  broken (0, '\0', all, "not finished");
  broken (8, 5, all, "byte order mark");
  broken (12, 2, all, "version 2, this program reads version 1");
  broken (16, 65, all, "header of 65 bytes and persons of 32, not 64 and 32");
  broken (20, 33, all, "header of 64 bytes and persons of 33, not 64 and 32");
  broken (24, 11, all, "11 persons need 416 bytes, the file has 384");
  broken (24, 10, all - 1, "10 persons need 384 bytes, the file has 383");
  broken (24, 10, all + 1, "10 persons need 384 bytes, the file has 385");
  broken (24, 10, 64, "10 persons need 384 bytes, the file has 64");
  broken (28, 1, all, "4294967306 persons, a table has at most 4294967295");
  broken (31, 0x80, all, "persons, a table has at most 4294967295");
  g_autoptr (GError) absent = NULL, folder = NULL, full = NULL;
  CU_ASSERT_PTR_NULL (person_table_open ("/no/such/table", &absent));
  CU_ASSERT_TRUE (absent && strstr (absent->message, "/no/such/table: No su"));
  CU_ASSERT_PTR_NULL (person_table_open ("/", &folder));
  CU_ASSERT_TRUE (folder && strstr (folder->message, "/: not a regular file"));
  CU_ASSERT_FALSE (person_table_write ("/dev/full", 10, 1, &full));
  CU_ASSERT_TRUE (full && strstr (full->message, "/dev/full: No space"));
}

static void
departments (void)
{
  const gsize n = 100000;
  g_autoptr (PersonTable) table = person_table_generate (n, 4, 0, NULL);
  gsize end, smallest = n, largest = 0, n_departments = 0;
  for (gsize first = 0; first < n; first = end, n_departments++)
    {
      end = person_table_department_end (table, first);
      for (gsize i = first; i < end; i++)
        CU_ASSERT_FATAL (table->persons[i].department
                         == table->persons[first].department);
      CU_ASSERT_FATAL (end > first && end <= n);
      CU_ASSERT_TRUE (end == n
                      || table->persons[end].department
                             > table->persons[first].department);
      smallest = MIN (smallest, end - first);
      largest = MAX (largest, end - first);
    }
  CU_ASSERT_TRUE (n_departments > 20 && largest > 4 * smallest);
}

static void
lines (void)
{
  g_autoptr (GString) text = g_string_new (NULL);
  Person person = { .id = 4294967295u,
                    .department = 0,
                    .birthday = day_of (2000, 2, 29),
                    .salary = G_MININT32,
                    .name = { "Sixteen\tletters." } };
  append_line (text, &person);
  CU_ASSERT_STRING_EQUAL (text->str, "4294967295\tSixteen?letters.\t2000-02-29"
                                     "\t-2147483648\t0\n");
  g_string_truncate (text, 0);
  person = (Person){ .birthday = G_MININT32, .name = "" };
  append_line (text, &person);
  CU_ASSERT_STRING_EQUAL (text->str, "0\t\t-5877641-06-23\t0\t0\n");
}

static char *
plain_line (const Person *p)
{
  gint64 year;
  guint month, day;
  char name[PERSON_NAME_BYTES + 1] = { 0 };
  memcpy (name, p->name, PERSON_NAME_BYTES);
  for (char *c = name; *c; c++)
    *c = g_ascii_iscntrl (*c) ? '?' : *c;
  person_days_to_date (p->birthday, &year, &month, &day);
  return g_strdup_printf ("%u\t%s\t%s%04d-%02u-%02u\t%d\t%u\n", p->id, name,
                          year < 0 ? "-" : "", ABS ((gint)year), month, day,
                          p->salary, p->department);
}

/* Numbers of every length, names of every byte. */
static void
random_lines (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (12);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (GString) wanted = g_string_new (NULL);
  for (guint i = 0; i < 20000; i++)
    {
      Person p = { .id = g_rand_int (rand) >> i % 32,
                   .department = g_rand_int (rand) >> i % 31,
                   .birthday = (gint32)g_rand_int (rand) >> i % 29,
                   .salary = (gint32)g_rand_int (rand) >> i % 27 };
      for (guint c = 0; c < PERSON_NAME_BYTES; c++)
        p.name[c] = (char)g_rand_int_range (rand, 0, 256);
      g_autofree char *line = plain_line (&p);
      append_line (text, &p);
      g_string_append (wanted, line);
    }
  CU_ASSERT_EQUAL (text->len, wanted->len);
  CU_ASSERT_TRUE (g_string_equal (text, wanted));
  for (gint32 salary = 1; salary < 1000000000; salary *= 10)
    for (gint32 d = -1; d <= 0; d++)
      {
        Person p = { .id = (guint32)(salary + d), .salary = salary + d };
        g_autofree char *line = plain_line (&p);
        g_string_truncate (text, 0);
        append_line (text, &p);
        CU_ASSERT_STRING_EQUAL (text->str, line);
      }
}

/* -- The program -------------------------------------------------------- */

/* Runs it with a command line; returns its exit status. */
static int
run (const char *arguments, char **out, char **err)
{
  g_autofree char *unseen = NULL;
  g_autofree char *program = program_path ("person_query");
  g_autofree char *line = g_strconcat (program, " ", arguments, NULL);
  int status = -1;
  CU_ASSERT_TRUE_FATAL (g_spawn_command_line_sync (
      line, out, err ? err : &unseen, &status, NULL));
  return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

static void
same_output (void)
{
  static const char *const ways[]
      = { "--cores=3",
          "--departments",
          "--group=999",
          "--strategy=naive-greedy",
          "--strategy=modified-greedy --departments",
          "--cpu-only --verify",
          "--platform=" THESIS };
  g_autofree char *path = temporary (), *wanted = NULL, *copy = NULL;
  g_autofree char *make
      = g_strdup_printf ("--persons=30000 --seed=3 --make-table=%s", path);
  CU_ASSERT_EQUAL (
      run ("-n 30000 --seed=3 -b 1966.. -s 1001.. --cores=1", &wanted, NULL),
      0);
  CU_ASSERT_TRUE (strlen (wanted) > 400000);
  CU_ASSERT_EQUAL (run (make, NULL, NULL), 0);
  for (gsize i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autofree char *out = NULL, *line = NULL;
      line = g_strdup_printf ("-t %s -b 1966.. -s 1001.. %s", path, ways[i]);
      CU_ASSERT_EQUAL (run (line, &out, NULL), 0);
      CU_ASSERT_STRING_EQUAL (out, wanted);
    }
  g_autofree char *to_file
      = g_strdup_printf ("-n 30000 --seed 3 -b 1966.. -s 1001.. -o %s", path);
  CU_ASSERT_EQUAL (run (to_file, NULL, NULL), 0);
  CU_ASSERT_TRUE (g_file_get_contents (path, &copy, NULL, NULL));
  CU_ASSERT_STRING_EQUAL (copy, wanted);
  g_unlink (path);
}

static void
says (const char *arguments, int status, const char *on_out, const char *on_err)
{
  g_autofree char *out = NULL, *err = NULL;
  CU_ASSERT_EQUAL (run (arguments, &out, &err), status);
  if (!strstr (out, on_out) || !strstr (err, on_err))
    {
      printf ("\n    %s: %s%s", arguments, out, err);
      CU_FAIL ("the program does not say what it should");
    }
}

static void
command_line (void)
{
  says ("--help", 0, "Prints the persons of a table", "");
  says ("-n 5000 -c --verify", 0, "5000\n", "verified, 5000 of 5000 persons");
  says ("-n 5000 -q --verify", 0, "", "verified, 5000 of 5000 persons");
  says ("-n 0 --verify", 0, "", "verified, 0 of 0 persons");
  says ("-n 5000 -c --report", 0, "5000\n", "farm person_query, strategy");
  says ("-n 5000 -c --json", 0, "5000\n", "\"farm\" : \"person_query\"");
  says ("-n -1", 2, "", "--persons needs a number from 0 to 4294967295");
  says ("-n 4294967296", 2, "", "not '4294967296'");
  says ("--seed=x", 2, "", "--seed needs a number");
  says ("--group=0", 2, "", "--group needs a number from 1");
  says ("--cores=0", 2, "", "--cores needs a number from 1 to 4096");
  says ("--born=1990..1980", 2, "", "FROM that is not after its TO");
  says ("--salary=9..8", 2, "", "MIN that is not above its MAX");
  says ("--table=/no/table", 2, "", "/no/table: No such file");
  says ("--table=x -n 5", 2, "", "--table brings its own persons");
  says ("--table=x --make-table=y", 2, "", "--make-table makes a table");
  says ("--departments --group=5", 2, "", "choose one");
  says ("--cpu-only --gpu-only", 2, "", "leave no device");
  says ("-c -q", 2, "", "--count has none");
  says ("who", 2, "", "'who' is no option");
  says ("--strategy=none", 2, "", "no strategy \"none\"");
  says ("-n 50000 -o /dev/full", 2, "", "/dev/full: No space left");
  says ("-n 5 -o /dev/full", 2, "", "/dev/full: No space left");
  says ("-n 5 -o /no/file", 2, "", "/no/file: No such file");
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
    person_query, { "days are those of GLib's calendar", calendar },
    { "birthday ranges mean what they say", born_ranges },
    { "ranges that mean nothing are refused", refused_ranges },
    { "the reference finds what is wrong", reference },
    { "random queries are right, however the table comes", random_queries },
    { "every strategy is right, live and modelled", every_strategy },
    { "nobody, everybody, an empty table", extremes },
    { "leap days and ends of ranges", boundaries },
    { "a taker that fails ends the query", failing_taker },
    { "a GPU's rows are put in order, wrong ones refused", gpu_rows },
    { "devices that are lost lose no row", lost_devices },
    { "the selectivity is guessed, rather too high", selectivity },
    { "a file holds the table that is made in memory", files },
    { "broken files are refused with their numbers", broken_files },
    { "departments are found, of unequal sizes", departments },
    { "lines hold every value", lines },
    { "lines are what printf() makes of them", random_lines })

/* Programs of their own have no suppressions for ThreadSanitizer, under which
   suites of this name do not run. */
HASS_TEST_SUITE (examples_person_query,
                 { "the output is the same, whoever computes it", same_output },
                 { "the program says what is wrong", command_line })

HASS_TEST_SUITE (gpu_person_query,
                 { "GPUs find the same, alone and with the cores", real_gpus })
