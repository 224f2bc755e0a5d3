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
#include "arguments.h"
#include "options.h"
#include "summary.h"
#include "tools/output.h"

#define ROUNDS 20

static const SimArguments *a; /* set once, in main() */

/**
 * Bench: a run over cases.
 * @summary: a line for each suite or family; @together: one for all.
 * @all: of --json: each SimCase followed by the GPtrArray of its results.
 * @failed: a strategy failed that serves the farm.
 * @unwritten: what failed is the writing of a file.
 * @head: the CSV's head line is still to be printed.
 */
typedef struct
{
  SimSummary *summary, *together;
  GPtrArray *all;
  gboolean failed, unwritten, head;
} Bench;

/* -- Cases -------------------------------------------------------------- */

/* What the command line says of the machine. */
static void
adjust (HassPlatform *p)
{
  sim_adjust (&(SimAdjust){ a->noise, a->part_mib, a->kernels, a->start_ms },
              p);
}

/* @name: "WORKLOAD" or, of a suite, "WORKLOAD@PLATFORM". */
static SimCase *
load_case (const char *name, GError **error)
{
  SimWorkload *w;
  HassPlatform *p;
  gsize length = strcspn (name, "@");
  g_autofree char *workload_name = g_strndup (name, length);
  const char *on
      = a->platform || !name[length] ? a->platform : name + length + 1;
  if (!sim_load (workload_name, on, &w, &p, error))
    return NULL;
  adjust (p);
  g_autoptr (GArray) events
      = g_array_new (FALSE, FALSE, sizeof (HassVirtualEvent));
  guint n = a->rounds > 0   ? (guint)a->rounds
            : w->rounds > 0 ? w->rounds
                            : ROUNDS;
  if (!sim_events (events, p, n, a->slow, a->lose, error))
    {
      sim_workload_free (w);
      hass_platform_free (p);
      return NULL;
    }
  return sim_case_new (w, p, n, (guint64)a->seed,
                       (HassVirtualEvent *)events->data, events->len);
}

