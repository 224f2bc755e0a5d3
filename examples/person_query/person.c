/* SPDX-License-Identifier: MIT */
/* person.c: random persons. A row depends on the seed and the row's number
   alone, so a table that is written to a file is the one made in memory.
   Thread safety: no state; any thread. */
#include "person.h"

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

/* A division of this many persons is cut at random into four departments, of
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
