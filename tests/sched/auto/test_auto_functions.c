/* SPDX-License-Identifier: MIT */
/* test_auto_functions.c: what auto does with tasks of several functions, of
   which each suits the devices in its own way, in the mini engine's virtual
   time.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>
#include <stdio.h>

#include "tests/sched/mini_engine.h"

#define CORES 16
#define CORE_NS 1e7  /* of a task */
#define FIXED_NS 3e5 /* of a bundle */
#define ELEMENTS 100000
#define PROCESSORS 132
#define CLOCK_NS 1e12

/* Of two functions in turn: a core takes CORE_NS for a task of either, a GPU
   CORE_NS / @times for one and @slow * CORE_NS for the other. */
typedef struct
{
  double times, slow;
  guint n_tasks;
  gboolean simple; /* a multiprocessor computes one; a full GPU is so fast */
} Mix;

static HassLoad *
tasks_new (guint n, guint n_functions)
{
  HassLoad *tasks = g_new0 (HassLoad, n);
  for (guint i = 0; i < n; i++)
    tasks[i] = (HassLoad){ .size = ELEMENTS,
                           .cost = 1,
                           .flags = HASS_LOAD_FUNCTION (i % n_functions) };
  return tasks;
}

/* A farm of two functions on cores and GPUs. The engine's clock does not begin
   with the farm. */
static MiniFarm *
farm_on (const MiniDevice *machine, guint n, const HassProfileRate *rates)
{
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_FUNCTION, HASS_COST_SIZED,
                                  machine, n, 1);
  farm->now_ns = CLOCK_NS;
  farm->env.function_profile = farm->env.profile = rates;
  mini_farm_tell_functions (farm, "auto", 2);
  return farm;
}

static MiniFarm *
farm_new (const Mix *mix, const HassProfileRate *rates)
{
  MiniDevice machine[]
      = { MINI_CPU (CORES, CORE_NS),
          MINI_GPU (PROCESSORS, CORE_NS / mix->times, FIXED_NS) };
  machine[1].fill_units = mix->simple ? PROCESSORS : 1;
  machine[1].slower[1] = mix->slow * mix->times;
  machine[1].opens_ns = machine[1].said_ns = CLOCK_NS + 1e5;
  return farm_on (machine, 2, rates);
}

static double
cores_alone_ns (const Mix *mix)
{
  return CORE_NS * ceil ((double)mix->n_tasks / CORES);
}

static double
gpu_alone_ns (const Mix *mix)
{
  double units = MAX (mix->n_tasks / 2., mix->simple ? PROCESSORS : 1);
  return 2 * FIXED_NS + units * CORE_NS * (1 / mix->times + mix->slow);
}

/* Returns: speed beside the better device alone. */
static double
of_best (const MiniRound *r, const Mix *mix)
{
  CU_ASSERT_TRUE (r->once && !r->hung);
  return MIN (cores_alone_ns (mix), gpu_alone_ns (mix))
         / r->summary.makespan_ns;
}

static void
run (MiniFarm *farm, const Mix *mix, MiniRound *r)
{
  g_autofree HassLoad *tasks = tasks_new (mix->n_tasks, 2);
  for (guint i = 0; i < mix->n_tasks && mix->simple; i++)
    tasks[i].size = 1;
  mini_farm_run (farm, tasks, mix->n_tasks, r);
}

/* A round whose paces earlier runs have shown. */
static MiniRound
known_round (const Mix *mix)
{
  const HassProfileRate rates[] = {
    { .work_per_ns = CORES / CORE_NS, .runs = 9 },
    { .work_per_ns = mix->times / CORE_NS, .latency_ns = FIXED_NS, .runs = 9 },
    { .work_per_ns = CORES / CORE_NS, .runs = 9 },
    { .work_per_ns = 1 / mix->slow / CORE_NS,
      .latency_ns = FIXED_NS,
      .runs = 9 }
  };
  MiniRound r;
  MiniFarm *farm = farm_new (mix, rates);
  run (farm, mix, &r);
  mini_farm_free (farm);
  return r;
}

