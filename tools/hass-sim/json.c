/* SPDX-License-Identifier: MIT */
/* json.c: results as JSON.
   Thread safety: one thread. */
#include "sim.h"

#include <json-glib/json-glib.h>
#include <stdio.h>

static void
add (JsonBuilder *b, const char *name, double value)
{
  json_builder_set_member_name (b, name);
  json_builder_add_double_value (b, value);
}

static void
add_text (JsonBuilder *b, const char *name, const char *value)
{
  json_builder_set_member_name (b, name);
  if (value)
    json_builder_add_string_value (b, value);
  else
    json_builder_add_null_value (b);
}

static void
add_rounds (JsonBuilder *b, const HassSimResult *r)
{
  const SimCase *c = r->of;
  json_builder_set_member_name (b, "rounds");
  json_builder_begin_array (b);
  for (guint i = 0; i < r->n_rounds; i++)
    {
      const SimRound *round = &r->rounds[i];
      json_builder_begin_object (b);
      add (b, "begin_ns", (double)round->begin_ns);
      add (b, "end_ns", (double)round->end_ns);
      add (b, "bound_ns", c->bound_ns[i]);
      add (b, "asks", (double)round->asked);
      json_builder_set_member_name (b, "devices");
      json_builder_begin_array (b);
      for (guint d = 0; d < c->n_devices; d++)
        {
          const SimDevice *dev = &round->devices[d];
          json_builder_begin_object (b);
          add_text (b, "name", c->device_names[d]);
          add (b, "units", (double)dev->units);
          add (b, "work", dev->work);
          add (b, "bundles", (double)dev->bundles);
          add (b, "bytes", (double)dev->bytes);
          add (b, "busy_ns", dev->busy_ns);
          add (b, "finish_ns", dev->finish_ns);
          json_builder_end_object (b);
        }
      json_builder_end_array (b);
      json_builder_end_object (b);
    }
  json_builder_end_array (b);
}

static void
add_result (JsonBuilder *b, const HassSimResult *r)
{
  json_builder_begin_object (b);
  add_text (b, "strategy", r->strategy);
  add_text (b, "refused", r->refused);
  if (!r->refused)
    {
      add (b, "makespan_ns", r->makespan_ns);
      add (b, "steady_ns", r->steady_ns);
      add (b, "efficiency", r->efficiency);
      add (b, "steady_efficiency", r->steady_efficiency);
      add (b, "first_efficiency", r->first_efficiency);
      add (b, "worst_efficiency", r->worst_efficiency);
      add (b, "against_static", r->against_static);
      add (b, "imbalance", r->imbalance);
      add (b, "bundles", (double)r->bundles);
      add (b, "bytes", (double)r->bytes);
      add (b, "asks", r->asked);
      add_rounds (b, r);
    }
  json_builder_end_object (b);
}

/* A SimCase and a GPtrArray of its results, in turn. */
void
sim_print_json (GPtrArray *all)
{
  g_autoptr (JsonBuilder) b = json_builder_new ();
  json_builder_begin_array (b);
  for (guint i = 0; i + 1 < all->len; i += 2)
    {
      const SimCase *c = all->pdata[i];
      GPtrArray *results = all->pdata[i + 1];
      json_builder_begin_object (b);
      add_text (b, "workload", c->workload->name);
      add_text (b, "platform", c->platform->name);
      add (b, "units", c->workload->units);
      add_text (b, "static_split", c->static_split);
      json_builder_set_member_name (b, "results");
      json_builder_begin_array (b);
      for (guint k = 0; k < results->len; k++)
        add_result (b, results->pdata[k]);
      json_builder_end_array (b);
      json_builder_end_object (b);
    }
  json_builder_end_array (b);
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = json_builder_get_root (b);
  json_generator_set_root (generator, root);
  json_generator_set_pretty (generator, TRUE);
  g_autofree char *text = json_generator_to_data (generator, NULL);
  puts (text);
}
