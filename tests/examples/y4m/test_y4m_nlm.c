/* SPDX-License-Identifier: MIT */
/* test_y4m_nlm.c: non-local means against a plain loop over samples, offsets
   and patches.
   Thread safety: one thread. */
#include "hass_test.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "y4m_denoise/nlm.h"

/* What is compared with, so the sanitizers, under which it takes most of the
   time, need not watch it. */
#define UNWATCHED                                                              \
  __attribute__ ((no_sanitize ("thread", "address", "undefined")))

/* Sample (@x, @y) of a plane whose edges continue. */
UNWATCHED static guint64
sample (const guint8 *plane, NlmSize s, int x, int y)
{
  return plane[(gsize)CLAMP (y, 0, s.height - 1) * s.width
               + CLAMP (x, 0, s.width - 1)];
}

/* As the head of nlm.h says it. */
UNWATCHED static guint64
naive_weight (const NlmParams *n, guint64 distance)
{
  guint64 u = n->reach > distance ? n->reach - distance : 0;
  u <<= n->scale_shift;
  u += u * n->scale / 65536;
  for (int i = 0; i < 3; i++)
    u = u * u / 65536;
  return u / 128;
}

UNWATCHED static guint64
naive_distance (const NlmParams *n, const guint8 *in, NlmSize s,
                const int at[4])
{
  guint64 sum = 0;
  for (int j = -n->patch; j <= n->patch; j++)
    for (int i = -n->patch; i <= n->patch; i++)
      {
        gint64 a = (gint64)sample (in, s, at[0] + i, at[1] + j);
        gint64 b = (gint64)sample (in, s, at[2] + i, at[3] + j);
        sum += (guint64)((a - b) * (a - b)) >> n->shift;
      }
  return MIN (sum, 65535);
}

UNWATCHED static guint8
naive_sample (const NlmParams *n, const guint8 *in, NlmSize s, int x, int y)
{
  guint64 sum = 0, weights = 0;
  for (int dy = -n->search; dy <= n->search; dy++)
    for (int dx = -n->search; dx <= n->search; dx++)
      {
        const int at[4] = { x, y, x + dx, y + dy };
        guint64 w = naive_weight (n, naive_distance (n, in, s, at));
        sum += w * sample (in, s, x + dx, y + dy);
        weights += w;
      }
  return (guint8)((sum + weights / 2) / weights);
}

/* TRUE if all kernels of this machine give the plane of the plain loop. */
static gboolean
agrees (const NlmParams *n, NlmSize s, guint8 range, GRand *random)
{
  gsize area = (gsize)s.width * s.height;
  g_autofree guint8 *in = g_malloc (area);
  g_autofree guint8 *wanted = g_malloc (area);
  g_autofree guint8 *got = g_malloc (area);
  for (gsize i = 0; i < area; i++)
    in[i] = (guint8)g_rand_int_range (random, 0, range + 1);
  for (int y = 0; y < s.height; y++)
    for (int x = 0; x < s.width; x++)
      wanted[(gsize)y * s.width + x] = naive_sample (n, in, s, x, y);
  gboolean ok = TRUE;
  const NlmKernels *kernels;
  for (guint k = 0; (kernels = nlm_kernels (k)); k++)
    {
      memset (got, 0xa5, area);
      for (int i = 0; i < nlm_tiles (s); i++)
        nlm_tile (kernels, n, s, i, in, got);
      if (memcmp (got, wanted, area) == 0)
        continue;
      printf ("\n    %s: %d x %d, patch %d, search %d, reach %u", kernels->name,
              s.width, s.height, 2 * n->patch + 1, 2 * n->search + 1, n->reach);
      ok = FALSE;
    }
  return ok;
}

#define MOST_WORK 3e6

static void
random_planes (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  for (guint trial = 0; trial < 150; trial++)
    {
      int patch = 2 * g_rand_int_range (random, 0, 9) + 1;
      int search = 2 * g_rand_int_range (random, 0, 9) + 1;
      double most = MOST_WORK / (patch * patch * search * search);
      int width = g_rand_int_range (random, 1, trial % 3 == 0 ? 600 : 60);
      int height = CLAMP ((int)(most / width), 1, 150);
      NlmParams n
          = nlm_params (g_rand_double_range (random, 0.1, 30), patch, search);
      guint8 range = (guint8)g_rand_int_range (random, 1, 256);
      CU_ASSERT_TRUE (agrees (&n, (NlmSize){ width, height }, range, random));
    }
}

static void
extreme_planes (void)
{
  static const struct
  {
    int width, height, patch, search;
    double strength;
  } cases[]
      = { { 1, 1, 1, 1, 0.1 },  { 1, 1, 99, 99, 30 },  { 1, 37, 7, 15, 3 },
          { 37, 1, 7, 15, 3 },  { 3, 2, 99, 31, 30 },  { 2, 3, 31, 99, 1 },
          { 256, 64, 3, 3, 3 }, { 257, 65, 3, 3, 3 },  { 512, 2, 5, 3, 30 },
          { 17, 129, 3, 5, 9 }, { 255, 63, 1, 3, 30 }, { 16, 16, 15, 7, 10 } };
  g_autoptr (GRand) random = g_rand_new_with_seed (2);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      NlmParams n
          = nlm_params (cases[i].strength, cases[i].patch, cases[i].search);
      NlmSize size = { cases[i].width, cases[i].height };
      CU_ASSERT_TRUE (agrees (&n, size, 255, random));
      CU_ASSERT_TRUE (agrees (&n, size, 8, random));
    }
}

/* Every sample of the largest window has the largest weight and value. */
static void
largest_sums (void)
{
  NlmSize s = { 5, 3 };
  NlmParams n = nlm_params (NLM_MAX_STRENGTH, 1, NLM_MAX_SIZE);
  guint8 in[15], got[15];
  const NlmKernels *kernels;
  memset (in, 255, sizeof in);
  for (guint k = 0; (kernels = nlm_kernels (k)); k++)
    {
      memset (got, 0, sizeof got);
      nlm_tile (kernels, &n, s, 0, in, got);
      CU_ASSERT_EQUAL (memcmp (in, got, sizeof in), 0);
    }
}

static void
weights_fall (void)
{
  static const double strengths[] = { 0.5, 1, 3, 8.9, 9.1, 20, 30 };
  for (guint i = 0; i < G_N_ELEMENTS (strengths); i++)
    {
      NlmParams n = nlm_params (strengths[i], 7, 15);
      double h2 = 100 * strengths[i] * strengths[i] / (1 << n.shift);
      double own = nlm_weight (&n, 0);
      CU_ASSERT_TRUE (own >= 500 && own <= 511);
      for (guint d = 0; d < 65535; d += 1 + n.reach / 100)
        {
          double w = nlm_weight (&n, d) / own;
          CU_ASSERT_TRUE (fabs (w - exp (-(double)d / h2)) < 0.08);
          CU_ASSERT_TRUE (nlm_weight (&n, d + 1) <= nlm_weight (&n, d));
        }
      CU_ASSERT_EQUAL (nlm_weight (&n, n.reach), 0);
    }
}

HASS_TEST_SUITE (
    y4m_nlm, { "vectors compute the samples of a plain loop", random_planes },
    { "so they do where patches and windows exceed the plane", extreme_planes },
    { "the sums of the largest window do not overflow", largest_sums },
    { "weights fall as the exponential function does", weights_fall })
