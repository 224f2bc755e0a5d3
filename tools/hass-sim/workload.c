/* SPDX-License-Identifier: MIT */
/* workload.c: reads a workload file; doc/hass-sim.md describes the format.
   Thread safety: any thread. */
#include "sim.h"

#include <math.h>
#include <string.h>

#include "device/model/key_file.h"
#include "hass/error.h"

/* Elements or bytes of a round, which are counted in 64 bits. */
#define MOST_IN_ALL 1e18

static const SimChoice farms[] = { { "partition", HASS_FARM_PARTITION },
                                   { "combine", HASS_FARM_COMBINE },
                                   { "indivisible", HASS_FARM_INDIVISIBLE },
                                   { "function", HASS_FARM_FUNCTION },
                                   { NULL, 0 } };
const SimChoice sim_cost_classes[] = { { "equal", HASS_COST_EQUAL },
                                       { "sized", HASS_COST_SIZED },
                                       { "unknown", HASS_COST_UNKNOWN },
                                       { NULL, 0 } };
static const SimChoice curves[] = { { "linear", HASS_CURVE_LINEAR },
                                    { "saturating", HASS_CURVE_SATURATING },
                                    { NULL, 0 } };

/* The families of costs; @n numbers follow a family's name, each from @min
   to @max. */
static const struct
{
  const char *name;
  guint n;
  double min[2], max[2];
  const char *usage;
} families[] = {
  [SIM_EQUAL] = { "equal", 0, { 0 }, { 0 }, "equal" },
  [SIM_LOGNORMAL] = { "lognormal", 1, { 0 }, { 4 }, "lognormal SIGMA, 0 to 4" },
  [SIM_BIMODAL] = { "bimodal",
                    2,
                    { 0, 1 },
                    { 1, 1e6 },
                    "bimodal PART FACTOR, 0 to 1 and 1 to 1e6" },
  [SIM_RAMP_UP] = { "ramp-up", 1, { 1 }, { 1e6 }, "ramp-up FACTOR, 1 to 1e6" },
  [SIM_RAMP_DOWN]
  = { "ramp-down", 1, { 1 }, { 1e6 }, "ramp-down FACTOR, 1 to 1e6" },
  [SIM_SORTED] = { "sorted", 1, { 0 }, { 4 }, "sorted SIGMA, 0 to 4" },
  [SIM_CLUSTERED] = { "clustered",
                      2,
                      { 1, 1 },
                      { 1e6, 1e6 },
                      "clustered CLUSTERS FACTOR, each 1 to 1e6" }
};

gboolean
sim_choose (const HassKeyFile *k, const char *group, const char *key,
            const SimChoice *choices, int *value, GError **error)
{
  g_autofree char *text = g_key_file_get_value (k->file, group, key, NULL);
  if (!text)
    return TRUE;
  g_autoptr (GString) list = g_string_new (NULL);
  for (; choices->name; choices++)
    {
      if (strcmp (text, choices->name) == 0)
        {
          *value = choices->value;
          return TRUE;
        }
      g_string_append_printf (list, "%s%s", list->len ? ", " : "",
                              choices->name);
    }
  return hass_key_file_broken (k, group, key, error, "%s = '%s': one of %s",
                               key, text, list->str);
}

gboolean
sim_read_family (const HassKeyFile *k, const char *group, SimWorkload *w,
                 GError **error)
{
  g_autofree char *text = g_key_file_get_value (k->file, group, "costs", NULL);
  if (!text)
    return TRUE;
  g_auto (GStrv) words = g_strsplit_set (text, " \t", -1);
  double numbers[2] = { 0 };
  guint n = 0;
  for (guint f = 0; f < G_N_ELEMENTS (families); f++)
    {
      if (g_strcmp0 (words[0], families[f].name) != 0)
        continue;
      gboolean ok = TRUE;
      for (char **word = words + 1; *word && ok; word++)
        {
          char *end;
          if (!**word)
            continue;
          double v = g_ascii_strtod (*word, &end);
          ok = n < families[f].n && *end == '\0' && v >= families[f].min[n]
               && v <= families[f].max[n];
          if (ok)
            numbers[n++] = v;
        }
      if (!ok || n != families[f].n)
        return hass_key_file_broken (k, group, "costs", error,
                                     "costs = '%s': %s is needed", text,
                                     families[f].usage);
      w->family = (SimFamily)f;
      w->family_a = numbers[0];
      w->family_b = numbers[1];
      return TRUE;
    }
  g_autoptr (GString) list = g_string_new (NULL);
  for (guint f = 0; f < G_N_ELEMENTS (families); f++)
    g_string_append_printf (list, "%s%s", f ? ", " : "", families[f].name);
  return hass_key_file_broken (k, group, "costs", error,
                               "costs = '%s' is no known family; known are %s",
                               text, list->str);
}

