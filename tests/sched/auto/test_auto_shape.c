/* SPDX-License-Identifier: MIT */
/* test_auto_shape.c: the bundles in which auto gives a GPU its part, held
   against all others that a pipeline of copies and kernels could take.
   Thread safety: one thread. */
#include "hass_test.h"

#include <math.h>

#include "sched/auto/shape-private.h"
#include "sched/fit.h"

#define MOST_BUNDLES 4
#define WORK 1000
#define STEP 10

/* As a GPU has them that overlaps: in, kernel, out. */
static HassAutoPipe
pipe_with (HassAutoLine in, HassAutoLine kernel, HassAutoLine out)
{
  HassAutoPipe p = { .in = in, .kernel = kernel, .out = out, .least = 1 };
  if (in.a > 0)
    p.next = (HassAutoLine){ kernel.a / in.a, (kernel.b - in.b) / in.a };
  if (out.a > 0)
    p.last = (HassAutoLine){ kernel.a / out.a, (kernel.b - out.b) / out.a };
  return p;
}

static double
at (const HassAutoLine *line, double x)
{
  return line->a * x + line->b;
}

/* When n bundles of these sizes are done. */
static double
time_of (const HassAutoPipe *p, const double *sizes, guint n)
{
  double in = p->in_ns, kernel = p->kernel_ns, out = 0;
  for (guint i = 0; i < n; i++)
    {
      in += at (&p->in, sizes[i]);
      kernel = MAX (in, kernel) + at (&p->kernel, sizes[i]);
      out = MAX (kernel, out) + at (&p->out, sizes[i]);
    }
  return out;
}

/* The least time of all sizes in steps, in n bundles of which i are given. */
static double
least_time (const HassAutoPipe *p, double *sizes, guint i, guint n, double left)
{
  double best = INFINITY;
  sizes[i] = left;
  if (i == n - 1)
    return time_of (p, sizes, n);
  for (sizes[i] = STEP; sizes[i] < left; sizes[i] += STEP)
    {
      double given = sizes[i];
      best = MIN (best, least_time (p, sizes, i + 1, n, left - given));
      sizes[i] = given;
    }
  return best;
}

static double
least_of_all (const HassAutoPipe *p)
{
  double best = INFINITY, sizes[MOST_BUNDLES];
  for (guint n = 1; n <= MOST_BUNDLES; n++)
    best = MIN (best, least_time (p, sizes, 0, n, WORK));
  return best;
}

/* Copies of 10 to 70 % of kernels; fixed parts that allow few bundles. */
static void
no_other_sizes_are_faster (void)
{
  static const double parts[] = { 0.1, 0.3, 0.5, 0.7 };
  static const double outs[] = { 0, 0.05, 0.2 };
  static const double fixed[] = { 80, 150, 400 };
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    for (guint j = 0; j < G_N_ELEMENTS (outs); j++)
      for (guint k = 0; k < G_N_ELEMENTS (fixed); k++)
        {
          HassAutoPipe p = pipe_with ((HassAutoLine){ parts[i], 5 },
                                      (HassAutoLine){ 1, fixed[k] },
                                      (HassAutoLine){ outs[j], 0 });
          double ns = hass_auto_best_shape (&p, WORK).ns;
          double least = least_of_all (&p);
          CU_ASSERT_TRUE (ns < 1.01 * least);
          CU_ASSERT_TRUE (ns > 0.99 * least);
        }
}

