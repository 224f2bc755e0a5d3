/* SPDX-License-Identifier: MIT */
/* hass/strategy.h: the interface that scheduling strategies implement.

   DESIGN. A strategy is a pure decision: it has no thread, no clock and makes
   no device call. The engine, live or virtual, calls it on three occasions:
   a round begins (the strategy orders and divides the units); a device has
   room (the strategy grants units); a grant has finished (the strategy gets
   its timing). doc/writing-a-strategy.md develops one step by step.

   Thread safety: the engine calls the ops of one instance one at a time, from
   any thread, and holds no lock that a user callback could need. */
#ifndef HASS_STRATEGY_H
#define HASS_STRATEGY_H

#include <glib.h>
#include <hass/flow.h>
#include <hass/load.h>
#include <hass/round.h>
#include <hass/stream.h>
#include <hass/types.h>

HASS_BEGIN_DECLS

/**
 * HassParameter: a numeric parameter of a strategy.
 * @name: as in "strategy:name=value"; NULL ends the table.
 * @preset: the value if none is given.
 * @min, @max: inclusive bounds of the value.
 * @help: one line for listings.
 *
 * The struct has no size field, so its layout never changes.
 */
typedef struct
{
  const char *name;
  double preset, min, max;
  const char *help;
} HassParameter;

/**
 * HassProfileRate: what earlier runs of a farm measured of a device.
 * @work_per_ns: work per ns of busy time, copies and launches included; 0:
 *   unknown.
 * @latency_ns: fixed part of the time of a bundle, in ns; of the CPU pool at a
 *   stage of a pipeline: time of a unit inside which all cores help; 0:
 * unknown.
 * @runs: number of runs that contributed, or more: runs of this process in
 *   which a device without a rate was not tried count, too.
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
 * HassNoteFunc: receives one line of an explanation, without its newline.
 * @data: HassStrategyEnv.note_data.
 */
