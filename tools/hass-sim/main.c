/* SPDX-License-Identifier: MIT */
/* hass-sim: runs modelled workloads on modelled machines under any strategy,
   in virtual time. Exit status: 0; 1 if a strategy failed or the output cannot
   be written; 2 if options or files are invalid.
   Thread safety: one thread. */
#include <stdio.h>
#include <string.h>

#include "device/model/shipped.h"
#include "hass/error.h"
#include "engine/core/environment.h"
#include "tools/hass-sim/flow/flow.h"
#include "tools/hass-sim/pipe/pipe.h"
#include "tools/hass-sim/replay/command.h"
#include "options.h"
#include "summary.h"
#include "tools/output.h"

#define ROUNDS 20

static char *platform, *workload, *pipeline, *strategy, *suite, *trace;
static char *gantt, *plot, *replay, *explanation, *family_name, *dataflow,
    *task, *noise_text, *loops_text;
static char **slow, **lose, **changes;
static gint random_cases, replay_farm;
static gint rounds = SIM_NOT_GIVEN, part_mib = SIM_NOT_GIVEN,
            start_ms = SIM_NOT_GIVEN, kernels = SIM_NOT_GIVEN,
            times = SIM_NOT_GIVEN;
static gint64 seed = 1;
static gboolean json, csv, list, summary_only, no_static, known, pure;

