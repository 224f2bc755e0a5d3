/* SPDX-License-Identifier: MIT */
/* sim_test.c: see sim_test.h.
   Thread safety: one thread. */
#include "sim_test.h"

#include <unistd.h>

#include "hass_test.h"
#include "tests/engine/trial.h"

SimCase *
sim_test_case (const char *platform, const char *workload, guint rounds,
               const HassVirtualEvent *events, guint n_events)
{
  g_autofree char *p = trial_file (platform), *w = trial_file (workload);
  GError *error = NULL;
  HassPlatform *machine = hass_platform_load (p, "x", &error);
  SimWorkload *work = machine ? sim_workload_load (w, &error) : NULL;
  unlink (p);
  unlink (w);
  if (error)
    g_printerr ("\n    %s", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL (work);
  SimCase *c = sim_case_new (work, machine, rounds, 1, events, n_events);
  sim_bounds (c);
  return c;
}

SimCase *
sim_test_shipped (const char *entry, guint rounds, guint64 seed,
                  const HassVirtualEvent *events, guint n_events)
{
  g_auto (GStrv) part = g_strsplit (entry, "@", 2);
  GError *error = NULL;
  SimWorkload *w;
  HassPlatform *p;
  gboolean ok = sim_load (part[0], part[1], &w, &p, &error);
  if (!ok)
    g_printerr ("\n    %s", error->message);
  CU_ASSERT_TRUE_FATAL (ok);
  SimCase *c = sim_case_new (w, p, rounds, seed, events, n_events);
  sim_bounds (c);
  return c;
}
