/* SPDX-License-Identifier: MIT */
/* test_own_device.c: a kind of device that an application registers, in
   examples/own_device.c, under every strategy.
   Thread safety: single-threaded. */
#include <glib/gstdio.h>
#include <hass/hass.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hass_test.h"
#include "program.h"
#include "sched/registry.h"
#include "tests/trials.h"

/* Under a sanitizer each so manyth farm of a strategy is run: a process takes
   0.1 s, and the contract suites run all of them. */
#define EACH TRIALS (1, 3, 3)

static const struct
{
  const char *name;
  HassFarmKind kind;
} farms[] = { { "partition", HASS_FARM_PARTITION },
              { "combine", HASS_FARM_COMBINE },
              { "indivisible", HASS_FARM_INDIVISIBLE },
              { "function", HASS_FARM_FUNCTION } };

/* Runs the farm; returns what it printed, if nothing was wrong, to be freed. */
static char *
run (const char *farm)
{
  char *out = NULL;
  int status = program_run (&out, NULL, "own_device", farm, NULL);
  CU_ASSERT_EQUAL (status, 0);
  CU_ASSERT_TRUE (out && strstr (out, "done, 0 wrong"));
  if (status != 0)
    printf ("\n%s under %s: %s", farm, g_getenv ("HASS_STRATEGY"), out);
  return out;
}

static guint64
units_on (const char *out, const char *device)
{
  g_autofree char *name = g_strdup_printf (", %s ", device);
  const char *at = out ? strstr (out, name) : NULL;
  return at ? g_ascii_strtoull (at + strlen (name), NULL, 10) : G_MAXUINT64;
}

/* Each farm under each strategy that serves it: the device gets units in every
   kind of farm. */
static void
run_all (void)
{
  guint64 on_thread[G_N_ELEMENTS (farms)] = { 0 };
  guint n = 0;
  const HassStrategyOps *const *s = hass_builtin_strategies;
  for (; *s; s++) /* not those that other tests register in this process */
    for (guint f = 0; f < G_N_ELEMENTS (farms); f++)
      {
        if (!((*s)->farms & farms[f].kind)
            || (guint)(s - hass_builtin_strategies + f) % EACH != 0)
          continue;
        g_setenv ("HASS_STRATEGY", (*s)->name, TRUE);
        g_autofree char *out = run (farms[f].name);
        guint64 units = units_on (out, "thread0");
        CU_ASSERT_NOT_EQUAL (units, G_MAXUINT64);
        if (strcmp ((*s)->name, "gpu-only") == 0)
          CU_ASSERT_EQUAL (units_on (out, "cpu"), 0);
        on_thread[f] += units;
        n++;
      }
  g_unsetenv ("HASS_STRATEGY");
  CU_ASSERT_TRUE (n > 60 / EACH);
  for (guint f = 0; f < G_N_ELEMENTS (farms); f++)
    CU_ASSERT_TRUE (on_thread[f] > 0);
}

static void
every_strategy (void)
{
  run_all ();
}

static void
modelled (void)
{
  const char *text = "[platform]\nname = own\n"
                     "[cpu]\ncores = 4\nwork_per_us = 1\n"
                     "[thread0]\nkind = thread\nmultiprocessors = 1\n"
                     "width = 1\nwork_per_us = 2\nh2d_gbps = 1\n";
  g_autofree char *path = NULL;
  int fd = g_file_open_tmp ("own-XXXXXX.platform", &path, NULL);
  CU_ASSERT_TRUE_FATAL (fd >= 0 && g_file_set_contents (path, text, -1, NULL));
  g_setenv ("HASS_PLATFORM", path, TRUE);
  run_all ();
  g_unsetenv ("HASS_PLATFORM");
  close (fd);
  g_remove (path);
}

static void
chosen (void)
{
  g_setenv ("HASS_DEVICES", "cuda", TRUE);
  g_autofree char *none = run ("combine");
  CU_ASSERT_EQUAL (units_on (none, "thread0"), G_MAXUINT64);
  g_setenv ("HASS_DEVICES", "cuda,thread", TRUE);
  g_autofree char *both = run ("combine");
  CU_ASSERT_NOT_EQUAL (units_on (both, "thread0"), G_MAXUINT64);
  g_setenv ("HASS_DEVICES", "thread,fpga", TRUE);
  g_autofree char *wrong = NULL;
  CU_ASSERT_EQUAL (program_run (&wrong, NULL, "own_device", "combine", NULL),
                   1);
  program_says (wrong, "there is no kind 'fpga'; known are cuda, thread");
  g_unsetenv ("HASS_DEVICES");
}

HASS_TEST_SUITE (
    own_device,
    { "a kind that an application registers runs in all farms under every "
      "strategy",
      every_strategy },
    { "a platform file models a device of such a kind", modelled },
    { "HASS_DEVICES chooses kinds by name", chosen })
