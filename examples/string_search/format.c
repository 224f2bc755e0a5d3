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

/* Appends "NAME:", with `length` bytes of name; nothing without a name.  */
static void
append_name (const char *name, gsize length, GString *out)
{
  if (name == NULL)
    return;
  g_string_append_len (out, name, (gssize)length);
  g_string_append_c (out, ':');
}

/* Appends a line or match of the text `base` and its number and offset.  */
static void
append_line (const FormatOptions *options, const guint8 *base,
             const LineMatch *line, guint64 line_number, GString *out)
{
  if (options->line_number)
    append_number (out, line_number, ':');
  if (options->byte_offset)
    append_number (out, line->start, ':');
  g_string_append_len (out, (const char *)(base + line->start),
                       (gssize)line->length);
  g_string_append_c (out, '\n');
}

gboolean
format_block (const FormatOptions *options, const FormatText *text,
              const LineBlock *block, GString *out)
{
  gboolean left_out = FALSE;
  gsize name_length = text->name != NULL ? strlen (text->name) : 0;

  for (const LineRecord *record = line_block_next (block, NULL); record != NULL;
       record = line_block_next (block, record))
    {
      guint64 number = text->newlines_before + record->line_index + 1;
      const LineMatch *matches = line_record_matches (record);
      LineMatch whole = { record->start, record->length };
      guint64 n = record->n_matches;

      if (record->start >= text->limit)
        return TRUE;
      if (!options->only_matching)
        {
          matches = &whole;
          n = 1;
        }
      for (guint64 i = 0; i < n; i++)
        {
          const guint8 *begin = text->base + matches[i].start;

          if (options->check_encoding
              && binary_has_encoding_errors (begin, begin + matches[i].length))
            {
              left_out = TRUE;
              break;
            }
          append_name (text->name, name_length, out);
          append_line (options, text->base, &matches[i], number, out);
        }
    }
  return left_out;
}

void
format_count (const char *name, guint64 n_lines, GString *out)
{
  append_name (name, name != NULL ? strlen (name) : 0, out);
  append_number (out, n_lines, '\n');
}

void
format_binary_message (const char *program, const char *name, GString *out)
{
  g_string_append_printf (out, "%s: %s: binary file matches\n", program, name);
}
