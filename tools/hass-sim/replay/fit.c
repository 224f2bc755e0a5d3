/* SPDX-License-Identifier: MIT */
/* fit.c: fits costs and devices to a record.

   DESIGN. Step 4 of fit.h, the times in which cores participated, and all steps
   in order.

   Thread safety: any thread. */
#include "fit.h"

#include <math.h>

#include "device/cpu/memory.h"
#include "hass/error.h"

#define MOST_UNITS 100000000

/* -- 4. Costs ----------------------------------------------------------- */

static ReplaySpread
costs_of (const Replay *p, guint d)
{
  gboolean cpu = p->farm->devices[d].kind == HASS_DEVICE_CPU;
  const GArray *rows = cpu ? p->farm->pulls : p->farm->parts;
  double launch = p->devices[d].launch;
  ReplaySpread s = replay_spread_new (p->farm->n_units);
  for (guint i = 0; i < rows->len; i++)
    {
      const RecordRow *r = &g_array_index (rows, RecordRow, i);
      if (!cpu && (r->who != d || !r->ok))
        continue;
      double ns = cpu ? r->busy : r->kernel;
      ns = MAX (ns - launch * r->n, (1 - REPLAY_MOST_FIXED) * ns);
      if (!cpu)
        ns *= replay_part_of_rate (r, &p->devices[d]);
      replay_spread_add (p, &s, r, cpu ? ns : ns / replay_fullest (p, r), TRUE);
    }
  return s;
}

/* Cost of each unit over its work, on the device that computed it. */
static double *
relative_costs (const Replay *p, const ReplaySpread *costs)
{
  guint64 n = p->farm->n_units;
  double *relative = g_new (double, n + 1);
  for (guint64 u = 0; u < n; u++)
    {
      double sum = 0, weight = 0;
      for (guint d = 0; d < p->n_devices; d++)
        if (p->devices[d].present && costs[d].weight[u] > 0
            && p->devices[d].ns_per_work > 0)
          {
            double w = costs[d].weight[u];
            sum += w * replay_spread_at (&costs[d], u, 0)
                   / (p->devices[d].ns_per_work * p->work[u]);
            weight += w;
          }
      gboolean told = weight > 0 && p->farm->cost != HASS_COST_EQUAL;
      relative[u] = told ? sum / weight : 1;
    }
  return relative;
}

static void
make_costs (Replay *p)
{
  guint64 n = p->farm->n_units;
  g_autofree ReplaySpread *costs = g_new0 (ReplaySpread, p->n_devices);
  for (guint d = 0; d < p->n_devices; d++)
    costs[d] = costs_of (p, d);
  g_autofree double *relative = relative_costs (p, costs);
  for (guint d = 0; d < p->n_devices; d++)
    {
      ReplayDevice *v = &p->devices[d];
      v->cost = g_new (double, n + 1);
      v->cost[0] = 0;
      for (guint64 u = 0; u < n; u++)
        v->cost[u + 1]
            = v->cost[u]
              + replay_spread_at (&costs[d], u,
                                  v->ns_per_work * p->work[u] * relative[u]);
      replay_spread_clear (&costs[d]);
    }
  p->relative = g_new (double, n + 1);
  p->relative[0] = 0;
  for (guint64 u = 0; u < n; u++)
    p->relative[u + 1] = p->relative[u] + p->work[u] * relative[u];
}

/* -- Cores -------------------------------------------------------------- */

/* Computes when each core participated in each round. On the CPU alone a core
   was away while it computed nothing, since only the generator and a late start
   keep it from working; beside other devices the strategy may, so only its
   delay after the first core counts. */
