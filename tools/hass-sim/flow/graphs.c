/* SPDX-License-Identifier: MIT */
/* graphs.c: the graphs of hass-sim --dataflow.
   Thread safety: any thread. */
#include "build.h"

#include <string.h>

#include "hass/error.h"
#include "tools/hass-sim/chance.h"

/* Of a tile of cholesky, lu, qr and stencil: 512 x 512 floats. */
#define TILE 512
#define TILE_BYTES (TILE * TILE * sizeof (float))
/* Of the block reflector that qr keeps beside a tile: TILE x 64 floats, as
   PLASMA's T of inner blocks 64 wide. */
#define REFLECTOR_BYTES (TILE * 64 * sizeof (float))
/* Floating-point operations per ns of a core, from which the times of tiles on
   cores follow. A core of today's servers reaches about this with AVX2. */
#define CORE_FLOP_PER_NS 50
/* Of a stencil step: operations per element, limited by memory. */
#define STENCIL_FLOP 50
/* Of a tile of wavefront: cells a side, and operations per cell, about those of
   affine gaps: five additions and five maxima. */
#define WAVE 2048
#define WAVE_FLOP 10

/* -- Building ----------------------------------------------------------- */

static void
add_codelets (SimFlow *f, const char *const *names)
{
  for (; *names; names++)
    sim_flow_add_codelet (f, *names);
}

/* A task of @cubes times TILE^3 operations. */
static void
tile_task (SimFlow *f, guint codelet, double cubes, const SimFlowUse *uses,
           guint n)
{
  sim_flow_begin_task (f, codelet,
                       cubes * TILE * TILE * TILE / CORE_FLOP_PER_NS);
  for (guint i = 0; i < n; i++)
    sim_flow_use (f, uses[i].datum, uses[i].mode);
}

/* Its accesses follow, each in braces. */
#define TILE_TASK(f, codelet, cubes, ...)                                      \
  tile_task (f, codelet, cubes, (const SimFlowUse[]){ __VA_ARGS__ },           \
             sizeof ((const SimFlowUse[]){ __VA_ARGS__ })                      \
                 / sizeof (SimFlowUse))

/* -- Factorisations ----------------------------------------------------- */

/* Each is right-looking: step k factors the panel, column k from the diagonal
   downwards, then updates the tiles to the right of it. Operations are those of
   LAPACK's kernels; of qr those of Bouwmeester and others, Tiled QR
   factorization algorithms, SC 2011. That a GPU gains less on panels than on
   updates is not part of a graph: [codelet NAME] of the platform says it. */

/* The lower triangle of @n x @n tiles. */
static void
cholesky (SimFlow *f, guint n, guint unused, GRand *rand)
{
  static const char *const names[] = { "potrf", "trsm", "syrk", "gemm", NULL };
  (void)unused, (void)rand;
  add_codelets (f, names);
  sim_flow_add_data (f, n * n, TILE_BYTES);
  for (guint k = 0; k < n; k++)
    {
      guint kk = k * n + k;
      TILE_TASK (f, 0, 1.0 / 3, { kk, HASS_UPDATE });
      for (guint i = k + 1; i < n; i++)
        TILE_TASK (f, 1, 1, { kk, HASS_READ }, { i * n + k, HASS_UPDATE });
      for (guint i = k + 1; i < n; i++)
        {
          for (guint j = k + 1; j < i; j++)
            TILE_TASK (f, 3, 2, { i * n + k, HASS_READ },
                       { j * n + k, HASS_READ }, { i * n + j, HASS_UPDATE });
          TILE_TASK (f, 2, 1, { i * n + k, HASS_READ },
                     { i * n + i, HASS_UPDATE });
        }
    }
}

