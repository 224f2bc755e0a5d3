/* SPDX-License-Identifier: MIT */
/* events.c: parses --slow and --lose.
   Thread safety: any thread. */
#include "sim.h"

#include <math.h>
#include <string.h>

#include "hass/error.h"

static gboolean
bad (GError **error, const char *option, const char *text, const char *why)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "%s %s: %s", option, text,
               why);
  return FALSE;
}

/* Parses "10.5" (rounds), "50%" or "3ms". */
static gboolean
read_when (const char *text, guint rounds, HassVirtualEvent *e)
{
  static const struct
  {
    const char *unit;
    double ns;
  } units[] = { { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
  char *end;
  double v = g_ascii_strtod (text, &end);
  if (end == text || !isfinite (v) || v < 0)
    return FALSE;
  if (*end == '\0' && rounds > 0)
    e->round = v;
  else if (strcmp (end, "%") == 0)
    e->round = v / 100 * MAX (rounds, 1);
  else
    {
      for (guint i = 0; i < G_N_ELEMENTS (units) && e->at_ns == 0; i++)
        if (strcmp (end, units[i].unit) == 0)
          e->at_ns = (gint64)CLAMP (v * units[i].ns, 1, SIM_LATEST_NS);
      return e->at_ns > 0;
    }
  return TRUE;
}

static gboolean
read_device (const HassPlatform *p, const char *option, const char *name,
             gboolean gpu_only, guint *device, GError **error)
{
  g_autoptr (GString) known = g_string_new (NULL);
  guint n = 0;
  if (p->has_cpu)
    {
      if (!gpu_only)
        g_string_append (known, "cpu");
      *device = n++;
      if (strcmp (name, "cpu") == 0)
        return !gpu_only
               || bad (error, option, name,
                       "the CPU pool cannot be lost, only GPUs");
    }
  for (guint g = 0; g < p->n_gpus; g++, n++)
    {
      g_string_append_printf (known, "%s%s", known->len ? ", " : "",
                              p->gpus[g].name);
      *device = n;
      if (strcmp (name, p->gpus[g].name) == 0)
        return TRUE;
    }
  g_autofree char *why = g_strdup_printf (
      "platform %s has no such device; it has %s", p->name, known->str);
  return bad (error, option, name, why);
}

gboolean
sim_events (GArray *events, const HassPlatform *p, guint rounds, char **slow,
            char **lose, GError **error)
{
  const char *when
      = rounds > 0
            ? "WHEN is a round (10.5), a part of all (50%) or a time (3ms)"
            : "WHEN is a part of the run without events (50%) or a time (3ms); "
              "there are no rounds";
  for (char **s = slow; s && *s; s++)
    {
      g_auto (GStrv) part = g_strsplit (*s, ":", -1);
      HassVirtualEvent e = { 0 };
      char *end = NULL;
      if (g_strv_length (part) != 3)
        return bad (error, "--slow", *s, "DEVICE:FACTOR:WHEN is needed");
      e.slower = g_ascii_strtod (part[1], &end);
      if (end == part[1] || *end || !(e.slower >= 1 && e.slower <= 1e6))
        return bad (error, "--slow", *s, "FACTOR is a number from 1 to 1e6");
      if (!read_when (part[2], rounds, &e))
        return bad (error, "--slow", *s, when);
      if (!read_device (p, "--slow", part[0], FALSE, &e.device, error))
        return FALSE;
      g_array_append_val (events, e);
    }
  for (char **l = lose; l && *l; l++)
    {
      g_auto (GStrv) part = g_strsplit (*l, ":", -1);
      HassVirtualEvent e = { 0 };
      if (g_strv_length (part) != 2)
        return bad (error, "--lose", *l, "DEVICE:WHEN is needed");
      if (!read_when (part[1], rounds, &e))
        return bad (error, "--lose", *l, when);
      if (!read_device (p, "--lose", part[0], TRUE, &e.device, error))
        return FALSE;
      g_array_append_val (events, e);
    }
  return TRUE;
}
