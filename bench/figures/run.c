/* SPDX-License-Identifier: MIT */
/* run.c: runs a farm with a strategy and keeps the summaries of its rounds.

   DESIGN. A strategy gets the time of each round and of each device at its end.
   So each strategy runs inside another one, which passes every call on and
   writes the summaries down: without a trace, at the cost of one call a
   decision.

   Thread safety: one thread calls figures_run. */
#include "figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "watched-"
#define DEADLINE_MS 60000

/* What the run under way is watched with; farms run one at a time. */
static struct
{
  const HassStrategyOps *ops;
  FiguresOutcome *outcome;
} watched;

/* -- The strategy around another one ------------------------------------ */

typedef struct
{
  const HassStrategyOps *ops;
  FiguresOutcome *outcome;
  const HassStrategyEnv *env;
  gpointer self;
} Watch;

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  GError *refusal = NULL;
  gpointer self = watched.ops->create (env, &refusal);
  if (refusal)
    {
      g_propagate_error (error, refusal);
      return NULL;
    }
  Watch *w = g_new (Watch, 1);
  *w = (Watch){ watched.ops, watched.outcome, env, self };
  return w;
}

static void
begin_round (gpointer self, HassRound *round)
{
  Watch *w = self;
  if (w->ops->begin_round)
    w->ops->begin_round (w->self, round);
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  Watch *w = self;
  return w->ops->grant (w->self, round, device, force, grant);
}

static void
granted (gpointer self, HassRound *round, guint device, const HassGrant *grant)
{
  Watch *w = self;
  if (w->ops->granted)
    w->ops->granted (w->self, round, device, grant);
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  Watch *w = self;
  if (w->ops->observe)
    w->ops->observe (w->self, round, done);
}

static void
write_down (Watch *w, const HassRoundSummary *summary)
{
  FiguresOutcome *o = w->outcome;
  double work = 0;
  if (summary->number >= o->rounds)
    return;
  o->round_ms[summary->number] = summary->makespan_ns * 1e-6;
  for (guint d = 0; d < summary->n_devices; d++)
    {
      work += summary->devices[d].work;
      if (w->env->devices[d].kind == HASS_DEVICE_GPU)
        o->bundles += summary->devices[d].bundles;
    }
  double *parts = o->parts + summary->number * FIGURES_MOST_DEVICES;
  for (guint d = 0; d < MIN (summary->n_devices, FIGURES_MOST_DEVICES); d++)
    parts[d] = summary->devices[d].work / work;
}

static void
end_round (gpointer self, const HassRoundSummary *summary)
{
  Watch *w = self;
  write_down (w, summary);
  if (w->ops->end_round)
    w->ops->end_round (w->self, summary);
}

static void
destroy (gpointer self)
{
  Watch *w = self;
  if (w->ops->destroy)
    w->ops->destroy (w->self);
  g_free (w);
}

static void
must (gboolean ok, const char *strategy, GError *error)
{
  if (ok)
    return;
  fflush (stdout);
  fprintf (stderr, "%s: %s\n", strategy, error->message);
  exit (1);
}

/* Has the strategy of a specification watched from now on. Its double has
   the same parameters, so their values come in the same order. */
static void
watch (const char *spec, FiguresOutcome *outcome)
{
  g_autofree char *name = g_strndup (spec, strcspn (spec, ":"));
  g_autofree char *twice = g_strconcat (PREFIX, name, NULL);
  GError *error = NULL;
  watched.outcome = outcome;
  watched.ops = hass_strategy_find (name, &error);
  must (watched.ops != NULL, spec, error);
  if (hass_strategy_find (twice, NULL))
    return;
  HassStrategyOps *ops = g_new (HassStrategyOps, 1); /* the registry's */
  *ops = (HassStrategyOps){ .struct_size = sizeof *ops,
                            .name = g_steal_pointer (&twice),
                            .summary = watched.ops->summary,
                            .source = watched.ops->source,
                            .farms = watched.ops->farms,
                            .parameters = watched.ops->parameters,
                            .create = create,
                            .begin_round = begin_round,
                            .grant = decide,
                            .granted = granted,
                            .observe = observe,
                            .end_round = end_round,
                            .destroy = destroy };
  must (hass_strategy_register (ops, &error), spec, error);
}

/* -- A run -------------------------------------------------------------- */

/* Ends the program unless all devices participated to the end and all results
   are right. */
static void
check (const FiguresMachine *m, const FiguresFarm *kind, const char *strategy,
       guint rounds, const HassReport *report)
{
  const char *wrong = NULL;
  for (guint d = 0; d < report->n_devices; d++)
    if (report->devices[d].lost || report->devices[d].failures > 0)
      wrong = report->devices[d].message ? report->devices[d].message
                                         : "a device has failed";
  if (report->n_devices != 1 + m->n_gpus)
    wrong = "other devices than asked for; is HASS_NGPU set?";
  else if (report->rounds != rounds)
    wrong = "another number of rounds than asked for";
  gsize n_wrong = m->platform ? 0 : figures_work_wrong (m->work, kind, rounds);
  if (n_wrong > 0)
    wrong = "wrong results";
  if (!wrong)
    return;
  fflush (stdout);
  fprintf (stderr, "%s: %s (%u devices, %zu wrong results)\n", strategy, wrong,
           report->n_devices, n_wrong);
  exit (1);
}

static double
gathered (const HassReport *report)
{
  double staged = 0, all = 0;
  for (guint d = 0; d < report->n_devices; d++)
    {
      const HassDeviceReport *r = &report->devices[d];
      staged += r->staged_bytes;
      all += r->staged_bytes + r->direct_bytes + r->registered_bytes;
    }
  return all > 0 ? staged / all : 0;
}

FiguresOutcome *
figures_run (const FiguresMachine *m, const FiguresFarm *kind,
             const char *strategy, guint rounds)
{
  g_autoptr (HassReport) report = NULL;
  g_autofree char *spec = g_strconcat (PREFIX, strategy, NULL);
  FiguresOutcome *o = g_new0 (FiguresOutcome, 1);
  HassDataFarm farm;
  GError *error = NULL;
  o->rounds = rounds;
  o->round_ms = g_new0 (double, rounds);
  o->parts = g_new0 (double, (gsize)rounds *FIGURES_MOST_DEVICES);
  HassLoad *loads
      = figures_work_farm (m->work, kind, rounds, m->n_gpus > 0, &farm);
  watch (strategy, o);
  farm.run.strategy = spec;
  farm.run.platform = m->platform;
  farm.run.dry = m->platform != NULL;
  farm.run.n_gpus = m->n_gpus > 0 ? (gint)m->n_gpus : -1;
  farm.run.deadline_ms = m->platform ? 0 : DEADLINE_MS;
  gboolean ok = kind->kind == HASS_FARM_PARTITION
                    ? hass_data_farm_partition (&farm, &report, &error)
                : kind->kind == HASS_FARM_COMBINE
                    ? hass_data_farm_combine (&farm, &report, &error)
                    : hass_data_farm_indivisible (&farm, &report, &error);
  must (ok, strategy, error);
  check (m, kind, strategy, rounds, report);
  o->total_ms = report->makespan_s * 1e3;
  o->gathered = gathered (report);
  g_free (loads);
  return o;
}

void
figures_outcome_free (FiguresOutcome *o)
{
  g_free (o->round_ms);
  g_free (o->parts);
  g_free (o);
}

double
figures_outcome_settled_ms (const FiguresOutcome *o, guint first)
{
  first = MIN (first, o->rounds - 1);
  return median_of (o->round_ms + first, o->rounds - first);
}
