// SPDX-License-Identifier: MIT
// peer_tbb.cpp: oneTBB's parallel_for, parallel_pipeline and task_group.
// Thread safety: one run at a time.
#include "bench.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_group.h>

namespace
{

constexpr std::size_t tokens = 256;

void
indices (gsize n)
{
  tbb::parallel_for (tbb::blocked_range<gsize> (0, n),
                     [] (const tbb::blocked_range<gsize> &r) {
                       for (gsize i = r.begin (); i != r.end (); i++)
                         __asm__ volatile("" : : "r"(i));
                     });
}

void
known (const HassLoad *loads, gsize n, BenchWork work)
{
  tbb::parallel_for (tbb::blocked_range<gsize> (0, n),
                     [=] (const tbb::blocked_range<gsize> &r) {
                       for (gsize i = r.begin (); i != r.end (); i++)
                         work (&loads[i]);
                     });
}

void
group (const HassLoad *loads, gsize n, BenchWork work)
{
  tbb::task_group group;
  for (gsize i = 0; i < n; i++)
    group.run ([load = loads[i], work] { work (&load); });
  group.wait ();
}

// The source and the sink are serial, in order; the worker is parallel.
auto
source (const HassLoad *loads, gsize n, gsize &next)
{
  return tbb::make_filter<void, HassLoad *> (
      tbb::filter_mode::serial_in_order,
      [=, &next] (tbb::flow_control &control) -> HassLoad * {
        if (next == n)
          {
            control.stop ();
            return nullptr;
          }
        return const_cast<HassLoad *> (&loads[next++]);
      });
}

void
pipeline (const HassLoad *loads, gsize n, BenchWork work)
{
  gsize next = 0;
  tbb::parallel_pipeline (tokens,
                          source (loads, n, next)
                              & tbb::make_filter<HassLoad *, void> (
                                  tbb::filter_mode::parallel,
                                  [=] (HassLoad *load) { work (load); }));
}

void
ordered (const HassLoad *loads, gsize n, BenchWork work,
         void (*take) (guint64 seq))
{
  gsize next = 0;
  tbb::parallel_pipeline (tokens,
                          source (loads, n, next)
                              & tbb::make_filter<HassLoad *, guint64> (
                                  tbb::filter_mode::parallel,
                                  [=] (HassLoad *load) -> guint64 {
                                    work (load);
                                    return static_cast<guint64> (load - loads);
                                  })
                              & tbb::make_filter<guint64, void> (
                                  tbb::filter_mode::serial_in_order,
                                  [=] (guint64 seq) { take (seq); }));
}

void
grow (tbb::task_group &group, guint n_children, gsize depth)
{
  for (guint i = 0; i < n_children && depth > 0; i++)
    group.run (
        [&group, n_children, depth] { grow (group, n_children, depth - 1); });
}

void
nested (guint n_roots, guint n_children, gsize depth)
{
  tbb::task_group group;
  for (guint i = 0; i < n_roots; i++)
    group.run (
        [&group, n_children, depth] { grow (group, n_children, depth); });
  group.wait ();
}

} // namespace

// C++17 has no designated initialisers: name, most, begin, end, indices,
// known, emitted, ordered, nested.
extern "C"
{
  const BenchPeer bench_tbb_for = { "TBB parallel_for",
                                    0,
                                    nullptr,
                                    nullptr,
                                    indices,
                                    known,
                                    nullptr,
                                    nullptr,
                                    nullptr };
  const BenchPeer bench_tbb_pipeline = { "TBB parallel_pipeline",
                                         0,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         pipeline,
                                         ordered,
                                         nullptr };
  const BenchPeer bench_tbb_group
      = { "TBB task_group", 0,     nullptr, nullptr, nullptr,
          nullptr,          group, nullptr, nested };
}
