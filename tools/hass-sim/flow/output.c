/* SPDX-License-Identifier: MIT */
/* output.c: see output.h. doc/hass-sim.md describes the members of the JSON and
   the columns of the CSV.
   Thread safety: see output.h. */
#include "output.h"

#include <stdio.h>

#include "engine/observe/json-private.h"
#include "tools/hass-sim/csv.h"

/* Of a graph whose tasks cost nothing the whole may be 0. */
static double
part_of (double part, double whole)
{
  return whole > 0 ? part / whole : 0;
}

static gboolean
path_binds (SimFlowBound b)
{
  return b.path_ns >= b.area_ns;
}

/* -- Table --------------------------------------------------------------- */

static void
print_bound (const char *what, double ns, double makespan_ns, gboolean binds)
{
  printf ("  %-26s %12.3f ms  %5.1f %% of the time%s\n", what, ns * 1e-6,
          100 * part_of (ns, makespan_ns), binds ? ", binds" : "");
}

static void
print_device (const HassReport *r, guint d)
{
  const HassDeviceReport *v = &r->devices[d];
  g_autofree char *copied
      = g_format_size_full (v->bytes, G_FORMAT_SIZE_IEC_UNITS);
  printf ("  %-14s busy %5.1f %%, %" G_GUINT64_FORMAT
          " tasks, %s copied %s%s\n",
          v->name, 100 * part_of (v->kernel_s, r->makespan_s), v->units, copied,
          d == 0 ? "home" : "to it", v->lost ? "; lost" : "");
}

void
sim_flow_print_table (const SimFlowResult *result)
{
  const SimFlow *f = result->flow;
  const HassReport *r = result->outcome->report;
  SimFlowBound b = result->bound;
  double ns = sim_flow_last_ns (result->outcome);
  g_autofree char *bytes
      = g_format_size_full (sim_flow_bytes (f), G_FORMAT_SIZE_IEC_UNITS);
  printf ("%s on %s: %u tasks, %u data, %s\n", f->spec, result->platform->name,
          f->tasks->len, f->sizes->len, bytes);
  printf ("  %-26s %12.3f ms%s\n", "virtual time", ns * 1e-6,
          r->saturated ? " or more: it ends after the end of virtual time"
                       : "");
  if (result->outcome->times > 0)
    printf ("  of the last of %u runs, which take %.3f ms together; devices:\n",
            result->outcome->times, r->makespan_s * 1e3);
  for (guint d = 0; d < r->n_devices; d++)
    print_device (r, d);
  print_bound ("critical path", b.path_ns, ns, path_binds (b));
  print_bound ("all work by all devices", b.area_ns, ns, !path_binds (b));
}

/* Returns: how often the graph has run. */
static guint
n_runs (const SimFlowOutcome *o)
{
  return MAX (o->times, 1);
}

/* -- JSON ---------------------------------------------------------------- */

static void
add_devices (JsonBuilder *json, const HassReport *r)
{
  json_builder_set_member_name (json, "devices");
  json_builder_begin_array (json);
  for (guint d = 0; d < r->n_devices; d++)
    {
      const HassDeviceReport *v = &r->devices[d];
      json_builder_begin_object (json);
      json_add_string (json, "name", v->name);
      json_add_int (json, "cores", v->cores);
      json_add_double (json, "busy_ns", v->kernel_s * 1e9);
      json_add_double (json, "busy", part_of (v->kernel_s, r->makespan_s));
      json_add_int (json, "tasks", v->units);
      json_add_int (json, "copied_bytes", v->bytes);
      json_add_bool (json, "lost", v->lost);
      json_builder_end_object (json);
    }
  json_builder_end_array (json);
}

