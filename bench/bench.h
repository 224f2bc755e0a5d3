/* SPDX-License-Identifier: MIT */
/* bench.h: declarations shared by all benchmark programs: interleaved rounds,
   medians, targets, calibrated work, and the peers.

   A benchmark measures its rows one after another in many rounds; the figure of
   a row is its median over the rounds, and ratios are taken within a round. The
   two cores of a virtual machine are sometimes near and sometimes far from each
   other, so the round trip of a cache line is probed in each round and printed.

   Thread safety: one thread, but bench_spin and the work functions, which
   any may call. */
#ifndef BENCH_H
#define BENCH_H

#include <glib.h>
#include <hass/load.h>

#include "contest.h"

G_BEGIN_DECLS

/* -- Time and work ------------------------------------------------------ */

gint64 bench_now_ns (void);
double bench_line_ns (void);
guint bench_cores (void);

/* A load's work: its tag is a number of iterations. */
typedef void (*BenchWork) (const HassLoad *load);

void bench_nothing (const HassLoad *load);
void bench_busy (const HassLoad *load);
double bench_iteration_ns (void);

static inline void
bench_spin (gsize iterations)
{
  guint64 x = iterations | 1;
  for (gsize i = 0; i < iterations; i++)
    {
      x = x * 6364136223846793005u + 1;
      __asm__ volatile("" : "+r"(x));
    }
}

/* Work whose calls do not overlap in the processor. */
static inline void
bench_fenced_spin (gsize iterations)
{
  bench_spin (iterations);
#if defined __x86_64__
  __asm__ volatile("lfence" ::: "memory");
#elif defined __aarch64__
  __asm__ volatile("dsb sy\n\tisb" ::: "memory");
#endif
}

/* -- Groups of rows ----------------------------------------------------- */

typedef struct BenchGroup BenchGroup;

BenchGroup *bench_group_new (BenchSense sense, const char *unit,
                             const char *title, ...) G_GNUC_PRINTF (3, 4);
guint bench_group_add (BenchGroup *group, double target, BenchMeasure measure,
                       gconstpointer arg, const char *name, ...)
    G_GNUC_PRINTF (5, 6);
void bench_group_not_worse (BenchGroup *group, guint row, guint than);
void bench_group_run (BenchGroup *group, guint rounds);

/* A number that needs no rounds, in the same layout. */
void bench_single (const char *name, double value, const char *unit,
                   BenchSense sense, double target);

/* From the environment: BENCH_ROUNDS, and others by name. */
guint bench_rounds (guint otherwise);
double bench_setting (const char *name, double otherwise);

/* -- Peers -------------------------------------------------------------- */

/**
 * BenchPeer: one way to run loads on all cores; hass is one of them.
 * @most: maximum number of loads, where a load is expensive; 0: any.
 * @begin, @end: called around each measurement, not measured; may be NULL.
 * @indices: an empty loop over [0, @n), the cheapest one of the peer.
 * @nested: @n_roots tasks of no work, each of which emits @n_children more, to
 *   @depth levels.
 * @known: loads known at the beginning.
 * @emitted: loads emitted one by one; the peer copies each, or takes its
 *   address if it cannot copy.
 * @ordered: as emitted, and @take gets the number of each in order.
 */
typedef struct
{
  const char *name;
  gsize most;
  void (*begin) (void);
  void (*end) (void);
  void (*indices) (gsize n);
  void (*known) (const HassLoad *loads, gsize n, BenchWork work);
  void (*emitted) (const HassLoad *loads, gsize n, BenchWork work);
  void (*ordered) (const HassLoad *loads, gsize n, BenchWork work,
                   void (*take) (guint64 seq));
  void (*nested) (guint n_roots, guint n_children, gsize depth);
} BenchPeer;

extern const BenchPeer bench_hass, bench_threads, bench_tbb_for,
    bench_tbb_pipeline, bench_tbb_group, bench_glib;
#ifdef BENCH_OPENMP
extern const BenchPeer bench_openmp, bench_openmp_tasks;
#endif
#ifdef BENCH_STARPU
extern const BenchPeer bench_starpu;
#endif

/* All of them, hass first, NULL last. */
extern const BenchPeer *const bench_peers[];
void bench_print_missing (void);

G_END_DECLS

#endif
