/* SPDX-License-Identifier: MIT */
/* workflow.c: reads a workflow of WfCommons, in its JSON format (WfFormat).

   DESIGN. From version 1.5 on a workflow has a specification (tasks, with the
   names of their files, and files) and an execution (runtimes). Before, a task
   had all of this itself. Parents and children are tasks by their id, or, in
   older files, by their name.
   1. All tasks get their numbers, so that references may go forward.
   2. Each task's runtime, parents, children and files are read.
   3. A file becomes a datum, which moves over links. What reads a file follows
      the task that writes it, if one does. A file that several tasks write
   orders nothing of itself: parents and children say in which order they do. A
   file of 0 bytes only orders.

   Thread safety: any thread. */
#include <string.h>

#include "workflow.h"

#include "draw/json_line.h"
#include "hass/error.h"

/* -- 1. Numbers ----------------------------------------------------------- */

/* A name that several tasks have refers to none of them. */
static void
add_name (Workflow *w, const char *name, guint task)
{
  gboolean used = g_hash_table_contains (w->by_name, name);
  g_hash_table_insert (w->by_name, (gpointer)name,
                       GUINT_TO_POINTER (used ? 0 : task + 1));
}

static gboolean
number_task (Workflow *w, guint i)
{
  JsonObject *o;
  const char *name, *id;
  *w->where = '\0';
  if (!workflow_object_at (w, w->tasks, i, "task", &o))
    return FALSE;
  g_snprintf (w->where, sizeof w->where, "task %u", i + 1);
  if (!workflow_text (w, o, "name", FALSE, &name)
      || !workflow_text (w, o, "id", !name, &id))
    return FALSE;
  if (!id)
    id = name;
  guint other = GPOINTER_TO_UINT (g_hash_table_lookup (w->by_id, id));
  if (other > 0)
    return workflow_broken (w, "'%.60s' is the id of task %u, too", id, other);
  g_hash_table_insert (w->by_id, (gpointer)id, GUINT_TO_POINTER (i + 1));
  g_ptr_array_add (w->ids, (gpointer)id);
  if (name)
    add_name (w, name, i);
  return TRUE;
}

static gboolean
find_task (const Workflow *w, const char *name, const char *member,
           guint32 *task)
{
  guint found = GPOINTER_TO_UINT (g_hash_table_lookup (w->by_id, name));
  if (found == 0)
    found = GPOINTER_TO_UINT (g_hash_table_lookup (w->by_name, name));
  *task = found - 1;
  return found > 0
         || workflow_broken (w, "'%s': there is no task '%.60s'", member, name);
}

/* -- 2. Tasks ------------------------------------------------------------- */

/* Adds the edges of 'parents' or 'children'. */
static gboolean
read_edges (Workflow *w, JsonObject *o, guint32 task, const char *member,
            gboolean before)
{
  JsonArray *list;
  if (!workflow_array (w, o, member, FALSE, &list))
    return FALSE;
  for (guint i = 0; list && i < json_array_get_length (list); i++)
    {
      const char *name;
      guint32 other;
      if (!workflow_text_at (w, list, i, member, &name)
          || !find_task (w, name, member, &other))
        return FALSE;
      SimFlowEdge e = { before ? other : task, before ? task : other, FALSE };
      g_array_append_val (w->edges, e);
    }
  return TRUE;
}

/* Returns: the name without the number at its end: blast of blast_ID0012. */
static char *
kind_of (const char *name)
{
  gsize n = strlen (name), all = n;
  while (n > 0 && g_ascii_isdigit (name[n - 1]))
    n--;
  if (n < all && n > 2 && g_ascii_strncasecmp (name + n - 2, "id", 2) == 0
      && strchr ("_-.", name[n - 3]))
    n -= 2;
  while (n > 0 && n < all && strchr ("_-.#:", name[n - 1]))
    n--;
  return n > 0 ? g_strndup (name, n) : g_strdup ("task");
}

static gboolean
find_codelet (Workflow *w, JsonObject *o, guint32 task, guint *codelet)
{
  const char *name, *category;
  if (!workflow_text (w, o, "category", FALSE, &category)
      || !workflow_text (w, o, "name", FALSE, &name))
    return FALSE;
  g_autofree char *kind
      = category ? g_strdup (category)
                 : kind_of (name ? name : (char *)w->ids->pdata[task]);
  guint found = GPOINTER_TO_UINT (g_hash_table_lookup (w->kinds, kind));
  if (found == 0)
    {
      if (w->flow->codelets->len == SIM_MOST_FLOW_CODELETS)
        return workflow_broken (w,
                                "'%.60s' is one kind of task more than the %d "
                                "that are possible",
                                kind, SIM_MOST_FLOW_CODELETS);
      found = sim_flow_add_codelet (w->flow, kind) + 1;
      g_hash_table_insert (w->kinds, g_steal_pointer (&kind),
                           GUINT_TO_POINTER (found));
    }
  *codelet = found - 1;
  return TRUE;
}

