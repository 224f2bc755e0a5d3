/* SPDX-License-Identifier: MIT */
/* trace.h: from the highest score back to the begin of its alignment.
   Thread safety: a call blocks its thread. */
#ifndef ALIGN_TRACE_H
#define ALIGN_TRACE_H

#include "scores.h"

/* Fills @begin, @end and @operations, and adds to @cells. */
gboolean align_trace (const AlignJob *job, const AlignBands *bands,
                      const AlignPeak *peak, AlignResult *result,
                      GError **error);

#endif
