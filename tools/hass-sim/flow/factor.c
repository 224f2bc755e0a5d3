/* SPDX-License-Identifier: MIT */
/* factor.c: factorisations of a matrix of n x n tiles, looking right.
   Operations of kernels, in cubes of a tile's side: of Cholesky and LU those of
   LAPACK; of QR those of tile kernels with inner blocks that are small
   (Bouwmeester, Jacquelin, Langou, Robert: Tiled QR factorization algorithms,
   2011, table 1).
   Thread safety: any thread, each with a graph of its own. */
#include "build.h"

/* Inner blocks of QR have so many columns. */
#define INNER 32

/* A task of a codelet with these uses. */
#define TASK(f, codelet, cubes, ...)                                           \
  do                                                                           \
    {                                                                          \
      const SimFlowUse uses[] = { __VA_ARGS__ };                               \
      sim_flow_begin_task (f, codelet, sim_flow_tile_ns (cubes));              \
      for (guint u = 0; u < G_N_ELEMENTS (uses); u++)                          \
        sim_flow_use (f, uses[u].datum, uses[u].mode);                         \
    }                                                                          \
  while (0)

#define READ(datum)                                                            \
  {                                                                            \
    datum, HASS_READ                                                           \
  }
#define WRITE(datum)                                                           \
  {                                                                            \
    datum, HASS_WRITE                                                          \
  }
#define UPDATE(datum)                                                          \
  {                                                                            \
    datum, HASS_UPDATE                                                         \
  }

void
sim_flow_cholesky (SimFlow *f, guint n, guint unused, GRand *rand)
{
  static const char *const names[] = { "potrf", "trsm", "syrk", "gemm", NULL };
  (void)unused, (void)rand;
  sim_flow_add_codelets (f, names);
  sim_flow_add_data (f, n * n, SIM_TILE_BYTES);
  for (guint k = 0; k < n; k++)
    {
      TASK (f, 0, 1.0 / 3, UPDATE (k * n + k));
      for (guint i = k + 1; i < n; i++)
        TASK (f, 1, 1, READ (k * n + k), UPDATE (i * n + k));
      for (guint i = k + 1; i < n; i++)
        {
          for (guint j = k + 1; j < i; j++)
            TASK (f, 3, 2, READ (i * n + k), READ (j * n + k),
                  UPDATE (i * n + j));
          TASK (f, 2, 1, READ (i * n + k), UPDATE (i * n + i));
        }
    }
}

/* Without pivoting. */
void
sim_flow_lu (SimFlow *f, guint n, guint unused, GRand *rand)
{
  static const char *const names[] = { "getrf", "trsm", "gemm", NULL };
  (void)unused, (void)rand;
  sim_flow_add_codelets (f, names);
  sim_flow_add_data (f, n * n, SIM_TILE_BYTES);
  for (guint k = 0; k < n; k++)
    {
      TASK (f, 0, 2.0 / 3, UPDATE (k * n + k));
      for (guint i = k + 1; i < n; i++)
        {
          TASK (f, 1, 1, READ (k * n + k), UPDATE (i * n + k));
          TASK (f, 1, 1, READ (k * n + k), UPDATE (k * n + i));
        }
      for (guint i = k + 1; i < n; i++)
        for (guint j = k + 1; j < n; j++)
          TASK (f, 2, 2, READ (i * n + k), READ (k * n + j),
                UPDATE (i * n + j));
    }
}

/* By a flat tree: the tiles below the diagonal are eliminated one after
   another. A tile of reflectors has a small one of their factors; those of the
   diagonal are copied beside R, as other tasks change R while they are applied.
 */
void
sim_flow_qr (SimFlow *f, guint n, guint unused, GRand *rand)
{
  static const char *const names[]
      = { "geqrt", "unmqr", "tsqrt", "tsmqr", NULL };
  guint factors = n * n, diagonal = 2 * n * n;
  (void)unused, (void)rand;
  sim_flow_add_codelets (f, names);
  sim_flow_add_data (f, n * n, SIM_TILE_BYTES);
  sim_flow_add_data (f, n * n, SIM_TILE_BYTES / SIM_TILE * INNER);
  sim_flow_add_data (f, n, SIM_TILE_BYTES);
  for (guint k = 0; k < n; k++)
    {
      guint kk = k * n + k;
      TASK (f, 0, 4.0 / 3, UPDATE (kk), WRITE (diagonal + k),
            WRITE (factors + kk));
      for (guint j = k + 1; j < n; j++)
        TASK (f, 1, 2, READ (diagonal + k), READ (factors + kk),
              UPDATE (k * n + j));
      for (guint i = k + 1; i < n; i++)
        {
          guint ik = i * n + k;
          TASK (f, 2, 2, UPDATE (kk), UPDATE (ik), WRITE (factors + ik));
          for (guint j = k + 1; j < n; j++)
            TASK (f, 3, 4, READ (ik), READ (factors + ik), UPDATE (k * n + j),
                  UPDATE (i * n + j));
        }
    }
}
