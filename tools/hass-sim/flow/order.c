/* SPDX-License-Identifier: MIT */
/* order.c: tasks in an order in which a dataflow can submit them.

   DESIGN. A dataflow derives dependences from accesses in the order of
   submission.
   1. Edges are sorted by the task that waits, so that those of a task are
      adjacent, and equal ones become one.
   2. Tasks are ordered by Kahn's algorithm: first those that wait for none, in
      the order of the file, then those that wait for these, and so on.
   3. A task that others wait for only by edges WRITEs a datum of 0 bytes, which
      these READ.

   Thread safety: any thread. */
#include "build.h"

typedef struct
{
  const SimFlowEdge *edges; /* sorted by after */
  guint n_edges;
  guint32 n, n_ordered;
  guint32 *order;   /* [n]: order[i]: the task that comes i-th */
  guint32 *waits;   /* [n]: for how many tasks that have no place yet */
  guint32 *first;   /* [n + 1]: of each task's edges as after */
  guint32 *follow;  /* [n + 1]: of each task's followers */
  guint32 *follows; /* [n_edges] */
} Order;

/* -- 1. Edges ------------------------------------------------------------ */

static gint
compare (gconstpointer a, gconstpointer b)
{
  const SimFlowEdge *x = a, *y = b;
  if (x->after != y->after)
    return x->after < y->after ? -1 : 1;
  return x->before < y->before ? -1 : x->before > y->before;
}

static void
make_unique (GArray *edges)
{
  SimFlowEdge *e = (SimFlowEdge *)edges->data;
  guint n = 0;
  g_array_sort (edges, compare);
  for (guint i = 0; i < edges->len; i++)
    if (n > 0 && compare (&e[n - 1], &e[i]) == 0)
      e[n - 1].by_data = e[n - 1].by_data || e[i].by_data;
    else
      e[n++] = e[i];
  g_array_set_size (edges, n);
}

/* Counts the edges of each task on both ends, and lists its followers. */
static void
list_followers (Order *o)
{
  g_autofree guint32 *next = g_new (guint32, o->n);
  for (guint i = 0; i < o->n_edges; i++)
    {
      o->waits[o->edges[i].after]++;
      o->follow[o->edges[i].before + 1]++;
    }
  for (guint32 t = 0; t < o->n; t++)
    {
      o->first[t + 1] = o->first[t] + o->waits[t];
      o->follow[t + 1] += o->follow[t];
      next[t] = o->follow[t];
    }
  for (guint i = 0; i < o->n_edges; i++)
    o->follows[next[o->edges[i].before]++] = o->edges[i].after;
}

/* -- 2. The order --------------------------------------------------------- */

static void
sort (Order *o)
{
  for (guint32 t = 0; t < o->n; t++)
    if (o->waits[t] == 0)
      o->order[o->n_ordered++] = t;
  for (guint32 i = 0; i < o->n_ordered; i++)
    {
      guint32 t = o->order[i];
      for (guint32 k = o->follow[t]; k < o->follow[t + 1]; k++)
        if (--o->waits[o->follows[k]] == 0)
          o->order[o->n_ordered++] = o->follows[k];
    }
}

/* Returns: a task without a place that @task waits for; each one without a
   place has one. */
static guint32
waits_for (const Order *o, guint32 task)
{
  for (guint32 i = o->first[task]; i < o->first[task + 1]; i++)
    if (o->waits[o->edges[i].before] > 0)
      return o->edges[i].before;
  g_assert_not_reached ();
}

static void
find_cycle (const Order *o, guint32 cycle[2])
{
  guint32 t = 0;
  while (o->waits[t] == 0)
    t++;
  for (guint32 i = 0; i < o->n; i++) /* after n steps it has come to a cycle */
    t = waits_for (o, t);
  cycle[1] = t;
  cycle[0] = waits_for (o, t);
}

/* -- 3. Tasks ------------------------------------------------------------- */

/* Copies a task and its accesses, and adds the accesses that order it.
   @datum: [n], the datum by which others wait for a task, + 1. */
static void
put_task (const Order *o, SimFlow *to, const SimFlow *from, guint32 task,
          const guint32 *datum)
{
  const SimFlowTask *t = &g_array_index (from->tasks, SimFlowTask, task);
  sim_flow_begin_task (to, t->codelet, t->core_ns);
  for (guint i = t->first; i < t->first + t->n; i++)
    {
      const SimFlowUse *u = &g_array_index (from->uses, SimFlowUse, i);
      sim_flow_use (to, u->datum, u->mode);
    }
  for (guint32 i = o->first[task]; i < o->first[task + 1]; i++)
    if (!o->edges[i].by_data)
      sim_flow_use (to, datum[o->edges[i].before] - 1, HASS_READ);
  if (datum[task] > 0)
    sim_flow_use (to, datum[task] - 1, HASS_WRITE);
}

static void
put_tasks (const Order *o, SimFlow *f)
{
  g_autofree guint32 *datum = g_new0 (guint32, o->n);
  SimFlow old = *f;
  f->tasks = g_array_new (FALSE, FALSE, sizeof (SimFlowTask));
  f->uses = g_array_new (FALSE, FALSE, sizeof (SimFlowUse));
  for (guint i = 0; i < o->n_edges; i++)
    if (!o->edges[i].by_data && datum[o->edges[i].before] == 0)
      {
        sim_flow_add_data (f, 1, 0);
        datum[o->edges[i].before] = f->sizes->len;
      }
  for (guint32 i = 0; i < o->n; i++)
    put_task (o, f, &old, o->order[i], datum);
  g_array_unref (old.tasks);
  g_array_unref (old.uses);
}

gboolean
sim_flow_order (SimFlow *f, GArray *edges, guint32 cycle[2])
{
  make_unique (edges);
  guint32 n = f->tasks->len;
  g_autofree guint32 *order = g_new (guint32, n), *waits = g_new0 (guint32, n);
  g_autofree guint32 *first = g_new0 (guint32, n + 1);
  g_autofree guint32 *follow = g_new0 (guint32, n + 1);
  g_autofree guint32 *follows = g_new (guint32, edges->len);
  Order o = { .edges = (const SimFlowEdge *)edges->data,
              .n_edges = edges->len,
              .n = n,
              .order = order,
              .waits = waits,
              .first = first,
              .follow = follow,
              .follows = follows };
  list_followers (&o);
  sort (&o);
  if (o.n_ordered < n)
    find_cycle (&o, cycle);
  else
    put_tasks (&o, f);
  return o.n_ordered == n;
}
