/* SPDX-License-Identifier: MIT */
/* hass_f.c: HASS for function farms: GPUs take the multiplex tasks (MPD), the
   longest first, cores the simplex tasks (SPD), the shortest first; a device
   whose set is empty takes from the other set.

   Zhang 2011, 3.6.3. Both sets are sorted once a round, O(n log n), and form
   one range, [SPD ascending | MPD ascending]: cores take from its front, SPD
   before MPD and shortest first; GPUs take from its back, MPD before SPD and
   longest first. A decision is O(devices).

   Zhang 2011, 3.6.4: a pipeline is a function farm in which a task emits its
   successor. The ready units of all stages are a round; what becomes ready
   meanwhile waits for its end. Stages whose units need several GPU threads are
   MPD.

   Loses, as any greedy strategy, at the end of a round: a GPU that takes the
   last and shortest MPD tasks may be busy while all cores are idle.

   Interpretation:
   - An MPD task has the GPU to itself; SPD tasks are bundled, one for each of
     the M multiprocessors. A bundle of SPD tasks contains no MPD task.
   - "Similar execution times": neighbours in sorted order, as in hass_i.c.
   - Tasks with a function for one kind of device only are in neither set. They
     are granted first, to a GPU one for each multiprocessor.
   - In a pipeline a class that only cores can run does not wait for the end of
     a round, since cores always take it; its units count to no round. Cores
     take the classes in the engine's order. The longest tasks are those of the
     class that has taken longest for a unit so far.

   Thread safety: as hass/strategy.h. */
#include "common.h"
#include "units.h"

typedef struct
{
  HassCrew crew;
  /* Position of the shortest MPD task (parallelism degree above 1, a task of
     several threads); the tasks before it are SPD (degree 1). */
  guint64 first_mpd;
  /* Pipelines: units of each class that will have been taken when all of the
     round are, and the longest mean time of a unit in a grant. */
  guint64 last[HASS_MAX_CLASSES];
  double unit_ns[HASS_MAX_CLASSES];
} HassF;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  HassF *s = g_new0 (HassF, 1);
  (void)error;
  hass_crew_init (&s->crew, env);
  return s;
}

static void
begin_round (gpointer self, HassRound *round)
{
  HassF *s = self;
  hass_crew_begin_round (self, round);
  if (hass_crew_alone (&s->crew))
    return;
  hass_round_order_by_work (round);
  s->first_mpd = hass_units_first_parallel (round);
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  HassF *s = self;
  (void)force;
  if (!hass_crew_leftovers (&s->crew, round, device, FALSE, grant))
    return HASS_DONE;
  guint64 back = hass_round_back (round);
  gboolean spd = back <= s->first_mpd && back > hass_round_front (round);
  if (device != s->crew.cpu && !s->crew.members[device].failed
      && (spd || hass_round_exclusive (round, device) > 0))
    grant->units = MAX (s->crew.env->devices[device].cores, 1);
  return HASS_TAKE;
}

/* -- Pipelines ---------------------------------------------------------- */

/* Returns: units of a class that devices have taken so far. */
static guint64
taken (const HassStreamState *state, guint c)
{
  guint64 n = state->classes[c].done + state->classes[c].running;
  for (guint d = 0; d < state->n_devices; d++)
    n += state->devices[d].units ? state->devices[d].units[c] : 0;
  return n;
}

/* Returns: whether units of a class belong to rounds: a GPU can run it. */
static gboolean
has_rounds (const HassF *s, guint c)
{
  guint64 cores = s->crew.cpu < s->crew.n ? (guint64)1 << s->crew.cpu : 0;
  return (s->crew.env->classes[c].devices & ~cores) != 0;
}

/* Begins a round with all ready units if those of the last one are done. */
static void
begin_stream_round (HassF *s, const HassStreamState *state)
{
  for (guint c = 0; c < state->n_classes; c++)
    if (has_rounds (s, c) && state->classes[c].done < s->last[c])
      return;
  for (guint c = 0; c < state->n_classes; c++)
    s->last[c] = taken (state, c) + state->classes[c].ready;
}

/* Returns: ready units of a class that belong to the round. */
static guint64
left (const HassF *s, const HassStreamState *state, guint c)
{
  guint64 before = taken (state, c);
  guint64 n = s->last[c] > before ? s->last[c] - before : 0;
  return MIN (n, state->classes[c].ready);
}

static HassAnswer
serve (gpointer self, const HassStreamState *state, guint device,
       gboolean force, HassServe *serve)
{
  HassF *s = self;
  const HassStrategyEnv *env = s->crew.env;
  double best = -1;
  (void)force;
  begin_stream_round (s, state);
  for (guint c = 0; c < state->n_classes; c++)
    {
      guint64 n = left (s, state, c);
      gboolean mpd = env->classes[c].element_threads > 1;
      double rank = s->unit_ns[c] + (mpd ? G_MAXFLOAT : 0);
      if (device == s->crew.cpu)
        serve->leave[c] = n == 0 ? G_MAXUINT32
                                 : (guint32)MIN (state->classes[c].ready - n,
                                                 G_MAXUINT32 - 1);
      else if (n > 0 && env->classes[c].devices >> device & 1 && rank > best)
        {
          best = rank;
          serve->class_index = c;
          serve->units = mpd ? 1 : MIN (n, MAX (env->devices[device].cores, 1));
        }
    }
  return device == s->crew.cpu || best >= 0 ? HASS_TAKE : HASS_WAIT;
}

static void
served (gpointer self, const HassStreamState *state, const HassServed *done)
{
  HassF *s = self;
  (void)state;
  if (done->units > 0 && !done->failed)
    s->unit_ns[done->class_index] = MAX (s->unit_ns[done->class_index],
                                         done->busy_ns / (double)done->units);
}

const HassStrategyOps hass_f = {
  .struct_size = sizeof (HassStrategyOps),
  .name = "hass-f",
  .summary = "parallel tasks to GPUs, longest first; simple ones to cores",
  .source = "Zhang 2011, 3.6.3 and 3.6.4",
  .farms = HASS_FARM_FUNCTION | HASS_FARM_PIPELINE,
  .create = create,
  .begin_round = begin_round,
  .grant = decide,
  .observe = hass_crew_observe,
  .destroy = hass_crew_destroy,
  .serve = serve,
  .served = served,
};
