/* SPDX-License-Identifier: MIT */
/* scores.c: see scores.h.

   DESIGN. The graph is a wavefront that nothing describes but the accesses to
   edges:

   1. For the scores, a datum for each column of tiles and one for each row has
      the edges of as many tiles as a task has. A task UPDATEs both: it replaces
      the edges above and to the left by those below and to the right. Memory is
      proportional to the lengths.
   2. The first task of a column in a band READs the edges above it and WRITEs
      others, so that the first stay.
   3. For a band that is computed again, a task READs what the tasks above and
      to the left have WRITten and WRITEs all edges below and to the right of
      its tiles: all stay.
   4. Where GPUs compute, a task READs the codes of its rows and columns, too.
      What the call of a GPU function has to do is put together here; see
      gpu_tile.h.

   Thread safety: as scores.h. */
#include "scores.h"

#include <math.h>
#include <string.h>

#include "gpu.h"

/* Tiles in the shorter direction for each core: at both ends of a wavefront
   cores wait for tiles, which costs about 1 / TILES_A_CORE of the time. */
#define TILES_A_CORE 12

/* Cells for which a GPU, whose start takes a fraction of a second, is used. A
   guess: with more, GPUs idle where they would help a little; with fewer, the
   start takes longer than the cores. */
#define LEAST_CELLS_GPU 2e10
/* With a GPU: rows and columns of a tile, which a thread block computes; and of
   a task at most, for which calls cost little. Smaller ones leave less room for
   diagonals of tiles to differ in length, and cost more. Guesses. */
#define SIDE_GPU 1024
#define TASK_GPU 8192
/* Tasks in the shorter direction for a GPU, which computes as many at a time. A
   guess: fewer do not fill it, more are small. */
#define TASKS_GPU 60

/* @grid: that is computed again, NULL: all of @bands. @gpu: NULL: cores only.
   @n_rows, @n_columns: of tiles; @rect: of their cells. */
typedef struct
{
  const AlignJob *job;
  const AlignBands *bands;
  const AlignGrid *grid;
  AlignGpuFunc gpu;
  gsize n_rows, n_columns;
  AlignRect rect;
  HassCodelet codelet;
} Wave;

/* Arguments of a task: its tile, the first one of several. */
typedef struct
{
  gsize row, column;
} TileName;

static AlignEdge *
band_edge (const AlignBands *b, gsize band, gsize column)
{
  return (AlignEdge *)(b->above + (band * b->n_columns + column) * b->stride);
}

static AlignEdge *
row_edge (const AlignBands *b, gsize row)
{
  return (AlignEdge *)(b->left + row * b->stride);
}

static AlignRect
table_rect (const AlignPair *p, int side, gsize row, gsize column)
{
  gsize i = row * (gsize)side, j = column * (gsize)side;
  return (AlignRect){ i, j, MIN (p->n[0] - i, (gsize)side),
                      MIN (p->n[1] - j, (gsize)side) };
}

/* The edges of a task: @above to read, which may be @below, and @beside. */
typedef struct
{
  char *above, *below, *beside;
} TaskEdges;

static TaskEdges
task_edges (const Wave *w, const HassCall *call)
{
  const HassDataView *v = call->views;
  guint n = call->n_views - (w->gpu ? 2 : 0);
  return (TaskEdges){ v[0].data, v[n - 2].data, v[n - 1].data };
}

/* Tiles of a task in a direction in which there are @n. */
static gsize
n_in_group (const AlignBands *b, gsize first, gsize n)
{
  return MIN (n - first, b->group);
}

/* Cells of a task in a direction in which there are @n. */
static gsize
group_cells (const AlignBands *b, gsize first, gsize n)
{
  gsize side = (gsize)b->side;
  return MIN (n - first * side, b->group * side);
}