/* The values of [workload] as they stand in the file. */
typedef struct
{
  int farm, cost;
  guint64 units, rounds, warp;
  double in_bytes, out_bytes, merge_us;
} Given;

static gboolean
read_keys (const HassKeyFile *k, SimWorkload *w, Given *g, GError **error)
{
  static const char *const known[]
      = { "name",         "source", "platform", "farm",
          "class",        "units",  "elements", "input_bytes",
          "output_bytes", "work",   "rounds",   "entry_bytes",
          "merge_us",     "costs",  "warp",     "gpu_ramp",
          "sizes",        "repeat", NULL };
  const char *group = "workload";
  return hass_key_file_only_keys (k, group, known, error)
         && sim_choose (k, group, "farm", farms, &g->farm, error)
         && sim_choose (k, group, "class", sim_cost_classes, &g->cost, error)
         && hass_key_file_whole (k, group, "units",
                                 (HassKeyBounds){ TRUE, 1, 1e8 }, &g->units,
                                 error)
         && hass_key_file_whole (k, group, "elements",
                                 (HassKeyBounds){ FALSE, 1, 1e12 },
                                 &w->elements, error)
         && hass_key_file_number (k, group, "input_bytes",
                                  (HassKeyBounds){ FALSE, 0, 1e15 },
                                  &g->in_bytes, error)
         && hass_key_file_number (k, group, "output_bytes",
                                  (HassKeyBounds){ FALSE, 0, 1e15 },
                                  &g->out_bytes, error)
         && hass_key_file_number (k, group, "work",
                                  (HassKeyBounds){ FALSE, 1e-12, 1e18 },
                                  &w->work, error)
         && hass_key_file_whole (k, group, "rounds",
                                 (HassKeyBounds){ FALSE, 1, 1e6 }, &g->rounds,
                                 error)
         && hass_key_file_number (k, group, "entry_bytes",
                                  (HassKeyBounds){ FALSE, 0, 1e15 },
                                  &w->entry_bytes, error)
         && hass_key_file_number (k, group, "merge_us",
                                  (HassKeyBounds){ FALSE, 0, 1e9 },
                                  &g->merge_us, error)
         && hass_key_file_whole (k, group, "warp",
                                 (HassKeyBounds){ FALSE, 1, 1024 }, &g->warp,
                                 error)
         && hass_key_file_number (k, group, "gpu_ramp",
                                  (HassKeyBounds){ FALSE, 1, 1e6 },
                                  &w->gpu_ramp, error)
         && hass_key_file_truth (k, group, "sizes", &w->sizes, error)
         && hass_key_file_truth (k, group, "repeat", &w->repeat, error)
         && sim_read_family (k, group, w, error);
}

/* Refuses values that do not go together. */
static gboolean
fit_together (const HassKeyFile *k, const SimWorkload *w, const Given *g,
              GError **error)
{
  const char *group = "workload";
  gboolean partition = g->farm == HASS_FARM_PARTITION;
  double in = g->in_bytes, out = g->out_bytes;
  if (g->cost == HASS_COST_EQUAL && w->family != SIM_EQUAL)
    return hass_key_file_broken (k, group, "costs", error,
                                 "class = equal does not go with unequal "
                                 "costs");
  if (g->cost == HASS_COST_SIZED && partition && w->family != SIM_EQUAL)
    return hass_key_file_broken (k, group, "class", error,
                                 "class = sized: the blocks of a partition "
                                 "farm have no costs of their own; use farm "
                                 "= combine or class = unknown");
  if (w->sizes && (partition || g->warp > 1 || w->gpu_ramp > 1))
    return hass_key_file_broken (k, group, "sizes", error,
                                 "sizes = yes goes with farms other than "
                                 "partition, and not with warp or gpu_ramp");
  if (g->units * MAX (MAX (in, out), (double)w->elements) > MOST_IN_ALL)
    return hass_key_file_broken (k, group, "units", error,
                                 "units = %" G_GUINT64_FORMAT
                                 ": their elements, input bytes or output "
                                 "bytes are more than %g in all",
                                 g->units, MOST_IN_ALL);
  if (partition
      && (fmod (in, w->elements) != 0 || fmod (out, w->elements) != 0))
    return hass_key_file_broken (k, group, "elements", error,
                                 "elements = %" G_GUINT64_FORMAT
                                 ": in a partition farm input_bytes and "
                                 "output_bytes are multiples of it",
                                 w->elements);
  return TRUE;
}

