/* SPDX-License-Identifier: MIT */
/* hand_hybrid.cu: the hand-written hybrid search.

   DESIGN. One atomic counter is the next byte of the text. A CPU thread adds
   its block size to it and searches what it passed; so does the one thread of
   each GPU, with blocks of another size, when one of its streams is free:
   copy, kernel, event. It waits for events that let it sleep, and takes a
   block only when it can begin with it. At the end each stream's counter is
   copied back. The clock runs from waking the threads, which exist already,
   to the last of them.

   Thread safety: see hand_hybrid.h; the counter is all that threads share. */
#include "hand_hybrid.h"

#include "cuda_check.cuh"
#include "scan.cuh"

#include <algorithm>
#include <atomic>
#include <vector>

struct Slot
{
  cudaStream_t stream;
  cudaEvent_t done;
  guint8 *text;
  unsigned long long *count;      /* on the device */
  unsigned long long *host_count; /* pinned */
};

struct HandHybrid
{
  Crew *crew;
  std::vector<std::vector<Slot>> gpus;
};

struct alignas (128) Tally
{
  guint64 count, bytes;
};

struct Run
{
  HandHybrid *hand;
  const HandText *text;
  gsize n;
  HandSettings settings;
  std::vector<Tally> tally; /* of each thread */
  alignas (128) std::atomic<gsize> next;
};

HandHybrid *
hand_hybrid_new (guint n_gpus)
{
  HandHybrid *hand = new HandHybrid;
  hand->crew = crew_new (bench_cores () + n_gpus);
  hand->gpus.resize (n_gpus);
  for (guint g = 0; g < n_gpus; g++)
    {
      CU (cudaSetDevice ((int)g));
      for (int s = 0; s < HAND_MAX_STREAMS; s++)
        {
          Slot slot;
          CU (cudaStreamCreateWithFlags (&slot.stream, cudaStreamNonBlocking));
          CU (cudaEventCreateWithFlags (
              &slot.done, cudaEventBlockingSync | cudaEventDisableTiming));
          CU (cudaMalloc (&slot.text, HAND_MAX_BLOCK + 256));
          CU (cudaMalloc (&slot.count, sizeof *slot.count));
          CU (cudaHostAlloc (&slot.host_count, sizeof *slot.host_count,
                             cudaHostAllocPortable));
          hand->gpus[g].push_back (slot);
        }
    }
  if (n_gpus > 0)
    CU (cudaSetDevice (0));
  return hand;
}

void
hand_hybrid_free (HandHybrid *hand)
{
  for (gsize g = 0; g < hand->gpus.size (); g++)
    {
      CU (cudaSetDevice ((int)g));
      for (Slot &slot : hand->gpus[g])
        {
          CU (cudaStreamDestroy (slot.stream));
          CU (cudaEventDestroy (slot.done));
          CU (cudaFree (slot.text));
          CU (cudaFree (slot.count));
          CU (cudaFreeHost (slot.host_count));
        }
    }
  if (!hand->gpus.empty ())
    CU (cudaSetDevice (0));
  crew_free (hand->crew);
  delete hand;
}

/* -- A run -------------------------------------------------------------- */

/* The next block of up to @block bytes; FALSE: nothing is left. Relaxed: the
   text does not change, and the crew's lock orders everything else. */
static gboolean
take (Run *run, gsize block, gsize *begin, gsize *n_starts, gsize *n_readable)
{
  *begin = run->next.fetch_add (block, std::memory_order_relaxed);
  if (*begin >= run->n)
    return FALSE;
  *n_starts = MIN (block, run->n - *begin);
  *n_readable = MIN (block + run->text->length - 1, run->n - *begin);
  return TRUE;
}

static void
run_cpu (Run *run, Tally *tally)
{
  const HandText *t = run->text;
  gsize begin, n_starts, n_readable;
  while (take (run, run->settings.cpu_block, &begin, &n_starts, &n_readable))
    tally->count += scan_cpu (t->text + begin, n_starts, n_readable, t->needle,
                              t->length);
}

