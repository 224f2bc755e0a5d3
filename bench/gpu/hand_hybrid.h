/* SPDX-License-Identifier: MIT */
/* hand_hybrid.h: string search by CPU threads and GPUs as an expert writes
   it by hand for this one application.
   Thread safety: one thread. */
#ifndef GPU_BENCH_HAND_HYBRID_H
#define GPU_BENCH_HAND_HYBRID_H

#include "gpu_bench.h"

G_BEGIN_DECLS

/* What is searched, in memory that the GPUs can copy from. */
typedef struct
{
  const guint8 *text;
  gsize n;
  const guint8 *needle;
  gsize length;
} HandText;

typedef struct
{
  guint n_cpu_threads; /* 0: GPUs only */
  guint n_gpus;        /* 0: CPU only */
  guint n_streams;     /* a GPU */
  gsize cpu_block, gpu_block;
  gboolean bound; /* CPU threads to cores */
} HandSettings;

typedef struct
{
  double seconds;
  guint64 count;
  guint64 gpu_bytes; /* that GPUs searched */
} HandResult;

typedef struct HandHybrid HandHybrid;

#define HAND_MAX_STREAMS 4
#define HAND_MAX_BLOCK (64 * MIB)

/* Threads and, for the first @n_gpus devices, buffers for any settings. */
HandHybrid *hand_hybrid_new (guint n_gpus);
void hand_hybrid_free (HandHybrid *hand);
/* Searches the first @n bytes of the text. */
HandResult hand_hybrid_run (HandHybrid *hand, const HandText *text, gsize n,
                            const HandSettings *settings);
/* Returns: the best settings with @n_gpus GPUs, with or without CPU threads: a
   coarse search over all settings on a prefix, then the best ones on the whole
   text, @repeat rounds. Prints what it tried. */
HandSettings hand_hybrid_search (HandHybrid *hand, const HandText *text,
                                 guint n_gpus, gboolean with_cpu, guint repeat);
/* As words, into @text. */
const char *hand_settings_name (const HandSettings *settings, char text[96]);

G_END_DECLS

#endif
