/* SPDX-License-Identifier: MIT */
/* hybrid.cu: the sub-command "hybrid": compares searches of a text in host
   memory.

   DESIGN. The settings of each hand-written contestant are searched first, and
   the block size of hass; then all meet in one contest, whose first rows are
   the limits of the machine: the link with plain large copies, and the host
   memory read by all cores. All search the same registered text with the same
   functions. hass runs with its defaults, and in further rows with the best
   block size and with other strategies.

   Thread safety: one thread. */
#include "cuda_check.cuh"
#include "farms.h"
#include "hand_hybrid.h"
#include "raw.h"

#include <hass/memory.h>
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

struct Farm
{
  FarmSettings settings;
  const HandText *text;
  guint64 expected;
};

/* Adds the rows of the contest for @n_gpus GPUs. */
struct Rows
{
  guint link, hand_gpu, hand, gpu, hybrid;
  guint best; /* hybrid with the block size that was found; 0: the default */
};

static void
check_count (const char *who, guint64 count, guint64 expected)
{
  if (count == expected)
    return;
  fprintf (stderr,
           "%s: %" G_GUINT64_FORMAT " matches, not %" G_GUINT64_FORMAT "\n",
           who, count, expected);
  exit (1);
}

static double
measure_hand (gconstpointer arg)
{
  const Hand *h = static_cast<const Hand *> (arg);
  HandResult r = hand_hybrid_run (h->hand, h->text, h->text->n, &h->settings);
  check_count ("by hand", r.count, h->expected);
  return (double)h->text->n / r.seconds * 1e-9;
}

static double
measure_farm (gconstpointer arg)
{
  const Farm *f = static_cast<const Farm *> (arg);
  FarmResult r = farm_search (&f->settings, f->text);
  check_count ("hass", r.sum, f->expected);
  return (double)f->text->n / r.seconds * 1e-9;
}

/* -- The block size of hass --------------------------------------------- */

static const char *
block_name (gsize block, char text[32])
{
  if (block == 0)
    g_strlcpy (text, "default blocks", 32);
  else
    g_snprintf (text, 32, "blocks of %zu MiB", block / MIB);
  return text;
}

/* 0: the default. */
static gsize
search_block (const Farm *like, guint repeat)
{
  static const gsize blocks[] = { 0, MIB, 2 * MIB, 4 * MIB };
  std::vector<Farm> farms;
  char name[32];
  guint winner = 0;
  for (gsize block : blocks)
    {
      farms.push_back (*like);
      farms.back ().settings.block_elements = block;
    }
  Contest *contest = contest_new (
      BENCH_MORE_IS_BETTER, "GB/s", "hass, CPU and %u GPU%s",
      like->settings.n_gpus, like->settings.n_gpus > 1 ? "s" : "");
  for (const Farm &f : farms)
    contest_add (contest, measure_farm, &f, "%s",
                 block_name (f.settings.block_elements, name));
  contest_run (contest, repeat, TRUE);
  for (guint i = 1; i < contest_size (contest); i++)
    if (contest_median (contest, i) > contest_median (contest, winner))
      winner = i;
  contest_free (contest);
  return blocks[winner];
}

/* -- The contest -------------------------------------------------------- */

struct Field
{
  std::vector<Hand> hands; /* CPU; then for each number of GPUs these alone and
                              with the CPU */
  std::vector<Machine> links;
  std::vector<Farm> farms; /* the same, and what was found */
  Machine reader;
};

static void
add_farms (Field *field, const HandText *text, guint64 expected, guint n_gpus,
           guint repeat)
{
  field->farms.push_back (
      { { "search-cpu", NULL, TRUE, 0, 0 }, text, expected });
  for (guint g = 1; g <= n_gpus; g++)
    {
      Farm both = { { "search", NULL, TRUE, g, 0 }, text, expected };
      Farm gpus = both, found = both, greedy = both, hass_p = both;
      gpus.settings.name = "search-gpu";
      gpus.settings.cpu = FALSE;
      found.settings.block_elements = search_block (&both, repeat);
      greedy.settings.strategy = "modified-greedy";
      hass_p.settings.strategy = "hass-p";
      field->farms.insert (field->farms.end (), { gpus, both, greedy, hass_p });
      if (found.settings.block_elements > 0)
        field->farms.push_back (found);
    }
}

