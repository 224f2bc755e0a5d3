/* SPDX-License-Identifier: MIT */
/* dls_star.c: single-round divisible load theory on a star: the GPUs get one
   message each, one after another, and all devices finish together.

   Beaumont, Casanova, Legrand, Robert and Yang 2005, whose linear programme
   Zhang 2011, 2.4.1 gives: a unit of work of load i takes g_i to send and w_i
   to compute, and sum_{j<=i} a_j g_j + a_i w_i <= T. In the optimum all are
   equalities, so

     a_{i+1} (g_{i+1} + w_{i+1}) = a_i w_i,

   in the order of ascending g: the fastest link is served first, whatever the
   speed of its worker. A round costs O(devices^2 + devices * log n), a decision
   O(devices).

   Loses where each GPU has a link of its own, since the model makes a GPU wait
   that need not (`one-port=0` avoids it); where latency counts, since the model
   is linear; and where costs lie unevenly, since nothing is corrected.

   Interpretation:
   - The CPU is the master, which does not compute in the paper. Here its pool
     computes beside the messages, as a worker with g = 0, which is served
     first.
   - One message is sent at a time: the paper's star is one-port. With
     one-port=0 links work concurrently, and only GPUs that share a link are
     served one after another.
   - Sending results back takes no time in the paper. Here it is part of w: the
     time of a bundle beyond its copy in, launches included.
   - g and w are measured with a small part of the first round, divided equally,
     and updated by each round; weights of earlier rounds halve each time.
   - The order only determines the parts. Messages leave when the engine asks a
     GPU, in the order of devices; GPUs with links of their own do not wait for
     each other, and those on one link mostly have the same g.

   Thread safety: as hass/strategy.h. */
#include "sched/phases.h"

enum
{
  CALIBRATION,
  ONE_PORT
};

static const HassParameter parameters[] = {
  { "calibration", 1 / 64., 1e-6, 0.5, "part of the first round" },
  { "one-port", 1, 0, 1, "1: one message at a time; 0: one on each link" },
  { .name = NULL },
};

/* Sums over a device's finished bundles: their work, the time in ns in which
   inputs were sent to the device, and the remaining service time in ns. */
typedef struct
{
  double work, send_ns, compute_ns;
} Cost;

typedef struct
{
  HassPhases phases;
  /* [n]: sums of earlier rounds (halved each round) and of this one */
  Cost *past, *now;
  /* [n]: g of the paper, the time to send the input, in ns per work */
  double *sending;
  /* [n]: w of the paper, the time after sending, in ns per work; 0: unknown */
  double *rest;
} Star;

/* Returns: the number of the port through which data is sent to the device; 0
   for a device that needs none, as the CPU. A port sends to one device after
   the other, so its messages do not overlap. */
static guint
port_of (const Star *s, guint device)
{
  const HassCrew *crew = &s->phases.crew;
  if (device == crew->cpu)
    return 0;
  if (crew->env->parameters[ONE_PORT] >= 0.5)
    return 1;
  return crew->env->devices[device].link;
}

/* Returns: whether device @a gets its data before device @b. A port serves
   devices by ascending g, the time to send a unit of work, as the paper proves
   to be best. */
static gboolean
before (const Star *s, guint a, guint b)
{
  return s->sending[a] != s->sending[b] ? s->sending[a] < s->sending[b] : a < b;
}

/* Computes the parts of the devices (p->parts, sum 1) with which all devices
   finish at the same time. The load of the first device of each port is chosen
   so that it finishes at time 1; the load of each later one follows from that
   of the device that its port served before. A working device of unknown cost
   gets the mean of the other parts. */
static void
closed_form (Star *s)
{
  HassPhases *p = &s->phases;
  guint n = p->crew.n;
  g_autofree double *load = g_new0 (double, n);
  hass_phases_equal (p);
  for (guint round = 0; round < n; round++)
    {
      /* `next` is the device without a load that is served next, `last` the
         device that the same port served just before it (n: none). */
      guint next = n, last = n;
      for (guint d = 0; d < n; d++)
        if (p->parts[d] > 0 && s->rest[d] > 0 && load[d] <= 0
            && (next == n || before (s, d, next)))
          next = d;
      if (next == n)
        break;
      for (guint d = 0; d < n; d++)
        if (load[d] > 0 && port_of (s, d) == port_of (s, next)
            && port_of (s, next) > 0 && (last == n || before (s, last, d)))
          last = d;
      double computing = last < n ? load[last] * s->rest[last] : 1;
      load[next] = computing / (s->sending[next] + s->rest[next]);
    }
  hass_phases_by_speed (p, load);
}