static void
make_late (Replay *p)
{
  const RecordFarm *f = p->farm;
  guint cores = f->devices[0].kind == HASS_DEVICE_CPU ? f->devices[0].cores : 0;
  gsize n = (gsize)p->n_rounds * cores;
  p->late = g_new0 (double, n + 1);
  g_autofree double *busy = g_new0 (double, n + 1);
  g_autofree double *first = g_new (double, n + 1);
  for (gsize i = 0; i < n; i++)
    first[i] = INFINITY;
  for (guint i = 0; i < f->pulls->len; i++)
    {
      const RecordRow *r = &g_array_index (f->pulls, RecordRow, i);
      guint at = 0, end = p->n_rounds;
      while (end - at > 1)
        {
          guint middle = (at + end) / 2;
          if (p->rounds[middle].first <= r->first)
            at = middle;
          else
            end = middle;
        }
      gsize k = (gsize)at * cores + r->who;
      busy[k] += r->busy;
      first[k] = MIN (first[k], r->begin);
    }
  for (guint i = 0; i < p->n_rounds; i++)
    {
      double earliest = INFINITY, least = INFINITY;
      double span = p->rounds[i].end - p->rounds[i].begin;
      for (guint c = 0; c < cores; c++)
        {
          earliest = MIN (earliest, first[(gsize)i * cores + c]);
          least = MIN (least, MAX (span - busy[(gsize)i * cores + c], 0));
        }
      for (guint c = 0; c < cores; c++)
        {
          gsize k = (gsize)i * cores + c;
          if (f->n_devices == 1)
            p->late[k] = MAX (span - busy[k], 0);
          else if (isfinite (first[k]))
            p->late[k] = first[k] - earliest;
        }
    }
}

/* Computes how much slower cores were while devices computed: mean time for
   work of pulls during parts over that of other pulls. */
static void
see_slowing (Replay *p)
{
  const RecordFarm *f = p->farm;
  double ns[2] = { 0 }, work[2] = { 0 };
  p->slowing = 1;
  for (guint i = 0; i < f->pulls->len; i++)
    {
      const RecordRow *r = &g_array_index (f->pulls, RecordRow, i);
      gboolean beside = FALSE;
      for (guint k = 0; k < f->parts->len && !beside; k++)
        {
          const RecordRow *part = &g_array_index (f->parts, RecordRow, k);
          beside = r->begin < part->end && part->begin < r->end;
        }
      ns[beside] += r->busy;
      work[beside] += r->work;
    }
  /* Each side needs a tenth of the work for the comparison. */
  double least = 0.1 * (work[0] + work[1]);
  if (work[0] > least && work[1] > least && ns[0] > 0)
    p->slowing = ns[1] / work[1] / (ns[0] / work[0]);
}

/* -- All of it ---------------------------------------------------------- */

static void G_GNUC_PRINTF (2, 3) note (Replay *p, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_ptr_array_add (p->notes, g_strdup_vprintf (format, args));
  va_end (args);
}

/* Models a device that computed nothing by its known rates, or omits it. */
static void
settle_absent (Replay *p, guint d)
{
  ReplayDevice *v = &p->devices[d];
  const HassDeviceTraits *t = &p->farm->devices[d];
  const HassProfileRate *known = &p->farm->known[d];
  double rate = known->runs > 0 ? known->work_per_ns : t->work_per_ns;
  gboolean cpu = t->kind == HASS_DEVICE_CPU;
  if (v->present)
    return;
  if (!(rate > 0))
    {
      note (p, "%s computed nothing and is left out", t->name);
      return;
    }
  v->present = TRUE;
  v->ns_per_work = cpu ? t->cores / rate : 1 / rate;
  v->launch = cpu ? 0 : t->latency_ns;
  if (!cpu && t->link_bytes_per_ns > 0)
    v->in_ns = v->out_ns = 1 / t->link_bytes_per_ns;
  note (p, "%s computed nothing; its rate is what was known before the run",
        t->name);
}

static void
describe (Replay *p)
{
  const RecordFarm *f = p->farm;
  for (guint d = 0; d < p->n_devices; d++)
    {
      const ReplayDevice *v = &p->devices[d];
      if (!v->present)
        continue;
      if (f->devices[d].kind == HASS_DEVICE_CPU)
        note (p, "%s: %u cores, %.4g ns for a work each, %.0f ns a pull",
              f->devices[d].name, f->devices[d].cores, v->ns_per_work,
              v->launch);
      else
        note (p,
              "%s: %.4g ns for a work, %.1f us a launch, in %.1f GB/s, out "
              "%.1f GB/s, %.1f us a copy, %.1f us to submit, %.1f us for "
              "results, open after %.1f ms",
              f->devices[d].name, v->ns_per_work, v->launch * 1e-3,
              v->in_ns > 0 ? 1 / v->in_ns : 0,
              v->out_ns > 0 ? 1 / v->out_ns : 0, v->copy * 1e-3,
              v->submit * 1e-3, v->host * 1e-3, v->open * 1e-6);
    }
  if (p->slowing > 1.03)
    note (p, "cores were %.0f %% slower while devices computed",
          100 * (p->slowing - 1));
  if (p->failed_ns > 0)
    note (p, "parts that failed took %.3f ms, which is not replayed",
          p->failed_ns * 1e-6);
}

