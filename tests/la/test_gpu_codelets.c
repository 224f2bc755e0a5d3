/* SPDX-License-Identifier: MIT */
/* test_gpu_codelets.c: the calls of BLAS for GPUs compute what the kernels for
   cores compute.
   Thread safety: one thread. */
#include "hass_test.h"

#ifndef WITHOUT_cholesky

#  include <math.h>
#  include <string.h>

#  include "device/cuda/cudart-private.h"
#  include "la/codelets-private.h"
#  include "tests/gpu/gpu_trial.h"
#  include "tests/la/naive_blas.h"

#  define N 40 /* rows of the matrix, and its columns */
/* Of a matrix of which the factor's diagonal blocks are inverted. */
#  define LARGE 600
/* Calls with other numbers in the same shapes, and shapes: the launches of a
   shape are captured in its second call, and those of a few shapes are kept. */
#  define ROUNDS 4

/* A matrix in host memory, and its tiles as a device has them: copies whose
   rows are adjacent. */
typedef struct
{
  LaFactoring f;
  HassCodelet codelets[LA_N_KINDS];
  guint8 *host;
  HassDataView views[3], device_views[3];
} Twins;

static gboolean
is_float (const Twins *t)
{
  return t->f.m.type == HASS_LA_FLOAT;
}

/* Row @i, column @j of L. */
static void
set (const Twins *t, gsize i, gsize j, double value)
{
  gpointer at = la_at (&t->f.m, t->host, i, j);
  if (is_float (t))
    *(float *)at = (float)value;
  else
    *(double *)at = value;
}

/* @salt: other numbers. */
static void
twins_init (Twins *t, int how, gsize n, guint salt)
{
  memset (t, 0, sizeof *t);
  t->f.m = (LaMatrix){ how & 1, how >> 1 & 1, n + 3 };
  t->f.tile_cols = 10;
  t->host = g_malloc0 ((n + 3) * (n + 3) * sizeof (double));
  for (gsize i = 0; i < n; i++)
    for (gsize j = 0; j < n; j++)
      set (t, i, j,
           i == j ? n + salt
                  : (double)((7 * i + 13 * j + salt) % 11) / 11 - 0.4);
  la_codelets (t->codelets, &t->f);
}

static void
twins_clear (Twins *t)
{
  for (guint v = 0; v < 3; v++)
    g_free (t->device_views[v].data);
  g_free (t->host);
}

/* View @v is the tile [@rows * @cols] at a row and a column of L. */
static void
view (Twins *t, guint v, const gsize at[2], gsize rows, gsize cols)
{
  gsize bytes = la_number_bytes (t->f.m.type);
  gsize across = t->f.m.upper ? cols : rows;
  HassDataView *h = &t->views[v], *d = &t->device_views[v];
  *h = (HassDataView){ la_at (&t->f.m, t->host, at[0], at[1]), across * bytes,
                       t->f.m.upper ? rows : cols, t->f.m.ld * bytes };
  *d = (HassDataView){ g_malloc (h->row_bytes * h->rows), h->row_bytes, h->rows,
                       h->row_bytes };
  for (gsize i = 0; i < h->rows; i++)
    memcpy ((guint8 *)d->data + i * d->pitch, (guint8 *)h->data + i * h->pitch,
            h->row_bytes);
}

static double
distance (const Twins *t, const HassDataView *h, const HassDataView *d)
{
  double most = 0;
  for (gsize r = 0; r < h->rows; r++)
    for (gsize i = 0; i < h->row_bytes / la_number_bytes (t->f.m.type); i++)
      {
        guint8 *x = (guint8 *)h->data + r * h->pitch;
        guint8 *y = (guint8 *)d->data + r * d->pitch;
        double difference = is_float (t)
                                ? (double)((float *)x)[i] - ((float *)y)[i]
                                : ((double *)x)[i] - ((double *)y)[i];
        most = MAX (most, fabs (difference));
      }
  return most;
}

/* In the memory of a real GPU: copies a datum there. */
static HassDataView
copy_there (const HassDataView *h, gpointer stream)
{
  const HassCudart *c = hass_cudart ();
  HassDataView view = *h;
  CU_ASSERT_FATAL (!c->allocate (&view.data, h->row_bytes * h->rows));
  CU_ASSERT (!c->copy (view.data, h->data, h->row_bytes * h->rows,
                       HASS_CUDA_TO_DEVICE, stream));
  return view;
}

