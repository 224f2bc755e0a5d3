/* SPDX-License-Identifier: MIT */
/* device_flow.c: see device_flow.h. Thread safety: see device_flow.h. */
#include "device_flow.h"

#include <string.h>

#include "tests/engine/trial.h"

#define GAP 0x123456789abcdef0u
#define PATIENCE_S 60

/* -- Blocks ------------------------------------------------------------- */

void
block_init (Block *block, guint64 version)
{
  for (guint r = 0; r < BLOCK_ROWS; r++)
    for (guint w = 0; w < BLOCK_PITCH; w++)
      block->at[r][w] = w < BLOCK_WORDS ? version : GAP;
}

gboolean
block_is (const Block *block, guint64 version)
{
  Block want;
  block_init (&want, version);
  return memcmp (block, &want, sizeof want) == 0;
}

HassData *
block_data (HassGraph *graph, Block *block)
{
  return hass_graph_data (graph, block, BLOCK_WORDS * sizeof (guint64),
                          BLOCK_ROWS, BLOCK_PITCH * sizeof (guint64));
}

/* -- Codelets ----------------------------------------------------------- */

void
grow (const HassCall *call)
{
  for (guint i = 0; i < call->n_views; i++)
    for (gsize r = 0; r < call->views[i].rows; r++)
      {
        const HassDataView *v = &call->views[i];
        guint64 *words = (gpointer)((guint8 *)v->data + r * v->pitch);
        for (gsize w = 0; w < v->row_bytes / sizeof *words; w++)
          words[w]++;
      }
}

gboolean
grow_on_core (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)worker, (void)error;
  grow (call);
  return TRUE;
}

gboolean
grow_on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
             GError **error)
{
  (void)error;
  for (guint i = 0; i < n_calls; i++)
    stand_in_data_launch (stream, grow, &calls[i], 0);
  return TRUE;
}

gboolean
fail_on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
             GError **error)
{
  grow_on_gpu (calls, n_calls, stream, error);
  g_set_error (error, HASS_ERROR, HASS_ERROR_WORKER, "as planned");
  return FALSE;
}

void
copy (const HassCall *call)
{
  const HassDataView *from = &call->views[0], *to = &call->views[1];
  for (gsize r = 0; r < to->rows; r++)
    memcpy ((guint8 *)to->data + r * to->pitch,
            (guint8 *)from->data + r * from->pitch, to->row_bytes);
}

static gboolean
copy_on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
             GError **error)
{
  (void)error;
  for (guint i = 0; i < n_calls; i++)
    stand_in_data_launch (stream, copy, &calls[i], 0);
  return TRUE;
}

const HassCodelet grow_core
    = HASS_CODELET (.name = "grow core", .cpu = grow_on_core);
const HassCodelet grow_alone
    = HASS_CODELET (.name = "grow alone", .gpu = grow_on_gpu);
const HassCodelet grow_both
    = HASS_CODELET (.name = "grow both", .cpu = grow_on_core,
                    .gpu = grow_on_gpu);
const HassCodelet copy_alone
    = HASS_CODELET (.name = "copy alone", .gpu = copy_on_gpu);

gboolean
submit_grow (HassGraph *graph, const HassCodelet *codelet, HassData *data)
{
  return hass_graph_task (graph, codelet, &(HassAccess){ data, HASS_UPDATE }, 1,
                          NULL);
}

gboolean
submit_copy (HassGraph *graph, const HassCodelet *codelet, HassData *from,
             HassData *to)
{
  HassAccess accesses[] = { { from, HASS_READ }, { to, HASS_WRITE } };
  return hass_graph_task (graph, codelet, accesses, 2, NULL);
}

/* -- Running ------------------------------------------------------------ */