static void
run_gpu (Run *run, guint gpu, Tally *tally)
{
  const HandText *t = run->text;
  const guint n_slots = run->settings.n_streams;
  std::vector<Slot> &slots = run->hand->gpus[gpu];
  gsize begin, n_starts, n_readable;
  CU (cudaSetDevice ((int)gpu));
  for (guint s = 0; s < n_slots; s++)
    CU (cudaMemsetAsync (slots[s].count, 0, sizeof *slots[s].count,
                         slots[s].stream));
  for (guint i = 0;; i++)
    {
      Slot *slot = &slots[i % n_slots];
      if (i >= n_slots)
        CU (cudaEventSynchronize (slot->done));
      if (!take (run, run->settings.gpu_block, &begin, &n_starts, &n_readable))
        break;
      CU (cudaMemcpyAsync (slot->text, t->text + begin, n_readable,
                           cudaMemcpyHostToDevice, slot->stream));
      scan_gpu_launch (slot->text, n_starts, n_readable,
                       scan_needle (t->needle, t->length), slot->count,
                       slot->stream);
      CU (cudaGetLastError ());
      CU (cudaEventRecord (slot->done, slot->stream));
      tally->bytes += n_starts;
    }
  for (guint s = 0; s < n_slots; s++)
    {
      CU (cudaMemcpyAsync (slots[s].host_count, slots[s].count,
                           sizeof *slots[s].count, cudaMemcpyDeviceToHost,
                           slots[s].stream));
      CU (cudaEventRecord (slots[s].done, slots[s].stream));
    }
  for (guint s = 0; s < n_slots; s++)
    {
      CU (cudaEventSynchronize (slots[s].done));
      tally->count += *slots[s].host_count;
    }
}

static void
bind (guint index, gpointer arg)
{
  const HandSettings *s = &static_cast<const Run *> (arg)->settings;
  gboolean bound = s->bound && index >= s->n_gpus;
  crew_bind (bound ? (gint)(index - s->n_gpus) : -1);
}

/* The first threads of the crew serve the GPUs, the others are the CPU's. */
static void
work (guint index, gpointer arg)
{
  Run *run = static_cast<Run *> (arg);
  Tally tally = { 0, 0 };
  if (index < run->settings.n_gpus)
    run_gpu (run, index, &tally);
  else
    run_cpu (run, &tally);
  run->tally[index] = tally;
}

HandResult
hand_hybrid_run (HandHybrid *hand, const HandText *text, gsize n,
                 const HandSettings *settings)
{
  Run run;
  guint n_threads = settings->n_gpus + settings->n_cpu_threads;
  HandResult result = { 0, 0, 0 };
  run.hand = hand;
  run.text = text;
  run.n = MIN (n, text->n);
  run.settings = *settings;
  run.tally.resize (n_threads);
  run.next = 0;
  crew_run (hand->crew, n_threads, bind, &run);
  gint64 begin = bench_now_ns ();
  crew_run (hand->crew, n_threads, work, &run);
  result.seconds = seconds_since (begin);
  for (const Tally &tally : run.tally)
    {
      result.count += tally.count;
      result.gpu_bytes += tally.bytes;
    }
  return result;
}

/* -- The search for the best settings ----------------------------------- */

const char *
hand_settings_name (const HandSettings *s, char text[96])
{
  char cpu[48] = "", gpu[48] = "";
  if (s->n_cpu_threads > 0)
    g_snprintf (cpu, sizeof cpu, "%u threads%s, %zu KiB", s->n_cpu_threads,
                s->bound ? " bound" : "", s->cpu_block / KIB);
  if (s->n_gpus > 0)
    g_snprintf (gpu, sizeof gpu, "%u GPU%s, %u streams, %zu MiB", s->n_gpus,
                s->n_gpus > 1 ? "s" : "", s->n_streams, s->gpu_block / MIB);
  g_snprintf (text, 96, "%s%s%s", cpu, *cpu && *gpu ? "; " : "", gpu);
  return text;
}

