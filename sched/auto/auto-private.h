/* SPDX-License-Identifier: MIT */
/* auto-private.h: the state of the strategy auto, which is made of its modules,
   and the decisions that auto.c asks for. The head of auto.c says how they fit
   together.
   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_PRIVATE_H
#define HASS_SCHED_AUTO_PRIVATE_H

#include "ends-private.h"
#include "sched/functions.h"
#include "sched/spoliation.h"
#include "open-private.h"
#include "solo-private.h"

/* A first guess for a GPU that is not measured: one of its threads computes as
   much as 1/HASS_AUTO_CORE_THREADS of a core. A guess, on the slow side of what
   GPUs have shown. Too large, and first bundles in short rounds are too small
   to show a rate; too small, and a slow GPU delays a short round. */
#define HASS_AUTO_CORE_THREADS 64
/* A GPU whose copies at a round's begin take at least this long, in ns, waits
   with them until a core has shown its rate. A guess: less delays GPUs
   needlessly; more, and a useless GPU copies for long. */
#define HASS_AUTO_LONG_COPY_NS 1e7

/* A core's first unit is begun although it might end last if that takes at most
   this fraction of the time of all rounds and runs so far. A guess: less tries
   cores later, more loses more if they are slow. */
#define HASS_AUTO_TRIED_PART 0.1

/* Indices of the strategy's parameters in HassStrategyEnv.parameters. */
enum
{
  HASS_AUTO_PROBE,
  HASS_AUTO_IN_FLIGHT
};

/**
 * HassAutoWait: the wait of all cores for the first bundle or the opening of a
 * GPU that may make their long units unnecessary.
 * @ns: the longest that the present wait may last; 0: no wait.
 * @waited_ns: time that such waits have taken in this round.
 * @from_ns: when the present wait began.
 * @told: number of completions known when the present wait began. The time is
 *   known from completions alone, so if none has come since, the wait is
 *   counted as @ns long.
 */
typedef struct
{
  double ns, waited_ns;
  gint64 from_ns;
  guint64 told;
} HassAutoWait;

/**
 * HassAuto: the state of the strategy for one farm.
 * @k: what is known: units, estimates, forecast and stages.
 * @guard: chooses the set of devices that computes a round.
 * @solo: measures devices while the others are idle.
 * @ends: chooses from which end of a round GPUs take.
 * @open: devices in open rounds.
 * @functions: rounds of several functions, in which guard, solo and ends have
 *   no part.
 * @plan: the last plan for the rest of a round.
 * @wait: the present wait of all cores for a GPU.
 * @counts: [n] scratch for cutting shares.
 * @why: reason of the last decision, for explanations.
 */
typedef struct
{
  HassAutoKnown k;
  HassAutoGuard guard;
  HassAutoSolo solo;
  HassAutoEnds ends;
  HassAutoOpen open;
  HassFunctions functions;
  HassPlan plan;
  HassAutoWait wait;
  guint64 *counts;
  const char *why;
} HassAuto;

/* Decides at a round's begin whether its units are sorted by work, and marks an
   unmeasured GPU hopeless that cannot help in this round (begin.c). */
void hass_auto_order (HassAuto *s, HassRound *round);
void hass_auto_judge (HassAuto *s, const HassRound *round, guint device);

/* Fill in what a GPU, or the CPU pool, that has room for more gets, and return
   what the engine is answered (gpu.c, cpu.c). */
HassAnswer hass_auto_grant_gpu (HassAuto *s, HassRound *round, guint device,
                                gboolean force, HassGrant *grant);
HassAnswer hass_auto_grant_cpu (HassAuto *s, HassRound *round, gboolean force,
                                HassGrant *grant);

/* The decisions for cores while a GPU is not measured yet (start.c): a number
   of units for the cores, 0: none now. unit_ns: time of a unit on one core.
   cpu_rate: work per ns of the CPU pool. */
guint64 hass_auto_first_units (HassAuto *s, const HassRound *round,
                               guint64 waiting, gboolean force,
                               HassGrant *grant);
guint64 hass_auto_long_unit (HassAuto *s, const HassRound *round,
                             double unit_ns, double cpu_rate, HassGrant *grant);

/* Returns TRUE if the cores are unknown and get no first unit of a round of
   few, as one may take them longer than the GPUs whose rate is known need for
   all (start.c). */
gboolean hass_auto_cores_sit_out (const HassAuto *s, const HassRound *round);

/* Returns TRUE if a GPU that is not open yet cannot be counted on in this
   round: it opens after the planned end, or the engine will not open it because
   the rest of the round is too short (start.c). */
gboolean hass_auto_closed (const HassAuto *s, const HassRound *round,
                           guint device);

/* Returns how many units a filled GPU is assumed to do while a core whose rate
   is unknown does one (start.c). */
double hass_auto_core_times (const HassUnits *u, guint device);

/* Returns the time of the rounds so far, in ns, and about that of earlier runs
   in which no core was tried, each of which has taken round_ns with GPUs alone
   (start.c). */
double hass_auto_spent_ns (const HassAuto *s, double round_ns);

/* Returns TRUE if the round has so few units that one on a core may take longer
   than GPUs need for all (start.c). */
gboolean hass_auto_few_units (const HassUnits *u, const HassRound *round);

/* Returns how long, in ns, cores may wait for a GPU that is open, or soon will
   be, and will show its rate by a first bundle; 0: there is none (start.c). */
double hass_auto_shows_within (const HassAuto *s, const HassRound *round);

/* Returns TRUE if all cores may wait for a GPU now, and sets in the grant how
   long at most, in ns: all such waits of a round together take at most most_ns
   (start.c). */
gboolean hass_auto_may_wait (HassAuto *s, double most_ns, HassGrant *grant);

/* As hass_auto_grant_gpu() and hass_auto_grant_cpu(), in a round of several
   functions (functions.c). */
HassAnswer hass_auto_functions_gpu (HassAuto *s, HassRound *round, guint device,
                                    gboolean force, HassGrant *grant);
HassAnswer hass_auto_functions_cpu (HassAuto *s, HassRound *round,
                                    gboolean force, HassGrant *grant);

/* Returns the work of the next bundle of a GPU that participates in the plan;
   0: it gets none now (bundle.c). */
double hass_auto_bundle_work (HassAuto *s, const HassRound *round,
                              guint device);

#endif
