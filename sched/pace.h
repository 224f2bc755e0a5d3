/* SPDX-License-Identifier: MIT */
/* pace.h: how fast each device serves each class of a stream, and how many
   units each class gets, measured from what strategies of pipelines are told.
   Thread safety: plain values; an instance belongs to its strategy. */
#ifndef HASS_SCHED_PACE_H
#define HASS_SCHED_PACE_H

#include "hass/strategy.h"

/**
 * HassPace: time in ns for which a unit of a class occupies a device, a mean
 * over recent grants.
 * @ns: a core of the CPU pool, or the kernels of a GPU that is filled, launches
 *   excluded. 0: not known.
 * @in_ns, @out_ns: the link, in each direction; 0 for a CPU pool.
 * @units: number of units seen; 0: @ns is a guess.
 */
typedef struct
{
  double ns, in_ns, out_ns;
  guint64 units;
} HassPace;

/**
 * HassPaces: all devices and classes of a stream.
 * @env: the stream.
 * @cpu: index of the CPU pool; n_devices: there is none.
 * @of: [n_classes * n_devices].
 * @reach: [n_classes] units that come to the class for each unit that comes to
 *   the first one.
 * @spread: [n_classes] variance of the time of a unit on one device, as a
 *   multiple of the square of its mean; @spread_grants: [n_classes] grants from
 *   which it is known.
 * @wide_ns: [n_classes] since when cores have computed one unit of the class at
 *   a time, inside which all of them help; 0: they compute several. Set by
 *   strategies that have them do so.
 * @speed_up: [n_classes] cores that compute a unit alone at a time, a recent
 *   mean; where several were computed since, the most that were seen in one.
 * @prior: [n_classes * n_devices] rates of earlier runs, as
 *   HassStrategyEnv.profile, or NULL; see hass_paces_know().
 */
typedef struct
{
  const HassStrategyEnv *env;
  guint cpu;
  HassPace *of;
  double *reach;
  double *spread, *spread_grants;
  gint64 *wide_ns;
  double *speed_up;
  const HassProfileRate *prior;
} HassPaces;

void hass_paces_init (HassPaces *p, const HassStrategyEnv *env);
void hass_paces_clear (HassPaces *p);
/* Has strategies that use them know the rates of earlier runs, as
   HassStrategyEnv.profile, which remain the caller's; or NULL. */
void hass_paces_know (HassPaces *p, const HassProfileRate *rates);
/* Returns: time in ns of a unit of the class that all cores compute together;
   0: no core was seen to help another one. */
double hass_pace_wide_ns (const HassPaces *p, guint c);
/* Adds a grant that is done. */
void hass_paces_add (HassPaces *p, const HassServed *done);
/* Sets reach, and guesses the paces that were not measured. */
void hass_paces_update (HassPaces *p, const HassStreamState *state);

static inline HassPace *
hass_pace (const HassPaces *p, guint c, guint device)
{
  return &p->of[c * p->env->n_devices + device];
}

/* Returns: whether a device has a worker for a class. */
gboolean hass_pace_can (const HassPaces *p, guint c, guint device);
/* Returns: whether the pace is measured, in this run or in earlier ones; FALSE:
   it is a guess. */
gboolean hass_pace_known (const HassPaces *p, guint c, guint device);
/* Returns: time in ns for which a unit of the class occupies what it occupies
   longest, the device or its link in one direction; 0: not known. */
double hass_pace_ns (const HassPaces *p, guint c, guint device);
/* Returns: number of units of a class that just fill a device: the kernels of
   fewer take as long as if there were so many. Below 1: one more than fills it.
 */
double hass_pace_width (const HassPaces *p, guint c, guint device);
/* Returns: the least number of whole units that fill a device. */
guint64 hass_pace_fill (const HassPaces *p, guint c, guint device);
/* Returns: number of units of a class in a bundle that fills the device and
   takes at least @launches times the device's latency. */
guint64 hass_pace_bundle (const HassPaces *p, guint c, guint device,
                          double launches);

#endif