static const GOptionEntry entries[] = {
  { "platform", 'p', 0, G_OPTION_ARG_STRING, &platform,
    "The machine: a file or a name; default: the workload's own", "NAME" },
  { "workload", 'w', 0, G_OPTION_ARG_STRING, &workload,
    "The workload: a file or a name", "NAME" },
  { "pipeline", 0, 0, G_OPTION_ARG_STRING, &pipeline,
    "A pipeline: a file or a name, or random:N for N random ones on random "
    "machines, random:I+N for N from number I on; likewise one-stage:N, video, "
    "chain, tails, short, slow-gpu, cores",
    "NAME" },
  { "dataflow", 0, 0, G_OPTION_ARG_STRING, &dataflow,
    "A dataflow: cholesky:T, lu:T, qr:T, stencil:T:S, wavefront:T[:S], "
    "forkjoin:N, random:N, *.stg, *.json",
    "SPEC" },
  { "times", 0, 0, G_OPTION_ARG_INT, &times,
    "Of --dataflow: record it once, run it N times; times are of the last run",
    "N" },
  { "strategy", 's', 0, G_OPTION_ARG_STRING, &strategy,
    "Strategies, as a,b:param=x,c, or all (default: auto)", "LIST" },
  { "suite", 'S', 0, G_OPTION_ARG_STRING, &suite,
    "All workloads of a suite, or of many: all, hard", "NAME" },
  { "rounds", 'n', 0, G_OPTION_ARG_INT, &rounds,
    "Rounds (default: the workload's, or 20)", "N" },
  { "seed", 0, 0, G_OPTION_ARG_INT64, &seed,
    "Of costs, noise and strategies (default: 1)", "S" },
  { "noise", 0, 0, G_OPTION_ARG_STRING, &noise_text,
    "Relative standard deviation of times (default: the platform's)", "X" },
  { "parts", 0, 0, G_OPTION_ARG_INT, &part_mib,
    "GPUs cut grants into parts of so many MiB, 0: never (default: the "
    "platform's)",
    "MIB" },
  { "kernels", 0, 0, G_OPTION_ARG_INT, &kernels,
    "Kernels that a GPU runs side by side (default: the platform's)", "N" },
  { "start", 0, 0, G_OPTION_ARG_INT, &start_ms,
    "GPUs take their first bundle after so many ms (default: the platform's)",
    "MS" },
  { "slow", 0, 0, G_OPTION_ARG_STRING_ARRAY, &slow,
    "A device gets slower: WHEN is a round (10, 10.5), a part (50%) or a time "
    "(3ms)",
    "DEVICE:FACTOR:WHEN" },
  { "lose", 0, 0, G_OPTION_ARG_STRING_ARRAY, &lose, "A GPU is lost",
    "DEVICE:WHEN" },
  { "random", 0, 0, G_OPTION_ARG_INT, &random_cases,
    "Random workloads on random machines, from the seed", "N" },
  { "family", 0, 0, G_OPTION_ARG_STRING, &family_name,
    "Of the random workloads: usual (default), narrow, rare, unsized, long, "
    "indivisible, function, copied; all: N of each but usual",
    "NAME" },
  { "replay", 'r', 0, G_OPTION_ARG_FILENAME, &replay,
    "A farm that was recorded with HASS_RECORD, under the recorded strategy or "
    "others, on the recorded machine or --platform",
    "FILE" },
  { "replay-farm", 0, 0, G_OPTION_ARG_INT, &replay_farm,
    "Which farm of the record, from 1 (default: the longest)", "N" },
  { "platform-change", 0, 0, G_OPTION_ARG_STRING_ARRAY, &changes,
    "Of the replayed machine: cpu.cores=N, cpu.rate=Fx, gpus=N, gpu0.rate=Fx, "
    "gpu0.link=Fx, gpu0.latency=Fx, gpu0.open=MS",
    "CHANGE" },
  { "trace", 0, 0, G_OPTION_ARG_STRING, &trace,
    "Write a line of JSON per event (of the last strategy)", "FILE" },
  { "explain", 0, 0, G_OPTION_ARG_STRING, &explanation,
    "Add lines that say what strategies decide and why; -: on stderr", "FILE" },
  { "gantt", 0, 0, G_OPTION_ARG_STRING, &gantt,
    "Draw the run of the first strategy", "FILE.svg" },
  { "task", 0, 0, G_OPTION_ARG_STRING, &task,
    "Of --dataflow: --gantt shows what this task, or the last one, waited for",
    "N|last" },
  { "plot", 0, 0, G_OPTION_ARG_STRING, &plot,
    "Draw efficiency per round of all, shares per round of the first",
    "FILE.svg" },
  { "known", 0, 0, G_OPTION_ARG_NONE, &known,
    "Of --pipeline: mean times are known, as if earlier runs had measured them",
    NULL },
  { "pure", 0, 0, G_OPTION_ARG_NONE, &pure,
    "Of --pipeline: stages that GPUs can run may begin again elsewhere", NULL },
  { "loops", 0, 0, G_OPTION_ARG_STRING, &loops_text,
    "Of --pipeline: efficiency of all cores in a token that GPUs can have",
    "E" },
  { "summary", 0, 0, G_OPTION_ARG_NONE, &summary_only,
    "Only the geometric means", NULL },
  { "no-static", 0, 0, G_OPTION_ARG_NONE, &no_static,
    "Do not seek the best static split", NULL },
  { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL },
  { "csv", 0, 0, G_OPTION_ARG_NONE, &csv, "Print CSV", NULL },
  { "list", 'l', 0, G_OPTION_ARG_NONE, &list,
    "List strategies, platforms, workloads and suites", NULL },
  { NULL, 0, 0, 0, NULL, NULL, NULL }
};

/**
 * Bench: a run over cases.
 * @noise, @loops: of --noise and --loops; -1: the platform's, the pipeline's.
 * @summary: a line for each suite or family; @together: one for all.
 * @all: of --json: each SimCase followed by the GPtrArray of its results.
 * @failed: a strategy failed that serves the farm.
 * @head: the CSV's head line is still to be printed.
 */
typedef struct
{
  char **strategies;
  double noise, loops;
  SimSummary *summary, *together;
  GPtrArray *all;
  gboolean failed, head;
} Bench;

/* Refuses options that do not belong to what runs. The first row that fits
   gives the reason. */
