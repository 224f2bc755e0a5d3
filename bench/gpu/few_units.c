/* SPDX-License-Identifier: MIT */
/* few_units.c: the sub-command "few": a farm of a few units, each of which
   takes a core long, with the default strategy and on each device alone.

   DESIGN. A farm takes TokenSteps; a unit is a load or a task. A cell of the
   table is a ratio, the units per second of one GPU over those of one core, and
   a number of units. In a farm of mixed tasks (the last three kinds) every
   other one takes a GPU twice as long as a core, so that no device suits all;
   of simple tasks (parallelism 1) it takes a thread block four times as long.
   1. This process finds how many steps take a core the wanted time.
   2. For each ratio a process finds how many steps make the GPU as fast.
   3. Each measurement is a process of its own with an empty profile. Its first
      run is a user's first one, the start of the driver included, unless
      another farm has opened the GPUs before; the later ones know what it has
      learned. Every result of every run is compared.

   Thread safety: one thread. */
#include "farms.h"

#include <hass/data_farm.h>
#include <stdio.h>
#include <stdlib.h>

#define LATER_RUNS 15
#define CALIBRATED_UNITS 64
#define MOST_ROUNDS 15
#define ROUNDS_OF_ALL 3

static const char *const kinds[N_UNIT_KINDS]
    = { "combine", "indivisible", "tasks", "mixed", "emitted", "simple" };
/* Of what a GPU is calibrated with. */
static const guint plain[N_UNIT_KINDS]
    = { UNIT_COMBINE, UNIT_INDIVISIBLE, UNIT_TASK,
        UNIT_TASK,    UNIT_TASK,        UNIT_INDIVISIBLE };

/* How many times as long as a core a GPU takes for a unit that does not suit
   it, if it computes so many at once as in its calibration. */
static const double slow[N_UNIT_KINDS]
    = { 0, 0, 0, 2, 2, 4. / CALIBRATED_UNITS };

/* What the cores of a process do. */
enum
{
  NO_CORES,
  ASKING, /* their worker asks whether it should stop */
  SILENT
};

/* What a process does. @opened: a farm before has opened the GPUs.
   @slow_steps: of a GPU for mixed tasks. @unit_s > 0: calibrates so that one
   GPU takes so long for a unit. */
typedef struct
{
  guint kind, cpu, n_gpus, opened, n, kib, n_steps, gpu_steps, slow_steps;
  double unit_s;
} Spec;

#define SPEC_FORMAT "%u:%u:%u:%u:%u:%u:%u:%u:%u:%lg"

/* Seconds, and the per cent of the work that GPUs did. A calibration answers
   @gpu_steps. */
typedef struct
{
  double first, first_part, later, later_part;
  guint gpu_steps;
} Answer;

/* -- The process -------------------------------------------------------- */

typedef struct
{
  const Spec *spec;
  gsize result_bytes;                  /* of a unit */
  guint8 *inputs, *results, *expected; /* [spec->n] */
} Units;

static FarmResult
run_once (const Units *u, guint gpu_steps)
{
  const Spec *s = u->spec;
  const FarmSettings settings = { "few", NULL, s->cpu > 0, s->n_gpus, 0 };
  TokenSteps steps[] = { token_steps (s->kib, s->n_steps, gpu_steps),
                         token_steps (s->kib, s->n_steps, s->slow_steps) };
  steps[0].asks = steps[1].asks = s->cpu == ASKING;
  memset (u->results, 0, s->n * u->result_bytes);
  FarmResult r = farm_token_steps (&settings, s->kind, steps, s->n, u->inputs,
                                   u->results);
  if (memcmp (u->results, u->expected, s->n * u->result_bytes) == 0)
    return r;
  fprintf (stderr, "a wrong result\n");
  exit (1);
}

/* The first number of steps is a guess that any other would do for; each run
   corrects it. */
static guint
calibrate (const Units *u)
{
  const Spec *s = u->spec;
  guint gpu_steps = (1u << 30) / (s->kib * (guint)KIB / 4);
  run_once (u, gpu_steps);
  for (guint i = 0; i < 5; i++)
    {
      double unit_s = run_once (u, gpu_steps).seconds / s->n;
      gpu_steps = (guint)CLAMP (gpu_steps * s->unit_s / unit_s, 1, 4e9);
    }
  return gpu_steps;
}

