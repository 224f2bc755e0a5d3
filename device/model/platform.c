/* SPDX-License-Identifier: MIT */
/* platform.c: reads a platform file.

   DESIGN. key_file.c reads it; this file knows which groups and keys there
   are.

   Thread safety: any thread. */
#include "model.h"

#include <string.h>

#include "key_file.h"

typedef struct
{
  HassKeyFile key;
  const char *farm;
  HassPlatform *platform;
  GPtrArray *links; /* names of the links, by number */
} Reader;

static gboolean
read_platform (Reader *r, GError **error)
{
  static const char *const known[]
      = { "name", "noise", "calibrated", "source", NULL };
  HassPlatform *p = r->platform;
  if (!g_key_file_has_group (r->key.file, "platform"))
    return hass_key_file_broken (&r->key, NULL, NULL, error,
                                 "there is no [platform] group");
  if (!hass_key_file_only_keys (&r->key, "platform", known, error)
      || !hass_key_file_number (&r->key, "platform", "noise",
                                (HassKeyBounds){ FALSE, 0, 1 }, &p->noise,
                                error)
      || !hass_key_file_truth (&r->key, "platform", "calibrated",
                               &p->calibrated, error))
    return FALSE;
  p->name = g_key_file_get_value (r->key.file, "platform", "name", NULL);
  if (!p->name)
    p->name = g_path_get_basename (r->key.path);
  return TRUE;
}

static gboolean
read_cpu (Reader *r, GError **error)
{
  static const char *const known[]
      = { "label", "cores", "work_per_us", "pull_us", NULL };
  HassPlatform *p = r->platform;
  guint64 cores = 0;
  double rate = 0, pull = 0.2;
  if (!g_key_file_has_group (r->key.file, "cpu"))
    return TRUE;
  if (!hass_key_file_only_keys (&r->key, "cpu", known, error)
      || !hass_key_file_whole (&r->key, "cpu", "cores",
                               (HassKeyBounds){ TRUE, 1, 4096 }, &cores, error)
      || !hass_key_file_number (&r->key, "cpu", "work_per_us",
                                (HassKeyBounds){ TRUE, 1e-12, 1e18 }, &rate,
                                error)
      || !hass_key_file_number (&r->key, "cpu", "pull_us",
                                (HassKeyBounds){ FALSE, 0, 1e9 }, &pull, error))
    return FALSE;
  p->has_cpu = TRUE;
  p->cpu_label = g_key_file_get_value (r->key.file, "cpu", "label", NULL);
  p->cores = (guint)cores;
  p->core_work_per_ns = rate * 1e-3;
  p->pull_ns = pull * 1e3;
  return TRUE;
}

static guint
link_index (Reader *r, const char *name)
{
  for (guint i = 0; name && i < r->links->len; i++)
    if (strcmp (r->links->pdata[i], name) == 0)
      return i;
  g_ptr_array_add (r->links, g_strdup (name ? name : ""));
  return r->links->len - 1;
}

/* Reads the keys of a GPU that model how a real device accepts grants:
   concurrent kernels, size of parts, memory, duration of the start. */
static gboolean
read_feeding (Reader *r, const char *group, HassGpuModel *gpu, GError **error)
{
  double start_us = 0;
  guint64 kernels = 1;
  if (!hass_key_file_whole (&r->key, group, "kernels",
                            (HassKeyBounds){ FALSE, 1, 64 }, &kernels, error)
      || !hass_key_file_whole (&r->key, group, "part_bytes",
                               (HassKeyBounds){ FALSE, 1, 1e18 },
                               &gpu->part_bytes, error)
      || !hass_key_file_whole (&r->key, group, "memory_bytes",
                               (HassKeyBounds){ FALSE, 1, 1e18 },
                               &gpu->memory_bytes, error)
      || !hass_key_file_number (&r->key, group, "start_us",
                                (HassKeyBounds){ FALSE, 0, 1e12 }, &start_us,
                                error)
      || !hass_key_file_number (&r->key, group, "host_gbps",
                                (HassKeyBounds){ FALSE, 0, 1e9 },
                                &gpu->host_bytes_per_ns, error))
    return FALSE;
  gpu->kernels = (guint)kernels;
  gpu->start_ns = start_us * 1e3;
  return TRUE;
}

