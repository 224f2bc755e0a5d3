/* SPDX-License-Identifier: MIT */
/* options.c: parses align's command line.
   Thread safety: as options.h. */
#include "options.h"

#include <string.h>

#include "../decimal_options.h"
#include "tile.h"

static const char summary[]
    = "Prints the local alignment of the first sequences of two FASTA files\n"
      "that has the highest score (Smith-Waterman, affine gaps), computed on\n"
      "all cores and GPUs. Nucleotides score by match and mismatch, proteins "
      "by\n"
      "BLOSUM62. \"-\" is standard input.";

/* What GOption fills in. */
typedef struct
{
  gboolean dna, protein;
  int cores;
  char **files;
} Given;

static gboolean G_GNUC_PRINTF (2, 3)
    wrong (GError **error, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *what = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_set_error_literal (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, what);
  return FALSE;
}

/* FALSE if @value is given and out of range. */
static gboolean
in_range (const char *option, int value, int least, int most, GError **error)
{
  if (value != ALIGN_NOT_GIVEN && (value < least || value > most))
    return wrong (error, "--%s=%d is not from %d to %d", option, value, least,
                  most);
  return TRUE;
}

static gboolean
take_files (AlignOptions *o, char **files, GError **error)
{
  guint n = files ? g_strv_length (files) : 0;
  if (n != 2)
    return wrong (error, "there are %u arguments, not FASTA-FILE FASTA-FILE",
                  n);
  if (strcmp (files[0], "-") == 0 && strcmp (files[1], "-") == 0)
    return wrong (error, "standard input has one sequence only");
  o->inputs[0] = g_strdup (files[0]);
  o->inputs[1] = g_strdup (files[1]);
  return TRUE;
}

static gboolean
understand (AlignOptions *o, const Given *g, GError **error)
{
  if (!in_range ("match", o->match, 1, ALIGN_MAX_MATCH, error)
      || !in_range ("mismatch", o->mismatch, ALIGN_MIN_MISMATCH, 0, error)
      || !in_range ("gap-open", o->open, 0, ALIGN_MAX_OPEN, error)
      || !in_range ("gap-extend", o->extend, 0, ALIGN_MAX_EXTEND, error)
      || !in_range ("tile", o->side, ALIGN_SIDE_STEP, ALIGN_MAX_SIDE, error))
    return FALSE;
  if (o->side == ALIGN_NOT_GIVEN)
    o->side = 0;
  if (o->side % ALIGN_SIDE_STEP != 0)
    return wrong (error, "--tile=%d is no multiple of %d", o->side,
                  ALIGN_SIDE_STEP);
  if (g->dna && g->protein)
    return wrong (error, "--dna and --protein exclude each other");
  if (g->cores < 0)
    return wrong (error, "--cores=%d is negative", g->cores);
  o->kind = g->dna ? ALIGN_DNA : g->protein ? ALIGN_PROTEIN : ALIGN_GUESS;
  o->run.n_cores = (guint)g->cores;
  return take_files (o, g->files, error);
}

gboolean
align_options_parse (AlignOptions *o, int *argc, char ***argv, GError **error)
{
  Given g = { FALSE, FALSE, 0, NULL };
  memset (o, 0, sizeof *o);
  o->match = o->mismatch = o->open = o->extend = o->side = ALIGN_NOT_GIVEN;
  const GOptionEntry entries[] = {
    { "dna", 0, 0, G_OPTION_ARG_NONE, &g.dna,
      "Sequences of nucleotides (if nine of ten letters are ACGTUN)", NULL },
    { "protein", 0, 0, G_OPTION_ARG_NONE, &g.protein,
      "Sequences of amino acids (otherwise)", NULL },
    { "match", 0, 0, G_OPTION_ARG_INT, &o->match,
      "Score of equal residues, 1 to 50 (2); not by BLOSUM62", "N" },
    { "mismatch", 0, 0, G_OPTION_ARG_INT, &o->mismatch,
      "Score of others, -100 to 0 (-3); not by BLOSUM62", "N" },
    { "gap-open", 'o', 0, G_OPTION_ARG_INT, &o->open,
      "Cost of the first residue of a gap, 0 to 1000 (7, BLOSUM62: 11)", "N" },
    { "gap-extend", 'e', 0, G_OPTION_ARG_INT, &o->extend,
      "Cost of each further one, 0 to 50 (2, BLOSUM62: 1)", "N" },
    { "score-only", 's', 0, G_OPTION_ARG_NONE, &o->score_only,
      "Print the score only", NULL },
    { "cigar", 'c', 0, G_OPTION_ARG_NONE, &o->cigar,
      "Print one line with a CIGAR string", NULL },
    { "tile", 0, 0, G_OPTION_ARG_INT, &o->side,
      "Compute tiles of N x N, a multiple of 256 up to 2048", "N" },
    { "cores", 0, 0, G_OPTION_ARG_INT, &g.cores, "Use at most N cores", "N" },
    { "report", 0, 0, G_OPTION_ARG_NONE, &o->report,
      "Print where the time went, to stderr", NULL },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &g.files, NULL,
      "FASTA-FILE FASTA-FILE" },
    { NULL, 0, 0, 0, NULL, NULL, NULL }
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_set_summary (context, summary);
  gboolean ok = decimal_options_parse (context, entries, argc, argv, error)
                && understand (o, &g, error);
  g_strfreev (g.files);
  return ok;
}

void
align_options_clear (AlignOptions *o)
{
  g_free (o->inputs[0]);
  g_free (o->inputs[1]);
}
