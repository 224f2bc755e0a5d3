/* SPDX-License-Identifier: MIT */
/* The kernels for any core; what vectors it always has the compiler uses.
   Thread safety: as kernels.h. */
#include "kernels.h"

#define KERNELS monte_carlo_scalar
#define KERNELS_NAME "scalar"
#include "kernels-private.h"
