/* SPDX-License-Identifier: MIT */
/* own_strategy.c: an application with a strategy of its own, guided
   self-scheduling: each grant is a fixed part of the remaining work, weighted
   by the measured rate of the device, so that bundles shrink towards the end.
   Usage: own_strategy PLATFORM-FILE */
#include <hass/hass.h>
#include <stdio.h>

typedef struct
{
  const HassStrategyEnv *env;
  double *speed; /* [n_devices] work per ns; 0: not measured yet */
} Guided;

static const HassParameter parameters[]
    = { { "part", 0.5, 0.01, 1, "of a device's fair share per grant" },
        { NULL, 0, 0, 0, NULL } };

static gpointer
create (const HassStrategyEnv *env, GError **error)
{
  (void)error;
  Guided *g = g_new0 (Guided, 1);
  g->env = env;
  g->speed = g_new0 (double, env->n_devices);
  for (guint d = 0; d < env->n_devices; d++)
    g->speed[d] = env->devices[d].work_per_ns;
  return g;
}

static HassAnswer
decide (gpointer self, HassRound *round, guint device, gboolean force,
        HassGrant *grant)
{
  Guided *g = self;
  (void)force;
  guint64 waiting = hass_round_waiting (round);
  if (waiting == 0 && hass_round_exclusive (round, device) == 0)
    return HASS_DONE;
  double all = 0;
  for (guint d = 0; d < g->env->n_devices; d++)
    all += g->speed[d];
  gboolean cpu = g->env->devices[device].kind == HASS_DEVICE_CPU;
  grant->source = cpu ? HASS_FROM_FRONT : HASS_FROM_BACK;
  grant->units = 1; /* until its rate is measured */
  if (g->speed[device] > 0)
    grant->units = MAX (
        1, (guint64)(g->env->parameters[0] * waiting * g->speed[device] / all));
  grant->in_flight = 2; /* the next bundle is copied during this one */
  return HASS_TAKE;
}

static void
observe (gpointer self, HassRound *round, const HassCompletion *done)
{
  Guided *g = self;
  (void)round;
  double ns = (double)(done->end_ns - done->start_ns);
  double now = ns > 0 && !done->failed ? done->work / ns : 0;
  double *speed = &g->speed[done->device];
  if (now > 0)
    *speed = *speed > 0 ? 0.5 * (*speed + now) : now;
}

static void
destroy (gpointer self)
{
  Guided *g = self;
  g_free (g->speed);
  g_free (g);
}

static const HassStrategyOps guided
    = { .struct_size = sizeof (HassStrategyOps),
        .name = "guided",
        .summary = "a shrinking part of what is left, by measured speed",
        .source = "Polychronopoulos and Kuck 1987",
        .farms = HASS_FARM_ANY,
        .parameters = parameters,
        .create = create,
        .grant = decide,
        .observe = observe,
        .destroy = destroy };

static gboolean
work (const HassBlock *block, HassWorker *worker, gpointer user_data,
      GError **error)
{
  (void)block;
  (void)worker;
  (void)user_data;
  (void)error;
  return TRUE;
}

int
main (int argc, char **argv)
{
  static const char *const compared[]
      = { "naive-greedy", "hass-ce", "guided", "guided:part=0.25", NULL };
  static HassLoad loads[2000];
  g_autoptr (GError) error = NULL;
  if (argc != 2 || !hass_strategy_register (&guided, &error))
    {
      fprintf (stderr, "%s\n",
               error ? error->message : "usage: own_strategy PLATFORM-FILE");
      return 2;
    }
  for (gsize i = 0; i < G_N_ELEMENTS (loads); i++)
    loads[i] = (HassLoad){ .size = 65536 };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.cpu_worker = work;
  farm.loads = loads;
  farm.n_loads = G_N_ELEMENTS (loads);
  farm.round_loads = 500;
  farm.run.platform = argv[1];
  for (int i = 0; compared[i]; i++)
    {
      g_autoptr (HassReport) report = NULL;
      farm.run.strategy = compared[i];
      if (!hass_data_farm_combine (&farm, &report, &error))
        {
          fprintf (stderr, "own_strategy: %s\n", error->message);
          return 1;
        }
      printf ("%-18s %8.3f ms, efficiency %5.1f%%\n", compared[i],
              report->makespan_s * 1e3, 100 * report->efficiency);
    }
  if (fclose (stdout) != 0)
    {
      perror ("own_strategy: standard output");
      return 1;
    }
  return 0;
}