static int
run_spec (const char *text)
{
  Spec s;
  Answer a = { 0 };
  if (sscanf (text, SPEC_FORMAT, &s.kind, &s.cpu, &s.n_gpus, &s.opened, &s.n,
              &s.kib, &s.n_steps, &s.gpu_steps, &s.slow_steps, &s.unit_s)
          != 10
      || s.kind >= N_UNIT_KINDS)
    return 2;
  gsize bytes = s.kib * KIB, result = bytes / WORDS_SUMMED;
  Units u
      = { &s, result, pages_new (s.n * bytes, FALSE),
          pages_new (s.n * result, FALSE), pages_new (s.n * result, FALSE) };
  const TokenSteps steps = token_steps (s.kib, s.n_steps, 1);
  const FarmSettings opening = { "opening", NULL, FALSE, s.n_gpus, 0 };
  token_steps_fill (&steps, s.n, u.inputs, u.expected);
  if (s.opened)
    farm_empty (&opening, worker_empty, NULL, 256);
  if (s.unit_s > 0)
    a.gpu_steps = calibrate (&u);
  else
    {
      double seconds[LATER_RUNS], parts[LATER_RUNS];
      FarmResult r = run_once (&u, s.gpu_steps);
      a.first = r.seconds;
      a.first_part = 100 * r.gpu_share;
      for (guint i = 0; i < LATER_RUNS; i++)
        {
          r = run_once (&u, s.gpu_steps);
          seconds[i] = r.seconds;
          parts[i] = 100 * r.gpu_share;
        }
      a.later = median_of (seconds, LATER_RUNS);
      a.later_part = median_of (parts, LATER_RUNS);
    }
  printf ("%.9f %.9f %.9f %.9f %u\n", a.first, a.first_part, a.later,
          a.later_part, a.gpu_steps);
  return 0;
}

static Answer
in_process (const Spec *s)
{
  Answer a;
  char *spec = g_strdup_printf (SPEC_FORMAT, s->kind, s->cpu, s->n_gpus,
                                s->opened, s->n, s->kib, s->n_steps,
                                s->gpu_steps, s->slow_steps, s->unit_s);
  child_scan ("few", spec, 5, "%lf %lf %lf %lf %u", &a.first, &a.first_part,
              &a.later, &a.later_part, &a.gpu_steps);
  return a;
}

/* -- A cell ------------------------------------------------------------- */

/* Kinds of processes of a cell; _OPENED: a farm before has opened the GPUs. */
enum
{
  CORES,
  GPU,
  BOTH,
  GPU_OPENED,
  BOTH_OPENED,
  N_WAYS
};

/* Columns of the default strategy. */
enum
{
  FIRST,
  OPENED,
  LATER,
  N_RUNS
};

typedef struct
{
  double of_best;
  guint ratio, n;
} Worst;

typedef struct
{
  double ms[N_WAYS][2][MOST_ROUNDS], part[N_WAYS][2][MOST_ROUNDS];
  guint rounds;
} Cell;

static void
run_ways (Cell *cell, const Spec *spec)
{
  for (guint i = 0; i < cell->rounds * N_WAYS; i++)
    {
      guint round = i / N_WAYS, w = (i + round) % N_WAYS;
      Spec s = *spec;
      s.cpu = w == GPU || w == GPU_OPENED ? NO_CORES : spec->cpu;
      s.n_gpus = w != CORES ? s.n_gpus : 0;
      s.opened = w >= GPU_OPENED;
      Answer a = in_process (&s);
      cell->ms[w][0][round] = a.first * 1e3;
      cell->ms[w][1][round] = a.later * 1e3;
      cell->part[w][0][round] = a.first_part;
      cell->part[w][1][round] = a.later_part;
    }
}

/* Medians of a first run (@later 0) and of later ones. */
static double
ms_of (const Cell *cell, guint way, guint later)
{
  return median_of (cell->ms[way][later], cell->rounds);
}

/* Of the best single device, in the same rounds. */
static double
of_best (const Cell *cell, guint gpu, guint both, guint later)
{
  double ratios[MOST_ROUNDS];
  guint best
      = ms_of (cell, gpu, later) < ms_of (cell, CORES, later) ? gpu : CORES;
  for (guint i = 0; i < cell->rounds; i++)
    ratios[i] = 100 * cell->ms[best][later][i] / cell->ms[both][later][i];
  return median_of (ratios, cell->rounds);
}

