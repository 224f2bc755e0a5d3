/* SPDX-License-Identifier: MIT */
/* observe.h: the listeners of a farm: trace, record, explanation; and the file
   to which reports are appended.
   Thread safety: any thread. */
#ifndef HASS_OBSERVE_H
#define HASS_OBSERVE_H

#include "engine/core/facts.h"
#include "hass/report.h"

#define HASS_RECORD_VERSION 1

/* The function for HassFarm.observe: adds a listener for each of explanation,
   trace and record that the options, or else the environment, ask for. Returns:
   FALSE with an error if the file of the explanation cannot be written. */
gboolean hass_observe (const HassRunOptions *run, const char *name,
                       HassListener **listeners, GError **error);

/* Opens the file of HASS_REPORT for appending, before the farm runs, so that a
   wrong path is found before any work is done. Returns: a file descriptor; -1
   with an error if the file cannot be opened. */
int hass_report_open (const char *path, GError **error);
/* Appends a report as one line to the file and closes the file; warns on stderr
   if that fails. @report: NULL: the farm failed before it had one; @farm: the
   farm's name; @why: message of the farm's error, or NULL. */
void hass_report_append (int fd, const HassReport *report, const char *farm,
                         const char *why);

#endif
