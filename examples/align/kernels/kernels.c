/* SPDX-License-Identifier: MIT */
/* kernels.c: chooses kernels.
   Thread safety: as kernels.h. */
#include "kernels.h"

#include <glib.h>

static gboolean
is_supported (const AlignKernels *kernels)
{
#ifdef __x86_64__
  if (kernels == &align_avx512)
    return __builtin_cpu_supports ("avx512bw");
  if (kernels == &align_avx2)
    return __builtin_cpu_supports ("avx2");
#endif
  return kernels == &align_portable;
}

const AlignKernels *
align_kernels (unsigned i)
{
  static const AlignKernels *const all[] = {
#ifdef __x86_64__
    &align_avx512,
    &align_avx2,
#endif
    &align_portable,
  };
  for (guint k = 0; k < G_N_ELEMENTS (all); k++)
    if (is_supported (all[k]) && i-- == 0)
      return all[k];
  return NULL;
}