static std::vector<Rows>
add_rows (Contest *contest, const Field *field)
{
  std::vector<Rows> rows;
  char name[96];
  for (const Machine &m : field->links)
    {
      rows.push_back ({ 0, 0, 0, 0, 0, 0 });
      rows.back ().link = contest_add (contest, measure_link, &m,
                                       "link: plain copies of 1 GiB, %u GPU%s",
                                       m.n_threads, m.n_threads > 1 ? "s" : "");
    }
  contest_add (contest, measure_read, &field->reader,
               "host memory read, %u threads", field->reader.n_threads);
  for (const Hand &h : field->hands)
    {
      guint row = contest_add (contest, measure_hand, &h, "hand: %s",
                               hand_settings_name (&h.settings, name));
      if (h.settings.n_gpus > 0 && h.settings.n_cpu_threads > 0)
        rows[h.settings.n_gpus - 1].hand = row;
      else if (h.settings.n_gpus > 0)
        rows[h.settings.n_gpus - 1].hand_gpu = row;
    }
  for (const Farm &f : field->farms)
    {
      const FarmSettings *s = &f.settings;
      gboolean found = s->block_elements > 0;
      guint row = contest_add (
          contest, measure_farm, &f, "hass: %s%s%u GPU%s, %s, %s",
          s->cpu ? "CPU" : "", s->cpu ? " + " : "", s->n_gpus,
          s->n_gpus == 1 ? "" : "s", s->strategy ? s->strategy : "auto",
          block_name (s->block_elements, name));
      if (s->n_gpus == 0 || s->strategy)
        continue;
      Rows *r = &rows[s->n_gpus - 1];
      *(!s->cpu ? &r->gpu : found ? &r->best : &r->hybrid) = row;
    }
  return rows;
}

/* The best single device: a CPU or one GPU, by hand or by hass. */
static guint
best_single (const Contest *contest, guint hand_cpu, guint hass_cpu,
             const Rows *one)
{
  guint best = hand_cpu;
  for (guint row : { hass_cpu, one->hand_gpu, one->gpu })
    if (contest_median (contest, row) > contest_median (contest, best))
      best = row;
  return best;
}

static void
add_targets (const Contest *contest, const std::vector<Rows> &rows)
{
  const guint read = (guint)rows.size (), hand_cpu = read + 1;
  const guint hass_cpu = hand_cpu + 1 + 2 * (guint)rows.size ();
  /* With more of them the host's memory is the limit. */
  const gboolean few_cores = bench_cores () <= 16;
  const guint single = best_single (contest, hand_cpu, hass_cpu, &rows[0]);
  for (guint g = 1; g <= rows.size (); g++)
    {
      const Rows *r = &rows[g - 1];
      const char *s = g > 1 ? "s" : "";
      target_add (TARGET_AT_LEAST, 97,
                  100 * contest_ratio (contest, r->gpu, r->link), "%",
                  "search, hass on %u GPU%s: of the link's rate", g, s);
      target_add (TARGET_AT_LEAST, 98,
                  100 * contest_ratio (contest, r->hybrid, r->hand), "%",
                  "search, hass on CPU and %u GPU%s: of the best by hand", g,
                  s);
      if (r->best > 0)
        target_add (TARGET_AT_LEAST, 98,
                    100 * contest_ratio (contest, r->best, r->hand), "%",
                    "the same with the best block size");
      target_add (g == 1 && few_cores ? TARGET_AT_LEAST : TARGET_NONE, 1.3,
                  contest_ratio (contest, r->hybrid, single), "times",
                  "search, hass on CPU and %u GPU%s: of the best single "
                  "device (%s)",
                  g, s, contest_name (contest, single));
      target_add (TARGET_NONE, 0, contest_median (contest, r->hybrid), "GB/s",
                  "search, hass on CPU and %u GPU%s", g, s);
      target_add (TARGET_NONE, 0,
                  100 * contest_ratio (contest, r->hybrid, read), "%",
                  "the same, of the rate at which cores read host memory");
    }
}