/* Sets g (s->sending) and w (s->rest), both in ns per work, of each device
   from the sums of its measurements in earlier rounds and in this one. */
static void
look_at_costs (Star *s)
{
  const HassCrew *crew = &s->phases.crew;
  for (guint d = 0; d < crew->n; d++)
    {
      double work = s->past[d].work + s->now[d].work;
      double send_ns = s->past[d].send_ns + s->now[d].send_ns;
      double compute_ns = s->past[d].compute_ns + s->now[d].compute_ns;
      if (work > 0 && compute_ns > 0)
        {
          s->sending[d] = send_ns / work;
          s->rest[d] = compute_ns / work;
        }
    }
}

static void
look_at_cpu (Star *s, const HassRound *round)
{
  guint cpu = s->phases.crew.cpu;
  if (cpu == s->phases.crew.n)
    return;
  HassProgress done = hass_round_progress (round, cpu);
  s->now[cpu].work = done.work;
  s->now[cpu].compute_ns = done.busy_ns;
}

static double
plan (HassPhases *p, HassRound *round, double waiting)
{
  Star *s = (Star *)p;
  gboolean known = hass_phases_known (p, s->rest);
  if (!known && p->n_begun == 0)
    {
      hass_phases_equal (p);
      return waiting * p->crew.env->parameters[CALIBRATION];
    }
  if (!known)
    {
      look_at_cpu (s, round);
      look_at_costs (s);
    }
  closed_form (s);
  return waiting;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  Star *s = self;
  const HassMember *m = &s->phases.crew.members[done->device];
  double ns = done->end_ns - MAX (done->grant_ns, m->end_ns);
  hass_phases_observe (self, round, done);
  if (done->device == s->phases.crew.cpu)
    look_at_cpu (s, round);
  else if (!done->failed && done->work > 0 && ns > 0)
    {
      /* The model sends first and computes then, although the two overlap in
         fact. As part of the kernel always follows the copy, sending counts
         with at most 0.99 of the bundle's time, so that w stays above 0. */
      double send_ns = CLAMP (done->h2d_ns, 0, 0.99 * ns);
      s->now[done->device].work += done->work;
      s->now[done->device].send_ns += send_ns;
      s->now[done->device].compute_ns += ns - send_ns;
    }
}

static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  Star *s = self;
  guint cpu = s->phases.crew.cpu;
  if (cpu < summary->n_devices)
    {
      s->now[cpu].work = summary->devices[cpu].work;
      s->now[cpu].compute_ns = summary->devices[cpu].busy_ns;
    }
  look_at_costs (s);
  for (guint d = 0; d < summary->n_devices; d++)
    {
      if (s->now[d].work > 0)
        s->past[d]
            = (Cost){ (s->past[d].work + s->now[d].work) / 2,
                      (s->past[d].send_ns + s->now[d].send_ns) / 2,
                      (s->past[d].compute_ns + s->now[d].compute_ns) / 2 };
      s->now[d] = (Cost){ 0 };
    }
}

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  Star *s = hass_phases_new (sizeof *s, env, plan);
  (void)error;
  s->past = g_new0 (Cost, env->n_devices);
  s->now = g_new0 (Cost, env->n_devices);
  s->sending = g_new0 (double, env->n_devices);
  s->rest = g_new0 (double, env->n_devices);
  return s;
}

static void
destroy (gpointer self)
{
  Star *s = self;
  g_free (s->past);
  g_free (s->now);
  g_free (s->sending);
  g_free (s->rest);
  hass_phases_destroy (self);
}

const HassStrategyOps hass_dls_star = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "dls-star",
  .summary = "parts by divisible load theory, fastest link first",
  .source = "Beaumont 2005; Zhang 2011, 2.4.1",
  .farms = HASS_FARM_ANY,
  .parameters = parameters,
  .create = create,
  .begin_round = hass_phases_begin_round,
  .grant = hass_phases_grant,
  .observe = observe,
  .end_round = end_round,
  .destroy = destroy,
};
