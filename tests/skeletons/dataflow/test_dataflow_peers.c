/* SPDX-License-Identifier: MIT */
/* test_dataflow_peers.c: two devices of a kind share the data of a dataflow.
   Thread safety: one thread beside those of the dataflows. */
#include "device_flow.h"
#include "engine/graph/place.h"

#define MANY 20
#define LENGTH 50
#define ROUNDS 8

static Block blocks[MANY];

/* Starts with all blocks at version 0. */
static DeviceFlow
begin (const char *name)
{
  return device_flow_begin (name, 2, blocks, MANY);
}

static gboolean
build_chains (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data[MANY];
  (void)user_data, (void)error;
  for (guint i = 0; i < MANY; i++)
    data[i] = block_data (graph, &blocks[i]);
  for (guint r = 0; r < ROUNDS; r++)
    {
      for (guint i = 0; i < MANY * LENGTH; i++)
        submit_grow (graph, &grow_alone, data[i % MANY]);
      hass_graph_wait (graph, NULL);
    }
  return TRUE;
}

/* Two devices leave each other's data where they are if copies take long. Both
   are open in the first round, or in a later one. */
static void
chains_stay (void)
{
  DeviceFlow f = begin ("chains");
  f.plans[0].link_bytes_per_ns = f.plans[1].link_bytes_per_ns = 1e-9;
  device_flow_must_run (&f, build_chains, NULL);
  for (guint i = 0; i < MANY; i++)
    CU_ASSERT_TRUE (block_is (&blocks[i], ROUNDS * LENGTH));
  CU_ASSERT_EQUAL (f.counts[0].copies_in + f.counts[1].copies_in,
                   ROUNDS * MANY);
  CU_ASSERT_EQUAL (f.counts[0].copies_out + f.counts[1].copies_out,
                   ROUNDS * MANY);
}

/* Many tasks read a datum that one has made, and update one of their own. */
static gboolean
build_shared (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *from = block_data (graph, &blocks[0]);
  (void)user_data, (void)error;
  for (guint r = 0; r < ROUNDS; r++)
    {
      submit_grow (graph, &grow_alone, from);
      for (guint i = 1; i < MANY; i++)
        {
          HassData *to = hass_graph_scratch (graph, BLOCK_BYTES);
          submit_copy (graph, &copy_alone, from, to);
          submit_grow (graph, &grow_alone, to);
          hass_graph_forget (graph, to);
        }
      hass_graph_wait (graph, NULL);
    }
  return TRUE;
}

/* What one device has made the other one copies from it. It does so in the
   rounds in which both are open, unless one computes all before the other one
   looks. */
static void
from_peers (void)
{
  guint n = 0;
  for (guint i = 0; i < 100 && n == 0; i++)
    {
      DeviceFlow f = begin ("peers");
      device_flow_must_run (&f, build_shared, NULL);
      CU_ASSERT_TRUE (block_is (&blocks[0], ROUNDS));
      n = f.counts[0].copies_peer + f.counts[1].copies_peer;
    }
  CU_ASSERT_TRUE (n > 0);
}

/* After all tasks nothing is on its way from a device that is open. */
static void
check_under_way (HassGraph *graph)
{
  HassPlacing *p = graph->placing;
  pthread_mutex_lock (&p->lock);
  for (guint i = 0; i < p->n_devices; i++)
    CU_ASSERT_TRUE (p->devices[i].state != HASS_GRAPH_DEVICE_OPEN
                    || p->devices[i].going_bytes == 0);
  pthread_mutex_unlock (&p->lock);
}

static gboolean
build_and_check (HassGraph *graph, gpointer user_data, GError **error)
{
  build_shared (graph, user_data, error);
  check_under_way (graph);
  return TRUE;
}

/* A device is lost at any operation, such as a copy from the other one. Where
   one computes all before the other one looks there is no such copy, which on a
   single CPU may be so in a hundred runs. */
static void
lost_reader (void)
{
  guint n = 0;
  for (guint i = 0; i < 100 || (n == 0 && i < 5000); i++)
    {
      DeviceFlow f = begin ("lost reader");
      guint lost = i % 2;
      f.plans[lost].lose_at = 1 + i / 2 % 60;
      device_flow_must_run (&f, build_and_check, NULL);
      CU_ASSERT_TRUE (block_is (&blocks[0], ROUNDS));
      n += f.counts[lost].lost && f.counts[lost].copies_peer > 0;
    }
  CU_ASSERT_TRUE (n > 0);
}

HASS_TEST_SUITE (dataflow_peers,
                 { "a device leaves tasks to the one that has what they update "
                   "if copies take long",
                   chains_stay },
                 { "a device copies from another one what that one has made",
                   from_peers },
                 { "what a lost device was copying from another one is not on "
                   "its way any more",
                   lost_reader })
