/* SPDX-License-Identifier: MIT */
/* look.c: collects what hass-info shows.
   Thread safety: one thread. */
#include "device/cpu/cpu_pool.h"
#include "info.h"

/* Lists the devices of a kind with their traits. */
static InfoKind
look_at_kind (const HassDeviceKindOps *ops)
{
  guint n = ops->count (TRUE);
  InfoKind k = { .ops = ops,
                 .devices = g_new0 (HassDevice *, n),
                 .traits = g_new0 (HassDeviceTraits, n) };
  for (guint i = 0; i < n; i++)
    {
      HassDevice *device = ops->create (i);
      if (!device)
        continue;
      device->ops->describe (device, &k.traits[k.n]);
      k.devices[k.n++] = device;
    }
  if (k.n == 0 && ops->problem)
    k.problem = ops->problem ();
  return k;
}

/* Lists the devices without measuring, those of the kinds that HASS_DEVICES
   allows. */
InfoMachine *
info_look (void)
{
  InfoMachine *m = g_new0 (InfoMachine, 1);
  const HassDeviceKindOps *ops;
  guint32 chosen = G_MAXUINT32;
  hass_device_kinds_chosen (&chosen, NULL);
  hass_topology_facts (&m->cpu);
  m->n_available = hass_cpu_pool_available ();
  m->gpu_problem = "HASS_DEVICES does not name cuda";
  for (guint i = 0; (ops = hass_device_kind_get (i)); i++)
    if (chosen >> i & 1)
      {
        InfoKind *k = &m->kinds[m->n_kinds++];
        *k = look_at_kind (ops);
        if (!info_is_cuda (k))
          continue;
        m->n_gpus = k->n;
        m->gpu_problem = k->problem;
      }
  m->gpus = g_new0 (InfoGpu, m->n_gpus);
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
  for (guint i = 0; i < m->n_kinds; i++)
    {
      InfoKind *k = &m->kinds[i];
      for (guint d = 0; d < k->n; d++)
        k->ops->destroy (k->devices[d]);
      g_free (k->devices);
      g_free (k->traits);
    }
  g_free (m->gpus);
  g_free (m);
}
