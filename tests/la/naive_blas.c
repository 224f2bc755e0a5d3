/* SPDX-License-Identifier: MIT */
/* naive_blas.c: the BLAS functions of la/gpu-private.h, by their definitions.
   Thread safety: one thread. */
#include "tests/la/naive_blas.h"

#include <math.h>

NaiveBlas naive;

static guint
n_devices (void)
{
  return 1;
}

static gpointer
begin (HassGpuStream *stream, GError **error)
{
  (void)stream;
  if (naive.fails)
    {
      g_set_error (error, HASS_ERROR, HASS_ERROR_DEVICE, "no handle");
      return NULL;
    }
  naive.n_begun++;
  return &naive;
}

static void
end (gpointer device)
{
  ((NaiveBlas *)device)->n_begun--;
}

typedef struct
{
  HassLaType type;
  gboolean transpose;
  gpointer at;
  int ld;
} Operand;

static double
get (const Operand *o, int i, int j)
{
  int place = o->transpose ? j + i * o->ld : i + j * o->ld;
  return o->type == HASS_LA_FLOAT ? (double)((float *)o->at)[place]
                                  : ((double *)o->at)[place];
}

static void
set (const Operand *o, int i, int j, double value)
{
  int place = o->transpose ? j + i * o->ld : i + j * o->ld;
  if (o->type == HASS_LA_FLOAT)
    ((float *)o->at)[place] = (float)value;
  else
    ((double *)o->at)[place] = value;
}

static Operand
a_of (const LaBlasCall *b)
{
  return (Operand){ b->type, b->transpose_a, (gpointer)b->a, b->lda };
}

static Operand
c_of (const LaBlasCall *b)
{
  return (Operand){ b->type, FALSE, b->c, b->ldc };
}

static void
gemm_one (const LaBlasCall *b)
{
  Operand x = a_of (b), c = c_of (b);
  Operand y = { b->type, b->transpose_b, (gpointer)b->b, b->ldb };
  for (int i = 0; i < b->m; i++)
    for (int j = 0; j < b->n; j++)
      {
        double sum = get (&c, i, j);
        for (int k = 0; k < b->k; k++)
          sum -= get (&x, i, k) * get (&y, k, j);
        set (&c, i, j, sum);
      }
}

static void
syrk_one (const LaBlasCall *b)
{
  Operand x = a_of (b), c = c_of (b);
  for (int i = 0; i < b->n; i++)
    for (int j = 0; j < b->n; j++)
      {
        double sum = get (&c, i, j);
        for (int k = 0; k < b->k; k++)
          sum -= get (&x, i, k) * get (&x, j, k);
        if (b->upper ? i <= j : i >= j)
          set (&c, i, j, sum);
      }
}

/* c * inverse (op (a)) is the transpose of inverse (op (a)') * c'. */
static void
trsm_one (const LaBlasCall *b)
{
  Operand x = a_of (b), c = c_of (b);
  int rows = b->left ? b->m : b->n, cols = b->left ? b->n : b->m;
  x.transpose ^= !b->left;
  c.transpose = !b->left;
  gboolean forward = b->upper == x.transpose;
  for (int j = 0; j < cols; j++)
    for (int step = 0; step < rows; step++)
      {
        int i = forward ? step : rows - 1 - step;
        double sum = get (&c, i, j);
        for (int k = forward ? 0 : i + 1; k < (forward ? i : rows); k++)
          sum -= get (&x, i, k) * get (&c, k, j);
        set (&c, i, j, sum / get (&x, i, i));
      }
}

static void
potrf_one (const LaBlasCall *b)
{
  Operand l = c_of (b);
  l.transpose = b->upper;
  for (int i = 0; i < b->n; i++)
    for (int j = 0; j <= i; j++)
      {
        double sum = get (&l, i, j);
        for (int k = 0; k < j; k++)
          sum -= get (&l, i, k) * get (&l, j, k);
        if (i == j && !(sum > 0))
          {
            set (&l, i, i, NAN);
            return;
          }
        set (&l, i, j, i == j ? sqrt (sum) : sum / get (&l, j, j));
      }
}

static gboolean
potrf (gpointer device, const LaBlasCall *calls, guint n, GError **error)
{
  (void)device, (void)error;
  for (guint i = 0; i < n; i++)
    potrf_one (&calls[i]);
  return TRUE;
}

static gboolean
trsm (gpointer device, const LaBlasCall *calls, guint n, GError **error)
{
  (void)device, (void)error;
  for (guint i = 0; i < n; i++)
    trsm_one (&calls[i]);
  return TRUE;
}

static gboolean
syrk (gpointer device, const LaBlasCall *calls, guint n, GError **error)
{
  (void)device, (void)error;
  for (guint i = 0; i < n; i++)
    syrk_one (&calls[i]);
  return TRUE;
}

static gboolean
gemm (gpointer device, const LaBlasCall *calls, guint n, GError **error)
{
  (void)device, (void)error;
  for (guint i = 0; i < n; i++)
    gemm_one (&calls[i]);
  return TRUE;
}

const LaGpuBlas naive_blas = { n_devices, begin, end, potrf, trsm, syrk, gemm };