/* The edge of the row has the largest score so far, and where it was. */
static gboolean
score_tiles (const HassCall *call, HassWorker *worker, GError **error)
{
  const Wave *w = call->user_data;
  const AlignBands *b = w->bands;
  const TileName *name = call->arguments;
  TaskEdges task = task_edges (w, call);
  gsize n_rows = n_in_group (b, name->row, w->n_rows);
  gsize n_columns = n_in_group (b, name->column, w->n_columns);
  (void)worker;
  (void)error;
  for (gsize r = 0; r < n_rows; r++)
    for (gsize c = 0; c < n_columns; c++)
      {
        AlignEdge *right = (AlignEdge *)(task.beside + r * b->stride);
        AlignEdge *below = (AlignEdge *)(task.below + c * b->stride);
        AlignEdges edges = { below, right, below, right };
        AlignRect rect = table_rect (w->job->pair, b->side, name->row + r,
                                     name->column + c);
        if (r == 0)
          edges.top = (AlignEdge *)(task.above + c * b->stride);
        gint32 score = align_tile (w->job->pair, &rect, &edges);
        if (score > right->best)
          {
            right->best = score;
            right->at = (gint32)(name->column + c);
          }
      }
  return TRUE;
}

/* Views: the edges above and to the left of the tiles, of which those of the
   last row and of the last column count, and those below and to the right. */
static gboolean
score_tiles_again (const HassCall *call, HassWorker *worker, GError **error)
{
  const Wave *w = call->user_data;
  const TileName *name = call->arguments;
  gsize n_rows = n_in_group (w->bands, name->row, w->n_rows);
  gsize n_columns = n_in_group (w->bands, name->column, w->n_columns);
  (void)worker;
  (void)error;
  for (gsize r = name->row; r < name->row + n_rows; r++)
    for (gsize c = name->column; c < name->column + n_columns; c++)
      {
        AlignRect rect = align_grid_rect (w->grid, r, c);
        AlignEdges edges = align_grid_edges (w->grid, r, c);
        align_tile (w->job->pair, &rect, &edges);
      }
  return TRUE;
}

static AlignGpuTask
gpu_task (const Wave *w, const HassCall *call)
{
  const AlignBands *b = w->bands;
  const TileName *name = call->arguments;
  const HassDataView *v = call->views, *codes = v + call->n_views - 2;
  gint32 stride = (gint32)b->stride;
  AlignGpuTask t
      = { .a = codes[0].data,
          .b = codes[1].data,
          .rows = (gint32)group_cells (b, name->row, w->rect.rows),
          .columns = (gint32)group_cells (b, name->column, w->rect.columns),
          .first_column = (gint32)name->column };
  if (w->grid)
    {
      t.above = (char *)v[0].data + (v[0].rows - 1) * v[0].pitch;
      t.left = (char *)v[1].data + v[1].row_bytes - b->stride;
      t.left_pitch = (gint32)v[1].pitch;
      t.below = v[2].data;
      t.below_pitch = (gint32)v[2].pitch;
      t.beside = v[3].data;
      t.beside_pitch = (gint32)v[3].pitch;
      t.beside_step = stride;
      return t;
    }
  TaskEdges edges = task_edges (w, call);
  t.above = edges.above;
  t.below = edges.below;
  t.left = t.beside = edges.beside;
  t.left_pitch = t.beside_pitch = stride;
  return t;
}

static gboolean
score_on_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
              GError **error)
{
  const Wave *w = calls[0].user_data;
  const AlignScheme *s = w->job->pair->scheme;
  AlignGpuWave wave = { .side = w->bands->side,
                        .stride = (gint32)w->bands->stride,
                        .n_tasks = (gint32)n_calls };
  wave.scheme = (AlignGpuScheme){ .simple = s->simple,
                                  .match = s->match,
                                  .mismatch = s->mismatch,
                                  .open = s->open,
                                  .extend = s->extend,
                                  .largest = s->largest };
  memcpy (wave.scheme.table, s->table, sizeof s->table);
  for (guint i = 0; i < n_calls; i++)
    wave.tasks[i] = gpu_task (w, &calls[i]);
  return w->gpu (&wave, stream, error);
}

