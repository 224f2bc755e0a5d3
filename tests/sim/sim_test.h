/* SPDX-License-Identifier: MIT */
/* sim_test.h: what the tests of hass-sim share.
   Thread safety: one thread. */
#ifndef SIM_TEST_H
#define SIM_TEST_H

#include "sched/registry.h"
#include "tools/hass-sim/sim.h"

/* The strategies that are shipped, not those that other tests register, and
   oracle; free with g_strfreev(). */
static inline char **
sim_test_strategies (void)
{
  GPtrArray *list = g_ptr_array_new ();
  for (guint i = 0; hass_builtin_strategies[i]; i++)
    g_ptr_array_add (list, g_strdup (hass_builtin_strategies[i]->name));
  g_ptr_array_add (list, g_strdup ("oracle"));
  g_ptr_array_add (list, NULL);
  return (char **)g_ptr_array_free (list, FALSE);
}

/* A case of the texts of files, with its bounds. */
SimCase *sim_test_case (const char *platform, const char *workload,
                        guint rounds, const HassVirtualEvent *events,
                        guint n_events);

/* A shipped workload, as suites list it: "workload" or "workload@platform",
   with its bounds. */
SimCase *sim_test_shipped (const char *entry, guint rounds, guint64 seed,
                           const HassVirtualEvent *events, guint n_events);

#endif
