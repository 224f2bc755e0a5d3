/* SPDX-License-Identifier: MIT */
/* command.c: hass-sim --dataflow: runs a graph of tasks on a modelled machine,
   and says how near it comes to the lower bounds.
   Thread safety: one thread. */
#include "output.h"
#include "run.h"

#include <stdio.h>

#include "engine/observe/json-private.h"

/* The machine if none is named. */
#define MACHINE "h200x2"

static void
print (const SimFlowCommand *command, const SimFlowResult *result)
{
  if (command->output == 't')
    sim_flow_print_table (result);
  else if (command->output == 'c')
    {
      sim_flow_print_csv_head ();
      sim_flow_print_csv (result);
    }
  else
    {
      g_autoptr (JsonBuilder) json = json_builder_new ();
      json_builder_begin_array (json);
      sim_flow_add_json (json, result);
      json_builder_end_array (json);
      g_autofree char *text = json_text (json, TRUE);
      puts (text);
    }
}

/* Runs the graph as the command says, draws it if it says so, and prints what
   has come of it. */
static gboolean
run (const SimFlowCommand *command, SimFlow *f, const HassPlatform *p,
     GError **error)
{
  SimFlowOptions o = { .seed = command->seed,
                       .trace = command->trace,
                       .modelled = command->noise >= 0 || command->start_ms >= 0
                                   || command->slow || command->lose };
  SimFlowPicture picture = { command->gantt, command->task, NULL };
  g_autoptr (GArray) events
      = sim_flow_events (f, p, &o, command->slow, command->lose, error);
  if (!events)
    return FALSE;
  o.events = (HassVirtualEvent *)events->data;
  o.n_events = events->len;
  g_autoptr (HassReport) r = sim_flow_run_as (f, p, &o, error);
  if (!r || (command->gantt && !sim_flow_draw (f, p, &o, r, &picture, error)))
    return FALSE;
  g_autofree char *chain = picture.chain;
  print (command,
         &(SimFlowResult){ f, p, r, sim_flow_bound (f, p), command->seed });
  if (chain && command->output == 't')
    fputs (chain, stdout);
  return TRUE;
}

static void
adjust (const SimFlowCommand *command, HassPlatform *p)
{
  if (command->noise >= 0)
    p->noise = command->noise;
  for (guint i = 0; command->start_ms >= 0 && i < p->n_gpus; i++)
    p->gpus[i].start_ns = command->start_ms * 1e6;
}

gboolean
sim_flow_command (const SimFlowCommand *command, GError **error)
{
  gboolean ok = FALSE;
  HassPlatform *p = NULL;
  const char *on = command->platform ? command->platform : MACHINE;
  g_autoptr (SimFlow) f = sim_flow_new (command->spec, command->seed, error);
  if (!f || !sim_load_platform (f->name, on, &p, error))
    return FALSE;
  adjust (command, p);
  if (!p->has_cpu)
    g_set_error (error, HASS_ERROR, HASS_ERROR_NO_DEVICE,
                 "dataflow '%s': platform %s has no cores", f->spec, p->name);
  else
    ok = run (command, f, p, error);
  hass_platform_free (p);
  return ok;
}
