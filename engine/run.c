/* SPDX-License-Identifier: MIT */
/* run.c: runs a farm where its options or the environment say: on the real
   machine or on a modelled one.
   Thread safety: any thread. */
#include "device/model/model.h"
#include "device/model/shipped.h"
#include "engine/core/environment.h"
#include "engine/live/live.h"
#include "engine/observe/observe.h"
#include "engine/virtual/virtual.h"

static gboolean
run_where (const HassFarm *farm, HassReport **report, GError **error)
{
  const char *platform = farm->run->platform;
  if (!platform)
    platform = g_getenv ("HASS_PLATFORM");
  if (!platform || !*platform)
    return hass_live_run (farm, report, error);
  g_autofree char *path = hass_shipped_find ("platforms", platform, error);
  HassPlatform *model
      = path ? hass_platform_load (path, farm->name, error) : NULL;
  if (!model)
    return FALSE;
  gboolean ok = hass_virtual_run (farm, model, report, error);
  hass_platform_free (model);
  return ok;
}

/* Runs a farm on the real machine or on the modelled one that its options or
   HASS_PLATFORM name, and appends its report to the file that HASS_REPORT
   names. */
gboolean
hass_engine_run (const HassFarm *given, HassReport **report, GError **error)
{
  HassFarm observed = *given;
  const HassFarm *farm = &observed;
  observed.observe = hass_observe;
  const char *path = g_getenv ("HASS_REPORT");
  HassReport *own = NULL;
  GError *failure = NULL;
  if (report)
    *report = NULL;
  if (!path || !*path)
    return hass_environment_check (error) && run_where (farm, report, error);
  int fd = hass_report_open (path, error);
  if (fd < 0)
    return FALSE;
  gboolean ok
      = hass_environment_check (&failure) && run_where (farm, &own, &failure);
  hass_report_append (fd, own, farm->name, failure ? failure->message : NULL);
  if (failure)
    g_propagate_error (error, failure);
  if (report)
    *report = own;
  else
    hass_report_free (own);
  return ok;
}

/* Appends to the file that HASS_REPORT names, if it can be written, why the
   farm @name was refused before the engine ran it. */
void
hass_engine_refused (const char *name, const char *why)
{
  const char *path = g_getenv ("HASS_REPORT");
  int fd = path && *path ? hass_report_open (path, NULL) : -1;
  if (fd >= 0)
    hass_report_append (fd, NULL, name, why);
}
