/* SPDX-License-Identifier: MIT */
/* generate.c: tables of made-up persons. Each row is a function of the seed
   and its number alone, so cores make them in any order, and a table that is
   written to a file is the one that is made in memory.
   Thread safety: table.h. */
#include "table.h"

#include <hass/hass.h>
#include <string.h>

#include "calendar.h"

/* The finaliser of splitmix64: each bit of the result depends on all. */
static guint64
mix (guint64 z)
{
  z = (z ^ z >> 30) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return z ^ z >> 31;
}

static guint64
draw (guint64 seed, guint64 stream, guint64 counter)
{
  const guint64 golden = G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return mix (mix (seed + stream * golden) + (counter + 1) * golden);
}

/* Divisions of so many persons are cut at random into four departments, of
   4096 persons on average and of very different sizes. */
#define DIVISION 16384

static guint32
department (guint64 seed, guint64 row)
{
  guint64 cuts = draw (seed, 0, row / DIVISION), at = row % DIVISION;
  guint32 d = (guint32)(row / DIVISION) * 4;
  for (guint i = 0; i < 3; i++)
    d += (cuts >> 16 * i & (DIVISION - 1)) <= at;
  return d;
}

/* A given name of three syllables and a family name of three or four. */
static void
make_name (guint64 bits, char *name)
{
  static const char consonants[] = "bdfgjklmnprstvwz", vowels[] = "aeio";
  guint syllables = 6 + (bits >> 63), at = 0;
  memset (name, 0, PERSON_NAME_BYTES);
  for (guint i = 0; i < syllables; i++, bits >>= 6)
    {
      gboolean begins = i % 3 == 0 && i < 6;
      if (i == 3)
        name[at++] = ' ';
      name[at] = consonants[bits & 15];
      if (begins)
        name[at] = g_ascii_toupper (name[at]);
      name[at + 1] = vowels[bits >> 4 & 3];
      at += 2;
    }
}

/* Born from 1930 to 2009; salaries from 400 to 20399, many low, few high. */
void
person_make (guint64 seed, guint64 row, Person *person)
{
  const gint32 first = person_date_to_days (1930, 1, 1);
  const gint32 end = person_date_to_days (2010, 1, 1);
  guint64 z = draw (seed, 1, row);
  guint64 luck = (z >> 32 & 0xffff) * (z >> 48) >> 16;
  person->id = (guint32)row + 1;
  person->department = department (seed, row);
  person->birthday
      = first + (gint32)((guint32)z * (guint64)(end - first) >> 32);
  person->salary = 400 + (gint32)(luck * 20000 >> 16);
  make_name (draw (seed, 2, row), person->name);
}

static gboolean
make_block (const HassBlock *block, HassWorker *worker, gpointer user_data,
            GError **error)
{
  Person *persons = (Person *)(gpointer)block->output;
  (void)worker, (void)error;
  for (gsize i = 0; i < block->count; i++)
    person_make (*(guint64 *)user_data, block->first + i, &persons[i]);
  return TRUE;
}

PersonTable *
person_table_generate (gsize n_persons, guint64 seed, guint n_cores,
                       GError **error)
{
  g_return_val_if_fail (n_persons <= PERSON_MAX_ROWS, NULL);
  g_autoptr (PersonTable) table = g_new0 (PersonTable, 1);
  gsize bytes = n_persons * sizeof (Person);
  Person *persons = hass_memory_alloc (bytes, error);
  if (!persons)
    return NULL;
  table->persons = persons;
  table->n_persons = n_persons;
  HassLoad load
      = { .output = persons, .output_bytes = bytes, .size = n_persons };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "person_table";
  farm.user_data = &seed;
  farm.loads = &load;
  farm.n_loads = n_persons > 0;
  farm.cpu_worker = make_block;
  farm.run.n_cores = n_cores;
  if (!hass_data_farm_partition (&farm, NULL, error))
    return NULL;
  return g_steal_pointer (&table);
}
