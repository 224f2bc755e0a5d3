/* SPDX-License-Identifier: MIT */
/* command.c: hass-sim --pipeline: tables of strategies on modelled pipelines.
   Thread safety: one thread. */
#include "pipe.h"

#include "engine/observe/json-private.h"
#include "hass/error.h"
#include "tools/hass-sim/csv.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_CASES 100000
#define FAR_BELOW 0.80

/* Ratios over cases: sum of their logarithms, the worst one and its case, how
   many are below FAR_BELOW. */
typedef struct
{
  double sum, worst;
  guint n, below, worst_case;
} Ratios;

/* Of a strategy over all cases: the bound divided by its makespan, and the
   shortest makespan of the others divided by its makespan. */
typedef struct
{
  Ratios bound, others;
  guint refused, unfit; /* unfit: of those it refused, it serves no pipelines */
} Score;

static void
print_stages (const HassReport *report)
{
  printf ("    %-16s %-9s %10s %10s %10s %10s %6s\n", "stage", "mode", "tokens",
          "cores ms", "GPUs ms", "queued", "util");
  for (guint s = 0; s < report->n_stages; s++)
    {
      const HassStageReport *r = &report->stages[s];
      printf ("    %-16s %-9s %10" G_GUINT64_FORMAT
              " %10.3f %10.3f %10.1f %5.1f%%\n",
              r->name, r->mode, r->tokens, 1e3 * r->busy_s, 1e3 * r->device_s,
              r->waiting_s / MAX (report->makespan_s, 1e-12),
              100 * r->utilisation);
    }
  for (guint s = 0; s < report->n_stages; s++)
    if (report->stages[s].again > 0)
      printf ("    %s: %" G_GUINT64_FORMAT " begun again, %" G_GUINT64_FORMAT
              " overtaken\n",
              report->stages[s].name, report->stages[s].again,
              report->stages[s].overtaken);
  if (report->binding)
    printf ("    %s\n", report->binding);
}

/* The table of one run; @i: index of its strategy. */
static void
print_run (const SimPipeCommand *command, const SimPipeCase *c, guint i,
           const SimPipeResult *result)
{
  printf ("  %-16s %12.3f ms", command->strategies[i],
          result->makespan_ns / 1e6);
  if (c->bound_ns > 0)
    printf ("  %5.1f %% of the bound", 100 * c->bound_ns / result->makespan_ns);
  printf ("\n");
  print_stages (result->report);
}

static void
add_json (JsonBuilder *b, const SimPipeCase *c, const char *strategy,
          const SimPipeResult *result)
{
  const HassReport *report = result->report;
  json_builder_begin_object (b);
  json_add_string (b, "pipeline", c->pipe->name);
  json_add_string (b, "platform", c->platform->name);
  json_add_string (b, "strategy", strategy);
  json_add_double (b, "bound_ns", c->bound_ns);
  json_add_double (b, "makespan_ns", result->makespan_ns);
  json_add_string (b, "binding", report->binding);
  json_builder_set_member_name (b, "stages");
  json_builder_begin_array (b);
  for (guint s = 0; s < report->n_stages; s++)
    {
      const HassStageReport *r = &report->stages[s];
      json_builder_begin_object (b);
      json_add_string (b, "name", r->name);
      json_add_string (b, "mode", r->mode);
      json_add_double (b, "tokens", (double)r->tokens);
      json_add_double (b, "cores_s", r->busy_s);
      json_add_double (b, "gpus_s", r->device_s);
      json_add_double (b, "waiting_s", r->waiting_s);
      json_builder_end_object (b);
    }
  json_builder_end_array (b);
  json_builder_end_object (b);
}

/* Prints a run, or adds it to the JSON. */
static void
tell (const SimPipeCommand *command, const SimPipeCase *c, guint i,
      const SimPipeResult *result, JsonBuilder *json)
{
  if (command->output == 'j')
    add_json (json, c, command->strategies[i], result);
  else if (command->output == 'c')
    {
      sim_csv_text (c->pipe->name);
      sim_csv_text (c->platform->name);
      sim_csv_text (command->strategies[i]);
      printf ("%.0f,%.0f\n", c->bound_ns, result->makespan_ns);
    }
  else if (!command->summary)
    print_run (command, c, i, result);
}

