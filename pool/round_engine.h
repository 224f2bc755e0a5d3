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

   An open round is one whose units join while it runs: the loads wait in a
   ready set, and a take moves them to the next positions. It has room for a
   number of units, of which those that have not joined count as outstanding
   until the round is closed, so that it cannot end before.

   Thread safety: 1 and 2 by one thread; take under the engine's decision
   lock; pull, give_back and the counters from any thread. */
#ifndef HASS_ROUND_ENGINE_H
#define HASS_ROUND_ENGINE_H

#include <pthread.h>

#include "hass/round.h"
#include "hass/types.h"
#include "load_pool.h"
#include "ready_set.h"
#include "unit_range.h"

#define HASS_ROUND_MAX_UNITS (G_MAXUINT32 - 1)

/* Maximum number of masks (sets) of classes. All devices of a class can run the
   same units: the CPU pool is class HASS_DEVICE_CPU, devices that run GPU
   workers are class HASS_DEVICE_GPU, and each further kind of devices is a
   class of its own. */
#define HASS_MOST_MASKS (1u << HASS_MOST_CLASSES)

/* What belongs together of a counter: see HassProgress. */
typedef struct
{
  _Atomic guint64 units;
  _Atomic double work;
  _Atomic gint64 busy_ns;
} HassTally;

/* What one core or one GPU did in a round. Written by this core or the GPU's
   proxy alone and read by any thread. A reader needs a recent value, and of
   units, work and time one of the same moment: units whose work is missing
   would be taken for a device without speed. So they are written into the two
   tallies in turn, and tallies[turns % 2] is complete. The other fields are
   accessed relaxed. */
typedef struct
{
  _Alignas(HASS_CACHE_LINE) HassTally tallies[2];
  _Atomic guint64 turns;
  /* End of its last unit, in ns of the engine's clock. */
  _Atomic gint64 last_finish_ns;
  _Atomic guint64 bytes;
  _Atomic guint64 bundles;
  _Atomic guint64 halo; /* halo elements computed again */
  /* Work of units that not every class of devices can run. */
  _Atomic double exclusive;
  /* By function, where a round has several; units are written last. */
  HassTally functions[HASS_MOST_FUNCTIONS];
} HassCounter;

/* Units that were given back and could not be joined to a range. */
typedef struct
{
  HassExtent extent;
  /* The units are too large for the memory of any other device. */
  gboolean only_cpu;
} HassReturned;

/* A partial set: the n tasks of a function farm from position `first` on that
   the same classes of devices can run, but not all classes. */
typedef struct
{
  guint mask; /* bit c: devices of class c can run the tasks */
  guint32 first, n;
} HassPartialSet;

/* Where a divisible load begins in its round: the block, and the elements of
   all loads before it. */
typedef struct
{
  guint32 block;
  guint64 elements;
} HassCut;

/* How the n_loads large divisible loads of a round are cut into its blocks:
   each into blocks of block_elements elements, the last of a load with what is
   left (blocks is NULL), or into those of the user's partitioner. */
typedef struct
{
  gsize block_elements;
  gsize halo;
  guint32 n_loads;
  HassCut *cuts;     /* [n_loads + 1], the last: the ends; owned by the round */
  HassBlock *blocks; /* [n_units], owned by the round */
} HassDivision;

enum
{
  HASS_RANGE_COMMON,
  HASS_RANGE_ALLOTMENT,
  /* Then the devices' shares, then the ranges of the partial sets, one for
     each mask. */
  HASS_RANGE_SHARES
};

/* Values of pull_source other than the index of the range that cores pull
   from. */
#define HASS_PULL_ASK (-1)  /* the strategy must be asked */
#define HASS_PULL_WAIT (-2) /* the strategy answered WAIT */
#define HASS_PULL_DONE (-3) /* the strategy answered DONE */