/* A datum for each group of @n edges from @edges on. */
static HassData **
group_data (HassGraph *graph, const AlignBands *b, char *edges, gsize n)
{
  HassData **data = g_new (HassData *, n / b->group + 1);
  for (gsize i = 0; i < n; i += b->group)
    data[i / b->group] = hass_graph_data (
        graph, edges + i * b->stride, n_in_group (b, i, n) * b->stride, 1, 0);
  return data;
}

/* A datum for the codes of each group of rows or columns; NULL: no GPU. */
static HassData **
codes_data (HassGraph *graph, const Wave *w, gboolean second)
{
  const AlignBands *b = w->bands;
  gsize n = second ? w->n_columns : w->n_rows;
  gsize n_codes = second ? w->rect.columns : w->rect.rows;
  int8_t *codes
      = w->job->pair->codes[second] + (second ? w->rect.j : w->rect.i);
  if (!w->gpu)
    return NULL;
  HassData **data = g_new (HassData *, n / b->group + 1);
  for (gsize i = 0; i < n; i += b->group)
    data[i / b->group] = hass_graph_data (graph, codes + i * (gsize)b->side,
                                          group_cells (b, i, n_codes), 1, 0);
  return data;
}

/* Submits the task of a tile, and of those beside and below it of its group,
   with accesses to @n edges, of 4 at most. @rows, @columns: of codes_data(). */
static gboolean
submit (HassGraph *graph, const Wave *w, const TileName *name,
        const HassAccess *edges, guint n, HassData *const *const codes[2])
{
  const AlignBands *b = w->bands;
  HassTaskHints hints
      = { .arguments = name,
          .argument_bytes = sizeof *name,
          .work = (double)group_cells (b, name->row, w->rect.rows)
                  * (double)group_cells (b, name->column, w->rect.columns) };
  HassAccess accesses[6];
  memcpy (accesses, edges, n * sizeof *edges);
  if (w->gpu)
    {
      accesses[n++] = (HassAccess){ codes[0][name->row / b->group], HASS_READ };
      accesses[n++]
          = (HassAccess){ codes[1][name->column / b->group], HASS_READ };
    }
  return hass_graph_task (graph, &w->codelet, accesses, n, &hints);
}

static gboolean
build (HassGraph *graph, gpointer user_data, GError **error)
{
  const Wave *w = user_data;
  const AlignBands *b = w->bands;
  g_autofree HassData **below
      = group_data (graph, b, (char *)band_edge (b, 0, 0), b->n_columns);
  g_autofree HassData **left = group_data (graph, b, b->left, b->n_rows);
  g_autofree HassData **rows = codes_data (graph, w, FALSE);
  g_autofree HassData **columns = codes_data (graph, w, TRUE);
  HassData *const *const codes[] = { rows, columns };
  gboolean ok = TRUE;
  (void)error;
  for (gsize r = 0; ok && r < b->n_rows; r += b->group)
    {
      g_autofree HassData **above = NULL;
      if (r % b->band_rows == 0)
        {
          above = below;
          below = group_data (graph, b,
                              (char *)band_edge (b, r / b->band_rows + 1, 0),
                              b->n_columns);
        }
      for (gsize c = 0; ok && c < b->n_columns; c += b->group)
        {
          TileName name = { r, c };
          HassAccess edges[3]
              = { { below[c / b->group], above ? HASS_WRITE : HASS_UPDATE },
                  { left[r / b->group], HASS_UPDATE } };
          if (above)
            {
              edges[2] = edges[1];
              edges[1] = edges[0];
              edges[0] = (HassAccess){ above[c / b->group], HASS_READ };
            }
          ok = submit (graph, w, &name, edges, above ? 3 : 2, codes);
        }
    }
  return TRUE;
}

