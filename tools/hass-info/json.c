/* SPDX-License-Identifier: MIT */
/* json.c: the JSON output of hass-info; its names are documented in
   doc/man/hass-info.1 and never change.
   Thread safety: any thread. */
#include <json-glib/json-glib.h>

#include "hass/profile.h"
#include "engine/observe/json-private.h"
#include "hass/strategy.h"
#include "info.h"

/* Adds a value of which 0 means that it is not known. */
static void
add_measured (JsonBuilder *j, const char *name, double value)
{
  json_builder_set_member_name (j, name);
  if (value > 0)
    json_put_double (j, value);
  else
    json_builder_add_null_value (j);
}

static void
add_cpu (JsonBuilder *j, const InfoMachine *m)
{
  const HassTopologyFacts *f = &m->cpu;
  json_builder_set_member_name (j, "cpu");
  json_builder_begin_object (j);
  json_add_string (j, "model", f->cpu_model);
  json_add_int (j, "available_threads", m->n_available);
  json_add_int (j, "threads", f->n_threads);
  json_add_int (j, "cores", f->n_cores);
  json_add_int (j, "sockets", f->n_sockets);
  json_add_int (j, "numa_nodes", f->n_numa_nodes);
  json_add_int (j, "l2_caches", f->n_l2);
  json_add_int (j, "l2_bytes", f->l2_bytes);
  json_add_int (j, "l3_caches", f->n_l3);
  json_add_int (j, "l3_bytes", f->l3_bytes);
  add_measured (j, "read_gbps", m->read_gbps);
  add_measured (j, "read_one_thread_gbps", m->read_one_gbps);
  json_builder_end_object (j);
}

static void
add_gpu (JsonBuilder *j, const InfoGpu *g)
{
  const HassCudaProperties *p = &g->gpu->properties;
  const InfoSpeed *s = &g->speed;
  json_builder_begin_object (j);
  json_add_string (j, "name", g->gpu->name);
  json_add_string (j, "model", p->name);
  json_add_string (j, "pci", p->pci);
  json_add_int (j, "memory_bytes", p->memory_bytes);
  json_add_int (j, "multiprocessors", p->multiprocessors);
  json_add_int (j, "threads_per_multiprocessor", p->threads_per_multiprocessor);
  json_add_int (j, "link", g->gpu->link);
  json_builder_set_member_name (j, "numa_node");
  if (g->numa_node >= 0)
    json_builder_add_int_value (j, g->numa_node);
  else
    json_builder_add_null_value (j);
  add_measured (j, "to_device_gbps", s->to_device_gbps);
  add_measured (j, "to_host_gbps", s->to_host_gbps);
  add_measured (j, "pageable_to_device_gbps", s->pageable_to_device_gbps);
  add_measured (j, "register_ms_per_gib", s->register_ms_per_gib);
  add_measured (j, "unregister_ms_per_gib", s->unregister_ms_per_gib);
  add_measured (j, "copy_4k_us", s->copy_4k_us);
  json_add_string (j, "launched",
                   s->launch_us == 0     ? NULL
                   : s->launch_is_kernel ? "empty kernel"
                                         : "clear 4 bytes");
  add_measured (j, "launch_us", s->launch_us);
  add_measured (j, "launch_asleep_us", s->launch_asleep_us);
  json_add_string (j, "problem", g->problem);
  json_builder_end_object (j);
}

static void
add_kind (JsonBuilder *j, const InfoKind *k)
{
  json_builder_begin_object (j);
  json_add_string (j, "name", k->ops->name);
  json_add_string (j, "summary", k->ops->summary);
  json_add_string (j, "problem", k->problem);
  json_builder_set_member_name (j, "devices");
  json_builder_begin_array (j);
  for (guint d = 0; d < k->n; d++)
    {
      const HassDeviceTraits *v = &k->traits[d];
      json_builder_begin_object (j);
      json_add_string (j, "name", v->name);
      json_add_string (j, "model", v->model);
      json_add_int (j, "cores", v->cores);
      json_add_int (j, "width", v->width);
      add_measured (j, "latency_us", v->latency_ns * 1e-3);
      add_measured (j, "link_gbps", v->link_bytes_per_ns);
      json_add_int (j, "link", v->link);
      json_add_int (j, "memory_bytes", v->memory_bytes);
      json_add_int (j, "max_in_flight", v->max_in_flight);
      json_add_int (j, "part_bytes", v->part_bytes);
      json_builder_end_object (j);
    }
  json_builder_end_array (j);
  json_builder_end_object (j);
}

/* Ends the object and frees the builder. */
static char *
finish (JsonBuilder *j)
{
  json_builder_end_object (j);
  char *text = json_text (j, TRUE);
  g_object_unref (j);
  return text;
}

/* Free with g_free (). */
char *
info_machine_json (const InfoMachine *m)
{
  JsonBuilder *j = json_builder_new ();
  json_builder_begin_object (j);
  add_cpu (j, m);
  json_builder_set_member_name (j, "gpus");
  json_builder_begin_array (j);
  for (guint i = 0; i < m->n_gpus; i++)
    add_gpu (j, &m->gpus[i]);
  json_builder_end_array (j);
  json_add_string (j, "gpu_problem", m->gpu_problem);
  json_builder_set_member_name (j, "kinds");
  json_builder_begin_array (j);
  for (guint i = 0; i < m->n_kinds; i++)
    add_kind (j, &m->kinds[i]);
  json_builder_end_array (j);
  return finish (j);
}

/* Free with g_free (). */
char *
info_strategies_json (void)
{
  g_autofree const HassStrategyOps **list = hass_strategy_list ();
  JsonBuilder *j = json_builder_new ();
  json_builder_begin_object (j);
  json_builder_set_member_name (j, "strategies");
  json_builder_begin_array (j);
  for (guint i = 0; list[i]; i++)
    {
      json_builder_begin_object (j);
      json_add_string (j, "name", list[i]->name);
      json_add_string (j, "summary", list[i]->summary);
      json_add_string (j, "source", list[i]->source);
      json_builder_end_object (j);
    }
  json_builder_end_array (j);
  return finish (j);
}

static void
add_entry (JsonBuilder *j, const HassProfileEntry *e)
{
  HassProfileRate rate = hass_profile_entry_rate (e);
  json_builder_begin_object (j);
  json_add_string (j, "machine", e->machine);
  json_add_string (j, "farm", e->farm);
  json_add_string (j, "kind", info_kind_name (e->kind));
  json_add_string (j, "cost", info_cost_name (e->cost));
  json_add_string (j, "device", e->device);
  json_add_string (j, "model", e->model);
  add_measured (j, "work_per_us", rate.work_per_ns * 1e3);
  add_measured (j, "latency_us", rate.latency_ns * 1e-3);
  json_add_int (j, "samples", e->n_samples);
  json_add_int (j, "runs", e->runs);
  json_add_int (j, "updated_s", (guint64)e->updated_s);
  json_builder_end_object (j);
}

/* entries: HassProfileEntry. Free with g_free (). */
char *
info_profile_json (const char *path, const GPtrArray *entries)
{
  JsonBuilder *j = json_builder_new ();
  json_builder_begin_object (j);
  json_add_string (j, "path", path);
  json_add_string (j, "this_machine", hass_profile_machine ());
  json_builder_set_member_name (j, "profile");
  json_builder_begin_array (j);
  for (guint i = 0; i < entries->len; i++)
    add_entry (j, entries->pdata[i]);
  json_builder_end_array (j);
  return finish (j);
}