/* @runtimes: [tasks], of version 1.5; NULL: the task has it. */
static gboolean
read_task (Workflow *w, guint32 task, const double *runtimes)
{
  JsonObject *o = json_array_get_object_element (w->tasks, task);
  double s = runtimes ? runtimes[task] : 0;
  guint codelet = 0;
  workflow_look_at (w, task);
  if (runtimes && s < 0)
    return workflow_broken (w, "'execution' has no runtimeInSeconds of it");
  if ((!runtimes
       && !workflow_number (w, o, "runtimeInSeconds", SIM_MOST_FLOW_NS * 1e-9,
                            &s))
      || !find_codelet (w, o, task, &codelet)
      || !read_edges (w, o, task, "parents", TRUE)
      || !read_edges (w, o, task, "children", FALSE))
    return FALSE;
  w->all_s += s;
  if (w->all_s > SIM_MOST_FLOW_NS * 1e-9)
    return workflow_broken (w,
                            "the tasks up to here take %g s together, more "
                            "than %g s",
                            w->all_s, SIM_MOST_FLOW_NS * 1e-9);
  guint first = w->uses->len;
  if (!workflow_read_files (w, o, task))
    return FALSE;
  sim_flow_begin_task (w->flow, codelet, s * 1e9);
  for (guint i = first; i < w->uses->len; i++)
    {
      const WorkflowUse *u = &g_array_index (w->uses, WorkflowUse, i);
      if (g_array_index (w->files, WorkflowFile, u->file).bytes > 0)
        sim_flow_use (w->flow, u->file,
                      !u->writes ? HASS_READ
                      : u->reads ? HASS_UPDATE
                                 : HASS_WRITE);
    }
  return TRUE;
}

/* Reads the runtimes of an 'execution'. @runtimes: [tasks], -1: none. */
static gboolean
read_runtimes (Workflow *w, JsonObject *execution, double *runtimes)
{
  JsonArray *list;
  if (!workflow_array (w, execution, "tasks", TRUE, &list))
    return FALSE;
  for (guint i = 0; i < w->ids->len; i++)
    runtimes[i] = -1;
  for (guint i = 0; i < json_array_get_length (list); i++)
    {
      JsonObject *o;
      const char *id;
      guint32 task;
      g_snprintf (w->where, sizeof w->where, "task %u of 'execution'", i + 1);
      if (!workflow_object_at (w, list, i, "task", &o)
          || !workflow_text (w, o, "id", TRUE, &id)
          || !find_task (w, id, "id", &task))
        return FALSE;
      if (runtimes[task] >= 0)
        return workflow_broken (w, "'%.60s' is there twice", id);
      if (!workflow_number (w, o, "runtimeInSeconds", SIM_MOST_FLOW_NS * 1e-9,
                            &runtimes[task]))
        return FALSE;
    }
  *w->where = '\0';
  return TRUE;
}

/* -- All ------------------------------------------------------------------ */

static gboolean
order (Workflow *w)
{
  guint32 cycle[2];
  workflow_add_file_edges (w);
  if (sim_flow_order (w->flow, w->edges, cycle))
    return TRUE;
  workflow_look_at (w, cycle[1]);
  return workflow_broken (w,
                          "it waits for task %u ('%.60s'), which waits for "
                          "it",
                          cycle[0] + 1, (const char *)w->ids->pdata[cycle[0]]);
}

static gboolean
read_tasks (Workflow *w, JsonObject *o)
{
  JsonObject *specification, *execution;
  g_autofree double *runtimes = NULL;
  if (!workflow_object (w, o, "specification", FALSE, &specification)
      || !workflow_object (w, o, "execution", specification != NULL, &execution)
      || !workflow_array (w, specification ? specification : o, "tasks", TRUE,
                          &w->tasks))
    return FALSE;
  guint n = json_array_get_length (w->tasks);
  if (n == 0 || n > SIM_MOST_FLOW_TASKS)
    return workflow_broken (w, "it has %u tasks, not 1 to %d", n,
                            SIM_MOST_FLOW_TASKS);
  for (guint i = 0; i < n; i++)
    if (!number_task (w, i))
      return FALSE;
  *w->where = '\0';
  w->specified = specification != NULL;
  if (specification)
    {
      runtimes = g_new (double, n);
      if (!read_runtimes (w, execution, runtimes)
          || !workflow_list_files (w, specification))
        return FALSE;
    }
  else if (!workflow_list_files_of_tasks (w))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!read_task (w, i, runtimes))
      return FALSE;
  return order (w);
}

static gboolean
read_all (Workflow *w, JsonNode *root)
{
  JsonObject *workflow;
  if (!JSON_NODE_HOLDS_OBJECT (root))
    return workflow_broken (w, "it is no workflow: the JSON is not an object");
  return workflow_object (w, json_node_get_object (root), "workflow", TRUE,
                          &workflow)
         && read_tasks (w, workflow);
}

SimFlow *
sim_flow_read_workflow (const char *path, GError **error)
{
  g_autofree char *text = sim_flow_file_text (path, error);
  if (!text)
    return NULL;
  GError *inner = NULL;
  JsonNode *root = draw_json_line (text, &inner);
  Workflow w = { .path = path,
                 .error = error,
                 .flow = sim_flow_of_file (path),
                 .ids = g_ptr_array_new (),
                 .by_id = g_hash_table_new (g_str_hash, g_str_equal),
                 .by_name = g_hash_table_new (g_str_hash, g_str_equal),
                 .by_file = g_hash_table_new (g_str_hash, g_str_equal),
                 .kinds = g_hash_table_new_full (g_str_hash, g_str_equal,
                                                 g_free, NULL),
                 .files = g_array_new (FALSE, TRUE, sizeof (WorkflowFile)),
                 .uses = g_array_new (FALSE, FALSE, sizeof (WorkflowUse)),
                 .edges = g_array_new (FALSE, FALSE, sizeof (SimFlowEdge)) };
  if (root ? !read_all (&w, root) : !workflow_broken (&w, "%s", inner->message))
    g_clear_pointer (&w.flow, sim_flow_free);
  g_clear_error (&inner);
  g_ptr_array_unref (w.ids);
  g_hash_table_unref (w.by_id);
  g_hash_table_unref (w.by_name);
  g_hash_table_unref (w.by_file);
  g_hash_table_unref (w.kinds);
  g_array_unref (w.files);
  g_array_unref (w.uses);
  g_array_unref (w.edges);
  g_clear_pointer (&root, json_node_unref);
  return w.flow;
}
