/* SPDX-License-Identifier: MIT */
/* exact.h: arithmetic that gives the same bits on every core and GPU.

   DESIGN. Everything here is made of additions, subtractions,
   multiplications, divisions and square roots of doubles, each rounded
   correctly as IEEE 754 demands of every device, and of integer operations.
   Nothing is left to a compiler or to a library:

   1. No two operations may be fused into one with a single rounding. Host
      code is compiled with -ffp-contract=off (Makefile), device code calls
      the _rn intrinsics, which nvcc never fuses. There is no explicit fma
      either: cores without one would have to emulate it.
   2. exp, log, sine and cosine are our own polynomials, without branches, so
      that a loop over them becomes vector code. Coefficients of log, sine and
      cosine are those of fdlibm (Sun Microsystems, 1993); those of exp
      interpolate (exp (r) - 1 - r) / r^2 in Chebyshev's nodes.
   3. Order is fixed: a polynomial is evaluated the same way everywhere.

   Thread safety: pure functions. */
#ifndef MONTE_CARLO_EXACT_H
#define MONTE_CARLO_EXACT_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#  error "doubles must be computed as doubles"
#endif

#ifdef __CUDACC__
#  define MC_FN static __forceinline__ __host__ __device__
#else
#  define MC_FN static inline
#endif

#ifdef __CUDA_ARCH__
#  define mc_add(a, b) __dadd_rn (a, b)
#  define mc_sub(a, b) __dsub_rn (a, b)
#  define mc_mul(a, b) __dmul_rn (a, b)
#  define mc_div(a, b) __ddiv_rn (a, b)
#  define mc_sqrt(a) __dsqrt_rn (a)
#  define mc_bits(a) ((uint64_t)__double_as_longlong (a))
#  define mc_from_bits(a) __longlong_as_double ((long long)(a))
#  define mc_high(a, b) __umulhi (a, b)
#else
#  define mc_add(a, b) ((double)(a) + (double)(b))
#  define mc_sub(a, b) ((double)(a) - (double)(b))
#  define mc_mul(a, b) ((double)(a) * (double)(b))
#  define mc_div(a, b) ((double)(a) / (double)(b))
#  define mc_sqrt(a) __builtin_sqrt (a)
#  define mc_high(a, b) ((uint32_t)((uint64_t)(a) * (b) >> 32))

MC_FN uint64_t
mc_bits (double a)
{
  uint64_t bits;
  memcpy (&bits, &a, sizeof bits);
  return bits;
}

MC_FN double
mc_from_bits (uint64_t bits)
{
  double a;
  memcpy (&a, &bits, sizeof a);
  return a;
}
#endif

/* a * b + c, rounded twice. */
MC_FN double
mc_mad (double a, double b, double c)
{
  return mc_add (mc_mul (a, b), c);
}

/* @n < 2^52 as a double, exactly: the bits of 2^52 + n, less 2^52. A
   conversion of integers of 64 bits is no vector instruction before
   AVX-512. */
MC_FN double
mc_from_integer (uint64_t n)
{
  return mc_sub (mc_from_bits (n | 0x4330000000000000), 0x1p52);
}

/* log 2 in two parts; the first has so few bits that its product with an
   exponent is exact. */
#define LOG2_HIGH 0x1.62e42fee00000p-1
#define LOG2_LOW 0x1.a39ef35793c76p-33

/* exp (@x); @x is taken as -708 where it is less and as 709 where it is
   more, so that the result is a normal number. */
MC_FN double
mc_exp (double x)
{
  x = x > -708 ? x : -708;
  x = x < 709 ? x : 709;
  /* x = k log 2 + r; k stands in the low bits of t. */
  double t = mc_mad (x, 0x1.71547652b82fep0, 0x1.8p52);
  double k = mc_sub (t, 0x1.8p52);
  double r = mc_sub (mc_sub (x, mc_mul (k, LOG2_HIGH)), mc_mul (k, LOG2_LOW));
  double q = 0x1.af38a9b0ec855p-26;
  q = mc_mad (q, r, 0x1.289185613a3d6p-22);
  q = mc_mad (q, r, 0x1.71de0dae63bb3p-19);
  q = mc_mad (q, r, 0x1.a019b90d2ae7ap-16);
  q = mc_mad (q, r, 0x1.a01a01a7c41d5p-13);
  q = mc_mad (q, r, 0x1.6c16c1788bd90p-10);
  q = mc_mad (q, r, 0x1.11111111109b3p-7);
  q = mc_mad (q, r, 0x1.5555555553d63p-5);
  q = mc_mad (q, r, 0x1.5555555555556p-3);
  q = mc_mad (q, r, 0x1.0000000000001p-1);
  double e = mc_add (1.0, mc_mad (mc_mul (r, r), q, r));
  return mc_from_bits (mc_bits (e) + (mc_bits (t) << 52));
}

