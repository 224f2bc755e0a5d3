/* SPDX-License-Identifier: MIT */
/* options.h: heat's command line.
   Thread safety: single-threaded, at start-up. */
#ifndef HEAT_OPTIONS_H
#define HEAT_OPTIONS_H

#include <hass/hass.h>

#include "plate.h"

/* @picture: name of a file, or NULL. Clear with heat_options_clear(). */
typedef struct
{
  int rows, columns, side, steps, check;
  double tolerance, border[HEAT_SIDES];
  gboolean built, verify, compare, report;
  char *picture;
  HassRunOptions run;
} HeatOptions;

/* Removes what it understands from @argv. FALSE with a G_OPTION_ERROR; the
   options must be cleared then, too. */
gboolean heat_options_parse (HeatOptions *options, int *argc, char ***argv,
                             GError **error);
void heat_options_clear (HeatOptions *options);

#endif
