/* SPDX-License-Identifier: MIT */
/* table.h: tables of persons, generated or in files.
   Thread safety: a table is read by any thread; made and freed by one. */
#ifndef PERSON_TABLE_H
#define PERSON_TABLE_H

#include "person.h"

G_BEGIN_DECLS

/* Rows are 32-bit numbers, in results from both sides of the link. */
#define PERSON_MAX_ROWS G_MAXUINT32

/**
 * PersonTable: persons in order of their departments.
 * @persons: [@n_persons], in the order of the table.
 * @mapped: the file, [@mapped_bytes]; NULL: the persons are
 *   hass_memory_alloc()'s.
 */
typedef struct
{
  const Person *persons;
  gsize n_persons;
  gpointer mapped;
  gsize mapped_bytes;
} PersonTable;

/**
 * person_table_generate:
 *
 * Returns: a table in memory that GPUs reach, made by @n_cores cores (0: all
 * there are); NULL with HASS_ERROR_NO_MEMORY or HASS_ERROR_INVALID.
 */
PersonTable *person_table_generate (gsize n_persons, guint64 seed,
                                    guint n_cores, GError **error);

/* Writes the same table to a file without holding it in memory.
   HASS_ERROR_IO; the file is then no table. */
gboolean person_table_write (const char *path, gsize n_persons, guint64 seed,
                             GError **error);

/* Maps a file. NULL with HASS_ERROR_IO, which names what is wrong. */
PersonTable *person_table_open (const char *path, GError **error);

/* Whether what was read of it so far stood in its file. FALSE with
   HASS_ERROR_IO: the file has been truncated, or its disk failed, since it was
   opened, and some rows were read as zeros. */
gboolean person_table_whole (const PersonTable *table, const char *path,
                             GError **error);

/* Has the rows of a mapped table read from the disk soon. */
void person_table_prefetch (const PersonTable *table, gsize first, gsize n);

/* One behind the last row of @first's department. */
gsize person_table_department_end (const PersonTable *table, gsize first);

void person_table_free (PersonTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (PersonTable, person_table_free)

G_END_DECLS

#endif
