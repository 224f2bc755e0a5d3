/* SPDX-License-Identifier: MIT */
/* report-private.h: the lines of HASS_REPORT.
   Thread safety: any thread. */
#ifndef HASS_REPORT_PRIVATE_H
#define HASS_REPORT_PRIVATE_H

#include "hass/report.h"

/* Opened before the farm runs, so that a wrong path costs no work. -1: it
   cannot be. */
int hass_report_open (const char *path, GError **error);
/* Appends a line and closes the file. @report: NULL: the farm did not get so
   far; @why: what it failed of, or NULL. Warns on stderr when it cannot. */
void hass_report_append (int fd, const HassReport *report, const char *farm,
                         const char *why);

#endif
