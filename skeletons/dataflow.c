/* SPDX-License-Identifier: MIT */
/* dataflow.c: checks the settings of a dataflow and hands it to the engine.
   Thread safety: see dataflow.h. */
#include "hass/dataflow.h"

#include "engine/core/callback.h"
#include "engine/graph/graph.h"
#include "normalise-private.h"
#include "pool/struct_size.h"

struct HassRecorded
{
  _Atomic gboolean running;
  HassDataflow dataflow;
  char *name;
  HassTape *tape;
};

/* The engine computes the tasks; this worker only says that the dataflow uses
   the CPU pool. */
static gboolean
no_worker (const HassBlock *block, HassWorker *worker, gpointer user_data,
           GError **error)
{
  (void)block;
  (void)worker;
  (void)user_data;
  g_set_error (error, HASS_ERROR, HASS_ERROR_MISUSE,
               "a dataflow has no worker of its own");
  return FALSE;
}

/* Reads the user's settings. Returns: FALSE with an error. */
static gboolean
read_settings (HassDataflow *d, const HassDataflow *given, GError **error)
{
  if (!hass_struct_read (d, sizeof *d, HASS_SIZE_UP_TO (HassDataflow, build),
                         given, "HassDataflow", error))
    return FALSE;
  if (!d->name)
    d->name = "dataflow";
  if (d->build && d->window <= 1u << 24)
    return TRUE;
  if (!d->build)
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "dataflow '%s': build is NULL", d->name);
  else
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "dataflow '%s': window is %zu; at most %u tasks can be in "
                 "flight",
                 d->name, d->window, 1u << 24);
  return FALSE;
}

static gboolean
run (const HassDataflow *d, HassGraphRun *of, const char *function,
     HassReport **report, GError **error)
{
  HassRunOptions options = d->run;
  if (of->tape && !hass_tape_uses_devices (of->tape))
    {
      options.n_devices = 0;
      options.n_gpus = -1;
    }
  HassFarm farm = { .name = d->name,
                    .kind = HASS_FARM_DATAFLOW,
                    .cost = HASS_COST_UNKNOWN,
                    .user_data = of,
                    .generate = hass_graph_generate,
                    .cpu_worker = no_worker,
                    .gpu_kind = HASS_GPU_KIND,
                    .source = &hass_graph_ops,
                    .called_ns = hass_engine_clock (),
                    .run = &options };
  hass_farm_limits (&farm, 1, 1, 0, 0);
  return hass_farm_run (&farm, function, 0, report, error);
}

gboolean
hass_dataflow (const HassDataflow *given, HassReport **report, GError **error)
{
  HassDataflow d = { .name = NULL };
  if (report)
    *report = NULL;
  GError *why = NULL;
  gboolean ok = read_settings (&d, given, &why);
  if (!ok)
    {
      hass_engine_refused (d.name ? d.name : "dataflow", why->message);
      g_propagate_error (error, why);
    }
  HassGraphRun of
      = { .build = d.build, .user_data = d.user_data, .window = d.window };
  ok = ok && run (&d, &of, "hass_dataflow", report, error);
  return hass_farm_end (ok, report, d.name, HASS_FARM_DATAFLOW);
}

/* -- Recorded graphs ---------------------------------------------------- */

HassRecorded *
hass_dataflow_record (const HassDataflow *given, GError **error)
{
  HassDataflow d;
  if (!read_settings (&d, given, error)
      || !hass_farm_check_caller ("hass_dataflow_record", error))
    return NULL;
  HassRecorded *recorded = g_new0 (HassRecorded, 1);
  recorded->name = g_strdup (d.name);
  recorded->dataflow = d;
  recorded->dataflow.name = recorded->name;
  HassGraphRun of = { .build = d.build, .user_data = d.user_data };
  recorded->tape = hass_tape_record (recorded->name, &of, error);
  if (recorded->tape)
    return recorded;
  hass_recorded_free (recorded);
  return NULL;
}

void
hass_recorded_bind (HassRecorded *recorded, HassData *data, gpointer host)
{
  if (recorded)
    hass_tape_bind (
        recorded->tape, data, host,
        atomic_load_explicit (&recorded->running, memory_order_relaxed));
  else
    hass_engine_dead_handle ("hass_recorded_bind");
}

gboolean
hass_recorded_run (HassRecorded *recorded, guint64 times,
                   gboolean (*again) (gpointer user_data), HassReport **report,
                   GError **error)
{
  if (report)
    *report = NULL;
  if (!recorded)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_MISUSE,
                   "hass_recorded_run: the recorded graph is NULL");
      return hass_farm_end (FALSE, report, NULL, HASS_FARM_DATAFLOW);
    }
  HassGraphRun of = { .tape = recorded->tape,
                      .user_data = recorded->dataflow.user_data,
                      .times = times,
                      .again = again };
  if (atomic_exchange_explicit (&recorded->running, TRUE, memory_order_acquire))
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_MISUSE,
                   "dataflow '%s': hass_recorded_run: it is running already",
                   recorded->name);
      return hass_farm_end (FALSE, report, recorded->name, HASS_FARM_DATAFLOW);
    }
  gboolean ok
      = hass_tape_check (recorded->tape, error)
        && run (&recorded->dataflow, &of, "hass_recorded_run", report, error)
        && hass_tape_check (recorded->tape, error);
  atomic_store_explicit (&recorded->running, FALSE, memory_order_release);
  return hass_farm_end (ok, report, recorded->name, HASS_FARM_DATAFLOW);
}

void
hass_recorded_free (HassRecorded *recorded)
{
  if (!recorded)
    return;
  if (recorded->tape)
    hass_tape_free (recorded->tape);
  g_free (recorded->name);
  g_free (recorded);
}