/* A short record can declare more units and cores than fit into memory, where
   GLib would abort, or the kernel, where it gives more than there is, would end
   the process. */
static gboolean
enough_memory (const RecordFarm *f, GError **error)
{
  double a_unit = 200 + 24.0 * f->n_devices, rounds = 0;
  double a_round = sizeof (ReplayRound) + 24.0 * f->devices[0].cores;
  for (guint i = 0; i < f->rounds->len; i++)
    {
      const RecordRound *r = &g_array_index (f->rounds, RecordRound, i);
      rounds += MIN (r->n, MAX (r->units, 1));
    }
  double bytes = a_unit * f->n_units + a_round * rounds;
  gpointer room = bytes < (double)hass_memory_bytes ()
                      ? g_try_malloc ((gsize)bytes)
                      : NULL;
  if (!room)
    g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                 "record file %s, line %u: a replay of the farm '%s', %g "
                 "units in %g rounds, needs %.1f GiB of memory",
                 f->path, f->line, f->farm, (double)f->n_units, rounds,
                 bytes / (1 << 30));
  g_free (room);
  return room != NULL;
}

/* Returns: NULL with an error if the record measures nothing. */
Replay *
replay_fit (const RecordFarm *farm, GError **error)
{
  gboolean any = FALSE;
  if (farm->failed)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "record file %s, line %u: the farm '%s' failed: there is "
                   "nothing to replay",
                   farm->path, farm->line, farm->farm);
      return NULL;
    }
  if (farm->n_units == 0 || farm->n_units > MOST_UNITS
      || replay_units_of (farm->pulls, -1) + farm->parts->len == 0)
    {
      g_set_error (
          error, HASS_ERROR, HASS_ERROR_INVALID,
          "record file %s, line %u: the farm '%s' has %" G_GUINT64_FORMAT
          " units; a replay needs 1 to %d, computed",
          farm->path, farm->line, farm->farm, farm->n_units, MOST_UNITS);
      return NULL;
    }
  if (!enough_memory (farm, error))
    return NULL;
  Replay *p = g_new0 (Replay, 1);
  p->farm = farm;
  p->n_devices = farm->n_devices;
  p->devices = g_new0 (ReplayDevice, p->n_devices);
  p->notes = g_ptr_array_new_with_free_func (g_free);
  replay_make_rounds (p);
  replay_make_order (p);
  replay_make_kinds (p);
  replay_make_shapes (p);
  for (guint d = 0; d < p->n_devices; d++)
    {
      if (farm->devices[d].kind == HASS_DEVICE_CPU)
        replay_fit_cpu (p, &p->devices[d]);
      else
        replay_fit_gpu (p, d, &p->devices[d]);
      any |= p->devices[d].present;
      settle_absent (p, d);
    }
  make_costs (p);
  make_late (p);
  see_slowing (p);
  describe (p);
  if (any)
    return p;
  replay_free (p);
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "record file %s, line %u: no device of the farm '%s' computed "
               "anything",
               farm->path, farm->line, farm->farm);
  return NULL;
}

void
replay_free (Replay *p)
{
  for (guint d = 0; d < p->n_devices; d++)
    g_free (p->devices[d].cost);
  g_free (p->devices);
  g_free (p->rounds);
  g_free (p->late);
  g_free (p->unit_at);
  g_free (p->kinds);
  g_free (p->said);
  g_free (p->work);
  g_free (p->relative);
  g_free (p->elements);
  g_free (p->in_bytes);
  g_free (p->out_bytes);
  g_ptr_array_unref (p->notes);
  g_free (p);
}
