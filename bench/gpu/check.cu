/* SPDX-License-Identifier: MIT */
/* check.cu: the sub-command "check": text, scans, the hand-written hybrid and
   the farms of hass against a scan byte by byte, before anything is timed.
   Thread safety: one thread. */
#include "cuda_check.cuh"
#include "farms.h"
#include "hand_hybrid.h"
#include "scan.cuh"

#include <hass/memory.h>
#include <string.h>
#include <sys/mman.h>
#include <vector>

static guint n_failed, n_checked;

static void
expect (guint64 found, guint64 expected, const char *what, gsize a, gsize b,
        gsize c)
{
  n_checked++;
  if (found != expected && n_failed++ < 20)
    printf ("FAILED %s (%zu, %zu, %zu): %" G_GUINT64_FORMAT
            ", not %" G_GUINT64_FORMAT "\n",
            what, a, b, c, found, expected);
}

static const guint8 *
as_bytes (const char *text)
{
  return reinterpret_cast<const guint8 *> (text);
}

/* The planted needles are all there are, and threads make no difference. */
static void
check_text (Crew *crew)
{
  static const gsize sizes[]
      = { 1, 31, 32, 33, 100, 70000, MIB, MIB + 17, 5 * MIB + 3 };
  static const char *const needles[]
      = { "Sherl", "Sherlock", "Sherlocked", "questionquestion" };
  Crew *alone = crew_new (1);
  for (gsize n : sizes)
    for (const char *needle : needles)
      {
        gsize length = strlen (needle);
        std::vector<guint8> a (n), b (n);
        if (!text_can_have (as_bytes (needle), length))
          {
            expect (strcmp (needle, "Sherl") == 0, TRUE, "refuses", n, 0, 0);
            continue;
          }
        guint64 planted
            = text_fill (a.data (), n, 5, as_bytes (needle), length, crew);
        text_fill (b.data (), n, 5, as_bytes (needle), length, alone);
        expect (memcmp (a.data (), b.data (), n), 0, "same text", n, 0, 0);
        expect (scan_naive (a.data (), n, n, as_bytes (needle), length),
                planted, "planted", n, length, 0);
        expect (scan_cpu (a.data (), n, n, as_bytes (needle), length), planted,
                "scan of text", n, length, 0);
      }
  crew_free (alone);
}

/* Readable memory of @room bytes, behind which none is readable, and its copy
   on the GPU, or NULL. */
struct ScanText
{
  gsize room;
  guint8 *pages, *device;
  unsigned long long *device_count;
  GRand *rand;
};

static gsize
random_up_to (GRand *rand, gsize most)
{
  return (gsize)g_rand_int_range (rand, 0, (gint32)most + 1);
}

/* Two letters, so that matches are many and overlap. */
static ScanText
scan_text_new (gsize room, gboolean gpu)
{
  ScanText t = { room, pages_new (room + 4096, FALSE), NULL, NULL,
                 g_rand_new_with_seed (2) };
  mprotect (t.pages + room, 4096, PROT_NONE);
  for (gsize i = 0; i < room; i++)
    t.pages[i] = "ab"[g_rand_int (t.rand) % 7 == 0];
  if (gpu)
    {
      CU (cudaMalloc (&t.device, room));
      CU (cudaMalloc (&t.device_count, sizeof *t.device_count));
      CU (cudaMemcpy (t.device, t.pages, room, cudaMemcpyHostToDevice));
    }
  return t;
}

static void
scan_text_free (ScanText *t)
{
  if (t->device)
    {
      CU (cudaFree (t->device));
      CU (cudaFree (t->device_count));
    }
  g_rand_free (t->rand);
  pages_free (t->pages, t->room + 4096);
}

