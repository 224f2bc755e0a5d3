/* SPDX-License-Identifier: MIT */
/* workflow_files.c: the files of a workflow: step 3 of workflow.c.
   Thread safety: any thread. */
#include "workflow.h"

/* -- Lists ---------------------------------------------------------------- */

/* Adds a file, or makes it as large as it is here. */
static gboolean
add_file (Workflow *w, const char *name, double bytes)
{
  guint found = GPOINTER_TO_UINT (g_hash_table_lookup (w->by_file, name));
  WorkflowFile none = { 0 };
  if (found == 0)
    {
      g_array_append_val (w->files, none);
      found = w->files->len;
      g_hash_table_insert (w->by_file, (gpointer)name,
                           GUINT_TO_POINTER (found));
    }
  WorkflowFile *f = &g_array_index (w->files, WorkflowFile, found - 1);
  w->all_bytes += MAX (bytes - (double)f->bytes, 0);
  f->bytes = MAX (f->bytes, (gsize)bytes);
  return w->all_bytes <= SIM_MOST_FLOW_BYTES
         || workflow_broken (w,
                             "the files up to '%.60s' have %g bytes together, "
                             "more than %g",
                             name, w->all_bytes, SIM_MOST_FLOW_BYTES);
}

static void
add_data (Workflow *w)
{
  for (guint i = 0; i < w->files->len; i++)
    sim_flow_add_data (w->flow, 1,
                       g_array_index (w->files, WorkflowFile, i).bytes);
}

/* @key: of the file's name. */
static gboolean
list (Workflow *w, JsonArray *files, const char *key)
{
  for (guint i = 0; files && i < json_array_get_length (files); i++)
    {
      JsonObject *o;
      const char *name;
      double bytes;
      if (!workflow_object_at (w, files, i, "file", &o)
          || !workflow_text (w, o, key, TRUE, &name)
          || !workflow_number (w, o, "sizeInBytes", SIM_MOST_FLOW_BYTES, &bytes)
          || !add_file (w, name, bytes))
        return FALSE;
    }
  return TRUE;
}

gboolean
workflow_list_files (Workflow *w, JsonObject *specification)
{
  JsonArray *files;
  g_snprintf (w->where, sizeof w->where, "files of 'specification'");
  if (!workflow_array (w, specification, "files", FALSE, &files)
      || !list (w, files, "id"))
    return FALSE;
  *w->where = '\0';
  add_data (w);
  return TRUE;
}

gboolean
workflow_list_files_of_tasks (Workflow *w)
{
  for (guint i = 0; i < w->ids->len; i++)
    {
      JsonArray *files;
      workflow_look_at (w, i);
      if (!workflow_array (w, json_array_get_object_element (w->tasks, i),
                           "files", FALSE, &files)
          || !list (w, files, "name"))
        return FALSE;
    }
  *w->where = '\0';
  add_data (w);
  return TRUE;
}

/* -- Uses ----------------------------------------------------------------- */

static gboolean
add_use (Workflow *w, guint32 task, const char *name, gboolean writes)
{
  guint found = GPOINTER_TO_UINT (g_hash_table_lookup (w->by_file, name));
  if (found == 0)
    return workflow_broken (w, "there is no file '%.60s'", name);
  WorkflowFile *f = &g_array_index (w->files, WorkflowFile, found - 1);
  if (f->last_task != task + 1)
    {
      WorkflowUse u = { .task = task, .file = found - 1 };
      f->last_task = task + 1;
      f->last_use = w->uses->len;
      g_array_append_val (w->uses, u);
    }
  WorkflowUse *u = &g_array_index (w->uses, WorkflowUse, f->last_use);
  if (writes && !u->writes)
    {
      f->writer = task;
      f->n_writers++;
    }
  u->writes = u->writes || writes;
  u->reads = u->reads || !writes;
  return TRUE;
}

/* Of a list of names. */
static gboolean
add_uses (Workflow *w, JsonObject *o, guint32 task, const char *member,
          gboolean writes)
{
  JsonArray *names;
  if (!workflow_array (w, o, member, FALSE, &names))
    return FALSE;
  for (guint i = 0; names && i < json_array_get_length (names); i++)
    {
      const char *name;
      if (!workflow_text_at (w, names, i, member, &name)
          || !add_use (w, task, name, writes))
        return FALSE;
    }
  return TRUE;
}

/* Of the files that a task has itself, before version 1.5. */
static gboolean
add_own (Workflow *w, JsonObject *o, guint32 task)
{
  JsonArray *files;
  if (!workflow_array (w, o, "files", FALSE, &files))
    return FALSE;
  for (guint i = 0; files && i < json_array_get_length (files); i++)
    {
      JsonObject *file;
      const char *name, *link;
      if (!workflow_object_at (w, files, i, "file", &file)
          || !workflow_text (w, file, "name", TRUE, &name)
          || !workflow_text (w, file, "link", TRUE, &link))
        return FALSE;
      gboolean writes = g_str_equal (link, "output");
      if (!writes && !g_str_equal (link, "input"))
        return workflow_broken (w,
                                "file '%.60s' has the link '%.60s'; known are "
                                "input and output",
                                name, link);
      if (!add_use (w, task, name, writes))
        return FALSE;
    }
  return TRUE;
}

gboolean
workflow_read_files (Workflow *w, JsonObject *o, guint32 task)
{
  return w->specified ? add_uses (w, o, task, "inputFiles", FALSE)
                            && add_uses (w, o, task, "outputFiles", TRUE)
                      : add_own (w, o, task);
}

void
workflow_add_file_edges (Workflow *w)
{
  for (guint i = 0; i < w->uses->len; i++)
    {
      const WorkflowUse *u = &g_array_index (w->uses, WorkflowUse, i);
      const WorkflowFile *f = &g_array_index (w->files, WorkflowFile, u->file);
      SimFlowEdge e = { f->writer, u->task, f->bytes > 0 };
      if (f->n_writers == 1 && f->writer != u->task)
        g_array_append_val (w->edges, e);
    }
}
