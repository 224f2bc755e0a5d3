/* SPDX-License-Identifier: MIT */
/* blas_threads.c: counts who needs OpenBLAS on one thread.
   Thread safety: any thread; a lock. */
#include "blas_threads-private.h"

#include <cblas.h>
#include <pthread.h>

/* The state of OpenBLAS is the process's, and so is this. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_users; /* under lock */
static int before;       /* under lock */

void
la_blas_begin (void)
{
  pthread_mutex_lock (&lock);
  if (n_users++ == 0)
    {
      before = openblas_get_num_threads ();
      openblas_set_num_threads (1);
    }
  pthread_mutex_unlock (&lock);
}

void
la_blas_end (void)
{
  pthread_mutex_lock (&lock);
  if (--n_users == 0 && openblas_get_num_threads () == 1)
    openblas_set_num_threads (before);
  pthread_mutex_unlock (&lock);
}

int
la_blas_threads (void)
{
  return openblas_get_num_threads ();
}
