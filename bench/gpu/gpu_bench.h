/* SPDX-License-Identifier: MIT */
/* gpu_bench.h: declarations shared by the files of gpu-bench: options,
   contests, targets, a crew of threads, the text, and computing on a CPU.

   gpu-bench compares hass with what plain CUDA and plain threads reach on a
   machine. These share no code with hass but the pinned memory that both copy
   from, so that a mistake in hass cannot slow down both sides.

   Thread safety: one thread calls; scan_cpu and read_sum, any. */
#ifndef GPU_BENCH_H
#define GPU_BENCH_H

#include "bench.h"
#include "contest.h"

G_BEGIN_DECLS

#define KIB ((gsize)1 << 10)
#define MIB ((gsize)1 << 20)
#define GIB ((gsize)1 << 30)

/* -- Options ------------------------------------------------------------ */

typedef struct
{
  double gib;          /* of text */
  guint n_gpus;        /* to use; all of them are there */
  guint repeat;        /* rounds of a contest */
  const char *svg;     /* file for the plot, or NULL */
  const char *out;     /* folder for the tables, or NULL */
  const char *run;     /* what a process of child_scan() runs, or NULL */
  const char *targets; /* file that gets the lines of targets, or NULL */
  /* Of few: a kind of farm; only this number of units; 0: all. */
  const char *farm;
  gint units;
  /* Of few and pipelines. */
  gint ratio, in_flight; /* only this one; 0: all */
  gint token_kib;        /* bytes of a token */
  double core_ms;        /* time of a token on a core */
  gboolean silent;       /* workers do not ask whether they should stop */
  gboolean buffers;      /* tokens in memory of the library */
} GpuBenchOptions;

/* The sub-commands; each prints its tables and returns an exit status. */
int raw_main (const GpuBenchOptions *options);
int hybrid_main (const GpuBenchOptions *options);
int small_main (const GpuBenchOptions *options);
int large_main (const GpuBenchOptions *options);
int tasks_main (const GpuBenchOptions *options);
int overhead_main (const GpuBenchOptions *options);
int never_worse_main (const GpuBenchOptions *options);
int few_units_main (const GpuBenchOptions *options);
int pipelines_main (const GpuBenchOptions *options);
/* Whether the options of few and pipelines are in range. */
gboolean pipelines_can (const GpuBenchOptions *options);
int check_main (const GpuBenchOptions *options);

/**
 * child_scan: runs this program with @command and "--run @spec", and reads what
 * it prints, @n numbers of @format, into the pointers that follow. Its stderr
 * is passed on; if it fails or prints fewer numbers, this process fails.
 * @spec: (transfer full).
 */
void child_scan (const char *command, char *spec, int n, const char *format,
                 ...) G_GNUC_SCANF (4, 5);

/* -- Targets ------------------------------------------------------------ */

typedef enum
{
  TARGET_AT_LEAST,
  TARGET_AT_MOST,
  TARGET_NONE /* shown without a comparison */
} TargetKind;

/* Both numbers are in @unit. */
void target_add (TargetKind kind, double target, double measured,
                 const char *unit, const char *what, ...) G_GNUC_PRINTF (5, 6);
/* The table of what was added; its lines are also appended to @path, unless
   that is NULL. */
void targets_print (const char *path);
#define TARGETS_HEAD                                                           \
  "| what | target | measured | |\n|:-----|-------:|---------:|:--|\n"

/* -- Threads ------------------------------------------------------------ */

/* Threads that stay, so that no contestant pays for their start. */
typedef struct Crew Crew;
typedef void (*CrewFunc) (guint index, gpointer arg);

Crew *crew_new (guint size);
void crew_free (Crew *crew);
guint crew_size (const Crew *crew);
/* Calls @func with each index below @n on a thread of its own; returns when
   all have returned. */
void crew_run (Crew *crew, guint n, CrewFunc func, gpointer arg);
/* Binds the calling thread to the @nth core it may use; negative: to all. */
void crew_bind (gint nth);

/* -- Memory and text ---------------------------------------------------- */

/* Returns: untouched pages, huge ones if the system provides them. Aborts
   without memory. */
guint8 *pages_new (gsize n_bytes, gboolean huge);
void pages_free (guint8 *pages, gsize n_bytes);

/**
 * text_fill: fills @text [@n] with words, lines and sentences, the same for
 * the same @seed whatever the crew, and plants @needle in it, once in 64 KiB
 * and across each border of 1 MiB. Returns how often it is in the text: no
 * word of the generator contains a needle that text_can_have() accepts.
 */
guint64 text_fill (guint8 *text, gsize n, guint64 seed, const guint8 *needle,
                   gsize length, Crew *crew);
gboolean text_can_have (const guint8 *needle, gsize length);

/* -- The compute of a CPU ----------------------------------------------- */

#define SCAN_MIN_NEEDLE 5
#define SCAN_MAX_NEEDLE 16

/**
 * scan_cpu: how many matches of @needle begin in the first @n_starts bytes
 * of @text and end in its first @n_readable ones. Matches that overlap count
 * each.
 * @n_readable: at least @n_starts; with a halo, @n_starts + @length - 1.
 * @length: SCAN_MIN_NEEDLE to SCAN_MAX_NEEDLE.
 */
guint64 scan_cpu (const guint8 *text, gsize n_starts, gsize n_readable,
                  const guint8 *needle, gsize length);
/* The same, byte by byte. */
guint64 scan_naive (const guint8 *text, gsize n_starts, gsize n_readable,
                    const guint8 *needle, gsize length);
const char *scan_cpu_width (void);
/* No wider vectors than @bits (512, 256, 8) from now on; for checks. */
void scan_cpu_limit (guint bits);

/* The sum of all 64-bit words, as fast as a core reads. */
guint64 read_sum (const guint8 *bytes, gsize n);

G_END_DECLS

#endif
