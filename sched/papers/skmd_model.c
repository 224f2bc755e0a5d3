/* SPDX-License-Identifier: MIT */
/* skmd_model.c: predicts the time of a device for a part of a round, by
   regression.

   Lee et al. 2015, section 3.3. A fit costs O(bases * samples), about 30 us
   with 12 samples; a prediction one arctangent.

   Interpretation:
   - The other variables of equation 4, the sizes of a kernel's arguments, are
     constant within a farm, so h is 1 and x is the work of the part, as the
     cost class shows it (work groups in the paper).
   - "Several transformed functions with different a and b" in one regression
     would have more coefficients than there are samples. Here one pair (a, b)
     at a time is tried beside the constant and the linear term, and the pair
     with the least error is kept. Places b are tried between the samples,
     slopes as 1/2 to 8 / b.
   - Squared errors are weighted by the inverse of the sample's time: plain
     least squares would ignore small samples beside large ones, and relative
     errors would weigh a few units of atypical cost like a whole round.
   - Coefficients are not negative, or time would fall as work grows. A term
     whose coefficient would be negative is omitted.
   - Samples of similar work (a quarter of an octave) are averaged; the newest
     has weight 1/2. A sample that differs from its average by more than a
     quarter shows that the speed of the device has changed: all other samples
     are scaled alike. The paper does not learn during the run.

   Thread safety: as the strategy that owns the model. */
#include "skmd-private.h"

#include <math.h>

#define DRIFT 1.25

/* Returns: g (x) of equation 3, a factor from 0 to 1 that rises around x = @b,
   the steeper the larger @a is: the work at which a GPU becomes filled changes
   the slope of its time. */
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

/* The normal equations of the least squares fit: sums over the samples of
   products of the three terms (1, x, x g (x)) with each other and with the
   time. Each term and time is divided by the sample's time, so that relative
   errors are minimised. */
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

/* Computes the coefficients @beta [3] that fit the samples best with the terms
   in the bit mask @terms; the other coefficients are 0. Returns: FALSE if the
   equations are singular. */
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
  /* Gaussian elimination without pivoting suffices, since the matrix is
     symmetric and positive semidefinite. */
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

/* Returns: the sum over the samples of the squared relative errors of a model
   with the coefficients @beta. */
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
  /* A model without a term that grows with the work would predict the same
     time for all sizes, so it is not used. */
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

/* Fits the model to its samples, with at most as many coefficients as there
   are samples: one sample gives a time proportional to the work, two give a
   line, and three add the curved term, for which slope and place of g are
   searched. */
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