static const char *const gpu_keys[] = {
  "label",     "multiprocessors", "width",      "work_per_us", "launch_us",
  "link_us",   "h2d_gbps",        "d2h_gbps",   "link",        "duplex",
  "depth",     "curve",           "part_bytes", "kernels",     "start_us",
  "host_gbps", "memory_bytes",    "kind",       NULL
};

static gboolean
read_gpu (Reader *r, const char *group, HassGpuModel *gpu, GError **error)
{
  guint64 sms = 0, width = 0, depth = 2;
  double rate = 0, launch = 8, latency = 5, h2d = 0, d2h = 0;
  gpu->duplex = TRUE;
  if (!hass_key_file_only_keys (&r->key, group, gpu_keys, error)
      || !hass_key_file_whole (&r->key, group, "multiprocessors",
                               (HassKeyBounds){ TRUE, 1, 65536 }, &sms, error)
      || !hass_key_file_whole (&r->key, group, "width",
                               (HassKeyBounds){ TRUE, 1, 1e12 }, &width, error)
      || !hass_key_file_number (&r->key, group, "work_per_us",
                                (HassKeyBounds){ TRUE, 1e-12, 1e18 }, &rate,
                                error)
      || !hass_key_file_number (&r->key, group, "launch_us",
                                (HassKeyBounds){ FALSE, 0, 1e9 }, &launch,
                                error)
      || !hass_key_file_number (&r->key, group, "link_us",
                                (HassKeyBounds){ FALSE, 0, 1e9 }, &latency,
                                error)
      || !hass_key_file_number (&r->key, group, "h2d_gbps",
                                (HassKeyBounds){ TRUE, 1e-6, 1e9 }, &h2d,
                                error))
    return FALSE;
  d2h = h2d;
  if (!hass_key_file_number (&r->key, group, "d2h_gbps",
                             (HassKeyBounds){ FALSE, 1e-6, 1e9 }, &d2h, error)
      || !hass_key_file_truth (&r->key, group, "duplex", &gpu->duplex, error)
      || !hass_key_file_whole (&r->key, group, "depth",
                               (HassKeyBounds){ FALSE, 1, 64 }, &depth, error)
      || !read_feeding (r, group, gpu, error))
    return FALSE;
  g_autofree char *curve
      = g_key_file_get_value (r->key.file, group, "curve", NULL);
  if (curve && strcmp (curve, "linear") && strcmp (curve, "saturating"))
    return hass_key_file_broken (&r->key, group, "curve", error,
                                 "curve = '%s': linear or saturating is needed",
                                 curve);
  if (curve && strcmp (curve, "saturating") == 0)
    gpu->curve = HASS_CURVE_SATURATING;
  g_autofree char *link
      = g_key_file_get_value (r->key.file, group, "link", NULL);
  gpu->link = link_index (r, link);
  gpu->name = g_strdup (group);
  gpu->label = g_key_file_get_value (r->key.file, group, "label", NULL);
  gpu->kind = g_key_file_get_value (r->key.file, group, "kind", NULL);
  gpu->multiprocessors = (guint)sms;
  gpu->width = width;
  gpu->work_per_ns = rate * 1e-3;
  gpu->launch_ns = launch * 1e3;
  gpu->link_ns = latency * 1e3;
  gpu->h2d_bytes_per_ns = h2d;
  gpu->d2h_bytes_per_ns = d2h;
  gpu->depth = (guint)depth;
  return TRUE;
}

/* Reads a group of rates, as [farm NAME]: replaces those of @rates, in work/ns,
   the core's and then those of the GPUs [1 + n_gpus], that the group names. */
static gboolean
read_rates (Reader *r, const char *group, double *rates, GError **error)
{
  const HassPlatform *p = r->platform;
  g_autoptr (GPtrArray) known = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (known, g_strdup ("cpu_work_per_us"));
  for (guint i = 0; i < p->n_gpus; i++)
    g_ptr_array_add (known,
                     g_strconcat (p->gpus[i].name, "_work_per_us", NULL));
  g_ptr_array_add (known, NULL);
  if (!hass_key_file_only_keys (&r->key, group,
                                (const char *const *)known->pdata, error))
    return FALSE;
  for (guint i = 0; i <= p->n_gpus; i++)
    {
      double rate = rates[i] * 1e3;
      if (!hass_key_file_number (&r->key, group, known->pdata[i],
                                 (HassKeyBounds){ FALSE, 1e-12, 1e18 }, &rate,
                                 error))
        return FALSE;
      rates[i] = rate * 1e-3;
    }
  return TRUE;
}

