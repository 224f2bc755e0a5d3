/* SPDX-License-Identifier: MIT */
/* header.c: see header.h.
   Thread safety: see header.h. */
#include "header.h"

#include <libdeflate.h>
#include <string.h>

enum
{
  FLAG_CHECKSUM = 0x02,
  FLAG_EXTRA = 0x04,
  FLAG_NAME = 0x08,
  FLAG_COMMENT = 0x10,
  FLAG_ENCRYPTED = 0x20,
  FLAGS_RESERVED = 0xc0
};

/* -- Writing ------------------------------------------------------------ */

const guint8 bgzf_end[28]
    = { 0x1f, 0x8b, 8,  4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C',
        2,    0,    27, 0, 3, 0, 0, 0, 0, 0,    0, 0, 0,   0 };

static void
write_u32 (guint8 *at, guint32 value)
{
  for (guint i = 0; i < 4; i++)
    at[i] = (guint8)(value >> 8 * i);
}

guint32
read_u32 (const guint8 *at)
{
  return at[0] | at[1] << 8 | at[2] << 16 | (guint32)at[3] << 24;
}

gsize
hz_header_bytes (const HeaderText *text)
{
  return HZ_HEADER_BYTES + (text->name ? strlen (text->name) + 1 : 0);
}

gsize
hz_header_write (guint8 *at, const HeaderText *text, gsize member_bytes)
{
  gsize bytes = hz_header_bytes (text);
  /* 2: slowest, 4: fastest; 3: Unix. */
  guint8 effort = text->level >= 9 ? 2 : text->level == 1 ? 4 : 0;
  const guint8 start[]
      = { 0x1f, 0x8b, 8, (guint8)(FLAG_EXTRA | (text->name ? FLAG_NAME : 0)) };
  const guint8 extra[] = { effort, 3, 8, 0, 'H', 'Z', 4, 0 };
  memcpy (at, start, 4);
  write_u32 (at + 4, text->mtime);
  memcpy (at + 8, extra, 8);
  write_u32 (at + 16, (guint32)member_bytes);
  if (text->name)
    memcpy (at + HZ_HEADER_BYTES, text->name, bytes - HZ_HEADER_BYTES);
  return bytes;
}

gsize
bgzf_header_write (guint8 *at, gsize member_bytes)
{
  memcpy (at, bgzf_end, BGZF_HEADER_BYTES);
  at[16] = (guint8)(member_bytes - 1);
  at[17] = (guint8)((member_bytes - 1) >> 8);
  return BGZF_HEADER_BYTES;
}

void
trailer_write (guint8 *at, guint32 crc, guint32 bytes)
{
  write_u32 (at, crc);
  write_u32 (at + 4, bytes);
}

/* -- The length of a member --------------------------------------------- */

/* The length that the subfields [n] tell; 0: none does. */
static gsize
told_length (const guint8 *at, gsize n)
{
  while (n >= 4)
    {
      gsize length = at[2] | at[3] << 8;
      if (length > n - 4)
        return 0;
      if (at[0] == 'H' && at[1] == 'Z' && length == 4)
        return read_u32 (at + 4);
      if (at[0] == 'B' && at[1] == 'C' && length == 2)
        return (gsize)(at[4] | at[5] << 8) + 1;
      at += 4 + length;
      n -= 4 + length;
    }
  return 0;
}

SpanResult
member_span (const guint8 *at, gsize n, MemberSpan *span)
{
  const guint8 magic[] = { 0x1f, 0x8b, 8 };
  if (memcmp (at, magic, MIN (n, 3)) != 0
      || (n > 3 && (at[3] & ~FLAG_NAME) != FLAG_EXTRA))
    return SPAN_UNKNOWN;
  if (n < 12)
    return SPAN_CUT;
  gsize header = 12 + (at[10] | at[11] << 8);
  if (n < header)
    return SPAN_CUT;
  gsize member = told_length (at + 12, header - 12);
  if (member == 0)
    return SPAN_UNKNOWN;
  if (at[3] & FLAG_NAME)
    {
      const guint8 *end = memchr (at + header, 0, n - header);
      if (!end)
        return SPAN_CUT;
      header = (gsize)(end + 1 - at);
    }
  *span = (MemberSpan){ header, member };
  return member < header + TRAILER_BYTES ? SPAN_UNKNOWN : SPAN_KNOWN;
}

