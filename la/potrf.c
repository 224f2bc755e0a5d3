/* SPDX-License-Identifier: MIT */
/* potrf.c: the Cholesky factorisation as a dataflow over tiles.

   DESIGN. The sequential program, for each panel k from the left:
   1. potrf: its diagonal tile = the tile's factor;
   2. trsm: each tile below it = what makes its product with that factor's
      transpose the tile;
   3. for each panel j to the right of it: syrk updates the diagonal tile, and
      gemm each tile below it, by the tiles of panel k in the same rows and in
      the rows of panel j.
   Priorities are bottom levels, so that panels are ready before they are
   needed.

   Thread safety: see la.h. */
#include "la.h"

#include "blas_threads-private.h"
#include "codelets-private.h"
#include "gpu-private.h"
#include "tiles-private.h"

#include <hass/dataflow.h>

#define MOST_N G_MAXINT32
#define LEVELS (1 << 30)

/* One factorisation. */
typedef struct
{
  LaFactoring factoring;
  LaTiles tiles;
  gpointer a;
  LaUrgency urgency;
  HassCodelet codelets[LA_N_KINDS];
  HassData **data; /* [n_panels][1 + n_chunks]: the diagonal tile is first */
} Potrf;

/* -- Building ----------------------------------------------------------- */

static HassData **
diagonal (const Potrf *p, gsize k)
{
  return &p->data[k * (1 + p->tiles.n_chunks)];
}

/* The tile of chunk @i in panel @k, NULL where it has no rows. */
static HassData **
tile (const Potrf *p, gsize i, gsize k)
{
  return diagonal (p, k) + 1 + i;
}

static HassData *
datum (HassGraph *graph, const Potrf *p, gsize row, gsize rows, gsize k)
{
  const LaMatrix *m = &p->factoring.m;
  gsize bytes = la_number_bytes (m->type);
  gsize cols = la_panel_cols (&p->tiles, k);
  gpointer at = la_at (m, p->a, row, k * p->tiles.cols);
  return m->upper
             ? hass_graph_data (graph, at, cols * bytes, rows, m->ld * bytes)
             : hass_graph_data (graph, at, rows * bytes, cols, m->ld * bytes);
}

static gboolean
make_data (HassGraph *graph, Potrf *p)
{
  const LaTiles *t = &p->tiles;
  for (gsize k = 0; k < t->n_panels; k++)
    {
      gsize cols = la_panel_cols (t, k);
      if (!(*diagonal (p, k) = datum (graph, p, k * t->cols, cols, k)))
        return FALSE;
      for (gsize i = la_first_chunk (t, k); i < t->n_chunks; i++)
        if (la_tile_rows (t, i, k) > 0
            && !(*tile (p, i, k) = datum (graph, p, la_tile_row (t, i, k),
                                          la_tile_rows (t, i, k), k)))
          return FALSE;
    }
  return TRUE;
}

/* In floating-point operations. */
static double
work (const LaOperation *o)
{
  double rows = o->size.rows, cols = o->size.cols, k = o->size.k;
  switch (o->kind)
    {
    case LA_POTRF:
      return cols * cols * cols / 3;
    case LA_TRSM:
      return rows * cols * cols;
    case LA_SYRK:
      return cols * cols * k;
    default:
      return 2 * rows * cols * k;
    }
}

static gboolean
submit (HassGraph *graph, const Potrf *p, const LaOperation *o,
        const HassAccess *accesses, double level)
{
  HassTaskHints hints = { .arguments = o, .argument_bytes = sizeof *o };
  guint n = o->kind == LA_POTRF ? 1 : o->kind == LA_GEMM ? 3 : 2;
  hints.priority = (gint32)(level / p->urgency.potrf[0] * LEVELS);
  hints.work = work (o);
  /* a and b of one datum: read once */
  if (n == 3 && accesses[0].data == accesses[1].data)
    {
      accesses++;
      n--;
    }
  return hass_graph_task (graph, &p->codelets[o->kind], accesses, n, &hints);
}

static gboolean
factorise (HassGraph *graph, const Potrf *p, gsize k)
{
  LaOperation o = { LA_POTRF, .panel = k };
  HassAccess tile = { *diagonal (p, k), HASS_UPDATE };
  o.size.cols = la_panel_cols (&p->tiles, k);
  return submit (graph, p, &o, &tile, p->urgency.potrf[k]);
}

