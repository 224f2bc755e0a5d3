/* SPDX-License-Identifier: MIT */
/* command.h: hass-sim --replay.
   Thread safety: one thread. */
#ifndef HASS_SIM_REPLAY_COMMAND_H
#define HASS_SIM_REPLAY_COMMAND_H

#include <glib.h>

/**
 * SimReplay: the options of --replay.
 * @path: of the record.
 * @farm: number of a farm in it, from 1; 0: the longest.
 * @platform: file of another machine; NULL: the recorded one.
 * @changes: NULL-terminated, such as gpu0.rate=2x; or NULL.
 * @strategies: NULL-terminated; NULL: the recorded one.
 * @output: 't' table, 'j' JSON, 'c' CSV.
 */
typedef struct
{
  const char *path;
  guint farm;
  const char *platform;
  char **changes, **strategies;
  guint64 seed;
  char output;
} SimReplay;

gboolean sim_replay (const SimReplay *replay, gboolean *failed, GError **error);

#endif