/* The calls may share their first view. The data are copied there and back. */
static void
run_there (const HassCodelet *codelet, const HassCall *calls, guint n)
{
  const HassCudart *c = hass_cudart ();
  HassDataView views[LA_GPU_MOST][3];
  HassCall there[LA_GPU_MOST];
  g_autoptr (GError) error = NULL;
  gpointer stream, event;
  CU_ASSERT_FATAL (!c->set_device (0) && !c->stream_new (&stream)
                   && !c->event_new (&event));
  for (guint i = 0; i < n; i++)
    {
      there[i] = calls[i];
      there[i].views = views[i];
      for (guint v = 0; v < calls[i].n_views; v++)
        views[i][v] = i > 0 && calls[i].views[v].data == calls[0].views[v].data
                          ? views[0][v]
                          : copy_there (&calls[i].views[v], stream);
    }
  gboolean ok = codelet->gpu (there, n, stream, &error);
  if (!ok)
    printf ("\n    %s", error->message);
  CU_ASSERT_TRUE (ok);
  for (guint i = 0; i < n; i++)
    for (guint v = 0; v < calls[i].n_views; v++)
      CU_ASSERT (!c->copy (calls[i].views[v].data, views[i][v].data,
                           views[i][v].row_bytes * views[i][v].rows,
                           HASS_CUDA_TO_HOST, stream));
  CU_ASSERT (!c->event_record (event, stream) && !c->event_wait (event));
  for (guint i = 0; i < n; i++)
    for (guint v = 0; v < calls[i].n_views; v++)
      if (i == 0 || views[i][v].data != views[0][v].data)
        CU_ASSERT (!c->release (views[i][v].data));
  CU_ASSERT (!c->event_free (event) && !c->stream_free (stream));
}

/* On the stand-in, if it is in use. */
static void
run_on_gpu (const HassCodelet *codelet, const HassCall *calls, guint n)
{
  if (la_gpu_blas () != &naive_blas)
    run_there (codelet, calls, n);
  else
    CU_ASSERT_TRUE (codelet->gpu (calls, n, NULL, NULL));
  CU_ASSERT_EQUAL (naive.n_begun, 0);
}

static void
assert_same (const Twins *t, guint view)
{
  CU_ASSERT_TRUE (distance (t, &t->views[view], &t->device_views[view])
                  < (is_float (t) ? 1e-4 : 1e-12));
}

/* Both compute the operation. */
static void
compare (Twins *t, const LaOperation *o, guint n_views)
{
  HassCall on_core = { t->views, n_views, o, &t->f };
  HassCall on_gpu = { t->device_views, n_views, o, &t->f };
  CU_ASSERT_TRUE (t->codelets[o->kind].cpu (&on_core, NULL, NULL));
  run_on_gpu (&t->codelets[o->kind], &on_gpu, 1);
  for (guint v = 0; v < n_views; v++)
    assert_same (t, v);
}

/* One call solves tiles of several heights with a factor whose diagonal blocks
   are inverted. */
static void
solve_large (int how, gsize tile, guint round)
{
  static const gsize corner[] = { 0, 0 };
  gsize heights[] = { 50 - 10 * round, 3 + 15 * round };
  LaOperation potrf = { LA_POTRF, { 0, tile, 0 }, 0, 0, 0 };
  LaOperation trsm[G_N_ELEMENTS (heights)];
  HassCall calls[G_N_ELEMENTS (heights)];
  gsize row[] = { tile, 0 };
  Twins t;
  twins_init (&t, how, LARGE, round);
  HassDataView whole = { la_at (&t.f.m, t.host, 0, 0), 0, 0, 0 };
  HassCall factor = { &whole, 1, &potrf, &t.f };
  CU_ASSERT_TRUE (t.codelets[LA_POTRF].cpu (&factor, NULL, NULL));
  view (&t, 0, corner, tile, tile);
  HassDataView views[G_N_ELEMENTS (heights)][2];
  for (guint i = 0; i < G_N_ELEMENTS (heights); i++)
    {
      trsm[i] = (LaOperation){ LA_TRSM, { heights[i], tile, 0 }, 0, 0, 0 };
      view (&t, 1 + i, row, heights[i], tile);
      row[0] += heights[i];
      views[i][0] = t.views[0];
      views[i][1] = t.views[1 + i];
      HassCall on_core = { views[i], 2, &trsm[i], &t.f };
      CU_ASSERT_TRUE (t.codelets[LA_TRSM].cpu (&on_core, NULL, NULL));
      views[i][0] = t.device_views[0];
      views[i][1] = t.device_views[1 + i];
      calls[i] = (HassCall){ views[i], 2, &trsm[i], &t.f };
    }
  run_on_gpu (&t.codelets[LA_TRSM], calls, G_N_ELEMENTS (heights));
  assert_same (&t, 1);
  assert_same (&t, 2);
  twins_clear (&t);
}

