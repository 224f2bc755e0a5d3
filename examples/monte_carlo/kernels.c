/* SPDX-License-Identifier: MIT */
/* kernels.c: chooses kernels and feeds them.
   Thread safety: as kernels.h. */
#include "kernels.h"

static gboolean
is_supported (const McKernels *kernels)
{
#ifdef __x86_64__
  if (kernels == &monte_carlo_avx512)
    return __builtin_cpu_supports ("avx512f")
           && __builtin_cpu_supports ("avx512dq")
           && __builtin_cpu_supports ("avx512vl")
           && __builtin_cpu_supports ("avx512bw");
  if (kernels == &monte_carlo_avx2)
    return __builtin_cpu_supports ("avx2");
#elif defined(__aarch64__)
  if (kernels == &monte_carlo_neon)
    return TRUE;
#endif
  return kernels == &monte_carlo_scalar;
}

const McKernels *
monte_carlo_kernels (guint i)
{
  static const McKernels *const all[] = {
#ifdef __x86_64__
    &monte_carlo_avx512,
    &monte_carlo_avx2,
#elif defined(__aarch64__)
    &monte_carlo_neon,
#endif
    &monte_carlo_scalar,
  };
  for (guint k = 0; k < G_N_ELEMENTS (all); k++)
    if (is_supported (all[k]) && i-- == 0)
      return all[k];
  return NULL;
}

/* Pairs that lie in the range as a whole, and half ones at its ends. */
static void
sample_pi (const McKernels *kernels, const McModel *model, guint64 first,
           guint64 end, McSums *sums)
{
  guint64 pair = (first + 1) / 2, end_pair = end / 2;
  if (first % 2 == 1)
    mc_sums_add_pair (sums, model, first / 2, first, end);
  if (pair < end_pair)
    {
      sums->special += kernels->pairs (model, pair, end_pair - pair);
      sums->n += 2 * (end_pair - pair);
    }
  if (end % 2 == 1 && end_pair >= pair)
    mc_sums_add_pair (sums, model, end_pair, first, end);
}

void
monte_carlo_sample (const McKernels *kernels, const McModel *model,
                    guint64 first, guint64 count, McSums *sums)
{
  guint64 end = first + count, payoffs[MC_LANES];
  if (model->kind == MC_PI)
    {
      sample_pi (kernels, model, first, end, sums);
      return;
    }
  for (guint64 i = first; i < end; i += MC_LANES)
    {
      guint64 n = MIN (end - i, MC_LANES);
      kernels->paths (model, i, payoffs);
      for (guint64 k = 0; k < n; k++)
        mc_sums_add (sums, payoffs[k]);
    }
}
