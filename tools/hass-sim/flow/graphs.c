/* SPDX-License-Identifier: MIT */
/* graphs.c: the graphs of hass-sim --dataflow.
   Thread safety: any thread. */
#include "build.h"

#include <string.h>

#include "hass/error.h"
#include "tools/hass-sim/chance.h"

/* Of a stencil step: operations per element, limited by memory. */
#define STENCIL_FLOP 50
/* Of a tile of a wavefront: cells, which a core computes one a ns, and the two
   numbers of 4 bytes that a cell of its edge passes on: local alignment. */
#define WAVE_CELLS ((double)1024 * 1024)
#define WAVE_BYTES (1024 * 2 * 4)

/* @steps of @n x @n tiles, from one array to another and back: a tile needs its
   four neighbours. */
static void
stencil (SimFlow *f, guint n, guint steps, GRand *rand)
{
  (void)rand;
  sim_flow_add_codelet (f, "step");
  sim_flow_add_data (f, 2 * n * n, SIM_TILE_BYTES);
  for (guint s = 0; s < steps; s++)
    for (guint i = 0; i < n * n; i++)
      {
        guint from = s % 2 * n * n, to = n * n - from;
        sim_flow_begin_task (
            f, 0, sim_flow_tile_ns (STENCIL_FLOP / (double)SIM_TILE));
        sim_flow_use (f, to + i, HASS_WRITE);
        sim_flow_use (f, from + i, HASS_READ);
        if (i % n > 0)
          sim_flow_use (f, from + i - 1, HASS_READ);
        if (i % n + 1 < n)
          sim_flow_use (f, from + i + 1, HASS_READ);
        if (i >= n)
          sim_flow_use (f, from + i - n, HASS_READ);
        if (i + n < n * n)
          sim_flow_use (f, from + i + n, HASS_READ);
      }
}

/* @n x @n tiles: one needs the bottom edge of the one above and the right edge
   of the one to its left, and leaves its own there. */
static void
wavefront (SimFlow *f, guint n, guint unused, GRand *rand)
{
  (void)unused, (void)rand;
  sim_flow_add_codelet (f, "tile");
  sim_flow_add_data (f, 2 * n, WAVE_BYTES);
  for (guint i = 0; i < n * n; i++)
    {
      sim_flow_begin_task (f, 0, WAVE_CELLS);
      sim_flow_use (f, i % n, HASS_UPDATE);
      sim_flow_use (f, n + i / n, HASS_UPDATE);
    }
}

/* One task, @n that read what it has written, one that reads what these have.
 */
static void
forkjoin (SimFlow *f, guint n, guint unused, GRand *rand)
{
  static const char *const names[] = { "fork", "work", "join", NULL };
  (void)unused, (void)rand;
  sim_flow_add_codelets (f, names);
  sim_flow_add_data (f, n + 1, (gsize)64 << 10);
  sim_flow_begin_task (f, 0, 1e5);
  sim_flow_use (f, 0, HASS_WRITE);
  for (guint i = 1; i <= n; i++)
    {
      sim_flow_begin_task (f, 1, 1e6);
      sim_flow_use (f, 0, HASS_READ);
      sim_flow_use (f, i, HASS_WRITE);
    }
  sim_flow_begin_task (f, 2, 1e5);
  sim_flow_use (f, 0, HASS_UPDATE);
  for (guint i = 1; i <= n; i++)
    sim_flow_use (f, i, HASS_READ);
}

/* A task that writes datum @i, and reads up to three of the @n_before before
   @end, adjacent ones of a ring. */
static void
random_task (SimFlow *f, guint32 i, guint end, guint n_before, double mean_ns,
             GRand *rand)
{
  guint some = (guint)g_rand_int_range (rand, 1, 4);
  guint at = (guint)g_rand_int_range (rand, 0, (gint)MAX (n_before, 1));
  sim_flow_begin_task (f, (guint)g_rand_int_range (rand, 0, 4),
                       mean_ns * sim_log_between (rand, 0.1, 10));
  sim_flow_use (f, i, HASS_WRITE);
  for (guint k = 0; k < MIN (some, n_before); k++)
    sim_flow_use (f, end - 1 - (at + k) % n_before, HASS_READ);
}

