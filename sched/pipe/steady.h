/* SPDX-License-Identifier: MIT */
/* steady.h: what part of each class each device should do in the long run, and
   how far it is behind.
   Thread safety: plain values; an instance belongs to its strategy. */
#ifndef HASS_SCHED_STEADY_H
#define HASS_SCHED_STEADY_H

#include "sched/pace.h"

/* Why a device was taken out of a class, in ns and tokens.
   @hold_ns: for which it holds a unit; 0: it was not.
   @passing: tokens that pass on all devices in that time.
   @held_up: tokens that one unit may hold up; 0: the end would wait for it. */
typedef struct
{
  double hold_ns, passing, held_up;
} HassSteadyOut;

/**
 * HassSteady: the optimum of the steady state.
 * @paces: what it is computed from; not owned.
 * @launches: times the latency of a GPU that its kernels of a bundle take.
 * @bundles: [n_classes * n_devices] units in a bundle of a GPU.
 * @rate: loads per ns that it sustains; 0: there is no solution.
 * @parts: [n_classes * n_devices] part of the units of a class that a device
 *   does; those of a class sum up to 1.
 * @behind: [n_classes * n_devices] units of a class by which a device is behind
 *   its part of what was given to all since the begin.
 * @grain: [n_classes] largest number of units that a device was given at once.
 * @out: [n_classes * n_devices] the device is to do nothing of the class.
 * @why: [n_classes * n_devices] why the device was taken out of the class, the
 *   last time that says something; hass_steady_left_out() makes it a text.
 * @next_ns: when it is computed again, or before if another number of devices
 *   than @n_open is open. @wait_ns: time between two solutions.
 */
typedef struct
{
  HassPaces *paces;
  double launches;
  guint64 *bundles;
  double rate;
  double *parts;
  double *behind;
  double *grain;
  gboolean *out;
  HassSteadyOut *why;
  gint64 next_ns;
  guint n_open;
  double wait_ns;
} HassSteady;

void hass_steady_init (HassSteady *s, HassPaces *paces, double launches);
void hass_steady_clear (HassSteady *s);
/* Computes the parts, if it is time to, without lost devices: about 20 us for 8
   classes on 5 devices. Returns: whether it was time to. */
gboolean hass_steady_update (HassSteady *s, const HassStreamState *state);
/* Computes the parts anew, after a change of @out. */
void hass_steady_solve (HassSteady *s);
/* Returns: whether the device should do nothing of the class at all. */
gboolean hass_steady_is_out (const HassSteady *s, guint c, guint device);
double hass_steady_part (const HassSteady *s, guint c, guint device);
/* Returns: number of units of a class in a bundle of a GPU that can serve it.
 */
guint64 hass_steady_bundle (const HassSteady *s, guint c, guint device);
/* Returns: the part of the time for which a device computes in the steady
   state: 1 where it binds. */
double hass_steady_load (const HassSteady *s, guint device);
/* Returns: the part of the time for which the busier direction of a device's
   link is busy in the steady state. */
double hass_steady_link_load (const HassSteady *s, guint device);
/* Counts units that a device gets. */
void hass_steady_give (HassSteady *s, guint c, guint device, guint64 units);
/* Returns: number of units of a class by which a device is behind its part of
   what all devices got; below 0: it is ahead. At most a few bundles. */
double hass_steady_behind (const HassSteady *s, guint c, guint device);

/* bundles.c. Returns: number of units of a class in the bundles with which a
   GPU that can have so many tokens serves it fastest, at least 1. Kernels take
   no more than @launches times its latency, unless fewer units do not fill it.
 */
guint64 hass_bundle_units (const HassPaces *p, guint c, guint device,
                           double launches, guint64 tokens);

/* explain.c. Says why a GPU takes units of a class. */
void hass_steady_explain (const HassSteady *s, const HassStreamState *state,
                          guint gpu, const HassServe *serve);
/* Returns (transfer full) (nullable): HassStrategyOps.left_out. */
char *hass_steady_left_out (const HassSteady *s, guint c, guint device);

/* again.c. Returns: HASS_TAKE with HassServe.again if a device that finds
   nothing else should begin again what another one holds; else HASS_WAIT,
   perhaps with HassServe.within_ns. */
HassAnswer hass_steady_again (const HassSteady *s, const HassStreamState *state,
                              guint device, HassServe *serve);

/* cores.c. Returns: HassServe.at_once of a class that other devices serve: one
   until the cores are measured, or where all are to help with it, else as many
   as leave one core free, or all where enough units wait; 0 if it is short, or
   not for cores at all. */
guint32 hass_steady_at_once (const HassSteady *s, const HassStreamState *state,
                             guint c);

/* guard.c */
extern gint64 hass_steady_soon_ns;
/* Returns: whether a device other than the CPU pool, which is open or will be
   soon, serves a class. */
gboolean hass_steady_is_served (const HassSteady *s,
                                const HassStreamState *state, guint c);
/* guard.c: takes devices out of classes, after an update, where the units that
   they would hold keep the stream waiting for longer than they gain. */
void hass_steady_guard (HassSteady *s, const HassStreamState *state);
/* Returns: tokens that a device has computed and that wait in a later class for
   those before them: no device can take them. */
guint64 hass_steady_held_up (const HassSteady *s, const HassStreamState *state);
/* Returns: whether a core should compute a unit of a class to be measured: of
   that in which the other devices are fastest, if that is expected to pay for a
   core that takes at most so many times as long as they. */
gboolean hass_steady_measures (const HassSteady *s,
                               const HassStreamState *state, guint c,
                               double most_times);
/* Returns: FALSE if it is not known how fast the cores are in a class that
   another device serves, nor how much slower than the device elsewhere. */
gboolean hass_steady_is_measured (const HassSteady *s,
                                  const HassStreamState *state, guint c);

#endif
