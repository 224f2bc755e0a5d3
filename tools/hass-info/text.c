/* SPDX-License-Identifier: MIT */
/* text.c: the text output of hass-info.
   Thread safety: any thread. */
#include <string.h>

#include "hass/strategy.h"
#include "info.h"
#include "table.h"

/* -- The machine -------------------------------------------------------- */

static const char *
plural (guint n)
{
  return n == 1 ? "" : "s";
}

static void
bytes_text (guint64 bytes, char text[16])
{
  if (bytes >= (guint64)1 << 30)
    g_snprintf (text, 16, "%.1f GiB", (double)bytes / (1 << 30));
  else if (bytes >= 1 << 20)
    g_snprintf (text, 16, "%.1f MiB", (double)bytes / (1 << 20));
  else
    g_snprintf (text, 16, "%.0f KiB", (double)bytes / (1 << 10));
}

/* Unless it is unknown. */
static void
add_cache (GString *caches, const char *name, guint n, guint64 bytes)
{
  char size[16];
  bytes_text (bytes, size);
  if (n > 0 && bytes > 0)
    g_string_append_printf (caches, "%s%s %s x %u", caches->len > 0 ? ", " : "",
                            name, size, n);
}

static void
print_cpu (const InfoMachine *m, GString *out)
{
  const HassTopologyFacts *f = &m->cpu;
  g_autoptr (GString) caches = g_string_new (NULL);
  g_string_append_printf (out, "CPU\n  model    %s\n",
                          *f->cpu_model ? f->cpu_model : "not known");
  g_string_append_printf (out, "  threads  %u for hass", m->n_available);
  if (f->n_threads > 0)
    g_string_append_printf (
        out, ", of %u on %u core%s, %u socket%s, %u NUMA node%s", f->n_threads,
        f->n_cores, plural (f->n_cores), f->n_sockets, plural (f->n_sockets),
        f->n_numa_nodes, plural (f->n_numa_nodes));
  g_string_append_c (out, '\n');
  add_cache (caches, "L2", f->n_l2, f->l2_bytes);
  add_cache (caches, "L3", f->n_l3, f->l3_bytes);
  if (caches->len > 0)
    g_string_append_printf (out, "  caches   %s\n", caches->str);
  if (m->read_gbps > 0)
    g_string_append_printf (
        out, "  memory   %.1f GB/s read by %u thread%s, %.1f GB/s by one\n",
        m->read_gbps, m->n_available, plural (m->n_available),
        m->read_one_gbps);
  else if (m->measured)
    g_string_append (out, "  memory   too little is free to measure it\n");
}

/* Returns: "own", or "1, with gpu1": the GPUs that share the link. */
static char *
link_text (const InfoMachine *m, guint gpu)
{
  guint link = m->gpus[gpu].gpu->link;
  if (link == 0)
    return g_strdup ("own");
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "%u, with", link);
  for (guint i = 0; i < m->n_gpus; i++)
    if (i != gpu && m->gpus[i].gpu->link == link)
      g_string_append_printf (text, " %s", m->gpus[i].gpu->name);
  return g_string_free (text, FALSE);
}

static void
print_gpus (const InfoMachine *m, GString *out)
{
  static const char *const head[]
      = { "name", "model", "memory", "multiprocessors", "PCI", "NUMA", "link" };
  InfoTable t = info_table_new (G_N_ELEMENTS (head), FALSE);
  char memory[16];
  for (guint i = 0; i < G_N_ELEMENTS (head); i++)
    info_table_add (&t, "%s", head[i]);
  for (guint i = 0; i < m->n_gpus; i++)
    {
      const InfoGpu *g = &m->gpus[i];
      const HassCudaProperties *p = &g->gpu->properties;
      g_autofree char *link = link_text (m, i);
      bytes_text (p->memory_bytes, memory);
      info_table_add (&t, "%s", g->gpu->name);
      info_table_add (&t, "%s", p->name);
      info_table_add (&t, "%s", memory);
      info_table_add (&t, "%u", p->multiprocessors);
      info_table_add (&t, "%s", p->pci);
      if (g->numa_node >= 0)
        info_table_add (&t, "%d", g->numa_node);
      else
        info_table_add (&t, "-");
      info_table_add (&t, "%s", link);
    }
  info_table_print (&t, out);
}

static void
add_speeds (const InfoMachine *m, InfoTable *t, const char *what, gsize member,
            guint decimals)
{
  info_table_add (t, "%s", what);
  for (guint i = 0; i < m->n_gpus; i++)
    {
      double value = G_STRUCT_MEMBER (double, &m->gpus[i].speed, member);
      if (value > 0)
        info_table_add (t, "%.*f", (int)decimals, value);
      else
        info_table_add (t, "-");
    }
}

