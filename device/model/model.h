/* SPDX-License-Identifier: MIT */
/* model.h: a modelled machine for the virtual engine (simulation).

   DESIGN. A platform is a key file; doc/user-guide.md describes it. A core
   computes work at a constant rate, and a pull of units costs a constant time.
   A GPU computes a bundle in launch latency + work / rate, where the rate
   falls if the bundle has fewer elements than the GPU's width. Indivisible
   loads and simplex tasks are distributed over the GPU's multiprocessors one
   by one instead. A copy takes link latency + bytes / bandwidth. GPUs that
   name the same link share it: one copy at a time in each direction, or one at
   a time if the link is half duplex.

   Thread safety: constant after loading. */
#ifndef HASS_MODEL_H
#define HASS_MODEL_H

#include "hass/types.h"

typedef enum
{
  HASS_CURVE_LINEAR, /* a bundle runs at rate * min (1, elements / width) */
  /* A bundle runs at rate * elements / (elements + width). */
  HASS_CURVE_SATURATING
} HassCurve;

typedef struct
{
  char *name;
  char *label; /* name for people */
  char *kind;  /* kind of the modelled device; NULL: a GPU */
  guint multiprocessors;
  guint64 width;
  double work_per_ns;
  double launch_ns, link_ns;
  double h2d_bytes_per_ns, d2h_bytes_per_ns;
  guint link; /* number of the link; GPUs with the same number share it */
  gboolean duplex;
  guint depth;
  HassCurve curve;
  /* Highest number of kernels that run concurrently. */
  guint kernels;
  guint64 memory_bytes; /* 0: unlimited */
  /* Size in bytes of the bundles that a grant is cut into; 0: not cut. */
  guint64 part_bytes;
  /* Time in ns that the device takes to start, before its first bundle. */
  double start_ns;
  /* Rate of gathering and scattering in host memory; 0: not modelled. */
  double host_bytes_per_ns;
} HassGpuModel;

/* The rate of a core (`gpu` is NULL) or of a GPU, by its name, for one stage of
   pipelines. */
typedef struct
{
  char *stage;
  char *gpu;
  double work_per_ns;
} HassStageRate;

/* By how much the rate of the cores (`kind` is "cpu"), of GPUs ("gpu") or of
   the devices of another kind is multiplied for a codelet of dataflows. */
typedef struct
{
  char *codelet, *kind;
  double factor;
} HassCodeletFactor;

typedef struct HassPlatform
{
  char *name;
  char *path;
  gboolean has_cpu;
  char *cpu_label;
  guint cores;
  double core_work_per_ns, pull_ns;
  /* Relative standard deviation of modelled computing times. */
  double noise;
  gboolean calibrated; /* strategies know the rates of the devices beforehand */
  guint n_links;
  guint n_gpus;
  HassGpuModel *gpus;
  GArray *stages;   /* HassStageRate; NULL: none */
  GArray *codelets; /* HassCodeletFactor; NULL: none */
} HassPlatform;

HassPlatform *hass_platform_load (const char *path, const char *farm,
                                  GError **error);
void hass_platform_free (HassPlatform *platform);
double hass_platform_stage_rate (const HassPlatform *platform,
                                 const char *stage, const char *gpu);
double hass_platform_codelet_factor (const HassPlatform *platform,
                                     const char *codelet, const char *kind);

double hass_model_kernel_ns (const HassGpuModel *gpu, double work,
                             guint64 elements);
double hass_model_share (const HassGpuModel *gpu, double elements,
                         double beside);
double hass_model_block_ns (const HassGpuModel *gpu, double work,
                            guint64 elements);
double hass_model_blocks_ns (const HassGpuModel *gpu, const double *work,
                             const guint64 *elements, gsize n);
double hass_model_h2d_ns (const HassGpuModel *gpu, gsize bytes);
double hass_model_d2h_ns (const HassGpuModel *gpu, gsize bytes);

#endif