struct _HassRound
{
  /* Written before the round is published; constant while it runs. */
  guint64 number;
  guint64 seq_base;
  guint32 n_units;
  guint n_devices;
  HassFarmKind farm;
  HassCostClass cost;
  /* Function farm that tells functions apart: all functions of this round's
     units (HASS_LOAD_FUNCTION) are below n_functions, which is at most
     most_functions, a constant of the farm; 0 elsewhere, and in open rounds. */
  guint n_functions, most_functions;
  /* the loads; of an open round, its cells, and n is 0 until it has ended */
  HassSpan span;
  /* [n_units] sequence number of each load; NULL: seq_base + its index */
  const guint64 *seqs;
  gboolean divisible;
  HassDivision division;
  guint *classes; /* [n_devices]: class of each device */
  /* The HassLoad.flags bit of each class. */
  guint32 class_flags[HASS_MOST_CLASSES];
  guint n_classes;
  guint all_classes; /* mask of the classes that can run a common unit */
  /* Positions: [partial sets with the CPU | common units | partial sets
     without the CPU]; a partial set holds tasks that only some classes can
     run. */
  HassPartialSet sets[HASS_MOST_MASKS];
  guint n_sets;
  guint32 n_partial_cpu, n_partial_linked;
  gint64 begin_ns;
  /* An open round: where its loads wait, and the memory that they are moved to,
     which the round owns; else NULL. Constant. */
  HassReadySet *ready;
  HassLoad *cells;
  double *earliest_ns; /* when each could begin; see HassReadyRun */
  /* [n_devices + 1]: index of the first counter of each device */
  guint *counter_of;

  /* Written under the decision lock. The elements of order and prefix for
     positions that were taken never change, so the thread that took these
     positions may read them without the lock. */
  /* Unit at each position; NULL: unit and position are equal. */
  _Atomic (guint32 *) order;
  /* Element i: sum of the work of positions before 16 i; or NULL. */
  double *prefix;

  HassUnitRange *ranges; /* [hass_round_n_ranges()] */
  HassCounter *counters; /* [counter_of[n_devices]] */

  _Alignas(HASS_CACHE_LINE) _Atomic gint32 pull_source;
  /* Units that a core pulls at a time; 0: chosen by the engine. */
  _Atomic guint64 pull_chunk;
  /* Open round: number of units that it has room for; once it is closed, of
     those that have joined. */
  _Atomic guint32 room;
  /* Open round: as HassGrant.leave and HASS_FROM_BACK of the last grant. */
  _Atomic double pull_leave;
  _Atomic gboolean pull_back;
  /* For each class, the number of extents in `returned` that it can run. */
  _Atomic guint32 n_returned[HASS_MOST_CLASSES];
  pthread_mutex_t returned_lock;
  /* HassReturned: units given back; guarded by returned_lock. */
  GArray *returned;

  /* Number of units neither finished nor lost; the round ends when it is 0. */
  _Alignas(HASS_CACHE_LINE) _Atomic guint32 outstanding;
  /* Open round: the positions that loads may join. A core that takes from a
     deque takes them without a lock; whoever takes from the set itself seizes
     them meanwhile, under its lock. Seized once the round is closed. */
  HassUnitRange vacant;
};

gboolean hass_round_init (HassRound *round, guint n_devices,
                          const HassDeviceTraits *devices);
void hass_round_clear (HassRound *round);

void hass_round_begin_loads (HassRound *round, HassFarmKind farm,
                             HassCostClass cost, const HassSpan *span);
void hass_round_begin_blocks (HassRound *round, HassCostClass cost,
                              const HassSpan *span,
                              const HassDivision *division);
void hass_round_open (HassRound *round);

/* round_ready.c */
void hass_round_init_open (HassRound *round, HassReadySet *ready, guint32 n);
void hass_round_let_join (HassRound *round);
guint32 hass_round_close (HassRound *round);
HassExtent hass_round_join (HassRound *round, HassReadyTake take);
double hass_round_earliest_ns (const HassRound *round, HassExtent extent);
HassExtent hass_round_pull_own (HassRound *round, guint core, guint32 k);
HassExtent hass_round_join_cores (HassRound *round, guint32 k);
gboolean hass_round_can_pull (HassRound *round);
gboolean hass_round_in_flight (HassRound *round);

HassExtent hass_round_take (HassRound *round, guint device, HassGrant *grant);
HassExtent hass_round_take_any (HassRound *round, guint klass, guint32 k);
HassExtent hass_round_pull (HassRound *round, guint32 k);
/* round_returned.c */
HassExtent hass_round_take_returned (HassRound *round, guint klass, guint32 k);
void hass_round_give_back (HassRound *round, HassExtent extent);
void hass_round_keep_for_cpu (HassRound *round, HassExtent extent);
/* round.c */
guint32 hass_round_waiting_inside (HassRound *round);
guint32 hass_round_waiting_anywhere (HassRound *round);

