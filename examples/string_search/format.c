/* SPDX-License-Identifier: MIT */
/* Turns records into the bytes that grep prints.
   Thread safety: no state.  */

#include "format.h"

#include <string.h>

#include "binary.h"

static void
append_number (GString *out, guint64 number, char after)
{
  char digits[24];
  gsize at = sizeof digits;

  digits[--at] = after;
  do
    digits[--at] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  g_string_append_len (out, digits + at, (gssize)(sizeof digits - at));
}

static void
append_line (const FormatOptions *options, const char *name, gsize name_length,
             guint64 line_number, guint64 offset, const guint8 *text,
             gsize length, GString *out)
{
  if (name != NULL)
    {
      g_string_append_len (out, name, (gssize)name_length);
      g_string_append_c (out, ':');
    }
  if (options->line_number)
    append_number (out, line_number, ':');
  if (options->byte_offset)
    append_number (out, offset, ':');
  g_string_append_len (out, (const char *)text, (gssize)length);
  g_string_append_c (out, '\n');
}

gboolean
format_block (const FormatOptions *options, const char *name,
              const guint8 *base, const LineBlock *block,
              guint64 newlines_before, gsize limit, GString *out)
{
  gboolean left_out = FALSE;
  gsize name_length = name != NULL ? strlen (name) : 0;

  for (const LineRecord *record = line_block_next (block, NULL); record != NULL;
       record = line_block_next (block, record))
    {
      guint64 number = newlines_before + record->line_index + 1;
      const LineMatch *matches = line_record_matches (record);
      LineMatch whole = { record->start, record->length };
      guint64 n = record->n_matches;

      if (record->start >= limit)
        return TRUE;
      if (!options->only_matching)
        {
          matches = &whole;
          n = 1;
        }
      for (guint64 i = 0; i < n; i++)
        {
          const guint8 *text = base + matches[i].start;

          if (options->check_encoding
              && binary_has_encoding_errors (text, text + matches[i].length))
            {
              left_out = TRUE;
              break;
            }
          append_line (options, name, name_length, number, matches[i].start,
                       text, matches[i].length, out);
        }
    }
  return left_out;
}

void
format_count (const char *name, guint64 n_lines, GString *out)
{
  if (name != NULL)
    {
      g_string_append (out, name);
      g_string_append_c (out, ':');
    }
  append_number (out, n_lines, '\n');
}

void
format_binary_message (const char *program, const char *name, GString *out)
{
  g_string_append_printf (out, "%s: %s: binary file matches\n", program, name);
}
