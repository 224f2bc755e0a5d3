/* SPDX-License-Identifier: MIT */
/* workflow.h: what reads a workflow of WfCommons; see workflow.c.
   Thread safety: any thread, each with objects of its own. */
#ifndef HASS_SIM_FLOW_WORKFLOW_H
#define HASS_SIM_FLOW_WORKFLOW_H

#include <json-glib/json-glib.h>

#include "build.h"

/* A file. @writer: the last task that was seen to write it. @last_task: the
   last one that was seen to use it, + 1, and @last_use: where it does. */
typedef struct
{
  gsize bytes;
  guint32 writer, n_writers;
  guint32 last_task, last_use;
} WorkflowFile;

/* A task's use of a file. */
typedef struct
{
  guint32 task, file;
  gboolean reads, writes;
} WorkflowUse;

/* @where: what messages are about, such as "task 3 ('a_3')". @by_id, @by_name:
   numbers of tasks, + 1; 0 of a name that several have. @by_file, @kinds:
   numbers of files and codelets, + 1. Strings belong to the JSON but for
   @kinds. */
typedef struct
{
  const char *path;
  GError **error;
  char where[120];
  SimFlow *flow;
  JsonArray *tasks;
  gboolean specified; /* version 1.5 or later */
  GPtrArray *ids;     /* of each task */
  GHashTable *by_id, *by_name, *by_file, *kinds;
  GArray *files, *uses, *edges; /* WorkflowFile, WorkflowUse, SimFlowEdge */
  double all_s, all_bytes;
} Workflow;

/* -- workflow_members.c --------------------------------------------------- */

/* Sets the error. Returns: FALSE. */
gboolean workflow_broken (const Workflow *w, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

/* Messages are about a task from now on. */
void workflow_look_at (Workflow *w, guint task);

/* Members of an object and elements of an array. Without @needed an absent
   member is NULL. Return: FALSE with an error. */
gboolean workflow_array (const Workflow *w, JsonObject *o, const char *name,
                         gboolean needed, JsonArray **array);
gboolean workflow_object (const Workflow *w, JsonObject *o, const char *name,
                          gboolean needed, JsonObject **object);
gboolean workflow_object_at (const Workflow *w, JsonArray *array, guint i,
                             const char *what, JsonObject **object);
gboolean workflow_text (const Workflow *w, JsonObject *o, const char *name,
                        gboolean needed, const char **text);
gboolean workflow_text_at (const Workflow *w, JsonArray *array, guint i,
                           const char *name, const char **text);
gboolean workflow_number (const Workflow *w, JsonObject *o, const char *name,
                          double most, double *value);

/* -- workflow_files.c ----------------------------------------------------- */

/* Lists the files, as data of the flow: those of version 1.5,
   or of all tasks. */
gboolean workflow_list_files (Workflow *w, JsonObject *specification);
gboolean workflow_list_files_of_tasks (Workflow *w);
/* Adds the uses of a task. */
gboolean workflow_read_files (Workflow *w, JsonObject *o, guint32 task);
/* What reads a file follows the task that writes it, if one does. */
void workflow_add_file_edges (Workflow *w);

#endif
