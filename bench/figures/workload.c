/* SPDX-License-Identifier: MIT */
/* workload.c: loads whose results can be checked.

   DESIGN. The input is random words, the same for the same seed. An element
   is 512 bytes and its result is a hash, so a load of n elements has n
   results of 8 bytes. Each equal load has the hash of one of its elements as
   its first word: that is where a search ends. What is expected is computed
   by plain threads, without the library. Each round has outputs of its own,
   so that a result of one cannot stand for that of another; checking them
   overwrites them.

   Thread safety: one thread calls; the CPU workers, any. */
#include "figures.h"
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Workers ------------------------------------------------------------ */

static gboolean
hash_on_cpu (const HassBlock *block, HassWorker *worker, gpointer user_data,
             GError **error)
{
  const FiguresSteps *steps = user_data;
  const guint64 *words = (const guint64 *)(gconstpointer)block->input;
  guint64 *out = (guint64 *)(gpointer)block->output;
  (void)worker, (void)error;
  for (gsize e = 0; e < block->count; e++)
    out[e] = figures_hash (words + e * FIGURES_WORDS, *steps);
  return TRUE;
}

static gboolean
search_on_cpu (const HassBlock *block, HassWorker *worker, gpointer user_data,
               GError **error)
{
  const FiguresSteps *steps = user_data;
  const guint64 *words = (const guint64 *)(gconstpointer)block->input;
  guint64 first = 1;
  (void)worker, (void)error;
  while (first < block->count
         && figures_hash (words + first * FIGURES_WORDS, *steps) != words[0])
    first++;
  *(guint64 *)(gpointer)block->output = first;
  return TRUE;
}

static HassGpuWorkerFunc
gpu_worker_of (const FiguresFarm *kind)
{
  if (kind->search)
    return figures_gpu_search;
  return kind->kind == HASS_FARM_INDIVISIBLE ? figures_gpu_loads
                                             : figures_gpu_elements;
}

/* -- Making it ---------------------------------------------------------- */

