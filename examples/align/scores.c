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
   3. For a band that is computed again, each task has one tile, READs two edges
      and WRITEs two others: all stay.
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
 */
typedef struct
{
  const AlignJob *job;
  AlignBands *bands;
  AlignGrid *grid;
  AlignGpuFunc gpu;
  HassCodelet tile;
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

/* Tiles of a task in a direction in which the table has @n. */
static gsize
n_in_group (const AlignBands *b, gsize first, gsize n)
{
  return MIN (n - first, b->group);
}

/* Cells of a task in a direction in which the table has @n. */
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
  gsize n_rows = n_in_group (b, name->row, b->n_rows);
  gsize n_columns = n_in_group (b, name->column, b->n_columns);
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

static AlignGpuTask
gpu_task (const Wave *w, const HassCall *call)
{
  const AlignBands *b = w->bands;
  const AlignPair *p = w->job->pair;
  const TileName *name = call->arguments;
  TaskEdges edges = task_edges (w, call);
  const HassDataView *codes = call->views + call->n_views - 2;
  return (AlignGpuTask){ .above = edges.above,
                         .below = edges.below,
                         .beside = edges.beside,
                         .a = codes[0].data,
                         .b = codes[1].data,
                         .rows = (gint32)group_cells (b, name->row, p->n[0]),
                         .columns
                         = (gint32)group_cells (b, name->column, p->n[1]),
                         .first_column = (gint32)name->column };
}

static gboolean
score_tiles_gpu (const HassCall *calls, guint n_calls, HassGpuStream *stream,
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

static gboolean
score_tile_again (const HassCall *call, HassWorker *worker, GError **error)
{
  const Wave *w = call->user_data;
  const TileName *name = call->arguments;
  const HassDataView *v = call->views;
  AlignRect rect = align_grid_rect (w->grid, name->row, name->column);
  AlignEdges edges = { v[0].data, v[1].data, v[2].data, v[3].data };
  (void)worker;
  (void)error;
  align_tile (w->job->pair, &rect, &edges);
  return TRUE;
}

static const HassCodelet tile_again
    = HASS_CODELET (.name = "tile again", .cpu = score_tile_again);

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
  const AlignPair *p = w->job->pair;
  gsize n = second ? b->n_columns : b->n_rows;
  if (!w->gpu)
    return NULL;
  HassData **data = g_new (HassData *, n / b->group + 1);
  for (gsize i = 0; i < n; i += b->group)
    data[i / b->group]
        = hass_graph_data (graph, p->codes[second] + i * (gsize)b->side,
                           group_cells (b, i, p->n[second]), 1, 0);
  return data;
}

/* Submits the task of a tile, and of those beside and below it of its group.
   @above: NULL: @below is updated. @codes: NULL, or of rows and columns. */
static gboolean
submit (HassGraph *graph, const Wave *w, const TileName *name,
        HassData *const edges[3], HassData *const codes[2])
{
  const AlignPair *p = w->job->pair;
  HassTaskHints hints
      = { .arguments = name,
          .argument_bytes = sizeof *name,
          .work = (double)group_cells (w->bands, name->row, p->n[0])
                  * (double)group_cells (w->bands, name->column, p->n[1]) };
  HassAccess accesses[5];
  guint n = 0;
  if (edges[0])
    accesses[n++] = (HassAccess){ edges[0], HASS_READ };
  accesses[n++] = (HassAccess){ edges[1], edges[0] ? HASS_WRITE : HASS_UPDATE };
  accesses[n++] = (HassAccess){ edges[2], HASS_UPDATE };
  for (int i = 0; i < 2 && w->gpu; i++)
    accesses[n++] = (HassAccess){ codes[i], HASS_READ };
  return hass_graph_task (graph, &w->tile, accesses, n, &hints);
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
          gsize i = c / b->group;
          HassData *edges[]
              = { above ? above[i] : NULL, below[i], left[r / b->group] };
          HassData *codes[] = { rows ? rows[r / b->group] : NULL,
                                columns ? columns[i] : NULL };
          TileName name = { r, c };
          ok = submit (graph, w, &name, edges, codes);
        }
    }
  return TRUE;
}

