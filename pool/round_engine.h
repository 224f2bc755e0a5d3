/* SPDX-License-Identifier: MIT */
/* round_engine.h: a round as the engines use it.

   DESIGN. A round is a permutation of unit positions cut into two-ended
   ranges: the common range, one share for each device, the units that only a
   CPU or only a GPU can run, and the allotment from which the cores of the CPU
   pool pull. The place of a unit's load is computed from its position, so a
   round over a pool, an array or a divisible load needs no memory for its
   units; an order costs 4 bytes a unit and sums of work half a byte.

   1. hass_round_begin_* describes the units (one thread, before publication).
   2. hass_round_open publishes them in the ranges.
   3. Devices take or pull extents, give back what failed, and count what
      they finished.
   4. The last finished unit ends the round; the engine may begin another
      in the same memory. A core that still uses the old round then sees an
      empty range or takes a unit of the new one, which is equally valid.

   Thread safety: 1 and 2 by one thread; take under the engine's decision
   lock; pull, give_back and the counters from any thread. */
#ifndef HASS_ROUND_ENGINE_H
#define HASS_ROUND_ENGINE_H

#include <pthread.h>

#include "hass/round.h"
#include "hass/types.h"
#include "load_pool.h"
#include "unit_range.h"

#define HASS_ROUND_MAX_UNITS (G_MAXUINT32 - 1)

/* Classes of devices: all devices of a class can run the same units. The CPU
   pool is class HASS_DEVICE_CPU; devices that run GPU workers are class
   HASS_DEVICE_GPU; each further kind of devices is a class of its own. */
#define HASS_MOST_CLASSES 6
#define HASS_MOST_MASKS (1u << HASS_MOST_CLASSES)

/* What one core or one GPU did in a round. Written by it alone, read by any:
   relaxed stores, because a reader wants a recent value and nothing else. */
typedef struct
{
  _Alignas(HASS_CACHE_LINE) _Atomic guint64 units;
  _Atomic guint64 bytes;
  _Atomic double work;
  _Atomic gint64 busy_ns;
  _Atomic gint64 last_finish_ns; /* engine time */
  _Atomic guint64 bundles;
  _Atomic guint64 halo;     /* elements */
  _Atomic double exclusive; /* work that some class may not run */
} HassCounter;

/* Units that were given back and are in no range. */
typedef struct
{
  HassExtent extent;
  gboolean only_cpu; /* too large for any other device */
} HassReturned;

/* Units of a function farm that the same classes can run, but not all. */
typedef struct
{
  guint mask; /* of classes */
  guint32 first, n;
} HassPartialSet;

/* How a large load is cut. blocks is NULL for equal blocks. */
typedef struct
{
  HassLoad load;
  gsize block_elements;
  gsize halo;
  HassBlock *blocks; /* [n_units], owned by the round */
} HassDivision;

enum
{
  HASS_RANGE_COMMON,
  HASS_RANGE_ALLOTMENT,
  HASS_RANGE_SHARES /* then those of partial sets, one a mask */
};

/* The source of a core's pulls: index of a range, or one of these. */
#define HASS_PULL_ASK (-1)  /* the strategy must be asked */
#define HASS_PULL_WAIT (-2) /* the strategy answered WAIT */
#define HASS_PULL_DONE (-3) /* the strategy answered DONE */

struct _HassRound
{
  /* Written before publication, constant while the round runs. */
  guint64 number;
  guint64 seq_base;
  guint32 n_units;
  guint n_devices;
  HassFarmKind farm;
  HassCostClass cost;
  const HassLoad *loads;
  guint64 base, mask;
  gboolean divisible;
  HassDivision division;
  guint *classes;                         /* [n_devices] */
  guint32 class_flags[HASS_MOST_CLASSES]; /* HassLoad.flags of each class */
  guint n_classes;
  guint all_classes; /* mask of a common unit */
  /* Positions: [partial sets with the CPU | common | those without]. */
  HassPartialSet sets[HASS_MOST_MASKS];
  guint n_sets;
  guint32 n_partial_cpu, n_partial_linked;
  gint64 begin_ns;
  guint *counter_of; /* [n_devices + 1]: first counter of a device */

  /* Written under the decision lock. order and prefix of positions that
     were taken never change, so the thread that took them may read. */
  _Atomic (guint32 *) order; /* position -> unit, or NULL for identity */
  double *prefix;            /* sum of work before position 16 i, or NULL */

  HassUnitRange *ranges; /* [hass_round_n_ranges()] */
  HassCounter *counters; /* [counter_of[n_devices]] */

  _Alignas(HASS_CACHE_LINE) _Atomic gint32 pull_source;
  _Atomic guint64 pull_chunk; /* units, 0: engine decides */
  /* Extents in the list below that a class may run. */
  _Atomic guint32 n_returned[HASS_MOST_CLASSES];
  pthread_mutex_t returned_lock;
  GArray *returned; /* HassReturned; returned_lock */

  /* Units neither finished nor lost; the last one ends the round. */
  _Alignas(HASS_CACHE_LINE) _Atomic guint32 outstanding;
};

gboolean hass_round_init (HassRound *round, guint n_devices,
                          const HassDeviceTraits *devices);
void hass_round_clear (HassRound *round);

void hass_round_begin_loads (HassRound *round, HassFarmKind farm,
                             HassCostClass cost, const HassSpan *span);
void hass_round_begin_load (HassRound *round, HassCostClass cost,
                            const HassDivision *division, guint32 n);