/* log (@x) of a positive, finite, normal @x. */
MC_FN double
mc_log (double x)
{
  /* x = 2^k (1 + f), 1 + f from sqrt (1/2) to sqrt (2). */
  uint64_t bits = mc_bits (x) + 0x00095f6200000000;
  double k = mc_sub (mc_from_integer (bits >> 52), 1023.0);
  double f = mc_sub (
      mc_from_bits ((bits & 0x000fffffffffffff) + 0x3fe6a09e00000000), 1.0);
  double s = mc_div (f, mc_add (2.0, f));
  double z = mc_mul (s, s);
  double half = mc_mul (mc_mul (0.5, f), f);
  double p = 0x1.2f112df3e5244p-3;
  p = mc_mad (p, z, 0x1.39a09d078c69fp-3);
  p = mc_mad (p, z, 0x1.7466496cb03dep-3);
  p = mc_mad (p, z, 0x1.c71c51d8e78afp-3);
  p = mc_mad (p, z, 0x1.2492494229359p-2);
  p = mc_mad (p, z, 0x1.999999997fa04p-2);
  p = mc_mad (p, z, 0x1.5555555555593p-1);
  double low = mc_mad (s, mc_mad (p, z, half), mc_mul (k, LOG2_LOW));
  return mc_mad (k, LOG2_HIGH, mc_sub (f, mc_sub (half, low)));
}

/* Sine and cosine of 2 pi (@turn + 1/2) / 2^32, @turn < 2^32. The reduction
   to an eighth of a turn is exact. */
MC_FN void
mc_sincos_turn (uint64_t turn, double *sine, double *cosine)
{
  uint64_t t = (turn + (1u << 29)) & 0xffffffff;
  uint64_t quarter = t >> 30;
  double d = mc_sub (mc_from_integer (t & 0x3fffffff), 0x1p29 - 0.5);
  double x = mc_mul (d, 0x1.921fb54442d18p-30); /* 2 pi / 2^32 */
  double z = mc_mul (x, x);
  double p = 1.58969099521155010221e-10;
  p = mc_mad (p, z, -2.50507602534068634195e-08);
  p = mc_mad (p, z, 2.75573137070700676789e-06);
  p = mc_mad (p, z, -1.98412698298579493134e-04);
  p = mc_mad (p, z, 8.33333333332248946124e-03);
  p = mc_mad (p, z, -1.66666666666666324348e-01);
  double s = mc_mad (mc_mul (z, x), p, x);
  double q = -1.13596475577881948265e-11;
  q = mc_mad (q, z, 2.08757232129817482790e-09);
  q = mc_mad (q, z, -2.75573143513906633035e-07);
  q = mc_mad (q, z, 2.48015872894767294178e-05);
  q = mc_mad (q, z, -1.38888888888741095749e-03);
  q = mc_mad (q, z, 4.16666666666666019037e-02);
  double half = mc_mul (0.5, z);
  double w = mc_sub (1.0, half);
  double rest = mc_sub (mc_sub (1.0, w), half);
  double c = mc_add (w, mc_mad (mc_mul (z, z), q, rest));
  /* By quarters: (s, c), (c, -s), (-s, -c), (-c, s). */
  uint64_t swap = 0 - (quarter & 1);
  uint64_t both = mc_bits (s) ^ mc_bits (c);
  uint64_t sine_bits = mc_bits (s) ^ (both & swap);
  uint64_t cosine_bits = mc_bits (c) ^ (both & swap);
  *sine = mc_from_bits (sine_bits ^ (quarter >> 1) << 63);
  *cosine = mc_from_bits (cosine_bits ^ ((quarter + 1) >> 1) << 63);
}

#undef LOG2_HIGH
#undef LOG2_LOW

#endif
