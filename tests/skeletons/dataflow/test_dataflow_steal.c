/* SPDX-License-Identifier: MIT */
/* test_dataflow_steal.c: tasks that wait in the queues of cores which are busy.
   Thread safety: one thread beside those of the dataflows. */
#include <stdatomic.h>

#include "flow.h"

#define OWNERS 3
#define SHORTS 3 /* behind each owner: too few to be worth another core */

#define PATIENCE 100000 /* 10 s */

static _Atomic guint n_owners, n_shorts;
static _Atomic gboolean submitted, over;

/* Each on a core of its own. */
static gboolean
own (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  atomic_fetch_add (&n_owners, 1);
  while (atomic_load (&n_owners) < OWNERS || !atomic_load (&submitted))
    g_usleep (100);
  return TRUE;
}

static gboolean
count (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  atomic_fetch_add (&n_shorts, 1);
  return TRUE;
}

/* Computed next by the core that computed own(). */
static gboolean
keep_busy (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  while (!atomic_load (&over))
    g_usleep (100);
  return TRUE;
}

static const HassCodelet owns = HASS_CODELET (.name = "own", .cpu = own);
static const HassCodelet counts = HASS_CODELET (.name = "count", .cpu = count);
static const HassCodelet keeps
    = HASS_CODELET (.name = "keep", .cpu = keep_busy);

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data[OWNERS];
  (void)user_data, (void)error;
  for (guint o = 0; o < OWNERS; o++)
    data[o] = hass_graph_scratch (graph, 0);
  /* From here on the library knows that these tasks are short. */
  hass_graph_task (graph, &counts, &(HassAccess){ data[0], HASS_WRITE }, 1,
                   NULL);
  hass_graph_wait (graph, NULL);
  atomic_store (&n_shorts, 0);
  for (guint o = 0; o < OWNERS; o++)
    {
      HassAccess writes = { data[o], HASS_WRITE },
                 reads = { data[o], HASS_READ };
      hass_graph_task (graph, &owns, &writes, 1, NULL);
      for (guint i = 0; i < SHORTS; i++)
        hass_graph_task (graph, &counts, &reads, 1, NULL);
      hass_graph_task (graph, &keeps, &reads, 1, NULL);
    }
  atomic_store (&submitted, TRUE);
  /* Each of these tasks lets a core in if one is missing. */
  for (guint i = 0; atomic_load (&n_shorts) < OWNERS * SHORTS && i < PATIENCE;
       i++)
    {
      hass_graph_task (graph, &flow_idle, NULL, 0, NULL);
      g_usleep (100);
    }
  CU_ASSERT_EQUAL (atomic_load (&n_shorts), OWNERS * SHORTS);
  atomic_store (&n_owners, OWNERS);
  atomic_store (&over, TRUE);
  return TRUE;
}

static void
behind_busy_cores (void)
{
  for (guint i = 0; i < 30 && CU_get_number_of_failures () == 0; i++)
    {
      HassDataflow d = flow_of (build, NULL);
      g_autoptr (GError) error = NULL;
      d.run.n_cores = OWNERS + 2;
      atomic_store (&n_owners, 0);
      atomic_store (&submitted, FALSE);
      atomic_store (&over, FALSE);
      CU_ASSERT_TRUE (hass_dataflow (&d, NULL, &error));
    }
}

HASS_TEST_SUITE (dataflow_steal,
                 { "other cores take short tasks behind busy ones",
                   behind_busy_cores })