/* Reads the group [farm NAME], if there is one: the rates of the devices for
   one application, which replace the general rates. */
static gboolean
read_farm (Reader *r, GError **error)
{
  HassPlatform *p = r->platform;
  g_autofree char *group = g_strconcat ("farm ", r->farm, NULL);
  g_autofree double *rates = g_new0 (double, 1 + p->n_gpus);
  if (!g_key_file_has_group (r->key.file, group))
    return TRUE;
  rates[0] = p->core_work_per_ns;
  for (guint i = 0; i < p->n_gpus; i++)
    rates[1 + i] = p->gpus[i].work_per_ns;
  if (!read_rates (r, group, rates, error))
    return FALSE;
  p->core_work_per_ns = rates[0];
  for (guint i = 0; i < p->n_gpus; i++)
    p->gpus[i].work_per_ns = rates[1 + i];
  return TRUE;
}

/* Reads the groups [stage NAME]: the rates of the devices for one stage of
   pipelines. */
static gboolean
read_stages (Reader *r, char **groups, GError **error)
{
  HassPlatform *p = r->platform;
  p->stages = g_array_new (FALSE, FALSE, sizeof (HassStageRate));
  for (char **g = groups; *g; g++)
    {
      g_autofree double *rates = g_new0 (double, 1 + p->n_gpus);
      if (!g_str_has_prefix (*g, "stage "))
        continue;
      if (!read_rates (r, *g, rates, error))
        return FALSE;
      for (guint i = 0; i <= p->n_gpus; i++)
        if (rates[i] > 0)
          {
            HassStageRate rate
                = { g_strdup (*g + strlen ("stage ")),
                    i > 0 ? g_strdup (p->gpus[i - 1].name) : NULL, rates[i] };
            g_array_append_val (p->stages, rate);
          }
    }
  return TRUE;
}

/* Returns: the rate in work/ns that the platform has for a stage on a core
   (@gpu is NULL) or on the GPU of that name; 0: it names none, so the device's
   general rate holds. */
double
hass_platform_stage_rate (const HassPlatform *p, const char *stage,
                          const char *gpu)
{
  for (guint i = 0; p->stages && i < p->stages->len; i++)
    {
      const HassStageRate *rate = &g_array_index (p->stages, HassStageRate, i);
      if (strcmp (rate->stage, stage) == 0 && g_strcmp0 (rate->gpu, gpu) == 0)
        return rate->work_per_ns;
    }
  return 0;
}

/* Reads the groups [codelet NAME]: factors of the rates of the devices, by
   their kinds, for one codelet of dataflows. */
static gboolean
read_codelets (Reader *r, char **groups, GError **error)
{
  HassPlatform *p = r->platform;
  g_autoptr (GPtrArray) kinds = g_ptr_array_new ();
  g_ptr_array_add (kinds, (gpointer) "cpu");
  g_ptr_array_add (kinds, (gpointer) "gpu");
  for (guint i = 0; i < p->n_gpus; i++)
    if (p->gpus[i].kind)
      g_ptr_array_add (kinds, p->gpus[i].kind);
  g_ptr_array_add (kinds, NULL);
  p->codelets = g_array_new (FALSE, FALSE, sizeof (HassCodeletFactor));
  for (char **g = groups; *g; g++)
    {
      const char *const *known = (const char *const *)kinds->pdata;
      if (!g_str_has_prefix (*g, "codelet "))
        continue;
      if (!hass_key_file_only_keys (&r->key, *g, known, error))
        return FALSE;
      for (; *known; known++)
        {
          double factor = 1;
          if (!hass_key_file_number (&r->key, *g, *known,
                                     (HassKeyBounds){ FALSE, 1e-12, 1e12 },
                                     &factor, error))
            return FALSE;
          HassCodeletFactor f = { g_strdup (*g + strlen ("codelet ")),
                                  g_strdup (*known), factor };
          g_array_append_val (p->codelets, f);
        }
    }
  return TRUE;
}

/* Returns: by how much the rate of devices of a kind is multiplied for a
   codelet; 1 if the platform does not say. */
double
hass_platform_codelet_factor (const HassPlatform *p, const char *codelet,
                              const char *kind)
{
  for (guint i = 0; p->codelets && i < p->codelets->len; i++)
    {
      const HassCodeletFactor *f
          = &g_array_index (p->codelets, HassCodeletFactor, i);
      if (strcmp (f->codelet, codelet) == 0 && strcmp (f->kind, kind) == 0)
        return f->factor;
    }
  return 1;
}