void hass_round_open (HassRound *round);

HassExtent hass_round_take (HassRound *round, guint device, HassGrant *grant);
HassExtent hass_round_take_any (HassRound *round, guint klass, guint32 k);
HassExtent hass_round_pull (HassRound *round, guint32 k);
void hass_round_give_back (HassRound *round, HassExtent extent);
void hass_round_keep_for_cpu (HassRound *round, HassExtent extent);
guint32 hass_round_waiting_anywhere (HassRound *round);

/* round_units.c */
void hass_division_slice (const HassDivision *division, guint64 seq,
                          gsize first, gsize count, HassBlock *block);
void hass_round_block (const HassRound *round, guint32 position,
                       HassBlock *block);
gboolean hass_round_merge (const HassRound *round, HassExtent extent,
                           HassBlock *block);
const HassLoad *hass_round_load (const HassRound *round, guint32 position);
double hass_round_work_taken (const HassRound *round, HassExtent extent);
gsize hass_round_bytes (const HassRound *round, HassExtent extent);
double hass_round_true_cost (const HassRound *round, guint32 position);
double hass_round_known_cost (const HassRound *round, guint32 unit);
gboolean hass_round_counts_units (const HassRound *round);
void hass_round_sum_up (HassRound *round, guint32 first, guint32 end);

/* Relaxed: a return that is missed now is seen when the round does not end;
   the lock orders the list itself. */
static inline gboolean
hass_round_has_returned (const HassRound *round, guint klass)
{
  return atomic_load_explicit (&((HassRound *)round)->n_returned[klass],
                               memory_order_relaxed)
         > 0;
}

static inline gboolean
hass_round_any_returned (const HassRound *round)
{
  gboolean any = FALSE;
  for (guint c = 0; c < round->n_classes; c++)
    any |= hass_round_has_returned (round, c);
  return any;
}

static inline guint
hass_round_n_ranges (const HassRound *round)
{
  return HASS_RANGE_SHARES + round->n_devices + (1u << round->n_classes);
}

/* The range of the units that exactly these classes can run. */
static inline HassUnitRange *
hass_round_partial (const HassRound *round, guint mask)
{
  return &round->ranges[HASS_RANGE_SHARES + round->n_devices + mask];
}

/* The masks with a class but that of common units, from the class alone on in
   ascending order; 0: there are no more. */
static inline guint
hass_round_next_mask (const HassRound *round, guint klass, guint mask)
{
  guint own = 1u << klass;
  if (round->n_classes == 2)
    return 0; /* the other mask is the common one */
  if (mask == own)
    mask = 0;
  do
    mask++;
  while (mask < 1u << round->n_classes
         && (!(mask & own) || mask == own || mask == round->all_classes));
  return mask < 1u << round->n_classes ? mask : 0;
}

/* Units that wait and that this class and not every other can run. */
static inline guint64
hass_round_partial_units (const HassRound *round, guint klass)
{
  guint64 n = 0;
  for (guint mask = 1u << klass; mask > 0;
       mask = hass_round_next_mask (round, klass, mask))
    n += hass_unit_range_peek (hass_round_partial (round, mask)).n;
  return n;
}

/* The classes that can run the unit at a position. */
static inline guint
hass_round_mask (const HassRound *round, guint32 position)
{
  for (guint i = 0; i < round->n_sets; i++)
    if (position - round->sets[i].first < round->sets[i].n)
      return round->sets[i].mask;
  return round->all_classes;
}

/* The classes that can run units that were given back. */
static inline guint
hass_round_returned_mask (const HassRound *round, const HassReturned *r)
{
  guint mask = hass_round_mask (round, r->extent.first);
  return r->only_cpu ? mask & 1u << HASS_DEVICE_CPU : mask;
}

/* Acquire pairs with the release that publishes a new order: a core that
   pulls old positions may meet it and must see it written. */
static inline guint32 *
hass_round_order (const HassRound *round)
{
  return atomic_load_explicit (&((HassRound *)round)->order,
                               memory_order_acquire);
}

/* First element of a block of a divisible load cut evenly; the load's end
   for the block after the last. No product can overflow. */
static inline gsize
hass_round_element (const HassRound *round, guint64 unit)
{
  const HassDivision *division = &round->division;
  return unit < round->n_units ? unit * division->block_elements
                               : division->load.size;
}

/* Whether some class cannot run the units that one grant or pull has taken.
   A range holds units of one mask. */
static inline gboolean
hass_round_is_exclusive (const HassRound *round, HassExtent e)
{
  return e.first < round->n_partial_cpu
         || e.first >= round->n_units - round->n_partial_linked;
}

static inline guint32
hass_round_unit (const HassRound *round, guint32 position)
{
  const guint32 *order = hass_round_order (round);
  return order ? order[position] : position;
}

/* Fills in the block of the unit at a position that the caller has taken, in a
   round whose units are loads. */
static inline void
hass_round_load_block (const HassRound *round, guint32 position,
                       HassBlock *block)
{
  guint32 unit = hass_round_unit (round, position);
  const HassLoad *load = &round->loads[(round->base + unit) & round->mask];
  *block = (HassBlock){ .load = load,
                        .seq = round->seq_base + unit,
                        .count = load->size,
                        .input = load->input,
                        .input_bytes = load->input_bytes,
                        .output = load->output,
                        .output_bytes = load->output_bytes };
}

#endif
