/* SPDX-License-Identifier: MIT */
/* files.c: what the readers of task graphs share.
   Thread safety: any thread. */
#include "build.h"

#include <string.h>

#include "hass/error.h"

char *
sim_flow_file_text (const char *path, GError **error)
{
  GError *inner = NULL;
  char *text = NULL;
  gsize bytes = 0;
  if (!g_file_get_contents (path, &text, &bytes, &inner))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO, "dataflow file %s: %s",
                   path, inner->message);
      g_error_free (inner);
    }
  else if (strlen (text) < bytes)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "dataflow file %s is no text: byte %zu is 0", path,
                   strlen (text) + 1);
      g_clear_pointer (&text, g_free);
    }
  return text;
}

SimFlow *
sim_flow_of_file (const char *path)
{
  g_autofree char *name = g_path_get_basename (path);
  char *dot = strrchr (name, '.');
  if (dot && dot > name)
    *dot = '\0';
  return sim_flow_empty (path, name);
}
