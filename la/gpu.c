/* SPDX-License-Identifier: MIT */
/* gpu.c: which BLAS calls the four operations on L are. L of an upper triangle
   is stored by rows, so memory by columns holds L': there c' = c' - b * a'
   takes the place of c = c - a * b'. Thread safety: see gpu-private.h. */
#include "gpu-private.h"

#include "codelets-private.h"

static const LaGpuBlas *in_use;

const LaGpuBlas *
la_gpu_blas (void)
{
#ifdef HASS_LA_WITH_CUBLAS
  return in_use ? in_use : &la_cublas;
#else
  return in_use;
#endif
}

void
la_gpu_use (const LaGpuBlas *blas)
{
  in_use = blas;
}

/* An operand: from @row of a tile on. */
static gconstpointer
operand (const LaMatrix *m, const HassDataView *tile, gsize row, int *ld)
{
  LaMatrix there = *m;
  there.ld = tile->pitch / la_number_bytes (m->type);
  *ld = (int)there.ld;
  return la_at (&there, tile->data, row, 0);
}

static void
set_a (LaBlasCall *b, const LaMatrix *m, const HassDataView *tile, gsize row)
{
  b->a = operand (m, tile, row, &b->lda);
}

static void
set_b (LaBlasCall *b, const LaMatrix *m, const HassDataView *tile, gsize row)
{
  b->b = operand (m, tile, row, &b->ldb);
}

/* @c of the call: L's tile [rows * cols]. */
static void
set_c (LaBlasCall *b, const LaMatrix *m, const HassDataView *tile, gsize rows,
       gsize cols)
{
  b->c = (gpointer)operand (m, tile, 0, &b->ldc);
  b->m = (int)(m->upper ? cols : rows);
  b->n = (int)(m->upper ? rows : cols);
}

static LaBlasCall
blas_call (const HassCall *call)
{
  const LaMatrix *m = &((const LaFactoring *)call->user_data)->m;
  const LaOperation *o = call->arguments;
  const HassDataView *views = call->views, *last = &views[call->n_views - 1];
  LaBlasCall b = { .type = m->type, .upper = m->upper, .k = (int)o->size.k };
  switch (o->kind)
    {
    case LA_POTRF:
      set_c (&b, m, last, o->size.cols, o->size.cols);
      break;
    case LA_TRSM:
      b.left = m->upper;
      b.transpose_a = TRUE;
      set_a (&b, m, views, 0);
      set_c (&b, m, last, o->size.rows, o->size.cols);
      break;
    case LA_SYRK:
      b.transpose_a = m->upper;
      set_a (&b, m, views, o->a_row);
      set_c (&b, m, last, o->size.cols, o->size.cols);
      break;
    default:
      b.transpose_a = m->upper;
      b.transpose_b = !m->upper;
      set_a (&b, m, m->upper ? last - 1 : views,
             m->upper ? o->b_row : o->a_row);
      set_b (&b, m, m->upper ? views : last - 1,
             m->upper ? o->a_row : o->b_row);
      set_c (&b, m, last, o->size.rows, o->size.cols);
    }
  return b;
}

gboolean
la_gpu_run (const HassCall *calls, guint n_calls, HassGpuStream *stream,
            GError **error)
{
  const LaGpuBlas *blas = la_gpu_blas ();
  const LaBlasFunc funcs[LA_N_KINDS]
      = { blas->potrf, blas->trsm, blas->syrk, blas->gemm };
  LaBlasCall blas_calls[LA_GPU_MOST];
  gpointer device = blas->begin (stream, error);
  if (!device)
    return FALSE;
  for (guint i = 0; i < n_calls; i++)
    blas_calls[i] = blas_call (&calls[i]);
  LaKind kind = ((const LaOperation *)calls[0].arguments)->kind;
  gboolean ok = funcs[kind](device, blas_calls, n_calls, error);
  blas->end (device);
  return ok;
}