/* @n x @n tiles, without pivoting. */
static void
lu (SimFlow *f, guint n, guint unused, GRand *rand)
{
  static const char *const names[] = { "getrf", "trsm", "gemm", NULL };
  (void)unused, (void)rand;
  add_codelets (f, names);
  sim_flow_add_data (f, n * n, TILE_BYTES);
  for (guint k = 0; k < n; k++)
    {
      guint kk = k * n + k;
      TILE_TASK (f, 0, 2.0 / 3, { kk, HASS_UPDATE });
      for (guint i = k + 1; i < n; i++)
        TILE_TASK (f, 1, 1, { kk, HASS_READ }, { i * n + k, HASS_UPDATE });
      for (guint j = k + 1; j < n; j++)
        TILE_TASK (f, 1, 1, { kk, HASS_READ }, { k * n + j, HASS_UPDATE });
      for (guint i = k + 1; i < n; i++)
        for (guint j = k + 1; j < n; j++)
          TILE_TASK (f, 2, 2, { i * n + k, HASS_READ },
                     { k * n + j, HASS_READ }, { i * n + j, HASS_UPDATE });
    }
}

/* Of qr, data after the tiles: the lower triangles of the diagonal, V. Those
   tiles have only the upper triangle, R, so unmqr can read V while tsqrt
   updates R. */
static guint
lower (guint n, guint k)
{
  return n * n + k;
}

/* And then the block reflectors of the tiles on the diagonal and below it. */
static guint
reflector (guint n, guint i, guint k)
{
  return n * n + n + i * (i + 1) / 2 + k;
}

static void
qr_step (SimFlow *f, guint n, guint k)
{
  enum
  {
    GEQRT,
    UNMQR,
    TSQRT,
    TSMQR
  };
  guint r = k * n + k, v = lower (n, k), t = reflector (n, k, k);
  TILE_TASK (f, GEQRT, 4.0 / 3, { r, HASS_UPDATE }, { v, HASS_UPDATE },
             { t, HASS_WRITE });
  for (guint j = k + 1; j < n; j++)
    TILE_TASK (f, UNMQR, 2, { v, HASS_READ }, { t, HASS_READ },
               { k * n + j, HASS_UPDATE });
  for (guint i = k + 1; i < n; i++)
    {
      guint own = i * n + k, own_t = reflector (n, i, k);
      TILE_TASK (f, TSQRT, 2, { r, HASS_UPDATE }, { own, HASS_UPDATE },
                 { own_t, HASS_WRITE });
      for (guint j = k + 1; j < n; j++)
        {
          TILE_TASK (f, TSMQR, 4, { own, HASS_READ }, { own_t, HASS_READ },
                     { k * n + j, HASS_UPDATE }, { i * n + j, HASS_UPDATE });
          if (i == j)
            sim_flow_use (f, lower (n, i), HASS_UPDATE);
        }
    }
}

/* @n x @n tiles, by a flat tree: a column's tiles are annihilated from the
   diagonal downwards. */
static void
qr (SimFlow *f, guint n, guint unused, GRand *rand)
{
  static const char *const names[]
      = { "geqrt", "unmqr", "tsqrt", "tsmqr", NULL };
  (void)unused, (void)rand;
  add_codelets (f, names);
  sim_flow_add_data (f, n * n, TILE_BYTES);
  sim_flow_add_data (f, n, TILE_BYTES / 2);
  sim_flow_add_data (f, n * (n + 1) / 2, REFLECTOR_BYTES);
  for (guint k = 0; k < n; k++)
    g_array_index (f->sizes, gsize, k * n + k) = TILE_BYTES / 2;
  for (guint k = 0; k < n; k++)
    qr_step (f, n, k);
}

/* -- Others ------------------------------------------------------------- */

/* @rows x @columns of tiles of a table: a tile starts from the lowest row of
   the tile above it and from the last column of the tile to its left, as
   Smith-Waterman's of align. These are all that is kept of it. */
static void
wavefront (SimFlow *f, guint rows, guint columns, GRand *rand)
{
  guint n = rows * columns;
  (void)rand;
  sim_flow_add_codelet (f, "tile");
  sim_flow_add_data (f, n, 2 * WAVE * sizeof (gint32));
  for (guint i = 0; i < n; i++)
    {
      sim_flow_begin_task (f, 0,
                           (double)WAVE * WAVE * WAVE_FLOP / CORE_FLOP_PER_NS);
      sim_flow_use (f, i, HASS_WRITE);
      if (i >= columns)
        sim_flow_use (f, i - columns, HASS_READ);
      if (i % columns > 0)
        sim_flow_use (f, i - 1, HASS_READ);
    }
}

