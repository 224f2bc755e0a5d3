/* SPDX-License-Identifier: MIT */
/* sample.h: one sample of pi and of an option's price, and sums of samples;
   the same code for cores and GPUs.

   DESIGN. A sample is known by its index alone, whoever computes it:

   1. Random words are Philox's at counter (index, draw) under the seed.
   2. A result is an integer: whether a point is inside, or a payoff in
      fixed point. A payoff is in units of 2^-34 of the spot price and at most
      2^10 spot prices; what is more is cut off and counted.
   3. Sums are integers, so their order does not matter. 2^40 samples of at
      most 2^44 units add up to less than 2^84, and their squares to at most
      2^128: no sum overflows.

   Normal variates are Box and Muller's from two words of 32 bits, so they
   reach 6.76 standard deviations.

   Thread safety: pure functions but for their last argument. */
#ifndef MONTE_CARLO_SAMPLE_H
#define MONTE_CARLO_SAMPLE_H

#include "philox.h"

#define MC_MAX_SAMPLES ((uint64_t)1 << 40)
#define MC_MAX_STEPS 65536
#define MC_FRACTION_BITS 34
#define MC_CAP 1024.0

typedef enum
{
  MC_PI,
  MC_EUROPEAN,
  MC_ASIAN
} McKind;

/**
 * McModel: what is sampled; in a GPU's kernel an argument.
 * @kind: the integrand.
 * @seed: Philox's key.
 * @steps: of a path.
 * @drift: of the logarithm of the price: of a step (MC_ASIAN), of the whole
 *   path (MC_EUROPEAN).
 * @deviation: standard deviation of that logarithm in one step.
 * @strike: in spot prices.
 * @per_step: 1 / steps.
 */
typedef struct
{
  uint32_t kind;
  uint32_t steps;
  uint64_t seed;
  double drift;
  double deviation;
  double strike;
  double per_step;
} McModel;

/**
 * McSums: exact sums over samples; all zero is the neutral element.
 * @n: samples.
 * @special: MC_PI: points inside the circle; else payoffs that were cut off.
 * @sum_low, @sum_high: of payoffs in fixed point.
 * @squares_low, @squares_high: of their squares.
 */
typedef struct
{
  uint64_t n;
  uint64_t special;
  uint64_t sum_low, sum_high;
  uint64_t squares_low, squares_high;
} McSums;

/* Adds @low, @high to the number of 128 bits at @to_low, @to_high. */
MC_FN void
mc_add_128 (uint64_t *to_low, uint64_t *to_high, uint64_t low, uint64_t high)
{
  *to_low += low;
  *to_high += high + (*to_low < low);
}

MC_FN void
mc_sums_merge (McSums *to, const McSums *from)
{
  to->n += from->n;
  to->special += from->special;
  mc_add_128 (&to->sum_low, &to->sum_high, from->sum_low, from->sum_high);
  mc_add_128 (&to->squares_low, &to->squares_high, from->squares_low,
              from->squares_high);
}

MC_FN McWords
mc_words (const McModel *m, uint64_t index, uint32_t draw)
{
  McWords counter = { { (uint32_t)index, (uint32_t)(index >> 32), draw, 0 } };
  return mc_philox (counter, (uint32_t)m->seed, (uint32_t)(m->seed >> 32));
}

/* -- Pi ----------------------------------------------------------------- */

/* 1 where a point lies outside the circle, else 0. Coordinates are odd
   numbers below 2^31, the middles of a grid's cells; the radius is 2^31. */
MC_FN uint64_t
mc_is_outside (uint32_t x, uint32_t y)
{
  uint64_t a = (x & 0x7fffffff) | 1, b = (y & 0x7fffffff) | 1;
  return (a * a + b * b) >> 62;
}

/* Points 2 @pair and 2 @pair + 1, which come from one draw. */
MC_FN void
mc_pi_pair (const McModel *m, uint64_t pair, uint64_t outside[2])
{
  McWords r = mc_words (m, pair, 0);
  outside[0] = mc_is_outside (r.w[0], r.w[1]);
  outside[1] = mc_is_outside (r.w[2], r.w[3]);
}

/* -- Paths -------------------------------------------------------------- */

