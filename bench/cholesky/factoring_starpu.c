/* SPDX-License-Identifier: MIT */
/* factoring_starpu.c: StarPU tasks on tiles, with priorities. Its workers spin
   while they are idle, so it lives only during its own measurements.
   Thread safety: one run at a time. */
#include "factorings.h"

#include <starpu.h>
#include <stdlib.h>

#include "bench.h"

/* Arguments of a task, which StarPU copies. */
typedef struct
{
  const Factoring *f;
  gsize i, j, k;
} Place;

static Place
place (void *arg)
{
  Place p;
  starpu_codelet_unpack_args (arg, &p);
  return p;
}

static void
potrf (void **buffers, void *arg)
{
  Place p = place (arg);
  (void)buffers;
  factoring_potrf (p.f, p.k);
}

static void
trsm (void **buffers, void *arg)
{
  Place p = place (arg);
  (void)buffers;
  factoring_trsm (p.f, p.i, p.k);
}

static void
syrk (void **buffers, void *arg)
{
  Place p = place (arg);
  (void)buffers;
  factoring_syrk (p.f, p.j, p.k);
}

static void
gemm (void **buffers, void *arg)
{
  Place p = place (arg);
  (void)buffers;
  factoring_gemm (p.f, p.i, p.j, p.k);
}

static struct starpu_codelet potrf_codelet
    = { .cpu_funcs = { potrf }, .nbuffers = 1, .modes = { STARPU_RW } },
    trsm_codelet = { .cpu_funcs = { trsm },
                     .nbuffers = 2,
                     .modes = { STARPU_R, STARPU_RW } },
    syrk_codelet = { .cpu_funcs = { syrk },
                     .nbuffers = 2,
                     .modes = { STARPU_R, STARPU_RW } },
    gemm_codelet = { .cpu_funcs = { gemm },
                     .nbuffers = 3,
                     .modes = { STARPU_R, STARPU_R, STARPU_RW } };

static void
begin (void)
{
  struct starpu_conf conf;
  g_setenv ("STARPU_SILENT", "1", TRUE);
  g_setenv ("STARPU_HOME", g_get_tmp_dir (), FALSE);
  starpu_conf_init (&conf);
  conf.ncpus = (int)bench_cores ();
  if (starpu_init (&conf) != 0)
    {
      g_printerr ("StarPU does not start\n");
      exit (1);
    }
}

static void
end (void)
{
  starpu_shutdown ();
}

static void
factorise_panel (const Factoring *f, starpu_data_handle_t *tiles, gsize k)
{
  gsize n = factoring_tiles (f);
  Place p = { f, k, k, k };
  int urgent = factoring_priority (f, k, k) + 2;
  starpu_task_insert (&potrf_codelet, STARPU_VALUE, &p, sizeof p, STARPU_RW,
                      tiles[k * n + k], STARPU_PRIORITY, urgent, 0);
  for (p.i = k + 1; p.i < n; p.i++)
    starpu_task_insert (&trsm_codelet, STARPU_VALUE, &p, sizeof p, STARPU_R,
                        tiles[k * n + k], STARPU_RW, tiles[p.i * n + k],
                        STARPU_PRIORITY, urgent - 1, 0);
  for (p.j = k + 1; p.j < n; p.j++)
    {
      urgent = factoring_priority (f, p.j, k);
      starpu_task_insert (&syrk_codelet, STARPU_VALUE, &p, sizeof p, STARPU_R,
                          tiles[p.j * n + k], STARPU_RW, tiles[p.j * n + p.j],
                          STARPU_PRIORITY, urgent, 0);
      for (p.i = p.j + 1; p.i < n; p.i++)
        starpu_task_insert (&gemm_codelet, STARPU_VALUE, &p, sizeof p, STARPU_R,
                            tiles[p.i * n + k], STARPU_R, tiles[p.j * n + k],
                            STARPU_RW, tiles[p.i * n + p.j], STARPU_PRIORITY,
                            urgent, 0);
    }
}

static void
run (const Factoring *f)
{
  gsize n = factoring_tiles (f);
  g_autofree starpu_data_handle_t *tiles = g_new0 (starpu_data_handle_t, n * n);
  for (gsize j = 0; j < n; j++)
    for (gsize i = j; i < n; i++)
      starpu_matrix_data_register (
          &tiles[i * n + j], STARPU_MAIN_RAM, (uintptr_t)factoring_at (f, i, j),
          (guint32)f->n, (guint32)factoring_rows (f, i),
          (guint32)factoring_rows (f, j), sizeof (double));
  for (gsize k = 0; k < n; k++)
    factorise_panel (f, tiles, k);
  starpu_task_wait_for_all ();
  for (gsize j = 0; j < n; j++)
    for (gsize i = j; i < n; i++)
      starpu_data_unregister (tiles[i * n + j]);
}

const FactoringPeer factoring_starpu
    = { .name = "StarPU", .begin = begin, .end = end, .run = run };
