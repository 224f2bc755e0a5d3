/* SPDX-License-Identifier: MIT */
/* read.c: reads a pipeline file; doc/hass-sim.md describes the format.
   Thread safety: any thread. */
#include "pipe.h"

#include <string.h>

#include "device/model/shipped.h"

static const SimChoice modes[] = { { "parallel", HASS_STAGE_PARALLEL },
                                   { "ordered", HASS_STAGE_ORDERED },
                                   { "serial", HASS_STAGE_SERIAL },
                                   { "caller", HASS_STAGE_CALLER },
                                   { NULL, 0 } };

enum
{
  ON_CPU = 1,
  ON_GPU = 2
};

static const SimChoice devices[] = {
  { "cpu", ON_CPU }, { "gpu", ON_GPU }, { "any", ON_CPU | ON_GPU }, { NULL, 0 }
};

/* Reads a number of at least 0; an absent key leaves the value. */
static gboolean
amount (const HassKeyFile *k, const char *group, const char *key, double most,
        double *value, GError **error)
{
  return hass_key_file_number (k, group, key, (HassKeyBounds){ FALSE, 0, most },
                               value, error);
}

static gboolean
read_pipe (const HassKeyFile *k, SimPipe *p, GError **error)
{
  static const char *const known[]
      = { "name",  "source",    "platform",        "tokens",
          "bytes", "in_flight", "in_flight_bytes", NULL };
  const char *group = "pipeline";
  if (!g_key_file_has_group (k->file, group))
    return hass_key_file_broken (k, NULL, NULL, error,
                                 "there is no [pipeline] group");
  p->name = g_key_file_get_value (k->file, group, "name", NULL);
  p->source = g_key_file_get_value (k->file, group, "source", NULL);
  p->platform = g_key_file_get_value (k->file, group, "platform", NULL);
  if (!p->name)
    p->name = g_path_get_basename (k->path);
  return hass_key_file_only_keys (k, group, known, error)
         && hass_key_file_whole (k, group, "tokens",
                                 (HassKeyBounds){ TRUE, 1, 1e8 }, &p->tokens,
                                 error)
         && hass_key_file_whole (k, group, "in_flight",
                                 (HassKeyBounds){ FALSE, 1, 1e8 },
                                 &p->in_flight, error)
         && hass_key_file_whole (k, group, "in_flight_bytes",
                                 (HassKeyBounds){ FALSE, 1, 1e18 },
                                 &p->in_flight_bytes, error)
         && amount (k, group, "bytes", 1e15, &p->bytes, error);
}

/* Refuses values of a stage that do not go together. */
static gboolean
fit_together (const HassKeyFile *k, const char *group, const SimStage *s,
              GError **error)
{
  if (s->mode != HASS_STAGE_PARALLEL && s->gpu)
    return hass_key_file_broken (k, group, "devices", error,
                                 "only a parallel stage runs on GPUs");
  if (s->emits != 1 && s->gpu)
    return hass_key_file_broken (k, group, "emits", error,
                                 "a GPU can neither drop nor emit tokens");
  if (s->mode != HASS_STAGE_PARALLEL && s->at_once > 0)
    return hass_key_file_broken (k, group, "at_once", error,
                                 "at_once goes with parallel stages");
  if (s->cost == HASS_COST_EQUAL && s->family != SIM_EQUAL)
    return hass_key_file_broken (k, group, "costs", error,
                                 "class = equal does not go with unequal "
                                 "costs");
  return TRUE;
}

