/* SPDX-License-Identifier: MIT */
/* search.c: what the searches of small and large files share.
   Thread safety: see search.h. */
#include "search.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* From here on a file is worth a farm of its own. */
#define LARGE_BYTES (8 << 20)

gboolean
is_large (const FileItem *item)
{
  return !item->error && item->is_regular && item->size >= LARGE_BYTES;
}

LineScanFlags
scan_flags (const Search *search)
{
  const Options *o = search->options;
  if (o->count)
    return LINE_SCAN_COUNT;
  return (o->line_number ? LINE_SCAN_NUMBERS : 0)
         | (o->only_matching ? LINE_SCAN_MATCHES : 0);
}

/* The strategy of an option leaves farms that it does not serve the default
   one, as HASS_STRATEGY does. */
HassRunOptions
run_options (const Search *search, HassFarmKind kind)
{
  const Options *o = search->options;
  HassRunOptions run
      = { .platform = o->platform, .dry = o->dry, .n_cores = o->cores };
  const char *spec = o->strategy;
  if (spec && *spec)
    {
      g_autofree char *name = g_strndup (spec, strcspn (spec, ":"));
      const HassStrategyOps *ops = hass_strategy_find (name, NULL);
      run.strategy = ops && !(ops->farms & kind)
                         ? hass_strategy_default (kind, HASS_COST_SIZED)
                         : spec;
    }
  terminal_watch (search->terminal, &run);
  return run;
}

void
search_write (Search *search, const char *text, gsize length)
{
  if (length == 0)
    return;
  terminal_hide (search->terminal);
  if (fwrite (text, 1, length, search->output) != length
      && search->write_error == 0)
    search->write_error = errno;
}

/* A line to stderr, after all output so far. */
void
search_complain (Search *search, const char *text)
{
  terminal_hide (search->terminal);
  fflush (search->output);
  fputs (text, stderr);
}

/* Farms differ in their devices: GPUs are opened where they pay. */
static HassDeviceReport *
find_device (HassReport *report, const HassDeviceReport *like)
{
  for (guint d = 0; d < report->n_devices; d++)
    if (strcmp (report->devices[d].name, like->name) == 0)
      return &report->devices[d];
  report->devices
      = g_renew (HassDeviceReport, report->devices, report->n_devices + 1);
  HassDeviceReport *added = &report->devices[report->n_devices++];
  *added = (HassDeviceReport){ .name = g_strdup (like->name),
                               .kind = like->kind,
                               .cores = like->cores };
  return added;
}

static void
add_device (HassDeviceReport *sum, const HassDeviceReport *one)
{
  sum->units += one->units;
  sum->bytes += one->bytes;
  sum->bundles += one->bundles;
  sum->failures += one->failures;
  sum->work += one->work;
  sum->busy_s += one->busy_s;
  sum->kernel_s += one->kernel_s;
  sum->waiting_s += one->waiting_s;
  sum->tail_s += one->tail_s;
  sum->lost |= one->lost;
  if (!sum->message)
    sum->message = g_strdup (one->message);
  sum->direct_bytes += one->direct_bytes;
  sum->registered_bytes += one->registered_bytes;
  sum->staged_bytes += one->staged_bytes;
  sum->constant_bytes += one->constant_bytes;
  sum->peak_bytes = MAX (sum->peak_bytes, one->peak_bytes);
}

/* Adds a farm's report to the total; takes it. */
void
search_add_report (Search *search, HassReport *one)
{
  HassReport *sum = search->total;
  if (!one)
    return;
  if (!sum)
    {
      search->total = one;
      return;
    }
  if (strcmp (sum->strategy, one->strategy)
      && !strstr (sum->strategy, one->strategy))
    {
      char *both = g_strconcat (sum->strategy, " and ", one->strategy, NULL);
      g_free (sum->strategy);
      sum->strategy = both;
    }
  sum->makespan_s += one->makespan_s;
  sum->rounds += one->rounds;
  sum->loads += one->loads;
  sum->units += one->units;
  sum->bytes += one->bytes;
  sum->results += one->results;
  sum->work += one->work;
  sum->bound_s += one->bound_s;
  sum->lost_copies_s += one->lost_copies_s;
  sum->lost_imbalance_s += one->lost_imbalance_s;
  sum->lost_overhead_s += one->lost_overhead_s;
  sum->lost_startup_s += one->lost_startup_s;
  sum->lost_generator_s += one->lost_generator_s;
  sum->lost_halo_s += one->lost_halo_s;
  sum->lost_collector_s += one->lost_collector_s;
  sum->lost_reduce_s += one->lost_reduce_s;
  sum->lost_teardown_s += one->lost_teardown_s;
  sum->halo_elements += one->halo_elements;
  sum->efficiency = sum->makespan_s > 0 ? sum->bound_s / sum->makespan_s : 0;
  for (guint d = 0; d < one->n_devices; d++)
    add_device (find_device (sum, &one->devices[d]), &one->devices[d]);
  hass_report_free (one);
}
