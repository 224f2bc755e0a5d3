/* SPDX-License-Identifier: MIT */
/* sim.h: declarations shared by the files of hass-sim: a workload, a case (a
   workload on a machine) and the result of a strategy.

   DESIGN. A case holds all that is the same for all strategies: the machine
   with the workload's rates, the true costs of all units, the bound of each
   round, the best static split. sim_run() runs one strategy on it in virtual
   time and fills a HassSimResult, which tables and drawings read.

   Thread safety: a case may be read from many threads once its bounds are
   computed; each run has an engine of its own. */
#ifndef HASS_SIM_H
#define HASS_SIM_H

#include "device/model/key_file.h"
#include "engine/virtual/virtual.h"

/* Among strategies the name of the best fixed mapping of a pipeline's stages.
 */
#define SIM_MAPPINGS "mappings"

/* -- Workloads ---------------------------------------------------------- */

typedef enum
{
  SIM_EQUAL,
  SIM_LOGNORMAL, /* sigma */
  SIM_BIMODAL,   /* part, factor */
  SIM_RAMP_UP,   /* factor */
  SIM_RAMP_DOWN, /* factor */
  SIM_SORTED,    /* sigma */
  SIM_CLUSTERED  /* clusters, factor */
} SimFamily;

/* What a workload defines for devices: for "cpu", "gpu" (all), "gpuN", or "gpu
   TEXT", those with TEXT in their label. 0: as in the platform. */
typedef struct
{
  char *which;
  double unit_ns; /* ns a unit, of a core or of the filled GPU */
  double scale;   /* factor on the platform's rate */
  double width;
  double launch_ns;
  double depth;
  int curve; /* HassCurve, or -1 */
} SimRates;

/* A function that a part of the units call. @part: of all units, by comparison
   with the other functions' parts. @cpu_factor, @gpu_factor: on the time of
   these units on a core, on a GPU. */
typedef struct
{
  double part, cpu_factor, gpu_factor;
} SimFunction;

/* A workload file; doc/hass-sim.md describes it. */
typedef struct
{
  char *name, *path, *source;
  char *platform; /* default machine, or NULL */
  HassFarmKind farm;
  HassCostClass cost;
  guint32 units;
  guint64 elements;                  /* of a unit */
  guint64 input_bytes, output_bytes; /* of a unit */
  double work;                       /* mean, of a unit */
  guint rounds;                      /* 0: the default */
  double entry_bytes, merge_ns;
  SimFamily family;
  double family_a, family_b;
  guint warp;      /* neighbours that take as long as the longest on a GPU */
  double gpu_ramp; /* GPU costs grow by this factor along the range */
  gboolean
      sizes; /* elements and bytes of a unit are proportional to its cost */
  gboolean repeat; /* every round has the same costs */
  GArray *rates;   /* SimRates */
  /* [n_functions] of a function farm; n_functions 0: not told apart */
  SimFunction functions[HASS_MOST_FUNCTIONS];
  guint n_functions;
} SimWorkload;

/* A word in a key file and its value; a table of them ends with a NULL name. */
typedef struct
{
  const char *name;
  int value;
} SimChoice;

extern const SimChoice sim_cost_classes[];

/* Read one of the words of a table, and a family of costs (the key "costs"),
   of which nothing but family, family_a and family_b is set. An absent key
   leaves the value. */
gboolean sim_choose (const HassKeyFile *k, const char *group, const char *key,
                     const SimChoice *choices, int *value, GError **error);
gboolean sim_read_family (const HassKeyFile *k, const char *group,
                          SimWorkload *w, GError **error);

/* Reads a function from its group, and adds it to the workload, of which
   [workload] has been read. */
gboolean sim_read_function (const HassKeyFile *k, const char *group,
                            SimWorkload *w, GError **error);
/* Refuses functions that do not go together or with the workload. @group: of
   the last function; or NULL. */
gboolean sim_functions_fit (const HassKeyFile *k, const SimWorkload *w,
                            const char *group, GError **error);
/* Returns: [units] the function that each unit calls. Functions take turns in
   proportion to their parts, the same in every round; free with g_free(). NULL:
   functions are not told apart. */
guint8 *sim_function_of_units (const SimWorkload *w);

SimWorkload *sim_workload_load (const char *path, GError **error);
void sim_workload_free (SimWorkload *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SimWorkload, sim_workload_free)

/* -- Files by name ------------------------------------------------------ */

/* Loads a workload and a machine (NULL: the workload's own) by name or file.
   Free them with sim_workload_free() and hass_platform_free(), or pass them to
   sim_case_new(). */
gboolean sim_load (const char *workload, const char *platform, SimWorkload **w,
                   HassPlatform **p, GError **error);
/* Loads the machine @on for a workload of that name. */
gboolean sim_load_platform (const char *workload, const char *on,
                            HassPlatform **p, GError **error);
/* Returns: the workloads of a suite, "workload" or "workload@platform"; free
   with g_strfreev(). */
char **sim_suite (const char *name, GError **error);
char **sim_suite_names (void);
/* Returns: the suites that "all" excludes. */
char **sim_hard_suite_names (void);

/* Maximum number of GPUs of a machine. */
#define SIM_MOST_GPUS 64

/* -- A case ------------------------------------------------------------- */

/* True costs of a round as prefix sums; NULL: all units cost the same. */
typedef struct
{
  double *cpu; /* [units + 1] */
  double *gpu; /* the same array if GPU costs do not differ */
} SimCosts;

