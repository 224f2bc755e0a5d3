/* SPDX-License-Identifier: MIT */
/* hass/strategy.h: for people who write scheduling strategies.

   DESIGN. A strategy is a pure decision: it has no thread, no clock and no
   device call. The engine, live or virtual, asks it three questions: a round
   begins (what order, what shares); a device has room (what shall it get); a
   grant has finished (here is its timing). doc/writing-a-strategy.md walks
   through one.

   Thread safety: the engine calls the ops of one instance one at a time,
   from any thread, never under a lock that a callback could need. */
#ifndef HASS_STRATEGY_H
#define HASS_STRATEGY_H

#include <glib.h>
#include <hass/load.h>
#include <hass/round.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

/* A parameter of a strategy; tables end with a NULL name. The struct is
   frozen. */
typedef struct
{
  const char *name;
  double preset, min, max;
  const char *help;
} HassParameter;

/**
 * HassProfileRate: what earlier runs of the farm have shown of a device.
 * @work_per_ns: by busy time, copies and launches included; 0: unknown.
 * @latency_ns: of that the fixed part of a bundle; 0: unknown.
 * @runs: how many runs have measured it.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  double work_per_ns;
  double latency_ns;
  guint runs;
  guint64 reserved[1];
} HassProfileRate;

/**
 * HassNoteFunc: takes one line of an explanation, without its newline.
 * @data: note_data of the environment.
 */