/* Calls @judge for each cell of a table with the speeds of a first round, of
   which nothing is known, of the third one, and of one whose paces earlier runs
   have shown; of simple tasks of the fourth. */
static void
each_cell (gboolean simple,
           void (*judge) (const Mix *mix, const double speeds[3]))
{
  static const double times[] = { 2, 10, 50, 300, 1000 };
  static const guint few[][4] = { { 4, 16, 64, 1024 }, { 4, 20, 40, 400 } };
  const guint *units = few[simple];
  printf ("\n");
  for (guint i = 0; i < G_N_ELEMENTS (times); i++)
    for (guint j = 0; j < G_N_ELEMENTS (few[0]); j++)
      {
        Mix mix = { times[i], simple ? 4. / PROCESSORS : 2, units[j], simple };
        MiniRound r[3];
        MiniFarm *farm = farm_new (&mix, NULL);
        run (farm, &mix, &r[0]);
        run (farm, &mix, &r[1]); /* in which a GPU may try functions */
        run (farm, &mix, &r[1]);
        if (simple)
          run (farm, &mix, &r[2]);
        else
          r[2] = known_round (&mix);
        mini_farm_free (farm);
        double speeds[3];
        for (guint k = 0; k < 3; k++)
          speeds[k] = of_best (&r[k], &mix);
        printf ("    %4g times, %4u tasks: %3.0f, %3.0f, %s %3.0f %%\n",
                mix.times, mix.n_tasks, 100 * speeds[0], 100 * speeds[1],
                simple ? "then" : "known", 100 * speeds[2]);
        judge (&mix, speeds);
      }
  printf ("    ");
}

/* The third round knows what those before have tried. */
static void
judge (const Mix *mix, const double speeds[3])
{
  CU_ASSERT_TRUE (speeds[0] > 0.85);
  CU_ASSERT_TRUE (speeds[1] > 0.97 && speeds[2] > 0.97);
  if (mix->n_tasks > 1000)
    CU_ASSERT_TRUE (speeds[2] > 1.05);
}

static void
two (void)
{
  each_cell (FALSE, judge);
}

/* A first bundle fills a quarter of the GPU, and shows how long a full one
   takes: otherwise these first rounds are at 45 to 51 percent. */
static void
judge_simple (const Mix *mix, const double speeds[3])
{
  if (mix->n_tasks > 100 && mix->times >= 50)
    CU_ASSERT_TRUE (speeds[0] > 0.55);
  CU_ASSERT_TRUE (speeds[1] > 0.97 && speeds[2] > 0.97);
}

static void
simple (void)
{
  each_cell (TRUE, judge_simple);
}

/* A GPU that is fast in both functions gets all of each at once, but for the
   unit that the mini engine has a core take before the GPU opens. */
static void
surely_first (void)
{
  const Mix mix = { 300, 0.01, 64, FALSE };
  MiniRound r = known_round (&mix);
  CU_ASSERT_TRUE (r.once && !r.hung);
  CU_ASSERT_EQUAL (r.devices[1].units, mix.n_tasks - 1);
  CU_ASSERT_EQUAL (r.devices[1].bundles, 2);
}

/* One that earlier runs have shown, and that was said to open, but never does:
   cores wait for a moment, and then no longer. */
static void
never_opens (void)
{
  const Mix mix = { 300, 0.01, 64, FALSE };
  MiniDevice machine[]
      = { MINI_CPU (CORES, CORE_NS), MINI_GPU (132, CORE_NS / 300, FIXED_NS) };
  HassProfileRate rates[4];
  MiniRound r;
  machine[1].opens_ns = INFINITY;
  machine[1].said_ns = CLOCK_NS + 1e5;
  for (guint i = 0; i < 4; i++)
    rates[i]
        = (HassProfileRate){ .work_per_ns = (i % 2 ? 300 : CORES) / CORE_NS,
                             .runs = 9 };
  MiniFarm *farm = farm_on (machine, 2, rates);
  run (farm, &mix, &r);
  CU_ASSERT_TRUE (r.once && !r.hung);
  CU_ASSERT_TRUE (r.summary.makespan_ns <= 2 * CORE_NS + cores_alone_ns (&mix));
  mini_farm_free (farm);
}

