/* SPDX-License-Identifier: MIT */
/* random.c: random workloads on random machines, for judging strategies on
   what nobody tuned them on.

   DESIGN. Case i of a seed and a family is always the same one, whatever was
   drawn before it. Drawn in the family "usual", where "log" means evenly in the
   logarithm:
   1. cost class: equal, sized and unknown in turn; family of the latter two:
      lognormal (sigma 0.3 to 0.8), bimodal (2 to 30 % cost 3 to 20 times as
      much), ramp up or down (2 to 10), sorted (sigma 0.3 to 0.8), clustered (4
      to 64 clusters, 2 to 10); farm: partition or combine (sized: combine).
   2. machine: 1 to 64 cores (log) and 0 to 8 GPUs (none in one case of ten);
      one kind of GPU, or, in one machine of three, each for itself; a GPU is
      as fast as 0.3 to 30 cores times 1 to the number of cores; PCIe or
      NVLink bandwidth 3 to 100 GB/s, latency 5 to 20 us, launch 5 to 25 us,
      depth 1 to 4, half of the curves saturating, a link for each or, in one
      of four, shared.
   3. round: as long as 5 to 200 ms (log) at the rate of all devices together;
      1000 to 20000 units (log), each of which takes a core at most 0.5 % of the
      round on average (unless that needs more than 100000); copies in of a unit
      take 0 to 80 % (unknown costs: 20 %) of its kernel's time on the GPU where
      they weigh most, all GPUs together where they share a link. Where costs
      are known, elements and bytes go with them.
   4. width: the round holds at least 8 times the elements that fill all GPUs
      together (the width is drawn below that).
   The other families differ from it in what makes scheduling harder:
   - narrow: the round holds 0.5 to 8 times (log) what fills all GPUs together.
   - rare: one unit in a hundred costs a hundred times as much, so that it
     takes a core 0.25 to 2.5 (log) of the round, or less where that needs more
     units; costs are known and unknown in turn.
   - unsized: costs are known, elements and bytes are the same for all units.
   - long: 16 to 128 cores (log), and so few units that each core would do 1.5
     to 20 (log) of them if all devices together were cores.
   - indivisible: each unit is a block of a multiprocessor's, with 0.25 to 4
     times (log) the elements that fill one.
   - copied: GPUs as CUDA devices are, 20 to 3000 (log) times as fast as a core,
     with 12 to 55 GB/s (log) for each, launches of 5 to 100 us (log), and parts
     of 32 MiB into which grants are cut, four of which overlap. Copies take 1
     to 20 times (log) as long as kernels on the GPU where they weigh most, a
     round of 1 to 100 ms (log) of kernels holds 0.3 to 30 times (log) what
     fills all GPUs, and a kernel of few elements takes at most as long as the
     copies of four parts.
   - few: up to 4 times (log) as many units as cores and GPUs. GPUs as in
     copied, 2 to 1000 times (log) as fast as a core, other ones of the same
     machine 0.3 to 3 times (log) as fast as the first. In every other three
     cases units are thread blocks, which a multiprocessor does 0.5 to 20 times
     (log) as fast as a core; else the round holds 0.3 to 30 times (log) what
     fills the first GPU, FEW_THREADS elements a multiprocessor.
   - functions: tasks of 2 to 4 functions, whose parts of the units are to each
     other as numbers from 0.2 to 1; 0.25 to 100 times (log) as many units as
     cores. 1 to 3 GPUs as in copied. The first GPU computes the first function
     2 to 1000 times (log) as fast as a core, the second one 0.2 to 2 times
     (log), any other one either way; other GPUs of the same machine compute all
     of them 0.3 to 3 times (log) as fast as the first. A mean unit of the first
     function takes a core 1 to 100 ms (log), those of others 0.3 to 3 times
     (log) as long unless costs are equal. A unit has 0.03 to 3 times (log) the
     elements that fill the first GPU, FEW_THREADS a multiprocessor.
   - function: tasks; in every other three cases of one element each, of which
     one to four fill a multiprocessor; else of 2 to 1000 elements (log).

   Thread safety: any thread. */
#include "chance.h"
#include "sim.h"

/* Elements that a multiprocessor of the families "few" and "functions" runs at
   a time. */
#define FEW_THREADS 1024.

