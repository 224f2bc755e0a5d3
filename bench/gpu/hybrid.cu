/* SPDX-License-Identifier: MIT */
/* hybrid.cu: the sub-command "hybrid": who searches a text in host memory
   fastest.

   DESIGN. The settings of each hand-written contestant are searched first;
   then all meet in one contest, whose first rows are what the machine gives:
   the link with plain large copies, and the host's memory read by all cores.
   Contestants of hass are added where it says so.

   Thread safety: one thread. */
#include "cuda_check.cuh"
#include "hand_hybrid.h"
#include "raw.h"

#include <string>
#include <vector>

static const char needle[] = "Sherlock";

struct Machine
{
  RawLink *link;
  Crew *crew;
  guint n_threads;
  const HandText *text;
};

struct Hand
{
  HandHybrid *hand;
  const HandText *text;
  HandSettings settings;
  guint64 expected;
};

static double
measure_link (gconstpointer arg)
{
  const Machine *m = static_cast<const Machine *> (arg);
  return raw_link_gbps (m->link, RAW_TO_DEVICE, 4);
}

static double
measure_read (gconstpointer arg)
{
  const Machine *m = static_cast<const Machine *> (arg);
  return raw_read_gbps (m->crew, m->n_threads, m->text->text, m->text->n);
}

static double
measure_hand (gconstpointer arg)
{
  const Hand *h = static_cast<const Hand *> (arg);
  HandResult r = hand_hybrid_run (h->hand, h->text, h->text->n, &h->settings);
  if (r.count != h->expected)
    {
      fprintf (stderr,
               "by hand: %" G_GUINT64_FORMAT " matches, not %" G_GUINT64_FORMAT
               "\n",
               r.count, h->expected);
      exit (1);
    }
  return (double)h->text->n / r.seconds * 1e-9;
}

static void
contest_all (const std::vector<Hand> &hands, std::vector<Machine> &links,
             Machine *reader, guint repeat)
{
  char name[96];
  Contest *contest = contest_new (BENCH_MORE_IS_BETTER, "GB/s",
                                  "Search of %.1f GiB in pinned host memory",
                                  (double)reader->text->n / GIB);
  guint first = 0;
  for (Machine &m : links)
    contest_add (contest, measure_link, &m,
                 "link: plain copies of 1 GiB, %u GPU%s", m.n_threads,
                 m.n_threads > 1 ? "s" : "");
  contest_add (contest, measure_read, reader, "host memory read, %u threads",
               reader->n_threads);
  for (const Hand &h : hands)
    {
      guint row = contest_add (contest, measure_hand, &h, "hand: %s",
                               hand_settings_name (&h.settings, name));
      if (first == 0 && h.settings.n_gpus > 0 && h.settings.n_cpu_threads > 0)
        contest_reference (contest, first = row);
    }
  /* Contestants of hass: contest_add (...) here, with the same text. */
  contest_run (contest, repeat, TRUE);
  contest_free (contest);
}

/* Of one more run each. */
static void
print_shares (const std::vector<Hand> &hands)
{
  char name[96];
  printf ("\nShare of the text that GPUs searched\n\n");
  for (const Hand &h : hands)
    if (h.settings.n_gpus > 0)
      {
        HandResult r = hand_hybrid_run (h.hand, h.text, h.text->n, &h.settings);
        printf ("- %s: %.1f %%\n", hand_settings_name (&h.settings, name),
                100.0 * (double)r.gpu_bytes / (double)h.text->n);
      }
  fflush (stdout);
}

int
hybrid_main (const GpuBenchOptions *options)
{
  guint cores = bench_cores (), n_gpus = options->n_gpus;
  gsize n = MAX ((gsize)(options->gib * GIB), 256 * MIB) / MIB * MIB;
  gsize length = sizeof needle - 1;
  const guint8 *bytes = reinterpret_cast<const guint8 *> (needle);
  Crew *crew = crew_new (cores);
  guint8 *pages = pages_new (n, TRUE);
  gint64 begin = bench_now_ns ();
  guint64 expected = text_fill (pages, n, 1, bytes, length, crew);
  double filled = seconds_since (begin);
  begin = bench_now_ns ();
  CU (cudaHostRegister (pages, n, cudaHostRegisterPortable));
  printf ("\n%.1f GiB of text, %" G_GUINT64_FORMAT " times \"%s\"; written in "
          "%.2f s, registered in %.3f s; %u cores, %s\n",
          (double)n / GIB, expected, needle, filled, seconds_since (begin),
          cores, scan_cpu_width ());
  fflush (stdout);
  {
    HandText text = { pages, n, bytes, length };
    HandHybrid *hand = hand_hybrid_new (n_gpus);
    std::vector<Hand> hands;
    std::vector<Machine> links;
    Machine reader = { NULL, crew, cores, &text };
    begin = bench_now_ns ();
    for (guint g = 0; g <= n_gpus; g++)
      for (int with_cpu = g > 0 ? 0 : 1; with_cpu < 2; with_cpu++)
        hands.push_back (
            { hand, &text,
              hand_hybrid_search (hand, &text, g, with_cpu, options->repeat),
              expected });
    for (guint g = 1; g <= n_gpus; g++)
      links.push_back ({ raw_link_new (g, pages, n, GIB), NULL, g, &text });
    printf ("\nThe search for settings took %.1f s.\n", seconds_since (begin));
    contest_all (hands, links, &reader, options->repeat);
    print_shares (hands);
    for (Machine &m : links)
      raw_link_free (m.link);
    hand_hybrid_free (hand);
  }
  CU (cudaHostUnregister (pages));
  pages_free (pages, n);
  crew_free (crew);
  return 0;
}
