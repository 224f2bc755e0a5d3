/* SPDX-License-Identifier: MIT */
/* table.c: files of persons.

   DESIGN. A file is a header of 64 bytes and the records as they are in
   memory, so that it is mapped and used as it is. A file is written from its
   records on; its header comes last, and a file that was not finished has
   none.

   Thread safety: table.h. */
#include "../mapped_file.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <hass/error.h>
#include <hass/memory.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "PERSONS\n";
#define BYTE_ORDER_MARK 0x01020304u
#define VERSION 1u

typedef struct
{
  char magic[8];
  guint32 byte_order;
  guint32 version;
  guint32 header_bytes;
  guint32 person_bytes;
  guint64 n_persons;
  char reserved[32];
} Header;

G_STATIC_ASSERT (sizeof (Header) == 64);
G_STATIC_ASSERT (sizeof (Person) == 32);

G_GNUC_PRINTF (3, 4)
static gboolean
broken (GError **error, const char *path, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "%s: %s", path, what);
  return FALSE;
}

/* -- Writing ------------------------------------------------------------ */

static gboolean
write_all (int fd, gconstpointer data, gsize bytes, gsize at)
{
  const char *from = data;
  while (bytes > 0)
    {
      gssize n = pwrite (fd, from, bytes, (off_t)at);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return FALSE;
      from += n;
      at += (gsize)n;
      bytes -= (gsize)n;
    }
  return TRUE;
}

static gboolean
write_table (int fd, gsize n_persons, guint64 seed)
{
  enum
  {
    AT_ONCE = 32768
  };
  Header header = { .byte_order = BYTE_ORDER_MARK,
                    .version = VERSION,
                    .header_bytes = sizeof header,
                    .person_bytes = sizeof (Person),
                    .n_persons = n_persons };
  g_autofree Person *persons = g_new (Person, AT_ONCE);
  memcpy (header.magic, magic, sizeof magic);
  for (gsize first = 0; first < n_persons; first += AT_ONCE)
    {
      gsize n = MIN (n_persons - first, AT_ONCE);
      for (gsize i = 0; i < n; i++)
        person_make (seed, first + i, &persons[i]);
      if (!write_all (fd, persons, n * sizeof (Person),
                      sizeof header + first * sizeof (Person)))
        return FALSE;
    }
  return write_all (fd, &header, sizeof header, 0);
}

gboolean
person_table_write (const char *path, gsize n_persons, guint64 seed,
                    GError **error)
{
  g_return_val_if_fail (n_persons <= PERSON_MAX_ROWS, FALSE);
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return broken (error, path, "%s", g_strerror (errno));
  gboolean ok = write_table (fd, n_persons, seed);
  int code = errno;
  if (close (fd) != 0 && ok)
    {
      ok = FALSE;
      code = errno;
    }
  return ok || broken (error, path, "%s", g_strerror (code));
}

/* -- Reading ------------------------------------------------------------ */

static gboolean
check (const Header *h, const char *path, gsize bytes, GError **error)
{
  if (bytes < sizeof *h)
    return broken (error, path,
                   "no table of persons: %zu bytes, its header alone has %zu",
                   bytes, sizeof *h);
  if (memcmp (h->magic, magic, sizeof magic) != 0)
    return broken (error, path,
                   "no table of persons, or one that was not finished");
  if (h->byte_order == GUINT32_SWAP_LE_BE (BYTE_ORDER_MARK))
    return broken (error, path, "written by a machine of other byte order");
  if (h->byte_order != BYTE_ORDER_MARK)
    return broken (error, path, "byte order mark %08x, not %08x", h->byte_order,
                   BYTE_ORDER_MARK);
  if (h->version != VERSION)
    return broken (error, path, "version %u, this program reads version %u",
                   h->version, VERSION);
  if (h->header_bytes != sizeof *h || h->person_bytes != sizeof (Person))
    return broken (
        error, path, "header of %u bytes and persons of %u, not %zu and %zu",
        h->header_bytes, h->person_bytes, sizeof *h, sizeof (Person));
  if (h->n_persons > PERSON_MAX_ROWS)
    return broken (error, path,
                   "%" G_GUINT64_FORMAT " persons, a table has at most %u",
                   h->n_persons, PERSON_MAX_ROWS);
  gsize wanted = sizeof *h + h->n_persons * sizeof (Person);
  if (bytes != wanted)
    return broken (error, path,
                   "%" G_GUINT64_FORMAT " persons need %zu bytes, "
                   "the file has %zu",
                   h->n_persons, wanted, bytes);
  return TRUE;
}

static gboolean
map (PersonTable *table, int fd, const char *path, GError **error)
{
  struct stat st;
  if (fd < 0 || fstat (fd, &st) != 0)
    return broken (error, path, "%s", g_strerror (errno));
  if (!S_ISREG (st.st_mode))
    return broken (error, path, "not a regular file");
  gsize bytes = (gsize)st.st_size;
  if (bytes < sizeof (Header))
    return check (NULL, path, bytes, error);
  gpointer mapped = mmap (NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED)
    return broken (error, path, "%s", g_strerror (errno));
  mapped_file_guard (mapped, bytes);
  table->mapped = mapped;
  table->mapped_bytes = bytes;
  const Header *header = mapped;
  if (!check (header, path, bytes, error))
    return FALSE;
  table->persons = (const Person *)(header + 1);
  table->n_persons = header->n_persons;
  return TRUE;
}

PersonTable *
person_table_open (const char *path, GError **error)
{
  g_autoptr (PersonTable) table = g_new0 (PersonTable, 1);
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  gboolean ok = map (table, fd, path, error);
  if (fd >= 0)
    close (fd);
  return ok ? g_steal_pointer (&table) : NULL;
}

gboolean
person_table_whole (const PersonTable *table, const char *path, GError **error)
{
  if (!table->mapped || !mapped_file_shrank ())
    return TRUE;
  return broken (error, path, "truncated, or not readable, while it was asked");
}

void
person_table_prefetch (const PersonTable *table, gsize first, gsize n)
{
  if (!table->mapped)
    return;
  gsize page = (gsize)sysconf (_SC_PAGESIZE);
  gsize begin = (gsize)&table->persons[first] & ~(page - 1);
  gsize end = (gsize)&table->persons[first + n];
  madvise ((gpointer)begin, end - begin, MADV_WILLNEED);
}

/* Departments may be long and many: what is searched is a few lines of
   memory a department, in steps that double and then halve. */
gsize
person_table_department_end (const PersonTable *table, gsize first)
{
  const Person *persons = table->persons;
  guint32 department = persons[first].department;
  gsize in = first, step = 1;
  while (in + step < table->n_persons
         && persons[in + step].department == department)
    {
      in += step;
      step *= 2;
    }
  gsize out = MIN (in + step, table->n_persons);
  while (out - in > 1)
    {
      gsize middle = in + (out - in) / 2;
      if (persons[middle].department == department)
        in = middle;
      else
        out = middle;
    }
  return out;
}

void
person_table_free (PersonTable *table)
{
  if (!table)
    return;
  if (table->mapped)
    {
      mapped_file_leave ();
      munmap (table->mapped, table->mapped_bytes);
    }
  else
    hass_memory_free ((gpointer)table->persons);
  g_free (table);
}
