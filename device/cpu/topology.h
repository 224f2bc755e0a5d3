/* SPDX-License-Identifier: MIT */
/* topology.h: where cores, caches and GPUs lie in the machine.

   DESIGN. hwloc knows, but takes some 50 ms to look. So it looks once, when
   first needed: to describe the machine, to tell which of several GPUs share
   a link, and to place a GPU's thread where there are several NUMA nodes. A
   farm on one GPU of a machine with one node never waits for it.

   PCI devices are named as CUDA names them, "0000:3b:00.0", in either case.

   Thread safety: any thread, but hass_topology_use_xml by tests alone. */
#ifndef HASS_TOPOLOGY_H
#define HASS_TOPOLOGY_H

#include <glib.h>

/**
 * HassTopologyFacts: the cores, as far as this process may see them.
 * @cpu_model: "": unknown.
 * @n_l2, @n_l3: caches; @l2_bytes, @l3_bytes: of each; 0: none known.
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

/* For tests: another machine, as hwloc writes it, or NULL for this one;
   and whether it was read since. */
void hass_topology_use_xml (const char *xml);
gboolean hass_topology_is_loaded (void);

#endif