/* The edges above and to the left are read by the first tiles only. */
static gboolean
build_again (HassGraph *graph, gpointer user_data, GError **error)
{
  const Wave *w = user_data;
  const AlignGrid *g = w->grid;
  g_autofree HassData **below = g_new (HassData *, g->n_columns);
  gboolean ok = TRUE;
  (void)error;
  for (gsize c = 0; c < g->n_columns; c++)
    below[c]
        = hass_graph_data (graph, align_grid_below (g, 0, c), g->stride, 1, 0);
  for (gsize r = 0; ok && r < g->n_rows; r++)
    {
      HassData *right = hass_graph_data (graph, align_grid_beside (g, r, 0),
                                         g->stride, 1, 0);
      for (gsize c = 0; ok && c < g->n_columns; c++)
        {
          AlignEdges edges = align_grid_edges (g, r, c);
          TileName name = { r, c };
          HassTaskHints hints
              = { .arguments = &name, .argument_bytes = sizeof name };
          HassAccess accesses[4]
              = { { below[c], HASS_READ }, { right, HASS_READ } };
          below[c] = hass_graph_data (graph, edges.bottom, g->stride, 1, 0);
          right = hass_graph_data (graph, edges.right, g->stride, 1, 0);
          accesses[2] = (HassAccess){ below[c], HASS_WRITE };
          accesses[3] = (HassAccess){ right, HASS_WRITE };
          ok = hass_graph_task (graph, &tile_again, accesses, 4, &hints);
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
choose_tiles (AlignBands *b, const AlignJob *job, AlignGpuFunc gpu)
{
  const AlignPair *p = job->pair;
  int side = gpu ? SIDE_GPU : choose_side (job);
  b->side = MIN (job->side ? job->side : side, p->side);
  gsize tasks = TASKS_GPU * (gsize)b->side;
  b->group = job->group ? (gsize)job->group
             : gpu      ? CLAMP (MIN (p->n[0], p->n[1]) / tasks, 1,
                                 (gsize)MAX (TASK_GPU / b->side, 1))
                        : 1;
}

static gboolean
bands_init (AlignBands *b, const AlignJob *job, AlignGpuFunc gpu,
            GError **error)
{
  const AlignPair *p = job->pair;
  choose_tiles (b, job, gpu);
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

gboolean
align_scores (const AlignJob *job, AlignBands *b, AlignPeak *peak,
              HassReport **report, GError **error)
{
  Wave wave = { .job = job, .bands = b, .gpu = choose_gpu (job) };
  HassDataflow flow = HASS_DATAFLOW_INIT;
  memset (b, 0, sizeof *b);
  *peak = (AlignPeak){ 0, 0, 0 };
  flow.name = "align";
  flow.user_data = &wave;
  flow.build = build;
  wave.tile = (HassCodelet)HASS_CODELET (.name = "tile", .cpu = score_tiles);
  wave.tile.gpu = wave.gpu ? score_tiles_gpu : NULL;
  wave.tile.gpu_most = ALIGN_GPU_MOST;
  if (job->no_cpu)
    wave.tile.cpu = NULL;
  flow.run = job->run;
  if (!bands_init (b, job, wave.gpu, error)
      || !hass_dataflow (&flow, report, error))
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
  Wave wave = { .job = job, .grid = grid };
  HassDataflow flow = HASS_DATAFLOW_INIT;
  gsize side = (gsize)b->side, band = i / side / b->band_rows;
  gsize first = band * b->band_rows * side;
  AlignRect rect
      = { .i = first,
          .rows = MIN ((i / side + 1) * side, job->pair->n[0]) - first,
          .columns = MIN ((j / side + 1) * side, job->pair->n[1]) };
  flow.name = "align again";
  flow.user_data = &wave;
  flow.build = build_again;
  flow.run = job->run;
  if (!align_grid_init (grid, &rect, b->side, error))
    return FALSE;
  for (gsize c = 0; c < grid->n_columns; c++)
    memcpy (align_grid_below (grid, 0, c), band_edge (b, band, c), b->stride);
  return hass_dataflow (&flow, NULL, error);
}