typedef void (*HassNoteFunc) (gpointer data, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

/**
 * HassStrategyEnv: the farm and the devices that a strategy is created for.
 * Owned by the engine; valid until destroy() returns.
 * @struct_size: sizeof (HassStrategyEnv) in the library. A strategy that
 *   supports libraries older than its header reads no field beyond it.
 * @farm_name: name of the farm, for messages and the profile store.
 * @farm: kind of the farm.
 * @cost: cost class of its loads.
 * @n_devices: number of devices.
 * @devices: [@n_devices] traits; a CPU pool, if present, is device 0.
 * @parameters: values, in the order of HassStrategyOps.parameters.
 * @seed: seed for random choices.
 * @profile: [@n_devices] rates of earlier runs of a farm with this name, kind
 *   and cost class. Of a pipeline [@n_classes * @n_devices]: units of class c
 *   by ns of device d, of a CPU pool of all its cores, at c * @n_devices + d.
 *   NULL in virtual time, in a farm without a name, and where the profile store
 *   is turned off.
 * @entry_bytes: bytes that each GPU copies before its first bundle of a round
 *   whatever the size of its share; 0: none or unknown.
 * @merge_ns: host time at the end of a round in which more than one device
 *   participated, in ns; 0: none or unknown.
 * @note: NULL unless explanations are written (HassRunOptions.explain). A
 *   strategy calls it, in its ops only, with one line for each measurement and
 *   decision; the engine adds farm and time. A strategy tests for NULL before
 *   it prepares a line, so that explanations cost nothing when unused.
 * @note_data: first argument of @note.
 * @element_threads: GPU threads for one element, as the farm states; 0:
 *   unknown. A GPU is filled by (width / @element_threads) elements.
 * @n_classes, @classes: pipelines: [@n_classes] the stages; else 0 and NULL.
 * @n_functions: number of functions of a function farm that are told apart, see
 *   hass_round_function(): HASS_MOST_FUNCTIONS where a generator may emit tasks
 *   of further ones; 0: they are not. hass_round_functions() says how many a
 *   round has.
 * @function_profile: [@n_functions * @n_devices] as @profile, of function f on
 *   device d at f * @n_devices + d; NULL where @profile is.
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
  guint n_classes;
  const HassClassTraits *classes;
  guint n_functions;
  const HassProfileRate *function_profile;
} HassStrategyEnv;

/**
 * HassAnswer: what a strategy answers when a device has room.
 * @HASS_TAKE: the device takes the units of the grant.
 * @HASS_WAIT: the device is asked again after the next completion of any
 *   device, or after HassGrant.within_ns. If nothing is in flight, all devices
 *   wait and none is about to open, they are asked with force.
 * @HASS_DONE: the device gets no more units in this round.
 */
typedef enum
{
  HASS_TAKE,
  HASS_WAIT,
  HASS_DONE
} HassAnswer;

/**
 * HassCompletion: the timing of a finished grant. A CPU pool completes one
 * when the last of its cores has run out of the granted units.
 * @device: index of the device.
 * @units, @work, @elements, @bytes: what was computed; work as the cost class
 *   shows it.
 * @grant_ns: when the grant was made. All times are in ns on one clock.
 * @start_ns: when the device started the grant, not before the end of the
 *   device's previous bundle.
 * @end_ns: when the grant left the device; its results may have been noticed
 *   later.
 * @h2d_ns, @kernel_ns, @d2h_ns: durations of the copy to the device, of the
 *   kernels and of the copy back; a CPU pool has @kernel_ns only.
 * @first_of_round: this is the device's first completion in the round.
 * @failed: the units were given back to the round.
 * @host_ns: core time that the host spent on the grant apart from the CPU
 *   pool's own units: copies into and out of pinned memory, often by several
 *   threads.
 * @worker_ns: duration of the GPU worker's calls on the host: some us, but
 *   often 0.1 s for the first call, which loads libraries and creates handles
 *   while the GPU idles.
 * @kernel_busy_ns: time during which the GPU ran kernels of this grant: the
 *   union, not the sum, over its bundles. 0: unknown, or a CPU pool.
 * @h2d_busy_ns, @d2h_busy_ns: likewise of its copies, each direction by itself.
 * @setup_ns: time in which the device prepared what later grants use as well,
 *   such as larger buffers; 0: none.
 * @function: of a GPU, hass_round_function() of the grant's first unit. Of a
 *   CPU pool all units are of this function.
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
  double h2d_busy_ns, d2h_busy_ns;
  double setup_ns;
  guint function;
} HassCompletion;

/**
 * HassBegun: units that a core computes and would give back, since their worker
 * has asked whether it should stop (hass_worker_stopping()).
 * @first: position of the first.
 * @units, @work: their number, and their work as the cost class shows it.
 * @ns: for how long it has computed them, in ns.
 * @take: the core is to give them back.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  guint64 first, units;
  double work;
  gint64 ns;
  gboolean take;
  guint64 reserved[2];
} HassBegun;

/**
 * HassDeviceSummary: what a device did in a round.
 * @units: number of units that it computed.
 * @work: their work, as the cost class of the farm shows it.
 * @bundles: number of its grants; of a CPU pool, number of pulls, which is how
 *   often its cores took units from what the pool was granted.
 * @busy_ns: time in which the device computed, as in #HassProgress.
 * @last_finish_ns: end of its last unit, in ns from the beginning of the round;
 *   0: it computed nothing.
 * @reserved: zero; for later versions.
 */
typedef struct
{
  guint64 units;
  double work;
  guint64 bundles;
  double busy_ns;
  double last_finish_ns;
  guint64 reserved[3];
} HassDeviceSummary;

/**
 * HassRoundSummary: a finished round.
 * @number: number of the round in its farm, from 0.
 * @units: number of units.
 * @makespan_ns: from its beginning to the end of its last unit, in ns.
 * @n_devices: number of devices.
 * @devices: [@n_devices] what each did; valid during the call.
 */
typedef struct
{
  guint64 number;
  guint64 units;
  double makespan_ns;
  guint n_devices;
  const HassDeviceSummary *devices;
} HassRoundSummary;

/**
 * HassStrategyFlags: what a strategy can do.
 * @HASS_STRATEGY_OPEN: it serves open rounds, too. Then loads that workers
 *   emit, and tasks with a priority, do not wait for the end of a round: they
 *   join an open one, beside which a round may run. For an open round only
 *   the ops grant, granted and observe are called. It ends, and another may
 *   follow, when it is full or nothing is left to join. When units become
 *   ready, devices that were answered WAIT or DONE are asked again. In
 *   partition farms there are no open rounds.
 */
typedef enum
{
  HASS_STRATEGY_OPEN = 1 << 0
} HassStrategyFlags;

/**
 * HassStrategyOps: one strategy. Optional ops may be NULL.
 * @struct_size: sizeof (HassStrategyOps). The table may end after @grant; ops
 *   beyond its end are NULL.
 * @name: lower case with hyphens, such as "hass-ce".
 * @summary: one line for listings.
 * @source: paper and section, or NULL.
 * @farms: bits of #HassFarmKind that the strategy serves, or HASS_FARM_ANY.
 * @parameters: table that ends with a NULL name, or NULL.
 * @create: returns the state for one farm, which @destroy frees; NULL with
 *   @error set if the strategy cannot serve the farm.
 * @begin_round: optional: orders, carves or assigns the units of a new round.
 *   Default: they stay in the common range in order of emission.
 * @grant: called when @device has room; fills in @grant. With @force all
 *   devices wait, nothing is in flight and units remain; if all devices answer
 *   WAIT again, the engine grants the CPU pool one unit. TAKE from an empty
 *   source counts as WAIT. If all devices have answered DONE, the engine
 *   grants the remaining units to the CPU pool, or to the GPUs if there is no
 *   CPU pool.
 * @granted: optional: called after a TAKE with the units actually taken.
 *   Default: nothing.
 * @observe: optional: called when a grant has finished. Default: nothing.
 * @end_round: optional: called when all units of the round are finished.
 *   Default: nothing.
 * @destroy: frees the state; required if @create returns allocated memory.
 * @serve: pipelines, required there and not used elsewhere: called when
 *   @device has room, and for the CPU pool when something has changed, at most
 *   every 20 us; fills in @serve. For the CPU pool the answer has no meaning.
 *   If cores are the only device it is not called. DONE is the same as WAIT.
 *   If every device waits, nothing is in flight and units are ready, the engine
 *   asks with @force; if all wait again, the CPU pool takes from all classes
 *   that it can run, else the first device takes one unit.
 * @served: optional: called when a grant in a pipeline is done, and for the CPU
 *   pool before it is asked, with what its cores have done of each class.
 * @flags: bits of #HassStrategyFlags.
 * @place: dataflows, optional: called when a task has become ready that a
 *   device can compute, and again for all that wait when a device opens, is
 *   lost, or is late to open; changes @spot. Default: as it is set.
 * @look: dataflows, optional: called when a worker has room, with @n = 0, 1, ..
 *   until the worker has found a task; fills in @look. Returns: FALSE if there
 *   is no further queue for it. Default: queue 0, from its beginning.
 * @suits: dataflows, optional: called for a task that a worker finds and can
 *   compute; may fill in @verdict. Default: it takes the task.
 * @left_out: pipelines, optional: called at the end for a device that could
 *   compute a class and had little of it. Returns: (transfer full) (nullable):
 *   why, as a sentence without a full stop; free with g_free(). Default: NULL.
 *
 * @spoliate: farms, optional: called when @device, which is no CPU pool, holds
 *   nothing and no unit waits, while cores compute units that they would give
 *   back and the device can run: @begun [@n]. Sets @take of those that the
 *   device should have instead. They wait as soon as the cores have given them
 *   back, which may be never; what was done of them is lost. A core that ends
 *   them first keeps them. Returns: after how many ns it is called again if
 *   nothing is completed before; 0: it need not be. Default: 0.
 *
 * The ops of a dataflow are called for each task, under a lock that all workers
 * take: they must not block, and a microsecond counts.
 *
 * Rounds overlap if the CPU pool is the only device: the next round may begin
 * before the last units of the previous one have finished. Otherwise there is
 * one round at a time.
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
  HassAnswer (*serve) (gpointer self, const HassStreamState *state,
                       guint device, gboolean force, HassServe *serve);
  void (*served) (gpointer self, const HassStreamState *state,
                  const HassServed *done);
  guint flags;
  void (*place) (gpointer self, const HassFlowState *state,
                 const HassFlowTask *task, HassFlowSpot *spot);
  gboolean (*look) (gpointer self, const HassFlowState *state, gint worker,
                    guint n, HassFlowLook *look);
  HassFlowAnswer (*suits) (gpointer self, const HassFlowState *state,
                           gint worker, const HassFlowTask *task,
                           HassFlowVerdict *verdict);
  char *(*left_out) (gpointer self, guint class_index, guint device);
  gint64 (*spoliate) (gpointer self, HassRound *round, guint device,
                      HassBegun *begun, guint n);
} HassStrategyOps;

/**
 * hass_strategy_register:
 * @ops: copied; the strings and the table it points to must stay valid for the
 *   life of the process.
 *
 * Registers a strategy under its name. Any thread; does not block.
 *
 * Returns: TRUE; or FALSE with HASS_ERROR_STRATEGY if the name is taken or
 * malformed or a required op is missing, with HASS_ERROR_INVALID if the table
 * is too short or has ops that this version of the library does not know.
 */
gboolean hass_strategy_register (const HassStrategyOps *ops, GError **error);

/**
 * hass_strategy_find:
 * @name: a registered name, without parameters.
 *
 * Looks a strategy up. Any thread; does not block.
 *
 * Returns: the ops, owned by the library; or NULL with HASS_ERROR_STRATEGY
 * and a message that lists the registered names.
 */
const HassStrategyOps *hass_strategy_find (const char *name, GError **error);

/**
 * hass_strategy_list:
 *
 * Lists the registered strategies. Any thread; does not block.
 *
 * Returns: (transfer container): NULL-terminated array of ops, sorted by
 * name. Free the array with g_free().
 */
const HassStrategyOps **hass_strategy_list (void);

/**
 * hass_strategy_default:
 *
 * Any thread; does not block.
 *
 * Returns: the name of the strategy that a farm of this kind and cost class
 * uses if none is chosen: "auto", for pipelines "pipe-auto", for dataflows
 * "flow-auto".
 */
const char *hass_strategy_default (HassFarmKind farm, HassCostClass cost);

HASS_END_DECLS

#endif
