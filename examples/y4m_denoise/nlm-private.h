/* SPDX-License-Identifier: MIT */
/* nlm-private.h: what the kernels for cores share.
   Thread safety: constants. */
#ifndef Y4M_NLM_PRIVATE_H
#define Y4M_NLM_PRIVATE_H

#include "nlm.h"

/* Samples in a tile; multiples of the lanes of all vectors. Smaller tiles
   compute more weights that their neighbours compute too, larger ones do not
   fit the caches. Measured on a core with 32 KiB and 1 MiB. */
#ifndef NLM_TILE_WIDTH
#  define NLM_TILE_WIDTH 256
#  define NLM_TILE_HEIGHT 64
#endif

#endif
