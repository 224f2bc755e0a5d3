/* SPDX-License-Identifier: MIT */
/* run.c: runs shipped workloads on shipped machines, and means.
   Thread safety: any thread. */
#include <math.h>

#include "hass/error.h"
#include "papers.h"

SimCase *
papers_case (const char *workload, const char *platform, guint rounds,
             GError **error)
{
  SimWorkload *w;
  HassPlatform *p;
  if (!sim_load (workload, platform, &w, &p, error))
    return NULL;
  return sim_case_new (w, p, rounds, 1, NULL, 0);
}

HassSimResult *
papers_run (const SimCase *c, const char *strategy, GError **error)
{
  HassSimResult *r = sim_run (c, strategy, NULL);
  if (!r->refused)
    return r;
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "%s on %s: %s", strategy,
               c->workload->name, r->refused);
  sim_result_free (r);
  return NULL;
}

double
papers_total (const SimCase *c, const char *strategy, GError **error)
{
  HassSimResult *r = papers_run (c, strategy, error);
  double ns = r ? r->makespan_ns : 0;
  g_clear_pointer (&r, sim_result_free);
  return ns;
}

double
papers_round_ns (const HassSimResult *r, guint round)
{
  return (double)(r->rounds[round].end_ns - r->rounds[round].begin_ns);
}

double
papers_share (const HassSimResult *r, guint device, guint from, guint to)
{
  double own = 0, all = 0;
  for (guint i = from; i < to; i++)
    for (guint d = 0; d < r->of->n_devices; d++)
      {
        double units = (double)r->rounds[i].devices[d].units;
        all += units;
        own += d == device ? units : 0;
      }
  return own / all;
}

double
papers_mean (const double *values, guint n)
{
  double sum = 0;
  for (guint i = 0; i < n; i++)
    sum += values[i];
  return sum / n;
}

double
papers_geometric_mean (const double *values, guint n)
{
  double sum = 0;
  for (guint i = 0; i < n; i++)
    sum += log (values[i]);
  return exp (sum / n);
}
