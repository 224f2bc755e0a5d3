/* SPDX-License-Identifier: MIT */
/* test_sampler.c: what farms leave in the profile store, and that the next
   one's strategy is told. Thread safety: one thread. */
#include <glib/gstdio.h>
#include <string.h>

#include "engine/profile/profile-private.h"
#include "engine/profile/sampler.h"
#include "hass/data_farm.h"
#include "hass_test.h"
#include "tests/engine/stand_in.h"

#define MS 1000000

static char *folder, *path;

static void
begin (void)
{
  folder = g_dir_make_tmp ("hass-sampler-XXXXXX", NULL);
  path = g_build_filename (folder, "store.txt", NULL);
  g_setenv ("HASS_PROFILE", path, TRUE);
}

static gboolean
stored (void)
{
  return g_file_test (path, G_FILE_TEST_EXISTS);
}

static void
end (void)
{
  g_autofree char *lock = g_strconcat (path, ".lock", NULL);
  g_setenv ("HASS_PROFILE", "off", TRUE);
  g_remove (path);
  g_remove (lock);
  CU_ASSERT_EQUAL (g_rmdir (folder), 0);
  g_free (folder);
  g_free (path);
}

/* -- A job that is told of completions by hand -------------------------- */

typedef struct
{
  HassDeviceTraits devices[2];
  gboolean lost[2];
  HassStrategyEnv env;
  HassSamplers *samplers; /* NULL: nothing is measured */
  gint64 now_ns;
} Bench;

static void
bench_begin (Bench *b, const char *name)
{
  *b = (Bench){
    .devices
    = { { .name = "cpu", .kind = HASS_DEVICE_CPU, .cores = 2 },
        { .name = "gpu0", .kind = HASS_DEVICE_GPU, .max_in_flight = 4 } },
  };
  b->env = (HassStrategyEnv){ .farm_name = name,
                              .farm = HASS_FARM_COMBINE,
                              .n_devices = 2,
                              .devices = b->devices };
  b->samplers = hass_samplers_begin (&b->env, "auto");
}

/* With a store that is empty. */
static void
fresh (Bench *b, const char *name)
{
  begin ();
  bench_begin (b, name);
}

/* One unit of so much work took so long. A CPU pool's completion spans idle
   time, too. */
static void
did (Bench *b, guint device, double work, gint64 ns)
{
  HassCompletion done = { .device = device,
                          .units = 1,
                          .work = work,
                          .start_ns = b->now_ns,
                          .end_ns = b->now_ns + (device ? ns : 5 * ns),
                          .kernel_ns = device ? ns / 2 : ns };
  b->now_ns = done.end_ns;
  hass_samplers_observe (b->samplers, &done);
}

static void
bench_free (Bench *b)
{
  g_clear_pointer (&b->samplers, hass_samplers_free);
}

/* What the store tells of a device after a farm of such a time. */
static HassProfileRate
bench_end_after (Bench *b, guint device, gint64 run_ns)
{
  if (b->samplers)
    hass_samplers_store (b->samplers, b->lost, run_ns);
  g_autofree HassProfileRate *rates
      = b->env.farm_name ? hass_profile_find (&b->env, "auto") : NULL;
  bench_free (b);
  return rates ? rates[device] : (HassProfileRate){ 0 };
}

#define bench_end(b, device) bench_end_after (b, device, 20 * MS)

static gboolean
near (double a, double b)
{
  return ABS (a - b) < 1e-6 * ABS (b);
}

static void
warm_up (void)
{
  for (guint d = 0; d < 2; d++)
    {
      Bench b;
      fresh (&b, "job");
      did (&b, d, 1, 9 * MS);
      for (int i = 0; i < 3; i++)
        did (&b, d, 1, 2 * MS);
      CU_ASSERT_TRUE (near (bench_end (&b, d).work_per_ns, 1.0 / (2 * MS)));
      end ();
    }
}

static void
pool_in_one (void)
{
  Bench b;
  fresh (&b, "job");
  did (&b, 0, 33, 11 * MS);
  CU_ASSERT_TRUE (near (bench_end (&b, 0).work_per_ns, 3.0 / MS));
  bench_begin (&b, "both");
  did (&b, 0, 30, 30 * MS);
  did (&b, 0, 50, 10 * MS);
  CU_ASSERT_TRUE (near (bench_end (&b, 0).work_per_ns, 2.0 / MS));
  end ();
}

