/* SPDX-License-Identifier: MIT */
/* command.c: hass-sim --dataflow: runs a graph of tasks on a modelled machine,
   and says how near it comes to the lower bounds.
   Thread safety: one thread. */
#include "output.h"
#include "run.h"

#include <stdio.h>

#include "engine/observe/json-private.h"
#include "tools/hass-sim/options.h"

/* The machine if none is named. */
#define MACHINE "h200x2"

/* Prints the runs of the graph under the strategies. @outcomes: SimFlowOutcome.
 */
static void
print (const SimFlowCommand *command, SimFlow *f, const HassPlatform *p,
       char **strategies, const GPtrArray *outcomes)
{
  g_autoptr (JsonBuilder) json = json_builder_new ();
  json_builder_begin_array (json);
  if (command->output == 'c')
    sim_flow_print_csv_head ();
  if (command->output == 't' && outcomes->len > 1)
    sim_flow_compare (f, p, strategies, outcomes);
  for (guint i = 0; i < outcomes->len; i++)
    {
      SimFlowResult result
          = { f, p, outcomes->pdata[i], sim_flow_bound (f, p), command->seed };
      if (command->output == 'c')
        sim_flow_print_csv (&result);
      else if (command->output == 'j')
        sim_flow_add_json (json, &result);
      else if (outcomes->len == 1)
        sim_flow_print_table (&result);
    }
  json_builder_end_array (json);
  if (command->output == 'j')
    {
      g_autofree char *text = json_text (json, TRUE);
      puts (text);
    }
}

/* Runs the graph under a strategy as the command says. Draws it if it is the
   first one, and sets *chain to what the chain of the chosen task is; the trace
   is of the last one. */
static SimFlowOutcome *
run_one (const SimFlowCommand *command, SimFlow *f, const HassPlatform *p,
         char **strategy, char **chain, GError **error)
{
  SimFlowOptions o
      = { .seed = command->seed,
          .strategy = strategy[0],
          .trace = strategy[0] && strategy[1] ? "" : command->trace,
          .times = command->times,
          .modelled = command->noise >= 0 || command->start_ms >= 0
                      || command->slow || command->lose };
  SimFlowPicture picture = { command->gantt, command->task, NULL };
  g_autoptr (GArray) events
      = sim_flow_events (f, p, &o, command->slow, command->lose, error);
  if (!events)
    return NULL;
  o.events = (HassVirtualEvent *)events->data;
  o.n_events = events->len;
  SimFlowOutcome *r = sim_flow_run_times (f, p, &o, error);
  if (r && chain && command->gantt
      && !sim_flow_draw (f, p, &o, r->report, &picture, error))
    g_clear_pointer (&r, sim_flow_outcome_free);
  if (chain)
    *chain = picture.chain;
  return r;
}

static gboolean
run (const SimFlowCommand *command, SimFlow *f, const HassPlatform *p,
     char **strategies, GError **error)
{
  g_autoptr (GPtrArray) outcomes
      = g_ptr_array_new_with_free_func ((GDestroyNotify)sim_flow_outcome_free);
  g_autofree char *chain = NULL;
  guint n = MAX (g_strv_length (strategies), 1);
  for (guint i = 0; i < n; i++)
    {
      SimFlowOutcome *r = run_one (command, f, p, strategies + i,
                                   i == 0 ? &chain : NULL, error);
      if (!r)
        return FALSE;
      g_ptr_array_add (outcomes, r);
    }
  print (command, f, p, strategies, outcomes);
  if (chain && command->output == 't')
    fputs (chain, stdout);
  return TRUE;
}

gboolean
sim_flow_command (const SimFlowCommand *command, gboolean *unwritten,
                  GError **error)
{
  gboolean ok = FALSE;
  GError *failure = NULL;
  HassPlatform *p = NULL;
  const char *on = command->platform ? command->platform : MACHINE;
  /* An empty list: the default one. */
  g_auto (GStrv) strategies
      = command->strategies ? sim_flow_strategies (command->strategies, error)
                            : g_new0 (char *, 1);
  if (!strategies)
    return FALSE;
  g_autoptr (SimFlow) f = sim_flow_new (command->spec, command->seed, error);
  if (!f || !sim_load_platform (f->name, on, &p, error))
    return FALSE;
  sim_adjust (&(SimAdjust){ command->noise, -1, -1, command->start_ms }, p);
  if (!p->has_cpu)
    g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                 "dataflow '%s': platform %s has no cores", f->spec, p->name);
  else
    ok = run (command, f, p, strategies, &failure);
  /* All that is read has been read before it runs. */
  *unwritten = g_error_matches (failure, HASS_ERROR, HASS_ERROR_IO);
  if (failure)
    g_propagate_error (error, failure);
  hass_platform_free (p);
  return ok;
}
