/* SPDX-License-Identifier: MIT */
/* prior.c: how fast a device is assumed to be before it has shown it; see
   estimate.h.
   Thread safety: as hass/strategy.h. */
#include "estimate.h"

void
hass_estimates_set_priors (HassEstimates *e)
{
  const HassStrategyEnv *env = e->u->env;
  gboolean profiled = env->profile != NULL, said = TRUE;
  for (guint d = 0; d < e->u->n; d++)
    {
      profiled = profiled && env->profile[d].work_per_ns > 0;
      said = said && env->devices[d].work_per_ns > 0;
    }
  for (guint d = 0; d < e->u->n && (profiled || said); d++)
    {
      e->of[d].prior_rate = profiled ? env->profile[d].work_per_ns
                                     : env->devices[d].work_per_ns;
      e->of[d].prior_ns = profiled ? env->profile[d].latency_ns : 0;
      HASS_NOTE (env, "%s: %.4g work per ns, %s", env->devices[d].name,
                 e->of[d].prior_rate,
                 profiled ? "from earlier runs" : "as its traits say");
    }
}

double
hass_estimates_first_ns (const HassEstimates *e, guint device)
{
  double prior_ns = e->u->blocks ? 0 : e->of[device].prior_ns;
  return MAX (e->u->devices[device].latency_ns, prior_ns);
}

double
hass_estimates_assumed_ns (const HassEstimates *e, guint device,
                           const HassFit *fit, double work, double ns)
{
  const HassEstimate *m = &e->of[device];
  double latency_ns = e->u->devices[device].latency_ns;
  double fixed_ns = hass_estimates_first_ns (e, device);
  if (fit->seen > 0 || fixed_ns <= latency_ns)
    return latency_ns;
  return MAX (latency_ns, ns * fixed_ns / (fixed_ns + work / m->prior_rate));
}
