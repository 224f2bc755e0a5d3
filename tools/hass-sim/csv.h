/* SPDX-License-Identifier: MIT */
/* csv.h: fields of text in the CSV that hass-sim prints.
   Thread safety: one thread. */
#ifndef HASS_SIM_CSV_H
#define HASS_SIM_CSV_H

/* Prints a text in quotes, each of its own quotes doubled, and a comma. */
void sim_csv_text (const char *text);

#endif
