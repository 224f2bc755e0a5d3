/* SPDX-License-Identifier: MIT */
/* build.h: building a SimFlow.
   Thread safety: any thread, each with objects of its own. */
#ifndef HASS_SIM_FLOW_BUILD_H
#define HASS_SIM_FLOW_BUILD_H

#include "flow.h"

/* A graph without tasks. */
SimFlow *sim_flow_empty (const char *spec, const char *name);
/* Adds @n data of @bytes each. */
void sim_flow_add_data (SimFlow *f, guint32 n, gsize bytes);
/* Returns: the number of the codelet. @name: copied. */
guint sim_flow_add_codelet (SimFlow *f, const char *name);
void sim_flow_begin_task (SimFlow *f, guint codelet, double core_ns);
/* An access of the task that was begun last. */
void sim_flow_use (SimFlow *f, guint32 datum, HassAccessMode mode);

/* order.c: task @after waits for task @before, by their numbers in the graph.
   @by_data: it does so without this edge, as it reads what @before has written.
 */
typedef struct
{
  guint32 before, after;
  gboolean by_data;
} SimFlowEdge;

/* Brings the tasks of a graph, which may be in any order, in one in which each
   follows those that it waits for, and adds data of 0 bytes for the edges that
   data do not stand for. @edges: of SimFlowEdge, may name the same more than
   once; sorted. Returns: FALSE if that is not possible: task @cycle[1] waits
   for @cycle[0], which waits for it in its turn, perhaps through others. */
gboolean sim_flow_order (SimFlow *f, GArray *edges, guint32 cycle[2]);

/* stg.c, a file of the Standard Task Graph Set; workflow.c, a workflow of
   WfCommons. */
SimFlow *sim_flow_read_stg (const char *path, GError **error);
SimFlow *sim_flow_read_workflow (const char *path, GError **error);

/* files.c: Returns: what the file holds; free with g_free(). NULL with an error
   if it cannot be read, or if it has a byte of 0. */
char *sim_flow_file_text (const char *path, GError **error);
/* A graph for the tasks of a file, which is called as the file without its
   ending. */
SimFlow *sim_flow_of_file (const char *path);

/* Most time of all tasks of a file together, and most bytes of all its data:
   what virtual time and address space hold. */
#define SIM_MOST_FLOW_NS 1e18
#define SIM_MOST_FLOW_BYTES 1e14

#endif
