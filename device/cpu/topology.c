/* SPDX-License-Identifier: MIT */
/* topology.c: see topology.h.
   Thread safety: see topology.h. */
#include "topology.h"

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "cpu_pool.h"

#define NODES_WITH_CORES "/sys/devices/system/node/has_cpu"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gboolean looked;           /* guarded by `lock` */
static hwloc_topology_t topology; /* guarded by `lock`; NULL: hwloc failed */
static const char *given_xml;     /* guarded by `lock` */

/* -- Looking ------------------------------------------------------------ */

static hwloc_topology_t
load (const char *xml)
{
  hwloc_topology_t t;
  if (hwloc_topology_init (&t) != 0)
    return NULL;
  /* The "pci" component of hwloc (libpciaccess) leaks memory where it is a
     plugin, and the kernel's own files have what is needed, so it is excluded.
     The call fails, without effect, if there is no such component. */
  hwloc_topology_set_components (t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                 "pci");
  /* Without this flag hwloc would move the thread to each core in turn. */
  if (hwloc_topology_set_flags (t, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING) == 0
      && hwloc_topology_set_type_filter (t, HWLOC_OBJ_PCI_DEVICE,
                                         HWLOC_TYPE_FILTER_KEEP_IMPORTANT)
             == 0
      && hwloc_topology_set_type_filter (t, HWLOC_OBJ_BRIDGE,
                                         HWLOC_TYPE_FILTER_KEEP_IMPORTANT)
             == 0
      && (!xml
          || hwloc_topology_set_xmlbuffer (t, xml, (int)strlen (xml) + 1) == 0)
      && hwloc_topology_load (t) == 0)
    return t;
  hwloc_topology_destroy (t);
  return NULL;
}

static hwloc_topology_t
look_locked (void)
{
  if (!looked)
    topology = load (given_xml);
  looked = TRUE;
  return topology;
}

void
hass_topology_use_xml (const char *xml)
{
  pthread_mutex_lock (&lock);
  if (topology)
    hwloc_topology_destroy (topology);
  topology = NULL;
  looked = FALSE;
  given_xml = xml;
  pthread_mutex_unlock (&lock);
}

gboolean
hass_topology_is_loaded (void)
{
  pthread_mutex_lock (&lock);
  gboolean is = looked;
  pthread_mutex_unlock (&lock);
  return is;
}

static hwloc_obj_t
find (hwloc_topology_t t, const char *pci)
{
  return t && pci && *pci ? hwloc_get_pcidev_by_busidstring (t, pci) : NULL;
}

/* -- Placing threads ---------------------------------------------------- */

/* Returns: whether the machine has only one NUMA node, so that no thread needs
   to be bound. The kernel's list is "0" for one node, and "0-1" or "0,2" for
   several; it is read once, since each farm asks for each of its GPUs. A
   topology that is loaded already is asked instead. */
static gboolean
one_node_locked (void)
{
  static enum { UNREAD, ONE, SEVERAL } listed; /* guarded by `lock` */
  if (looked || given_xml)
    {
      hwloc_topology_t t = look_locked ();
      return !t || hwloc_get_nbobjs_by_type (t, HWLOC_OBJ_NUMANODE) < 2;
    }
  if (listed == UNREAD)
    {
      g_autofree char *text = NULL;
      gboolean read = g_file_get_contents (NODES_WITH_CORES, &text, NULL, NULL);
      listed = read && strpbrk (text, "-,") ? SEVERAL : ONE;
    }
  return listed == ONE;
}

/* Returns: the cores near the PCI device; NULL if they are unknown or if all
   cores are equally near. */
static hwloc_const_cpuset_t
near_locked (const char *pci)
{
  hwloc_topology_t t = look_locked ();
  hwloc_obj_t device = find (t, pci);
  hwloc_obj_t place = device ? hwloc_get_non_io_ancestor_obj (t, device) : NULL;
  if (!place || !place->cpuset
      || hwloc_bitmap_isincluded (hwloc_topology_get_topology_cpuset (t),
                                  place->cpuset))
    return NULL;
  return place->cpuset;
}

/* Binds the calling thread to those of its cores that are near the PCI device.
   Returns: FALSE, without effect, if the device's place is unknown, no core of
   the thread is near it, or the machine has one NUMA node. */
