/* SPDX-License-Identifier: MIT */
/* The search kernels for vectors of 16 bytes of aarch64, all of which have
   them.
   Thread safety: they read the matcher only.  */

#include "matcher-private.h"

#ifdef HAVE_NEON_KERNELS
#  define SIMD_WIDTH 16
#  include "simd-private.h"
#  include "pair-kernel-private.h"
#  include "teddy-kernel-private.h"
#endif