static gboolean
check_mode (GError **error)
{
  const guint no_farm = SIM_PIPELINE | SIM_REPLAY | SIM_DATAFLOW;
  const guint no_events = SIM_PIPELINE | SIM_REPLAY | SIM_RANDOM_CASES;
  const char *const what[] = { workload, suite,    random_cases ? "N" : NULL,
                               replay,   pipeline, dataflow };
  const SimGiven others[] = {
    { "rounds", rounds != SIM_NOT_GIVEN, SIM_DATAFLOW,
      "a dataflow has no rounds" },
    { "parts", part_mib >= 0, SIM_DATAFLOW, "a task is not cut into parts" },
    { "kernels", kernels >= 0, SIM_DATAFLOW,
      "a modelled GPU computes one task of a dataflow at a time" },
    { "no-static", no_static, SIM_DATAFLOW, "no static split of it is sought" },
    { "summary", summary_only, SIM_DATAFLOW, "there is one case" },
    { "gantt", gantt && times > 0, SIM_DATAFLOW,
      "with --times: it draws one run" },
    { "rounds", rounds != SIM_NOT_GIVEN, no_farm, NULL },
    { "parts", part_mib >= 0, no_farm, NULL },
    { "kernels", kernels >= 0, no_farm, NULL },
    { "start", start_ms >= 0, SIM_PIPELINE | SIM_REPLAY, NULL },
    { "slow", slow != NULL, no_events, NULL },
    { "lose", lose != NULL, no_events, NULL },
    { "no-static", no_static, no_farm, NULL },
    { "noise", noise_text != NULL, SIM_REPLAY, NULL },
    { "summary", summary_only, SIM_REPLAY, "there is one farm" },
    { "trace", trace != NULL, SIM_REPLAY, NULL },
    { "platform", platform && pipeline && sim_pipe_is_drawn (pipeline),
      SIM_PIPELINE, NULL },
    { NULL, FALSE, 0, NULL }
  };
  return sim_check_mode (what, others, error);
}

/* Whether the options that choose and draw cases fit together. */
static gboolean
check_cases (GError **error)
{
  if (!check_mode (error))
    return FALSE;
  if (gantt && !workload && !dataflow)
    return sim_refuse (
        error, "--gantt draws one case: --workload or --dataflow is needed");
  if (task && !(gantt && dataflow))
    return sim_refuse (error, "--task belongs to --dataflow with --gantt");
  if (times != SIM_NOT_GIVEN && (!dataflow || times == 0))
    return sim_refuse (error, "--times belongs to --dataflow, from 1");
  if (plot && !workload)
    return sim_refuse (error, "--plot draws one case: --workload is needed");
  if ((known || pure || loops_text) && !pipeline)
    return sim_refuse (error,
                       "--known, --pure and --loops belong to --pipeline");
  if (dataflow && json && csv)
    return sim_refuse (error, "--json and --csv exclude each other");
  return (replay_farm >= 0 && (replay || (!changes && !replay_farm)))
         || sim_refuse (error, "--replay-farm and --platform-change belong to "
                               "--replay; farms are counted from 1");
}

static gboolean
parse (int argc, char **argv, Bench *b, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_set_summary (
      context, "Runs modelled workloads on modelled machines under any "
               "strategy, in virtual time.");
  g_option_context_set_description (context, "See hass-sim(1).");
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, error))
    return FALSE;
  if (explanation)
    g_setenv ("HASS_EXPLAIN", explanation, TRUE);
  if (argc > 1)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION,
                   "unknown argument %s", argv[1]);
      return FALSE;
    }
  const SimCount counts[]
      = { { "--rounds", rounds },  { "--random", random_cases },
          { "--parts", part_mib }, { "--kernels", kernels },
          { "--start", start_ms }, { "--times", times } };
  if (!sim_check_counts (counts, G_N_ELEMENTS (counts), error))
    return FALSE;
  if (family_name && random_cases == 0)
    return sim_refuse (error, "--family belongs to --random");
  if (!sim_parse_part ("--noise", noise_text, &b->noise, error)
      || !sim_parse_part ("--loops", loops_text, &b->loops, error))
    return FALSE;
  if (list)
    return TRUE;
  if (!check_cases (error))
    return FALSE;
  if ((replay && !strategy) || dataflow)
    return TRUE;
  b->strategies = sim_strategies (strategy   ? strategy
                                  : pipeline ? "pipe-auto"
                                             : "auto",
                                  !pipeline && !replay, error);
  return b->strategies != NULL;
}

/* -- Cases -------------------------------------------------------------- */

/* What the command line says of the machine. */
static void
adjust (const Bench *b, HassPlatform *p)
{
  sim_adjust (&(SimAdjust){ b->noise, part_mib, kernels, start_ms }, p);
}

