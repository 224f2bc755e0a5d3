/* SPDX-License-Identifier: MIT */
/* test_registry.c: names, specifications and refusals of strategies.
   Thread safety: one thread. */
#include "hass_test.h"

#include <string.h>

#include "hass/error.h"
#include "sched/registry.h"

static const HassDeviceTraits traits[] = {
  { .name = "cpu", .kind = HASS_DEVICE_CPU, .cores = 4, .max_in_flight = 1 },
  { .name = "gpu0", .kind = HASS_DEVICE_GPU, .cores = 30, .max_in_flight = 1 },
};

static HassStrategyEnv
env_for (HassFarmKind farm, HassCostClass cost)
{
  return (HassStrategyEnv){ .struct_size = sizeof (HassStrategyEnv),
                            .farm_name = "test",
                            .farm = farm,
                            .cost = cost,
                            .n_devices = G_N_ELEMENTS (traits),
                            .devices = traits };
}

/* The message with which a specification is refused; "" if it is not. */
static const char *
refusal (const char *spec, HassFarmKind farm)
{
  static char message[512];
  HassStrategyEnv env = env_for (farm, HASS_COST_EQUAL);
  GError *error = NULL;
  HassStrategy *strategy = hass_strategy_new (spec, &env, &error);
  message[0] = '\0';
  if (!strategy && error
      && g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY))
    g_strlcpy (message, error->message, sizeof message);
  g_clear_error (&error);
  hass_strategy_free (strategy);
  return message;
}

static gboolean
says (const char *message, const char *const *words)
{
  for (; *words; words++)
    if (!strstr (message, *words))
      return FALSE;
  return TRUE;
}

#define REFUSED(spec, farm, ...)                                               \
  CU_ASSERT (says (refusal (spec, farm), (const char *[]){ __VA_ARGS__, NULL }))

static const char *const names[]
    = { "hass",         "hass-cd",       "hass-ce",      "hass-f",
        "hass-i",       "hass-p",        "min-min",      "modified-greedy",
        "naive-greedy", "static",        "aspara-multi", "aspara-single",
        "cap",          "cpu-only",      "dls-star",     "gpu-only",
        "max-min",      "mct",           "qilin",        "sampling",
        "splitting",    "profile-naive", "asym",         "asym-conv",
        "asym-size",    "shared-queue",  "cpu-weight",   "skmd",
        "skmd-linear" };

static void
lists_sorted (void)
{
  const HassStrategyOps **list = hass_strategy_list ();
  guint found = 0, n = 0;
  for (; list[n]; n++)
    {
      if (n > 0)
        CU_ASSERT (strcmp (list[n - 1]->name, list[n]->name) < 0);
      for (guint i = 0; i < G_N_ELEMENTS (names); i++)
        found += strcmp (names[i], list[n]->name) == 0;
      CU_ASSERT (list[n]->summary && list[n]->source);
    }
  CU_ASSERT_EQUAL (found, G_N_ELEMENTS (names));
  g_free (list);
}

static void
finds_by_name (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const HassStrategyOps *ops = hass_strategy_find (names[i], NULL);
      CU_ASSERT_FATAL (ops != NULL);
      CU_ASSERT_STRING_EQUAL (ops->name, names[i]);
    }
  REFUSED ("hass-x", HASS_FARM_COMBINE, "\"hass-x\"", "hass-ce, hass-f",
           "naive-greedy");
}

