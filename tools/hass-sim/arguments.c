/* SPDX-License-Identifier: MIT */
/* arguments.c: see arguments.h.
   Thread safety: see arguments.h. */
#include "arguments.h"

#include "examples/decimal_options.h"
#include "tools/hass-sim/pipe/pipe.h"
#include "options.h"
#include "sim.h"
#include "tools/same_file.h"

#define READ 5 /* files that are read, before those that are written */

static SimArguments a = { .rounds = SIM_NOT_GIVEN,
                          .part_mib = SIM_NOT_GIVEN,
                          .start_ms = SIM_NOT_GIVEN,
                          .kernels = SIM_NOT_GIVEN,
                          .times = SIM_NOT_GIVEN,
                          .replay_farm = SIM_NOT_GIVEN,
                          .seed = 1 };

static const GOptionEntry entries[] = {
  { "platform", 'p', 0, G_OPTION_ARG_STRING, &a.platform,
    "The machine: a file or a name; default: the workload's own", "NAME" },
  { "workload", 'w', 0, G_OPTION_ARG_STRING, &a.workload,
    "The workload: a file or a name", "NAME" },
  { "pipeline", 0, 0, G_OPTION_ARG_STRING, &a.pipeline,
    "A pipeline: a file or a name, or random:N for N random ones on random "
    "machines, random:I+N for N from number I on; likewise one-stage:N, video, "
    "chain, tails, short, slow-gpu, cores",
    "NAME" },
  { "dataflow", 0, 0, G_OPTION_ARG_STRING, &a.dataflow,
    "A dataflow: cholesky:T, lu:T, qr:T, stencil:T:S, wavefront:T[:S], "
    "forkjoin:N, random:N, *.stg, *.json",
    "SPEC" },
  { "times", 0, 0, G_OPTION_ARG_INT, &a.times,
    "Of --dataflow: record it once, run it N times; times are of the last run",
    "N" },
  { "strategy", 's', 0, G_OPTION_ARG_STRING, &a.strategy,
    "Strategies, as a,b:param=x,c, or all (default: auto)", "LIST" },
  { "suite", 'S', 0, G_OPTION_ARG_STRING, &a.suite,
    "All workloads of a suite, or of many: all, hard", "NAME" },
  { "rounds", 'n', 0, G_OPTION_ARG_INT, &a.rounds,
    "Rounds (default: the workload's, or 20)", "N" },
  { "seed", 0, 0, G_OPTION_ARG_INT64, &a.seed,
    "Of costs, noise and strategies (default: 1)", "S" },
  { "noise", 0, 0, G_OPTION_ARG_STRING, &a.noise_text,
    "Relative standard deviation of times (default: the platform's)", "X" },
  { "parts", 0, 0, G_OPTION_ARG_INT, &a.part_mib,
    "GPUs cut grants into parts of so many MiB, 0: never (default: the "
    "platform's)",
    "MIB" },
  { "kernels", 0, 0, G_OPTION_ARG_INT, &a.kernels,
    "Kernels that a GPU runs side by side (default: the platform's)", "N" },
  { "start", 0, 0, G_OPTION_ARG_INT, &a.start_ms,
    "GPUs take their first bundle after so many ms (default: the platform's)",
    "MS" },
  { "slow", 0, 0, G_OPTION_ARG_STRING_ARRAY, &a.slow,
    "A device gets slower: WHEN is a round (10, 10.5), a part (50%) or a time "
    "(3ms)",
    "DEVICE:FACTOR:WHEN" },
  { "lose", 0, 0, G_OPTION_ARG_STRING_ARRAY, &a.lose, "A GPU is lost",
    "DEVICE:WHEN" },
  { "random", 0, 0, G_OPTION_ARG_INT, &a.random_cases,
    "Random workloads on random machines, from the seed", "N" },
  { "family", 0, 0, G_OPTION_ARG_STRING, &a.family_name,
    "Of the random workloads: usual (default), narrow, rare, unsized, long, "
    "indivisible, function, copied, few, functions; all: N of each but usual",
    "NAME" },
  { "replay", 'r', 0, G_OPTION_ARG_FILENAME, &a.replay,
    "A farm that was recorded with HASS_RECORD, under the recorded strategy or "
    "others, on the recorded machine or --platform",
    "FILE" },
  { "replay-farm", 0, 0, G_OPTION_ARG_INT, &a.replay_farm,
    "Which farm of the record, from 1 (default: the longest)", "N" },
  { "platform-change", 0, 0, G_OPTION_ARG_STRING_ARRAY, &a.changes,
    "Of the replayed machine: cpu.cores=N, cpu.rate=Fx, gpus=N, gpu0.rate=Fx, "
    "gpu0.link=Fx, gpu0.latency=Fx, gpu0.open=MS",
    "CHANGE" },
  { "trace", 0, 0, G_OPTION_ARG_STRING, &a.trace,
    "Write a line of JSON per event (of the last strategy)", "FILE" },
  { "explain", 0, 0, G_OPTION_ARG_STRING, &a.explanation,
    "Add lines that say what strategies decide and why; -: on stderr", "FILE" },
  { "gantt", 0, 0, G_OPTION_ARG_STRING, &a.gantt,
    "Draw the run of the first strategy", "FILE.svg" },
  { "task", 0, 0, G_OPTION_ARG_STRING, &a.task,
    "Of --dataflow: --gantt shows what this task, or the last one, waited for",
    "N|last" },
  { "plot", 0, 0, G_OPTION_ARG_STRING, &a.plot,
    "Draw efficiency per round of all, shares per round of the first",
    "FILE.svg" },
  { "known", 0, 0, G_OPTION_ARG_NONE, &a.known,
    "Of --pipeline: mean times are known, as if earlier runs had measured them",
    NULL },
  { "pure", 0, 0, G_OPTION_ARG_NONE, &a.pure,
    "Of --pipeline: stages that GPUs can run may begin again elsewhere", NULL },
  { "loops", 0, 0, G_OPTION_ARG_STRING, &a.loops_text,
    "Of --pipeline: efficiency of all cores in a token that GPUs can have",
    "E" },
  { "stoppable", 0, 0, G_OPTION_ARG_NONE, &a.stoppable,
    "Workers ask whether they should stop: cores can give back units", NULL },
  { "summary", 0, 0, G_OPTION_ARG_NONE, &a.summary_only,
    "Only the geometric means", NULL },
  { "no-static", 0, 0, G_OPTION_ARG_NONE, &a.no_static,
    "Do not seek the best static split", NULL },
  { "json", 0, 0, G_OPTION_ARG_NONE, &a.json, "Print JSON", NULL },
  { "csv", 0, 0, G_OPTION_ARG_NONE, &a.csv, "Print CSV", NULL },
  { "list", 'l', 0, G_OPTION_ARG_NONE, &a.list,
    "List strategies, platforms, workloads and suites", NULL },
  { NULL, 0, 0, 0, NULL, NULL, NULL }
};