/* @name: "WORKLOAD" or, of a suite, "WORKLOAD@PLATFORM". */
static SimCase *
load_case (const Bench *b, const char *name, GError **error)
{
  SimWorkload *w;
  HassPlatform *p;
  gsize length = strcspn (name, "@");
  g_autofree char *workload_name = g_strndup (name, length);
  const char *on = platform || !name[length] ? platform : name + length + 1;
  if (!sim_load (workload_name, on, &w, &p, error))
    return NULL;
  adjust (b, p);
  g_autoptr (GArray) events
      = g_array_new (FALSE, FALSE, sizeof (HassVirtualEvent));
  guint n = rounds > 0 ? (guint)rounds : w->rounds > 0 ? w->rounds : ROUNDS;
  if (!sim_events (events, p, n, slow, lose, error))
    {
      sim_workload_free (w);
      hass_platform_free (p);
      return NULL;
    }
  return sim_case_new (w, p, n, (guint64)seed, (HassVirtualEvent *)events->data,
                       events->len);
}

/* Runs a case, which it takes over. */
static gboolean
run_case (Bench *b, SimCase *c, const char *group, GError **error)
{
  GPtrArray *results
      = g_ptr_array_new_with_free_func ((GDestroyNotify)sim_result_free);
  sim_bounds (c);
  if (!no_static && !sim_best_static (c, error))
    {
      sim_case_free (c);
      g_ptr_array_unref (results);
      return FALSE;
    }
  gboolean unfit = workload != NULL; /* all */
  for (char **s = b->strategies; *s; s++)
    {
      HassSimResult *r = sim_run (c, *s, trace);
      b->failed |= r->refused && !r->unfit;
      unfit &= r->unfit;
      g_ptr_array_add (results, r);
    }
  b->failed |= unfit;
  if (csv)
    sim_print_csv (c, results, b->head);
  else if (!json && !summary_only)
    sim_print_table (c, results);
  b->head = FALSE;
  sim_summary_add (b->summary, group, results);
  if (suite && strcmp (suite, "all") == 0)
    sim_summary_add (b->together, "all suites together", results);
  if (suite && strcmp (suite, "hard") == 0)
    sim_summary_add (b->together, "hard suites together", results);
  gboolean drawn = (!gantt || sim_draw_gantt (results, gantt, error))
                   && (!plot || sim_draw_plot (results, plot, error));
  if (json)
    {
      g_ptr_array_add (b->all, c);
      g_ptr_array_add (b->all, results);
      return drawn;
    }
  g_ptr_array_unref (results);
  sim_case_free (c);
  return drawn;
}

static gboolean
run_one (Bench *b, const char *name, const char *group, GError **error)
{
  SimCase *c = load_case (b, name, error);
  return c && run_case (b, c, group, error);
}

static gboolean
run_suite (Bench *b, const char *name, GError **error)
{
  g_auto (GStrv) members = sim_suite (name, error);
  gboolean ok = members != NULL;
  for (char **m = members; ok && *m; m++)
    ok = run_one (b, *m, name, error);
  return ok;
}

static gboolean
run_suites (Bench *b, char **names, GError **error)
{
  gboolean ok = TRUE;
  for (char **n = names; ok && *n; n++)
    ok = run_suite (b, *n, error);
  return ok;
}

/* @which: "all", "hard" or one suite. */
static gboolean
run_suites_of (Bench *b, const char *which, GError **error)
{
  gboolean all = strcmp (which, "all") == 0;
  if (!all && strcmp (which, "hard") != 0)
    return run_suite (b, which, error);
  g_auto (GStrv) names = all ? sim_suite_names () : sim_hard_suite_names ();
  return run_suites (b, names, error);
}