/* -- Reading byte by byte ----------------------------------------------- */

enum
{
  STEP_METHOD,
  STEP_FLAGS,
  STEP_TIME,
  STEP_EFFORT_SYSTEM,
  STEP_EXTRA_LENGTH,
  STEP_EXTRA,
  STEP_NAME,
  STEP_COMMENT,
  STEP_CHECKSUM,
  STEP_DONE
};

void
header_parser_start (HeaderParser *p, const guint8 magic[2])
{
  header_parser_clear (p);
  *p = (HeaderParser){ .bytes = 2, .crc = libdeflate_crc32 (0, magic, 2) };
}

void
header_parser_clear (HeaderParser *p)
{
  if (p->name)
    g_string_free (g_steal_pointer (&p->name), TRUE);
}

/* Goes on to the next field that the flags announce. */
static HeaderResult
next_field (HeaderParser *p)
{
  static const guint8 flag_of[STEP_DONE] = { [STEP_EXTRA_LENGTH] = FLAG_EXTRA,
                                             [STEP_NAME] = FLAG_NAME,
                                             [STEP_COMMENT] = FLAG_COMMENT,
                                             [STEP_CHECKSUM] = FLAG_CHECKSUM };
  static const guint8 length_of[STEP_DONE] = { [STEP_TIME] = 4,
                                               [STEP_EFFORT_SYSTEM] = 2,
                                               [STEP_EXTRA_LENGTH] = 2,
                                               [STEP_CHECKSUM] = 2 };
  if (p->step == STEP_EXTRA_LENGTH && p->left > 0)
    {
      p->step = STEP_EXTRA;
      return HEADER_MORE;
    }
  do
    p->step++;
  while (p->step == STEP_EXTRA
         || (p->step < STEP_DONE && flag_of[p->step]
             && !(p->flags & flag_of[p->step])));
  if (p->step == STEP_DONE)
    return HEADER_DONE;
  p->left = length_of[p->step];
  if (p->step == STEP_NAME)
    p->name = g_string_new (NULL);
  if (p->step == STEP_CHECKSUM)
    p->computed = (guint16)p->crc;
  return HEADER_MORE;
}

/* Takes a byte of a field of two or four bytes. */
static HeaderResult
take_number (HeaderParser *p, guint8 byte, guint32 *value, guint bytes)
{
  *value |= (guint32)byte << 8 * (bytes - p->left);
  return --p->left == 0 ? HEADER_DONE : HEADER_MORE;
}

static HeaderResult
take_flags (HeaderParser *p, guint8 byte)
{
  p->flags = byte;
  if (byte & FLAG_ENCRYPTED)
    return HEADER_ENCRYPTED;
  return byte & FLAGS_RESERVED ? HEADER_FLAGS : next_field (p);
}

HeaderResult
header_parser_feed (HeaderParser *p, guint8 byte)
{
  guint32 value = 0;
  p->bytes++;
  p->crc = libdeflate_crc32 (p->crc, &byte, 1);
  switch (p->step)
    {
    case STEP_METHOD:
      p->method = byte;
      return byte == 8 ? next_field (p) : HEADER_METHOD;
    case STEP_FLAGS:
      return take_flags (p, byte);
    case STEP_TIME:
      if (take_number (p, byte, &p->mtime, 4) == HEADER_DONE)
        return next_field (p);
      return HEADER_MORE;
    case STEP_EFFORT_SYSTEM:
    case STEP_EXTRA:
      return --p->left == 0 ? next_field (p) : HEADER_MORE;
    case STEP_EXTRA_LENGTH:
      value = p->checksum;
      if (take_number (p, byte, &value, 2) == HEADER_MORE)
        {
          p->checksum = (guint16)value;
          return HEADER_MORE;
        }
      p->checksum = 0;
      p->left = value;
      return next_field (p);
    case STEP_NAME:
      if (byte == 0)
        return next_field (p);
      g_string_append_c (p->name, (char)byte);
      return HEADER_MORE;
    case STEP_COMMENT:
      return byte == 0 ? next_field (p) : HEADER_MORE;
    default:
      value = p->checksum;
      if (take_number (p, byte, &value, 2) == HEADER_MORE)
        {
          p->checksum = (guint16)value;
          return HEADER_MORE;
        }
      p->checksum = (guint16)value;
      return p->checksum == p->computed ? HEADER_DONE : HEADER_CHECKSUM;
    }
}