static void
draw_family (GRand *r, SimWorkload *w)
{
  w->family = (SimFamily)g_rand_int_range (r, SIM_LOGNORMAL, SIM_CLUSTERED + 1);
  switch (w->family)
    {
    case SIM_BIMODAL:
      w->family_a = sim_between (r, 0.02, 0.3);
      w->family_b = sim_between (r, 3, 20);
      break;
    case SIM_RAMP_UP:
    case SIM_RAMP_DOWN:
      w->family_a = sim_between (r, 2, 10);
      break;
    case SIM_CLUSTERED:
      w->family_a = floor (sim_log_between (r, 4, 65));
      w->family_b = sim_between (r, 2, 10);
      break;
    default:
      w->family_a = sim_between (r, 0.3, 0.8);
    }
}

static void
draw_gpu (GRand *r, HassGpuModel *g, double core_rate, guint cores)
{
  static const guint multiprocessors[] = { 8, 16, 30, 60, 108, 132 };
  g->multiprocessors = multiprocessors[g_rand_int_range (r, 0, 6)];
  g->work_per_ns = core_rate * sim_log_between (r, 0.3, 30)
                   * sim_between (r, 1, MAX (cores, 1) + 0.001);
  g->launch_ns = sim_between (r, 5e3, 25e3);
  g->link_ns = sim_between (r, 5e3, 20e3);
  g->h2d_bytes_per_ns = sim_log_between (r, 3, 100);
  g->d2h_bytes_per_ns = g->h2d_bytes_per_ns * sim_between (r, 0.8, 1);
  g->duplex = g_rand_boolean (r);
  g->depth = (guint)g_rand_int_range (r, 1, 5);
  g->curve = g_rand_boolean (r) ? HASS_CURVE_SATURATING : HASS_CURVE_LINEAR;
}

/* Makes a GPU what CUDA devices are beside a core that does @core_rate. */
static void
draw_cuda (GRand *r, HassGpuModel *g, double core_rate)
{
  g->work_per_ns = core_rate * sim_log_between (r, 20, 3000);
  g->launch_ns = sim_log_between (r, 5e3, 1e5);
  g->h2d_bytes_per_ns = g->d2h_bytes_per_ns = sim_log_between (r, 12, 55);
  g->duplex = TRUE;
  g->depth = g->kernels = 4;
  g->part_bytes = 32 << 20;
  g->curve = HASS_CURVE_LINEAR;
}

/* Returns: whether GPUs of the family are CUDA devices whose rates are drawn by
   draw_rate_of_few(). */
static gboolean
is_like_few (SimRandom family)
{
  return family == SIM_RANDOM_FEW || family == SIM_RANDOM_FUNCTIONS;
}

/* Draws the rate of the first GPU of such a family. */
static void
draw_rate_of_few (GRand *r, HassGpuModel *g, double core_rate, gboolean blocks)
{
  g->work_per_ns = core_rate
                   * (blocks ? g->multiprocessors * sim_log_between (r, 0.5, 20)
                             : sim_log_between (r, 2, 1000));
}

/* @blocks: units of the family "few" are thread blocks. */
static HassPlatform *
draw_platform (GRand *r, SimRandom family, gboolean blocks)
{
  HassPlatform *p = g_new0 (HassPlatform, 1);
  p->has_cpu = TRUE;
  p->cores = (guint)(family == SIM_RANDOM_LONG ? sim_log_between (r, 16, 129)
                                               : sim_log_between (r, 1, 65));
  p->core_work_per_ns = 1e-3;
  p->pull_ns = sim_between (r, 100, 500);
  p->n_gpus = family == SIM_RANDOM_FUNCTIONS ? (guint)g_rand_int_range (r, 1, 4)
              : g_rand_int_range (r, 0, 10) == 0
                  ? 0
                  : (guint)sim_log_between (r, 1, 9);
  p->gpus = g_new0 (HassGpuModel, p->n_gpus + 1);
  gboolean mixed = g_rand_int_range (r, 0, 3) == 0;
  gboolean shared
      = g_rand_int_range (r, 0, 4) == 0 && family != SIM_RANDOM_COPIED;
  for (guint g = 0; g < p->n_gpus; g++)
    {
      HassGpuModel *gpu = &p->gpus[g];
      if (g == 0 || mixed)
        {
          draw_gpu (r, gpu, p->core_work_per_ns, p->cores);
          if (family == SIM_RANDOM_COPIED || is_like_few (family))
            draw_cuda (r, gpu, p->core_work_per_ns);
          if (is_like_few (family) && g > 0)
            gpu->work_per_ns
                = p->gpus[0].work_per_ns * sim_log_between (r, 0.3, 3);
          else if (is_like_few (family))
            draw_rate_of_few (r, gpu, p->core_work_per_ns, blocks);
        }
      else
        *gpu = p->gpus[0];
      gpu->label = NULL;
      gpu->name = g_strdup_printf ("gpu%u", g);
      gpu->link = shared ? 0 : g;
    }
  p->n_links = shared ? MIN (p->n_gpus, 1) : p->n_gpus;
  return p;
}