static void
check_device (DeviceFlow *f, guint i, HassDevice *device)
{
  StandInDataCounts *c = &f->counts[i];
  *c = stand_in_data_counts (device);
  CU_ASSERT_PTR_NULL (c->wrong);
  if (c->wrong)
    g_printerr ("\n    %s, device %u: %s\n", f->name, i, c->wrong);
  CU_ASSERT_EQUAL (c->bytes, 0);
  CU_ASSERT_EQUAL (c->opened, c->closed);
}

DeviceFlow
device_flow_begin (const char *name, guint n_devices, Block *blocks,
                   guint n_blocks)
{
  for (guint i = 0; i < n_blocks; i++)
    block_init (&blocks[i], 0);
  return (DeviceFlow){ .name = name, .n_devices = n_devices };
}

/* What each device says that it has computed adds up, whatever has failed, and
   so do the times of the codelets. */
static void
check_units (const HassReport *r)
{
  guint64 sum = 0;
  double device_s = 0, codelets_s = 0;
  for (guint d = 0; d < r->n_devices; d++)
    {
      sum += r->devices[d].units;
      if (r->devices[d].kind != HASS_DEVICE_CPU)
        device_s += r->devices[d].busy_s;
    }
  for (guint c = 0; c < r->n_stages; c++)
    codelets_s += r->stages[c].device_s;
  CU_ASSERT_EQUAL (sum, r->loads);
  CU_ASSERT_DOUBLE_EQUAL (codelets_s, device_s, 1e-9);
  for (guint d = 0; d < r->n_devices; d++)
    CU_ASSERT_TRUE (r->devices[d].units <= r->loads);
}

static gboolean
run_recorded (DeviceFlow *f, const HassDataflow *d, GError **error)
{
  g_autoptr (HassRecorded) recorded = hass_dataflow_record (d, error);
  gboolean ok = recorded != NULL;
  for (guint i = 0; recorded && i < f->calls && (ok || f->retries); i++)
    {
      if (i > 0 && f->bind)
        f->bind (recorded, i, d->user_data);
      g_clear_pointer (&f->report, hass_report_free);
      ok = hass_recorded_run (recorded, f->times, f->again, &f->report,
                              ok ? error : NULL);
      if (f->report)
        check_units (f->report);
    }
  return ok;
}

gboolean
device_flow_run (DeviceFlow *f, HassBuildFunc build, gpointer user_data,
                 GError **error)
{
  char names[DEVICE_FLOW_DEVICES][16];
  HassDevice *devices[DEVICE_FLOW_DEVICES];
  HassDataflow d = HASS_DATAFLOW_INIT;
  for (guint i = 0; i < f->n_devices; i++)
    {
      g_snprintf (names[i], sizeof names[i], "gpu%u", i);
      f->plans[i].name = names[i];
      devices[i] = stand_in_data_new (&f->plans[i]);
    }
  d.name = "flow";
  d.build = build;
  d.user_data = user_data;
  d.window = f->window;
  d.run.n_cores = MAX (f->n_cores, 1);
  d.run.on_error = f->on_error;
  d.run.cancellable = f->cancellable;
  d.run.bundle_deadline_ms = f->bundle_deadline_ms;
  d.run.deadline_ms = f->deadline_ms;
  d.run.devices = devices;
  d.run.n_devices = f->n_devices;
  d.run.n_gpus = -1;
  watchdog (PATIENCE_S, f->name);
  gboolean ok = f->calls > 0 ? run_recorded (f, &d, error)
                             : hass_dataflow (&d, &f->report, error);
  watchdog (0, NULL);
  if (f->report)
    check_units (f->report);
  for (guint i = 0; i < f->n_devices; i++)
    {
      check_device (f, i, devices[i]);
      stand_in_data_free (devices[i]);
    }
  return ok;
}

void
device_flow_must_run (DeviceFlow *f, HassBuildFunc build, gpointer user_data)
{
  g_autoptr (GError) error = NULL;
  CU_ASSERT_TRUE (device_flow_run (f, build, user_data, &error));
  if (error)
    g_printerr ("\n    %s: %s\n", f->name, error->message);
  g_clear_pointer (&f->report, hass_report_free);
}
