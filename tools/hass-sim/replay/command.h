/* SPDX-License-Identifier: MIT */
/* replay_command.h: hass-sim --replay.
   Thread safety: one thread. */
#ifndef HASS_SIM_REPLAY_COMMAND_H
#define HASS_SIM_REPLAY_COMMAND_H

#include <glib.h>

/**
 * SimReplay:
 * @path: of the record.
 * @farm: which of its farms, from 1; 0: the one that took longest.
 * @platform: file of another machine, or NULL: the recorded one.
 * @changes: NULL-terminated, as gpu0.rate=2x; or NULL.
 * @strategies: NULL-terminated; NULL: the recorded one.
 * @output: 't' a table, 'j' JSON, 'c' CSV.
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
