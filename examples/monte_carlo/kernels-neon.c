/* SPDX-License-Identifier: MIT */
/* The kernels for vectors of 16 bytes of aarch64, all of which have them.
   Thread safety: as kernels.h. */
#ifdef __aarch64__
#  include "kernels.h"

#  include <arm_neon.h>

#  define KERNELS monte_carlo_neon
#  define KERNELS_NAME "neon"
#  define VECTOR_BYTES 16
#  define LOW_HALVES(a) vmovn_u64 ((uint64x2_t)(a))
#  define MULTIPLY(a, b) ((Vector)vmull_u32 (LOW_HALVES (a), LOW_HALVES (b)))
#  include "kernels-private.h"
#endif
