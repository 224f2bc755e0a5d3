/* SPDX-License-Identifier: MIT */
/* platform.c: reads a platform file.

   DESIGN. GKeyFile reads it; this file knows which groups and keys there
   are, checks every value, and finds the line to blame, which GKeyFile does
   not tell.

   Thread safety: any thread. */
#include "model.h"

#include <math.h>
#include <string.h>

#include "hass/error.h"

typedef struct
{
  const char *path, *farm;
  char *text;
  GKeyFile *file;
  HassPlatform *platform;
  GPtrArray *links; /* names */
} Reader;

/* Line of a key, or of its group when key is NULL; 0: not there. */
static guint
line_of (const Reader *r, const char *group, const char *key)
{
  g_auto (GStrv) lines = g_strsplit (r->text, "\n", -1);
  g_autofree char *head = g_strdup_printf ("[%s]", group);
  gboolean inside = FALSE;
  for (guint i = 0; lines[i]; i++)
    {
      char *line = g_strstrip (lines[i]);
      if (*line == '[')
        {
          inside = strcmp (line, head) == 0;
          if (inside && !key)
            return i + 1;
        }
      else if (inside && key && g_str_has_prefix (line, key)
               && strchr (" \t=", line[strlen (key)]))
        return i + 1;
    }
  return 0;
}

static gboolean broken (const Reader *r, const char *group, const char *key,
                        GError **error, const char *format, ...)
    G_GNUC_PRINTF (5, 6);

static gboolean
broken (const Reader *r, const char *group, const char *key, GError **error,
        const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  guint line = group ? line_of (r, group, key) : 0;
  if (line == 0 && group)
    line = line_of (r, group, NULL);
  g_set_error (error, HASS_ERROR, HASS_ERROR_PLATFORM,
               "platform file %s, line %u: %s", r->path, MAX (line, 1), what);
  return FALSE;
}

/* First line that is no group, key, comment or blank; GKeyFile only says
   that there is one. */
static gboolean
check_lines (const Reader *r, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (r->text, "\n", -1);
  gboolean in_group = FALSE;
  for (guint i = 0; lines[i]; i++)
    {
      const char *line = g_strstrip (lines[i]);
      const char *why = NULL;
      if (*line == '\0' || *line == '#')
        continue;
      if (*line == '[')
        {
          if (line[strlen (line) - 1] != ']')
            why = "a group needs a closing ]";
          in_group = TRUE;
        }
      else if (!strchr (line, '=') || *line == '=')
        why = "neither a [group] nor key = value";
      else if (!in_group)
        why = "a key before the first [group]";
      if (why)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_PLATFORM,
                       "platform file %s, line %u: '%s': %s", r->path, i + 1,
                       line, why);
          return FALSE;
        }
    }
  return TRUE;
}

/* Reads a number in [min, max]; leaves *value alone when the key is absent
   and not needed. */
static gboolean
number (const Reader *r, const char *group, const char *key, gboolean needed,
        double min, double max, double *value, GError **error)
{
  g_autofree char *text = g_key_file_get_value (r->file, group, key, NULL);
  if (!text)
    return !needed
           || broken (r, group, NULL, error, "[%s] needs %s", group, key);
  char *end;
  double v = g_ascii_strtod (text, &end);
  if (end == text || *end != '\0' || !isfinite (v))
    return broken (r, group, key, error, "%s = '%s' is not a number", key,
                   text);
  if (v < min || v > max)
    return broken (r, group, key, error, "%s = %g is not in %g to %g", key, v,
                   min, max);
  *value = v;
  return TRUE;
}

static gboolean
whole (const Reader *r, const char *group, const char *key, gboolean needed,
       double max, guint64 *value, GError **error)
{
  double v = *value;
  if (!number (r, group, key, needed, 1, max, &v, error))
    return FALSE;
  if (v != floor (v))
    return broken (r, group, key, error, "%s = %g is not a whole number", key,
                   v);
  *value = (guint64)v;
  return TRUE;
}

