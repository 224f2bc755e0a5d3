/* SPDX-License-Identifier: MIT */
/* flow.c: dataflows that must fail. Thread safety: one thread. */
#include "flow.h"

#include <stdarg.h>

static gboolean
nothing (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  return TRUE;
}

const HassCodelet flow_idle = HASS_CODELET (.name = "idle", .cpu = nothing);

gboolean
flow_says (const GError *error, HassError code, ...)
{
  va_list words;
  gboolean ok = g_error_matches (error, HASS_ERROR, (gint)code);
  va_start (words, code);
  for (const char *word; (word = va_arg (words, const char *));)
    ok = ok && strstr (error->message, word);
  va_end (words);
  ok = ok && !strstr (error->message, "farm '");
  if (!ok)
    printf ("\n    %s\n", error ? error->message : "no error");
  return ok;
}

HassDataflow
flow_of (HassBuildFunc build, gpointer user_data)
{
  HassDataflow d = HASS_DATAFLOW_INIT;
  d.name = "flow";
  d.build = build;
  d.user_data = user_data;
  d.run.n_cores = 2;
  d.run.n_gpus = -1;
  return d;
}

GError *
flow_failure (HassBuildFunc build, gpointer user_data)
{
  HassDataflow d = flow_of (build, user_data);
  GError *error = NULL;
  CU_ASSERT_FALSE (hass_dataflow (&d, NULL, &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL (error);
  return error;
}

GError *
flow_failed_recording (HassBuildFunc build, gpointer user_data)
{
  HassDataflow d = flow_of (build, user_data);
  GError *error = NULL;
  CU_ASSERT_PTR_NULL (hass_dataflow_record (&d, &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL (error);
  return error;
}