static void
count_notes (gpointer data, const char *format, ...)
{
  (void)format;
  ++*(guint *)data;
}

/* While a GPU is being opened cores do not ask for each short task. */
static void
short_tasks (void)
{
  const Mix mix = { .n_tasks = 20000 };
  guint notes = 0;
  MiniDevice machine[]
      = { MINI_CPU (CORES, 1e3), MINI_GPU (132, 10, FIXED_NS) };
  MiniRound r;
  machine[1].opens_ns = CLOCK_NS + 5e8;
  MiniFarm *farm = farm_on (machine, 2, NULL);
  farm->env.note = count_notes;
  farm->env.note_data = &notes;
  run (farm, &mix, &r);
  CU_ASSERT_TRUE (r.once && !r.hung);
  CU_ASSERT_TRUE (notes < 200);
  mini_farm_free (farm);
}

/* What a GPU was slow in another one does not try, too. */
static void
two_gpus (void)
{
  const Mix mix = { 300, 100, 64, FALSE };
  MiniDevice gpu = MINI_GPU (PROCESSORS, CORE_NS / mix.times, FIXED_NS);
  gpu.slower[1] = mix.slow * mix.times;
  const MiniDevice machine[] = { MINI_CPU (CORES, CORE_NS), gpu, gpu };
  double busy_ns = 0;
  MiniFarm *farm = farm_on (machine, 3, NULL);
  for (guint i = 0; i < 3; i++)
    {
      MiniRound r;
      run (farm, &mix, &r);
      CU_ASSERT_TRUE (r.once && !r.hung);
      busy_ns += r.devices[1].busy_ns + r.devices[2].busy_ns;
    }
  CU_ASSERT_TRUE (busy_ns > mix.slow * CORE_NS);
  CU_ASSERT_TRUE (busy_ns < 1.5 * mix.slow * CORE_NS);
  mini_farm_free (farm);
}

/* Asks for the GPU and has it take what it is granted. Returns: whether it was
   granted units. */
static gboolean
gpu_takes (MiniFarm *farm)
{
  const HassStrategyOps *ops = farm->strategy->ops;
  gpointer self = farm->strategy->self;
  HassGrant grant = { .share = 1 };
  if (ops->grant (self, farm->round, 1, FALSE, &grant) != HASS_TAKE)
    return FALSE;
  CU_ASSERT_TRUE (hass_round_take (farm->round, 1, &grant).n > 0);
  ops->granted (self, farm->round, 1, &grant);
  return TRUE;
}

/* While a GPU tries a function, or another one, nothing else is in flight that
   could end at the same time. */
static void
trials_are_alone (void)
{
  const Mix mix = { 300, 2, 64, FALSE };
  g_autofree HassLoad *tasks = tasks_new (mix.n_tasks, 2);
  const HassSpan span
      = { .loads = tasks, .mask = G_MAXUINT64, .n = mix.n_tasks };
  const HassProfileRate known
      = { .work_per_ns = 1 / CORE_NS, .latency_ns = FIXED_NS, .runs = 9 };
  for (guint n_known = 0; n_known <= 2; n_known++)
    {
      HassProfileRate rates[4] = { { .work_per_ns = 0 } };
      if (n_known > 0)
        rates[1] = known;
      if (n_known > 1)
        rates[3] = known;
      MiniFarm *farm = farm_new (&mix, rates);
      farm->traits[1].opening = FALSE;
      hass_round_begin_loads (farm->round, HASS_FARM_FUNCTION, HASS_COST_SIZED,
                              &span);
      hass_round_open (farm->round);
      farm->strategy->ops->begin_round (farm->strategy->self, farm->round);
      CU_ASSERT_TRUE (gpu_takes (farm));
      CU_ASSERT_EQUAL (gpu_takes (farm), n_known == 2);
      mini_farm_free (farm);
    }
}

/* -- Any functions on any machine --------------------------------------- */