/* Returns: whether the group has rates for farms, stages or codelets of a name.
 */
static gboolean
is_of_name (const char *group)
{
  return g_str_has_prefix (group, "farm ") || g_str_has_prefix (group, "stage ")
         || g_str_has_prefix (group, "codelet ");
}

/* Returns: whether the group [NAME] describes a device of a kind that an
   application registers: it has a key "kind" and no reserved name. */
static gboolean
is_device (Reader *r, const char *group)
{
  return strcmp (group, "platform") && strcmp (group, "cpu")
         && !is_of_name (group)
         && g_key_file_has_key (r->key.file, group, "kind", NULL);
}

static gboolean
read_groups (Reader *r, GError **error)
{
  HassPlatform *p = r->platform;
  guint n_numbered = 0;
  g_auto (GStrv) groups = g_key_file_get_groups (r->key.file, NULL);
  p->gpus = g_new0 (HassGpuModel, g_strv_length (groups) + 1);
  if (!read_platform (r, error) || !read_cpu (r, error))
    return FALSE;
  for (char **g = groups; *g; g++)
    {
      g_autofree char *expected = g_strdup_printf ("gpu%u", n_numbered);
      if (strcmp (*g, expected) == 0
          || (!g_str_has_prefix (*g, "gpu") && is_device (r, *g)))
        {
          n_numbered += g_str_has_prefix (*g, "gpu");
          if (!read_gpu (r, *g, &p->gpus[p->n_gpus++], error))
            return FALSE;
        }
      else if (g_str_has_prefix (*g, "gpu"))
        return hass_key_file_broken (&r->key, *g, NULL, error,
                                     "[%s] where [%s] was due", *g, expected);
      else if (strcmp (*g, "platform") && strcmp (*g, "cpu")
               && !is_of_name (*g))
        return hass_key_file_broken (
            &r->key, *g, NULL, error,
            "unknown group [%s]; known are [platform], [cpu], "
            "[gpu0] and on, [farm NAME], [stage NAME], [codelet NAME], and "
            "devices with the key kind",
            *g);
    }
  if (!p->has_cpu && p->n_gpus == 0)
    return hass_key_file_broken (&r->key, "platform", NULL, error,
                                 "a platform needs [cpu] or [gpu0]");
  p->n_links = r->links->len;
  return read_farm (r, error) && read_stages (r, groups, error)
         && read_codelets (r, groups, error);
}

/* Reads the platform file at @path, with the rates for a farm named @farm if
   it has any. Returns: the platform; NULL with HASS_ERROR_PLATFORM or
   HASS_ERROR_IO. */
HassPlatform *
hass_platform_load (const char *path, const char *farm, GError **error)
{
  Reader r = { .farm = farm };
  if (!hass_key_file_open (&r.key, "platform", path, error))
    return NULL;
  r.links = g_ptr_array_new_with_free_func (g_free);
  r.platform = g_new0 (HassPlatform, 1);
  r.platform->path = g_strdup (path);
  gboolean ok = read_groups (&r, error);
  g_ptr_array_unref (r.links);
  hass_key_file_close (&r.key);
  if (!ok)
    g_clear_pointer (&r.platform, hass_platform_free);
  return r.platform;
}

void
hass_platform_free (HassPlatform *p)
{
  for (guint i = 0; p->gpus && i < p->n_gpus; i++)
    {
      g_free (p->gpus[i].name);
      g_free (p->gpus[i].label);
      g_free (p->gpus[i].kind);
    }
  for (guint i = 0; p->stages && i < p->stages->len; i++)
    {
      g_free (g_array_index (p->stages, HassStageRate, i).stage);
      g_free (g_array_index (p->stages, HassStageRate, i).gpu);
    }
  g_clear_pointer (&p->stages, g_array_unref);
  for (guint i = 0; p->codelets && i < p->codelets->len; i++)
    {
      g_free (g_array_index (p->codelets, HassCodeletFactor, i).codelet);
      g_free (g_array_index (p->codelets, HassCodeletFactor, i).kind);
    }
  g_clear_pointer (&p->codelets, g_array_unref);
  g_free (p->gpus);
  g_free (p->cpu_label);
  g_free (p->name);
  g_free (p->path);
  g_free (p);
}