static gboolean
read_stage (const HassKeyFile *k, const char *group, SimStage *s,
            GError **error)
{
  static const char *const known[] = {
    "mode",   "devices", "at_once",      "class",        "work",  "costs",
    "cpu_us", "gpu_us",  "output_bytes", "output_ratio", "emits", "elements",
    "loops",  NULL
  };
  SimWorkload family = { 0 };
  int mode = HASS_STAGE_PARALLEL, on = ON_CPU, cost = -1;
  guint64 at_once = 0;
  double cpu_us = 0, gpu_us = 0, bytes = -1, ratio = -1;
  *s = (SimStage){ .work = 1, .elements = 1, .emits = 1 };
  if (!hass_key_file_only_keys (k, group, known, error)
      || !sim_choose (k, group, "mode", modes, &mode, error)
      || !sim_choose (k, group, "devices", devices, &on, error)
      || !sim_choose (k, group, "class", sim_cost_classes, &cost, error)
      || !sim_read_family (k, group, &family, error)
      || !hass_key_file_whole (k, group, "at_once",
                               (HassKeyBounds){ FALSE, 1, 4096 }, &at_once,
                               error)
      || !hass_key_file_whole (k, group, "elements",
                               (HassKeyBounds){ FALSE, 1, 1e12 }, &s->elements,
                               error)
      || !hass_key_file_number (k, group, "work",
                                (HassKeyBounds){ FALSE, 1e-12, 1e18 }, &s->work,
                                error)
      || !amount (k, group, "cpu_us", 1e12, &cpu_us, error)
      || !amount (k, group, "gpu_us", 1e12, &gpu_us, error)
      || !amount (k, group, "loops", 1, &s->loops, error)
      || !amount (k, group, "output_bytes", 1e15, &bytes, error)
      || !amount (k, group, "output_ratio", 1e6, &ratio, error)
      || !hass_key_file_number (k, group, "emits",
                                (HassKeyBounds){ FALSE, 1e-6, 1e4 }, &s->emits,
                                error))
    return FALSE;
  s->name = g_strdup (group + strlen ("stage "));
  s->mode = (HassStageMode)mode;
  s->cpu = (on & ON_CPU) != 0;
  s->gpu = (on & ON_GPU) != 0;
  s->at_once = (guint)at_once;
  s->family = family.family;
  s->family_a = family.family_a;
  s->family_b = family.family_b;
  s->cost = cost >= 0 ? (HassCostClass)cost
                      : (s->family == SIM_EQUAL ? HASS_COST_EQUAL
                                                : HASS_COST_UNKNOWN);
  s->cpu_ns = cpu_us * 1e3;
  s->gpu_ns = gpu_us * 1e3;
  s->output_bytes = MAX (bytes, 0);
  s->output_ratio = bytes < 0 && ratio < 0 ? 1 : MAX (ratio, 0);
  return fit_together (k, group, s, error);
}

static gboolean
read_groups (const HassKeyFile *k, SimPipe *p, GError **error)
{
  g_auto (GStrv) groups = g_key_file_get_groups (k->file, NULL);
  if (!read_pipe (k, p, error))
    return FALSE;
  for (char **g = groups; *g; g++)
    {
      if (strcmp (*g, "pipeline") == 0)
        continue;
      if (!g_str_has_prefix (*g, "stage ") || !(*g)[strlen ("stage ")])
        return hass_key_file_broken (k, *g, NULL, error,
                                     "unknown group [%s]; known are "
                                     "[pipeline] and [stage NAME]",
                                     *g);
      if (p->n_stages == SIM_MOST_STAGES)
        return hass_key_file_broken (k, *g, NULL, error, "more than %d stages",
                                     SIM_MOST_STAGES);
      if (!read_stage (k, *g, &p->stages[p->n_stages++], error))
        return FALSE;
    }
  return p->n_stages > 0
         || hass_key_file_broken (k, "pipeline", NULL, error,
                                  "a pipeline needs a [stage NAME]");
}

SimPipe *
sim_pipe_load (const char *path, GError **error)
{
  HassKeyFile k;
  if (!hass_key_file_open (&k, "pipeline", path, error))
    return NULL;
  SimPipe *p = g_new0 (SimPipe, 1);
  p->path = g_strdup (path);
  if (!read_groups (&k, p, error))
    g_clear_pointer (&p, sim_pipe_free);
  hass_key_file_close (&k);
  return p;
}

void
sim_pipe_free (SimPipe *p)
{
  for (guint s = 0; s < p->n_stages; s++)
    g_free (p->stages[s].name);
  g_free (p->name);
  g_free (p->path);
  g_free (p->source);
  g_free (p->platform);
  g_free (p);
}

gboolean
sim_pipe_find (const char *name, const char *platform, SimPipe **pipe,
               HassPlatform **machine, GError **error)
{
  g_autofree char *path = hass_shipped_find ("pipelines", name, error);
  *pipe = path ? sim_pipe_load (path, error) : NULL;
  if (!*pipe)
    return FALSE;
  if (!sim_load_platform ((*pipe)->name,
                          platform ? platform : (*pipe)->platform, machine,
                          error))
    g_clear_pointer (pipe, sim_pipe_free);
  return *pipe != NULL;
}