gboolean
hass_topology_bind_near (const char *pci)
{
  cpu_set_t mine, wanted;
  hwloc_const_cpuset_t cores = NULL;
  /* The cores of the process are counted now, before this thread and the
     threads that it makes may use fewer of them. */
  hass_cpu_pool_available ();
  if (sched_getaffinity (0, sizeof mine, &mine) != 0)
    return FALSE;
  CPU_ZERO (&wanted);
  pthread_mutex_lock (&lock);
  if (!one_node_locked ())
    cores = near_locked (pci);
  for (int c = 0; cores && c < CPU_SETSIZE; c++)
    if (CPU_ISSET (c, &mine) && hwloc_bitmap_isset (cores, (unsigned)c))
      CPU_SET (c, &wanted);
  pthread_mutex_unlock (&lock);
  return CPU_COUNT (&wanted) > 0
         && sched_setaffinity (0, sizeof wanted, &wanted) == 0;
}

/* Returns: the NUMA node that the PCI device belongs to; -1: unknown. */
gint
hass_topology_numa_node (const char *pci)
{
  gint node = -1;
  pthread_mutex_lock (&lock);
  hwloc_topology_t t = look_locked ();
  hwloc_obj_t device = find (t, pci);
  hwloc_obj_t place = device ? hwloc_get_non_io_ancestor_obj (t, device) : NULL;
  if (place && place->nodeset && hwloc_bitmap_weight (place->nodeset) == 1)
    node = hwloc_bitmap_first (place->nodeset);
  pthread_mutex_unlock (&lock);
  return node;
}

/* -- Links -------------------------------------------------------------- */

/* Returns: the bridge through which the device's traffic enters the root
   complex (the PCI Express ports of the CPU), itself a port of it; NULL if
   there is none or it is unknown. */
static hwloc_obj_t
root_port (hwloc_obj_t device)
{
  hwloc_obj_t port = NULL;
  for (hwloc_obj_t o = device ? device->parent : NULL;
       o && o->type == HWLOC_OBJ_BRIDGE
       && o->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
       o = o->parent)
    port = o;
  return port;
}

/* Sets @links [n]: 0 if GPU i shares its link to the host with no other GPU of
   @pcis; otherwise the number, from 1, of its group of GPUs behind the same
   port of the root complex, usually on one switch. The root complex itself
   does not count as a link. */
void
hass_topology_links (const char *const *pcis, guint n, guint *links)
{
  g_autofree hwloc_obj_t *ports = g_new0 (hwloc_obj_t, n);
  guint n_groups = 0;
  memset (links, 0, n * sizeof *links);
  pthread_mutex_lock (&lock);
  hwloc_topology_t t = look_locked ();
  for (guint i = 0; i < n; i++)
    ports[i] = root_port (find (t, pcis[i]));
  pthread_mutex_unlock (&lock);
  for (guint i = 0; i < n; i++)
    for (guint k = i + 1; k < n && links[i] == 0 && ports[i]; k++)
      if (ports[k] == ports[i])
        {
          links[i] = ++n_groups;
          for (; k < n; k++)
            if (ports[k] == ports[i])
              links[k] = links[i];
        }
}

/* -- Facts -------------------------------------------------------------- */

static guint
count (hwloc_topology_t t, hwloc_obj_type_t type)
{
  return (guint)MAX (hwloc_get_nbobjs_by_type (t, type), 0);
}

static guint64
cache_bytes (hwloc_topology_t t, hwloc_obj_type_t type)
{
  hwloc_obj_t cache = hwloc_get_obj_by_type (t, type, 0);
  return cache ? cache->attr->cache.size : 0;
}

/* Sets @facts to what is known about the cores. Returns: FALSE if nothing is
   known; all facts are 0 then. */
gboolean
hass_topology_facts (HassTopologyFacts *facts)
{
  *facts = (HassTopologyFacts){ 0 };
  pthread_mutex_lock (&lock);
  hwloc_topology_t t = look_locked ();
  if (t)
    {
      hwloc_obj_t package = hwloc_get_obj_by_type (t, HWLOC_OBJ_PACKAGE, 0);
      const char *model
          = package ? hwloc_obj_get_info_by_name (package, "CPUModel") : NULL;
      g_strlcpy (facts->cpu_model, model ? model : "", sizeof facts->cpu_model);
      g_strstrip (facts->cpu_model);
      facts->n_numa_nodes = count (t, HWLOC_OBJ_NUMANODE);
      facts->n_sockets = count (t, HWLOC_OBJ_PACKAGE);
      facts->n_cores = count (t, HWLOC_OBJ_CORE);
      facts->n_threads = count (t, HWLOC_OBJ_PU);
      facts->n_l2 = count (t, HWLOC_OBJ_L2CACHE);
      facts->n_l3 = count (t, HWLOC_OBJ_L3CACHE);
      facts->l2_bytes = cache_bytes (t, HWLOC_OBJ_L2CACHE);
      facts->l3_bytes = cache_bytes (t, HWLOC_OBJ_L3CACHE);
    }
  pthread_mutex_unlock (&lock);
  return t != NULL;
}
