/* SPDX-License-Identifier: MIT */
/* align.c: see align.h.
   Thread safety: as align.h. */
#include "align.h"

#include <string.h>

#include "trace.h"

gboolean
align_run (const AlignJob *job, AlignResult *result, HassReport **report,
           GError **error)
{
  const AlignPair *p = job->pair;
  AlignBands bands;
  AlignPeak peak;
  memset (result, 0, sizeof *result);
  result->operations = g_array_new (FALSE, FALSE, sizeof (AlignOperation));
  if (report)
    *report = NULL;
  if (p->n[0] == 0 || p->n[1] == 0)
    return TRUE;
  gboolean ok = align_scores (job, &bands, &peak, report, error);
  result->cells = (guint64)p->n[0] * p->n[1];
  result->score = peak.score;
  if (ok && peak.score > 0 && !job->score_only)
    ok = align_trace (job, &bands, &peak, result, error);
  align_bands_clear (&bands);
  return ok;
}

void
align_result_clear (AlignResult *result)
{
  if (result->operations)
    g_array_free (result->operations, TRUE);
  memset (result, 0, sizeof *result);
}
