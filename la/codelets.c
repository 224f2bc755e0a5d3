/* SPDX-License-Identifier: MIT */
/* codelets.c: the four operations on cores.
   Thread safety: tasks, as HassCodeletFunc says. */
#include "codelets-private.h"

#include "blas_threads-private.h"
#include "gpu-private.h"
#include "la.h"

#include <math.h>

/* Not by G_DEFINE_QUARK (), in whose argument clang-format puts spaces. */
GQuark
hass_la_error_quark (void)
{
  return g_quark_from_static_string ("hass-la-error-quark");
}

static gboolean
not_positive (LaFactoring *f, gsize minor, GError **error)
{
  f->minor = minor;
  g_set_error (error, HASS_LA_ERROR, HASS_LA_ERROR_NOT_POSITIVE,
               "the matrix is not positive definite: its leading minor of "
               "order %zu is not positive",
               minor);
  return FALSE;
}

gboolean
la_is_positive (LaFactoring *f, gsize n, gpointer a, GError **error)
{
  for (gsize i = 0; i < n; i++)
    if (isnan (la_diagonal (&f->m, a, i)))
      return not_positive (f, i + 1, error);
  return TRUE;
}

/* If the tile's first number is NaN, a minor before it may be what is not
   positive. */
static gboolean
potrf (const HassCall *call, HassWorker *worker, GError **error)
{
  LaFactoring *f = call->user_data;
  const LaOperation *o = call->arguments;
  gpointer tile = call->views[0].data;
  int threads = la_blas_threads ();
  (void)worker;
  if (threads > 1)
    atomic_store_explicit (&f->blas_threads, threads, memory_order_relaxed);
  gsize minor = isnan (la_diagonal (&f->m, tile, 0))
                    ? 0
                    : la_potrf (&f->m, o->size.cols, tile);
  return minor == 0 || not_positive (f, o->panel * f->tile_cols + minor, error);
}

static gboolean
trsm (const HassCall *call, HassWorker *worker, GError **error)
{
  const LaFactoring *f = call->user_data;
  const LaOperation *o = call->arguments;
  (void)worker, (void)error;
  la_trsm (&f->m, o->size.rows, o->size.cols, call->views[0].data,
           call->views[1].data);
  return TRUE;
}

static gboolean
syrk (const HassCall *call, HassWorker *worker, GError **error)
{
  const LaFactoring *f = call->user_data;
  const LaOperation *o = call->arguments;
  (void)worker, (void)error;
  la_syrk (&f->m, o->size.cols, o->size.k,
           la_at (&f->m, call->views[0].data, o->a_row, 0),
           call->views[1].data);
  return TRUE;
}

static gboolean
gemm (const HassCall *call, HassWorker *worker, GError **error)
{
  const LaFactoring *f = call->user_data;
  const LaOperation *o = call->arguments;
  const HassDataView *c = &call->views[call->n_views - 1];
  (void)worker, (void)error;
  la_gemm (&f->m, &o->size, la_at (&f->m, call->views[0].data, o->a_row, 0),
           la_at (&f->m, c[-1].data, o->b_row, 0), c->data);
  return TRUE;
}

void
la_codelets (HassCodelet *codelets, LaFactoring *f)
{
  static const char *const names[LA_N_KINDS]
      = { "potrf", "trsm", "syrk", "gemm" };
  static const HassCodeletFunc on_cores[LA_N_KINDS]
      = { potrf, trsm, syrk, gemm };
  for (guint i = 0; i < LA_N_KINDS; i++)
    {
      codelets[i] = (HassCodelet){ .struct_size = sizeof (HassCodelet) };
      codelets[i].name = names[i];
      codelets[i].cpu = on_cores[i];
      codelets[i].user_data = f;
      if (la_gpu_blas ())
        {
          codelets[i].gpu = la_gpu_run;
          codelets[i].gpu_most = LA_GPU_MOST;
        }
    }
}
