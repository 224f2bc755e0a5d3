/* SPDX-License-Identifier: MIT */
/* nlm.h: non-local means of a plane of 8-bit samples, in integers (Buades,
   Coll and Morel, "A non-local algorithm for image denoising", 2005).

   DESIGN. A sample becomes the weighted mean of the samples in the search
   window around it. The weight of sample q for sample p decreases with d (p,
   q), the sum of squared differences of the patches around p and q:

   1. d is the sum of (a - b)^2 >> shift, and 65535 where that is more.
   2. The weight is (1 - d / reach)^8 in fixed point, 0 from @reach on. It
      approximates exp (-10.24 d / reach), and needs no table and no floating
      point.
   3. The mean is rounded to the nearest integer, halves up.

   Outside of the plane its edge samples continue, for patches and for search
   windows. All sums are of integers, so every order of adding gives the same
   bits: cores and GPUs agree.

   Thread safety: pure functions; scratch memory is that of the call. */
#ifndef Y4M_NLM_H
#define Y4M_NLM_H

#include <stdint.h>

#ifdef __CUDACC__
#  define NLM_FN static __forceinline__ __host__ __device__
#else
#  define NLM_FN static inline
#endif

/* Largest sizes of patches and of search windows, in samples. */
#define NLM_MAX_SIZE 99
/* Weights have 9 bits: the sum of NLM_MAX_SIZE^2 weighted samples must be below
   2^31. */
#define NLM_WEIGHT_SHIFT 7
#define NLM_MAX_STRENGTH 30.0

/* What the arithmetic needs of the settings, see nlm_params().
   @patch, @search: radii, so that the sizes are 2 * radius + 1.
   @shift: of squared differences; makes @reach fit 16 bits.
   @reach: distance from which on weights are 0.
   @scale_shift, @scale: make @reach 65535: u << scale_shift, plus that times
   scale / 65536. */
typedef struct
{
  int32_t patch, search;
  uint32_t shift, reach, scale_shift, scale;
} NlmParams;

/* A plane: @width and @height in samples, rows are adjacent. */
typedef struct
{
  int32_t width, height;
} NlmSize;

/* Step 1, for one pair of samples. */
NLM_FN uint32_t
nlm_square (const NlmParams *n, int32_t a, int32_t b)
{
  return (uint32_t)((a - b) * (a - b)) >> n->shift;
}

/* Step 2, for a distance that need not be limited to 65535. */
NLM_FN uint32_t
nlm_weight (const NlmParams *n, uint32_t distance)
{
  uint32_t u = distance < n->reach ? n->reach - distance : 0;
  u <<= n->scale_shift;
  u += u * n->scale >> 16;
  u = u * u >> 16;
  u = u * u >> 16;
  u = u * u >> 16;
  return u >> NLM_WEIGHT_SHIFT;
}

/* Step 3. */
NLM_FN uint32_t
nlm_mean (uint32_t sum, uint32_t weights)
{
  return (sum + weights / 2) / weights;
}

#define NLM_MAX_PLANES 3

/* The planes of a frame, which lie one after another, and how to denoise them.
   Constant during a run; @user_data of the stage's workers. */
typedef struct
{
  NlmParams params;
  int32_t n_planes;
  NlmSize planes[NLM_MAX_PLANES];
} NlmFrame;

#ifdef __cplusplus
extern "C"
{
#endif

  /* Returns: the parameters for a strength above 0 up to NLM_MAX_STRENGTH and
     odd sizes from 1 to NLM_MAX_SIZE. Strengths are in the unit of ffmpeg's
     nlmeans: weights fall to 1/e where d is about 100 strength^2. */
  NlmParams nlm_params (double strength, int patch_size, int search_size);

  /* Kernels for an instruction set.
   * @tile: computes the samples from column @x and row @y on, at most
   *   NLM_TILE_WIDTH by NLM_TILE_HEIGHT, of plane @in into plane @out. */
  typedef struct
  {
    const char *name;
    void (*tile) (const NlmParams *n, NlmSize size, int x, int y,
                  const uint8_t *in, uint8_t *out);
  } NlmKernels;

  /* Returns: the @i-th kernels that this machine has, fastest first; NULL past
     the last. */
  const NlmKernels *nlm_kernels (unsigned i);

  /* Number of tiles of a plane, and the @i-th of them. */
  int nlm_tiles (NlmSize size);
  void nlm_tile (const NlmKernels *kernels, const NlmParams *n, NlmSize size,
                 int i, const uint8_t *in, uint8_t *out);

  extern const NlmKernels nlm_avx2, nlm_portable;

#ifdef __cplusplus
}
#endif

#endif
