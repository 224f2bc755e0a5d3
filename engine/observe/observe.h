/* SPDX-License-Identifier: MIT */
/* observe.h: the listeners of a farm: trace, record, explanation; and the file
   to which reports are appended.
   Thread safety: any thread. */
#ifndef HASS_OBSERVE_H
#define HASS_OBSERVE_H

#include "engine/core/facts.h"
#include "hass/report.h"

#define HASS_RECORD_VERSION 1

/* For HassFarm.observe: adds a listener for each of explanation, trace and
   record that the options or else the environment ask for. FALSE: the file of
   the explanation cannot be written. */
gboolean hass_observe (const HassRunOptions *run, const char *name,
                       HassListener **listeners, GError **error);

/* The file of HASS_REPORT. It is opened before the farm runs, so that a wrong
   path costs no work; -1: it cannot be opened. */
int hass_report_open (const char *path, GError **error);
/* Appends a line and closes the file. @report: NULL: the farm did not get so
   far; @why: what it failed of, or NULL. Warns on stderr when it cannot. */
void hass_report_append (int fd, const HassReport *report, const char *farm,
                         const char *why);

#endif
