/* SPDX-License-Identifier: MIT */
/* json.c: results as JSON.
   Thread safety: one thread. */
#include "sim.h"
#include "engine/observe/json-private.h"

#include <json-glib/json-glib.h>
#include <stdio.h>

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
      json_add_double (b, "begin_ns", (double)round->begin_ns);
      json_add_double (b, "end_ns", (double)round->end_ns);
      json_add_double (b, "bound_ns", c->bound_ns[i]);
      json_add_double (b, "asks", (double)round->asked);
      json_builder_set_member_name (b, "devices");
      json_builder_begin_array (b);
      for (guint d = 0; d < c->n_devices; d++)
        {
          const SimDevice *dev = &round->devices[d];
          json_builder_begin_object (b);
          json_add_string (b, "name", c->device_names[d]);
          json_add_double (b, "units", (double)dev->units);
          json_add_double (b, "work", dev->work);
          json_add_double (b, "bundles", (double)dev->bundles);
          json_add_double (b, "bytes", (double)dev->bytes);
          json_add_double (b, "busy_ns", dev->busy_ns);
          json_add_double (b, "finish_ns", dev->finish_ns);
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
  json_add_string (b, "strategy", r->strategy);
  json_add_string (b, "refused", r->refused);
  if (!r->refused)
    {
      json_add_double (b, "makespan_ns", r->makespan_ns);
      json_add_double (b, "steady_ns", r->steady_ns);
      json_add_double (b, "efficiency", r->efficiency);
      json_add_double (b, "steady_efficiency", r->steady_efficiency);
      json_add_double (b, "first_efficiency", r->first_efficiency);
      json_add_double (b, "worst_efficiency", r->worst_efficiency);
      json_add_double (b, "against_static", r->against_static);
      json_add_double (b, "imbalance", r->imbalance);
      json_add_double (b, "bundles", (double)r->bundles);
      json_add_double (b, "bytes", (double)r->bytes);
      json_add_double (b, "asks", r->asked);
      add_rounds (b, r);
    }
  json_builder_end_object (b);
}

/* @all: a SimCase and a GPtrArray of its results, alternating. */
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
      json_add_string (b, "workload", c->workload->name);
      json_add_string (b, "platform", c->platform->name);
      json_add_double (b, "units", c->workload->units);
      json_add_string (b, "static_split", c->static_split);
      json_builder_set_member_name (b, "results");
      json_builder_begin_array (b);
      for (guint k = 0; k < results->len; k++)
        add_result (b, results->pdata[k]);
      json_builder_end_array (b);
      json_builder_end_object (b);
    }
  json_builder_end_array (b);
  g_autofree char *text = json_text (b, TRUE);
  puts (text);
}
