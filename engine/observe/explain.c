/* SPDX-License-Identifier: MIT */
/* explain.c: writes the explanations of strategies to a file.
   Thread safety: see facts.h. Each line is written at once, so that farms that
   run at the same time can share a file. */
#include "observe-private.h"

#include <string.h>

typedef struct
{
  char *farm;
  HassTextFile file;
} Explanation;

gpointer
hass_explain_new (const char *path, const char *farm, GError **error)
{
  HassTextFile file;
  if (strcmp (path, "-") == 0)
    file = (HassTextFile){ "explanation", g_strdup (path), stderr, 0 };
  else if (!hass_text_file_open (&file, "explanation", path, "a", error))
    return NULL;
  else
    setvbuf (file.file, NULL, _IOLBF, 0);
  Explanation *e = g_new (Explanation, 1);
  *e = (Explanation){ g_strdup (farm), file };
  return e;
}

static void
said (gpointer self, gint64 ns, const char *text)
{
  Explanation *e = self;
  g_autofree char *line
      = g_strdup_printf ("%s %.3f ms: %s ", e->farm, (double)ns * 1e-6, text);
  /* Names are the user's and may contain ends of lines. */
  g_strdelimit (line, "\n\r", ' ');
  line[strlen (line) - 1] = '\n';
  /* The file is line-buffered, so a failure to write shows here. */
  hass_text_file_write (&e->file, line, strlen (line));
}

static gboolean
over (gpointer self, GError **error)
{
  Explanation *e = self;
  return hass_text_file_close (&e->file, error);
}

static void
explanation_free (gpointer self)
{
  Explanation *e = self;
  hass_text_file_close (&e->file, NULL);
  g_free (e->farm);
  g_free (e);
}

const HassListenerOps hass_explain_ops
    = { .said = said, .over = over, .free = explanation_free };
