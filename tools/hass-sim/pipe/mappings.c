/* SPDX-License-Identifier: MIT */
/* mappings.c: the best of all fixed mappings of a pipeline's stages.

   DESIGN. Each stage that GPUs can compute runs on the cores, on one of the
   GPUs or on any device; all combinations are run. It is what a programmer gets
   who tries all mappings by hand.

   Thread safety: any thread. */
#include "pipe.h"

#include "hass/error.h"

/* More would take hours. */
#define MOST_MAPPINGS 1024

/* Returns: device of a stage by its digit, as pipe-fixed counts: -1: any; 0:
   cores; i: the i-th GPU. */
static gint
device_of (const SimStage *s, guint digit)
{
  return digit == 0 ? -1 : (gint)digit - (s->cpu ? 1 : 0);
}

/* Returns: digits of a stage: any device, cores and each GPU. */
static guint
n_digits (const SimPipeCase *c, const SimStage *s)
{
  return s->gpu ? 1 + (s->cpu ? 1 : 0) + c->platform->n_gpus : 1;
}

static char *
mapping (const SimPipeCase *c, guint64 number)
{
  GString *text = g_string_new ("pipe-fixed");
  for (guint s = 0; s < c->pipe->n_stages; s++)
    {
      const SimStage *stage = &c->pipe->stages[s];
      guint n = n_digits (c, stage);
      g_string_append_printf (text, "%ss%u=%d", s == 0 ? ":" : ",", s + 1,
                              device_of (stage, (guint)(number % n)));
      number /= n;
    }
  return g_string_free (text, FALSE);
}

gboolean
sim_pipe_best_mapping (const SimPipeCase *c, SimPipeResult *best,
                       GError **error)
{
  guint64 n = 1;
  *best = (SimPipeResult){ 0 };
  for (guint s = 0; s < c->pipe->n_stages; s++)
    if ((n *= n_digits (c, &c->pipe->stages[s])) > MOST_MAPPINGS)
      {
        g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                     "pipeline '%s': more than %d mappings of stages to "
                     "devices",
                     c->pipe->name, MOST_MAPPINGS);
        return FALSE;
      }
  for (guint64 i = 0; i < n; i++)
    {
      g_autofree char *strategy = mapping (c, i);
      SimPipeOptions options = { .strategy = strategy };
      SimPipeResult result;
      if (!sim_pipe_run (c, &options, &result, error))
        {
          g_clear_pointer (&best->report, hass_report_free);
          return FALSE;
        }
      if (!best->report || result.makespan_ns < best->makespan_ns)
        {
          hass_report_free (best->report);
          *best = result;
        }
      else
        hass_report_free (result.report);
    }
  return TRUE;
}
