/* SPDX-License-Identifier: MIT */
/* peer_glib.c: GThreadPool. It takes addresses, so nothing is copied.
   Thread safety: one run at a time. */
#include "bench.h"

static void
run_one (gpointer load, gpointer work)
{
  ((BenchWork)work) (load);
}

static void
run_all (const HassLoad *loads, gsize n, BenchWork work)
{
  GThreadPool *pool = g_thread_pool_new (run_one, (gpointer)work,
                                         (gint)bench_cores (), FALSE, NULL);
  for (gsize i = 0; i < n; i++)
    g_thread_pool_push (pool, (gpointer)&loads[i], NULL);
  g_thread_pool_free (pool, FALSE, TRUE);
}

const BenchPeer bench_glib = { .name = "GLib GThreadPool",
                               .most = 100000,
                               .known = run_all,
                               .emitted = run_all };