typedef struct
{
  SimWorkload *workload;  /* owned */
  HassPlatform *platform; /* owned; with the workload's rates */
  guint n_devices;
  char **device_names; /* [n_devices] */
  guint rounds;
  guint64 seed;
  HassVirtualEvent *events; /* owned */
  guint n_events;
  guint period;      /* round r has costs[r % period] */
  SimCosts *costs;   /* [period] */
  double *bound_ns;  /* [rounds] */
  double *static_ns; /* [rounds] of the best static split; NULL: not computed */
  char *static_split; /* its strategy specification */
  gint64 most_ms; /* of all rounds of a run, which is late then; 0: no limit */
  gboolean stoppable; /* workers ask whether they should stop */
} SimCase;

/* Takes over the workload and the platform. */
SimCase *sim_case_new (SimWorkload *workload, HassPlatform *platform,
                       guint rounds, guint64 seed,
                       const HassVirtualEvent *events, guint n_events);
void sim_case_free (SimCase *c);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SimCase, sim_case_free)

/* The latest time of an event; it never happens, as virtual time ends before.
 */
#define SIM_LATEST_NS 4e18

/* Parses --slow DEVICE:FACTOR:WHEN and --lose DEVICE:WHEN into @events
   (HassVirtualEvent). @rounds: 0: what runs has none; then WHEN is a time, or a
   part of the run, which is left in @round from 0 to 1 (50% is 0.5) with @at_ns
   0. */
gboolean sim_events (GArray *events, const HassPlatform *p, guint rounds,
                     char **slow, char **lose, GError **error);

/* Returns: work of the units [@unit, @unit + @n) on a kind of device. */
double sim_case_work (const SimCase *c, guint64 round, gboolean gpu,
                      guint32 unit, guint32 n);
/* Returns: elements and bytes of these units, in multiples of a mean unit. */
double sim_case_sizes (const SimCase *c, guint64 round, guint32 unit,
                       guint32 n);
SimCosts sim_costs_new (const SimWorkload *w, guint64 seed);

/* Computes bound_ns; see bound.c. */
void sim_bounds (SimCase *c);
/* Searches the best static split and computes static_ns; see best_static.c. */
gboolean sim_best_static (SimCase *c, GError **error);

/* -- What a strategy made of it ----------------------------------------- */

typedef struct
{
  guint64 units, bundles, bytes;
  double work;    /* as the cost class shows it */
  double busy_ns; /* of a CPU pool the mean over its cores */
  double
      finish_ns; /* since the beginning of the round; 0: it computed nothing */
} SimDevice;

typedef struct
{
  gint64 begin_ns, end_ns;
  guint64 asked;
  SimDevice *devices; /* [n_devices] */
} SimRound;

typedef struct HassSimResult
{
  char *strategy;     /* as requested */
  const SimCase *of;  /* not owned */
  char *refused;      /* why it did not run, or NULL */
  gboolean unfit;     /* the strategy does not serve this kind of farm */
  gboolean unwritten; /* the trace or the explanation was not written */
  gboolean late;      /* it took longer than the case allows */
  guint n_rounds;
  SimRound *rounds; /* [n_rounds] */

  /* Totals; times in ns, parts from 0 to 1. */
  double makespan_ns, steady_ns; /* total; a round of the second half */
  double efficiency, steady_efficiency;
  double first_efficiency, worst_efficiency;
  double against_static; /* NAN: unknown */
  double imbalance;      /* mean of (last - first finish) / makespan */
  double asked;          /* decisions a round */
  guint64 bundles, bytes;
} HassSimResult;

/* Runs a strategy on a case; @trace is a file that gets a line of JSON an
   event, or NULL. Returns: never NULL; errors are in its refused. */
HassSimResult *sim_run (const SimCase *c, const char *strategy,
                        const char *trace);
void sim_result_free (HassSimResult *r);

/* -- Output ------------------------------------------------------------- */

void sim_print_table (const SimCase *c, GPtrArray *results);
void sim_print_csv (const SimCase *c, GPtrArray *results, gboolean head);
void sim_print_json (GPtrArray *all);
void sim_print_list (void);

/* Draw the results of one case, at least one; see draw.c. The Gantt chart and
   the shares show the first result that was not refused, the plot shows all. */
gboolean sim_draw_gantt (GPtrArray *results, const char *path, GError **error);
gboolean sim_draw_plot (GPtrArray *results, const char *path, GError **error);

/* Splits "a,b:x=1,y=2,c" into a, b:x=1,y=2 and c; "all" stands for all
   registered strategies, and the best static split if @oracle. Returns: NULL
   with an error that lists the names. */
char **sim_strategies (const char *text, gboolean oracle, GError **error);

/* Returns: TRUE if a strategy refused a farm with @error because it does not
   serve the farm. */
gboolean sim_unfit (const char *strategy, HassFarmKind farm,
                    const GError *error);

/* Families of random workloads on random machines; see random.c. */
typedef enum
{
  SIM_RANDOM_USUAL,
  SIM_RANDOM_NARROW,
  SIM_RANDOM_RARE,
  SIM_RANDOM_UNSIZED,
  SIM_RANDOM_LONG,
  SIM_RANDOM_INDIVISIBLE,
  SIM_RANDOM_FUNCTION,
  SIM_RANDOM_COPIED,
  SIM_RANDOM_FEW,
  SIM_RANDOM_FUNCTIONS,
  SIM_RANDOM_FAMILIES
} SimRandom;

/* Returns: NULL: no family has this number. */
const char *sim_random_name (SimRandom family);
SimCase *sim_random_case_of (SimRandom family, guint64 seed, guint index,
                             guint rounds);
/* As above, for the usual family. */
SimCase *sim_random_case (guint64 seed, guint index, guint rounds);

#endif