/* Edges of a grid: @n_rows rows of @n_columns from @first on, of which the grid
   has @of_row in a row. */
static HassData *
grid_data (HassGraph *graph, const AlignGrid *g, AlignEdge *first, gsize n_rows,
           gsize n_columns, gsize of_row)
{
  return hass_graph_data (graph, first, n_columns * g->stride, n_rows,
                          of_row * g->stride);
}

/* The edges above and to the left are read by the first tasks only. */
static gboolean
build_again (HassGraph *graph, gpointer user_data, GError **error)
{
  const Wave *w = user_data;
  const AlignGrid *g = w->grid;
  const gsize group = w->bands->group, columns = g->n_columns;
  g_autofree HassData **below = g_new (HassData *, columns / group + 1);
  g_autofree HassData **rows = codes_data (graph, w, FALSE);
  g_autofree HassData **across = codes_data (graph, w, TRUE);
  HassData *const *const codes[] = { rows, across };
  gboolean ok = TRUE;
  (void)error;
  for (gsize c = 0; c < columns; c += group)
    below[c / group] = grid_data (graph, g, align_grid_below (g, 0, c), 1,
                                  n_in_group (w->bands, c, columns), columns);
  for (gsize r = 0; ok && r < g->n_rows; r += group)
    {
      gsize n = n_in_group (w->bands, r, g->n_rows);
      HassData *right = grid_data (graph, g, align_grid_beside (g, r, 0), n, 1,
                                   columns + 1);
      for (gsize c = 0; ok && c < columns; c += group)
        {
          gsize k = n_in_group (w->bands, c, columns);
          TileName name = { r, c };
          HassAccess edges[4]
              = { { below[c / group], HASS_READ }, { right, HASS_READ } };
          right = grid_data (graph, g, align_grid_beside (g, r, c + 1), n, k,
                             columns + 1);
          below[c / group] = grid_data (
              graph, g, align_grid_below (g, r + 1, c), n, k, columns);
          edges[2] = (HassAccess){ below[c / group], HASS_WRITE };
          edges[3] = (HassAccess){ right, HASS_WRITE };
          ok = submit (graph, w, &name, edges, 4, codes);
        }
    }
  return TRUE;
}

static int
choose_side (const AlignJob *job)
{
  gsize cores = job->run.n_cores ? job->run.n_cores : g_get_num_processors ();
  gsize shorter = MIN (job->pair->n[0], job->pair->n[1]);
  gsize side = shorter / (TILES_A_CORE * cores);
  side -= side % ALIGN_SIDE_STEP;
  return (int)CLAMP (side, ALIGN_SIDE_STEP, (gsize)job->pair->side);
}

/* The function for GPUs, if they should compute. */
static AlignGpuFunc
choose_gpu (const AlignJob *job)
{
  double cells = (double)job->pair->n[0] * (double)job->pair->n[1];
  if (job->gpu || !align_gpu_wave || job->run.n_gpus < 0)
    return job->gpu;
  if (!job->no_cpu
      && (cells < LEAST_CELLS_GPU
          || g_strcmp0 (g_getenv ("HASS_NGPU"), "0") == 0
          || !align_gpu_present ()))
    return NULL;
  return align_gpu_wave;
}

static void
choose_tiles (AlignBands *b, const AlignJob *job)
{
  const AlignPair *p = job->pair;
  int side = b->gpu ? SIDE_GPU : choose_side (job);
  b->side = MIN (job->side ? job->side : side, p->side);
  gsize tasks = TASKS_GPU * (gsize)b->side;
  b->group = job->group ? (gsize)job->group
             : b->gpu   ? CLAMP (MIN (p->n[0], p->n[1]) / tasks, 1,
                                 (gsize)MAX (TASK_GPU / b->side, 1))
                        : 1;
}