static void
run_cell (const Spec *spec, guint ratio, double core_s, guint rounds,
          Worst *worst)
{
  static const guint gpu[] = { GPU, GPU_OPENED, GPU_OPENED },
                     both[] = { BOTH, BOTH_OPENED, BOTH_OPENED };
  Cell cell = { .rounds = rounds };
  run_ways (&cell, spec);
  printf ("| %5u | %7.1f | %5u | %9.1f |", ratio,
          core_s * 1e3 * spec->n / ms_of (&cell, GPU_OPENED, 1), spec->n,
          ms_of (&cell, CORES, 1));
  for (guint run = FIRST; run < N_RUNS; run++)
    {
      guint later = run == LATER;
      double part = median_of (cell.part[both[run]][later], rounds),
             reached = of_best (&cell, gpu[run], both[run], later);
      printf (" %7.1f | %7.1f | %5.1f | %5.1f |",
              ms_of (&cell, gpu[run], later), ms_of (&cell, both[run], later),
              part, reached);
      if (worst[run].n == 0 || reached < worst[run].of_best)
        worst[run] = (Worst){ reached, ratio, spec->n };
    }
  printf ("\n");
  fflush (stdout);
}

/* -- The sub-command ---------------------------------------------------- */

int
few_units_main (const GpuBenchOptions *options)
{
  static const guint ratios[] = { 2, 10, 50, 300, 1000 },
                     units[] = { 4, 16, 64 };
  const guint only_n = (guint)options->units;
  static const char *const names[]
      = { "first run", "first run, GPUs open", "later runs" };
  const guint ratio = (guint)options->ratio;
  guint rounds
      = MIN (options->repeat, options->targets ? ROUNDS_OF_ALL : MOST_ROUNDS);
  Worst worst[N_RUNS] = { { 0, 0, 0 } };
  Spec spec = { .cpu = options->silent ? SILENT : ASKING,
                .n_gpus = options->n_gpus,
                .kib = (guint)options->token_kib };
  while (spec.kind < N_UNIT_KINDS
         && g_strcmp0 (kinds[spec.kind], options->farm) != 0)
    spec.kind++;
  if (spec.kind == N_UNIT_KINDS)
    {
      fprintf (stderr, "no kind of farm \"%s\"\n", options->farm);
      return 2;
    }
  if (options->run)
    return run_spec (options->run);
  double core_s = token_steps_calibrate (spec.kib, options->core_ms * 1e-3,
                                         &spec.n_steps);
  printf (
      "\nUnits of %u KiB (%s), %.2f ms (%u steps) each on a core. Times in ms, "
      "medians of %u processes; \"reached\": the ratio with the units of the "
      "line; \"default\": the default strategy; \"GPU\": per cent of the work; "
      "\"best\": per cent of the best single device's speed. First runs of a "
      "process, with the opening of the GPUs in it and after another farm has "
      "opened them, and later runs.\n\n"
      "| ratio | reached | units | cores alone | first: GPU alone | default | "
      "GPU | best | opened: GPU alone | default | GPU | best | later: GPU "
      "alone | default | GPU | best |\n"
      "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
      spec.kib, kinds[spec.kind], core_s * 1e3, spec.n_steps, rounds);
  for (guint i = 0; i < (ratio ? 1 : G_N_ELEMENTS (ratios)); i++)
    {
      Spec one = spec;
      guint wanted = ratio ? ratio : ratios[i];
      one.n = CALIBRATED_UNITS;
      one.n_gpus = 1, one.cpu = NO_CORES;
      one.unit_s = core_s / wanted;
      one.kind = plain[spec.kind];
      spec.gpu_steps = in_process (&one).gpu_steps;
      spec.slow_steps = (guint)(spec.gpu_steps * (wanted * slow[spec.kind]));
      for (guint k = 0; k < (only_n ? 1 : G_N_ELEMENTS (units)); k++)
        {
          spec.n = only_n ? only_n : units[k];
          run_cell (&spec, wanted, core_s, rounds, worst);
        }
    }
  for (guint run = FIRST; run < N_RUNS; run++)
    target_add (TARGET_AT_LEAST, 97, worst[run].of_best, "%",
                "few units, %s, %s, worst (ratio %u, %u units): of the best "
                "single device",
                kinds[spec.kind], names[run], worst[run].ratio, worst[run].n);
  return 0;
}