typedef void (*HassNoteFunc) (gpointer data, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

/**
 * HassStrategyEnv: what a strategy is created for. Valid until destroy.
 * @struct_size: sizeof (HassStrategyEnv) of the library. A strategy that is
 *   to run with older libraries than its header reads no field behind it.
 * @farm_name: for the profile store and messages.
 * @devices: [@n_devices]; the CPU pool, where there is one, comes first.
 * @parameters: values in the order of the ops' table.
 * @profile: [@n_devices] of earlier runs of a farm of this name, kind and
 *   cost class; NULL in virtual time, in a farm without a name and where the
 *   profile store is off.
 * @entry_bytes: what a GPU copies before its first bundle of each round,
 *   however small its part; 0: nothing, or unknown.
 * @merge_ns: what the host does at the end of a round in which more than one
 *   device took part; 0: nothing, or unknown.
 * @note: NULL, or somebody wants to know what the strategy does and why: what
 *   it measured, what it decided, a line a decision. The engine adds farm and
 *   time. To be called in ops only, and to be looked at before anything is
 *   made for it, so that it costs nothing when nobody listens.
 * @note_data: its first argument.
 * @element_threads: GPU threads for one element, as the farm says; 0: unknown.
 *   As many elements as the device's width over this fill a GPU.
 */
typedef struct
{
  gsize struct_size;
  const char *farm_name;
  HassFarmKind farm;
  HassCostClass cost;
  guint n_devices;
  const HassDeviceTraits *devices;
  const double *parameters;
  guint64 seed;
  const HassProfileRate *profile;
  double entry_bytes;
  double merge_ns;
  HassNoteFunc note;
  gpointer note_data;
  gsize element_threads;
} HassStrategyEnv;

typedef enum
{
  HASS_TAKE, /* the grant is filled in */
  HASS_WAIT, /* ask again after the next completion of any device, or after
                grant.within_ns */
  HASS_DONE  /* the device takes no more part in this round */
} HassAnswer;

/**
 * HassCompletion: a grant has finished. A CPU pool reports when it runs out
 * of what it was granted, all its cores together.
 * @device: which.
 * @units, @work, @elements, @bytes: what it did; work as the cost class
 *   shows it.
 * @grant_ns, @start_ns, @end_ns: when granted, when the device began on it
 *   (no earlier than the end of its bundle before), when results were back.
 * @h2d_ns, @kernel_ns, @d2h_ns: the stages; a CPU pool has only kernel.
 * @first_of_round: the device's first completion in this round.
 * @failed: the units were given back to the round.
 * @host_ns: time of cores that the grant cost the host, beside the CPU pool's
 *   own work: copying to and from pinned memory, often by several threads.
 * @worker_ns: what the GPU worker's own calls took on the host: some us, but
 *   the first time, when libraries are loaded and handles made while the GPU
 *   waits, often 0.1 s.
 * @kernel_busy_ns: for so long the device was busy with kernels of the grant:
 *   @kernel_ns of all its bundles, but no time twice in which kernels of two
 *   of them were there. 0: unknown, and for a CPU pool.
 */
typedef struct
{
  guint device;
  guint64 units;
  double work;
  guint64 elements;
  guint64 bytes;
  gint64 grant_ns, start_ns, end_ns;
  double h2d_ns, kernel_ns, d2h_ns;
  gboolean first_of_round;
  gboolean failed;
  double host_ns;
  double worker_ns;
  double kernel_busy_ns;
} HassCompletion;

/* What a device did in a round. last_finish_ns counts from the round's
   begin; 0: it took nothing. busy_ns as in HassProgress. */
typedef struct
{
  guint64 units;
  double work;
  guint64 bundles;
  double busy_ns;
  double last_finish_ns;
  guint64 reserved[3]; /* zero; for later versions */
} HassDeviceSummary;

typedef struct
{
  guint64 number;
  guint64 units;
  double makespan_ns;
  guint n_devices;
  const HassDeviceSummary *devices; /* [n_devices] */
} HassRoundSummary;

/**
 * HassStrategyOps: one strategy. Optional ops may be NULL.
 * @struct_size: sizeof (HassStrategyOps). A table may end after @grant; what
 *   is behind its end is NULL.
 * @name: lower case, "hass-ce".
 * @summary: one line; @source: paper and section, or NULL.
 * @farms: the kinds it serves, or HASS_FARM_ANY.
 * @parameters: table that ends with a NULL name, or NULL.
 * @create: state for one farm; NULL with @error set when it cannot serve.
 * @begin_round: optional: order, carve or assign units. Default: nothing.
 * @grant: @device has room. @force: all devices wait and units remain; who
 *   still answers WAIT to this makes the engine give the CPU one unit.
 *   Returning TAKE on an empty source counts as WAIT. Units that remain
 *   when every device answered DONE are given to the CPU pool, or to the
 *   GPUs where there is none.
 * @granted: optional: what was really taken.
 * @observe: optional: a grant has finished.
 * @end_round: optional: all units of the round are finished.
 * @destroy: frees the state; required when create returns allocated memory.
 *
 * When the CPU pool is the only device, a round may begin before the last
 * units of the one before have finished; with more devices rounds do not
 * overlap.
 */
typedef struct
{
  gsize struct_size;
  const char *name;
  const char *summary;
  const char *source;
  HassFarmKind farms;
  const HassParameter *parameters;
  gpointer (*create) (const HassStrategyEnv *env, GError **error);
  void (*begin_round) (gpointer self, HassRound *round);
  HassAnswer (*grant) (gpointer self, HassRound *round, guint device,
                       gboolean force, HassGrant *grant);
  void (*granted) (gpointer self, HassRound *round, guint device,
                   const HassGrant *grant);
  void (*observe) (gpointer self, HassRound *round, const HassCompletion *done);
  void (*end_round) (gpointer self, const HassRoundSummary *summary);
  void (*destroy) (gpointer self);
} HassStrategyOps;

/**
 * hass_strategy_register:
 * @ops: copied; what it points to must stay valid for the life of the
 *   process.
 *
 * Makes a strategy known by name. Fails with HASS_ERROR_STRATEGY when the
 * name is taken or malformed or a required op is missing, with
 * HASS_ERROR_INVALID when the table is too short or, being of a later
 * version, has ops that this library does not know. Any thread.
 */
gboolean hass_strategy_register (const HassStrategyOps *ops, GError **error);

/**
 * hass_strategy_find:
 * @name: a registered name, without parameters.
 *
 * Returns: the ops, or NULL with HASS_ERROR_STRATEGY whose message lists the
 * known names. Any thread.
 */
const HassStrategyOps *hass_strategy_find (const char *name, GError **error);

/**
 * hass_strategy_list:
 *
 * Returns: (transfer container): NULL-terminated array of the registered
 * ops, sorted by name; free with g_free(). Any thread.
 */
const HassStrategyOps **hass_strategy_list (void);

/**
 * hass_strategy_default:
 *
 * Returns: the strategy of a farm of this kind and cost class that names none:
 * auto.
 */
const char *hass_strategy_default (HassFarmKind farm, HassCostClass cost);

HASS_END_DECLS

#endif