static gboolean
read_workload (const HassKeyFile *k, SimWorkload *w, GError **error)
{
  const char *group = "workload";
  Given g = { .farm = HASS_FARM_PARTITION, .cost = HASS_COST_EQUAL };
  w->gpu_ramp = 1;
  w->elements = 1;
  w->work = 1;
  if (!g_key_file_has_group (k->file, group))
    return hass_key_file_broken (k, NULL, NULL, error,
                                 "there is no [workload] group");
  if (!read_keys (k, w, &g, error) || !fit_together (k, w, &g, error))
    return FALSE;
  w->farm = (HassFarmKind)g.farm;
  w->cost = (HassCostClass)g.cost;
  w->units = (guint32)g.units;
  w->rounds = (guint)g.rounds;
  w->warp = (guint)g.warp;
  w->input_bytes = (guint64)g.in_bytes;
  w->output_bytes = (guint64)g.out_bytes;
  w->merge_ns = g.merge_us * 1e3;
  w->name = g_key_file_get_value (k->file, group, "name", NULL);
  w->source = g_key_file_get_value (k->file, group, "source", NULL);
  w->platform = g_key_file_get_value (k->file, group, "platform", NULL);
  if (!w->name)
    w->name = g_path_get_basename (k->path);
  return TRUE;
}

static gboolean
read_rates (const HassKeyFile *k, const char *group, SimRates *r,
            GError **error)
{
  static const char *const of_cpu[] = { "unit_us", "scale", NULL };
  static const char *const of_gpu[]
      = { "unit_us", "scale", "width", "launch_us", "depth", "curve", NULL };
  double unit_us = 0, launch_us = -1;
  *r = (SimRates){ .which = g_strdup (group), .scale = 1, .curve = -1 };
  if (!hass_key_file_only_keys (k, group,
                                strcmp (group, "cpu") ? of_gpu : of_cpu, error)
      || !hass_key_file_number (k, group, "unit_us",
                                (HassKeyBounds){ FALSE, 1e-9, 1e12 }, &unit_us,
                                error)
      || !hass_key_file_number (k, group, "scale",
                                (HassKeyBounds){ FALSE, 1e-9, 1e9 }, &r->scale,
                                error)
      || !hass_key_file_number (k, group, "width",
                                (HassKeyBounds){ FALSE, 1, 1e12 }, &r->width,
                                error)
      || !hass_key_file_number (k, group, "launch_us",
                                (HassKeyBounds){ FALSE, 0, 1e9 }, &launch_us,
                                error)
      || !hass_key_file_number (
          k, group, "depth", (HassKeyBounds){ FALSE, 1, 64 }, &r->depth, error)
      || !sim_choose (k, group, "curve", curves, &r->curve, error))
    return FALSE;
  r->unit_ns = unit_us * 1e3;
  r->launch_ns = launch_us < 0 ? -1 : launch_us * 1e3;
  return TRUE;
}

SimWorkload *
sim_workload_load (const char *path, GError **error)
{
  HassKeyFile k;
  if (!hass_key_file_open (&k, "workload", path, error))
    return NULL;
  SimWorkload *w = g_new0 (SimWorkload, 1);
  w->path = g_strdup (path);
  w->rates = g_array_new (FALSE, FALSE, sizeof (SimRates));
  gboolean ok = read_workload (&k, w, error);
  const char *function = NULL;
  g_auto (GStrv) groups = g_key_file_get_groups (k.file, NULL);
  for (char **g = groups; ok && *g; g++)
    {
      SimRates r;
      if (strcmp (*g, "workload") == 0)
        continue;
      if (g_str_has_prefix (*g, "function "))
        ok = sim_read_function (&k, function = *g, w, error);
      else if (strcmp (*g, "cpu") != 0 && !g_str_has_prefix (*g, "gpu"))
        ok = hass_key_file_broken (&k, *g, NULL, error,
                                   "unknown group [%s]; known are [workload], "
                                   "[cpu], [gpu], [gpu0] and on, [gpu LABEL], "
                                   "[function NAME]",
                                   *g);
      else
        {
          ok = read_rates (&k, *g, &r, error);
          g_array_append_val (w->rates, r);
        }
    }
  ok = ok && sim_functions_fit (&k, w, function, error);
  hass_key_file_close (&k);
  if (!ok)
    g_clear_pointer (&w, sim_workload_free);
  return w;
}

void
sim_workload_free (SimWorkload *w)
{
  for (guint i = 0; i < w->rates->len; i++)
    g_free (g_array_index (w->rates, SimRates, i).which);
  g_array_unref (w->rates);
  g_free (w->name);
  g_free (w->path);
  g_free (w->source);
  g_free (w->platform);
  g_free (w);
}
