/* SPDX-License-Identifier: MIT */
/* The kernels for vectors of 32 bytes.
   Thread safety: as kernels.h. */
#ifdef __x86_64__
#  include <glib.h>
#  include <immintrin.h>
#  include <string.h>
/* For all functions from here on, those of sample.h too. */
#  ifdef __clang__
#    pragma clang attribute push(__attribute__((target("avx2"))),              \
                                 apply_to = function)
#  else
#    pragma GCC target("avx2")
#  endif
#  include "kernels.h"

#  define KERNELS monte_carlo_avx2
#  define KERNELS_NAME "avx2"
#  define VECTOR_BYTES 32
#  define MULTIPLY(a, b) ((Vector)_mm256_mul_epu32 ((__m256i)(a), (__m256i)(b)))
#  include "kernels-private.h"
#  ifdef __clang__
#    pragma clang attribute pop
#  endif
#endif
