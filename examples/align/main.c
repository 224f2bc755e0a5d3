/* SPDX-License-Identifier: MIT */
/* main.c: align, the local alignment of two sequences.
   Thread safety: single-threaded; the dataflow is not. */
#include <stdio.h>

#include "../exit_status.h"
#include "../standard_output.h"
#include "options.h"
#include "print.h"

/* Returns: a number, or @otherwise if it was not given. */
static int
given (int number, int otherwise)
{
  return number == ALIGN_NOT_GIVEN ? otherwise : number;
}

static void
make_scheme (AlignScheme *scheme, const AlignOptions *o,
             const FastaRecord records[2])
{
  gboolean dna
      = o->kind == ALIGN_DNA
        || (o->kind == ALIGN_GUESS && fasta_looks_like_dna (&records[0])
            && fasta_looks_like_dna (&records[1]));
  gboolean simple
      = dna || o->match != ALIGN_NOT_GIVEN || o->mismatch != ALIGN_NOT_GIVEN;
  if (simple)
    align_scheme_simple (scheme, dna, given (o->match, 2),
                         given (o->mismatch, -3));
  else
    align_scheme_blosum62 (scheme);
  scheme->open = given (o->open, simple ? 7 : 11);
  scheme->extend = given (o->extend, simple ? 2 : 1);
}

static gboolean
check_gaps (const AlignScheme *scheme, GError **error)
{
  if (scheme->open >= scheme->extend)
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "the first residue of a gap costs %d, which is below %d, the "
               "cost of each further one",
               scheme->open, scheme->extend);
  return FALSE;
}

static void
print (const AlignOptions *o, const AlignResult *result,
       const AlignScheme *scheme, const FastaRecord records[2])
{
  if (o->score_only)
    printf ("%" G_GINT64_FORMAT "\n", result->score);
  else if (o->cigar)
    align_print_line (stdout, result, records);
  else
    align_print_columns (stdout, result, scheme, records);
}

static void
print_report (const AlignResult *result, const HassReport *report,
              const AlignPair *pair, gint64 us)
{
  g_autofree char *table = hass_report_to_string (report);
  fprintf (stderr,
           "%s%zu x %zu residues, %" G_GUINT64_FORMAT
           " cells, %.3f s, %.2f 10^9 cells/s, cores by %s vectors\n",
           table, pair->n[0], pair->n[1], result->cells, (double)us / 1e6,
           (double)result->cells / (double)MAX (us, 1) / 1e3,
           pair->kernels->name);
}

static gboolean
align (const AlignOptions *o, const FastaRecord records[2], GError **error)
{
  const char *const residues[] = { records[0].residues, records[1].residues };
  const gsize lengths[] = { records[0].length, records[1].length };
  g_autoptr (HassReport) report = NULL;
  AlignScheme scheme;
  AlignPair pair;
  AlignResult result;
  make_scheme (&scheme, o, records);
  if (!check_gaps (&scheme, error)
      || !align_pair_init (&pair, &scheme, NULL, residues, lengths, error))
    return FALSE;
  AlignJob job = {
    .pair = &pair, .side = o->side, .score_only = o->score_only, .run = o->run
  };
  gint64 start = g_get_monotonic_time ();
  gboolean ok = align_run (&job, &result, &report, error);
  if (ok)
    print (o, &result, &scheme, records);
  if (ok && o->report && report)
    print_report (&result, report, &pair, g_get_monotonic_time () - start);
  align_result_clear (&result);
  align_pair_clear (&pair);
  return ok;
}

static gboolean
run (const AlignOptions *o, GError **error)
{
  FastaRecord records[2] = { { NULL }, { NULL } };
  gboolean ok = fasta_read (&records[0], o->inputs[0], error)
                && fasta_read (&records[1], o->inputs[1], error);
  for (int i = 0; ok && i < 2; i++)
    if (records[i].more)
      fprintf (stderr, "align: %s: only the first sequence, %s, is read\n",
               o->inputs[i], records[i].name);
  ok = ok && align (o, records, error);
  fasta_clear (&records[0]);
  fasta_clear (&records[1]);
  return ok;
}

int
main (int argc, char **argv)
{
  AlignOptions options;
  g_autoptr (GError) error = NULL;
  int status = 0;
  output_check ();
  if (!align_options_parse (&options, &argc, &argv, &error))
    status = 2;
  else if (!run (&options, &error))
    status = exit_status_of (error);
  if (error)
    fprintf (stderr, "align: %s\n", error->message);
  align_options_clear (&options);
  return status;
}