static void
contest_all (const Field *field, guint repeat)
{
  Contest *contest = contest_new (BENCH_MORE_IS_BETTER, "GB/s",
                                  "Search of %.1f GiB in pinned host memory",
                                  (double)field->reader.text->n / GIB);
  std::vector<Rows> rows = add_rows (contest, field);
  contest_reference (contest, rows[0].hand);
  contest_run (contest, repeat, TRUE);
  add_targets (contest, rows);
  contest_free (contest);
}

/* Of one more run each. */
static void
print_shares (const Field *field)
{
  char name[96];
  printf ("\nShare of the text that GPUs searched\n\n");
  for (const Hand &h : field->hands)
    if (h.settings.n_gpus > 0 && h.settings.n_cpu_threads > 0)
      {
        HandResult r = hand_hybrid_run (h.hand, h.text, h.text->n, &h.settings);
        printf ("- hand, %s: %.1f %%\n", hand_settings_name (&h.settings, name),
                100.0 * (double)r.gpu_bytes / (double)h.text->n);
      }
  for (const Farm &f : field->farms)
    if (f.settings.n_gpus > 0 && f.settings.cpu)
      printf ("- hass, %u GPU%s, %s, %s: %.1f %%\n", f.settings.n_gpus,
              f.settings.n_gpus > 1 ? "s" : "",
              f.settings.strategy ? f.settings.strategy : "auto",
              block_name (f.settings.block_elements, name),
              100 * farm_search (&f.settings, f.text).gpu_share);
  fflush (stdout);
}

static void
run_text (const HandText *text, guint64 expected, guint8 *pages, Crew *crew,
          const GpuBenchOptions *options)
{
  guint n_gpus = options->n_gpus;
  Field field;
  HandHybrid *hand = hand_hybrid_new (n_gpus);
  field.reader = { NULL, crew, crew_size (crew), text };
  gint64 begin = bench_now_ns ();
  for (guint g = 0; g <= n_gpus; g++)
    for (int with_cpu = g > 0 ? 0 : 1; with_cpu < 2; with_cpu++)
      field.hands.push_back (
          { hand, text,
            hand_hybrid_search (hand, text, g, with_cpu, options->repeat),
            expected });
  for (guint g = 1; g <= n_gpus; g++)
    field.links.push_back (
        { raw_link_new (g, pages, text->n, GIB), NULL, g, text });
  add_farms (&field, text, expected, n_gpus, options->repeat);
  printf ("\nThe search for settings took %.1f s.\n", seconds_since (begin));
  contest_all (&field, options->repeat);
  print_shares (&field);
  for (Machine &m : field.links)
    raw_link_free (m.link);
  hand_hybrid_free (hand);
}

int
hybrid_main (const GpuBenchOptions *options)
{
  gsize n = MAX ((gsize)(options->gib * GIB), 256 * MIB) / MIB * MIB;
  const guint8 *bytes = reinterpret_cast<const guint8 *> (needle);
  GError *error = NULL;
  Crew *crew = crew_new (bench_cores ());
  guint8 *pages = pages_new (n, TRUE);
  const HandText text = { pages, n, bytes, sizeof needle - 1 };
  gint64 begin = bench_now_ns ();
  guint64 expected = text_fill (pages, n, 1, bytes, text.length, crew);
  double filled = seconds_since (begin);
  begin = bench_now_ns ();
  /* As cudaHostRegister() does it, and hass knows. */
  if (!hass_memory_register (pages, n, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
  printf ("\n%.1f GiB of text, %" G_GUINT64_FORMAT " times \"%s\"; written in "
          "%.2f s, registered in %.3f s; %u cores, %s\n",
          (double)n / GIB, expected, needle, filled, seconds_since (begin),
          crew_size (crew), scan_cpu_width ());
  fflush (stdout);
  run_text (&text, expected, pages, crew, options);
  hass_memory_unregister (pages);
  pages_free (pages, n);
  crew_free (crew);
  return 0;
}
