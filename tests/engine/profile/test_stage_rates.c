/* SPDX-License-Identifier: MIT */
/* test_stage_rates.c: what pipelines leave in the profile store, and what the
   strategy of the next run gets.
   Thread safety: one thread. */
#include <string.h>

#include "engine/profile/sampler.h"
#include "hass_test.h"
#include "store_trial.h"

#define MS 1000000
#define RUN_NS (50 * MS)

/* Cores alone run "read", cores and the GPU "filter" and "check". */
enum
{
  READ,
  FILTER,
  CHECK,
  CLASSES
};

static const HassClassTraits classes[CLASSES]
    = { { .name = "read", .devices = 1 },
        { .name = "filter", .devices = 3 },
        { .name = "check", .devices = 3, .cost = HASS_COST_UNKNOWN } };

typedef struct
{
  HassStrategyEnv env;
  HassSamplers *samplers; /* NULL: nothing is measured */
  gboolean lost[STORE_DEVICES];
} Bench;

static void
begin (Bench *b, const char *name)
{
  *b = (Bench){ .env = { .farm_name = name,
                         .farm = HASS_FARM_PIPELINE,
                         .n_devices = STORE_DEVICES,
                         .devices = store_devices,
                         .n_classes = CLASSES,
                         .classes = classes } };
  b->samplers = hass_samplers_begin (&b->env, "pipe-auto");
}

/* A device has done @units of a class, each of which took @ns. */
static void
did (Bench *b, guint device, guint c, guint64 units, double ns)
{
  HassServed done = { .device = device,
                      .class_index = c,
                      .units = units,
                      .busy_ns = (double)units * ns,
                      .kernel_ns = device ? (double)units * ns : 0 };
  hass_samplers_served (b->samplers, &done);
}

static void
end_after (Bench *b, gint64 run_ns)
{
  if (b->samplers)
    hass_samplers_store (b->samplers, b->lost, run_ns);
  g_clear_pointer (&b->samplers, hass_samplers_free);
}

/* Returns: the rate in units per ms that a pipeline's strategy now gets. */
static double
told (const char *name, guint device, guint c)
{
  Bench b;
  begin (&b, name);
  double rate = b.env.profile
                    ? b.env.profile[c * STORE_DEVICES + device].work_per_ns
                    : 0;
  g_clear_pointer (&b.samplers, hass_samplers_free);
  return rate * MS;
}

