/* SPDX-License-Identifier: MIT */
/* potrf_case.c: see potrf_case.h.
   Thread safety: one thread. */
#include "tests/la/potrf_case.h"

#ifndef WITHOUT_cholesky

#  include <math.h>

#  include "cholesky/cholesky.h"

static gpointer
number (const Case *c, gsize row, gsize col)
{
  const HassLaPotrf *s = &c->settings;
  gsize bytes = s->type == HASS_LA_FLOAT ? sizeof (float) : sizeof (double);
  return (guint8 *)s->a + (row + col * s->ld) * bytes;
}

static double
get (const Case *c, gsize row, gsize col)
{
  return c->settings.type == HASS_LA_FLOAT
             ? (double)*(float *)number (c, row, col)
             : *(double *)number (c, row, col);
}

static void
set (const Case *c, gsize row, gsize col, double value)
{
  if (c->settings.type == HASS_LA_FLOAT)
    *(float *)number (c, row, col) = (float)value;
  else
    *(double *)number (c, row, col) = value;
}

/* Row @i, column @j of L, in the triangle that it is in. */
static double
get_l (const Case *c, gsize i, gsize j)
{
  return c->settings.triangle == HASS_LA_UPPER ? get (c, j, i) : get (c, i, j);
}

void
case_set (const Case *c, gsize i, gsize j, double value)
{
  if (c->settings.triangle == HASS_LA_UPPER)
    set (c, j, i, value);
  else
    set (c, i, j, value);
}

static double
given (gsize n, gsize i, gsize j)
{
  return i == j ? n : (double)(cholesky_random (n, i * n + j) >> 40) * 0x1p-24;
}

Case
case_new (HassLaType type, HassLaTriangle triangle, gsize n, gsize gap)
{
  Case c = { .settings = HASS_LA_POTRF_INIT };
  HassLaPotrf *s = &c.settings;
  s->type = type;
  s->triangle = triangle;
  s->n = n;
  s->ld = n + gap;
  c.bytes = s->ld * n * (type == HASS_LA_FLOAT ? 4 : 8);
  s->a = g_malloc0 (c.bytes + 1);
  for (gsize col = 0; col < n; col++)
    for (gsize row = 0; row < s->ld; row++)
      set (&c, row, col, UNTOUCHED);
  for (gsize j = 0; j < n; j++)
    for (gsize i = j; i < n; i++)
      case_set (&c, i, j, given (n, i, j));
  return c;
}

void
case_clear (Case *c)
{
  g_free (c->settings.a);
}

/* Row by row, [n * n]; above the diagonal undefined. */
static double *
copy_l (const Case *c)
{
  gsize n = c->settings.n;
  double *l = g_new (double, n *n);
  for (gsize i = 0; i < n; i++)
    for (gsize k = 0; k <= i; k++)
      l[i * n + k] = get_l (c, i, k);
  return l;
}

/* Whether the sum of products of two rows is @a, but for @tolerance times the
   sum of their absolute values. No other thread sees the rows, so
   ThreadSanitizer need not watch this. */
__attribute__ ((no_sanitize ("thread"))) static gboolean
is_product (const double *x, const double *y, gsize n, double a,
            double tolerance)
{
  long double sum = 0, scale = 0;
  for (gsize k = 0; k < n; k++)
    {
      long double product = (long double)x[k] * y[k];
      sum += product;
      scale += fabsl (product);
    }
  return fabsl (sum - a) <= tolerance * scale;
}

gboolean
case_is_factor (const Case *c)
{
  gsize n = c->settings.n;
  double eps = c->settings.type == HASS_LA_FLOAT ? 0x1p-23 : 0x1p-52;
  g_autofree double *l = copy_l (c);
  for (gsize i = 0; i < n; i++)
    for (gsize j = 0; j <= i; j++)
      {
        double a = given (n, i, j);
        a = c->settings.type == HASS_LA_FLOAT ? (float)a : a;
        if (!is_product (l + i * n, l + j * n, j + 1, a, 4 * sqrt (n) * eps))
          return FALSE;
      }
  return TRUE;
}

gboolean
case_is_untouched (const Case *c)
{
  for (gsize col = 0; col < c->settings.n; col++)
    for (gsize row = 0; row < c->settings.ld; row++)
      {
        gboolean mine = row < c->settings.n
                        && (c->settings.triangle == HASS_LA_UPPER ? row <= col
                                                                  : row >= col);
        if (!mine && get (c, row, col) != UNTOUCHED)
          return FALSE;
      }
  return TRUE;
}

#endif