static void
add (Ratios *r, double ratio, guint index)
{
  if (r->n++ == 0 || ratio < r->worst)
    {
      r->worst = ratio;
      r->worst_case = index;
    }
  r->sum += log (ratio);
  r->below += ratio < FAR_BELOW;
}

/* Adds the makespans of a case, [n strategies], 0 of one that did not run. */
static void
add_case (Score *scores, const SimPipeCase *c, const double *ns, guint n,
          guint index)
{
  for (guint i = 0; i < n; i++)
    {
      double other = G_MAXDOUBLE;
      for (guint k = 0; k < n; k++)
        if (k != i && ns[k] > 0)
          other = MIN (other, ns[k]);
      if (ns[i] > 0 && c->bound_ns > 0)
        add (&scores[i].bound, c->bound_ns / ns[i], index);
      if (ns[i] > 0 && other < G_MAXDOUBLE)
        add (&scores[i].others, other / ns[i], index);
    }
}

static gboolean
run_strategy (const SimPipeCommand *command, const SimPipeCase *c,
              const char *strategy, SimPipeResult *result, GError **error)
{
  SimPipeOptions options = { .strategy = strategy,
                             .trace = command->trace,
                             .known = command->known,
                             .pure = command->pure };
  return strcmp (strategy, SIM_MAPPINGS) == 0
             ? sim_pipe_best_mapping (c, result, error)
             : sim_pipe_run (c, &options, result, error);
}

/* Runs all strategies on a case. Returns: FALSE if one failed that serves
   pipelines. */
static gboolean
run_case (const SimPipeCommand *command, SimPipeCase *c, guint index,
          Score *scores, JsonBuilder *json)
{
  gboolean ok = TRUE;
  guint n = g_strv_length (command->strategies);
  g_autofree double *ns = g_new0 (double, n);
  if (command->noise >= 0)
    c->platform->noise = command->noise;
  for (guint s = 0; command->loops >= 0 && s < c->pipe->n_stages; s++)
    if (c->pipe->stages[s].cpu && c->pipe->stages[s].gpu)
      c->pipe->stages[s].loops = command->loops;
  sim_pipe_bound (c, NULL);
  if (!command->summary && command->output == 't')
    printf ("%s on %s: %u stages, %" G_GUINT64_FORMAT " loads, bound %.3f ms\n",
            c->pipe->name, c->platform->name, c->pipe->n_stages,
            c->pipe->tokens, c->bound_ns / 1e6);
  for (guint i = 0; i < n; i++)
    {
      SimPipeResult result;
      g_autoptr (GError) error = NULL;
      if (!run_strategy (command, c, command->strategies[i], &result, &error))
        {
          gboolean unfit
              = sim_unfit (command->strategies[i], HASS_FARM_PIPELINE, error);
          ok = ok && unfit;
          scores[i].refused++;
          scores[i].unfit += unfit;
          if (!unfit)
            fprintf (stderr, "  %-16s %s\n", command->strategies[i],
                     error->message);
          continue;
        }
      ns[i] = result.makespan_ns;
      tell (command, c, i, &result, json);
      hass_report_free (result.report);
    }
  add_case (scores, c, ns, n, index);
  return ok;
}

static void
print_ratios (const Ratios *r)
{
  if (r->n > 0)
    printf (" %8.1f %8.1f %8u %8u", 100 * exp (r->sum / r->n), 100 * r->worst,
            r->worst_case, r->below);
  else
    printf (" %8s %8s %8s %8s", "-", "-", "-", "-");
}

