/* SPDX-License-Identifier: MIT */
/* monte_carlo_device.h: what monte_carlo computes on a GPU, on the host.
   Thread safety: pure functions. */
#ifndef MONTE_CARLO_DEVICE_H
#define MONTE_CARLO_DEVICE_H

#include "monte_carlo/sample.h"

double device_exp (double x);
double device_log (double x);
McWords device_philox (McWords counter, uint32_t k0, uint32_t k1);
void device_normals (uint64_t a, uint64_t b, double *first, double *second);
McSums device_share (const McModel *model, uint64_t first, uint64_t end,
                     uint64_t thread, uint64_t n_threads);

#endif