/* Step 2. */
static gboolean
solve (HassGraph *graph, const Potrf *p, gsize k)
{
  const LaTiles *t = &p->tiles;
  for (gsize i = la_first_chunk (t, k); i < t->n_chunks; i++)
    {
      LaOperation o
          = { LA_TRSM, .size = { la_tile_rows (t, i, k), t->cols, 0 } };
      HassAccess accesses[] = { { *diagonal (p, k), HASS_READ },
                                { *tile (p, i, k), HASS_UPDATE } };
      if (o.size.rows > 0
          && !submit (graph, p, &o, accesses,
                      la_trsm_level (&p->urgency, t, i, k)))
        return FALSE;
    }
  return TRUE;
}

/* Step 3, for one panel. */
static gboolean
update (HassGraph *graph, const Potrf *p, gsize j, gsize k)
{
  const LaTiles *t = &p->tiles;
  gsize first = la_first_chunk (t, j);
  gsize row = j * t->cols - la_tile_row (t, first, k);
  LaOperation o = { LA_SYRK, .size = { 0, la_panel_cols (t, j), t->cols } };
  HassAccess syrk[] = { { *tile (p, first, k), HASS_READ },
                        { *diagonal (p, j), HASS_UPDATE } };
  o.a_row = row;
  if (!submit (graph, p, &o, syrk, la_syrk_level (&p->urgency, t, j, k)))
    return FALSE;
  o.kind = LA_GEMM;
  o.b_row = row;
  for (gsize i = first; i < t->n_chunks; i++)
    {
      HassAccess gemm[] = { { *tile (p, i, k), HASS_READ },
                            { *tile (p, first, k), HASS_READ },
                            { *tile (p, i, j), HASS_UPDATE } };
      o.size.rows = la_tile_rows (t, i, j);
      o.a_row = la_tile_row (t, i, j) - la_tile_row (t, i, k);
      if (o.size.rows > 0
          && !submit (graph, p, &o, gemm,
                      la_gemm_level (&p->urgency, t, i, j, k)))
        return FALSE;
    }
  return TRUE;
}

static gboolean
build (HassGraph *graph, gpointer data, GError **error)
{
  Potrf *p = data;
  const LaTiles *t = &p->tiles;
  (void)error;
  if (!make_data (graph, p))
    return FALSE;
  for (gsize k = 0; k < t->n_panels; k++)
    {
      if (!factorise (graph, p, k) || !solve (graph, p, k))
        return FALSE;
      for (gsize j = k + 1; j < t->n_panels; j++)
        if (!update (graph, p, j, k))
          return FALSE;
    }
  return TRUE;
}

/* -- The call ----------------------------------------------------------- */

static gboolean invalid (GError **error, const char *format, ...)
    G_GNUC_PRINTF (2, 3);

static gboolean
invalid (GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "hass_la_potrf: %s",
               text);
  return FALSE;
}

/* Copies and checks the settings. */
static gboolean
read_settings (HassLaPotrf *into, const HassLaPotrf *from, GError **error)
{
  gsize least = G_STRUCT_OFFSET (HassLaPotrf, a) + sizeof from->a;
  *into = hass_la_potrf_init ();
  if (!from)
    return invalid (error, "HassLaPotrf is NULL");
  if (from->struct_size < least || from->struct_size > sizeof *into)
    return invalid (error,
                    "struct_size is %zu, not from %zu to %zu: start from "
                    "HASS_LA_POTRF_INIT",
                    from->struct_size, least, sizeof *into);
  memcpy (into, from, from->struct_size);
  if (into->ld == 0)
    into->ld = into->n;
  if (into->n > MOST_N || into->ld > MOST_N)
    return invalid (error, "n is %zu and ld %zu, more than %d", into->n,
                    into->ld, MOST_N);
  if (into->ld < into->n)
    return invalid (error, "ld is %zu, less than n, which is %zu", into->ld,
                    into->n);
  if (!into->a && into->n > 0)
    return invalid (error, "a is NULL");
  if ((guint)into->type > HASS_LA_FLOAT)
    return invalid (error, "type %d is no HassLaType", into->type);
  if ((guint)into->triangle > HASS_LA_UPPER)
    return invalid (error, "triangle %d is no HassLaTriangle", into->triangle);
  into->tile_cols = MIN (into->tile_cols, MAX (into->n, 1));
  into->tile_rows = MIN (into->tile_rows, MAX (into->n, 1));
  return TRUE;
}

