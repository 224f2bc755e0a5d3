/* SPDX-License-Identifier: MIT */
/* report-private.h: the lines of HASS_REPORT.
   Thread safety: any thread. */
#ifndef HASS_REPORT_PRIVATE_H
#define HASS_REPORT_PRIVATE_H

#include "hass/report.h"

/* Sets the makespan and with it the efficiency. */
void hass_report_set_makespan (HassReport *report, double s);
/* All losses that have a cause: all but overhead. */
double hass_report_named_s (const HassReport *report);
/* The caller has waited for so long until now, because of teardown. */
void hass_report_add_teardown (HassReport *report, gint64 makespan_ns);

/* Opened before the farm runs, so that a wrong path costs no work. -1: it
   cannot be. */
int hass_report_open (const char *path, GError **error);
/* Appends a line and closes the file. @report: NULL: the farm did not get so
   far; @why: what it failed of, or NULL. Warns on stderr when it cannot. */
void hass_report_append (int fd, const HassReport *report, const char *farm,
                         const char *why);

#endif