/* @steps of @n x @n tiles, from one array to another and back: a tile needs its
   four neighbours. */
static void
stencil (SimFlow *f, guint n, guint steps, GRand *rand)
{
  (void)rand;
  sim_flow_add_codelet (f, "step");
  sim_flow_add_data (f, 2 * n * n, TILE_BYTES);
  for (guint s = 0; s < steps; s++)
    for (guint i = 0; i < n * n; i++)
      {
        guint from = s % 2 * n * n, to = n * n - from;
        sim_flow_begin_task (
            f, 0, (double)TILE * TILE * STENCIL_FLOP / CORE_FLOP_PER_NS);
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

/* One task, @n that read what it has written, one that reads what these have.
 */
static void
forkjoin (SimFlow *f, guint n, guint unused, GRand *rand)
{
  static const char *const names[] = { "fork", "work", "join", NULL };
  (void)unused, (void)rand;
  add_codelets (f, names);
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
  add_codelets (f, names);
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

/* @numbers: what follows the name; a number in brackets may be left out, and is
   then the first one. */
typedef struct
{
  const char *name, *numbers;
  guint n_least, n_most; /* numbers */
  guint most;            /* of the first */
  void (*make) (SimFlow *f, guint a, guint b, GRand *rand);
} Graph;

/* The most of lu and qr have 1,992,991 tasks. */
static const Graph graphs[]
    = { { "cholesky", "T", 1, 1, 200, cholesky },
        { "lu", "T", 1, 1, 181, lu },
        { "qr", "T", 1, 1, 181, qr },
        { "stencil", "T:S", 2, 2, 1000, stencil },
        { "wavefront", "T[:S]", 1, 2, SIM_MOST_FLOW_TASKS, wavefront },
        { "forkjoin", "N", 1, 1, G_MAXUINT16 - 1, forkjoin },
        { "random", "N", 1, 1, 1000000, random_layers } };

/* Tasks of those graphs that have two numbers. */
static double
n_tasks (const Graph *g, const guint64 numbers[2])
{
  double first = (double)numbers[0];
  return first * (double)numbers[1] * (g->make == stencil ? first : 1);
}

/* Reads what follows the name, [0] of @words. */
static gboolean
read_numbers (const Graph *g, char **words, guint64 numbers[2], GError **error)
{
  guint n = g_strv_length (words) - 1;
  g_autofree char *spec = g_strjoinv (":", words);
  gboolean ok = n >= g->n_least && n <= g->n_most;
  char letter = g->numbers[0];
  guint most = g->most;
  for (guint i = 0; ok && i < n; i++)
    {
      if (i > 0)
        {
          letter = strchr (g->numbers, ':')[1];
          most = SIM_MOST_FLOW_TASKS;
        }
      ok = g_ascii_string_to_unsigned (words[i + 1], 10, 1, most, &numbers[i],
                                       NULL);
    }
  if (!ok)
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                 "dataflow '%s': %s:%s is needed, %c from 1 to %u", spec,
                 g->name, g->numbers, letter, most);
  if (ok && n < 2)
    numbers[1] = numbers[0];
  if (ok && g->n_most == 2 && n_tasks (g, numbers) > SIM_MOST_FLOW_TASKS)
    {
      ok = FALSE;
      g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                   "dataflow '%s': %.0f tasks, more than %d", spec,
                   n_tasks (g, numbers), SIM_MOST_FLOW_TASKS);
    }
  return ok;
}

static void
refuse (const char *spec, GError **error)
{
  g_autoptr (GString) known = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    g_string_append_printf (known, "%s:%s, ", graphs[i].name,
                            graphs[i].numbers);
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "dataflow '%s': %sor a file NAME.stg or NAME.json is needed",
               spec, known->str);
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
      if (strcmp (words[0], graphs[i].name) != 0)
        continue;
      if (!read_numbers (&graphs[i], words, numbers, error))
        return NULL;
      SimFlow *f = sim_flow_empty (spec, words[0]);
      GRand *rand = g_rand_new_with_seed ((guint32)(seed ^ seed >> 32));
      graphs[i].make (f, (guint)numbers[0], (guint)numbers[1], rand);
      g_rand_free (rand);
      return f;
    }
  refuse (spec, error);
  return NULL;
}