static guint64
scan_on_gpu (const ScanText *t, gsize at, gsize n_starts, gsize n_readable,
             const ScanNeedle &needle)
{
  unsigned long long count = 0;
  CU (cudaMemset (t->device_count, 0, sizeof count));
  scan_gpu_launch (t->device + at, n_starts, n_readable, needle,
                   t->device_count, 0);
  CU (cudaGetLastError ());
  CU (cudaMemcpy (&count, t->device_count, sizeof count,
                  cudaMemcpyDeviceToHost));
  return count;
}

/* A random needle in a random part of at most @limit bytes, which ends where
   the readable memory does, or anywhere. */
static void
check_scan (const ScanText *t, gsize limit, gboolean at_end, gboolean gpu)
{
  gsize n_readable = random_up_to (t->rand, limit);
  gsize before = t->room - n_readable;
  gsize at = at_end ? before : random_up_to (t->rand, before);
  gsize n_starts = random_up_to (t->rand, n_readable);
  gsize length
      = (gsize)g_rand_int_range (t->rand, SCAN_MIN_NEEDLE, SCAN_MAX_NEEDLE + 1);
  const guint8 *text = t->pages + at;
  const guint8 *needle
      = t->pages + g_rand_int_range (t->rand, 0, (gint32)(t->room - length));
  guint64 expected = scan_naive (text, n_starts, n_readable, needle, length);
  for (guint bits : { 512, 256, 8 })
    {
      scan_cpu_limit (bits);
      expect (scan_cpu (text, n_starts, n_readable, needle, length), expected,
              "scan_cpu", n_starts, n_readable, bits);
    }
  scan_cpu_limit (512);
  if (gpu)
    expect (
        scan_on_gpu (t, at, n_starts, n_readable, scan_needle (needle, length)),
        expected, "scan_gpu", n_starts, n_readable, at);
}

static void
check_read_sum (const guint8 *bytes)
{
  guint64 sum = 0, word;
  for (gsize i = 0; i < 4096; i += sizeof word)
    {
      memcpy (&word, bytes + i, sizeof word);
      sum += word;
    }
  for (guint bits : { 512, 256, 8 })
    {
      scan_cpu_limit (bits);
      expect (read_sum (bytes, 4096), sum, "read_sum", bits, 0, 0);
    }
  scan_cpu_limit (512);
}

static void
check_scans (gboolean gpu)
{
  ScanText t = scan_text_new (64 * KIB, gpu);
  const gsize limits[] = { 64, 3000, t.room };
  for (guint turn = 0; turn < 3000; turn++)
    check_scan (&t, limits[turn % 3], turn % 2 == 0, gpu && turn < 1500);
  check_read_sum (t.pages);
  scan_text_free (&t);
}

/* Every mix of devices, with blocks that do not divide the text. */
static void
check_hand (Crew *crew, guint n_gpus)
{
  const gsize n = 40 * MIB + 12345;
  static const char needle[] = "Sherlock";
  guint8 *pages = pages_new (n, TRUE);
  guint64 expected = text_fill (pages, n, 9, as_bytes (needle), 8, crew);
  HandText text = { pages, n, as_bytes (needle), 8 };
  HandHybrid *hand = hand_hybrid_new (n_gpus);
  char name[96];
  if (n_gpus > 0)
    CU (cudaHostRegister (pages, (n + 4095) / 4096 * 4096,
                          cudaHostRegisterPortable));
  for (guint g = 0; g <= n_gpus; g++)
    for (guint t = g == 0; t <= bench_cores (); t++)
      for (guint s = 2; s <= (g > 0 ? 4u : 2u); s++)
        for (gsize block : { 100001 * (gsize)1, MIB, 64 * MIB })
          {
            HandSettings settings = { t, g, s, block, block, t % 2 == 0 };
            HandResult r = hand_hybrid_run (hand, &text, n, &settings);
            expect (r.count, expected, hand_settings_name (&settings, name), t,
                    g, block);
          }
  for (guint g = 0; g <= n_gpus; g++)
    hand_hybrid_search (hand, &text, g, TRUE, 3);
  if (n_gpus > 0)
    CU (cudaHostUnregister (pages));
  hand_hybrid_free (hand);
  pages_free (pages, n);
}

