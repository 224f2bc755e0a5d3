/* SPDX-License-Identifier: MIT */
/* store_trial.h: a profile store of a test's own, and a farm whose rates are
   kept in it.
   Thread safety: one thread begins and ends; store_tell() and store_known()
   from any thread between them. */
#ifndef HASS_TEST_STORE_TRIAL_H
#define HASS_TEST_STORE_TRIAL_H

#include "engine/profile/profile-private.h"

#define STORE_DEVICES 2
extern const HassDeviceTraits store_devices[STORE_DEVICES];
/* The environment of a farm named "search" on those devices. */
extern const HassStrategyEnv store_search;

/* From store_begin() to store_end(): the store's file, the folder that it is
   in, and the warnings that were printed. */
extern char *store_folder, *store_path;
extern GString *store_warnings;

/* Names a store that does not exist yet, and collects warnings. Each test has a
   file of its own, since a warning is printed once for each file. */
void store_begin (void);
/* Removes it, and switches the store off. */
void store_end (void);

/* Whether a file of this name exists: the store's path and a suffix. */
gboolean store_exists (const char *suffix);

/* Writes the store's file; @length as in g_file_set_contents(). */
void store_put (const char *text, gssize length);
/* Its contents, to be freed. */
char *store_get (void);

/* Adds a sample for each device, a rate in units of work per ns; 0: none.
   FALSE: it was not stored. */
gboolean store_tell (const HassStrategyEnv *env, double cpu, double gpu);
/* What the store says of a device. */
HassProfileRate store_known (const HassStrategyEnv *env, guint device);
/* Empties the cache of the process: the next question reads the file. */
void store_forget (void);

#endif