static double
anything (GRand *rand, double least, double most)
{
  return least * pow (most / least, g_rand_double (rand));
}

/* Up to three GPUs, some of which fail, are lost, open late or never. */
static MiniFarm *
any_farm (GRand *rand, guint n_functions)
{
  MiniDevice machine[4]
      = { MINI_CPU ((guint)g_rand_int_range (rand, 1, 33), 1e6) };
  guint n = (guint)g_rand_int_range (rand, 2, 5);
  for (guint d = 1; d < n; d++)
    {
      MiniDevice *gpu = &machine[d];
      *gpu = (MiniDevice)MINI_GPU (132, anything (rand, 1e3, 1e7), 1e5);
      gpu->fails = g_rand_int_range (rand, 0, 4) == 0 ? 0.3 : 0;
      gpu->lost_after = (guint)MAX (g_rand_int_range (rand, -20, 6), 0);
      if (g_rand_boolean (rand))
        gpu->opens_ns = CLOCK_NS + anything (rand, 1e4, 1e8);
      if (gpu->opens_ns > 0 && g_rand_boolean (rand))
        gpu->said_ns = g_rand_boolean (rand) ? INFINITY : CLOCK_NS + 1e6;
    }
  for (guint d = 0; d < n; d++)
    for (guint k = 0; k < n_functions; k++)
      machine[d].slower[k] = anything (rand, 0.1, 100);
  MiniFarm *farm = mini_farm_new ("auto", HASS_FARM_FUNCTION, HASS_COST_SIZED,
                                  machine, n, g_rand_int (rand));
  farm->noise = g_rand_boolean (rand) ? 0.3 : 0;
  farm->now_ns = CLOCK_NS;
  mini_farm_tell_functions (farm, "auto", n_functions);
  return farm;
}

static gboolean
any_may_be_lost (const MiniFarm *farm)
{
  gboolean any = FALSE;
  for (guint d = 0; d < farm->n; d++)
    any |= farm->devices[d].lost_after > 0;
  return any;
}

/* Each task is computed once, where it may be, and no round hangs. In some
   rounds some tasks are simple, and some for one kind of device. */
static void
any (void)
{
  guint64 rescued = 0;
  for (guint seed = 1; seed <= 400; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      guint n_functions = (guint)g_rand_int_range (rand, 2, 9);
      MiniFarm *farm = any_farm (rand, n_functions);
      for (guint i = 0; i < 3; i++)
        {
          MiniRound r;
          guint n = (guint)anything (rand, 1, 500);
          HassLoad *tasks
              = i < 2 ? tasks_new (n, n_functions)
                      : mini_random_loads (rand, n, HASS_FARM_FUNCTION,
                                           !any_may_be_lost (farm));
          for (guint t = 0; t < n; t++)
            tasks[t].flags = (tasks[t].flags & ~HASS_LOAD_FUNCTIONS)
                             | HASS_LOAD_FUNCTION (g_rand_int_range (
                                 rand, 0, (gint32)n_functions));
          mini_farm_run (farm, tasks, n, &r);
          rescued += r.rescued;
          if (!r.once || r.hung || r.rescued > 0)
            printf ("\n    seed %u, round %u: %s ...", seed, i,
                    r.hung      ? "hangs"
                    : r.rescued ? "rescued"
                                : "not once each");
          CU_ASSERT_TRUE (r.once && !r.hung);
          g_free (tasks);
        }
      mini_farm_free (farm);
    }
  printf ("\n    %" G_GUINT64_FORMAT " units given away by the engine ...",
          rescued);
  CU_ASSERT_EQUAL (rescued, 0);
}

HASS_TEST_SUITE (
    auto_functions,
    { "once paces are known auto is not slower than one device", two },
    { "nor of simple tasks", simple },
    { "a GPU that is surely first gets a function at once", surely_first },
    { "cores do not wait for a GPU that never opens", never_opens },
    { "short tasks are not asked for one by one", short_tasks },
    { "a GPU does not try what another one was slow in", two_gpus },
    { "a GPU tries a function while it computes no other", trials_are_alone },
    { "any functions on any machine are computed once", any })