static void
print_summary (char **strategies, const Score *scores)
{
  printf ("%-16s %44s %35s\n", "", "the bound / makespan",
          "the best other / makespan");
  printf ("%-16s %6s %8s", "strategy", "cases", "refused");
  for (guint i = 0; i < 2; i++)
    printf (" %8s %8s %8s %8s", "mean %", "worst %", "of case", "< 80 %");
  printf ("\n");
  for (guint i = 0; strategies[i]; i++)
    {
      const Score *s = &scores[i];
      guint n = MAX (s->bound.n, s->others.n);
      if (n == 0)
        continue;
      printf ("%-16s %6u %8u", strategies[i], n, s->refused);
      print_ratios (&s->bound);
      print_ratios (&s->others);
      printf ("\n");
    }
}

/* Reads N, or FIRST+N: @n cases from @first on. Returns: FALSE with an error.
 */
static gboolean
which (const char *text, guint64 *first, guint64 *n, GError **error)
{
  const char *plus = strchr (text, '+');
  g_autofree char *before = plus ? g_strndup (text, plus - text) : NULL;
  *first = 0;
  return (!plus
          || g_ascii_string_to_unsigned (before, 10, 0, MOST_CASES, first,
                                         error))
         && g_ascii_string_to_unsigned (plus ? plus + 1 : text, 10, 1,
                                        MOST_CASES, n, error);
}

/* Returns: the part of a name before its colon; "": it has none. */
static char *
family_of (const char *name)
{
  const char *colon = strchr (name, ':');
  return g_strndup (name, colon ? (gsize)(colon - name) : 0);
}

gboolean
sim_pipe_is_drawn (const char *name)
{
  g_autofree char *family = family_of (name);
  return strcmp (family, "random") == 0 || sim_pipe_is_family (family);
}

/* Runs all cases of the command. Returns: FALSE with an error. */
static gboolean
run_cases (const SimPipeCommand *command, Score *scores, JsonBuilder *json,
           gboolean *failed, GError **error)
{
  SimPipe *pipe;
  HassPlatform *machine;
  guint64 first, n;
  g_autofree char *family = family_of (command->name);
  if (!sim_pipe_is_drawn (command->name))
    {
      if (!sim_pipe_find (command->name, command->platform, &pipe, &machine,
                          error))
        return FALSE;
      g_autoptr (SimPipeCase) c
          = sim_pipe_case_new (pipe, machine, command->seed, error);
      if (c)
        *failed |= !run_case (command, c, 0, scores, json);
      return c != NULL;
    }
  if (!which (command->name + strlen (family) + 1, &first, &n, error))
    return FALSE;
  for (guint64 i = first; i < first + n; i++)
    {
      g_autoptr (SimPipeCase) c
          = sim_pipe_is_family (family)
                ? sim_pipe_of_family (family, command->seed, (guint)i)
                : sim_pipe_random (command->seed, (guint)i);
      *failed |= !run_case (command, c, (guint)i, scores, json);
    }
  return TRUE;
}

/* Returns: FALSE with an error if no strategy serves pipelines, so there is
   nothing to print. */
static gboolean
any_serves (const SimPipeCommand *command, const Score *scores, GError **error)
{
  for (guint i = 0; command->strategies[i]; i++)
    if (scores[i].unfit == 0)
      return TRUE;
  g_autofree char *names = g_strjoinv (", ", command->strategies);
  g_set_error (error, HASS_ERROR, HASS_ERROR_STRATEGY,
               "--pipeline %s: %s does not serve pipelines", command->name,
               names);
  return FALSE;
}

gboolean
sim_pipe_command (const SimPipeCommand *command, gboolean *failed,
                  GError **error)
{
  g_autofree Score *scores
      = g_new0 (Score, g_strv_length (command->strategies) + 1);
  g_autoptr (JsonBuilder) json = json_builder_new ();
  json_builder_begin_array (json);
  if (command->output == 'c')
    puts ("pipeline,platform,strategy,bound_ns,makespan_ns");
  if (!run_cases (command, scores, json, failed, error)
      || !any_serves (command, scores, error))
    return FALSE;
  json_builder_end_array (json);
  if (command->output == 'j')
    {
      g_autofree char *text = json_text (json, TRUE);
      puts (text);
    }
  else if (command->output == 't')
    print_summary (command->strategies, scores);
  return TRUE;
}
