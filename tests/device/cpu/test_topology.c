/* SPDX-License-Identifier: MIT */
/* test_topology.c: what is near what, on a made-up machine.

   machines/two-switches.xml has two sockets, each with a NUMA node, two
   cores and a root complex. GPUs 0 and 1 are behind one switch; 2 and 3
   behind another, 3 one switch further; 4 and 5 have a port of their own
   each; two more belong to neither socket and are on no bridge. CPUs 0 and 2
   are in the first socket, 1 and 3 in the second. machines/one-node.xml has
   two sockets and one NUMA node.

   Thread safety: one thread; binding is tried in another. */
#include "device/cpu/topology.h"

#include <sched.h>
#include <string.h>

#include "device/cuda/gpus-private.h"
#include "tests/device/fake_cudart.h"
#include "hass/hass.h"
#include "hass_test.h"

#define NOWHERE "0001:c0:00.0"

static const char *const gpus[]
    = { "0000:03:00.0", "0000:04:00.0", "0000:83:00.0",
        "0000:86:00.0", "0000:90:00.0", "0000:A0:00.0" };

static char *
machine (const char *name)
{
  g_autofree char *path
      = g_strconcat (HASS_TOP "/tests/device/machines/", name, ".xml", NULL);
  char *xml = NULL;
  CU_ASSERT_FATAL (g_file_get_contents (path, &xml, NULL, NULL));
  hass_topology_use_xml (xml);
  return xml;
}

static void
this_machine (char *xml)
{
  hass_topology_use_xml (NULL);
  g_free (xml);
}

static void
links (void)
{
  char *xml = machine ("two-switches");
  const guint wanted[] = { 1, 1, 2, 2, 0, 0 };
  guint got[G_N_ELEMENTS (gpus)];
  hass_topology_links (gpus, G_N_ELEMENTS (gpus), got);
  CU_ASSERT_EQUAL (memcmp (got, wanted, sizeof wanted), 0);
  const char *const flat[] = { NOWHERE, "0001:c1:00.0" };
  hass_topology_links (flat, G_N_ELEMENTS (flat), got);
  CU_ASSERT_EQUAL (got[0] + got[1], 0);
  /* Whoever is alone on a link has it, whatever else could be there. */
  const char *const some[] = { gpus[3], gpus[0], "0000:77:00.0", gpus[2] };
  const guint of_some[] = { 1, 0, 0, 1 };
  hass_topology_links (some, G_N_ELEMENTS (some), got);
  CU_ASSERT_EQUAL (memcmp (got, of_some, sizeof of_some), 0);
  this_machine (xml);
}

static void
nodes (void)
{
  char *xml = machine ("two-switches");
  const gint wanted[] = { 0, 0, 1, 1, 1, 1 };
  for (guint i = 0; i < G_N_ELEMENTS (gpus); i++)
    CU_ASSERT_EQUAL (hass_topology_numa_node (gpus[i]), wanted[i]);
  CU_ASSERT_EQUAL (hass_topology_numa_node (NOWHERE), -1);
  CU_ASSERT_EQUAL (hass_topology_numa_node ("0000:77:00.0"), -1);
  CU_ASSERT_EQUAL (hass_topology_numa_node ("nonsense"), -1);
  this_machine (xml);
}

static void
facts (void)
{
  char *xml = machine ("two-switches");
  HassTopologyFacts f;
  CU_ASSERT_TRUE (hass_topology_facts (&f));
  CU_ASSERT_STRING_EQUAL (f.cpu_model, "Test CPU 9000");
  CU_ASSERT_EQUAL (f.n_numa_nodes, 2);
  CU_ASSERT_EQUAL (f.n_sockets, 2);
  CU_ASSERT_EQUAL (f.n_cores, 4);
  CU_ASSERT_EQUAL (f.n_threads, 4);
  CU_ASSERT_EQUAL (f.n_l2, 4);
  CU_ASSERT_EQUAL (f.l2_bytes, 2 << 20);
  CU_ASSERT_EQUAL (f.n_l3, 2);
  CU_ASSERT_EQUAL (f.l3_bytes, 32 << 20);
  this_machine (xml);
}

