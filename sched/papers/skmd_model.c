/* SPDX-License-Identifier: MIT */
/* skmd_model.c: how long a device takes for a part of a round, by regression.

   Lee et al. 2015, section 3.3. A fit costs O(bases * samples), about 30 us
   with 12 samples; a prediction one arctangent.

   Read so:
   - Equation 4's other variables, the sizes of a kernel's arguments, do not
     change within a farm, so h is 1 and x is the work of the part, as the
     cost class shows it (work groups in the paper).
   - "Several transformed functions with different a and b" in one regression
     would have more coefficients than there are samples. One a and b at a
     time is tried beside the constant and the linear term, and the pair
     with the least error is kept. Places b are tried between the samples,
     slopes as 1/2 to 8 / b.
   - The square of an error counts by the time of its sample, between plain
     least squares, which would not see small samples beside large ones, and
     relative errors, which would make a handful of units with costs of their
     own count as much as a whole round.
   - No coefficient may be negative: time would fall as work grows. Where
     least squares want one to be, it is left out.
   - Samples of about the same work (a quarter of an octave) are averaged,
     the newest counting half. One that differs from its like by more than
     a quarter says that the device has become slower or faster at all: the
     other samples are scaled alike. The paper does not learn on the run.

   Thread safety: as the strategy that owns the model. */
#include "skmd-private.h"

#include <math.h>

#define DRIFT 1.25

/* Equation 3. */
double
hass_skmd_g (double x, double a, double b)
{
  return atan (a * (x - b)) / G_PI + 0.5;
}

double
hass_skmd_model_ns (const HassSkmdModel *model, double work)
{
  if (work <= 0)
    return 0;
  double ns = model->constant + model->linear * work;
  if (model->curved > 0)
    ns += model->curved * work * hass_skmd_g (work, model->a, model->b);
  return ns;
}

void
hass_skmd_model_set_linear (HassSkmdModel *model, double latency_ns,
                            double work_per_ns)
{
  model->constant = latency_ns;
  model->linear = work_per_ns > 0 ? 1 / work_per_ns : 0;
  model->curved = 0;
}

void
hass_skmd_model_add (HassSkmdModel *model, double work, double ns)
{
  if (!(work > 0) || !(ns > 0))
    return;
  double place = 4 * log2 (work) + HASS_SKMD_BUCKETS / 4;
  HassSkmdSample *s
      = &model->samples[(guint)CLAMP (place, 0, HASS_SKMD_BUCKETS - 1)];
  if (s->work <= 0)
    {
      *s = (HassSkmdSample){ work, ns };
      model->n_samples++;
      return;
    }
  double ratio = (ns / work) / (s->ns / s->work);
  for (guint i = 0;
       i < HASS_SKMD_BUCKETS && (ratio > DRIFT || ratio < 1 / DRIFT); i++)
    model->samples[i].ns *= ratio;
  s->work = (s->work + work) / 2;
  s->ns = (s->ns + ns) / 2;
}

/* -- Least squares ------------------------------------------------------ */

enum
{
  CONSTANT = 1,
  LINEAR = 2,
  CURVED = 4,
  ALL = 7
};

/* Sums over the samples of products of the terms and of the time, each
   divided by the sample's time. */
typedef struct
{
  double xx[3][3], xy[3], yy;
} Sums;

static void
sum_up (const HassSkmdModel *model, double a, double b, Sums *sums)
{
  *sums = (Sums){ .yy = 0 };
  for (guint i = 0; i < HASS_SKMD_BUCKETS; i++)
    {
      const HassSkmdSample *s = &model->samples[i];
      if (s->work <= 0)
        continue;
      const double x[] = { 1, s->work, s->work * hass_skmd_g (s->work, a, b) };
      for (guint j = 0; j < 3; j++)
        {
          for (guint k = 0; k < 3; k++)
            sums->xx[j][k] += x[j] * x[k] / s->ns;
          sums->xy[j] += x[j];
        }
      sums->yy += s->ns;
    }
}

/* Solves for the terms in `terms`; the others are 0. FALSE: singular. */
static gboolean
solve (const Sums *sums, guint terms, double *beta)
{
  double m[3][4] = { { 0 } };
  guint of[3], n = 0;
  for (guint j = 0; j < 3; j++)
    {
      beta[j] = 0;
      if (terms & 1u << j)
        of[n++] = j;
    }
  for (guint r = 0; r < n; r++)
    {
      for (guint c = 0; c < n; c++)
        m[r][c] = sums->xx[of[r]][of[c]];
      m[r][n] = sums->xy[of[r]];
    }
  /* The matrix is symmetric and not negative: no pivots are needed. */
  for (guint p = 0; p < n; p++)
    {
      if (!(m[p][p] > 1e-9 * sums->xx[of[p]][of[p]]))
        return FALSE;
      for (guint r = 0; r < n; r++)
        if (r != p)
          {
            double f = m[r][p] / m[p][p];
            for (guint c = p; c <= n; c++)
              m[r][c] -= f * m[p][c];
          }
    }
  for (guint r = 0; r < n; r++)
    beta[of[r]] = m[r][n] / m[r][r];
  return TRUE;
}

/* Sum of the squared errors, as weighed. */
static double
error_of (const Sums *sums, const double *beta)
{
  double e = sums->yy;
  for (guint j = 0; j < 3; j++)
    {
      e -= 2 * beta[j] * sums->xy[j];
      for (guint k = 0; k < 3; k++)
        e += beta[j] * sums->xx[j][k] * beta[k];
    }
  return MAX (e, 0);
}

static void
try_terms (HassSkmdModel *model, const Sums *sums, double a, double b,
           guint terms, double *least)
{
  double beta[3];
  if (!solve (sums, terms, beta))
    return;
  for (guint j = 0; j < 3; j++)
    if (beta[j] < 0)
      return;
  /* A time that does not grow at all is no prediction. */
  if (beta[1] + beta[2] <= 0)
    return;
  double error = error_of (sums, beta);
  if (error >= *least)
    return;
  *least = error;
  model->a = a;
  model->b = b;
  model->constant = beta[0];
  model->linear = beta[1];
  model->curved = beta[2];
}

/* From one sample only proportional, from two only a line: no more
   coefficients than samples. */
void
hass_skmd_model_fit (HassSkmdModel *model)
{
  double least = INFINITY, before = 0;
  Sums sums;
  if (model->n_samples == 0)
    return;
  sum_up (model, 0, 0, &sums);
  try_terms (model, &sums, 0, 0, LINEAR, &least);
  if (model->n_samples > 1)
    try_terms (model, &sums, 0, 0, CONSTANT | LINEAR, &least);
  for (guint i = 0; i < HASS_SKMD_BUCKETS && model->n_samples > 2; i++)
    {
      double work = model->samples[i].work;
      if (work <= 0)
        continue;
      for (double slope = 0.5; slope <= 8 && before > 0; slope *= 2)
        {
          double b = sqrt (before * work), a = slope / b;
          sum_up (model, a, b, &sums);
          try_terms (model, &sums, a, b, CURVED, &least);
          try_terms (model, &sums, a, b, CONSTANT | CURVED, &least);
          if (model->n_samples > 3)
            try_terms (model, &sums, a, b, ALL, &least);
        }
      before = work;
    }
}
