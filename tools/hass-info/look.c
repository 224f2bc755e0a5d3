/* SPDX-License-Identifier: MIT */
/* look.c: collects what hass-info shows.
   Thread safety: one thread. */
#include "device/cpu/cpu_pool.h"
#include "info.h"

/* Lists the devices without measuring. */
InfoMachine *
info_look (void)
{
  InfoMachine *m = g_new0 (InfoMachine, 1);
  hass_topology_facts (&m->cpu);
  m->n_available = hass_cpu_pool_available ();
  m->n_gpus = hass_gpus_count ();
  m->gpus = g_new0 (InfoGpu, m->n_gpus);
  if (m->n_gpus == 0)
    m->gpu_problem = hass_gpus_problem ();
  for (guint i = 0; i < m->n_gpus; i++)
    {
      m->gpus[i].gpu = hass_gpus_get (i);
      m->gpus[i].numa_node
          = hass_topology_numa_node (m->gpus[i].gpu->properties.pci);
    }
  return m;
}

/* @launch: NULL: this program has no kernel. */
void
info_measure (InfoMachine *m, InfoLaunch launch, const InfoEffort *effort)
{
  m->measured = TRUE;
  m->read_gbps = info_measure_read (m->n_available, effort);
  m->read_one_gbps
      = m->n_available > 1 ? info_measure_read (1, effort) : m->read_gbps;
  for (guint i = 0; i < m->n_gpus; i++)
    {
      InfoGpu *g = &m->gpus[i];
      GError *error = NULL;
      g->measured = TRUE;
      if (!info_measure_gpu (g->gpu, launch, effort, &g->speed, &error))
        g->problem = g_strdup (error->message);
      g_clear_error (&error);
    }
}

void
info_machine_free (InfoMachine *m)
{
  for (guint i = 0; i < m->n_gpus; i++)
    g_free (m->gpus[i].problem);
  g_free (m->gpus);
  g_free (m);
}