/* @n tasks in layers of random widths: a task reads what the layer before has
   written. Their times are spread over two orders of magnitude. */
static void
random_layers (SimFlow *f, guint n, guint unused, GRand *rand)
{
  static const char *const names[] = { "a", "b", "c", "d", NULL };
  (void)unused;
  sim_flow_add_codelets (f, names);
  sim_flow_add_data (f, n, (gsize)sim_log_between (rand, 4 << 10, 4 << 20));
  double mean_ns = sim_log_between (rand, 1e5, 1e7);
  gint widest = (gint)sim_log_between (rand, 1, 200);
  guint n_before = 0;
  for (guint first = 0; first < n;)
    {
      guint width = (guint)g_rand_int_range (rand, 1, widest + 2);
      width = MIN (width, n - first);
      for (guint i = first; i < first + width; i++)
        random_task (f, i, first, n_before, mean_ns, rand);
      n_before = width;
      first += width;
    }
}

/* -- By name ------------------------------------------------------------ */

typedef struct
{
  const char *name;
  guint n_numbers; /* 1 or 2 */
  guint most;      /* of the first */
  void (*make) (SimFlow *f, guint a, guint b, GRand *rand);
} Graph;

static const Graph graphs[] = { { "cholesky", 1, 200, sim_flow_cholesky },
                                { "lu", 1, 180, sim_flow_lu },
                                { "qr", 1, 180, sim_flow_qr },
                                { "stencil", 2, 1000, stencil },
                                { "wavefront", 1, 1414, wavefront },
                                { "forkjoin", 1, G_MAXUINT16 - 1, forkjoin },
                                { "random", 1, 1000000, random_layers } };

/* Returns: FALSE if the words are not numbers within the bounds. */
static gboolean
read_numbers (const Graph *g, char **words, guint64 numbers[2])
{
  gboolean ok = g_strv_length (words) == g->n_numbers;
  numbers[1] = 1;
  for (guint i = 0; ok && i < g->n_numbers; i++)
    ok = g_ascii_string_to_unsigned (words[i], 10, 1,
                                     i == 0 ? g->most : SIM_MOST_FLOW_TASKS,
                                     &numbers[i], NULL);
  return ok
         && (g->n_numbers < 2
             || numbers[0] * numbers[0] * numbers[1] <= SIM_MOST_FLOW_TASKS);
}

SimFlow *
sim_flow_new (const char *spec, guint64 seed, GError **error)
{
  if (g_str_has_suffix (spec, ".stg"))
    return sim_flow_read_stg (spec, error);
  if (g_str_has_suffix (spec, ".json"))
    return sim_flow_read_workflow (spec, error);
  g_auto (GStrv) words = g_strsplit (spec, ":", -1);
  for (guint i = 0; words[0] && i < G_N_ELEMENTS (graphs); i++)
    {
      guint64 numbers[2];
      if (strcmp (words[0], graphs[i].name) != 0
          || !read_numbers (&graphs[i], words + 1, numbers))
        continue;
      SimFlow *f = sim_flow_empty (spec, words[0]);
      GRand *rand = g_rand_new_with_seed ((guint32)(seed ^ seed >> 32));
      graphs[i].make (f, (guint)numbers[0], (guint)numbers[1], rand);
      g_rand_free (rand);
      return f;
    }
  g_set_error (
      error, HASS_ERROR, HASS_ERROR_INVALID,
      "dataflow '%s': cholesky:T (T up to 200), lu:T, qr:T (up to 180), "
      "stencil:T:S (T * T * S up to %d), wavefront:T (up to 1414), forkjoin:N "
      "(up to 65534), random:N (up to 1000000), or a file NAME.stg or "
      "NAME.json is needed",
      spec, SIM_MOST_FLOW_TASKS);
  return NULL;
}