/* The same farms as in the contests, the text pinned and not. */
static void
check_search (Crew *crew, guint n_gpus)
{
  const gsize n = 40 * MIB + 12345;
  static const char needle[] = "Sherlock";
  guint8 *pages = pages_new (n, TRUE);
  guint64 expected = text_fill (pages, n, 9, as_bytes (needle), 8, crew);
  for (int pinned = 0; pinned < 2; pinned++)
    {
      if (pinned)
        expect (hass_memory_register (pages, n, NULL), TRUE,
                "hass_memory_register", n, 0, 0);
      for (guint g = 0; g <= n_gpus; g++)
        for (int cpu = g == 0; cpu < 2; cpu++)
          for (gsize block : { (gsize)0, (gsize)100001, MIB })
            for (gsize skip : { 0, 7 })
              {
                FarmSettings settings = { "check", NULL, cpu, g, block };
                HandText text
                    = { pages + skip, n - skip, as_bytes (needle), 8 };
                expect (farm_search (&settings, &text).sum,
                        expected
                            - scan_naive (pages, skip, n, as_bytes (needle), 8),
                        "farm_search", cpu, g, block);
              }
    }
  hass_memory_unregister (pages);
  pages_free (pages, n);
}

static void
check_count (Crew *crew, guint n_gpus)
{
  const gsize n = 3 * MIB, n_loads = 1000;
  static const char needle[] = "Sherlock";
  std::vector<guint8> heap (n);
  text_fill (heap.data (), n, 4, as_bytes (needle), 8, crew);
  const HandText text = { NULL, 0, as_bytes (needle), 8 };
  for (guint g = 0; g <= MIN (n_gpus, 1u); g++)
    for (gsize size : { 4, 64, 1000, 70000 })
      {
        std::vector<const guint8 *> loads;
        std::vector<guint64> counts (n_loads, 1234);
        FarmSettings settings = { "check", NULL, g == 0, g, 0 };
        for (gsize i = 0; i < n_loads; i++)
          loads.push_back (&heap[i * 7919 * 13 % (n - size)]);
        farm_count (&settings, &text, loads.data (), size, n_loads,
                    counts.data ());
        for (gsize i = 0; i < n_loads; i++)
          expect (counts[i],
                  scan_naive (loads[i], size, size, as_bytes (needle), 8),
                  "farm_count", size, i, g);
      }
}

static void
check_steps (guint n_gpus)
{
  for (gsize n : { 1, 63, 64, 65, 100000 })
    {
      Steps steps = { 1664525, 1013904223, 37, 3, 0 };
      guint64 expected = steps_naive (&steps, 0, n);
      expect (steps_cpu (&steps, 5, n), steps_naive (&steps, 5, n), "steps_cpu",
              n, 0, 0);
      for (guint g = 0; g <= MIN (n_gpus, 1u); g++)
        for (int cpu = g == 0; cpu < 2; cpu++)
          {
            FarmSettings settings = { "check", NULL, cpu, g, 1000 };
            expect (farm_steps (&settings, &steps, n).sum, expected,
                    "farm_steps", n, g, cpu);
          }
    }
}

int
check_main (const GpuBenchOptions *options)
{
  Crew *crew = crew_new (bench_cores () + 1);
  check_text (crew);
  check_scans (options->n_gpus > 0);
  check_hand (crew, options->n_gpus);
  check_search (crew, options->n_gpus);
  check_count (crew, options->n_gpus);
  check_steps (options->n_gpus);
  crew_free (crew);
  printf ("\n%u checks, %u failed%s\n", n_checked, n_failed,
          options->n_gpus == 0 ? "; those of the GPU were skipped" : "");
  return n_failed > 0;
}