static gboolean
truth (const Reader *r, const char *group, const char *key, gboolean *value,
       GError **error)
{
  g_autofree char *text = g_key_file_get_value (r->file, group, key, NULL);
  if (!text)
    return TRUE;
  if (strcmp (text, "yes") && strcmp (text, "no"))
    return broken (r, group, key, error, "%s = '%s': yes or no is needed", key,
                   text);
  *value = strcmp (text, "yes") == 0;
  return TRUE;
}

static gboolean
only_keys (const Reader *r, const char *group, const char *const *known,
           GError **error)
{
  g_auto (GStrv) keys = g_key_file_get_keys (r->file, group, NULL, NULL);
  for (char **k = keys; k && *k; k++)
    if (!g_strv_contains (known, *k))
      {
        g_autofree char *list = g_strjoinv (", ", (char **)known);
        return broken (r, group, *k, error,
                       "[%s] knows no key '%s'; known are %s", group, *k, list);
      }
  return TRUE;
}

static gboolean
read_platform (Reader *r, GError **error)
{
  static const char *const known[]
      = { "name", "noise", "calibrated", "source", NULL };
  HassPlatform *p = r->platform;
  if (!g_key_file_has_group (r->file, "platform"))
    return broken (r, NULL, NULL, error, "there is no [platform] group");
  if (!only_keys (r, "platform", known, error)
      || !number (r, "platform", "noise", FALSE, 0, 1, &p->noise, error)
      || !truth (r, "platform", "calibrated", &p->calibrated, error))
    return FALSE;
  p->name = g_key_file_get_value (r->file, "platform", "name", NULL);
  if (!p->name)
    p->name = g_path_get_basename (r->path);
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
  if (!g_key_file_has_group (r->file, "cpu"))
    return TRUE;
  if (!only_keys (r, "cpu", known, error)
      || !whole (r, "cpu", "cores", TRUE, 4096, &cores, error)
      || !number (r, "cpu", "work_per_us", TRUE, 1e-12, 1e18, &rate, error)
      || !number (r, "cpu", "pull_us", FALSE, 0, 1e9, &pull, error))
    return FALSE;
  p->has_cpu = TRUE;
  p->cpu_label = g_key_file_get_value (r->file, "cpu", "label", NULL);
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

static gboolean
read_gpu (Reader *r, const char *group, HassGpuModel *gpu, GError **error)
{
  static const char *const known[]
      = { "label",   "multiprocessors", "width",    "work_per_us", "launch_us",
          "link_us", "h2d_gbps",        "d2h_gbps", "link",        "duplex",
          "depth",   "curve",           NULL };
  guint64 sms = 0, width = 0, depth = 2;
  double rate = 0, launch = 8, latency = 5, h2d = 0, d2h = 0;
  gpu->duplex = TRUE;
  if (!only_keys (r, group, known, error)
      || !whole (r, group, "multiprocessors", TRUE, 65536, &sms, error)
      || !whole (r, group, "width", TRUE, 1e12, &width, error)
      || !number (r, group, "work_per_us", TRUE, 1e-12, 1e18, &rate, error)
      || !number (r, group, "launch_us", FALSE, 0, 1e9, &launch, error)
      || !number (r, group, "link_us", FALSE, 0, 1e9, &latency, error)
      || !number (r, group, "h2d_gbps", TRUE, 1e-6, 1e9, &h2d, error))
    return FALSE;
  d2h = h2d;
  if (!number (r, group, "d2h_gbps", FALSE, 1e-6, 1e9, &d2h, error)
      || !truth (r, group, "duplex", &gpu->duplex, error)
      || !whole (r, group, "depth", FALSE, 64, &depth, error))
    return FALSE;
  g_autofree char *curve = g_key_file_get_value (r->file, group, "curve", NULL);
  if (curve && strcmp (curve, "linear") && strcmp (curve, "saturating"))
    return broken (r, group, "curve", error,
                   "curve = '%s': linear or saturating is needed", curve);
  if (curve && strcmp (curve, "saturating") == 0)
    gpu->curve = HASS_CURVE_SATURATING;
  g_autofree char *link = g_key_file_get_value (r->file, group, "link", NULL);
  gpu->link = link_index (r, link);
  gpu->name = g_strdup (group);
  gpu->label = g_key_file_get_value (r->file, group, "label", NULL);
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

/* [farm NAME]: rates of one application, instead of the general ones. */
static gboolean
read_farm (Reader *r, GError **error)
{
  HassPlatform *p = r->platform;
  g_autofree char *group = g_strconcat ("farm ", r->farm, NULL);
  if (!g_key_file_has_group (r->file, group))
    return TRUE;
  g_autoptr (GPtrArray) known = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (known, g_strdup ("cpu_work_per_us"));
  for (guint i = 0; i < p->n_gpus; i++)
    g_ptr_array_add (known,
                     g_strconcat (p->gpus[i].name, "_work_per_us", NULL));
  g_ptr_array_add (known, NULL);
  double rate = p->core_work_per_ns * 1e3;
  if (!only_keys (r, group, (const char *const *)known->pdata, error)
      || !number (r, group, "cpu_work_per_us", FALSE, 1e-12, 1e18, &rate,
                  error))
    return FALSE;
  p->core_work_per_ns = rate * 1e-3;
  for (guint i = 0; i < p->n_gpus; i++)
    {
      rate = p->gpus[i].work_per_ns * 1e3;
      if (!number (r, group, known->pdata[i + 1], FALSE, 1e-12, 1e18, &rate,
                   error))
        return FALSE;
      p->gpus[i].work_per_ns = rate * 1e-3;
    }
  return TRUE;
}

static gboolean
read_groups (Reader *r, GError **error)
{
  HassPlatform *p = r->platform;
  g_auto (GStrv) groups = g_key_file_get_groups (r->file, NULL);
  p->gpus = g_new0 (HassGpuModel, g_strv_length (groups) + 1);
  if (!read_platform (r, error) || !read_cpu (r, error))
    return FALSE;
  for (char **g = groups; *g; g++)
    {
      g_autofree char *expected = g_strdup_printf ("gpu%u", p->n_gpus);
      if (strcmp (*g, expected) == 0)
        {
          if (!read_gpu (r, *g, &p->gpus[p->n_gpus++], error))
            return FALSE;
        }
      else if (g_str_has_prefix (*g, "gpu"))
        return broken (r, *g, NULL, error, "[%s] where [%s] was due", *g,
                       expected);
      else if (strcmp (*g, "platform") && strcmp (*g, "cpu")
               && !g_str_has_prefix (*g, "farm "))
        return broken (r, *g, NULL, error,
                       "unknown group [%s]; known are [platform], [cpu], "
                       "[gpu0] and on, [farm NAME]",
                       *g);
    }
  if (!p->has_cpu && p->n_gpus == 0)
    return broken (r, "platform", NULL, error,
                   "a platform needs [cpu] or [gpu0]");
  p->n_links = r->links->len;
  return read_farm (r, error);
}

/* Reads the platform at path, with the rates it gives for a farm of this
   name. NULL with HASS_ERROR_PLATFORM or HASS_ERROR_IO. */
HassPlatform *
hass_platform_load (const char *path, const char *farm, GError **error)
{
  GError *inner = NULL;
  Reader r = { .path = path, .farm = farm };
  if (!g_file_get_contents (path, &r.text, NULL, &inner))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "platform file: %s",
                   inner->message);
      g_clear_error (&inner);
      return NULL;
    }
  r.file = g_key_file_new ();
  r.links = g_ptr_array_new_with_free_func (g_free);
  r.platform = g_new0 (HassPlatform, 1);
  r.platform->path = g_strdup (path);
  gboolean ok = check_lines (&r, error);
  if (ok
      && !g_key_file_load_from_data (r.file, r.text, strlen (r.text), 0,
                                     &inner))
    {
      ok = broken (&r, NULL, NULL, error, "%s", inner->message);
      g_clear_error (&inner);
    }
  ok = ok && read_groups (&r, error);
  g_key_file_free (r.file);
  g_ptr_array_unref (r.links);
  g_free (r.text);
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
    }
  g_free (p->gpus);
  g_free (p->cpu_label);
  g_free (p->name);
  g_free (p->path);
  g_free (p);
}
