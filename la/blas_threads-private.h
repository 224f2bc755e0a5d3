/* SPDX-License-Identifier: MIT */
/* blas_threads-private.h: OpenBLAS on one thread while tasks call it.
   Thread safety: any thread. */
#ifndef HASS_LA_BLAS_THREADS_PRIVATE_H
#define HASS_LA_BLAS_THREADS_PRIVATE_H

/* From the first call to the end of the last one OpenBLAS has one thread; then
   as many as before, unless the program has changed that meanwhile. */
void la_blas_begin (void);
void la_blas_end (void);

/* Returns: the threads that OpenBLAS computes with. */
int la_blas_threads (void);

#endif