static void
some (Bench *b)
{
  for (int i = 0; i < 5; i++)
    did (b, 1, 1, 4 * MS);
}

static void
one_unit (void)
{
  Bench b;
  fresh (&b, "job");
  did (&b, 0, 1, 9 * MS);
  did (&b, 1, 1, 90 * MS);
  did (&b, 1, 1, 4 * MS);
  CU_ASSERT_TRUE (near (bench_end (&b, 1).work_per_ns, 0.25 / MS));
  bench_begin (&b, "job");
  CU_ASSERT_TRUE (near (b.env.profile[0].work_per_ns, 1.0 / (9 * MS)));
  bench_free (&b);
  end ();
  for (gint64 ms = 80; ms <= 120; ms += 20)
    {
      fresh (&b, "job");
      did (&b, 0, 1, 100 * MS); /* of two cores the mean */
      did (&b, 1, 1, ms * MS);
      if (ms == 120) /* after a warm-up too fast for a millisecond */
        did (&b, 1, 1, MS / 2);
      CU_ASSERT_EQUAL (bench_end (&b, 1).runs, ms != 100);
      end ();
    }
}

static void
too_little (void)
{
  Bench b;
  fresh (&b, "all"); /* its first bundle, but there was nothing else */
  did (&b, 1, 1, 40 * MS);
  CU_ASSERT_TRUE (near (bench_end (&b, 1).work_per_ns, 1.0 / (40 * MS)));
  end ();
  fresh (&b, "job");
  for (int i = 0; i < 100; i++) /* not a millisecond together */
    did (&b, 1, 1, 10000);
  CU_ASSERT_EQUAL (bench_end (&b, 1).runs, 0);
  bench_begin (&b, "job");
  did (&b, 0, 1, MS / 2 - 1); /* two cores */
  CU_ASSERT_EQUAL (bench_end (&b, 0).runs, 0);
  CU_ASSERT_FALSE (stored ());
  end ();
}

static void
lost_device (void)
{
  Bench b;
  fresh (&b, "job");
  some (&b);
  b.lost[1] = TRUE;
  CU_ASSERT_EQUAL (bench_end (&b, 1).runs, 0);
  CU_ASSERT_FALSE (stored ());
  end ();
}

/* Of several in flight each began when the one before was done. */
static void
in_flight (void)
{
  Bench b;
  fresh (&b, "deep");
  for (int i = 0; i < 6; i++)
    {
      HassCompletion done = { .device = 1,
                              .units = 1,
                              .work = 1,
                              .start_ns = MAX (i - 3, 0) * 4 * MS,
                              .end_ns = (i + 1) * 4 * MS };
      hass_samplers_observe (b.samplers, &done);
    }
  CU_ASSERT_TRUE (near (bench_end (&b, 1).work_per_ns, 0.25 / MS));
  end ();
}

/* Of a short farm: all that cores did, a GPU's bundles but the first. */
static void
short_farm (void)
{
  Bench b;
  begin ();
  for (guint i = 0; i < 5; i++)
    {
      bench_begin (&b, "brief");
      CU_ASSERT_EQUAL (b.env.profile[0].runs >= 4, i == 4);
      did (&b, 0, 33, 200000);
      did (&b, 1, 99, 20000);
      did (&b, 1, 2, 40000);
      did (&b, 1, 8, 60000);
      HassProfileRate rate = bench_end_after (&b, i % 2, 5 * MS);
      if (i == 3)
        CU_ASSERT_TRUE (near (rate.work_per_ns, (4 + 64) / 560e3));
      if (i == 4)
        CU_ASSERT_TRUE (near (rate.work_per_ns, 33 / 200e3));
    }
  CU_ASSERT_FALSE (stored ());
  for (guint i = 0; i < 6; i++)
    {
      bench_begin (&b, "lonely");
      b.env.n_devices = 1; /* there is nothing to divide */
      did (&b, 0, 99, 200000);
      CU_ASSERT_EQUAL (bench_end_after (&b, 0, 5 * MS).runs, 0);
    }
  end ();
}

/* A bundle that failed says nothing of the device's rate. */
static void
failed_bundle (void)
{
  Bench b;
  HassCompletion failed
      = { .device = 1, .units = 1, .work = 1, .failed = TRUE };
  failed.end_ns = 900 * (gint64)MS;
  fresh (&b, "job");
  hass_samplers_observe (b.samplers, &failed);
  did (&b, 1, 1, 50 * MS);
  hass_samplers_observe (b.samplers, &failed);
  some (&b);
  CU_ASSERT_TRUE (near (bench_end (&b, 1).work_per_ns, 0.25 / MS));
  end ();
}

