/* SPDX-License-Identifier: MIT */
/* inflater.c: see inflater.h.

   DESIGN. A member is a header (header.c), a deflate stream (zlib) and a
   trailer. What gzip writes of a member that is not valid depends on its window
   of 32 KiB: it writes the window when it is full, when the stream ends, and at
   an unexpected end of the file, but not where the stream violates the format;
   and a distance that goes back past the start of the member reads what the
   window had before. So this file has that window: @window is what gzip's would
   contain, byte k of a member at k mod 32768.

   Thread safety: see inflater.h. */
#include "inflater.h"

#include <libdeflate.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "header.h"

#define WINDOW 32768

typedef enum
{
  STATE_START, /* before the first byte of a member       */
  STATE_MAGIC, /* before its second byte                  */
  STATE_ZEROS, /* zeros after the last member             */
  STATE_HEADER,
  STATE_BODY,
  STATE_TRAILER,
  STATE_COPY, /* not compressed, and passed on as it is  */
  STATE_ENDED
} State;

/* @first: the first byte of a member. @n_members: begun, or skipped.
   @bytes: decompressed of this member; @written: of these, given to the sink.
   @crc: of what was written. @has_put: by this call of inflater_feed().
   @full: zlib may have more bytes to give without any further input.
   @errors, @warnings: messages. @aborts: as gzip does after such an error. */
struct _Inflater
{
  const Options *options;
  const char *name;
  State state;
  guint8 first;
  guint64 n_members;
  HeaderParser header;
  z_stream z;
  gboolean z_begun, has_put, full;
  guint8 window[WINDOW];
  guint64 bytes, written;
  guint32 crc, last_crc;
  guint8 trailer[TRAILER_BYTES];
  guint n_trailer;
  GString *errors, *warnings;
  gboolean aborts;
};

Inflater *
inflater_new (const Options *options, const char *name)
{
  Inflater *i = g_new0 (Inflater, 1);
  i->options = options;
  i->name = name;
  i->errors = g_string_new (NULL);
  i->warnings = g_string_new (NULL);
  return i;
}

void
inflater_free (Inflater *i)
{
  if (i->z_begun)
    inflateEnd (&i->z);
  header_parser_clear (&i->header);
  g_string_free (i->errors, TRUE);
  g_string_free (i->warnings, TRUE);
  g_free (i);
}

static void
fail (Inflater *i, const char *what, gboolean aborts)
{
  g_string_append_printf (i->errors, "\n" NAME ": %s: %s\n", i->name, what);
  i->aborts |= aborts;
  i->state = STATE_ENDED;
}

static void
trailing (Inflater *i, const char *what)
{
  g_string_append_printf (i->warnings,
                          "\n" NAME ": %s: decompression OK, trailing %s "
                          "ignored\n",
                          i->name, what);
  i->state = STATE_ENDED;
}

/* -- Bytes that go out -------------------------------------------------- */

/* Writes the first @bytes of @part. */
static void
put (Inflater *i, const InflaterSink *sink, guint8 *part, gsize bytes)
{
  if (bytes == 0)
    return;
  i->crc = libdeflate_crc32 (i->crc, part, bytes);
  i->written += bytes;
  i->has_put = TRUE;
  sink->put (part, bytes, sink->user_data);
}

static guint8 *
get (Inflater *i, const InflaterSink *sink)
{
  guint8 *part = sink->get (sink->user_data);
  if (!part)
    i->state = STATE_ENDED;
  return part;
}

static void
put_copy (Inflater *i, const InflaterSink *sink, const guint8 *in, gsize n)
{
  while (n > 0 && i->state != STATE_ENDED)
    {
      gsize bytes = MIN (n, INFLATER_PART);
      guint8 *part = get (i, sink);
      if (!part)
        return;
      memcpy (part, in, bytes);
      put (i, sink, part, bytes);
      in += bytes;
      n -= bytes;
    }
}

/* Makes the window what it is after @n further bytes of a member, at @part. The
   first of them has a multiple of 32768 bytes before it. */
static void
keep_window (Inflater *i, const guint8 *part, gsize n)
{
  gsize rest = n % WINDOW, whole = n - rest;
  if (whole > 0)
    memcpy (i->window + rest, part + whole - WINDOW + rest, WINDOW - rest);
  memcpy (i->window, part + whole, rest);
}