/* Where nothing overlaps each bundle more only costs. */
static void
one_bundle_where_nothing_overlaps (void)
{
  HassAutoPipe p = {
    .in = { 0.5, 5 }, .kernel = { 1, 10 }, .out = { 0.1, 5 }, .least = 1
  };
  HassAutoShape s = hass_auto_best_shape (&p, WORK);
  CU_ASSERT_DOUBLE_EQUAL (s.first, WORK, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (s.ns, 505 + 1010 + 105, 1e-6);
}

static void
time_is_linear_nearby (void)
{
  HassAutoPipe p = pipe_with ((HassAutoLine){ 0.4, 5 }, (HassAutoLine){ 1, 60 },
                              (HassAutoLine){ 0.1, 5 });
  HassAutoShape s = hass_auto_best_shape (&p, WORK);
  HassAutoShape more = hass_auto_best_shape (&p, 1.02 * WORK);
  CU_ASSERT_DOUBLE_EQUAL (s.ready_ns + WORK / s.rate, s.ns, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (s.ready_ns + 1.02 * WORK / s.rate, more.ns, 1e-6);
}

/* As large as its copy hides behind the kernels that are there. */
static void
fills_what_kernels_hide (void)
{
  HassAutoPipe p = pipe_with ((HassAutoLine){ 0.5, 5 }, (HassAutoLine){ 1, 2 },
                              (HassAutoLine){ 0, 0 });
  p.kernel_ns = 55;
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_best_shape (&p, WORK).first, 100, 1e-6);
  p.in_ns = 25;
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_best_shape (&p, WORK).first, 50, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_best_shape (&p, 40).first, 40, 1e-6);
}

/* Whoever has a first copy that others wait for begins with less. */
static void
less_where_others_wait (void)
{
  HassAutoPipe p = pipe_with ((HassAutoLine){ 0.2, 5 }, (HassAutoLine){ 1, 60 },
                              (HassAutoLine){ 0, 0 });
  double alone = hass_auto_best_shape (&p, WORK).first;
  p.held_up = 7;
  double waited_for = hass_auto_best_shape (&p, WORK).first;
  CU_ASSERT_TRUE (waited_for < 0.5 * alone);
  p.held_up = 0;
  p.held_later = 7;
  p.in_time = waited_for;
  CU_ASSERT_TRUE (hass_auto_best_shape (&p, WORK).first < 0.5 * alone);
  p.in_time = WORK;
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_best_shape (&p, WORK).first, alone, 1e-6);
}

/* No kernel takes less for a bundle that does not fill the GPU. */
static void
none_is_smaller_than_the_least (void)
{
  HassAutoPipe p = pipe_with ((HassAutoLine){ 0.1, 0.1 },
                              (HassAutoLine){ 1, 0.5 }, (HassAutoLine){ 0, 0 });
  CU_ASSERT_TRUE (hass_auto_best_shape (&p, WORK).first < 60);
  p.least = 60;
  CU_ASSERT_DOUBLE_EQUAL (hass_auto_best_shape (&p, WORK).first, 60, 1e-6);
}

static void
a_fit_is_scaled (void)
{
  HassFit fit = { 0 };
  for (guint i = 0; i < 20; i++)
    hass_fit_add (&fit, 100 * (1 + i % 3), 5000 + 3000 * (1 + i % 3), 1000);
  hass_fit_scale (&fit, 3);
  CU_ASSERT_DOUBLE_EQUAL (hass_fit_ns (&fit, 150), 3 * 9500, 100);
  hass_fit_add (&fit, 200, 3 * 11000, 1000);
  CU_ASSERT_DOUBLE_EQUAL (fit.fixed_ns, 3 * 5000, 150);
  CU_ASSERT_DOUBLE_EQUAL (hass_fit_ns (&fit, 150), 3 * 9500, 100);
}

HASS_TEST_SUITE (sched_auto_shape,
                 { "no other sizes of bundles are faster",
                   no_other_sizes_are_faster },
                 { "a GPU whose stages do not overlap gets one bundle",
                   one_bundle_where_nothing_overlaps },
                 { "the time of the best bundles is linear in work nearby",
                   time_is_linear_nearby },
                 { "a bundle is as large as kernels in flight hide",
                   fills_what_kernels_hide },
                 { "a bundle is smaller where other GPUs wait for it",
                   less_where_others_wait },
                 { "no bundle is smaller than the least",
                   none_is_smaller_than_the_least },
                 { "a fit can be scaled to a slower device", a_fit_is_scaled })