/* Refuses options that do not belong to what runs. The first row that fits
   gives the reason. */
static gboolean
check_mode (GError **error)
{
  const guint no_farm = SIM_PIPELINE | SIM_REPLAY | SIM_DATAFLOW;
  const guint no_events = SIM_PIPELINE | SIM_REPLAY | SIM_RANDOM_CASES;
  const char *const what[]
      = { a.workload, a.suite,    a.random_cases ? "N" : NULL,
          a.replay,   a.pipeline, a.dataflow };
  const SimGiven others[] = {
    { "rounds", a.rounds != SIM_NOT_GIVEN, SIM_DATAFLOW,
      "a dataflow has no rounds" },
    { "parts", a.part_mib >= 0, SIM_DATAFLOW, "a task is not cut into parts" },
    { "kernels", a.kernels >= 0, SIM_DATAFLOW,
      "a modelled GPU computes one task of a dataflow at a time" },
    { "no-static", a.no_static, SIM_DATAFLOW,
      "no static split of it is sought" },
    { "summary", a.summary_only, SIM_DATAFLOW, "there is one case" },
    { "gantt", a.gantt && a.times > 0, SIM_DATAFLOW,
      "with --times: it draws one run" },
    { "rounds", a.rounds != SIM_NOT_GIVEN, no_farm, NULL },
    { "parts", a.part_mib >= 0, no_farm, NULL },
    { "kernels", a.kernels >= 0, no_farm, NULL },
    { "start", a.start_ms >= 0, SIM_PIPELINE | SIM_REPLAY, NULL },
    { "slow", a.slow != NULL, no_events, NULL },
    { "lose", a.lose != NULL, no_events, NULL },
    { "no-static", a.no_static, no_farm, NULL },
    { "stoppable", a.stoppable, no_farm, NULL },
    { "noise", a.noise_text != NULL, SIM_REPLAY, NULL },
    { "summary", a.summary_only, SIM_REPLAY, "there is one farm" },
    { "trace", a.trace != NULL, SIM_REPLAY, NULL },
    { "platform", a.platform != NULL, SIM_RANDOM_CASES,
      "each has a machine of its own" },
    { "platform", a.platform && a.pipeline && sim_pipe_is_drawn (a.pipeline),
      SIM_PIPELINE, NULL },
    { NULL, FALSE, 0, NULL }
  };
  return sim_check_mode (what, others, error);
}

