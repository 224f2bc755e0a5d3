/* SPDX-License-Identifier: MIT */
/* pipe.h: modelled pipelines: the file that describes one, random ones, and
   the least time that any schedule needs for one.

   DESIGN. A SimPipe is what a file says; a SimPipeCase is a pipeline on a
   machine, with the mean times of each stage on each device and the true cost
   of each token at each stage. Costs depend on the seed and on a token's number
   at the stage alone, so they are the same for every strategy. Token j of a
   stage becomes the tokens floor (j e) to floor ((j + 1) e) - 1 of the next
   one, e being what the stage emits for each token.

   Thread safety: any thread, each with objects of its own. */
#ifndef HASS_SIM_PIPE_H
#define HASS_SIM_PIPE_H

#include "hass/pipeline.h"
#include "tools/hass-sim/sim.h"

/* As many as a pipeline may have, and all devices of a machine. */
#define SIM_MOST_STAGES 32
#define SIM_MOST_DEVICES (1 + SIM_MOST_GPUS)

/**
 * SimStage: a stage; [stage NAME] of a file.
 * @cpu, @gpu: what can run it.
 * @work: of a mean token, in the platform's units of work.
 * @family, @family_a, @family_b: how costs are distributed around it.
 * @cpu_ns, @gpu_ns: time of a mean token on a core and on any filled GPU; 0: by
 *   the rates of the platform.
 * @output_bytes, @output_ratio: a token leaves with @output_bytes +
 *   @output_ratio * the bytes it came with.
 * @elements: of a token: how much of a GPU's width it fills.
 * @emits: tokens that it emits for each that it gets, on average: below 1 it
 *   drops some, above 1 some become many.
 * @loops: efficiency with which all cores compute one token; 0: one core does.
 */
typedef struct
{
  char *name;
  HassStageMode mode;
  gboolean cpu, gpu;
  guint at_once;
  HassCostClass cost;
  double work;
  SimFamily family;
  double family_a, family_b;
  double cpu_ns, gpu_ns;
  double output_bytes, output_ratio;
  guint64 elements;
  double emits, loops;
} SimStage;

/* A pipeline. `tokens`: loads that it gets; `in_flight`, `in_flight_bytes`:
   most tokens in flight and most bytes of them, 0: chosen by the library;
   `bytes`: of a token when it comes. */
typedef struct
{
  char *name, *path, *source;
  char *platform; /* default machine, or NULL */
  guint64 tokens;
  guint64 in_flight, in_flight_bytes;
  double bytes;
  guint n_stages;
  SimStage stages[SIM_MOST_STAGES];
} SimPipe;

SimPipe *sim_pipe_load (const char *path, GError **error);
void sim_pipe_free (SimPipe *pipe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SimPipe, sim_pipe_free)

/* Loads a pipeline and a machine (NULL: the pipeline's own) by name or file. */
gboolean sim_pipe_find (const char *name, const char *platform, SimPipe **pipe,
                        HassPlatform **machine, GError **error);

/**
 * SimPipeCase: a pipeline on a machine.
 * @ns: [stage][device] time of a mean token, on a core or on the filled GPU,
 *   without launches and copies; 0: the device cannot run it.
 * @reach: [stage] tokens that come to it.
 * @in_bytes, @out_bytes: [stage] of a token that comes to it and leaves it.
 * @costs: [stage] prefix sums of relative costs, [reach + 1]; NULL: all are 1.
 * @rate: loads per ns that the machine can sustain; 0: unknown.
 * @bound_ns: least time of the whole run; 0: unknown.
 */
typedef struct
{
  SimPipe *pipe;          /* owned */
  HassPlatform *platform; /* owned */
  guint64 seed;
  guint n_devices;
  guint first_gpu;
  double ns[SIM_MOST_STAGES][SIM_MOST_DEVICES];
  guint64 reach[SIM_MOST_STAGES + 1];
  double in_bytes[SIM_MOST_STAGES], out_bytes[SIM_MOST_STAGES];
  double *costs[SIM_MOST_STAGES];
  double rate, bound_ns;
} SimPipeCase;

/* Takes over the pipeline and the platform, also on failure. Returns: NULL with
   an error that names a stage which no device of the machine can run. */
SimPipeCase *sim_pipe_case_new (SimPipe *pipe, HassPlatform *platform,
                                guint64 seed, GError **error);
