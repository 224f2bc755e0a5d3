/* SPDX-License-Identifier: MIT */
/* monte_carlo.h: pi and prices of options by sampling, on all cores and GPUs.
   Thread safety: farms as hass/data_farm.h; the rest any thread. */
#ifndef MONTE_CARLO_H
#define MONTE_CARLO_H

#include <hass/hass.h>

#include "sample.h"

/**
 * McOption: a call option and how its price is to move.
 * @spot, @strike: prices.
 * @rate: of interest, for a year, compounded all the time.
 * @volatility: standard deviation of the logarithm of the price in a year.
 * @years: to maturity.
 * @steps: of a path; MC_ASIAN pays by the mean price after each of them.
 */
typedef struct
{
  double spot, strike, rate, volatility, years;
  guint steps;
} McOption;

/**
 * McJob: one run.
 * @block: samples in a block; 0: what takes a core about 200 us.
 * @gpu_worker: NULL: none.
 * @no_cpu: no CPU worker.
 */
typedef struct
{
  McModel model;
  guint64 samples;
  guint64 block;
  HassGpuWorkerFunc gpu_worker;
  gboolean no_cpu;
  HassRunOptions run;
} McJob;

/* The worker in CUDA: NULL in programs built without. */
gboolean monte_carlo_gpu_worker (const HassBundle *bundle,
                                 HassGpuStream *stream, gpointer user_data,
                                 GError **error) __attribute__ ((weak));

/* Fails with HASS_ERROR_INVALID for samples that are none or too many, else
   as hass_data_farm_partition(). */
gboolean monte_carlo_run (const McJob *job, McSums *sums, HassReport **report,
                          GError **error);

/* -- What the numbers mean ---------------------------------------------- */

McModel monte_carlo_pi_model (guint64 seed);
McModel monte_carlo_option_model (McKind kind, const McOption *option,
                                  guint64 seed);

typedef struct
{
  double value, standard_error;
} McEstimate;

/* @option: NULL for pi. */
McEstimate monte_carlo_estimate (const McSums *sums, const McOption *option);

/* The sums as hexadecimal numbers, all of their bits; free with g_free(). */
char *monte_carlo_fingerprint (const McSums *sums);

/* The price of a European call (Black and Scholes 1973). */
double monte_carlo_black_scholes (const McOption *option);

/* Two prices that an Asian call's lies between: of a call on the geometric
   mean (Kemna and Vorst 1990), and the mean of European calls that mature
   after each step. */
void monte_carlo_asian_bounds (const McOption *option, double *low,
                               double *high);

#endif