/* Types and triangles. */
static void
compare_all (void)
{
  static const gsize corner[] = { 0, 0 }, below[] = { 10, 0 },
                     lower[] = { 20, 0 }, inner[] = { 20, 10 };
  static const LaOperation operations[]
      = { { LA_POTRF, { 0, 10, 0 }, 1, 0, 0 },
          { LA_TRSM, { 17, 10, 0 }, 0, 0, 0 },
          { LA_SYRK, { 0, 7, 10 }, 0, 2, 0 },
          { LA_GEMM, { 11, 6, 10 }, 0, 1, 3 },
          { LA_GEMM, { 5, 6, 10 }, 0, 4, 2 } };
  for (int how = 0; how < 4; how++)
    for (guint i = 0; i < G_N_ELEMENTS (operations); i++)
      {
        const LaOperation *o = &operations[i];
        gboolean one_tile = i == 4; /* a and b */
        Twins t;
        twins_init (&t, how, N, 0);
        view (&t, 0, o->kind < LA_SYRK ? corner : lower, 10 + 10 * (i > 1), 10);
        if (o->kind == LA_GEMM && !one_tile)
          view (&t, 1, below, 9, 10);
        if (o->kind > LA_POTRF)
          view (&t, o->kind == LA_GEMM && !one_tile ? 2 : 1,
                o->kind == LA_TRSM ? below : inner,
                o->kind == LA_SYRK ? o->size.cols : o->size.rows, o->size.cols);
        compare (&t, o,
                 o->kind == LA_POTRF               ? 1
                 : o->kind == LA_GEMM && !one_tile ? 3
                                                   : 2);
        twins_clear (&t);
      }
  for (int how = 0; how < 4; how++)
    solve_large (how, 512, 0);
}

static void
solve_again (void)
{
  static const gsize tiles[] = { 512, 256, 384 };
  for (guint round = 0; round < ROUNDS; round++)
    for (int how = 0; how < 4; how++)
      for (guint i = 0; i < G_N_ELEMENTS (tiles); i++)
        if (i == 0 || round > 1)
          solve_large (how, tiles[i], round);
}

static void
same (void)
{
  la_gpu_use (&naive_blas);
  compare_all ();
  la_gpu_use (NULL);
}

/* A GPU marks the minor; the next panel on a core, whose numbers are all NaN
   then, is left, and the minor is found in the end. */
static void
find_minors (void)
{
  static const gsize corner[] = { 0, 0 };
  for (int how = 0; how < 4; how++)
    {
      g_autoptr (GError) error = NULL;
      LaOperation o = { LA_POTRF, .size = { 0, 10, 0 }, .panel = 1 };
      Twins t;
      twins_init (&t, how, N, 0);
      set (&t, 3, 3, how < 2 ? -1 : NAN);
      view (&t, 0, corner, 10, 10);
      HassCall on_gpu = { t.device_views, 1, &o, &t.f };
      run_on_gpu (&t.codelets[LA_POTRF], &on_gpu, 1);
      t.f.m.ld = 10;
      CU_ASSERT_FALSE (la_is_positive (&t.f, 10, t.device_views[0].data, NULL));
      CU_ASSERT_EQUAL (t.f.minor, 4);
      t.f.m.ld = N + 3;
      HassCall on_core = { t.views, 1, &o, &t.f };
      CU_ASSERT_FALSE (t.codelets[LA_POTRF].cpu (&on_core, NULL, &error));
      CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "minor of order 14 is"));
      CU_ASSERT_EQUAL (t.f.minor, 14);
      set (&t, 0, 0, NAN);
      CU_ASSERT_TRUE (t.codelets[LA_POTRF].cpu (&on_core, NULL, NULL));
      twins_clear (&t);
    }
}

static void
not_positive (void)
{
  la_gpu_use (&naive_blas);
  find_minors ();
  la_gpu_use (NULL);
}

static void
really (void)
{
  if (!la_gpu_blas ())
    hass_test_skip ("built without cuBLAS or cuSOLVER");
  else if (!gpu_absent ())
    {
      compare_all ();
      solve_again ();
      find_minors ();
    }
}

static void
no_handle (void)
{
  g_autoptr (GError) error = NULL;
  HassCodelet codelets[LA_N_KINDS];
  LaFactoring f = { { HASS_LA_DOUBLE, FALSE, N }, 10, 0, 0 };
  HassCall call = { NULL, 0, NULL, &f };
  la_gpu_use (&naive_blas);
  naive.fails = TRUE;
  la_codelets (codelets, &f);
  CU_ASSERT_FALSE (codelets[LA_GEMM].gpu (&call, 1, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_DEVICE));
  CU_ASSERT_EQUAL (naive.n_begun, 0);
  naive.fails = FALSE;
  la_gpu_use (NULL);
  la_codelets (codelets, &f);
  CU_ASSERT_EQUAL (codelets[LA_GEMM].gpu != NULL, la_gpu_blas () != NULL);
}

HASS_TEST_SUITE (
    gpu_codelets,
    { "BLAS on a GPU computes what the kernels on cores compute", same },
    { "a minor that a GPU marked is found in the end", not_positive },
    { "cuBLAS and cuSOLVER compute what the kernels on cores compute", really },
    { "a GPU without a handle for BLAS fails its tasks", no_handle })

#endif