static void
gives_defaults (void)
{
  const struct
  {
    HassFarmKind farm;
    HassCostClass cost;
    const char *name;
  } farms[] = {
    { HASS_FARM_PARTITION, HASS_COST_EQUAL, "auto" },
    { HASS_FARM_PARTITION, HASS_COST_SIZED, "auto" },
    { HASS_FARM_PARTITION, HASS_COST_UNKNOWN, "auto" },
    { HASS_FARM_COMBINE, HASS_COST_EQUAL, "auto" },
    { HASS_FARM_COMBINE, HASS_COST_SIZED, "auto" },
    { HASS_FARM_COMBINE, HASS_COST_UNKNOWN, "auto" },
    { HASS_FARM_INDIVISIBLE, HASS_COST_EQUAL, "auto" },
    { HASS_FARM_INDIVISIBLE, HASS_COST_SIZED, "auto" },
    { HASS_FARM_INDIVISIBLE, HASS_COST_UNKNOWN, "auto" },
    { HASS_FARM_FUNCTION, HASS_COST_EQUAL, "auto" },
    { HASS_FARM_FUNCTION, HASS_COST_SIZED, "auto" },
    { HASS_FARM_FUNCTION, HASS_COST_UNKNOWN, "auto" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (farms); i++)
    {
      HassStrategyEnv env = env_for (farms[i].farm, farms[i].cost);
      CU_ASSERT_STRING_EQUAL (
          hass_strategy_default (farms[i].farm, farms[i].cost), farms[i].name);
      HassStrategy *strategy = hass_strategy_new (NULL, &env, NULL);
      CU_ASSERT_FATAL (strategy != NULL); /* it also serves that kind */
      CU_ASSERT_STRING_EQUAL (strategy->ops->name, farms[i].name);
      hass_strategy_free (strategy);
    }
}

static void
reads_parameters (void)
{
  HassStrategyEnv env = env_for (HASS_FARM_PARTITION, HASS_COST_EQUAL);
  HassStrategy *s = hass_strategy_new ("hass-p", &env, NULL);
  CU_ASSERT_FATAL (s != NULL);
  CU_ASSERT_EQUAL (env.parameters[0], 0.02);
  CU_ASSERT_EQUAL (env.parameters[1], 0.05);
  hass_strategy_free (s);
  s = hass_strategy_new ("hass-p:drift=1e-1,tolerance=1/128", &env, NULL);
  CU_ASSERT_FATAL (s != NULL);
  CU_ASSERT_EQUAL (env.parameters[0], 1 / 128.);
  CU_ASSERT_EQUAL (env.parameters[1], 0.1);
  hass_strategy_free (s);
  s = hass_strategy_new ("hass-p:tolerance=0.5", &env, NULL); /* the bounds */
  CU_ASSERT (s != NULL);
  hass_strategy_free (s);
}

static void
refuses_parameters (void)
{
  HassFarmKind p = HASS_FARM_PARTITION;
  REFUSED ("hass-p:speed=1", p, "hass-p", "speed", "tolerance [0, 0.5]",
           "drift [0, 1]");
  REFUSED ("hass-p:tolerance=0.6", p, "hass-p", "tolerance=0.6", "out of range",
           "[0, 0.5]");
  REFUSED ("hass-p:tolerance=-1/2", p, "out of range", "[0, 0.5]");
  REFUSED ("hass-p:tolerance=2%", p, "tolerance=2%", "neither", "[0, 0.5]");
  REFUSED ("hass-p:tolerance=", p, "neither");
  REFUSED ("hass-p:tolerance=1/0", p, "neither");
  REFUSED ("hass-p:tolerance=1/", p, "neither");
  REFUSED ("hass-p:tolerance=/2", p, "neither");
  REFUSED ("hass-p:tolerance=1/2/3", p, "neither");
  REFUSED ("hass-p:tolerance= 0.1", p, "neither");
  REFUSED ("hass-p:tolerance=nan", p, "neither");
  REFUSED ("hass-p:tolerance=inf", p, "neither");
  REFUSED ("hass-p:tolerance=0x0", p, "neither");
  REFUSED ("hass-p:tolerance", p, "\"tolerance\" is not key=value");
  REFUSED ("hass-p:=1", p, "not key=value");
  REFUSED ("hass-p:", p, "nothing follows the colon");
  REFUSED ("hass-p:drift=0.1,", p, "not key=value");
  REFUSED ("hass-p:drift=0.1,drift=0.2", p, "given twice");
  REFUSED ("hass:drift=1", HASS_FARM_COMBINE, "hass", "drift", "none");
}

static void
refuses_other_farms (void)
{
  REFUSED ("hass-i", HASS_FARM_COMBINE, "hass-i", "kind combine",
           "it serves: indivisible");
  REFUSED ("hass-ce", HASS_FARM_FUNCTION, "kind function",
           "partition, combine");
  REFUSED ("hass-f", 0, "kind none");
}

static gpointer
refuse (const HassStrategyEnv *env, GError **error)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY, "not %s",
               env->farm_name);
  return NULL;
}

static gpointer
stateless (const HassStrategyEnv *env, GError **error)
{
  (void)env;
  (void)error;
  return NULL;
}

static HassAnswer
never (gpointer self, HassRound *round, guint device, gboolean force,
       HassGrant *grant)
{
  (void)self;
  (void)round;
  (void)device;
  (void)force;
  (void)grant;
  return HASS_DONE;
}