/* Four cores that take 8 ms for a unit do one in 2 ms. */
static void
stored (void)
{
  Bench b;
  store_begin ();
  begin (&b, "video");
  CU_ASSERT_PTR_NOT_NULL_FATAL (b.env.profile);
  CU_ASSERT_EQUAL (b.env.profile[FILTER * STORE_DEVICES].work_per_ns, 0);
  did (&b, 0, READ, 100, MS);
  did (&b, 0, FILTER, 1, 8 * MS);
  did (&b, 1, FILTER, 30, 0.5 * MS);
  end_after (&b, RUN_NS);
  CU_ASSERT_DOUBLE_EQUAL (told ("video", 0, FILTER), 0.5, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (told ("video", 1, FILTER), 2, 1e-6);
  CU_ASSERT_EQUAL (told ("video", 0, CHECK), 0);
  CU_ASSERT_EQUAL (told ("film", 0, FILTER), 0);
  g_autoptr (GPtrArray) entries = hass_profile_list (NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (entries);
  CU_ASSERT_EQUAL_FATAL (entries->len, 2);
  const HassProfileEntry *e = entries->pdata[0];
  CU_ASSERT_TRUE (g_str_has_suffix (e->farm, "/video/filter"));
  CU_ASSERT_EQUAL (e->kind, HASS_FARM_PIPELINE);
  CU_ASSERT_STRING_EQUAL (e->device, "cpu");
  store_end ();
}

/* A unit that takes a core 8 ms is held for 2 ms while four compute it. */
static void
stores_units_on_all_cores (void)
{
  Bench b;
  store_begin ();
  begin (&b, "video");
  HassServed done = {
    .class_index = FILTER, .units = 10, .busy_ns = 80. * MS, .held_ns = 20. * MS
  };
  hass_samplers_served (b.samplers, &done);
  did (&b, 0, CHECK, 10, 8 * MS);
  end_after (&b, RUN_NS);
  begin (&b, "video");
  CU_ASSERT_PTR_NOT_NULL_FATAL (b.env.profile);
  CU_ASSERT_DOUBLE_EQUAL (b.env.profile[FILTER * STORE_DEVICES].latency_ns,
                          2. * MS, 1);
  CU_ASSERT_EQUAL (b.env.profile[CHECK * STORE_DEVICES].latency_ns, 0);
  g_clear_pointer (&b.samplers, hass_samplers_free);
  store_end ();
}

/* "read", that only cores can run, makes no entry. */
static void
shared_only (void)
{
  Bench b;
  store_begin ();
  begin (&b, "video");
  did (&b, 0, READ, 100, MS);
  end_after (&b, RUN_NS);
  CU_ASSERT_FALSE (store_exists (""));
  store_end ();
}

/* Moves the time of each entry's last run back by so many seconds. */
static void
age_by (gint64 seconds)
{
  g_autofree char *text = store_get ();
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (guint i = 0; lines[i]; i++)
    {
      g_auto (GStrv) fields = g_strsplit (lines[i], "\t", -1);
      if (g_strv_length (fields) < 10)
        continue;
      gint64 when = g_ascii_strtoll (fields[8], NULL, 10);
      g_free (fields[8]);
      fields[8] = g_strdup_printf ("%" G_GINT64_FORMAT, when - seconds);
      g_free (lines[i]);
      lines[i] = g_strjoinv ("\t", fields);
    }
  g_autofree char *older = g_strjoinv ("\n", lines);
  store_put (older, -1);
  store_forget ();
}

static void
expires (void)
{
  Bench b;
  store_begin ();
  begin (&b, "video");
  did (&b, 0, FILTER, 1, 8 * MS);
  end_after (&b, RUN_NS);
  age_by (23 * 3600);
  CU_ASSERT_DOUBLE_EQUAL (told ("video", 0, FILTER), 0.5, 1e-6);
  age_by (2 * 3600);
  CU_ASSERT_EQUAL (told ("video", 0, FILTER), 0);
  store_end ();
}

static void
leaves_nothing (void)
{
  static const struct
  {
    const char *name;
    gboolean lost;
    double unit_ns;
    gint64 run_ns;
  } cases[] = { { "pipeline", FALSE, 8 * MS, RUN_NS },
                { "video", TRUE, 8 * MS, RUN_NS },
                { "video", FALSE, 0.9 * MS, RUN_NS },
                { "video", FALSE, 8 * MS, 9 * MS } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Bench b;
      store_begin ();
      begin (&b, cases[i].name);
      b.lost[1] = cases[i].lost;
      did (&b, 1, FILTER, 1, cases[i].unit_ns);
      end_after (&b, cases[i].run_ns);
      CU_ASSERT_FALSE (store_exists (""));
      store_end ();
    }
}

/* With HASS_PROFILE=off nothing is looked up or measured. */
static void
switched_off (void)
{
  Bench b;
  begin (&b, "video");
  CU_ASSERT_PTR_NULL (b.samplers);
  CU_ASSERT_PTR_NULL (b.env.profile);
}

HASS_TEST_SUITE (
    stage_rates,
    { "the store keeps how long a unit is held inside which cores help",
      stores_units_on_all_cores },
    { "rates of a pipeline are told in the next run, by stage", stored },
    { "stages that one device alone can run are not stored", shared_only },
    { "rates of stages expire after a day", expires },
    { "short runs, little work, lost devices and pipelines "
      "without a name store nothing",
      leaves_nothing },
    { "a store that is off measures no pipeline", switched_off })