static gboolean
run_family (Bench *b, SimRandom family, GError **error)
{
  static const char *const classes[] = { "equal", "sized", "unknown" };
  for (gint i = 0; i < random_cases; i++)
    {
      SimCase *c = sim_random_case_of (family, (guint64)seed, (guint)i,
                                       rounds > 0 ? (guint)rounds : ROUNDS);
      const char *name
          = family == SIM_RANDOM_USUAL ? "random" : sim_random_name (family);
      g_autofree char *group
          = g_strdup_printf ("%s, %s", name, classes[c->workload->cost]);
      adjust (b, c->platform);
      if (!run_case (b, c, group, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
run_random (Bench *b, GError **error)
{
  gboolean all = family_name && strcmp (family_name, "all") == 0, any = FALSE;
  g_autoptr (GString) known = g_string_new (NULL);
  for (SimRandom f = 0; f < SIM_RANDOM_FAMILIES; f++)
    {
      const char *name = sim_random_name (f);
      gboolean usual = f == SIM_RANDOM_USUAL;
      g_string_append_printf (known, "%s, ", name);
      if (family_name ? (all ? usual : strcmp (family_name, name) != 0)
                      : !usual)
        continue;
      any = TRUE;
      if (!run_family (b, f, error))
        return FALSE;
    }
  if (!any)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "--family %s: known are %sall", family_name, known->str);
  return any;
}

static char
output (void)
{
  return json ? 'j' : csv ? 'c' : 't';
}

static gboolean
run_replay (Bench *b, GError **error)
{
  g_autofree char *path
      = platform ? hass_shipped_find ("platforms", platform, error) : NULL;
  SimReplay s = { .path = replay,
                  .farm = (guint)replay_farm,
                  .platform = path,
                  .changes = changes,
                  .strategies = b->strategies,
                  .seed = (guint64)seed,
                  .output = output () };
  return (!platform || path) && sim_replay (&s, &b->failed, error);
}

static gboolean
run_pipeline (Bench *b, GError **error)
{
  SimPipeCommand command = { .name = pipeline,
                             .platform = platform,
                             .strategies = b->strategies,
                             .trace = trace,
                             .seed = (guint64)seed,
                             .noise = b->noise,
                             .loops = b->loops,
                             .known = known,
                             .pure = pure,
                             .summary = summary_only,
                             .output = output () };
  return sim_pipe_command (&command, &b->failed, error);
}

static gboolean
run_dataflow (const Bench *b, GError **error)
{
  SimFlowCommand command = { .spec = dataflow,
                             .platform = platform,
                             .strategies = strategy,
                             .seed = (guint64)seed,
                             .output = output (),
                             .trace = trace,
                             .gantt = gantt,
                             .task = task,
                             .noise = b->noise,
                             .start_ms = start_ms,
                             .times = (guint)MAX (times, 0),
                             .slow = slow,
                             .lose = lose };
  return sim_flow_command (&command, error);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  Bench b = { .head = TRUE };
  output_begin ();
  if (!parse (argc, argv, &b, &error) || !hass_environment_check (&error))
    {
      fprintf (stderr, "hass-sim: %s\n", error->message);
      return 2;
    }
  if (list)
    {
      sim_print_list ();
      return 0;
    }
  b.summary = sim_summary_new ();
  b.together = sim_summary_new ();
  b.all = g_ptr_array_new ();
  gboolean ok = replay             ? run_replay (&b, &error)
                : pipeline         ? run_pipeline (&b, &error)
                : dataflow         ? run_dataflow (&b, &error)
                : random_cases > 0 ? run_random (&b, &error)
                : workload         ? run_one (&b, workload, workload, &error)
                                   : run_suites_of (&b, suite, &error);
  if (ok && json && !replay && !pipeline && !dataflow)
    sim_print_json (b.all);
  else if (ok && !csv && !workload && !replay && !pipeline && !dataflow)
    {
      sim_summary_print (b.summary);
      sim_summary_print (b.together);
    }
  if (!ok)
    fprintf (stderr, "hass-sim: %s\n", error->message);
  for (guint i = 0; i + 1 < b.all->len; i += 2)
    {
      g_ptr_array_unref (b.all->pdata[i + 1]);
      sim_case_free (b.all->pdata[i]);
    }
  g_ptr_array_unref (b.all);
  sim_summary_free (b.summary);
  sim_summary_free (b.together);
  g_strfreev (b.strategies);
  return !ok ? 2 : b.failed ? 1 : 0;
}
