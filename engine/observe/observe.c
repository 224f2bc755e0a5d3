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

gboolean
hass_observe (const HassRunOptions *run, const char *name,
              HassListener **listeners, GError **error)
{
  const char *explain = path_of (run->explain, "HASS_EXPLAIN");
  const char *trace = path_of (run->trace, "HASS_TRACE");
  const char *record = path_of (run->record, "HASS_RECORD");
  const char *dot = path_of (NULL, "HASS_DOT");
  static _Atomic (const char *) last_trace;
  if (explain)
    {
      gpointer self = hass_explain_new (explain, name, error);
      if (!self)
        return FALSE;
      add (listeners, &hass_explain_ops, self);
    }
  if (trace)
    add (listeners, &hass_trace_ops,
         hass_trace_new (
             trace, !run->trace && hass_text_file_again (&last_trace, trace)));
  if (dot)
    add (listeners, &hass_dot_ops, hass_dot_file_new (dot));
  if (record)
    add (listeners, &hass_record_ops, hass_recorder_new (record));
  return TRUE;
}
