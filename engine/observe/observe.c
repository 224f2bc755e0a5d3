/* SPDX-License-Identifier: MIT */
/* observe.c: adds the listeners that the options of a farm or the environment
   ask for.
   Thread safety: any thread. */
#include "observe-private.h"

static const char *
path_of (const char *option, const char *variable)
{
  const char *path = option ? option : g_getenv (variable);
  return path && *path ? path : NULL;
}

/* Appends a listener to the list; listeners are told of a fact in the order in
   which they were added. */
static void
add (HassListener **listeners, const HassListenerOps *ops, gpointer self)
{
  HassListener *l = g_new (HassListener, 1);
  *l = (HassListener){ NULL, ops, self };
  while (*listeners)
    listeners = &(*listeners)->next;
  *listeners = l;
}

/* Returns: TRUE if the farm should append to the trace file: an earlier farm of
   the process began the file, and the environment names it, not an option. */
static gboolean
appends (const HassRunOptions *run, const char *path)
{
  static _Atomic (const char *) last; /* interned */
  if (run->trace)
    return FALSE;
  path = g_intern_string (path);
  return atomic_exchange_explicit (&last, path, memory_order_relaxed) == path;
}

gboolean
hass_observe (const HassRunOptions *run, const char *name,
              HassListener **listeners, GError **error)
{
  const char *explain = path_of (run->explain, "HASS_EXPLAIN");
  const char *trace = path_of (run->trace, "HASS_TRACE");
  const char *record = path_of (run->record, "HASS_RECORD");
  if (explain)
    {
      gpointer self = hass_explain_new (explain, name, error);
      if (!self)
        return FALSE;
      add (listeners, &hass_explain_ops, self);
    }
  if (trace)
    add (listeners, &hass_trace_ops,
         hass_trace_new (trace, appends (run, trace)));
  if (record)
    add (listeners, &hass_record_ops, hass_recorder_new (record));
  return TRUE;
}
