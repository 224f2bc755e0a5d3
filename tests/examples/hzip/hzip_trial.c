/* SPDX-License-Identifier: MIT */
/* hzip_trial.c: see hzip_trial.h.
   Thread safety: see hzip_trial.h. */
#include "hzip_trial.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hass_test.h"
#include "tests/program.h"

void
outcome_clear (Outcome *o)
{
  g_clear_pointer (&o->out, g_bytes_unref);
  g_clear_pointer (&o->err, g_free);
}

Outcome
zip_script (const char *program, const char *script, GBytes *in,
            const char *folder)
{
  Outcome o = { -1, NULL, NULL };
  char *files = zip_folder ();
  g_autoptr (GBytes) nothing = g_bytes_new (NULL, 0);
  g_autofree char *path = strcmp (program, "hzip") == 0 ? program_path (program)
                                                        : g_strdup (program);
  g_autofree char *line = g_strdup_printf (
      "cd '%s' && export LC_ALL=C Z='%s' && { %s\n} <'%s/in' >'%s/out' "
      "2>'%s/err'",
      folder ? folder : files, path, script, files, files, files);
  zip_put (files, "in", in ? in : nothing);
  int status = system (line);
  if (WIFEXITED (status))
    o.status = WEXITSTATUS (status);
  g_autoptr (GBytes) err = zip_get (files, "err");
  o.out = zip_get (files, "out");
  CU_ASSERT_TRUE_FATAL (o.out && err);
  o.err = g_strndup (g_bytes_get_data (err, NULL), g_bytes_get_size (err));
  zip_remove (files);
  return o;
}

Outcome
zip_run (const char *program, const char *arguments, GBytes *in,
         const char *folder)
{
  g_autofree char *script = g_strconcat ("\"$Z\" ", arguments, NULL);
  return zip_script (program, script, in, folder);
}

char *
zip_messages (const char *messages)
{
  g_auto (GStrv) lines = g_strsplit (messages, "\n", -1);
  GString *text = g_string_new (NULL);
  for (guint k = 0; lines[k]; k++)
    {
      g_auto (GStrv) parts = g_strsplit (lines[k], "gzip:", 2);
      if (!strstr (lines[k], "extra field of"))
        g_string_append_printf (text, "%s%s%s%s", parts[0] ? parts[0] : "",
                                parts[0] && parts[1] ? "hzip:" : "",
                                parts[0] && parts[1] ? parts[1] : "",
                                lines[k + 1] ? "\n" : "");
    }
  return g_string_free (text, FALSE);
}

gboolean
zip_has (const char *program)
{
  g_autofree char *path = g_find_program_in_path (program);
  return path != NULL;
}

GBytes *
zip_text (gsize bytes, guint32 seed)
{
  GString *text = g_string_sized_new (bytes + 16);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  while (text->len < bytes)
    {
      guint32 word = (guint32)g_rand_int_range (
          rand, 0, g_rand_int_range (rand, 1, 4000));
      g_string_append_printf (text, "w%x%s", word * 2654435,
                              word % 11 == 0 ? ".\n" : " ");
    }
  g_string_truncate (text, bytes);
  return g_string_free_to_bytes (text);
}

GBytes *
zip_noise (gsize bytes, guint32 seed)
{
  guint8 *noise = g_malloc (bytes);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  for (gsize i = 0; i < bytes; i++)
    noise[i] = (guint8)g_rand_int (rand);
  return g_bytes_new_take (noise, bytes);
}

char *
zip_folder (void)
{
  char *folder = g_dir_make_tmp ("hass-hzip-XXXXXX", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (folder);
  return folder;
}

void
zip_remove (char *folder)
{
  GDir *dir = g_dir_open (folder, 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name (dir)))
    {
      char *path = g_build_filename (folder, name, NULL);
      if (unlink (path) == 0)
        g_free (path);
      else
        zip_remove (path);
    }
  g_clear_pointer (&dir, g_dir_close);
  rmdir (folder);
  g_free (folder);
}

void
zip_put (const char *folder, const char *name, GBytes *bytes)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  gsize n;
  const char *data = g_bytes_get_data (bytes, &n);
  CU_ASSERT_TRUE_FATAL (
      g_file_set_contents (path, data ? data : "", (gssize)n, NULL));
}

GBytes *
zip_get (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  char *data;
  gsize n;
  return g_file_get_contents (path, &data, &n, NULL)
             ? g_bytes_new_take (data, n)
             : NULL;
}

gboolean
zip_same (GBytes *a, GBytes *b)
{
  return a && b && g_bytes_equal (a, b);
}