/* What hwloc cannot read leaves nothing known, and breaks nothing. */
static void
unreadable (void)
{
  HassTopologyFacts f;
  guint got[2] = { 7, 7 };
  hass_topology_use_xml ("<?xml version=\"1.0\"?>\n<topology");
  CU_ASSERT_FALSE (hass_topology_facts (&f));
  CU_ASSERT_EQUAL (f.n_threads, 0);
  CU_ASSERT_FALSE (hass_topology_bind_near (gpus[0]));
  CU_ASSERT_EQUAL (hass_topology_numa_node (gpus[0]), -1);
  hass_topology_links (gpus, 2, got);
  CU_ASSERT_EQUAL (got[0] + got[1], 0);
  hass_topology_use_xml (NULL);
}

/* -- Binding ------------------------------------------------------------ */

/* Binds a thread near each of two devices, one after the other. */
typedef struct
{
  const char *pci[2];
  gboolean bound[2];
  cpu_set_t before, after[2];
} Trial;

static gpointer
bind_twice (gpointer data)
{
  Trial *t = data;
  sched_getaffinity (0, sizeof t->before, &t->before);
  for (guint i = 0; i < 2; i++)
    {
      t->bound[i] = hass_topology_bind_near (t->pci[i]);
      sched_getaffinity (0, sizeof t->after[i], &t->after[i]);
    }
  return NULL;
}

static Trial
try_binding (const char *first, const char *second)
{
  Trial t = { .pci = { first, second } };
  g_thread_join (g_thread_new ("bind", bind_twice, &t));
  return t;
}

/* Those of the thread's CPUs that are this one or two further. */
static cpu_set_t
near_set (const cpu_set_t *mine, int first)
{
  cpu_set_t set;
  CPU_ZERO (&set);
  for (int c = first; c <= first + 2; c += 2)
    if (CPU_ISSET (c, mine))
      CPU_SET (c, &set);
  return set;
}

static void
binding (void)
{
  char *xml = machine ("two-switches");
  Trial t = try_binding (gpus[1], gpus[1]);
  cpu_set_t wanted = near_set (&t.before, 0);
  gboolean any = CPU_COUNT (&wanted) > 0;
  if (!any)
    wanted = t.before;
  CU_ASSERT_EQUAL (t.bound[0], any);
  CU_ASSERT_EQUAL (t.bound[1], any);
  CU_ASSERT_TRUE (CPU_EQUAL (&t.after[0], &wanted));
  CU_ASSERT_TRUE (CPU_EQUAL (&t.after[1], &wanted));
  t = try_binding (gpus[5], gpus[5]);
  wanted = near_set (&t.before, 1);
  any = CPU_COUNT (&wanted) > 0;
  CU_ASSERT_EQUAL (t.bound[0], any);
  CU_ASSERT_TRUE (CPU_EQUAL (&t.after[0], any ? &wanted : &t.before));
  this_machine (xml);
}

/* A thread keeps to the CPUs it is allowed, however far they are. */
static void
not_out_of_bounds (void)
{
  char *xml = machine ("two-switches");
  Trial t = try_binding (gpus[0], gpus[2]);
  cpu_set_t first = near_set (&t.before, 0);
  if (CPU_COUNT (&first) > 0)
    {
      CU_ASSERT_FALSE (t.bound[1]);
      CU_ASSERT_TRUE (CPU_EQUAL (&t.after[1], &first));
    }
  this_machine (xml);
}

static void
not_bound (void)
{
  char *xml = machine ("two-switches");
  Trial t = try_binding ("0000:77:00.0", "");
  CU_ASSERT_FALSE (t.bound[0] || t.bound[1]);
  CU_ASSERT_TRUE (CPU_EQUAL (&t.after[1], &t.before));
  t = try_binding (NOWHERE, NOWHERE);
  CU_ASSERT_FALSE (t.bound[0] || t.bound[1]);
  CU_ASSERT_TRUE (CPU_EQUAL (&t.after[1], &t.before));
  this_machine (xml);
  xml = machine ("one-node");
  t = try_binding (gpus[0], gpus[0]);
  CU_ASSERT_FALSE (t.bound[0] || t.bound[1]);
  CU_ASSERT_TRUE (CPU_EQUAL (&t.after[1], &t.before));
  CU_ASSERT_EQUAL (hass_topology_numa_node (gpus[0]), 0);
  this_machine (xml);
}

