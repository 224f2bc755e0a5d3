/* SPDX-License-Identifier: MIT */
/* urgency.c: the bottom levels of the operations, from the last panel to the
   first. A tile is updated by the panels before it one after another, so the
   level of an update is that of the operation that ends the tile, and the cost
   of the updates left.
   Thread safety: any thread. */
#include "tiles-private.h"

double
la_syrk_level (const LaUrgency *u, const LaTiles *t, gsize j, gsize k)
{
  return (j - k) * la_syrk_cost (la_panel_cols (t, j), t->cols) + u->potrf[j];
}

double
la_gemm_level (const LaUrgency *u, const LaTiles *t, gsize i, gsize j, gsize k)
{
  gsize rows = la_tile_rows (t, i, j);
  return (j - k) * la_gemm_cost (rows, la_panel_cols (t, j), t->cols)
         + la_trsm_level (u, t, i, j);
}

/* The most urgent of the updates by the tile of chunk @i in panel @k: it is a
   for the tiles beside it, and b for those below it. */
static double
most_urgent (const LaUrgency *u, const LaTiles *t, gsize i, gsize k)
{
  double most = 0;
  for (gsize j = k + 1; j < t->n_panels && la_first_chunk (t, j) <= i; j++)
    {
      gboolean inside = la_first_chunk (t, j) == i;
      if (inside)
        most = MAX (most, la_syrk_level (u, t, j, k));
      for (gsize c = i; c < (inside ? t->n_chunks : i + 1); c++)
        if (la_tile_rows (t, c, j) > 0)
          most = MAX (most, la_gemm_level (u, t, c, j, k));
    }
  return most;
}

LaUrgency
la_urgency_new (const LaTiles *t)
{
  LaUrgency u = { g_new0 (double, t->n_panels),
                  g_new0 (double, t->n_panels * t->n_chunks) };
  for (gsize k = t->n_panels; k-- > 0;)
    {
      gsize cols = la_panel_cols (t, k);
      double most = 0;
      for (gsize i = la_first_chunk (t, k); i < t->n_chunks; i++)
        if (la_tile_rows (t, i, k) > 0)
          {
            double *level = &u.trsm[k * t->n_chunks + i];
            *level = la_trsm_cost (la_tile_rows (t, i, k), cols)
                     + (double)cols * t->column_cost
                     + most_urgent (&u, t, i, k);
            most = MAX (most, *level);
          }
      u.potrf[k] = la_potrf_cost (cols) + (double)cols * t->column_cost + most;
    }
  return u;
}

void
la_urgency_clear (LaUrgency *u)
{
  g_free (u->potrf);
  g_free (u->trsm);
}