/* round_units.c */
guint hass_round_mask_of (const HassRound *round, const HassLoad *load);
HassDivision hass_division_new (guint32 most_loads, gsize block_elements,
                                gsize halo);
void hass_division_add (HassDivision *division, guint32 n_blocks,
                        gsize elements);
void hass_load_slice (const HassLoad *load, gsize halo, guint64 seq,
                      gsize first, gsize count, HassBlock *block);
void hass_round_block (const HassRound *round, guint32 position,
                       HassBlock *block);
guint32 hass_round_merge (const HassRound *round, HassExtent extent,
                          HassBlock *block);
guint32 hass_round_load_index (const HassRound *round, guint32 position);
const HassLoad *hass_round_load (const HassRound *round, guint32 position);
double hass_round_work_taken (const HassRound *round, HassExtent extent);
gsize hass_round_bytes (const HassRound *round, HassExtent extent);
void hass_round_note_functions (HassRound *round);
double hass_round_true_cost (const HassRound *round, guint32 position);
double hass_round_known_cost (const HassRound *round, guint32 unit);
gboolean hass_round_counts_units (const HassRound *round);
void hass_round_sum_up (HassRound *round, guint32 first, guint32 end);

/* Returns: whether units that this class can run were given back. Relaxed:
   units that are missed now are found when the round does not end; the list
   itself is read under its lock. */
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

/* Returns: the range of the units that exactly the classes of @mask can run. */
static inline HassUnitRange *
hass_round_partial (const HassRound *round, guint mask)
{
  return &round->ranges[HASS_RANGE_SHARES + round->n_devices + mask];
}

/* Returns: the next mask (set of classes) after @mask that contains the class
   and is not that of common units: first the class alone, then the others in
   ascending order; 0 if there are no more. */
static inline guint
hass_round_next_mask (const HassRound *round, guint klass, guint mask)
{
  guint own = 1u << klass;
  if (round->n_classes == 2)
    return 0; /* with two classes the only other mask is that of common units */
  if (mask == own)
    mask = 0;
  do
    mask++;
  while (mask < 1u << round->n_classes
         && (!(mask & own) || mask == own || mask == round->all_classes));
  return mask < 1u << round->n_classes ? mask : 0;
}

/* Returns: the number of waiting units that this class of devices and not
   every other can run. */
static inline guint64
hass_round_partial_units (const HassRound *round, guint klass)
{
  guint64 n = 0;
  for (guint mask = 1u << klass; mask > 0;
       mask = hass_round_next_mask (round, klass, mask))
    n += hass_unit_range_peek (hass_round_partial (round, mask)).n;
  return n;
}

/* Returns: the mask of the classes of devices that can run the unit at a
   position. */
static inline guint
hass_round_mask (const HassRound *round, guint32 position)
{
  if (G_UNLIKELY (round->ready))
    return hass_round_mask_of (round, hass_span_load (&round->span, position));
  for (guint i = 0; i < round->n_sets; i++)
    if (position - round->sets[i].first < round->sets[i].n)
      return round->sets[i].mask;
  return round->all_classes;
}

/* Returns: the mask of the classes of devices that can run the returned units:
   only the CPU if they are too large for the others. */
static inline guint
hass_round_returned_mask (const HassRound *round, const HassReturned *r)
{
  guint mask = hass_round_mask (round, r->extent.first);
  return r->only_cpu ? mask & 1u << HASS_DEVICE_CPU : mask;
}

guint32 hass_round_missing (const HassRound *round);

/* Returns: whether units of this open round may join it now. */
static inline gboolean
hass_round_takes_ready (const HassRound *round)
{
  /* Relaxed: a take finds no vacant position where this is out of date. */
  return round->ready
         && atomic_load_explicit (&round->ready->round, memory_order_relaxed)
                == round;
}

/* Returns: the array that maps positions to units, NULL if position and unit
   are equal. Acquire pairs with the release that publishes a new order: a core
   that pulls older positions may read the new array and must see its
   elements. */
static inline guint32 *
hass_round_order (const HassRound *round)
{
  return atomic_load_explicit (&((HassRound *)round)->order,
                               memory_order_acquire);
}

