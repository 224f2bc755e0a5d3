/* SPDX-License-Identifier: MIT */
/* explain.c: writes the explanations of strategies to a file.
   Thread safety: see facts.h. Each line is written at once, so that farms that
   run at the same time can share a file. */
#include "observe-private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hass/error.h"

typedef struct
{
  char *path, *farm;
  FILE *file;  /* NULL: the file is closed */
  int failure; /* errno of the first line that was not written, or 0 */
} Explanation;

gpointer
hass_explain_new (const char *path, const char *farm, GError **error)
{
  FILE *file = strcmp (path, "-") == 0 ? stderr : fopen (path, "a");
  if (!file)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
                   "explanation file '%s' cannot be written: %s", path,
                   g_strerror (errno));
      return NULL;
    }
  if (file != stderr)
    setvbuf (file, NULL, _IOLBF, 0);
  Explanation *e = g_new (Explanation, 1);
  *e = (Explanation){ g_strdup (path), g_strdup (farm), file, 0 };
  return e;
}

static void
said (gpointer self, gint64 ns, const char *text)
{
  Explanation *e = self;
  g_autofree char *line
      = g_strdup_printf ("%s %.3f ms: %s\n", e->farm, (double)ns * 1e-6, text);
  gsize bytes = strlen (line);
  /* The file is line-buffered, so a failure to write shows here. */
  if (fwrite (line, 1, bytes, e->file) != bytes && e->failure == 0)
    e->failure = errno;
}

static gboolean
over (gpointer self, GError **error)
{
  Explanation *e = self;
  FILE *file = g_steal_pointer (&e->file);
  if (file != stderr && fclose (file) != 0 && e->failure == 0)
    e->failure = errno;
  if (e->failure == 0)
    return TRUE;
  g_set_error (error, HASS_ERROR, HASS_ERROR_IO,
               "explanation file '%s' could not be written whole: %s", e->path,
               g_strerror (e->failure));
  return FALSE;
}

static void
explanation_free (gpointer self)
{
  Explanation *e = self;
  if (e->file && e->file != stderr)
    fclose (e->file);
  g_free (e->path);
  g_free (e->farm);
  g_free (e);
}

const HassListenerOps hass_explain_ops
    = { .said = said, .over = over, .free = explanation_free };