/* Of the machine, as hass_dataflow() counts them but for a limit by cgroup. */
static guint
count_cores (const HassRunOptions *run)
{
  const char *text = g_getenv ("HASS_NCPU");
  guint64 n;
  if (run->n_cores > 0)
    return run->n_cores;
  if (text && g_ascii_string_to_unsigned (text, 10, 1, 4096, &n, NULL))
    return (guint)n;
  return g_get_num_processors ();
}

/* Whether GPUs participate, if there are some. */
static gboolean
may_use_gpus (const HassRunOptions *run)
{
  const char *text = g_getenv ("HASS_NGPU");
  return run->n_gpus > 0 || (run->n_gpus == 0 && g_strcmp0 (text, "0") != 0);
}

static LaTiles
cut (const HassLaPotrf *s)
{
  const LaGpuBlas *blas = la_gpu_blas ();
  if (blas && s->n >= LA_LEAST_N_OF_GPUS && may_use_gpus (&s->run)
      && blas->n_devices () > 0)
    return la_gpu_tiles (s->n, s->tile_rows, s->tile_cols);
  return la_tiles (s->n, s->tile_rows, s->tile_cols, count_cores (&s->run));
}

gboolean
hass_la_potrf_tiles (const HassLaPotrf *potrf, gsize *tile_rows,
                     gsize *tile_cols, GError **error)
{
  HassLaPotrf s;
  if (!read_settings (&s, potrf, error))
    return FALSE;
  LaTiles t = cut (&s);
  if (tile_rows)
    *tile_rows = t.rows;
  if (tile_cols)
    *tile_cols = t.cols;
  return TRUE;
}

static void
warn (int blas_threads)
{
  g_warning ("hass_la_potrf: OpenBLAS computed with %d threads inside tasks, "
             "which share the cores already: while a matrix is factorised "
             "nothing may call openblas_set_num_threads (), and OpenBLAS built "
             "with OpenMP needs OMP_NUM_THREADS=1",
             blas_threads);
}

static gboolean
run (Potrf *p, const HassDataflow *dataflow, HassReport **report,
     GError **error)
{
  la_blas_begin ();
  gboolean ok = hass_dataflow (dataflow, report, error);
  la_blas_end ();
  if (p->factoring.blas_threads > 1)
    warn (p->factoring.blas_threads);
  return ok && la_is_positive (&p->factoring, p->tiles.n, p->a, error);
}

gboolean
hass_la_potrf (const HassLaPotrf *potrf, gsize *minor, HassReport **report,
               GError **error)
{
  HassLaPotrf s;
  if (minor)
    *minor = 0;
  if (report)
    *report = NULL;
  if (!read_settings (&s, potrf, error))
    return FALSE;
  Potrf p = { .a = s.a };
  p.factoring.m = (LaMatrix){ s.type, s.triangle == HASS_LA_UPPER, s.ld };
  p.tiles = cut (&s);
  p.factoring.tile_cols = p.tiles.cols;
  p.urgency = la_urgency_new (&p.tiles);
  p.data = g_new0 (HassData *, p.tiles.n_panels * (1 + p.tiles.n_chunks));
  la_codelets (p.codelets, &p.factoring);
  for (guint i = 0; i < LA_N_KINDS && s.n < LA_LEAST_N_OF_GPUS; i++)
    p.codelets[i].gpu = NULL;
  HassDataflow dataflow = HASS_DATAFLOW_INIT;
  dataflow.name = s.type == HASS_LA_FLOAT ? "spotrf" : "dpotrf";
  dataflow.user_data = &p;
  dataflow.build = build;
  dataflow.run = s.run;
  dataflow.run.on_error = HASS_ON_ERROR_STOP;
  gboolean ok = run (&p, &dataflow, report, error);
  if (minor)
    *minor = p.factoring.minor;
  g_free (p.data);
  la_urgency_clear (&p.urgency);
  return ok;
}
