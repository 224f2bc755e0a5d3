/* SPDX-License-Identifier: MIT */
/* command.c: hass-sim --pipeline: tables of strategies on modelled pipelines.
   Thread safety: one thread. */
#include "pipe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_CASES 100000
#define FAR_BELOW 0.80

/* Of a strategy over all cases: sum of log (bound / makespan), the worst one
   and its case, how many are below FAR_BELOW. */
typedef struct
{
  double sum, worst;
  guint n, below, refused, worst_case;
} Score;

static void
print_stages (const HassReport *report)
{
  printf ("    %-16s %-9s %10s %10s %10s %10s %6s\n", "stage", "mode", "tokens",
          "cores ms", "GPUs ms", "waiting", "util");
  for (guint s = 0; s < report->n_stages; s++)
    {
      const HassStageReport *r = &report->stages[s];
      printf ("    %-16s %-9s %10" G_GUINT64_FORMAT
              " %10.3f %10.3f %10.1f %5.1f%%\n",
              r->name, r->mode, r->tokens, 1e3 * r->busy_s, 1e3 * r->device_s,
              r->waiting_s / MAX (report->makespan_s, 1e-12),
              100 * r->utilisation);
    }
  if (report->binding)
    printf ("    %s\n", report->binding);
}

static void
add (Score *score, const SimPipeCase *c, double makespan_ns, guint index)
{
  double ratio = c->bound_ns / makespan_ns;
  if (score->n++ == 0 || ratio < score->worst)
    {
      score->worst = ratio;
      score->worst_case = index;
    }
  score->sum += log (ratio);
  score->below += ratio < FAR_BELOW;
}

/* Runs all strategies on a case. */
static void
run_case (const SimPipeCommand *command, SimPipeCase *c, guint index,
          Score *scores, gboolean *failed)
{
  if (command->noise >= 0)
    c->platform->noise = command->noise;
  sim_pipe_bound (c, NULL);
  if (!command->summary)
    printf ("%s on %s: %u stages, %" G_GUINT64_FORMAT " loads, bound %.3f ms\n",
            c->pipe->name, c->platform->name, c->pipe->n_stages,
            c->pipe->tokens, c->bound_ns / 1e6);
  for (guint i = 0; command->strategies[i]; i++)
    {
      SimPipeOptions options = { .strategy = command->strategies[i] };
      SimPipeResult result;
      g_autoptr (GError) error = NULL;
      if (!sim_pipe_run (c, &options, &result, &error))
        {
          gboolean unfit = strstr (error->message, "does not serve") != NULL;
          *failed |= !unfit;
          scores[i].refused++;
          if (!unfit)
            printf ("  %-16s %s\n", command->strategies[i], error->message);
          continue;
        }
      if (c->bound_ns > 0)
        add (&scores[i], c, result.makespan_ns, index);
      if (!command->summary)
        {
          printf ("  %-16s %12.3f ms", command->strategies[i],
                  result.makespan_ns / 1e6);
          if (c->bound_ns > 0)
            printf ("  %5.1f %% of the bound",
                    100 * c->bound_ns / result.makespan_ns);
          printf ("\n");
          print_stages (result.report);
        }
      hass_report_free (result.report);
    }
}

static void
print_summary (char **strategies, const Score *scores)
{
  printf ("%-16s %6s %8s %8s %8s %8s %8s\n", "strategy", "cases", "mean %",
          "worst %", "of case", "< 80 %", "refused");
  for (guint i = 0; strategies[i]; i++)
    if (scores[i].n > 0)
      printf ("%-16s %6u %8.1f %8.1f %8u %8u %8u\n", strategies[i], scores[i].n,
              100 * exp (scores[i].sum / scores[i].n), 100 * scores[i].worst,
              scores[i].worst_case, scores[i].below, scores[i].refused);
}

gboolean
sim_pipe_command (const SimPipeCommand *command, gboolean *failed,
                  GError **error)
{
  g_autofree Score *scores
      = g_new0 (Score, g_strv_length (command->strategies) + 1);
  if (g_str_has_prefix (command->name, "random:"))
    {
      guint64 n;
      if (!g_ascii_string_to_unsigned (command->name + strlen ("random:"), 10,
                                       1, MOST_CASES, &n, error))
        return FALSE;
      for (guint i = 0; i < n; i++)
        {
          g_autoptr (SimPipeCase) c = sim_pipe_random (command->seed, i);
          run_case (command, c, i, scores, failed);
        }
    }
  else
    {
      SimPipe *pipe;
      HassPlatform *machine;
      if (!sim_pipe_find (command->name, command->platform, &pipe, &machine,
                          error))
        return FALSE;
      g_autoptr (SimPipeCase) c
          = sim_pipe_case_new (pipe, machine, command->seed, error);
      if (!c)
        return FALSE;
      run_case (command, c, 0, scores, failed);
    }
  print_summary (command->strategies, scores);
  return TRUE;
}
