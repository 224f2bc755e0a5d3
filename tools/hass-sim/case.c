/* SPDX-License-Identifier: MIT */
/* case.c: a workload on a machine, ready to be run under strategies.
   Thread safety: any thread, each with a case of its own. */
#include "sim.h"

#include <string.h>

/* Number of rounds with costs of their own; later rounds repeat them. More
   rounds make the costs more varied and the case slower to create. */
#define PERIOD 8

static gboolean
fits (const char *which, const char *name, const char *label, gboolean gpu)
{
  if (strcmp (which, name) == 0 || (gpu && strcmp (which, "gpu") == 0))
    return TRUE;
  return gpu && label && g_str_has_prefix (which, "gpu ")
         && strstr (label, which + 4);
}

/* The rates of the workload replace those of the platform; a rate for one
   device takes precedence over a rate for all. */
static void
apply_rates (const SimWorkload *w, HassPlatform *p)
{
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < w->rates->len; i++)
      {
        const SimRates *r = &g_array_index (w->rates, SimRates, i);
        if ((strcmp (r->which, "gpu") == 0) != (pass == 0))
          continue;
        if (p->has_cpu && fits (r->which, "cpu", NULL, FALSE))
          p->core_work_per_ns = r->unit_ns > 0 ? w->work / r->unit_ns
                                               : p->core_work_per_ns * r->scale;
        for (guint g = 0; g < p->n_gpus; g++)
          {
            HassGpuModel *gpu = &p->gpus[g];
            if (!fits (r->which, gpu->name, gpu->label, TRUE))
              continue;
            gpu->work_per_ns = r->unit_ns > 0 ? w->work / r->unit_ns
                                              : gpu->work_per_ns * r->scale;
            if (r->width > 0)
              gpu->width = (guint64)r->width;
            if (r->launch_ns >= 0)
              gpu->launch_ns = r->launch_ns;
            if (r->depth > 0)
              gpu->depth = (guint)r->depth;
            if (r->curve >= 0)
              gpu->curve = (HassCurve)r->curve;
          }
      }
}

/* Returns: whether all rounds have the same costs. */
static gboolean
is_fixed (const SimWorkload *w)
{
  return w->repeat || w->family == SIM_EQUAL || w->family == SIM_RAMP_UP
         || w->family == SIM_RAMP_DOWN;
}

SimCase *
sim_case_new (SimWorkload *workload, HassPlatform *platform, guint rounds,
              guint64 seed, const HassVirtualEvent *events, guint n_events)
{
  SimCase *c = g_new0 (SimCase, 1);
  c->workload = workload;
  c->platform = platform;
  c->seed = seed;
  c->rounds = rounds;
  c->events = g_memdup2 (events, n_events * sizeof *events);
  c->n_events = n_events;
  apply_rates (workload, platform);
  c->device_names = g_new0 (char *, platform->n_gpus + 2);
  if (platform->has_cpu)
    c->device_names[c->n_devices++] = g_strdup ("cpu");
  for (guint g = 0; g < platform->n_gpus; g++)
    c->device_names[c->n_devices++] = g_strdup (platform->gpus[g].name);
  c->period = is_fixed (workload) ? 1 : MIN (rounds, PERIOD);
  c->costs = g_new0 (SimCosts, c->period);
  for (guint i = 0; i < c->period; i++)
    c->costs[i] = sim_costs_new (workload, seed * 1000 + i);
  return c;
}

void
sim_case_free (SimCase *c)
{
  for (guint i = 0; i < c->period; i++)
    {
      if (c->costs[i].gpu != c->costs[i].cpu)
        g_free (c->costs[i].gpu);
      g_free (c->costs[i].cpu);
    }
  g_free (c->costs);
  g_strfreev (c->device_names);
  g_free (c->events);
  g_free (c->bound_ns);
  g_free (c->static_ns);
  g_free (c->static_split);
  sim_workload_free (c->workload);
  hass_platform_free (c->platform);
  g_free (c);
}

double
sim_case_work (const SimCase *c, guint64 round, gboolean gpu, guint32 unit,
               guint32 n)
{
  const SimCosts *costs = &c->costs[round % c->period];
  const double *sum = gpu ? costs->gpu : costs->cpu;
  return sum ? sum[unit + n] - sum[unit] : c->workload->work * n;
}

double
sim_case_sizes (const SimCase *c, guint64 round, guint32 unit, guint32 n)
{
  if (!c->workload->sizes)
    return n;
  return sim_case_work (c, round, FALSE, unit, n) / c->workload->work;
}
