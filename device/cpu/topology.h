/* SPDX-License-Identifier: MIT */
/* topology.h: where cores, caches and GPUs lie in the machine.

   DESIGN. The library hwloc knows the topology, but takes some 50 ms to read
   it. So the topology is read once, when it is first needed: to describe the
   machine, to find which of several GPUs share a link, and to bind a GPU's
   thread if there are several NUMA nodes. A farm on one GPU of a machine with
   one node never waits for it.

   PCI devices are named as CUDA names them, "0000:3b:00.0", in upper or lower
   case.

   Thread safety: any thread, but hass_topology_use_xml by tests alone. */
#ifndef HASS_TOPOLOGY_H
#define HASS_TOPOLOGY_H

#include <glib.h>

/**
 * HassTopologyFacts: what is known about the cores that this process may use.
 * @cpu_model: name of the CPU; "": unknown.
 * @n_numa_nodes, @n_sockets, @n_cores, @n_threads: numbers of these.
 * @n_l2, @n_l3: number of level 2 and level 3 caches; 0: unknown.
 * @l2_bytes, @l3_bytes: size of one such cache.
 */
typedef struct
{
  char cpu_model[128];
  guint n_numa_nodes, n_sockets, n_cores, n_threads;
  guint n_l2, n_l3;
  guint64 l2_bytes, l3_bytes;
} HassTopologyFacts;

gboolean hass_topology_bind_near (const char *pci);
void hass_topology_links (const char *const *pcis, guint n, guint *links);
gint hass_topology_numa_node (const char *pci);
gboolean hass_topology_facts (HassTopologyFacts *facts);

/* For tests: hass_topology_use_xml() makes the library see the machine that
   @xml describes, in hwloc's format, or with NULL the real one again;
   hass_topology_is_loaded() returns whether a topology was loaded since
   then. */
void hass_topology_use_xml (const char *xml);
gboolean hass_topology_is_loaded (void);

#endif