static void
not_kept (void)
{
  g_autofree char *long_name = g_strnfill (300, 'x');
  const char *const names[] = { NULL, "farm", long_name };
  Bench b;
  begin ();
  for (guint i = 0; i < 3; i++)
    {
      bench_begin (&b, names[i]);
      some (&b);
      CU_ASSERT_PTR_NULL (b.env.profile);
      bench_end (&b, 1);
    }
  /* A farm of ten milliseconds. */
  bench_begin (&b, "job");
  some (&b);
  hass_samplers_store (b.samplers, b.lost, 10 * MS);
  bench_free (&b);
  CU_ASSERT_FALSE (stored ());
  g_setenv ("HASS_PROFILE", "off", TRUE);
  bench_begin (&b, "job");
  CU_ASSERT_PTR_NULL (b.env.profile);
  CU_ASSERT_PTR_NULL (b.samplers);
  bench_free (&b);
  end ();
}

static void
fixed_cost (void)
{
  static const gint64 cloud_ms[] = { 5, 1, 9, 3, 6, 7, 2, 9, 1 };
  Bench b;
  fresh (&b, "line");
  for (int i = 0; i < 9; i++)
    did (&b, 1, 100 + 50 * (i % 4), 700000 + (100 + 50 * (i % 4)) * 2000);
  CU_ASSERT_TRUE (near (bench_end (&b, 1).latency_ns, 700000));
  /* Bundles all alike tell nothing, nor do those on no line. */
  bench_begin (&b, "alike");
  for (int i = 0; i < 9; i++)
    did (&b, 1, 100 + i % 2, 700000 + i % 2 * 100);
  CU_ASSERT_EQUAL (bench_end (&b, 1).latency_ns, 0);
  bench_begin (&b, "cloud");
  for (int i = 0; i < 9; i++)
    did (&b, 1, 100 + 50 * (i % 4), cloud_ms[i] * MS);
  CU_ASSERT_EQUAL (bench_end (&b, 1).latency_ns, 0);
  end ();
}

/* -- Farms -------------------------------------------------------------- */

static HassProfileRate heard[2]; /* what the strategy below was told */
static gboolean heard_any;

static gpointer
listen (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  heard_any = env->struct_size == sizeof *env && env->profile;
  for (guint d = 0; heard_any && d < MIN (env->n_devices, 2); d++)
    heard[d] = env->profile[d];
  return &heard_any;
}

/* Half of each round is the GPU's, however slow that is. */
static void
halve (gpointer self, HassRound *round)
{
  (void)self;
  hass_round_carve_back (round, 1, hass_round_units (round) / 2);
}

static HassAnswer
share (gpointer self, HassRound *round, guint device, gboolean force,
       HassGrant *grant)
{
  (void)self, (void)round, (void)force;
  grant->source = device ? HASS_FROM_SHARE : HASS_FROM_FRONT;
  grant->share = device;
  grant->units = 4;
  return HASS_TAKE;
}

static const HassStrategyOps listener
    = { .struct_size = sizeof (HassStrategyOps),
        .name = "listener",
        .summary = "notes what the profile store says",
        .source = "tests",
        .farms = HASS_FARM_ANY,
        .create = listen,
        .begin_round = halve,
        .grant = share };

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  (void)block, (void)worker, (void)error;
  g_usleep (500);
  return !*(const gboolean *)data;
}

static void
kernel (const HassBundle *bundle, gpointer data)
{
  (void)data;
  g_usleep (200 * bundle->n_blocks);
}

STAND_IN_WORKER (enqueue, kernel)

