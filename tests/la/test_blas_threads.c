/* SPDX-License-Identifier: MIT */
/* test_blas_threads.c: what hass_la_potrf() does with OpenBLAS's threads.
   Thread safety: one thread but for the one that it starts. */
#include "hass_test.h"

#ifndef WITHOUT_cholesky

#  include <pthread.h>
#  include <stdatomic.h>
#  include <string.h>

#  include "tests/engine/trial.h"

#  include <hass/la.h>

/* Of OpenBLAS, whose headers the tests do without. */
int openblas_get_num_threads (void);
void openblas_set_num_threads (int n);

static atomic_uint n_warnings;
static atomic_bool stop;

static void
count (const char *domain, GLogLevelFlags level, const char *message,
       gpointer data)
{
  (void)domain, (void)level, (void)data;
  if (strstr (message, "OpenBLAS computed with 2 threads inside tasks"))
    n_warnings++;
}

static void
factorise (void)
{
  enum
  {
    N = 64
  };
  g_autofree double *a = g_new0 (double, N *N);
  HassLaPotrf s = HASS_LA_POTRF_INIT;
  s.n = N;
  s.a = a;
  s.tile_cols = 8;
  for (gsize i = 0; i < N; i++)
    a[i + i * N] = 4;
  CU_ASSERT_TRUE (hass_la_potrf (&s, NULL, NULL, NULL));
  CU_ASSERT_EQUAL (a[0], 2);
}

static void *
meddle (void *nothing)
{
  (void)nothing;
  while (!stop)
    openblas_set_num_threads (2);
  return NULL;
}

static void
warns (void)
{
  pthread_t thread;
  GLogFunc before = g_log_set_default_handler (count, NULL);
  int threads = openblas_get_num_threads ();
  n_warnings = 0;
  factorise ();
  CU_ASSERT_EQUAL (n_warnings, 0);
  stop = FALSE;
  CU_ASSERT_EQUAL_FATAL (pthread_create (&thread, NULL, meddle, NULL), 0);
  watchdog (60, "a warning");
  while (n_warnings == 0)
    factorise ();
  watchdog (0, NULL);
  stop = TRUE;
  pthread_join (thread, NULL);
  openblas_set_num_threads (threads);
  g_log_set_default_handler (before, NULL);
}

static void
restores (void)
{
  int threads = openblas_get_num_threads ();
  for (int n = 1; n <= 3; n++)
    {
      openblas_set_num_threads (n);
      factorise ();
      CU_ASSERT_EQUAL (openblas_get_num_threads (), n);
    }
  openblas_set_num_threads (threads);
}

HASS_TEST_SUITE (blas_threads,
                 { "OpenBLAS with several threads inside tasks is warned of",
                   warns },
                 { "OpenBLAS has as many threads afterwards as before",
                   restores })

#endif