/* -- A member ----------------------------------------------------------- */

static void
begin_body (Inflater *i)
{
  if (!i->z_begun)
    i->z_begun = inflateInit2 (&i->z, -MAX_WBITS) == Z_OK;
  else
    inflateReset (&i->z);
  if (!i->z_begun || inflateSetDictionary (&i->z, i->window, WINDOW) != Z_OK)
    {
      fail (i, "memory exhausted", TRUE);
      return;
    }
  i->bytes = i->written = 0;
  i->crc = 0;
  i->n_trailer = 0;
  i->state = STATE_BODY;
}

/* Makes one part at most. Returns: how many of the bytes it has taken. */
static gsize
feed_body (Inflater *i, const guint8 *in, gsize n_in, const InflaterSink *sink)
{
  gsize held = (gsize)(i->bytes - i->written);
  guint8 *part = get (i, sink);
  if (!part)
    return n_in;
  memcpy (part, i->window, held);
  i->z.next_in = (Bytef *)in;
  i->z.avail_in = (uInt)n_in;
  i->z.next_out = part + held;
  i->z.avail_out = (uInt)(INFLATER_PART - held);
  int result = inflate (&i->z, Z_NO_FLUSH);
  gsize n = INFLATER_PART - i->z.avail_out;
  i->bytes += n - held;
  i->full = result == Z_OK && i->z.avail_out == 0;
  keep_window (i, part, n);
  put (i, sink, part, result == Z_STREAM_END ? n : n - n % WINDOW);
  if (result == Z_STREAM_END)
    i->state = STATE_TRAILER;
  else if (result != Z_OK && result != Z_BUF_ERROR)
    fail (i, "invalid compressed data--format violated", TRUE);
  return n_in - i->z.avail_in;
}

static void
feed_trailer (Inflater *i, guint8 byte)
{
  gboolean test = i->options->mode == MODE_TEST;
  i->trailer[i->n_trailer++] = byte;
  if (i->n_trailer < TRAILER_BYTES)
    return;
  i->state = STATE_START;
  i->last_crc = read_u32 (i->trailer);
  if (i->last_crc != i->crc)
    fail (i, "invalid compressed data--crc error", !test);
  if (read_u32 (i->trailer + 4) != (guint32)i->bytes)
    fail (i, "invalid compressed data--length error", !test);
}

/* As fail(), but the message is a line of its own. */
static void G_GNUC_PRINTF (2, 3) refuse (Inflater *i, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_string_append (i->errors, NAME ": ");
  g_string_append_vprintf (i->errors, format, args);
  g_string_append_c (i->errors, '\n');
  va_end (args);
  i->state = STATE_ENDED;
}

static void
feed_header (Inflater *i, guint8 byte)
{
  HeaderParser *h = &i->header;
  switch (header_parser_feed (h, byte))
    {
    case HEADER_MORE:
      return;
    case HEADER_DONE:
      i->n_members++;
      begin_body (i);
      return;
    case HEADER_METHOD:
      refuse (i, "%s: unknown method %d -- not supported", i->name, h->method);
      return;
    case HEADER_ENCRYPTED:
      refuse (i, "%s is encrypted -- not supported", i->name);
      return;
    case HEADER_FLAGS:
      refuse (i, "%s has flags 0x%x -- not supported", i->name, h->flags);
      return;
    case HEADER_CHECKSUM:
      refuse (i, "%s: header checksum 0x%04x != computed checksum 0x%04x",
              i->name, h->checksum, h->computed);
      return;
    }
}

/* -- Between members ---------------------------------------------------- */

/* TRUE: what is not compressed is passed on, as by cat. */
static gboolean
passes_on (const Inflater *i)
{
  const Options *o = i->options;
  return o->force && o->to_stdout && o->mode == MODE_DECOMPRESS;
}

