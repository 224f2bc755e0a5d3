/* SPDX-License-Identifier: MIT */
/* print.c: see print.h.
   Thread safety: as print.h. */
#include "print.h"

#include <string.h>

#define WIDTH 60

static const AlignOperation *
operation (const AlignResult *result, guint i)
{
  return &g_array_index (result->operations, AlignOperation, i);
}

void
align_print_line (FILE *to, const AlignResult *r, const FastaRecord records[2])
{
  for (int i = 0; i < 2; i++)
    fprintf (to, "%s\t%zu\t%zu\t", *records[i].name ? records[i].name : "*",
             r->end[i] > 0 ? r->begin[i] + 1 : 0, r->end[i]);
  fprintf (to, "%" G_GINT64_FORMAT "\t", r->score);
  for (guint i = 0; i < r->operations->len; i++)
    fprintf (to, "%zu%c", operation (r, i)->n, operation (r, i)->what);
  fputs (r->operations->len > 0 ? "\n" : "*\n", to);
}

/* A row of columns that is being filled: @at are the residues before it. */
typedef struct
{
  char rows[3][WIDTH + 1];
  int n;
  gsize at[2], next[2];
} Row;

static void
flush (FILE *to, Row *row)
{
  static const int order[] = { 0, 2, 1 };
  if (row->n == 0)
    return;
  fputc ('\n', to);
  for (int k = 0; k < 3; k++)
    {
      int i = order[k];
      row->rows[i][row->n] = '\0';
      if (i == 2)
        fprintf (to, "%10s  %s\n", "", row->rows[i]);
      else
        fprintf (to, "%10zu  %s  %zu\n",
                 row->at[i] + (row->next[i] > row->at[i]), row->rows[i],
                 row->next[i]);
    }
  row->n = 0;
  row->at[0] = row->next[0];
  row->at[1] = row->next[1];
}

static char
mark (const AlignScheme *s, char what, char a, char b)
{
  if (what == '=')
    return '|';
  if (what != 'X')
    return ' ';
  return s->table[align_code (s, a, FALSE)][align_code (s, b, TRUE)] > 0 ? '.'
                                                                         : ' ';
}

static void
print_rows (FILE *to, const AlignResult *r, const AlignScheme *scheme,
            const FastaRecord records[2])
{
  Row row = { .n = 0, .at = { r->begin[0], r->begin[1] } };
  memcpy (row.next, row.at, sizeof row.next);
  for (guint i = 0; i < r->operations->len; i++)
    for (gsize k = 0; k < operation (r, i)->n; k++)
      {
        char what = operation (r, i)->what, a = '-', b = '-';
        if (what != 'D')
          a = records[0].residues[row.next[0]++];
        if (what != 'I')
          b = records[1].residues[row.next[1]++];
        row.rows[0][row.n] = a;
        row.rows[1][row.n] = b;
        row.rows[2][row.n] = mark (scheme, what, a, b);
        if (++row.n == WIDTH)
          flush (to, &row);
      }
  flush (to, &row);
}

void
align_print_columns (FILE *to, const AlignResult *r, const AlignScheme *scheme,
                     const FastaRecord records[2])
{
  gsize columns = 0, equal = 0, gaps = 0;
  for (guint i = 0; i < r->operations->len; i++)
    {
      const AlignOperation *o = operation (r, i);
      columns += o->n;
      equal += o->what == '=' ? o->n : 0;
      gaps += o->what == 'I' || o->what == 'D' ? o->n : 0;
    }
  for (int i = 0; i < 2; i++)
    fprintf (to, "%s\t%zu-%zu of %zu\n",
             *records[i].name ? records[i].name : "*",
             r->end[i] > 0 ? r->begin[i] + 1 : 0, r->end[i], records[i].length);
  fprintf (to, "score %" G_GINT64_FORMAT, r->score);
  if (columns > 0)
    fprintf (to, ", %zu columns, %.1f %% equal, %.1f %% gaps", columns,
             100.0 * (double)equal / (double)columns,
             100.0 * (double)gaps / (double)columns);
  fputc ('\n', to);
  print_rows (to, r, scheme, records);
}
