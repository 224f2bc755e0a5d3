/* SPDX-License-Identifier: MIT */
/* person.h: the record of a person and the condition of a query, for cores and
   kernels. C and CUDA C++.
   Thread safety: plain values. */
#ifndef PERSON_H
#define PERSON_H

#include <glib.h>

#ifdef __CUDACC__
#  define PERSON_ANYWHERE __host__ __device__
#else
#  define PERSON_ANYWHERE
#endif

#define PERSON_NAME_BYTES 16

/**
 * Person: one record, 32 bytes in memory and in files.
 * @birthday: days since 1970-01-01.
 * @name: padded with NUL, not ended by one.
 */
typedef struct
{
  guint32 id;
  guint32 department;
  gint32 birthday;
  gint32 salary;
  char name[PERSON_NAME_BYTES];
} Person;

/* The condition of a query; both ranges include both ends. */
typedef struct
{
  gint32 born_from, born_to;
  gint32 salary_min, salary_max;
} PersonWanted;

#define PERSON_WANT_ALL                                                        \
  {                                                                            \
    G_MININT32, G_MAXINT32, G_MININT32, G_MAXINT32                             \
  }

/* Returns: 1 if the person matches, else 0. All four comparisons are made, so
   that there is no branch to mispredict. */
PERSON_ANYWHERE static inline guint
person_matches (const Person *person, const PersonWanted *wanted)
{
  return (guint)((person->birthday >= wanted->born_from)
                 & (person->birthday <= wanted->born_to)
                 & (person->salary >= wanted->salary_min)
                 & (person->salary <= wanted->salary_max));
}

G_BEGIN_DECLS

/* Row @row of the table of @seed; depends on no other row. */
void person_make (guint64 seed, guint64 row, Person *person);

G_END_DECLS

#endif