static void
feed_magic (Inflater *i, guint8 second, const InflaterSink *sink)
{
  const guint8 magic[] = { i->first, second };
  if (magic[0] == 0x1f && (magic[1] == 0x8b || magic[1] == 0x9e))
    {
      header_parser_start (&i->header, magic);
      i->state = STATE_HEADER;
    }
  else if (passes_on (i))
    {
      i->state = STATE_COPY;
      put_copy (i, sink, magic, 2);
    }
  else if (i->n_members == 0)
    fail (i, "not in gzip format", FALSE);
  else if (magic[0] == 0 && magic[1] == 0)
    i->state = STATE_ZEROS;
  else
    trailing (i, "garbage");
}

static void
feed_byte (Inflater *i, guint8 byte, const InflaterSink *sink)
{
  switch (i->state)
    {
    case STATE_START:
      i->first = byte;
      i->state = STATE_MAGIC;
      break;
    case STATE_MAGIC:
      feed_magic (i, byte, sink);
      break;
    case STATE_ZEROS:
      if (byte != 0)
        trailing (i, "garbage");
      break;
    case STATE_HEADER:
      feed_header (i, byte);
      break;
    case STATE_TRAILER:
      feed_trailer (i, byte);
      break;
    default:
      break;
    }
}

gboolean
inflater_feed (Inflater *i, const guint8 **in, gsize *n,
               const InflaterSink *sink)
{
  i->has_put = FALSE;
  while (i->state != STATE_ENDED && !i->has_put && (*n > 0 || i->full))
    {
      gsize taken = 1;
      if (i->state == STATE_BODY)
        taken = feed_body (i, *in, *n, sink);
      else if (i->state == STATE_COPY)
        put_copy (i, sink, *in, taken = MIN (*n, INFLATER_PART));
      else
        feed_byte (i, **in, sink);
      *in += taken;
      *n -= taken;
    }
  return i->state != STATE_ENDED && (*n > 0 || i->full);
}

/* The file ends after the first byte of a member. */
static void
end_magic (Inflater *i, const InflaterSink *sink)
{
  if (passes_on (i))
    put_copy (i, sink, &i->first, 1);
  else if (i->first != 0)
    fail (i, "unexpected end of file", TRUE);
  else if (i->n_members == 0)
    fail (i, "not in gzip format", FALSE);
  else if (i->options->verbose)
    trailing (i, "zero bytes");
}

void
inflater_end (Inflater *i, const InflaterSink *sink)
{
  switch (i->state)
    {
    case STATE_START:
      if (i->n_members == 0 && !passes_on (i))
        fail (i, "unexpected end of file", TRUE);
      break;
    case STATE_MAGIC:
      end_magic (i, sink);
      break;
    case STATE_ZEROS:
      if (i->options->verbose)
        trailing (i, "zero bytes");
      break;
    case STATE_BODY:
      put_copy (i, sink, i->window, (gsize)(i->bytes - i->written));
      fail (i, "unexpected end of file", TRUE);
      break;
    case STATE_HEADER:
    case STATE_TRAILER:
      fail (i, "unexpected end of file", TRUE);
      break;
    default:
      break;
    }
}

gboolean
inflater_between_members (const Inflater *i)
{
  return i->state == STATE_START;
}

void
inflater_skip (Inflater *i, const guint8 *in, gsize n, const guint8 *out)
{
  MemberSpan span;
  for (; n > 0; in += span.member_bytes, n -= span.member_bytes)
    {
      member_span (in, n, &span);
      const guint8 *trailer = in + span.member_bytes - TRAILER_BYTES;
      gsize bytes = read_u32 (trailer + 4);
      keep_window (i, out, bytes);
      out += bytes;
      i->n_members++;
      i->last_crc = read_u32 (trailer);
    }
}

gboolean
inflater_ended (const Inflater *i)
{
  return i->state == STATE_ENDED;
}

guint32
inflater_crc (const Inflater *i)
{
  return i->last_crc;
}

gboolean
inflater_tell (const Inflater *i, Hzip *hzip)
{
  fputs (i->errors->str, stderr);
  if (!hzip->options.quiet)
    fputs (i->warnings->str, stderr);
  if (i->errors->len > 0)
    {
      hzip->status = STATUS_ERROR;
      hzip->aborted |= i->aborts;
      return FALSE;
    }
  if (i->warnings->len > 0 && hzip->status == 0)
    hzip->status = STATUS_WARNING;
  return TRUE;
}