static const char *const names[]
    = { "usual",       "narrow",   "rare",   "unsized", "long",
        "indivisible", "function", "copied", "few",     "functions" };

const char *
sim_random_name (SimRandom family)
{
  return family < SIM_RANDOM_FAMILIES ? names[family] : NULL;
}

/* Draws the cost class, the kind of farm and the family of costs. */
static void
draw_class (GRand *r, SimWorkload *w, SimRandom family, guint index)
{
  w->cost = family == SIM_RANDOM_UNSIZED ? HASS_COST_SIZED
            : family == SIM_RANDOM_RARE
                ? (index % 2 ? HASS_COST_SIZED : HASS_COST_UNKNOWN)
                : (HassCostClass)(index % 3);
  w->farm = w->cost == HASS_COST_SIZED || g_rand_boolean (r)
                ? HASS_FARM_COMBINE
                : HASS_FARM_PARTITION;
  if (w->cost != HASS_COST_EQUAL)
    draw_family (r, w);
  if (family == SIM_RANDOM_RARE)
    {
      w->family = SIM_BIMODAL;
      w->family_a = 0.01;
      w->family_b = 100;
    }
  if (family == SIM_RANDOM_INDIVISIBLE)
    w->farm = HASS_FARM_INDIVISIBLE;
  if (family == SIM_RANDOM_FUNCTION || family == SIM_RANDOM_FUNCTIONS)
    w->farm = HASS_FARM_FUNCTION;
  if (family == SIM_RANDOM_FEW)
    w->farm = index / 3 % 2 ? HASS_FARM_INDIVISIBLE : HASS_FARM_COMBINE;
  w->sizes = w->cost == HASS_COST_SIZED && family != SIM_RANDOM_UNSIZED
             && family != SIM_RANDOM_FUNCTIONS;
}

/* Draws the length of the round and its number of units. */
static void
draw_round (GRand *r, SimWorkload *w, SimRandom family, const HassPlatform *p)
{
  double rate = p->core_work_per_ns * p->cores;
  for (guint g = 0; g < p->n_gpus; g++)
    rate += p->gpus[g].work_per_ns;
  double round_ns = family == SIM_RANDOM_COPIED ? sim_log_between (r, 1e6, 1e8)
                                                : sim_log_between (r, 5e6, 2e8);
  double units = sim_log_between (r, 1000, 20000);
  double cores = rate / p->core_work_per_ns;
  if (family == SIM_RANDOM_LONG)
    units = cores * sim_log_between (r, 1.5, 20);
  else if (family == SIM_RANDOM_FEW)
    units = ceil (sim_log_between (r, 1, 4 * (p->cores + p->n_gpus)));
  else
    units = MAX (
        units,
        cores
            * (family == SIM_RANDOM_RARE ? sim_log_between (r, 20, 200) : 200));
  w->units = (guint32)MIN (units, 100000);
  w->work = round_ns * rate / w->units;
}

/* Draws functions, the number of units and their work. Factors are by the first
   function's times. */
static void
draw_functions (GRand *r, SimWorkload *w, const HassPlatform *p)
{
  double rate = p->gpus[0].work_per_ns / p->core_work_per_ns;
  w->n_functions = (guint)g_rand_int_range (r, 2, 5);
  for (guint i = 0; i < w->n_functions; i++)
    {
      SimFunction *f = &w->functions[i];
      gboolean suits = i == 0 || (i > 1 && g_rand_boolean (r));
      double times = i == 0  ? rate
                     : suits ? sim_log_between (r, 2, 1000)
                             : sim_log_between (r, 0.2, 2);
      f->part = sim_between (r, 0.2, 1);
      f->cpu_factor = i == 0 || w->cost == HASS_COST_EQUAL
                          ? 1
                          : sim_log_between (r, 0.3, 3);
      f->gpu_factor = f->cpu_factor * rate / times;
    }
  double units = ceil (p->cores * sim_log_between (r, 0.25, 100));
  w->units = (guint32)MAX (units, w->n_functions);
  w->work = p->core_work_per_ns * sim_log_between (r, 1e6, 1e8);
}

/* Draws the bytes of a unit: copies in as a part of the kernel's time, on the
   GPU where that part is largest. */