/* splitmix64: the nth random number of a seed. */
static guint64
random_at (guint64 seed, guint64 n)
{
  guint64 z = seed + (n + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static gpointer
host_memory (gsize bytes)
{
  GError *error = NULL;
  gpointer memory = hass_memory_alloc (bytes, &error);
  if (!memory)
    {
      fprintf (stderr, "%s\n", error->message);
      exit (1);
    }
  return memory;
}

/* Every nth of the loads. */
static void
fill_loads (guint index, gpointer data)
{
  FiguresWork *w = data;
  gsize n = w->load_elements * FIGURES_WORDS;
  for (gsize i = index; i < w->n_loads; i += crew_size (w->crew))
    for (gsize k = i * n; k < (i + 1) * n; k++)
      w->input[k] = random_at (w->seed, k);
}

static void
clear_outputs (guint index, gpointer data)
{
  FiguresWork *w = data;
  for (guint r = index; r < w->rounds; r += crew_size (w->crew))
    memset (w->output + r * w->n_elements, 0xff,
            w->n_elements * sizeof *w->output);
}

/* Sizes from 1 to 10 times the same, as many elements in all as fit. */
static void
choose_sizes (FiguresWork *w)
{
  gsize sum = 0;
  for (gsize i = 0; i < w->n_loads; i++)
    sum += w->sizes[i] = 1 + random_at (w->seed + 1, i) % 10;
  guint32 base = (guint32)(w->n_elements / sum);
  for (gsize i = 0; i < w->n_loads; i++)
    w->n_distinct += w->sizes[i] *= base;
}

FiguresWork *
figures_work_new (gsize n_loads, gsize load_elements, guint rounds,
                  guint64 seed, gboolean in_memory)
{
  FiguresWork *w = g_new0 (FiguresWork, 1);
  g_assert (n_loads > 0 && load_elements >= 10);
  w->n_loads = n_loads;
  w->load_elements = load_elements;
  w->n_elements = n_loads * load_elements;
  w->rounds = rounds;
  w->seed = seed;
  w->sizes = g_new (guint32, n_loads);
  w->targets = g_new (guint64, n_loads);
  choose_sizes (w);
  for (gsize i = 0; i < n_loads; i++)
    w->targets[i] = 1 + random_at (seed + 2, i) % (load_elements - 1);
  if (!in_memory)
    return w;
  w->crew = crew_new (bench_cores ());
  w->input = host_memory (w->n_elements * FIGURES_ELEMENT_BYTES);
  w->expected = g_new (guint64, w->n_elements);
  w->output = host_memory (rounds * w->n_elements * sizeof *w->output);
  crew_run (w->crew, crew_size (w->crew), fill_loads, w);
  crew_run (w->crew, crew_size (w->crew), clear_outputs, w);
  return w;
}

void
figures_work_free (FiguresWork *w)
{
  if (w->crew)
    crew_free (w->crew);
  hass_memory_free (w->input);
  hass_memory_free (w->output);
  g_free (w->expected);
  g_free (w->targets);
  g_free (w->sizes);
  g_free (w);
}

/* Plants the targets of every nth of the loads, then hashes its elements. */
static void
expect_loads (guint index, gpointer data)
{
  FiguresWork *w = data;
  for (gsize i = index; i < w->n_loads; i += crew_size (w->crew))
    {
      guint64 *words = w->input + i * w->load_elements * FIGURES_WORDS;
      guint64 *hashes = w->expected + i * w->load_elements;
      words[0] = figures_hash (words + w->targets[i] * FIGURES_WORDS, w->steps);
      for (gsize e = 0; e < w->load_elements; e++)
        hashes[e] = figures_hash (words + e * FIGURES_WORDS, w->steps);
      for (gsize e = 1; e < w->targets[i]; e++)
        if (hashes[e] == words[0])
          w->targets[i] = e;
    }
}

void
figures_work_set_steps (FiguresWork *w, double steps)
{
  guint64 n = (guint64)CLAMP (steps, FIGURES_WORDS, 1e6);
  w->steps = (FiguresSteps){ (guint32)(n / FIGURES_WORDS),
                             (guint32)(n % FIGURES_WORDS) };
  if (w->crew)
    crew_run (w->crew, crew_size (w->crew), expect_loads, w);
}

double
figures_work_steps (const FiguresWork *w)
{
  return (double)w->steps.each * FIGURES_WORDS + w->steps.more;
}

/* -- A farm of it ------------------------------------------------------- */

static HassLoad
load_at (const FiguresWork *w, const FiguresFarm *kind, gsize round,
         gsize first, gsize n)
{
  HassLoad load = { .input_bytes = n * FIGURES_ELEMENT_BYTES,
                    .output_bytes = n * sizeof *w->output,
                    .size = n };
  if (w->input)
    {
      load.input = w->input + first * FIGURES_WORDS;
      load.output = w->output + round * w->n_elements + first;
    }
  if (kind->search)
    load.output_bytes = sizeof *w->output;
  return load;
}

HassLoad *
figures_work_farm (const FiguresWork *w, const FiguresFarm *kind, guint rounds,
                   gboolean gpu, HassDataFarm *farm)
{
  gboolean large = kind->kind == HASS_FARM_PARTITION;
  gsize n = large ? 1 : w->n_loads;
  HassLoad *loads = g_new0 (HassLoad, n * rounds);
  g_assert (rounds <= w->rounds);
  for (guint r = 0; r < rounds; r++)
    for (gsize i = 0, first = 0; i < n; i++)
      {
        gsize size = large            ? w->n_elements
                     : kind->distinct ? w->sizes[i]
                                      : w->load_elements;
        loads[r * n + i] = load_at (w, kind, r, first, size);
        if (kind->search) /* read in virtual time alone */
          loads[r * n + i].cost = (float)w->targets[i];
        first += size;
      }
  *farm = (HassDataFarm)HASS_DATA_FARM_INIT;
  farm->name = "figures";
  farm->user_data = (gpointer)&w->steps;
  farm->loads = loads;
  farm->n_loads = n * rounds;
  farm->round_loads = large ? 0 : n;
  farm->block_elements = large ? w->load_elements : 0;
  farm->cost = kind->cost;
  farm->cpu_worker = kind->search ? search_on_cpu : hash_on_cpu;
  farm->gpu_worker = gpu ? gpu_worker_of (kind) : NULL;
  return loads;
}

/* -- Checking it -------------------------------------------------------- */

typedef struct
{
  FiguresWork *work;
  const FiguresFarm *kind;
  guint rounds;
  gsize *wrong; /* [crew_size] */
} Check;

static gsize
wrong_in_round (const Check *c, guint64 *out)
{
  const FiguresWork *w = c->work;
  gsize n = c->kind->distinct ? w->n_distinct : w->n_elements, wrong = 0;
  for (gsize i = 0, first = 0; c->kind->search && i < w->n_loads; i++)
    {
      wrong += out[first] != w->targets[i];
      first += w->load_elements;
    }
  for (gsize e = 0; !c->kind->search && e < n; e++)
    wrong += out[e] != w->expected[e];
  memset (out, 0xff, n * sizeof *out);
  return wrong;
}

static void
check_rounds (guint index, gpointer data)
{
  const Check *c = data;
  for (guint r = index; r < c->rounds; r += crew_size (c->work->crew))
    c->wrong[index]
        += wrong_in_round (c, c->work->output + r * c->work->n_elements);
}

gsize
figures_work_wrong (FiguresWork *w, const FiguresFarm *kind, guint rounds)
{
  if (!w->crew)
    return 0;
  guint n = crew_size (w->crew);
  Check c = { w, kind, rounds, g_new0 (gsize, n) };
  gsize wrong = 0;
  crew_run (w->crew, n, check_rounds, &c);
  for (guint i = 0; i < n; i++)
    wrong += c.wrong[i];
  g_free (c.wrong);
  return wrong;
}
