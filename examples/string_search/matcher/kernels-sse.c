/* SPDX-License-Identifier: MIT */
/* The search kernels for vectors of 16 bytes.
   Thread safety: they read the matcher only.  */

#include "matcher-private.h"

#ifdef HAVE_X86_KERNELS
#  define SIMD_WIDTH 16
#  include "simd-private.h"
#  include "pair-kernel-private.h"
#  include "teddy-kernel-private.h"
#endif