static void
draw_bytes (GRand *r, SimWorkload *w, SimRandom family, const HassPlatform *p)
{
  double part
      = family == SIM_RANDOM_COPIED
            ? sim_log_between (r, 1, 20)
            : sim_between (r, 0, w->cost == HASS_COST_UNKNOWN ? 0.2 : 0.8);
  double least = 0;
  for (guint g = 0; g < p->n_gpus; g++)
    {
      double bytes
          = w->work / p->gpus[g].work_per_ns * p->gpus[g].h2d_bytes_per_ns;
      least = g == 0 ? bytes : MIN (least, bytes);
    }
  if (p->n_links < p->n_gpus)
    part /= p->n_gpus;
  w->input_bytes = (guint64)(part * least);
  /* So that a part that a GPU copies has a block for each multiprocessor. */
  if (family == SIM_RANDOM_FEW && w->farm == HASS_FARM_INDIVISIBLE
      && p->n_gpus > 0)
    w->input_bytes = MIN (w->input_bytes,
                          p->gpus[0].part_bytes / p->gpus[0].multiprocessors);
  w->output_bytes = g_rand_boolean (r) ? w->input_bytes / 4 : 0;
}

/* Draws the number of elements that fill a GPU. */
static double
draw_width (GRand *r, const SimWorkload *w, SimRandom family,
            const HassPlatform *p, guint g)
{
  double widest = (double)w->units * w->elements / MAX (p->n_gpus, 1);
  double multiprocessors = p->gpus[g].multiprocessors;
  if (w->farm == HASS_FARM_INDIVISIBLE)
    return multiprocessors * w->elements * sim_log_between (r, 0.25, 4);
  if (family == SIM_RANDOM_FUNCTION && w->elements == 1)
    return multiprocessors * g_rand_int_range (r, 1, 5);
  if (family == SIM_RANDOM_COPIED)
    {
      const HassGpuModel *gpu = &p->gpus[g];
      double parts_ns = 4 * (double)gpu->part_bytes / gpu->h2d_bytes_per_ns;
      double most = parts_ns * gpu->work_per_ns / w->work * (double)w->elements;
      return MIN (widest / sim_log_between (r, 0.3, 30), most);
    }
  if (is_like_few (family))
    return multiprocessors * FEW_THREADS;
  return family == SIM_RANDOM_NARROW
             ? widest / sim_log_between (r, 0.5, 8)
             : sim_log_between (r, widest / 8 / 100, widest / 8);
}

SimCase *
sim_random_case_of (SimRandom family, guint64 seed, guint index, guint rounds)
{
  guint32 seeds[] = { (guint32)seed, (guint32)(seed >> 32), index, 0x72616e64 };
  GRand *r = g_rand_new_with_seed_array (seeds, G_N_ELEMENTS (seeds));
  SimWorkload *w = g_new0 (SimWorkload, 1);
  HassPlatform *p = draw_platform (r, family, index / 3 % 2);
  w->rates = g_array_new (FALSE, FALSE, sizeof (SimRates));
  w->name = g_strdup_printf (
      "%s-%u", family == SIM_RANDOM_USUAL ? "random" : names[family], index);
  p->name = g_strdup (w->name);
  draw_class (r, w, family, index);
  if (family == SIM_RANDOM_FUNCTIONS)
    draw_functions (r, w, p);
  else
    draw_round (r, w, family, p);
  draw_bytes (r, w, family, p);
  /* Elements of a partition farm have whole bytes. */
  gboolean one = w->farm == HASS_FARM_PARTITION
                 || (family == SIM_RANDOM_FUNCTION && index / 3 % 2 == 0);
  gboolean tasks = family == SIM_RANDOM_FUNCTION;
  w->elements = one ? 1 : (guint64)sim_log_between (r, tasks ? 2 : 1, 1000);
  if (family == SIM_RANDOM_FUNCTIONS)
    w->elements = (guint64)ceil (p->gpus[0].multiprocessors * FEW_THREADS
                                 * sim_log_between (r, 0.03, 3));
  if (family == SIM_RANDOM_FEW && p->n_gpus > 0)
    w->elements = (guint64)ceil (p->gpus[0].multiprocessors * FEW_THREADS
                                 / w->units * sim_log_between (r, 0.3, 30));
  for (guint g = 0; g < p->n_gpus; g++)
    p->gpus[g].width = g > 0 && p->gpus[g].work_per_ns == p->gpus[0].work_per_ns
                           ? p->gpus[0].width
                           : (guint64)MAX (draw_width (r, w, family, p, g), 1);
  g_rand_free (r);
  return sim_case_new (w, p, rounds, seed + index, NULL, 0);
}

SimCase *
sim_random_case (guint64 seed, guint index, guint rounds)
{
  return sim_random_case_of (SIM_RANDOM_USUAL, seed, index, rounds);
}
