/* SPDX-License-Identifier: MIT */
/* functions.c: the functions that the tasks of a function farm call: reads
   their groups in a workload file, and says which unit calls which.
   Thread safety: any thread. */
#include "sim.h"

#include "hass/error.h"

/* Parts and factors are from 1 / MOST_FACTOR to MOST_FACTOR. */
#define MOST_FACTOR 1e6

gboolean
sim_read_function (const HassKeyFile *k, const char *group, SimWorkload *w,
                   GError **error)
{
  static const char *const known[]
      = { "part", "cpu_factor", "gpu_factor", NULL };
  const HassKeyBounds bounds = { FALSE, 1 / MOST_FACTOR, MOST_FACTOR };
  SimFunction f = { 1, 1, 1 };
  if (w->farm != HASS_FARM_FUNCTION)
    return hass_key_file_broken (k, group, NULL, error,
                                 "[%s]: only tasks of farm = function call "
                                 "functions",
                                 group);
  if (w->n_functions == HASS_MOST_FUNCTIONS)
    return hass_key_file_broken (k, group, NULL, error,
                                 "[%s] is function %u, at most %d are told "
                                 "apart",
                                 group, w->n_functions + 1,
                                 HASS_MOST_FUNCTIONS);
  if (!hass_key_file_only_keys (k, group, known, error)
      || !hass_key_file_number (k, group, "part", bounds, &f.part, error)
      || !hass_key_file_number (k, group, "cpu_factor", bounds, &f.cpu_factor,
                                error)
      || !hass_key_file_number (k, group, "gpu_factor", bounds, &f.gpu_factor,
                                error))
    return FALSE;
  w->functions[w->n_functions++] = f;
  return TRUE;
}

gboolean
sim_functions_fit (const HassKeyFile *k, const SimWorkload *w,
                   const char *group, GError **error)
{
  if (w->n_functions == 1)
    return hass_key_file_broken (k, group, NULL, error,
                                 "[%s] is the only function: none or 2 to %d "
                                 "are needed",
                                 group, HASS_MOST_FUNCTIONS);
  if (w->n_functions > 0 && w->sizes)
    return hass_key_file_broken (k, "workload", "sizes", error,
                                 "sizes = yes does not go with functions, of "
                                 "which there are %u",
                                 w->n_functions);
  return TRUE;
}

guint8 *
sim_function_of_units (const SimWorkload *w)
{
  double all = 0, due[HASS_MOST_FUNCTIONS] = { 0 };
  if (w->n_functions == 0)
    return NULL;
  guint8 *of = g_new (guint8, MAX (w->units, 1));
  for (guint f = 0; f < w->n_functions; f++)
    all += w->functions[f].part;
  for (guint32 i = 0; i < w->units; i++)
    {
      guint8 next = 0;
      for (guint8 f = 0; f < w->n_functions; f++)
        {
          due[f] += w->functions[f].part;
          if (due[f] > due[next])
            next = f;
        }
      due[next] -= all;
      of[i] = next;
    }
  return of;
}
