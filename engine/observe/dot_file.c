/* SPDX-License-Identifier: MIT */
/* dot_file.c: writes the tasks of a dataflow to the file of HASS_DOT.
   Thread safety: the thread that called the dataflow. */
#include "dot.h"
#include "observe-private.h"

/* Bytes that are collected before they are written to the file. A guess:
   smaller, and more calls write; larger, and more memory is used. */
#define PIECE (1 << 20)

typedef struct
{
  char *path;
  HassTextFile file;
  GString *text; /* not yet written */
  HassDot *dot;  /* NULL: the farm is no dataflow */
} DotFile;

gpointer
hass_dot_file_new (const char *path)
{
  DotFile *f = g_new0 (DotFile, 1);
  f->path = g_strdup (path);
  f->text = g_string_new (NULL);
  return f;
}

static gboolean
open_dot (gpointer self, const HassFarmFacts *farm, GError **error)
{
  static _Atomic (const char *) last;
  DotFile *f = self;
  if (farm->farm->kind != HASS_FARM_DATAFLOW)
    return TRUE;
  if (!hass_text_file_open (&f->file, "graph", f->path,
                            hass_text_file_again (&last, f->path) ? "a" : "w",
                            error))
    return FALSE;
  f->dot = hass_dot_new (f->text, farm->farm->name);
  return TRUE;
}

static void
write_out (DotFile *f)
{
  hass_text_file_write (&f->file, f->text->str, f->text->len);
  g_string_truncate (f->text, 0);
}

static void
submitted (gpointer self, const HassSubmitted *fact)
{
  DotFile *f = self;
  hass_dot_task (f->dot, fact);
  if (f->text->len > PIECE)
    write_out (f);
}

static gboolean
over (gpointer self, GError **error)
{
  DotFile *f = self;
  if (!f->dot)
    return TRUE;
  hass_dot_end (g_steal_pointer (&f->dot));
  write_out (f);
  return hass_text_file_close (&f->file, error);
}

static void
dot_file_free (gpointer self)
{
  DotFile *f = self;
  over (f, NULL);
  g_string_free (f->text, TRUE);
  g_free (f->path);
  g_free (f);
}

const HassListenerOps hass_dot_ops = {
  .open = open_dot, .submitted = submitted, .over = over, .free = dot_file_free
};