static std::vector<HandSettings>
all_settings (guint n_gpus, gboolean with_cpu)
{
  const gint cores = (gint)bench_cores ();
  std::vector<HandSettings> all;
  std::vector<guint> threads = { 0 }, streams = { 0 };
  std::vector<gsize> cpu_blocks = { 0 }, gpu_blocks = { 0 };
  if (with_cpu)
    {
      threads.clear ();
      for (gint less : { 4, 3, 2, 1, 0 })
        if (cores - less > 0)
          threads.push_back ((guint)(cores - less));
      cpu_blocks = { 256 * KIB, MIB, 4 * MIB };
    }
  if (n_gpus > 0)
    {
      streams = { 2, 3, 4 };
      gpu_blocks
          = { MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB };
    }
  for (guint t : threads)
    for (guint s : streams)
      for (gsize c : cpu_blocks)
        for (gsize g : gpu_blocks)
          all.push_back ({ t, n_gpus, s, c, g, FALSE });
  return all;
}

struct Trial
{
  HandHybrid *hand;
  const HandText *text;
  gsize n;
  HandSettings settings;
  double seconds;
};

static double
measure (gconstpointer arg)
{
  const Trial *trial = static_cast<const Trial *> (arg);
  HandResult r
      = hand_hybrid_run (trial->hand, trial->text, trial->n, &trial->settings);
  return (double)trial->n / r.seconds * 1e-9;
}

/* The best three, the best of each block size of the GPU, and all of those
   with bound threads. The prefix favours small blocks at its end; the whole
   text decides. */
static std::vector<Trial>
best_trials (const std::vector<Trial> &sorted, gsize n)
{
  std::vector<Trial> best;
  std::vector<gsize> seen;
  for (gsize i = 0; i < sorted.size (); i++)
    {
      gsize block = sorted[i].settings.gpu_block;
      gboolean first
          = std::find (seen.begin (), seen.end (), block) == seen.end ();
      if (i >= 3 && (!first || best.size () >= 7))
        continue;
      seen.push_back (block);
      best.push_back (sorted[i]);
      best.back ().n = n;
    }
  for (gsize i = 0, n_best = best.size (); i < n_best; i++)
    if (best[i].settings.n_cpu_threads > 0)
      {
        best.push_back (best[i]);
        best.back ().settings.bound = TRUE;
      }
  return best;
}

HandSettings
hand_hybrid_search (HandHybrid *hand, const HandText *text, guint n_gpus,
                    gboolean with_cpu, guint repeat)
{
  std::vector<Trial> trials;
  gsize prefix = MIN (text->n, 2 * GIB);
  guint winner = 0;
  char name[96];
  for (const HandSettings &s : all_settings (n_gpus, with_cpu))
    trials.push_back ({ hand, text, prefix, s, 0 });
  measure (&trials[0]);
  for (Trial &trial : trials)
    {
      double gbps[3];
      for (double &value : gbps)
        value = measure (&trial);
      trial.seconds = (double)prefix / median_of (gbps, 3) * 1e-9;
    }
  std::sort (
      trials.begin (), trials.end (),
      [] (const Trial &a, const Trial &b) { return a.seconds < b.seconds; });
  std::vector<Trial> best = best_trials (trials, text->n);
  Contest *contest = contest_new (
      BENCH_MORE_IS_BETTER, "GB/s",
      "By hand, %s, %u GPU%s: the best of %zu settings on %.1f GiB",
      with_cpu ? "CPU threads" : "no CPU threads", n_gpus,
      n_gpus == 1 ? "" : "s", trials.size (), (double)prefix / GIB);
  for (const Trial &trial : best)
    contest_add (contest, measure, &trial, "%s",
                 hand_settings_name (&trial.settings, name));
  contest_run (contest, repeat, TRUE);
  for (guint i = 1; i < contest_size (contest); i++)
    if (contest_median (contest, i) > contest_median (contest, winner))
      winner = i;
  contest_free (contest);
  return best[winner].settings;
}
