/* SPDX-License-Identifier: MIT */
/* tbb_wrapper.cpp: oneTBB behind plain C; no exception leaves it.

   The Makefile compiles it without ThreadSanitizer, which cannot see the
   synchronisation inside libtbb and would report what oneTBB's headers do. The
   caller makes visible what its functions need (cpu_pool.c, handed_over).

   Thread safety: any thread. */
#include "tbb_wrapper.h"

#include <new>
#include <optional>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

namespace
{

class Placer : public tbb::task_scheduler_observer
{
public:
  Placer (tbb::task_arena &arena, void (*enter) ())
      : tbb::task_scheduler_observer (arena), enter_ (enter)
  {
    observe (true);
  }
  void on_scheduler_entry (bool is_worker) override
  {
    if (is_worker)
      enter_ ();
  }

private:
  void (*enter_) ();
};

/* Sets how many threads oneTBB may make in this process, which it fixes when
   its first arena (group of threads) is made: @n_cores, but at least 256, for
   later and larger pools. Threads are only made when an arena needs them. */
void
allow_threads (unsigned n_cores)
{
  static tbb::global_control control (
      tbb::global_control::max_allowed_parallelism,
      n_cores > 256 ? n_cores : 256);
  (void)control;
}

} // namespace

struct HassTbbArena
{
  tbb::task_arena arena;
  std::optional<Placer> placer;

  explicit HassTbbArena (unsigned n) : arena (static_cast<int> (n), 1) {}
};

extern "C" HassTbbArena *
hass_tbb_arena_new (unsigned n_cores, void (*enter) ())
try
  {
    allow_threads (n_cores);
    auto *arena = new HassTbbArena (n_cores);
    arena->arena.initialize ();
    if (enter)
      arena->placer.emplace (arena->arena, enter);
    return arena;
  }
catch (...)
  {
    return nullptr;
  }

/* Queues run (data) for a thread of the arena. oneTBB throws if it cannot make
   a thread that it wants, but has queued the task by then, and a thread that
   it has will run it: so the exception is ignored. */
extern "C" void
hass_tbb_arena_enqueue (HassTbbArena *arena, void (*run) (void *), void *data)
try
  {
    arena->arena.enqueue ([run, data] { run (data); });
  }
catch (...)
  {
  }
