/* SPDX-License-Identifier: MIT */
/* work.h: the work of the figures, the same on every device: a hash over an
   element with a given number of dependent steps.
   Thread safety: plain functions. */
#ifndef FIGURES_WORK_H
#define FIGURES_WORK_H

#include <glib.h>

#ifdef __CUDACC__
#  define FIGURES_EVERYWHERE __host__ __device__
#else
#  define FIGURES_EVERYWHERE
#endif

/* 64-bit words in an element. */
#define FIGURES_WORDS 64
#define FIGURES_ELEMENT_BYTES (FIGURES_WORDS * sizeof (guint64))

/* Steps for each word, and the number of words with one step more. */
typedef struct
{
  guint32 each, more;
} FiguresSteps;

/* A shift, an exclusive or and a multiplication; no compiler can take
   several of them together. */
FIGURES_EVERYWHERE static inline guint64
figures_hash (const guint64 *words, FiguresSteps steps)
{
  guint64 h = 0x9e3779b97f4a7c15u;
  for (guint32 k = 0; k < FIGURES_WORDS; k++)
    {
      guint32 n = steps.each + (k < steps.more ? 1 : 0);
      h ^= words[k];
      for (guint32 i = 0; i < n; i++)
        h = (h ^ (h >> 32)) * 6364136223846793005u;
    }
  return h;
}

#endif
