/* SPDX-License-Identifier: MIT */
/* stg.c: reads a task graph of the Standard Task Graph Set (Kasahara
   Laboratory, Waseda University), those without communication costs.

   DESIGN. The first line has the number n of tasks. Then comes a line for each
   of the tasks 0 to n + 1: its number, its processing time, how many tasks it
   waits for, and their numbers. Lines that begin with # are comments; after the
   last task, such a line begins a part for readers. Tasks 0 and n + 1, the
   entry and the exit, are dummies: where they take no time they are left out,
   which changes no schedule.

   Thread safety: any thread. */
#include <math.h>
#include <string.h>

#include "build.h"
#include "hass/error.h"

/* Of one unit of processing time. The format has no unit. */
#define UNIT_NS 1e6

typedef struct
{
  const char *path;
  GError **error;
  char *next;    /* line */
  guint line;    /* number of the last one that was read */
  guint32 n;     /* number of the exit */
  guint *lines;  /* [n + 1]: where each task is; 0: not yet read */
  double *units; /* [n + 1]: processing times */
  double all_units;
  GArray *edges; /* SimFlowEdge */
} Reader;

/* Returns: FALSE. */
static gboolean G_GNUC_PRINTF (2, 3)
    broken (const Reader *r, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *what = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (r->error, HASS_ERROR, HASS_ERROR_INVALID,
               "dataflow file %s, line %u: %s", r->path, r->line, what);
  return FALSE;
}

/* Returns: the next line that is not empty; NULL: there is none. */
static char *
next_line (Reader *r)
{
  while (*r->next)
    {
      char *line = r->next, *end = strchr (line, '\n');
      r->next = end ? end + 1 : line + strlen (line);
      r->line++;
      if (end)
        *end = '\0';
      g_strstrip (line);
      if (*line)
        return line;
    }
  return NULL;
}

/* Returns: the next line that is not empty and no comment. */
static char *
next_numbers (Reader *r)
{
  char *line;
  while ((line = next_line (r)) && *line == '#')
    ;
  return line;
}

/* Reads a number from 0 to @most. @what: for messages. */
static gboolean
number (const Reader *r, char **at, const char *what, double most,
        double *value)
{
  char *end;
  while (g_ascii_isspace (**at))
    ++*at;
  if (!**at)
    return broken (r, "%s is missing", what);
  *value = g_ascii_strtod (*at, &end);
  if (end == *at || (*end && !g_ascii_isspace (*end)))
    return broken (r, "%s is no number: '%.20s'", what, *at);
  if (!(*value >= 0 && *value <= most))
    return broken (r, "%s is %.15g, not in 0 to %.15g", what, *value, most);
  *at = end;
  return TRUE;
}

static gboolean
whole (const Reader *r, char **at, const char *what, double most,
       guint32 *value)
{
  double v;
  if (!number (r, at, what, most, &v))
    return FALSE;
  *value = (guint32)v;
  return v == floor (v)
         || broken (r, "%s is %.15g, not a whole number", what, v);
}

static gboolean
line_ends (const Reader *r, const char *at)
{
  while (g_ascii_isspace (*at))
    at++;
  return !*at || broken (r, "more than is needed: '%.20s'", at);
}

static gboolean
read_task (Reader *r, char *line)
{
  guint32 task, n_before;
  double units;
  if (!whole (r, &line, "the number of the task", r->n, &task))
    return FALSE;
  if (r->lines[task] > 0)
    return broken (r, "task %u is in line %u, too", task, r->lines[task]);
  if (!number (r, &line, "the processing time", SIM_MOST_FLOW_NS / UNIT_NS,
               &units)
      || !whole (r, &line, "the number of predecessors", r->n, &n_before))
    return FALSE;
  r->lines[task] = r->line;
  r->units[task] = units;
  r->all_units += units;
  if (r->all_units > SIM_MOST_FLOW_NS / UNIT_NS)
    return broken (r, "the tasks up to here take %g together, more than %g",
                   r->all_units, SIM_MOST_FLOW_NS / UNIT_NS);
  if (task == 0 && n_before > 0)
    return broken (r, "task 0, the entry, has %u predecessors", n_before);
  for (guint32 i = 0; i < n_before; i++)
    {
      g_autofree char *what
          = g_strdup_printf ("predecessor %u of %u", i + 1, n_before);
      SimFlowEdge e = { .after = task };
      if (!whole (r, &line, what, r->n, &e.before))
        return FALSE;
      if (e.before == r->n)
        return broken (r, "task %u waits for task %u, the exit", task, r->n);
      g_array_append_val (r->edges, e);
    }
  return line_ends (r, line);
}

static gboolean
read_tasks (Reader *r)
{
  char *line;
  for (guint32 i = 0; i <= r->n; i++)
    {
      if (!(line = next_numbers (r)))
        return broken (r,
                       "the file ends after %u of %u tasks, entry and exit "
                       "included",
                       i, r->n + 1);
      if (!read_task (r, line))
        return FALSE;
    }
  return !(line = next_line (r)) || *line == '#'
         || broken (r, "after %u tasks there is more: '%.20s'", r->n + 1, line);
}

/* Returns: FALSE if the tasks wait for each other. */
static gboolean
make_flow (Reader *r, SimFlow *f)
{
  guint32 first = r->units[0] > 0 ? 0 : 1;
  guint32 end = r->units[r->n] > 0 ? r->n + 1 : r->n;
  guint32 cycle[2];
  SimFlowEdge *e = (SimFlowEdge *)r->edges->data;
  guint n = 0;
  for (guint i = 0; i < r->edges->len; i++)
    if (e[i].before >= first && e[i].after < end)
      e[n++] = (SimFlowEdge){ e[i].before - first, e[i].after - first, FALSE };
  g_array_set_size (r->edges, n);
  sim_flow_add_codelet (f, "task");
  for (guint32 t = first; t < end; t++)
    sim_flow_begin_task (f, 0, r->units[t] * UNIT_NS);
  if (sim_flow_order (f, r->edges, cycle))
    return TRUE;
  r->line = r->lines[cycle[1] + first];
  return broken (r, "task %u waits for task %u (line %u), which waits for it",
                 cycle[1] + first, cycle[0] + first,
                 r->lines[cycle[0] + first]);
}

static gboolean
read_all (Reader *r, SimFlow *f)
{
  char *line = next_numbers (r);
  if (!line)
    return broken (r, "the number of tasks is missing");
  if (!whole (r, &line, "the number of tasks", SIM_MOST_FLOW_TASKS, &r->n)
      || !line_ends (r, line))
    return FALSE;
  if (r->n == 0)
    return broken (r, "there are 0 tasks");
  r->n++;
  r->lines = g_new0 (guint, r->n + 1);
  r->units = g_new0 (double, r->n + 1);
  return read_tasks (r) && make_flow (r, f);
}

SimFlow *
sim_flow_read_stg (const char *path, GError **error)
{
  g_autofree char *text = sim_flow_file_text (path, error);
  if (!text)
    return NULL;
  SimFlow *f = sim_flow_of_file (path);
  Reader r = { .path = path,
               .error = error,
               .next = text,
               .edges = g_array_new (FALSE, FALSE, sizeof (SimFlowEdge)) };
  if (!read_all (&r, f))
    g_clear_pointer (&f, sim_flow_free);
  g_array_unref (r.edges);
  g_free (r.lines);
  g_free (r.units);
  return f;
}
