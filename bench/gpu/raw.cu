/* SPDX-License-Identifier: MIT */
/* raw.cu: what the machine itself does, in plain CUDA.

   DESIGN. A link is measured with large copies between pinned memory and one
   device buffer, enqueued without a wait between them; the time is that of
   the wall clock from the first call to the end of the last copy. The text
   of the other benchmarks is the host side there, so that it is the same
   memory.

   Thread safety: one thread. */
#include "raw.h"

#include "cuda_check.cuh"

#include <math.h>
#include <string.h>
#include <vector>

/* -- Links -------------------------------------------------------------- */

struct RawGpu
{
  guint8 *in, *out;
  cudaStream_t in_stream, out_stream;
};

struct RawLink
{
  std::vector<RawGpu> gpus;
  guint8 *host;
  gsize share, piece; /* bytes of a GPU's share of the host memory */
};

RawLink *
raw_link_new (guint n_gpus, guint8 *host, gsize host_bytes, gsize piece)
{
  RawLink *link = new RawLink;
  link->host = host;
  link->share = host_bytes / n_gpus / 4096 * 4096;
  link->piece = MIN (piece, link->share / 2);
  link->gpus.resize (n_gpus);
  for (guint g = 0; g < n_gpus; g++)
    {
      RawGpu *gpu = &link->gpus[g];
      CU (cudaSetDevice ((int)g));
      CU (cudaMalloc (&gpu->in, link->piece));
      CU (cudaMalloc (&gpu->out, link->piece));
      CU (cudaMemset (gpu->out, ' ', link->piece));
      CU (cudaDeviceSynchronize ());
      CU (cudaStreamCreateWithFlags (&gpu->in_stream, cudaStreamNonBlocking));
      CU (cudaStreamCreateWithFlags (&gpu->out_stream, cudaStreamNonBlocking));
    }
  CU (cudaSetDevice (0));
  return link;
}

double
raw_link_gbps (RawLink *link, RawDirection direction, guint n_pieces)
{
  const gsize piece = link->piece;
  /* The last piece of a share is written to, the others are read. */
  const gsize n_places = MAX (link->share / piece - 1, 1);
  gint64 begin = bench_now_ns ();
  for (guint i = 0; i < n_pieces; i++)
    for (gsize g = 0; g < link->gpus.size (); g++)
      {
        RawGpu *gpu = &link->gpus[g];
        guint8 *share = link->host + g * link->share;
        CU (cudaSetDevice ((int)g));
        if (direction & RAW_TO_DEVICE)
          CU (cudaMemcpyAsync (gpu->in, share + i % n_places * piece, piece,
                               cudaMemcpyHostToDevice, gpu->in_stream));
        if (direction & RAW_TO_HOST)
          CU (cudaMemcpyAsync (share + link->share - piece, gpu->out, piece,
                               cudaMemcpyDeviceToHost, gpu->out_stream));
      }
  for (RawGpu &gpu : link->gpus)
    {
      CU (cudaStreamSynchronize (gpu.in_stream));
      CU (cudaStreamSynchronize (gpu.out_stream));
    }
  double seconds = seconds_since (begin);
  CU (cudaSetDevice (0));
  guint ways = direction == RAW_BOTH ? 2 : 1;
  return (double)piece * n_pieces * ways * link->gpus.size () / seconds * 1e-9;
}

void
raw_link_free (RawLink *link)
{
  for (gsize g = 0; g < link->gpus.size (); g++)
    {
      RawGpu *gpu = &link->gpus[g];
      CU (cudaSetDevice ((int)g));
      CU (cudaFree (gpu->in));
      CU (cudaFree (gpu->out));
      CU (cudaStreamDestroy (gpu->in_stream));
      CU (cudaStreamDestroy (gpu->out_stream));
    }
  CU (cudaSetDevice (0));
  delete link;
}

/* -- Host memory -------------------------------------------------------- */

struct Reading
{
  const guint8 *bytes;
  gsize n;
  guint n_threads;
};

