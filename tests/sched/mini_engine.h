/* SPDX-License-Identifier: MIT */
/* mini_engine.h: the smallest engine that keeps the contract of
   hass/strategy.h, for tests of strategies.

   DESIGN. Virtual time, one round after another, one bundle at a time on a
   GPU. Cores pull from a real HassRound. Times are what the device's model
   says, with no noise unless asked for, so a run is the same each time. It
   checks that each unit is executed once and on a device that may run it.

   Thread safety: one thread. */
#ifndef MINI_ENGINE_H
#define MINI_ENGINE_H

#include "pool/round_engine.h"
#include "sched/registry.h"

#define MINI_DEVICES 10

#define MINI_CPU(n, ns)                                                        \
  {                                                                            \
    .kind = HASS_DEVICE_CPU, .cores = (n), .ns_per_work = (ns)                 \
  }
#define MINI_GPU(n, ns, latency)                                               \
  {                                                                            \
    .kind = HASS_DEVICE_GPU, .cores = (n), .ns_per_work = (ns),                \
    .latency_ns = (latency)                                                    \
  }

/* One that says that n elements fill it. */
#define MINI_WIDE_GPU(n, ns, latency)                                          \
  {                                                                            \
    .kind = HASS_DEVICE_GPU, .cores = (n), .ns_per_work = (ns),                \
    .latency_ns = (latency), .width = (n)                                      \
  }

/**
 * MiniDevice: a modelled device.
 * @cores: of a CPU pool; multiprocessors of a GPU.
 * @ns_per_work: of one core, or of a whole GPU.
 * @latency_ns: of each bundle.
 * @fill_work: a bundle with less work takes as long as one with so much.
 * @fill_units: a bundle of fewer units takes as long as one of so many.
 * @width: what its traits say; 0: fill_work.
 * @max_units: a bundle holds no more; 0: no limit.
 * @fails: chance that a bundle fails and is given back.
 * @lost_after: the bundle after so many fails and the device is lost; 0:
 *   never.
 * @known_rate: what its traits say, 0: nothing.
 * @first_ns: its very first bundle takes so much longer.
 * @tells_first: and it says that this was its worker's own time; @tells_setup:
 *   that it prepared something.
 * @copy_ns_per_work: and each bundle on its way in, on a link of its own.
 * @host_ns_per_work: so much time of cores its bundles cost, as it says.
 * @opens_ns: it asks for nothing before that; INFINITY: that is not begun with.
 * @said_ns: when it opens, as is said; 0: what is so.
 * @opening_ns: and takes so long.
 * @slower: units of function k take so many times as long; 0: once.
 */
typedef struct
{
  HassDeviceKind kind;
  guint cores;
  double ns_per_work;
  double latency_ns;
  double fill_work;
  guint32 fill_units;
  guint64 width;
  guint64 max_units;
  double fails;
  guint lost_after;
  double known_rate;
  double first_ns;
  gboolean tells_first, tells_setup;
  double copy_ns_per_work;
  double host_ns_per_work;
  double opens_ns, said_ns, opening_ns;
  double slower[HASS_MOST_FUNCTIONS];
} MiniDevice;

/* A grant as the strategy gave it. cpu_share: units in the CPU's share
   before it; units: taken; asked: wanted; the costs are of its units. */
typedef struct
{
  guint device;
  HassSource source;
  guint64 cpu_share;
  guint64 waiting;
  guint64 asked;
  guint64 units;
  double least, most;
  guint in_flight;
  guint64 parallel; /* units with more than one element */
  gboolean failed;
} MiniGrant;

/* What a round came to. */
typedef struct
{
  HassRoundSummary summary;
  HassDeviceSummary devices[MINI_DEVICES];
  guint64 shares[MINI_DEVICES]; /* when the round had begun */
  guint64 cpu_chunk;            /* of the last grant of its own share */
  guint64 cpu_thefts;           /* units asked for in its last theft */
  guint64 rescued; /* units that the engine had to give away itself */
  guint64 waits, forced;
  gboolean once; /* each unit exactly once, where it may run */
  gboolean hung;
} MiniRound;

typedef struct
{
  HassStrategy *strategy;
  HassStrategyEnv env;
  guint n;
  MiniDevice devices[MINI_DEVICES];
  HassDeviceTraits traits[MINI_DEVICES];
  HassRound *round;
  guint64 number;
  double now_ns;
  double noise;   /* times vary by this part */
  double quarrel; /* so much longer takes what begins while others are busy */
  double kernels; /* but for this part of a GPU's time, which is told */
  gboolean tells_stages; /* kernels as a stage, too */
  gboolean quiet; /* the CPU pool reports nothing before the round's end */
  GRand *rand;
  GArray *grants;    /* MiniGrant of the last round */
  GArray *cpu_order; /* double: costs in the order cores pulled them */
  gboolean lost[MINI_DEVICES];
  guint bundles[MINI_DEVICES];
} MiniFarm;

MiniFarm *mini_farm_new (const char *spec, HassFarmKind farm,
                         HassCostClass cost, const MiniDevice *devices, guint n,
                         guint32 seed);
/* Another strategy that knows nothing yet, told what env and traits now say. */
void mini_farm_restart (MiniFarm *farm, const char *spec);
/* Likewise, of a function farm: the tag of a load is its function, below n. */
void mini_farm_tell_functions (MiniFarm *farm, const char *spec, guint n);
void mini_farm_free (MiniFarm *farm);
void mini_farm_run (MiniFarm *farm, const HassLoad *loads, guint32 n,
                    MiniRound *result);
/* A combine farm of equal loads, and rounds of so many of them. */
MiniFarm *mini_farm_new_equal (const char *spec, const MiniDevice *devices,
                               guint n);
void mini_farm_run_equal (MiniFarm *farm, guint32 n, MiniRound *result);
void mini_farm_run_divisible (MiniFarm *farm, gsize elements,
                              gsize block_elements, MiniRound *result);
HassLoad *mini_equal_loads (guint32 n);
HassLoad *mini_random_loads (GRand *rand, guint32 n, HassFarmKind kind,
                             gboolean exclusive);
void mini_ideal_parts (const MiniDevice *devices, guint n, double units,
                       double *parts);
gboolean mini_ascending (const GArray *costs, guint from, guint to);
double mini_bound_ns (const MiniDevice *devices, guint n, double work);

#endif
