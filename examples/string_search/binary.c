/* SPDX-License-Identifier: MIT */
/* From where on GNU grep 3.8 prints nothing of a file that looks binary.
   Thread safety: no state.

   DESIGN.  What follows was found by watching grep 3.8 with strace and by
   random comparison.
   1. grep reads a file into a buffer of 96 KiB and a page, in front of which
      it keeps the incomplete line of the read before; so a read brings 96
      KiB less the pages that this line takes.  For a line that leaves no
      room for a page the buffer grows by half.
   2. The first read that brings a NUL byte makes the file binary: from the
      incomplete line kept in front of it on, nothing is printed, and NULs
      end lines.  What earlier reads brought has been printed.
   3. A file with a hole behind the first read is binary from its start.
   4. In a UTF-8 locale a matching line (with -o: a match) that is not valid
      UTF-8 is left out, and the message follows; later lines are printed all
      the same.  format.c sees to that.
   The buffer's address modulo the page decides in step 1 whether a kept line
   of a given length takes one page more.  It comes from malloc() and so from
   all that grep did before; we take a usual value.  So after a late NUL, and
   only if matching lines lie within a few pages of the border of a read, the
   last lines printed before the message can differ.  */

#include "binary.h"

#include <string.h>
#include <unistd.h>
#include <wchar.h>

#define WORD_BYTES 8
/* grep's buffer is made of pages: 4 KiB, or up to 64 KiB on aarch64.  */
#define PAGE_BYTES ((gsize)sysconf (_SC_PAGESIZE))
#define FIRST_READ (page_up (96u << 10))

/* From the start of grep's buffer to the next page; between 1 and
   PAGE_BYTES.  Measured: about 2050 for one pattern in the C locale, 2800 in
   C.UTF-8, 400 for several patterns.  */
#define BUFFER_TO_PAGE 2048
/* The same once the buffer is a mapping of its own: 16 bytes into a page.  */
#define MAPPED_TO_PAGE (PAGE_BYTES - 16)

static gsize
page_up (gsize x)
{
  gsize page = PAGE_BYTES;

  return (x + page - 1) / page * page;
}

/* grep's buffer, with addresses as offsets from its start.  */
typedef struct
{
  gsize allocated;
  gsize to_page;
  gsize offset; /* of the next read in the file */
} Reader;

/* Step 1: how much the next read asks for, with a line of `kept` bytes in
   front of it.  */
static gsize
next_read (Reader *reader, gsize size, gsize kept)
{
  gsize room = PAGE_BYTES + WORD_BYTES;
  gsize needed = kept + PAGE_BYTES + room;
  gsize read_at;
  gsize n;

  if (needed > reader->allocated)
    {
      gsize grown = reader->allocated + reader->allocated / 2;
      gsize useful = MAX (size - reader->offset + kept + room, needed);

      reader->allocated = MAX (MIN (grown, useful), needed);
      reader->to_page = MAPPED_TO_PAGE;
    }
  read_at = reader->to_page;
  if (kept + 1 > reader->to_page)
    read_at += page_up (kept + 1 - reader->to_page);
  n = reader->allocated - WORD_BYTES - read_at;
  return n - n % PAGE_BYTES;
}

/* Step 3.  */
static gboolean
has_hole (BinaryHoles *holes, gsize size)
{
#ifdef SEEK_HOLE
  if (holes->fd >= 0 && size > FIRST_READ + 1 && !holes->asked)
    {
      off_t hole = lseek (holes->fd, FIRST_READ, SEEK_HOLE);

      holes->asked = TRUE;
      holes->found = hole >= 0 && (gsize)hole < size;
    }
#else
  (void)size;
#endif
  return holes->found;
}

gsize
binary_first_nul (const guint8 *base, gsize first, gsize count)
{
  const guint8 *nul = count > 0 ? memchr (base + first, '\0', count) : NULL;

  return nul != NULL ? (gsize)(nul - base) : BINARY_NEVER;
}

/* Walks grep's reads up to the one that brings `nul`, or finds that one
   itself if `look`; gives up behind `last_line`.  */
static gsize
walk_reads (const guint8 *base, gsize size, gsize nul, gboolean look,
            gsize last_line)
{
  Reader reader = { .allocated = FIRST_READ + PAGE_BYTES + WORD_BYTES,
                    .to_page = BUFFER_TO_PAGE };
  gsize line = 0; /* start of the incomplete line kept */

  while (reader.offset < size && line <= last_line)
    {
      gsize n = next_read (&reader, size, reader.offset - line);
      gsize end = MIN (size, reader.offset + n);
      const guint8 *newline;

      if (look)
        nul = binary_first_nul (base, reader.offset, end - reader.offset);
      if (nul < end)
        return line;
      newline = memrchr (base + reader.offset, '\n', end - reader.offset);
      if (newline != NULL)
        line = (gsize)(newline - base) + 1;
      reader.offset = end;
    }
  return BINARY_NEVER;
}

gsize
binary_output_limit (BinaryHoles *holes, const guint8 *base, gsize size,
                     gsize first_nul, gsize last_line)
{
  if (first_nul < FIRST_READ || has_hole (holes, size))
    return 0;
  if (first_nul == BINARY_NEVER)
    return BINARY_NEVER;
  return walk_reads (base, size, first_nul, FALSE, last_line);
}

gsize
binary_find_limit (int fd, const guint8 *base, gsize size, gsize last_line)
{
  BinaryHoles holes = { .fd = fd };

  return has_hole (&holes, size) ? 0
                                 : walk_reads (base, size, 0, TRUE, last_line);
}

/* The length of the character at `p`, or 0 if the C library finds none there.
   Characters that are valid for every UTF-8 decoder are decided here.  */
static gsize
character_length (const guint8 *p, const guint8 *end)
{
  gsize left = (gsize)(end - p);
  mbstate_t state;
  gsize length;

  if (*p < 0x80)
    return 1;
  if (*p >= 0xc2 && *p <= 0xdf && left >= 2 && (p[1] & 0xc0) == 0x80)
    return 2;
  if (*p >= 0xe1 && *p <= 0xec && left >= 3 && (p[1] & 0xc0) == 0x80
      && (p[2] & 0xc0) == 0x80)
    return 3;
  memset (&state, 0, sizeof state);
  length = mbrlen ((const char *)p, left, &state);
  return length > left ? 0 : length;
}

gboolean
binary_has_encoding_errors (const guint8 *begin, const guint8 *end)
{
  const guint8 *p = begin;

  while (p < end)
    {
      guint64 word;
      gsize length;

      if (end - p >= 8)
        {
          memcpy (&word, p, sizeof word);
          if ((word & G_GUINT64_CONSTANT (0x8080808080808080)) == 0)
            {
              p += 8;
              continue;
            }
        }
      length = character_length (p, end);
      if (length == 0)
        return TRUE;
      p += length;
    }
  return FALSE;
}