static void
print_speeds (const InfoMachine *m, GString *out)
{
  InfoTable t = info_table_new (1 + m->n_gpus, TRUE);
  const char *operation
      = m->gpus[0].speed.launch_is_kernel ? "empty kernel" : "clear 4 bytes";
  g_autofree char *spinning = g_strdup_printf ("%s, us", operation);
  g_autofree char *asleep = g_strdup_printf ("%s, host asleep, us", operation);
  info_table_add (&t, "measured");
  for (guint i = 0; i < m->n_gpus; i++)
    info_table_add (&t, "%s", m->gpus[i].gpu->name);
#define ROW(text, member, decimals)                                            \
  add_speeds (m, &t, text, G_STRUCT_OFFSET (InfoSpeed, member), decimals)
  ROW ("copy pinned memory to the device, GB/s", to_device_gbps, 1);
  ROW ("copy pinned memory to the host, GB/s", to_host_gbps, 1);
  ROW ("copy pageable memory to the device, GB/s", pageable_to_device_gbps, 1);
  ROW ("register memory, ms/GiB", register_ms_per_gib, 1);
  ROW ("unregister memory, ms/GiB", unregister_ms_per_gib, 1);
  ROW ("copy 4 KiB to the device, us", copy_4k_us, 1);
  ROW (spinning, launch_us, 1);
  ROW (asleep, launch_asleep_us, 1);
#undef ROW
  info_table_print (&t, out);
}

/* Prints the devices of a kind with the traits that farms get. */
static void
print_kind (const InfoKind *k, GString *out)
{
  static const char *const head[]
      = { "name", "model", "cores", "width", "memory", "link", "in flight" };
  g_string_append_printf (out, "\n%s: %s\n", k->ops->name, k->ops->summary);
  if (k->n == 0)
    {
      g_string_append_printf (out, "  none: %s\n",
                              k->problem ? k->problem : "not known why");
      return;
    }
  InfoTable t = info_table_new (G_N_ELEMENTS (head), FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (head); i++)
    info_table_add (&t, "%s", head[i]);
  for (guint d = 0; d < k->n; d++)
    {
      const HassDeviceTraits *v = &k->traits[d];
      char memory[16] = "-";
      if (v->memory_bytes > 0)
        bytes_text (v->memory_bytes, memory);
      info_table_add (&t, "%s", v->name);
      info_table_add (&t, "%s", v->model ? v->model : "-");
      info_table_add (&t, "%u", v->cores);
      info_table_add (&t, "%" G_GUINT64_FORMAT, v->width);
      info_table_add (&t, "%s", memory);
      if (v->link_bytes_per_ns > 0)
        info_table_add (&t, "%.1f GB/s", v->link_bytes_per_ns);
      else
        info_table_add (&t, "-");
      info_table_add (&t, "%u", v->max_in_flight);
    }
  info_table_print (&t, out);
}

/* Free with g_free (). */
char *
info_machine_text (const InfoMachine *m)
{
  GString *out = g_string_new (NULL);
  print_cpu (m, out);
  g_string_append (out, "\nGPUs\n");
  if (m->n_gpus == 0)
    g_string_append_printf (out, "  none: %s\n",
                            m->gpu_problem ? m->gpu_problem : "not known why");
  else
    print_gpus (m, out);
  if (m->n_gpus > 0 && m->gpus[0].measured)
    {
      g_string_append_c (out, '\n');
      print_speeds (m, out);
    }
  for (guint i = 0; i < m->n_gpus; i++)
    if (m->gpus[i].problem)
      g_string_append_printf (out, "  not all was measured: %s\n",
                              m->gpus[i].problem);
  for (guint i = 0; i < m->n_kinds; i++)
    if (!info_is_cuda (&m->kinds[i]))
      print_kind (&m->kinds[i], out);
  return g_string_free (out, FALSE);
}

/* -- Strategies --------------------------------------------------------- */

/* Free with g_free (). */
char *
info_strategies_text (void)
{
  g_autofree const HassStrategyOps **list = hass_strategy_list ();
  GString *out = g_string_new ("Strategies\n");
  InfoTable t = info_table_new (3, FALSE);
  for (guint i = 0; list[i]; i++)
    {
      info_table_add (&t, "%s", list[i]->name);
      info_table_add (&t, "%s", list[i]->summary);
      info_table_add (&t, "%s", list[i]->source ? list[i]->source : "");
    }
  info_table_print (&t, out);
  return g_string_free (out, FALSE);
}