static void
add_codelets (JsonBuilder *json, const HassReport *r)
{
  json_builder_set_member_name (json, "codelets");
  json_builder_begin_array (json);
  for (guint s = 0; s < r->n_stages; s++)
    {
      const HassStageReport *c = &r->stages[s];
      json_builder_begin_object (json);
      json_add_string (json, "name", c->name);
      json_add_int (json, "tasks", c->tokens);
      json_add_double (json, "cores_ns", c->busy_s * 1e9);
      json_add_double (json, "gpus_ns", c->device_s * 1e9);
      json_builder_end_object (json);
    }
  json_builder_end_array (json);
}

static void
add_runs (JsonBuilder *json, const SimFlowOutcome *o)
{
  json_add_int (json, "times", n_runs (o));
  json_add_double (json, "total_ns", o->report->makespan_s * 1e9);
  json_builder_set_member_name (json, "runs_ns");
  json_builder_begin_array (json);
  for (guint i = 0; i < n_runs (o); i++)
    json_builder_add_double_value (json, o->times > 0 ? o->run_ns[i]
                                                      : sim_flow_last_ns (o));
  json_builder_end_array (json);
}

void
sim_flow_add_json (JsonBuilder *json, const SimFlowResult *result)
{
  const SimFlow *f = result->flow;
  const HassReport *r = result->outcome->report;
  json_builder_begin_object (json);
  json_add_string (json, "dataflow", f->spec);
  json_add_string (json, "platform", result->platform->name);
  json_add_string (json, "strategy", r->strategy);
  json_add_int (json, "seed", result->seed);
  json_add_int (json, "tasks", f->tasks->len);
  json_add_int (json, "data", f->sizes->len);
  json_add_int (json, "data_bytes", sim_flow_bytes (f));
  json_add_double (json, "makespan_ns", sim_flow_last_ns (result->outcome));
  json_add_bool (json, "saturated", r->saturated);
  json_add_double (json, "path_ns", result->bound.path_ns);
  json_add_double (json, "area_ns", result->bound.area_ns);
  json_add_string (json, "binds", path_binds (result->bound) ? "path" : "area");
  add_devices (json, r);
  add_codelets (json, r);
  add_runs (json, result->outcome);
  json_builder_end_object (json);
}

/* -- CSV ----------------------------------------------------------------- */

/* With a decimal point, whatever the locale. @after: what follows. */
static void
print_last_number (double value, char after)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  printf ("%s%c", g_ascii_formatd (text, sizeof text, "%.12g", value), after);
}

static void
print_number (double value)
{
  print_last_number (value, ',');
}

void
sim_flow_print_csv_head (void)
{
  puts ("dataflow,platform,strategy,seed,tasks,data,data_bytes,"
        "makespan_ns,saturated,path_ns,area_ns,binds,device,cores,busy_ns,busy,"
        "device_tasks,copied_bytes,lost,times,total_ns");
}

void
sim_flow_print_csv (const SimFlowResult *result)
{
  const SimFlow *f = result->flow;
  const HassReport *r = result->outcome->report;
  for (guint d = 0; d < r->n_devices; d++)
    {
      const HassDeviceReport *v = &r->devices[d];
      sim_csv_text (f->spec);
      sim_csv_text (result->platform->name);
      sim_csv_text (r->strategy);
      printf ("%" G_GUINT64_FORMAT ",%u,%u,%zu,", result->seed, f->tasks->len,
              f->sizes->len, sim_flow_bytes (f));
      print_number (sim_flow_last_ns (result->outcome));
      printf ("%d,", r->saturated);
      print_number (result->bound.path_ns);
      print_number (result->bound.area_ns);
      printf ("%s,", path_binds (result->bound) ? "path" : "area");
      sim_csv_text (v->name);
      printf ("%u,", v->cores);
      print_number (v->kernel_s * 1e9);
      print_number (part_of (v->kernel_s, r->makespan_s));
      printf ("%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT ",%d,%u,", v->units,
              v->bytes, v->lost, n_runs (result->outcome));
      print_last_number (r->makespan_s * 1e9, '\n');
    }
}
