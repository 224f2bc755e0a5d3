/* SPDX-License-Identifier: MIT */
/* test_person_table.c: the dates, lines and tables of person_query are what
   they should be.
   Thread safety: one thread. */
#include "hass_test.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "person_query/calendar.h"
#include "person_trial.h"

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

/* -- Lines -------------------------------------------------------------- */

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

/* -- Tables ------------------------------------------------------------- */

static void
files (void)
{
  g_autofree char *path = temporary_file ();
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
      expect_right_query (&query);
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
  g_autofree char *path = temporary_file (), *text = NULL;
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

HASS_TEST_SUITE (person_values,
                 { "days are those of GLib's calendar", calendar },
                 { "birthday ranges mean what they say", born_ranges },
                 { "ranges that mean nothing are refused", refused_ranges },
                 { "lines hold every value", lines },
                 { "lines are what printf() makes of them", random_lines })

HASS_TEST_SUITE (person_table,
                 { "a file holds the table that is made in memory", files },
                 { "broken files are refused with their numbers",
                   broken_files },
                 { "departments are found, of unequal sizes", departments })