/* Runs a case, which it takes over. */
static gboolean
run_case (Bench *b, SimCase *c, const char *group, GError **error)
{
  GPtrArray *results
      = g_ptr_array_new_with_free_func ((GDestroyNotify)sim_result_free);
  c->stoppable = a->stoppable;
  sim_bounds (c);
  if (!a->no_static && !sim_best_static (c, error))
    {
      b->unwritten = g_error_matches (*error, HASS_ERROR, HASS_ERROR_IO);
      sim_case_free (c);
      g_ptr_array_unref (results);
      return FALSE;
    }
  gboolean unfit = a->workload != NULL, ran = FALSE; /* all; any */
  for (char **s = a->strategies; *s; s++)
    {
      HassSimResult *r = sim_run (c, *s, a->trace);
      b->failed |= r->refused && !r->unfit;
      unfit &= r->unfit;
      ran |= !r->refused;
      g_ptr_array_add (results, r);
    }
  b->failed |= unfit;
  if (a->csv)
    sim_print_csv (c, results, b->head);
  else if (!a->json && (!a->summary_only || (a->workload && !ran)))
    sim_print_table (c, results);
  b->head = FALSE;
  sim_summary_add (b->summary, group, results);
  if (a->suite && strcmp (a->suite, "all") == 0)
    sim_summary_add (b->together, "all suites together", results);
  if (a->suite && strcmp (a->suite, "hard") == 0)
    sim_summary_add (b->together, "hard suites together", results);
  gboolean drawn = (!a->gantt || sim_draw_gantt (results, a->gantt, error))
                   && (!a->plot || sim_draw_plot (results, a->plot, error));
  if (a->json)
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
  SimCase *c = load_case (name, error);
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
  for (gint i = 0; i < a->random_cases; i++)
    {
      SimCase *c
          = sim_random_case_of (family, (guint64)a->seed, (guint)i,
                                a->rounds > 0 ? (guint)a->rounds : ROUNDS);
      const char *name
          = family == SIM_RANDOM_USUAL ? "random" : sim_random_name (family);
      g_autofree char *group
          = g_strdup_printf ("%s, %s", name, classes[c->workload->cost]);
      adjust (c->platform);
      if (!run_case (b, c, group, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
run_random (Bench *b, GError **error)
{
  gboolean all = a->family_name && strcmp (a->family_name, "all") == 0,
           any = FALSE;
  g_autoptr (GString) families = g_string_new (NULL);
  for (SimRandom f = 0; f < SIM_RANDOM_FAMILIES; f++)
    {
      const char *name = sim_random_name (f);
      gboolean usual = f == SIM_RANDOM_USUAL;
      g_string_append_printf (families, "%s, ", name);
      if (a->family_name ? (all ? usual : strcmp (a->family_name, name) != 0)
                         : !usual)
        continue;
      any = TRUE;
      if (!run_family (b, f, error))
        return FALSE;
    }
  if (!any)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "--family %s: known are %sall", a->family_name, families->str);
  return any;
}

static char
output (void)
{
  return a->json ? 'j' : a->csv ? 'c' : 't';
}

static gboolean
run_replay (Bench *b, GError **error)
{
  g_autofree char *path
      = a->platform ? hass_shipped_find ("platforms", a->platform, error)
                    : NULL;
  SimReplay s = { .path = a->replay,
                  .farm = (guint)MAX (a->replay_farm, 0),
                  .platform = path,
                  .changes = a->changes,
                  .strategies = a->strategies,
                  .seed = (guint64)a->seed,
                  .output = output () };
  return (!a->platform || path) && sim_replay (&s, &b->failed, error);
}

static gboolean
run_pipeline (Bench *b, GError **error)
{
  SimPipeCommand command = { .name = a->pipeline,
                             .platform = a->platform,
                             .strategies = a->strategies,
                             .trace = a->trace,
                             .seed = (guint64)a->seed,
                             .noise = a->noise,
                             .loops = a->loops,
                             .known = a->known,
                             .pure = a->pure,
                             .summary = a->summary_only,
                             .output = output () };
  return sim_pipe_command (&command, &b->failed, error);
}

static gboolean
run_dataflow (Bench *b, GError **error)
{
  SimFlowCommand command = { .spec = a->dataflow,
                             .platform = a->platform,
                             .strategies = a->strategy,
                             .seed = (guint64)a->seed,
                             .output = output (),
                             .trace = a->trace,
                             .gantt = a->gantt,
                             .task = a->task,
                             .noise = a->noise,
                             .start_ms = a->start_ms,
                             .times = (guint)MAX (a->times, 0),
                             .slow = a->slow,
                             .lose = a->lose };
  return sim_flow_command (&command, &b->unwritten, error);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  Bench b = { .head = TRUE };
  output_begin ();
  a = sim_arguments (argc, argv, &error);
  if (!a || !hass_environment_check (&error))
    {
      fprintf (stderr, "hass-sim: %s\n", error->message);
      return 2;
    }
  if (a->list)
    {
      sim_print_list ();
      return 0;
    }
  b.summary = sim_summary_new ();
  b.together = sim_summary_new ();
  b.all = g_ptr_array_new ();
  gboolean ok = a->replay             ? run_replay (&b, &error)
                : a->pipeline         ? run_pipeline (&b, &error)
                : a->dataflow         ? run_dataflow (&b, &error)
                : a->random_cases > 0 ? run_random (&b, &error)
                : a->workload ? run_one (&b, a->workload, a->workload, &error)
                              : run_suites_of (&b, a->suite, &error);
  if (ok && a->json && !a->replay && !a->pipeline && !a->dataflow)
    sim_print_json (b.all);
  else if (ok && !a->csv && (!a->workload || a->summary_only) && !a->replay
           && !a->pipeline && !a->dataflow)
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
  /* Errors of files that are read have HASS_ERROR as their domain. */
  b.unwritten |= !ok && error->domain == G_FILE_ERROR;
  return !ok && !b.unwritten ? 2 : !ok || b.failed ? 1 : 0;
}