/* Refuses to write a file over one that is read, or over another output. */
static gboolean
check_files (GError **error)
{
  const struct
  {
    const char *option, *path;
  } files[] = { { "workload", a.workload },
                { "platform", a.platform },
                { "pipeline", a.pipeline },
                { "dataflow", a.dataflow },
                { "replay", a.replay },
                { "trace", a.trace },
                { "explain", a.explanation },
                { "gantt", a.gantt },
                { "plot", a.plot } };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    for (guint k = MAX (i + 1, READ); k < G_N_ELEMENTS (files); k++)
      if (files[i].path && files[k].path
          && (i >= READ || g_file_test (files[i].path, G_FILE_TEST_EXISTS))
          && same_file (files[i].path, files[k].path))
        {
          g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                       "--%s %s would replace the file of --%s",
                       files[k].option, files[k].path, files[i].option);
          return FALSE;
        }
  return TRUE;
}

/* Whether the options that choose and draw cases fit together. */
static gboolean
check_cases (GError **error)
{
  if (!check_mode (error) || !check_files (error))
    return FALSE;
  if (a.gantt && !a.workload && !a.dataflow)
    return sim_refuse (
        error, "--gantt draws one case: --workload or --dataflow is needed");
  if (a.task && !(a.gantt && a.dataflow))
    return sim_refuse (error, "--task belongs to --dataflow with --gantt");
  if (a.times != SIM_NOT_GIVEN && (!a.dataflow || a.times == 0))
    return sim_refuse (error, "--times belongs to --dataflow, from 1");
  if (a.plot && !a.workload)
    return sim_refuse (error, "--plot draws one case: --workload is needed");
  if ((a.known || a.pure || a.loops_text) && !a.pipeline)
    return sim_refuse (error,
                       "--known, --pure and --loops belong to --pipeline");
  if (a.json && a.csv)
    return sim_refuse (error, "--json and --csv exclude each other");
  gboolean farm = a.replay_farm != SIM_NOT_GIVEN;
  return ((a.replay || (!a.changes && !farm)) && (!farm || a.replay_farm > 0))
         || sim_refuse (error, "--replay-farm and --platform-change belong to "
                               "--replay; farms are counted from 1");
}

static gboolean
parse (int argc, char **argv, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_set_summary (
      context, "Runs modelled workloads on modelled machines under any "
               "strategy, in virtual time.");
  g_option_context_set_description (context, "See hass-sim(1).");
  if (!decimal_options_parse (context, entries, &argc, &argv, error))
    return FALSE;
  if (a.explanation)
    g_setenv ("HASS_EXPLAIN", a.explanation, TRUE);
  if (argc > 1)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION,
                   "unknown argument %s", argv[1]);
      return FALSE;
    }
  const SimCount counts[]
      = { { "--rounds", a.rounds },  { "--random", a.random_cases },
          { "--parts", a.part_mib }, { "--kernels", a.kernels },
          { "--start", a.start_ms }, { "--times", a.times } };
  if (!sim_check_counts (counts, G_N_ELEMENTS (counts), error))
    return FALSE;
  if (a.family_name && a.random_cases == 0)
    return sim_refuse (error, "--family belongs to --random");
  if (!sim_parse_part ("--noise", a.noise_text, &a.noise, error)
      || !sim_parse_part ("--loops", a.loops_text, &a.loops, error))
    return FALSE;
  if (a.list)
    return TRUE;
  if (!check_cases (error))
    return FALSE;
  if ((a.replay && !a.strategy) || a.dataflow)
    return TRUE;
  a.strategies = sim_strategies (a.strategy   ? a.strategy
                                 : a.pipeline ? "pipe-auto"
                                              : "auto",
                                 !a.pipeline && !a.replay, error);
  return a.strategies != NULL;
}

const SimArguments *
sim_arguments (int argc, char **argv, GError **error)
{
  return parse (argc, argv, error) ? &a : NULL;
}
