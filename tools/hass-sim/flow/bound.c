/* SPDX-License-Identifier: MIT */
/* bound.c: the least time that any schedule needs for a graph of tasks.

   DESIGN. Device d computes at the rate r(d), relative to a core, times the
   factor f(c, d) of codelet c.
   1. Path. A task takes at least its time on the device that computes it
      fastest. The longest path follows from one pass from the last task to the
      first, which keeps for each datum the longest path from its next writer,
      and from the readers before that one.
   2. Area. In the time t device d computes at most r(d) f(c, d) t of codelet c,
      so all devices sum (w(c) / max f(c, d)) of all codelets at most in the
      time that this takes at sum r(d).

   Thread safety: any thread, each with a graph of its own. */
#include "flow.h"

/* -- Devices ------------------------------------------------------------- */

static const char *
kind_of (const HassPlatform *p, guint d)
{
  return d == 0 ? "cpu" : p->gpus[d - 1].kind ? p->gpus[d - 1].kind : "gpu";
}

/* Of one core, or of a GPU; relative to a core. */
static double
rate_of (const HassPlatform *p, guint d)
{
  return d == 0 ? 1 : p->gpus[d - 1].work_per_ns / p->core_work_per_ns;
}

/* The shortest time of a task, and the largest factor of its codelet. */
static double
shortest_ns (const SimFlow *f, const HassPlatform *p, const SimFlowTask *t,
             double *most)
{
  double best = G_MAXDOUBLE;
  *most = 0;
  for (guint d = 0; d <= p->n_gpus; d++)
    {
      double factor = hass_platform_codelet_factor (
          p, f->codelets->pdata[t->codelet], kind_of (p, d));
      double more = d == 0 ? p->pull_ns : p->gpus[d - 1].launch_ns;
      *most = MAX (*most, factor);
      best = MIN (best, more + t->core_ns / (rate_of (p, d) * factor));
    }
  return best;
}

/* -- 1. Path ------------------------------------------------------------- */

/* Of a datum: the longest path to the end from its next writer, and from the
   readers before that. */
typedef struct
{
  double writer_ns, readers_ns;
} After;

static double
longest_after (const SimFlow *f, const SimFlowTask *t, const After *after)
{
  double longest = 0;
  for (guint i = t->first; i < t->first + t->n; i++)
    {
      const SimFlowUse *u = &g_array_index (f->uses, SimFlowUse, i);
      longest = MAX (longest, after[u->datum].writer_ns);
      if (u->mode != HASS_READ)
        longest = MAX (longest, after[u->datum].readers_ns);
    }
  return longest;
}

static void
note (const SimFlow *f, const SimFlowTask *t, After *after)
{
  for (guint i = t->first; i < t->first + t->n; i++)
    {
      const SimFlowUse *u = &g_array_index (f->uses, SimFlowUse, i);
      After *a = &after[u->datum];
      if (u->mode == HASS_READ)
        a->readers_ns = MAX (a->readers_ns, t->urgency);
      else
        *a = (After){ t->urgency, 0 };
    }
}

SimFlowBound
sim_flow_bound (SimFlow *f, const HassPlatform *p)
{
  SimFlowBound b = { 0, 0 };
  g_autofree After *after = g_new0 (After, f->sizes->len);
  for (guint i = f->tasks->len; i-- > 0;)
    {
      SimFlowTask *t = &g_array_index (f->tasks, SimFlowTask, i);
      double most;
      t->urgency = shortest_ns (f, p, t, &most) + longest_after (f, t, after);
      b.path_ns = MAX (b.path_ns, t->urgency);
      b.area_ns += t->core_ns / most; /* 2. */
      note (f, t, after);
    }
  double rates = p->cores;
  for (guint d = 1; d <= p->n_gpus; d++)
    rates += rate_of (p, d);
  b.area_ns /= rates;
  return b;
}