static void
read_share (guint index, gpointer arg)
{
  const Reading *reading = static_cast<const Reading *> (arg);
  gsize share = reading->n / reading->n_threads / 4096 * 4096;
  crew_bind ((gint)index);
  guint64 sum = read_sum (reading->bytes + index * share, share);
  __asm__ volatile("" : : "r"(sum));
}

double
raw_read_gbps (Crew *crew, guint n_threads, const guint8 *bytes, gsize n)
{
  Reading reading = { bytes, n, n_threads };
  gint64 begin = bench_now_ns ();
  crew_run (crew, n_threads, read_share, &reading);
  double seconds = seconds_since (begin);
  return (double)(n / n_threads / 4096 * 4096 * n_threads) / seconds * 1e-9;
}

/* -- Turnaround --------------------------------------------------------- */

static __global__ void
empty_kernel (void)
{
}

static double
median_ns (std::vector<double> &ns)
{
  /* The first tenth warms up. */
  gsize skip = ns.size () / 10;
  return median_of (ns.data () + skip, ns.size () - skip);
}

double
raw_launch_wait_ns (RawWait wait, guint n)
{
  cudaStream_t stream;
  cudaEvent_t event;
  unsigned flags = cudaEventDisableTiming
                   | (wait == RAW_EVENT_SLEEP ? cudaEventBlockingSync : 0);
  std::vector<double> ns (n);
  CU (cudaSetDevice (0));
  CU (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  CU (cudaEventCreateWithFlags (&event, flags));
  for (guint i = 0; i < n; i++)
    {
      gint64 begin = bench_now_ns ();
      empty_kernel<<<1, 32, 0, stream>>> ();
      if (wait == RAW_SPIN)
        CU (cudaStreamSynchronize (stream));
      else
        {
          cudaError_t state;
          CU (cudaEventRecord (event, stream));
          if (wait == RAW_EVENT_SLEEP)
            CU (cudaEventSynchronize (event));
          else
            while ((state = cudaEventQuery (event)) != cudaSuccess)
              if (state != cudaErrorNotReady)
                CU (state);
        }
      ns[i] = (double)(bench_now_ns () - begin);
    }
  CU (cudaGetLastError ());
  CU (cudaEventDestroy (event));
  CU (cudaStreamDestroy (stream));
  return median_ns (ns);
}

/* A copy and the wait for it. */
static double
copy_wait_ns (void *to, const void *from, gsize bytes, cudaMemcpyKind kind,
              guint n)
{
  cudaStream_t stream;
  std::vector<double> ns (n);
  CU (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  for (guint i = 0; i < n; i++)
    {
      gint64 begin = bench_now_ns ();
      CU (cudaMemcpyAsync (to, from, bytes, kind, stream));
      CU (cudaStreamSynchronize (stream));
      ns[i] = (double)(bench_now_ns () - begin);
    }
  CU (cudaStreamDestroy (stream));
  return median_ns (ns);
}

/* What one call costs its caller, without the wait: ns each of @n enqueued
   at once. */
static double
enqueue_ns (guint n, gboolean copies, void *to, const void *from)
{
  cudaStream_t stream;
  CU (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  gint64 begin = bench_now_ns ();
  for (guint i = 0; i < n; i++)
    if (copies)
      CU (cudaMemcpyAsync (to, from, 4096, cudaMemcpyHostToDevice, stream));
    else
      empty_kernel<<<1, 32, 0, stream>>> ();
  double ns = (double)(bench_now_ns () - begin) / n;
  CU (cudaGetLastError ());
  CU (cudaStreamSynchronize (stream));
  CU (cudaStreamDestroy (stream));
  return ns;
}

/* -- Registering and pageable memory ------------------------------------ */

static void
touch (guint8 *pages, gsize n)
{
  for (gsize i = 0; i < n; i += 4096)
    pages[i] = (guint8)i;
}

static void
time_registering (gboolean huge)
{
  std::vector<double> in, out;
  guint8 *pages = pages_new (GIB, huge);
  touch (pages, GIB);
  for (int i = 0; i < 4; i++)
    {
      gint64 begin = bench_now_ns ();
      CU (cudaHostRegister (pages, GIB, cudaHostRegisterPortable));
      double ns = (double)(bench_now_ns () - begin);
      begin = bench_now_ns ();
      CU (cudaHostUnregister (pages));
      if (i > 0)
        {
          in.push_back (ns);
          out.push_back ((double)(bench_now_ns () - begin));
        }
    }
  const char *kind = huge ? "2 MiB pages if given" : "4 KiB pages";
  printf ("| cudaHostRegister, 1 GiB, %-30s | %10.3f ms/GiB |\n", kind,
          median_of (in.data (), in.size ()) * 1e-6);
  printf ("| cudaHostUnregister, 1 GiB, %-28s | %10.3f ms/GiB |\n", kind,
          median_of (out.data (), out.size ()) * 1e-6);
  pages_free (pages, GIB);
}

static void
print_latencies (guint8 *host)
{
  static const gsize sizes[]
      = { 64, 4 * KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB };
  guint8 *device, *pageable = pages_new (64 * MIB, FALSE);
  CU (cudaMalloc (&device, 64 * MIB));
  touch (pageable, 64 * MIB);
  printf ("\nOne copy and the wait for it, median [us]\n\n");
  printf ("| bytes      | pinned to device | to pinned host | "
          "pageable to device |\n"
          "|-----------:|-----------------:|---------------:|"
          "-------------------:|\n");
  for (gsize size : sizes)
    {
      guint n = size <= MIB ? 1000 : 50;
      double in = copy_wait_ns (device, host, size, cudaMemcpyHostToDevice, n);
      double paged
          = copy_wait_ns (device, pageable, size, cudaMemcpyHostToDevice, n);
      /* What came from there goes back there. */
      CU (cudaMemcpy (device, host, size, cudaMemcpyHostToDevice));
      double out = copy_wait_ns (host, device, size, cudaMemcpyDeviceToHost, n);
      printf ("| %10zu | %16.2f | %14.2f | %18.2f |\n", size, in * 1e-3,
              out * 1e-3, paged * 1e-3);
    }
  pages_free (pageable, 64 * MIB);

  printf ("\nTurnaround and cost of calls\n\n"
          "| %-55s | %17s |\n|:%.55s-|%.18s:|\n",
          "", "", "----------------------------------------------------------",
          "----------------------");
  static const char *const wait[]
      = { "cudaStreamSynchronize, spinning", "cudaEventSynchronize, blocking",
          "cudaEventQuery, polling" };
  for (int w = RAW_SPIN; w <= RAW_EVENT_POLL; w++)
    printf ("| empty kernel and %-38s | %10.2f us     |\n", wait[w],
            raw_launch_wait_ns ((RawWait)w, 2000) * 1e-3);
  for (int copies = 0; copies < 2; copies++)
    {
      enqueue_ns (500, copies, device, host);
      printf ("| %-55s | %10.2f us     |\n",
              copies ? "enqueueing a copy of 4 KiB, its caller's time"
                     : "launching an empty kernel, its caller's time",
              enqueue_ns (500, copies, device, host) * 1e-3);
    }
  time_registering (TRUE);
  time_registering (FALSE);
  CU (cudaFree (device));
}

/* -- The sub-command ---------------------------------------------------- */

struct LinkCase
{
  RawLink *link;
  RawDirection direction;
  guint n_pieces;
};

static double
measure_link (gconstpointer arg)
{
  const LinkCase *c = static_cast<const LinkCase *> (arg);
  return raw_link_gbps (c->link, c->direction, c->n_pieces);
}

/* A GiB of pageable memory by one cudaMemcpy. */
static double
measure_pageable (gconstpointer arg)
{
  const guint8 *pages = static_cast<const guint8 *> (arg);
  guint8 *device;
  CU (cudaMalloc (&device, GIB));
  gint64 begin = bench_now_ns ();
  CU (cudaMemcpy (device, pages, GIB, cudaMemcpyHostToDevice));
  CU (cudaDeviceSynchronize ());
  double seconds = seconds_since (begin);
  CU (cudaFree (device));
  return (double)GIB / seconds * 1e-9;
}

struct ReadCase
{
  Crew *crew;
  guint n_threads;
  const guint8 *bytes;
  gsize n;
};

static double
measure_read (gconstpointer arg)
{
  const ReadCase *c = static_cast<const ReadCase *> (arg);
  return raw_read_gbps (c->crew, c->n_threads, c->bytes, c->n);
}

static void
run_links (guint n_gpus, guint8 *host, gsize n, guint repeat)
{
  static const char *const names[]
      = { "", "host to device", "device to host", "both at once, sum" };
  static const gsize pieces[] = { GIB, 16 * MIB };
  std::vector<RawLink *> links;
  std::vector<LinkCase> cases;
  cases.reserve (32);
  guint8 *pageable = pages_new (GIB, TRUE);
  touch (pageable, GIB);
  Contest *contest = contest_new (BENCH_MORE_IS_BETTER, "GB/s",
                                  "Plain copies, pinned but where it says so");
  for (guint g = 1; g <= n_gpus; g += MAX (n_gpus - 1, 1))
    for (gsize piece : pieces)
      {
        RawLink *link = raw_link_new (g, host, n, piece);
        links.push_back (link);
        for (int d = RAW_TO_DEVICE; d <= RAW_BOTH; d++)
          {
            cases.push_back ({ link, (RawDirection)d,
                               (guint)MAX (2 * GIB / link->piece, 2) });
            contest_add (contest, measure_link, &cases.back (),
                         "%u GPU%s, %s, pieces of %zu MiB", g, g > 1 ? "s" : "",
                         names[d], link->piece / MIB);
          }
      }
  contest_add (contest, measure_pageable, pageable,
               "1 GPU, host to device, pageable, 1 GiB");
  contest_run (contest, repeat, TRUE);
  contest_free (contest);
  for (RawLink *link : links)
    raw_link_free (link);
  pages_free (pageable, GIB);
}

static void
run_reads (Crew *crew, const guint8 *host, gsize n, guint repeat)
{
  guint cores = crew_size (crew);
  std::vector<guint> threads = { cores };
  std::vector<ReadCase> cases;
  for (guint t : { 1u, cores / 4, cores / 2, 3 * cores / 4, cores - 2 })
    if (t > 0 && t < cores && t != threads.back ())
      threads.push_back (t);
  cases.reserve (threads.size ());
  Contest *contest = contest_new (BENCH_MORE_IS_BETTER, "GB/s",
                                  "The CPU reads %.1f GiB of host memory (%s)",
                                  (double)n / GIB, scan_cpu_width ());
  for (guint t : threads)
    {
      cases.push_back ({ crew, t, host, n });
      contest_add (contest, measure_read, &cases.back (), "%u threads", t);
    }
  contest_run (contest, repeat, TRUE);
  contest_free (contest);
}

static void
touch_share (guint index, gpointer arg)
{
  const Reading *reading = static_cast<const Reading *> (arg);
  gsize share = reading->n / reading->n_threads / 4096 * 4096;
  touch (const_cast<guint8 *> (reading->bytes) + index * share,
         index + 1 == reading->n_threads ? reading->n - index * share : share);
}

int
raw_main (const GpuBenchOptions *options)
{
  guint cores = bench_cores ();
  gsize n = MAX ((gsize)(options->gib * GIB), 2 * GIB) / MIB * MIB;
  Crew *crew = crew_new (cores);
  guint8 *host = pages_new (n, TRUE);
  Reading all = { host, n, cores };
  crew_run (crew, cores, touch_share, &all);
  run_reads (crew, host, n, options->repeat);
  CU (cudaHostRegister (host, n, cudaHostRegisterPortable));
  run_links (options->n_gpus, host, n, options->repeat);
  print_latencies (host);
  CU (cudaHostUnregister (host));
  pages_free (host, n);
  crew_free (crew);
  return 0;
}