static gboolean
refuses (HassStrategyOps ops, const char *word)
{
  GError *error = NULL;
  gboolean refused = !hass_strategy_register (&ops, &error) && error
                     && g_error_matches (error, HASS_ERROR, HASS_ERROR_STRATEGY)
                     && strstr (error->message, word);
  g_clear_error (&error);
  return refused;
}

static void
registers_valid_ops_only (void)
{
  static const HassParameter bad[]
      = { { "x", 2, 0, 1, "preset too large" }, { .name = NULL } };
  static const HassParameter twice[]
      = { { "x", 0, 0, 1, "" }, { "x", 0, 0, 1, "" }, { .name = NULL } };
  static const HassStrategyOps good = { .struct_size = sizeof good,
                                        .name = "test-never",
                                        .farms = HASS_FARM_COMBINE,
                                        .create = refuse,
                                        .grant = never };
  static const HassStrategyOps empty = { .struct_size = sizeof empty,
                                         .name = "test-stateless",
                                         .farms = HASS_FARM_ANY,
                                         .create = stateless,
                                         .grant = never };
  HassStrategyOps ops = good;
  const char *wrong[] = { NULL, "", "Test", "a b", "a:b", "a,b", "a_b" };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      ops = good;
      ops.name = wrong[i];
      CU_ASSERT (refuses (ops, "[a-z0-9-]+"));
    }
  ops = good;
  ops.create = NULL;
  CU_ASSERT (refuses (ops, "no create"));
  ops = good;
  ops.grant = NULL;
  CU_ASSERT (refuses (ops, "no grant"));
  ops = good;
  ops.farms = 0;
  CU_ASSERT (refuses (ops, "no kind"));
  ops = good;
  ops.parameters = bad;
  CU_ASSERT (refuses (ops, "preset 2"));
  ops.parameters = twice;
  CU_ASSERT (refuses (ops, "twice"));
  ops = good;
  ops.flags = HASS_STRATEGY_OPEN | 4;
  CU_ASSERT (refuses (ops, "unknown flags: 0x5"));
  ops = good;
  ops.name = "hass-ce";
  CU_ASSERT (refuses (ops, "already registered"));

  CU_ASSERT (hass_strategy_register (&good, NULL));
  CU_ASSERT (refuses (good, "already registered"));
  const HassStrategyOps *found = hass_strategy_find ("test-never", NULL);
  CU_ASSERT_FATAL (found != NULL);
  CU_ASSERT_PTR_EQUAL (found->grant, never);
  REFUSED ("test-never", HASS_FARM_COMBINE, "not test");

  CU_ASSERT (hass_strategy_register (&empty, NULL));
  HassStrategyEnv env = env_for (HASS_FARM_COMBINE, HASS_COST_EQUAL);
  HassStrategy *s = hass_strategy_new ("test-stateless", &env, NULL);
  CU_ASSERT (s != NULL);
  hass_strategy_free (s);
}

static guint n_states;

static gpointer
refuse_with_state (const HassStrategyEnv *env, GError **error)
{
  n_states++;
  refuse (env, error);
  return &n_states;
}

static void
count_down (gpointer self)
{
  CU_ASSERT_PTR_EQUAL (self, &n_states);
  n_states--;
}

static void
frees_refused_state (void)
{
  static const HassStrategyOps ops = { .struct_size = sizeof ops,
                                       .name = "test-refuses-late",
                                       .farms = HASS_FARM_COMBINE,
                                       .create = refuse_with_state,
                                       .grant = never,
                                       .destroy = count_down };
  CU_ASSERT (hass_strategy_register (&ops, NULL));
  REFUSED ("test-refuses-late", HASS_FARM_COMBINE,
           "strategy test-refuses-late: not test");
  CU_ASSERT_EQUAL (n_states, 0);
}

HASS_TEST_SUITE (
    sched_registry,
    { "the list is sorted and has every strategy", lists_sorted },
    { "a name is found, an unknown one lists the known", finds_by_name },
    { "defaults serve their farm", gives_defaults },
    { "parameters are numbers or fractions", reads_parameters },
    { "a bad parameter is refused by name and range", refuses_parameters },
    { "a strategy refuses farms that it does not serve", refuses_other_farms },
    { "the state of a strategy that refuses a farm late is freed",
      frees_refused_state },
    { "registration refuses malformed ops and duplicates",
      registers_valid_ops_only })