/* Two standard normal variates from two random words. */
MC_FN void
mc_normals (uint64_t a, uint64_t b, double *first, double *second)
{
  double u = mc_mul (mc_add (mc_from_integer (a), 0.5), 0x1p-32);
  double radius = mc_sqrt (mc_mul (-2.0, mc_log (u)));
  double sine, cosine;
  mc_sincos_turn (b, &sine, &cosine);
  *first = mc_mul (radius, cosine);
  *second = mc_mul (radius, sine);
}

/* MC_ASIAN: the price in spot prices, and the sum of the prices so far;
   MC_EUROPEAN: the sum of the normal variates is @sum. */
typedef struct
{
  double price, sum;
} McPath;

MC_FN McPath
mc_path_step (const McModel *m, uint32_t kind, McPath path, double normal)
{
  if (kind == MC_ASIAN)
    {
      path.price = mc_mul (path.price,
                           mc_exp (mc_mad (m->deviation, normal, m->drift)));
      path.sum = mc_add (path.sum, path.price);
    }
  else
    path.sum = mc_add (path.sum, normal);
  return path;
}

/* The payoff of a call in fixed point. */
MC_FN uint64_t
mc_path_payoff (const McModel *m, uint32_t kind, McPath path)
{
  double price = kind == MC_ASIAN
                     ? mc_mul (path.sum, m->per_step)
                     : mc_exp (mc_mad (m->deviation, path.sum, m->drift));
  double payoff = mc_sub (price, m->strike);
  payoff = payoff > 0 ? payoff : 0;
  payoff = payoff < MC_CAP ? payoff : MC_CAP;
  /* Adding 2^52 rounds to an integer, which its low bits then are. */
  double units = mc_mad (payoff, 0x1p34, 0x1p52);
  return mc_bits (units) & 0x000fffffffffffff;
}

/* One path by itself, @kind as in the model. */
MC_FN uint64_t
mc_path (const McModel *m, uint32_t kind, uint64_t index)
{
  McPath path = { 1, 0 };
  for (uint32_t step = 0; step < m->steps; step += 4)
    {
      McWords r = mc_words (m, index, step / 4);
      uint32_t left = m->steps - step;
      double normal[4];
      mc_normals (r.w[0], r.w[1], &normal[0], &normal[1]);
      mc_normals (r.w[2], r.w[3], &normal[2], &normal[3]);
      path = mc_path_step (m, kind, path, normal[0]);
      if (left > 1)
        path = mc_path_step (m, kind, path, normal[1]);
      if (left > 2)
        path = mc_path_step (m, kind, path, normal[2]);
      if (left > 3)
        path = mc_path_step (m, kind, path, normal[3]);
    }
  return mc_path_payoff (m, kind, path);
}

MC_FN void
mc_sums_add (McSums *sums, uint64_t payoff)
{
  unsigned __int128 square = (unsigned __int128)payoff * payoff;
  sums->n++;
  sums->special += payoff >= (uint64_t)MC_CAP << MC_FRACTION_BITS;
  mc_add_128 (&sums->sum_low, &sums->sum_high, payoff, 0);
  mc_add_128 (&sums->squares_low, &sums->squares_high, (uint64_t)square,
              (uint64_t)(square >> 64));
}

/* -- Many samples ------------------------------------------------------- */

/* Of points [@first, @end), pair @pair's; it has at least one of them. */
MC_FN void
mc_sums_add_pair (McSums *sums, const McModel *m, uint64_t pair, uint64_t first,
                  uint64_t end)
{
  uint64_t outside[2];
  mc_pi_pair (m, pair, outside);
  for (uint32_t i = 0; i < 2; i++)
    if (2 * pair + i >= first && 2 * pair + i < end)
      {
        sums->n++;
        sums->special += 1 - outside[i];
      }
}

/* What the thread @thread of @n_threads computes of samples [@first, @end):
   every @n_threads-th. */
MC_FN McSums
mc_share (const McModel *m, uint32_t kind, uint64_t first, uint64_t end,
          uint64_t thread, uint64_t n_threads)
{
  McSums sums = { 0, 0, 0, 0, 0, 0 };
  if (kind == MC_PI)
    for (uint64_t pair = first / 2 + thread; 2 * pair < end; pair += n_threads)
      mc_sums_add_pair (&sums, m, pair, first, end);
  else
    for (uint64_t i = first + thread; i < end; i += n_threads)
      mc_sums_add (&sums, mc_path (m, kind, i));
  return sums;
}

#endif
