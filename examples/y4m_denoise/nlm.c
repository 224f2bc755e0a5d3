/* SPDX-License-Identifier: MIT */
/* nlm.c: chooses kernels, parameters and tiles.
   Thread safety: as nlm.h. */
#include "nlm.h"

#include <glib.h>

#include "nlm-private.h"

/* Reach for strength 1. ffmpeg's weights are exp (-d / h^2), h = 10 strength;
   (1 - d / reach)^8 has the same value at d = 4 h^2 where reach is 10.24 h^2.
 */
#define REACH 1024

static gboolean
is_supported (const NlmKernels *kernels)
{
#ifdef __x86_64__
  if (kernels == &nlm_avx2)
    return __builtin_cpu_supports ("avx2");
#endif
  return kernels == &nlm_portable;
}

const NlmKernels *
nlm_kernels (unsigned i)
{
  static const NlmKernels *const all[] = {
#ifdef __x86_64__
    &nlm_avx2,
#endif
    &nlm_portable,
  };
  for (guint k = 0; k < G_N_ELEMENTS (all); k++)
    if (is_supported (all[k]) && i-- == 0)
      return all[k];
  return NULL;
}

NlmParams
nlm_params (double strength, int patch_size, int search_size)
{
  NlmParams n = { .patch = patch_size / 2, .search = search_size / 2 };
  guint64 reach = (guint64)(REACH * strength * strength + 0.5);
  for (reach = MAX (reach, 1); reach >> n.shift > G_MAXUINT16;)
    n.shift++;
  n.reach = (uint32_t)(reach >> n.shift);
  while (n.reach << (n.scale_shift + 1) <= G_MAXUINT16)
    n.scale_shift++;
  uint32_t largest = n.reach << n.scale_shift;
  n.scale = (uint32_t)(((guint64)(G_MAXUINT16 - largest) << 16) / largest);
  return n;
}

static int
columns (NlmSize size)
{
  return (size.width + NLM_TILE_WIDTH - 1) / NLM_TILE_WIDTH;
}

int
nlm_tiles (NlmSize size)
{
  return columns (size)
         * ((size.height + NLM_TILE_HEIGHT - 1) / NLM_TILE_HEIGHT);
}

void
nlm_tile (const NlmKernels *kernels, const NlmParams *n, NlmSize size, int i,
          const uint8_t *in, uint8_t *out)
{
  kernels->tile (n, size, i % columns (size) * NLM_TILE_WIDTH,
                 i / columns (size) * NLM_TILE_HEIGHT, in, out);
}
