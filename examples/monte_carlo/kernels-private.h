/* SPDX-License-Identifier: MIT */
/* kernels-private.h: the kernels of one instruction set; included once for
   each, by a file that defines

   KERNELS, KERNELS_NAME: what they are called;
   VECTOR_BYTES, MULTIPLY: a vector's size, and the products of the low
   halves of its lanes of 64 bits; not defined: no vectors that we know.

   DESIGN. Loops over lanes, each a path, do what sample.h does for one. The
   compiler makes vector code of those with floating point; each lane's
   operations stay the same, and in the same order. Philox is written in
   vectors, for no compiler finds the multiplication of halves: a lane's high
   half may hold anything, as multiplications do not read it.

   Thread safety: as kernels.h. */

typedef guint64 Lanes[MC_LANES] __attribute__ ((aligned (64)));

#ifdef VECTOR_BYTES

typedef guint64 Vector __attribute__ ((vector_size (VECTOR_BYTES)));
#  define WIDTH (VECTOR_BYTES / 8)

static const guint64 counting[8] __attribute__ ((aligned (64)))
= { 0, 1, 2, 3, 4, 5, 6, 7 };

/* Words in the low halves, at counters @index, @draw. */
static inline void
philox_vector (const McModel *m, Vector index, guint32 draw, Vector w[4])
{
  Vector zero = { 0 };
  Vector a = zero + 0xd2511f53, b = zero + 0xcd9e8d57;
  Vector c0 = index, c1 = index >> 32, c2 = zero + draw, c3 = zero;
  guint32 k0 = (guint32)m->seed, k1 = (guint32)(m->seed >> 32);
#  pragma GCC unroll 10
  for (int round = 0; round < 10; round++)
    {
      Vector p0 = MULTIPLY (a, c0), p1 = MULTIPLY (b, c2);
      c0 = (p1 >> 32) ^ c1 ^ (zero + k0);
      c2 = (p0 >> 32) ^ c3 ^ (zero + k1);
      c1 = p1;
      c3 = p0;
      k0 += 0x9e3779b9;
      k1 += 0xbb67ae85;
    }
  w[0] = c0;
  w[1] = c1;
  w[2] = c2;
  w[3] = c3;
}

static inline void
philox_lanes (const McModel *m, guint64 first, guint32 draw, Lanes w[4])
{
  for (guint i = 0; i < MC_LANES; i += WIDTH)
    {
      Vector r[4];
      philox_vector (m, *(const Vector *)counting + first + i, draw, r);
      for (guint k = 0; k < 4; k++)
        *(Vector *)&w[k][i] = r[k] & 0xffffffff;
    }
}

/* As mc_is_outside(). */
static inline Vector
outside_vector (Vector x, Vector y)
{
  x = (x & 0x7fffffff) | 1;
  y = (y & 0x7fffffff) | 1;
  return (MULTIPLY (x, x) + MULTIPLY (y, y)) >> 62;
}

static guint64
pairs (const McModel *m, guint64 first, guint64 n_pairs)
{
  Vector outside = { 0 };
  guint64 inside = 2 * n_pairs, i = 0;
  for (; i + WIDTH <= n_pairs; i += WIDTH)
    {
      Vector w[4];
      philox_vector (m, *(const Vector *)counting + (first + i), 0, w);
      outside += outside_vector (w[0], w[1]) + outside_vector (w[2], w[3]);
    }
  for (guint k = 0; k < WIDTH; k++)
    inside -= outside[k];
  for (; i < n_pairs; i++)
    {
      guint64 rest[2];
      mc_pi_pair (m, first + i, rest);
      inside -= rest[0] + rest[1];
    }
  return inside;
}

#else

static inline void
philox_lanes (const McModel *m, guint64 first, guint32 draw, Lanes w[4])
{
  for (guint i = 0; i < MC_LANES; i++)
    {
      McWords r = mc_words (m, first + i, draw);
      for (guint k = 0; k < 4; k++)
        w[k][i] = r.w[k];
    }
}

static guint64
pairs (const McModel *m, guint64 first, guint64 n_pairs)
{
  guint64 inside = 2 * n_pairs;
  for (guint64 i = 0; i < n_pairs; i++)
    {
      guint64 outside[2];
      mc_pi_pair (m, first + i, outside);
      inside -= outside[0] + outside[1];
    }
  return inside;
}

#endif

typedef double Reals[MC_LANES] __attribute__ ((aligned (64)));

static inline void
normal_lanes (const Lanes a, const Lanes b, Reals first, Reals second)
{
  for (guint i = 0; i < MC_LANES; i++)
    mc_normals (a[i], b[i], &first[i], &second[i]);
}

/* mc_path() for all lanes. */
static inline __attribute__ ((always_inline)) void
path_lanes (const McModel *m, guint32 kind, guint64 first, guint64 *payoffs)
{
  Reals price, sum, normal[4];
  Lanes w[4];
  for (guint i = 0; i < MC_LANES; i++)
    {
      price[i] = 1;
      sum[i] = 0;
    }
  for (guint32 step = 0; step < m->steps; step += 4)
    {
      philox_lanes (m, first, step / 4, w);
      normal_lanes (w[0], w[1], normal[0], normal[1]);
      normal_lanes (w[2], w[3], normal[2], normal[3]);
      for (guint32 k = 0; k < MIN (m->steps - step, 4); k++)
        for (guint i = 0; i < MC_LANES; i++)
          {
            McPath path = { price[i], sum[i] };
            path = mc_path_step (m, kind, path, normal[k][i]);
            price[i] = path.price;
            sum[i] = path.sum;
          }
    }
  for (guint i = 0; i < MC_LANES; i++)
    {
      McPath path = { price[i], sum[i] };
      payoffs[i] = mc_path_payoff (m, kind, path);
    }
}

static void
paths (const McModel *m, guint64 first, guint64 *payoffs)
{
  if (m->kind == MC_ASIAN)
    path_lanes (m, MC_ASIAN, first, payoffs);
  else
    path_lanes (m, MC_EUROPEAN, first, payoffs);
}

const McKernels KERNELS = { KERNELS_NAME, pairs, paths };
