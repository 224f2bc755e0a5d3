/* SPDX-License-Identifier: MIT */
/* bound.c: the least time that any schedule needs for a graph of tasks.

   DESIGN. Device d computes at the rate r(d), relative to a core, times the
   factor f(c, d) of codelet c, and each task takes a pull or a launch besides.
   A task takes at least its time on the device that computes it fastest. The
   longest path follows from one pass from the last task to the first, which
   keeps for each datum the longest path from its next writer, and from the
   readers before that one; a pass in the other direction gives the longest path
   to each task. What all devices need together is in area.c.

   Thread safety: any thread, each with a graph of its own. */
#include "area.h"

static double
shortest_ns (const SimFlow *f, const HassPlatform *p, const SimFlowTask *t)
{
  double best = G_MAXDOUBLE;
  for (guint d = 0; d <= p->n_gpus; d++)
    best = MIN (best, sim_flow_overhead_ns (p, d)
                          + t->core_ns / sim_flow_rate (f, p, d, t->codelet));
  return best;
}

/* Of a datum: the longest path from its next writer, and from the readers
   before that; or to its last writer, and to the readers after that. */
typedef struct
{
  double writer_ns, readers_ns;
} Paths;

/* Returns: the longest path beyond a task. */
static double
longest_beyond (const SimFlow *f, const SimFlowTask *t, const Paths *paths)
{
  double longest = 0;
  for (guint i = t->first; i < t->first + t->n; i++)
    {
      const SimFlowUse *u = &g_array_index (f->uses, SimFlowUse, i);
      longest = MAX (longest, paths[u->datum].writer_ns);
      if (u->mode != HASS_READ)
        longest = MAX (longest, paths[u->datum].readers_ns);
    }
  return longest;
}

/* @ns: the path that begins or ends with the task. */
static void
note (const SimFlow *f, const SimFlowTask *t, double ns, Paths *paths)
{
  for (guint i = t->first; i < t->first + t->n; i++)
    {
      const SimFlowUse *u = &g_array_index (f->uses, SimFlowUse, i);
      Paths *at = &paths[u->datum];
      if (u->mode == HASS_READ)
        at->readers_ns = MAX (at->readers_ns, ns);
      else
        *at = (Paths){ ns, 0 };
    }
}

/* Sets the urgency of each task and @tail_ns [tasks], if that is not NULL. */
static double
longest_path_ns (SimFlow *f, const HassPlatform *p, double *tail_ns)
{
  g_autofree Paths *after = g_new0 (Paths, f->sizes->len);
  double longest = 0;
  for (guint i = f->tasks->len; i-- > 0;)
    {
      SimFlowTask *t = &g_array_index (f->tasks, SimFlowTask, i);
      double tail = longest_beyond (f, t, after);
      t->urgency = shortest_ns (f, p, t) + tail;
      longest = MAX (longest, t->urgency);
      note (f, t, t->urgency, after);
      if (tail_ns)
        tail_ns[i] = tail;
    }
  return longest;
}

static void
find_heads (const SimFlow *f, const HassPlatform *p, double *head_ns)
{
  g_autofree Paths *before = g_new0 (Paths, f->sizes->len);
  for (guint i = 0; i < f->tasks->len; i++)
    {
      const SimFlowTask *t = &g_array_index (f->tasks, SimFlowTask, i);
      head_ns[i] = longest_beyond (f, t, before);
      note (f, t, head_ns[i] + shortest_ns (f, p, t), before);
    }
}

double
sim_flow_path_ns (SimFlow *f, const HassPlatform *p)
{
  return longest_path_ns (f, p, NULL);
}

SimFlowBound
sim_flow_bound (SimFlow *f, const HassPlatform *p)
{
  g_autofree double *head_ns = g_new (double, f->tasks->len);
  g_autofree double *tail_ns = g_new (double, f->tasks->len);
  SimFlowBound b = { .path_ns = longest_path_ns (f, p, tail_ns) };
  find_heads (f, p, head_ns);
  b.area_ns = sim_flow_area_ns (f, p, head_ns, tail_ns, b.path_ns);
  return b;
}