static inline void
hass_counter_reset (HassCounter *c)
{
  HassTally *t = &c->tallies[atomic_load (&c->turns) % 2];
  atomic_store_explicit (&t->units, 0, memory_order_relaxed);
  atomic_store_explicit (&t->work, 0, memory_order_relaxed);
  atomic_store_explicit (&t->busy_ns, 0, memory_order_relaxed);
  atomic_store_explicit (&c->bytes, 0, memory_order_relaxed);
  atomic_store_explicit (&c->last_finish_ns, 0, memory_order_relaxed);
  atomic_store_explicit (&c->bundles, 0, memory_order_relaxed);
  atomic_store_explicit (&c->halo, 0, memory_order_relaxed);
  atomic_store_explicit (&c->exclusive, 0, memory_order_relaxed);
}

/* Counts units that the counter's core or GPU has finished, @work and @busy_ns
   in all. Wait-free. Thread safety: the counter's one writer. */
static inline void
hass_counter_add (HassCounter *c, guint64 units, double work, gint64 busy_ns)
{
#define ADD(field, value)                                                      \
  atomic_store_explicit (                                                      \
      &to->field,                                                              \
      atomic_load_explicit (&from->field, memory_order_relaxed) + (value),     \
      memory_order_release)
  guint64 turns = atomic_load_explicit (&c->turns, memory_order_relaxed);
  const HassTally *from = &c->tallies[turns % 2];
  HassTally *to = &c->tallies[(turns + 1) % 2];
  /* Release keeps these stores behind the last one to turns: a reader that sees
     one of them finds that turns has changed. */
  ADD (units, units);
  ADD (work, work);
  ADD (busy_ns, busy_ns);
#undef ADD
  /* Release pairs with the acquire in hass_round_progress(), which sees the
     tally complete. */
  atomic_store_explicit (&c->turns, turns + 1, memory_order_release);
}

static inline void
hass_counter_reset_functions (HassCounter *c)
{
  for (guint f = 0; f < HASS_MOST_FUNCTIONS; f++)
    {
      HassTally *t = &c->functions[f];
      atomic_store_explicit (&t->units, 0, memory_order_relaxed);
      atomic_store_explicit (&t->work, 0, memory_order_relaxed);
      atomic_store_explicit (&t->busy_ns, 0, memory_order_relaxed);
    }
}

/* Counts units of one function. Wait-free. Thread safety: the counter's one
   writer. */
static inline void
hass_counter_add_function (HassCounter *c, guint function, guint64 units,
                           double work, gint64 busy_ns)
{
  HassTally *t = &c->functions[function];
#define ADD(field, value, order)                                               \
  atomic_store_explicit (                                                      \
      &t->field,                                                               \
      atomic_load_explicit (&t->field, memory_order_relaxed) + (value), order)
  ADD (work, work, memory_order_relaxed);
  ADD (busy_ns, busy_ns, memory_order_relaxed);
  /* Release pairs with the acquire in hass_round_function_progress(): who sees
     the units sees their work and time. */
  ADD (units, units, memory_order_release);
#undef ADD
}

HassProgress hass_round_function_progress (const HassRound *round, guint device,
                                           guint function);

/* Returns: whether some class of devices cannot run the units of @e, which one
   grant or pull has taken. The first one tells, since a range holds units of
   one mask. */
static inline gboolean
hass_round_is_exclusive (const HassRound *round, HassExtent e)
{
  if (G_UNLIKELY (round->ready))
    return hass_round_mask (round, e.first) != round->all_classes;
  return e.first < round->n_partial_cpu
         || e.first >= round->n_units - round->n_partial_linked;
}

static inline guint32
hass_round_unit (const HassRound *round, guint32 position)
{
  const guint32 *order = hass_round_order (round);
  return order ? order[position] : position;
}

/* Fills in @block for the unit at a position that the caller has taken, in a
   round whose units are whole loads. */
static inline void
hass_round_load_block (const HassRound *round, guint32 position,
                       HassBlock *block)
{
  guint32 unit = hass_round_unit (round, position);
  const HassLoad *load = hass_span_load (&round->span, unit);
  *block = (HassBlock){ .load = load,
                        .seq = round->seqs ? round->seqs[unit]
                                           : round->seq_base + unit,
                        .count = load->size,
                        .input = load->input,
                        .input_bytes = load->input_bytes,
                        .output = load->output,
                        .output_bytes = load->output_bytes };
}

#endif
