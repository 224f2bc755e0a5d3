/* SPDX-License-Identifier: MIT */
/* options.h: checks of what the command line gives. All return FALSE with an
   error that names the option. Also what it says of the machine.
   Thread safety: any thread. */
#ifndef HASS_SIM_OPTIONS_H
#define HASS_SIM_OPTIONS_H

#include "device/model/model.h"

/* What runs, as the option of that name says; the order is that of SIM_MODES
   options. */
typedef enum
{
  SIM_WORKLOAD = 1 << 0,
  SIM_SUITE = 1 << 1,
  SIM_RANDOM_CASES = 1 << 2,
  SIM_REPLAY = 1 << 3,
  SIM_PIPELINE = 1 << 4,
  SIM_DATAFLOW = 1 << 5
} SimMode;

#define SIM_MODES 6

/* An option that does not go with some @modes (SimMode, ored). @why: the
   reason; NULL: none is named. A table of them ends with a NULL name. */
typedef struct
{
  const char *name;
  gboolean given;
  guint modes;
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
/* @what: of each mode what its option names; NULL: it is not given. Refuses
   more modes than one, none, and the first of @options that is given and does
   not go with the mode. */
gboolean sim_check_mode (const char *const what[SIM_MODES],
                         const SimGiven *options, GError **error);

#endif