static gboolean
bands_init (AlignBands *b, const AlignJob *job, GError **error)
{
  const AlignPair *p = job->pair;
  b->gpu = choose_gpu (job);
  choose_tiles (b, job);
  gsize side = (gsize)b->side;
  b->n_rows = (p->n[0] + side - 1) / side;
  b->n_columns = (p->n[1] + side - 1) / side;
  b->band_rows
      = job->score_only ? b->n_rows : (gsize)ceil (sqrt ((double)b->n_rows));
  b->band_rows = (b->band_rows + b->group - 1) / b->group * b->group;
  b->n_bands = (b->n_rows + b->band_rows - 1) / b->band_rows;
  b->stride = align_edge_bytes (b->side);
  gsize n_above = (b->n_bands + 1) * b->n_columns;
  b->above = g_try_malloc0_n (n_above + b->n_rows, b->stride);
  if (!b->above)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_NO_MEMORY,
                   "no memory for the edges of %zu x %zu tiles", b->n_bands + 1,
                   b->n_columns);
      return FALSE;
    }
  b->left = b->above + n_above * b->stride;
  return TRUE;
}

void
align_bands_clear (AlignBands *b)
{
  g_free (b->above);
  memset (b, 0, sizeof *b);
}

/* Runs the tasks of a wave, by @cpu on cores. */
static gboolean
run_wave (Wave *w, HassBuildFunc build_func, HassCodeletFunc cpu,
          HassReport **report, GError **error)
{
  HassDataflow flow = HASS_DATAFLOW_INIT;
  w->gpu = w->bands->gpu;
  w->codelet = (HassCodelet)HASS_CODELET (.name = "tile", .cpu = cpu);
  w->codelet.gpu = w->gpu ? score_on_gpu : NULL;
  w->codelet.gpu_most = ALIGN_GPU_MOST;
  flow.name = w->grid ? "align again" : "align";
  flow.user_data = w;
  flow.build = build_func;
  flow.run = w->job->run;
  return hass_dataflow (&flow, report, error);
}

gboolean
align_scores (const AlignJob *job, AlignBands *b, AlignPeak *peak,
              HassReport **report, GError **error)
{
  const AlignPair *p = job->pair;
  memset (b, 0, sizeof *b);
  *peak = (AlignPeak){ 0, 0, 0 };
  if (!bands_init (b, job, error))
    return FALSE;
  Wave wave = { .job = job,
                .bands = b,
                .n_rows = b->n_rows,
                .n_columns = b->n_columns,
                .rect = { 0, 0, p->n[0], p->n[1] } };
  if (!run_wave (&wave, build, job->no_cpu ? NULL : score_tiles, report, error))
    return FALSE;
  for (gsize r = 0; r < b->n_rows; r++)
    if (row_edge (b, r)->best > peak->score)
      *peak
          = (AlignPeak){ row_edge (b, r)->best, r, (gsize)row_edge (b, r)->at };
  return TRUE;
}

gboolean
align_scores_again (const AlignJob *job, const AlignBands *b, gsize i, gsize j,
                    AlignGrid *grid, GError **error)
{
  gsize side = (gsize)b->side, band = i / side / b->band_rows;
  gsize first = band * b->band_rows * side;
  AlignRect rect
      = { .i = first,
          .rows = MIN ((i / side + 1) * side, job->pair->n[0]) - first,
          .columns = MIN ((j / side + 1) * side, job->pair->n[1]) };
  if (!align_grid_init (grid, &rect, b->side, error))
    return FALSE;
  for (gsize c = 0; c < grid->n_columns; c++)
    memcpy (align_grid_below (grid, 0, c), band_edge (b, band, c), b->stride);
  Wave wave = { .job = job,
                .bands = b,
                .grid = grid,
                .n_rows = grid->n_rows,
                .n_columns = grid->n_columns,
                .rect = rect };
  return run_wave (&wave, build_again, job->no_cpu ? NULL : score_tiles_again,
                   NULL, error);
}