/* -- GPUs --------------------------------------------------------------- */

/* A machine with the stand-in's GPUs behind the two switches. */
static char *
stand_in_behind_switches (guint n_gpus)
{
  GString *text = g_string_new (NULL);
  char *xml = machine ("two-switches");
  g_string_append (text, xml);
  this_machine (xml);
  for (guint i = 0; i < FAKE_DEVICES; i++)
    {
      g_autofree char *pci = g_strdup_printf ("0000:%02x:00.0", i + 1);
      g_string_replace (text, gpus[i], pci, 0);
    }
  hass_topology_use_xml (text->str);
  fake_cudart_install (&(FakePlan){ .n_devices = n_gpus });
  CU_ASSERT_EQUAL (hass_gpus_count (), n_gpus);
  return g_string_free (text, FALSE);
}

static void
gpus_know_their_links (void)
{
  char *xml = stand_in_behind_switches (FAKE_DEVICES);
  CU_ASSERT_EQUAL (hass_gpus_get (0)->link, 1);
  CU_ASSERT_EQUAL (hass_gpus_get (1)->link, 1);
  CU_ASSERT_EQUAL (hass_gpus_get (2)->link, 2);
  CU_ASSERT_EQUAL (hass_gpus_get (3)->link, 2);
  hass_gpus_forget ();
  fake_cudart_remove ();
  this_machine (xml);
}

static gboolean
note_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  (void)bundle, (void)stream, (void)error;
  sched_getaffinity (0, sizeof (cpu_set_t), data);
  return TRUE;
}

static void
proxies_are_near (void)
{
  char *xml = stand_in_behind_switches (1);
  cpu_set_t mine, its;
  HassLoad load = { .size = 1, .input = "x", .input_bytes = 1 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  GError *error = NULL;
  f.loads = &load;
  f.n_loads = 1;
  f.gpu_worker = note_gpu;
  f.user_data = &its;
  sched_getaffinity (0, sizeof mine, &mine);
  CU_ASSERT_TRUE (hass_data_farm_combine (&f, NULL, &error));
  CU_ASSERT_PTR_NULL (error);
  g_clear_error (&error);
  cpu_set_t wanted = near_set (&mine, 0);
  if (CPU_COUNT (&wanted) > 0)
    CU_ASSERT_TRUE (CPU_EQUAL (&its, &wanted));
  hass_gpus_forget ();
  fake_cudart_remove ();
  this_machine (xml);
}

/* hwloc takes its time. */
static void
one_gpu_asks_nobody (void)
{
  hass_topology_use_xml (NULL);
  fake_cudart_install (&(FakePlan){ .n_devices = 1 });
  CU_ASSERT_EQUAL (hass_gpus_count (), 1);
  CU_ASSERT_EQUAL (hass_gpus_get (0)->link, 0);
  CU_ASSERT_FALSE (hass_topology_is_loaded ());
  hass_gpus_forget ();
  fake_cudart_remove ();
}

HASS_TEST_SUITE (topology, { "GPUs behind one switch share a link", links },
                 { "a GPU's NUMA node is known", nodes },
                 { "sockets, cores and caches are counted", facts },
                 { "nothing is known of what hwloc cannot read", unreadable },
                 { "a thread is bound to the cores near a GPU", binding },
                 { "a bound thread stays on the cores it has",
                   not_out_of_bounds },
                 { "an unknown GPU or one NUMA node binds nobody", not_bound },
                 { "several GPUs know their links", gpus_know_their_links },
                 { "a GPU's thread is bound near it", proxies_are_near },
                 { "one GPU does not wait for hwloc", one_gpu_asks_nobody })