/* Runs a farm of so many loads on two cores and a device. */
static void
run_and_break (const char *name, guint n_loads, const char *platform,
               gboolean breaks, HassErrorPolicy on_error)
{
  g_autofree HassLoad *loads = g_new0 (HassLoad, n_loads);
  HassDevice *device = stand_in_new (&(StandInPlan){ .depth = 1 });
  g_autoptr (GError) error = NULL;
  hass_strategy_register (&listener, NULL); /* once is enough */
  for (guint i = 0; i < n_loads; i++)
    loads[i].size = 1;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = name;
  f.loads = loads;
  f.n_loads = n_loads;
  f.cpu_worker = work;
  f.gpu_worker = enqueue;
  f.round_loads = 40;
  f.user_data = &breaks;
  f.run.on_error = on_error;
  f.run.strategy = "listener";
  f.run.platform = platform;
  f.run.n_cores = 2;
  f.run.devices = &device;
  f.run.n_devices = 1;
  gboolean ends = !breaks || on_error == HASS_ON_ERROR_CONTINUE;
  CU_ASSERT_EQUAL (hass_data_farm_combine (&f, NULL, &error), ends);
  CU_ASSERT_EQUAL (error == NULL, ends);
  stand_in_free (device);
}

static void
run (const char *name, guint n_loads, const char *platform)
{
  run_and_break (name, n_loads, platform, FALSE, HASS_ON_ERROR_STOP);
}

static void
next_farm (void)
{
  begin ();
  run ("sleeper", 200, "");
  CU_ASSERT_TRUE (heard_any);
  CU_ASSERT_EQUAL (heard[0].runs, 0);
  CU_ASSERT_EQUAL (heard[0].work_per_ns, 0);
  run ("sleeper", 200, "");
  CU_ASSERT_TRUE (heard_any);
  /* Two cores of 500 us a unit, and a device of 200, at the best. */
  CU_ASSERT_EQUAL (heard[0].runs, 1);
  CU_ASSERT_TRUE (heard[0].work_per_ns > 0);
  CU_ASSERT_TRUE (heard[0].work_per_ns < 2 / 500e3);
  CU_ASSERT_EQUAL (heard[1].runs, 1);
  CU_ASSERT_TRUE (heard[1].work_per_ns > 0);
  CU_ASSERT_TRUE (heard[1].work_per_ns < 1 / 200e3);
  run ("dreamer", 200, "");
  CU_ASSERT_EQUAL (heard[0].runs, 0);
  run ("sleeper", 4, "");
  CU_ASSERT_EQUAL (heard[1].runs, 2);
  g_autoptr (GPtrArray) list = hass_profile_list (NULL);
  CU_ASSERT_EQUAL_FATAL (list->len, 4);
  const HassProfileEntry *e = list->pdata[0]; /* the order is no claim */
  for (guint i = 1; i < 4 && (e->farm[11] != 's' || *e->device != 'c'); i++)
    e = list->pdata[i];
  CU_ASSERT_STRING_EQUAL (e->farm, "hass-tests/sleeper");
  CU_ASSERT_STRING_EQUAL (e->device, "cpu");
  /* Counters of cores that are at work are not read at one instant. */
  CU_ASSERT_TRUE (e->unit_work > 0.8 && e->unit_work < 1.2);
  CU_ASSERT_STRING_EQUAL (e->machine, hass_profile_machine ());
  end ();
}

static void
broken_farms (void)
{
  begin ();
  run_and_break ("broken", 200, "", TRUE, HASS_ON_ERROR_CONTINUE);
  CU_ASSERT_FALSE (stored ());
  run_and_break ("broken", 200, "", TRUE, HASS_ON_ERROR_STOP);
  CU_ASSERT_FALSE (stored ());
  end ();
}

static void
not_stored (void)
{
  begin ();
  run (NULL, 200, "");
  CU_ASSERT_FALSE (heard_any);
  CU_ASSERT_FALSE (stored ());
  run ("sleeper", 200, HASS_TOP "/doc/platforms/thesis.platform");
  CU_ASSERT_FALSE (heard_any);
  CU_ASSERT_FALSE (stored ());
  end ();
}

HASS_TEST_SUITE (
    sampler, { "a device's first completion is left out", warm_up },
    { "what a CPU pool tells first counts when that is long", pool_in_one },
    { "a core's single unit counts, and a GPU's that outruns them", one_unit },
    { "too little work is no sample", too_little },
    { "a lost device is not stored", lost_device },
    { "of several bundles in flight each has its own time", in_flight },
    { "a short farm is remembered, but not written", short_farm },
    { "failed bundles do not count", failed_bundle },
    { "nameless and short farms are not kept", not_kept },
    { "a bundle's fixed cost is found where bundles differ", fixed_cost },
    { "the next farm's strategy is told what a farm has shown", next_farm },
    { "a farm that failed or left units unfinished is not stored",
      broken_farms },
    { "a farm without a name and virtual time are not stored", not_stored })
