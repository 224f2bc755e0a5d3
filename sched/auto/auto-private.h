/* SPDX-License-Identifier: MIT */
/* auto-private.h: the state of the strategy auto, which is made of its modules,
   and the decisions that auto.c asks for. The head of auto.c says how they fit
   together.
   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_PRIVATE_H
#define HASS_SCHED_AUTO_PRIVATE_H

#include "ends-private.h"
#include "solo-private.h"

/* A GPU thread may be so many times slower than a core; a guess, on the slow
   side of what GPUs have shown. */
#define HASS_AUTO_CORE_THREADS 64

/* Parameters of the strategy. */
enum
{
  HASS_AUTO_PROBE,
  HASS_AUTO_IN_FLIGHT
};

/**
 * HassAutoWait: all cores wait for a GPU.
 * @ns: at most; @from_ns, @told: since then, and so many completions.
 * @waited_ns: in this round.
 */
typedef struct
{
  double ns, waited_ns;
  gint64 from_ns;
  guint64 told;
} HassAutoWait;

/**
 * HassAuto: of one farm.
 * @plan: the last one that was made for the rest of a round.
 * @counts: [n], scratch.
 * @why: reason of the last decision, for the explanation.
 */
typedef struct
{
  HassAutoKnown k;
  HassAutoGuard guard;
  HassAutoSolo solo;
  HassAutoEnds ends;
  HassPlan plan;
  HassAutoWait wait;
  guint64 *counts;
  const char *why;
} HassAuto;

/* begin.c: sorts a round, or not; finds out whether a GPU is hopeless. */
void hass_auto_order (HassAuto *s, HassRound *round);
void hass_auto_judge (HassAuto *s, const HassRound *round, guint device);

/* gpu.c, cpu.c: what a device with room gets. */
HassAnswer hass_auto_grant_gpu (HassAuto *s, HassRound *round, guint device,
                                gboolean force, HassGrant *grant);
HassAnswer hass_auto_grant_cpu (HassAuto *s, HassRound *round, gboolean force,
                                HassGrant *grant);

/* start.c: cores beside GPUs that are not measured yet: units for them; 0:
   none. unit_ns, cpu_rate: of a core's unit, and of the pool. */
guint64 hass_auto_first_units (HassAuto *s, const HassRound *round,
                               guint64 waiting, gboolean force);
guint64 hass_auto_long_unit (HassAuto *s, const HassRound *round,
                             double unit_ns, double cpu_rate, HassGrant *grant);
guint hass_auto_left_to_start (const HassAuto *s, const HassRound *round,
                               double cpu_rate);

/* bundle.c: work of the next bundle of a GPU that is planned with; 0: nothing
   now. */
double hass_auto_bundle_work (HassAuto *s, const HassRound *round,
                              guint device);

#endif