void sim_pipe_case_free (SimPipeCase *c);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SimPipeCase, sim_pipe_case_free)

/* Returns: the cost of @n tokens from @token on at a stage, relative to a mean
   token. */
double sim_pipe_cost (const SimPipeCase *c, guint stage, guint64 token,
                      guint64 n);
/* Returns: the first of the tokens of the next stage that come of tokens from
   @token on. */
guint64 sim_pipe_next (const SimPipe *pipe, guint stage, guint64 token);
/* Returns: time in ns of one token alone at a stage on a device, with launch
   and copies, or on all cores where they can help inside it; G_MAXDOUBLE: the
   device cannot run it. */
double sim_pipe_alone_ns (const SimPipeCase *c, guint stage, guint device,
                          double cost);

/* Returns: whether this program can compute bounds: it was built with GLPK. */
gboolean sim_pipe_has_bound (void);
/* Solves the steady state by GLPK: sets c->rate and c->bound_ns. @shares: NULL
   or [stage * n_devices + device], tokens of a stage on a device, for each
   load. */
void sim_pipe_bound (SimPipeCase *c, double *shares);

/**
 * SimPipeOptions: how a case is run.
 * @strategy: name and parameters.
 * @tokens: most tokens in flight; 0: as the pipeline says.
 * @known: the strategy knows the mean times of stages on devices.
 * @pure: the stages that GPUs can run are pure (HassStage.pure).
 * @trace: file that gets a line of JSON an event; or NULL.
 * @record: file that gets a record of the run; or NULL.
 * @events: [@n_events], devices that get slower or are lost; or NULL.
 */
typedef struct
{
  const char *strategy;
  guint64 tokens;
  gboolean known, pure;
  const char *trace, *record;
  const HassVirtualEvent *events;
  guint n_events;
} SimPipeOptions;

/* A run. `through`: tokens that passed the last stage; `in_order`: every
   ordered stage got its tokens in order. */
typedef struct
{
  double makespan_ns;
  guint64 through;
  gboolean in_order;
  HassReport *report; /* owned */
} SimPipeResult;

/* Runs a strategy on a case in the virtual engine. Returns: FALSE with an
   error, and @result has no report. */
gboolean sim_pipe_run (const SimPipeCase *c, const SimPipeOptions *options,
                       SimPipeResult *result, GError **error);

/* Runs all mappings of stages to devices; @best gets the shortest run. Returns:
   FALSE with an error, and @best has no report. */
gboolean sim_pipe_best_mapping (const SimPipeCase *c, SimPipeResult *best,
                                GError **error);

/**
 * SimPipeCommand: hass-sim --pipeline.
 * @name: of a shipped pipeline, a file, or random:N for N random ones,
 *   random:I+N for N from number I on; with a family's name likewise.
 * @platform: the machine, or NULL; not of random pipelines.
 * @strategies: a line of each for each pipeline. "mappings" is the best of all
 *   fixed mappings of the stages to devices.
 * @trace: file that gets the events of the last run but those of mappings; or
 *   NULL.
 * @noise: standard deviation of times; -1: the platform's.
 * @known, @pure: as in SimPipeOptions.
 * @loops: SimStage.loops of the stages that cores and GPUs can run; -1: as the
 *   pipeline says.
 * @summary: only the geometric means.
 * @output: 't': tables; 'j': JSON; 'c': CSV, a line for each run.
 */
typedef struct
{
  const char *name, *platform;
  char **strategies;
  const char *trace;
  guint64 seed;
  double noise, loops;
  gboolean known, pure, summary;
  char output;
} SimPipeCommand;

/* Returns: whether a name stands for random pipelines. */
gboolean sim_pipe_is_drawn (const char *name);
/* Runs and prints. @failed is set if a strategy failed that serves pipelines.
   Returns: FALSE with an error if options or files are invalid. */
gboolean sim_pipe_command (const SimPipeCommand *command, gboolean *failed,
                           GError **error);

/* Returns: case @index of a seed; see random.c. */
SimPipeCase *sim_pipe_random (guint64 seed, guint index);
/* Returns: case @index of a seed of the family @name; see families.c. */
SimPipeCase *sim_pipe_of_family (const char *name, guint64 seed, guint index);
gboolean sim_pipe_is_family (const char *name);

#endif
