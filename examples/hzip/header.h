/* SPDX-License-Identifier: MIT */
/* header.h: headers of members of gzip files (RFC 1952): written, read byte by
   byte, and the extra fields that tell how long a member is.

   A member of hzip has the subfield "HZ" with 4 bytes: the length of the whole
   member in bytes, from its first header byte to its last trailer byte, least
   significant byte first. A block of BGZF has "BC" with 2 bytes: that length
   less 1.

   Thread safety: plain values; a parser belongs to one thread. */
#ifndef HZIP_HEADER_H
#define HZIP_HEADER_H

#include <glib.h>

/* Before the name in a member of hzip, in a block of BGZF, and after the
   compressed bytes. */
#define HZ_HEADER_BYTES 20
#define BGZF_HEADER_BYTES 18
#define TRAILER_BYTES 8

/* What a header says. @name: of the original file, or NULL; @mtime: its time
   of change in s since 1970, or 0; @level: 1 to 12. */
typedef struct
{
  const char *name;
  guint32 mtime;
  guint level;
} HeaderText;

/* Bytes of the header of a member of hzip. */
gsize hz_header_bytes (const HeaderText *text);

/* Writes the header of a member of @member_bytes in all. Returns: its bytes. */
gsize hz_header_write (guint8 *at, const HeaderText *text, gsize member_bytes);

/* Likewise for a block of BGZF of at most 65536 bytes. */
gsize bgzf_header_write (guint8 *at, gsize member_bytes);

/* Writes the trailer: CRC-32 and length of the original bytes. */
void trailer_write (guint8 *at, guint32 crc, guint32 bytes);

guint32 read_u32 (const guint8 *at);

/* The empty block that ends a BGZF file. */
extern const guint8 bgzf_end[28];

/* A member whose extra field tells its length, within @n bytes at @at.
   @header_bytes: up to its compressed bytes. @member_bytes: in all. */
typedef struct
{
  gsize header_bytes, member_bytes;
} MemberSpan;

typedef enum
{
  SPAN_KNOWN,
  SPAN_UNKNOWN, /* no such header: the length is not known   */
  SPAN_CUT      /* more bytes are needed to tell             */
} SpanResult;

SpanResult member_span (const guint8 *at, gsize n, MemberSpan *span);

/* What became of a header with its latest byte. */
typedef enum
{
  HEADER_MORE,
  HEADER_DONE,
  HEADER_METHOD,    /* a method other than deflate      */
  HEADER_ENCRYPTED, /* flag 0x20                        */
  HEADER_FLAGS,     /* a reserved flag                  */
  HEADER_CHECKSUM   /* its CRC-16 is wrong              */
} HeaderResult;

/* A header that is read byte by byte, from the third byte on: the first two
   are given to header_parser_start(). @method, @flags, @mtime, @name: as read;
   @checksum, @computed: the CRC-16 that the header has, and should have;
   @bytes: length so far. The remaining fields are those of header.c. */
typedef struct
{
  guint8 method, flags;
  guint32 mtime;
  GString *name;
  guint16 checksum, computed;
  guint64 bytes;
  guint step, left;
  guint32 crc;
} HeaderParser;

void header_parser_start (HeaderParser *parser, const guint8 magic[2]);
HeaderResult header_parser_feed (HeaderParser *parser, guint8 byte);
void header_parser_clear (HeaderParser *parser);

#endif
