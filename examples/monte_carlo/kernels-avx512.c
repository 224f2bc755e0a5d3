/* SPDX-License-Identifier: MIT */
/* The kernels for vectors of 64 bytes.
   Thread safety: as kernels.h. */
#ifdef __x86_64__
#  include <glib.h>
#  include <immintrin.h>
#  include <string.h>
/* For all functions from here on, those of sample.h too. */
#  ifdef __clang__
#    pragma clang attribute push(                                              \
        __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))),         \
        apply_to = function)
#  else
#    pragma GCC target(                                                        \
        "avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512")
#  endif
#  include "kernels.h"

#  define KERNELS monte_carlo_avx512
#  define KERNELS_NAME "avx512"
#  define VECTOR_BYTES 64
#  define MULTIPLY(a, b) ((Vector)_mm512_mul_epu32 ((__m512i)(a), (__m512i)(b)))
#  include "kernels-private.h"
#  ifdef __clang__
#    pragma clang attribute pop
#  endif
#endif
