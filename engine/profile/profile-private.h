/* SPDX-License-Identifier: MIT */
/* profile-private.h: the profile store, as the engine fills and asks it.

   names.c says what things are called, entry.c keeps the samples of a device,
   line.c writes them as a line of the file, file.c keeps the file, short.c what
   is not written, profile.c is the store of this process; sampler.c measures a
   farm, stages.c the stages of a pipeline and the codelets of a dataflow.

   Thread safety: entries and files by one thread at a time; the store by any
   thread. */
#ifndef HASS_PROFILE_PRIVATE_H
#define HASS_PROFILE_PRIVATE_H

#include "hass/profile.h"
#include "sampler.h"

/* An entry with fewer runs than this takes a sample of every run; others take
   one only at intervals. A guess: fewer, and the median rests on few samples;
   more, and farms that run in a loop write the file more often. */
#define HASS_PROFILE_FEW_RUNS 5

/* What one run of a farm has shown of one device. */
typedef struct
{
  double work_per_ns; /* rate, by busy time; 0: not measured */
  double latency_ns;  /* fixed part of a bundle's time; 0: not measured */
  double unit_work;   /* mean work of a unit */
} HassProfileSample;

/* names.c */
gboolean hass_profile_wanted (const char *farm_name);
char *hass_profile_farm_key (const char *farm_name);
HassProfileEntry *hass_profile_entry_new (const HassStrategyEnv *env,
                                          guint device);

/* entry.c */
double hass_profile_median (const double *values, guint n);
void hass_profile_entry_free (HassProfileEntry *entry);
void hass_profile_entry_add (HassProfileEntry *entry,
                             const HassProfileSample *sample, gint64 now_s);

/* line.c */
char *hass_profile_line_key (const HassProfileEntry *entry);
char *hass_profile_line_new (const HassProfileEntry *entry);
HassProfileEntry *hass_profile_line_parse (const char *line);

/* file.c; entries are lines of text */
GPtrArray *hass_profile_file_read (const char *path, gboolean *ours,
                                   GError **error);
gboolean hass_profile_file_write (const char *path, const GPtrArray *lines,
                                  GError **error);
int hass_profile_file_lock (const char *path, GError **error);

/* short.c */
typedef struct HassShortFarm HassShortFarm;
GHashTable *hass_short_farms_new (void); /* values are HassShortFarm */
HassShortFarm *hass_short_farms_find (GHashTable *farms,
                                      const HassStrategyEnv *env,
                                      const char *strategy);
void hass_short_farm_tell (HassShortFarm *farm, HassProfileRate *rates);
void hass_short_farm_add (HassShortFarm *farm, const HassProfileSample *samples,
                          gboolean told, double work, double run_ns);

/* profile.c */
HassProfileRate *hass_profile_find (const HassStrategyEnv *env,
                                    const char *strategy);
void hass_profile_look (const HassStrategyEnv *env, gint64 fresh_s,
                        HassProfileRate *rates, double *unit_work);
gboolean hass_profile_has_parts (const char *farm_name);
gboolean hass_profile_add (const HassStrategyEnv *farms, guint n_farms,
                           const HassProfileSample *samples, gint64 within_s);
void hass_profile_remember (const HassStrategyEnv *env, const char *strategy,
                            const HassProfileSample *samples, double work,
                            double run_ns);

/* stages.c */
typedef struct HassStageSamplers HassStageSamplers;
HassStageSamplers *hass_stage_samplers_begin (HassStrategyEnv *env);
void hass_stage_samplers_free (HassStageSamplers *s);
void hass_stage_samplers_observe (HassStageSamplers *s, const HassServed *done);
guint64 hass_stage_samplers_loads (const HassStageSamplers *s);
void hass_stage_samplers_had_loads (HassStageSamplers *s, guint64 loads);
void hass_stage_samplers_store (HassStageSamplers *s, const gboolean *lost,
                                gint64 run_ns, gint64 within_s);
void hass_stages_store_codelets (const HassStrategyEnv *env,
                                 const HassProfiledCodelet *codelets, guint n,
                                 gint64 within_s);

#endif
