/* SPDX-License-Identifier: MIT */
/* philox.h: random numbers from counters: Philox4x32-10 (Salmon, Moraes,
   Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011). Any
   device computes any number of the sequence from its place in it alone.
   Thread safety: a pure function. */
#ifndef MONTE_CARLO_PHILOX_H
#define MONTE_CARLO_PHILOX_H

#include "exact.h"

typedef struct
{
  uint32_t w[4];
} McWords;

/* The four words at counter @c under the key @k0, @k1. */
MC_FN McWords
mc_philox (McWords c, uint32_t k0, uint32_t k1)
{
  for (int round = 0; round < 10; round++)
    {
      uint32_t a = 0xd2511f53, b = 0xcd9e8d57;
      McWords next = { { mc_high (b, c.w[2]) ^ c.w[1] ^ k0, b * c.w[2],
                         mc_high (a, c.w[0]) ^ c.w[3] ^ k1, a * c.w[0] } };
      c = next;
      k0 += 0x9e3779b9;
      k1 += 0xbb67ae85;
    }
  return c;
}

#endif
