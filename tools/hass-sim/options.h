/* SPDX-License-Identifier: MIT */
/* options.h: checks of what the command line gives. All return FALSE with an
   error that names the option. Also what it says of the machine.
   Thread safety: any thread. */
#ifndef HASS_SIM_OPTIONS_H
#define HASS_SIM_OPTIONS_H

#include "device/model/model.h"

/* An option that does not go with what runs. @why: the reason; NULL: none is
   named. A table of them ends with a NULL name. */
typedef struct
{
  const char *name;
  gboolean given;
  const char *why;
} SimGiven;

/* @why: the whole message. */
gboolean sim_refuse (GError **error, const char *why);
/* Of an option without a default. */
#define SIM_NOT_GIVEN G_MININT

/* The number that follows an option. */
typedef struct
{
  const char *option;
  gint n;
} SimCount;

/* What the command line says of a machine. @noise: negative: the machine's own;
   so are the others. */
typedef struct
{
  double noise;
  gint part_mib, kernels, start_ms;
} SimAdjust;

void sim_adjust (const SimAdjust *adjust, HassPlatform *p);

gboolean sim_check_counts (const SimCount *counts, guint n, GError **error);
/* @text: what follows the option, a number from 0 to 1; NULL: it is not given,
 *@part becomes -1. */
gboolean sim_parse_part (const char *option, const char *text, double *part,
                         GError **error);
/* Returns: TRUE if one of --workload, --suite, --random, --replay, --pipeline
   and --dataflow, in this order, is given and the others are not. */
gboolean sim_need_one (const gboolean given[6], GError **error);
/* Refuses the first option of a table that is given. @mode, @what: "--MODE
   WHAT" runs. */
gboolean sim_refuse_given (const SimGiven *options, const char *mode,
                           const char *what, GError **error);

#endif
