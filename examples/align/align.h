/* SPDX-License-Identifier: MIT */
/* align.h: local alignment of two sequences on all cores and GPUs.
   Thread safety: a call blocks its thread; the data are its own. */
#ifndef ALIGN_ALIGN_H
#define ALIGN_ALIGN_H

#include <hass/dataflow.h>

#include "gpu_tile.h"

/**
 * AlignJob: what to align.
 * @side: rows and columns of a tile, a multiple of ALIGN_SIDE_STEP, up to
 *   @pair->side; 0: chosen by the lengths and the number of cores.
 * @score_only: no operations and no begin of the alignment.
 * @gpu: computes tiles on GPUs; NULL: CUDA if it was built, there is a GPU, and
 *   the table is large enough.
 * @group: rows and columns of tiles of a task; 0: chosen likewise.
 * @no_cpu: tasks are computed on GPUs alone.
 */
typedef struct
{
  const AlignPair *pair;
  int side;
  gboolean score_only;
  HassRunOptions run;
  AlignGpuFunc gpu;
  int group;
  gboolean no_cpu;
} AlignJob;

/* @n columns of an alignment: '=' equal residues, 'X' others, 'I' residues of
   the first sequence beside a gap, 'D' of the second. */
typedef struct
{
  char what;
  gsize n;
} AlignOperation;

/**
 * AlignResult: the alignment with the highest score; of several, always the
 * same one for the same @side, on any devices.
 * @score: 0: there is none, and @begin and @end are 0.
 * @begin, @end: of both sequences: residues [begin, end). With
 *   #AlignJob.score_only they are 0.
 * @operations: of #AlignOperation, from the begin on.
 * @cells: computed, those again for the operations included.
 */
typedef struct
{
  gint64 score;
  gsize begin[2], end[2];
  GArray *operations;
  guint64 cells;
} AlignResult;

/**
 * align_run:
 * @report: (out) (optional): of the dataflow of the scores; NULL if a sequence
 *   is empty.
 *
 * Memory: for lengths n and m and sides s, 8 m sqrt (n / s) bytes.
 *
 * Returns: FALSE with the error of hass_dataflow() or HASS_ERROR_NO_MEMORY.
 */
gboolean align_run (const AlignJob *job, AlignResult *result,
                    HassReport **report, GError **error);
void align_result_clear (AlignResult *result);

#endif
