/* SPDX-License-Identifier: MIT */
/* model.c: the time that a modelled GPU takes for a bundle.
   Thread safety: pure functions. */
#include "model.h"

/* Returns: the part, 0 to 1, of the full rate that a device with room for
   @width elements reaches when it computes @elements elements. */
static double
utilisation (HassCurve curve, double elements, double width)
{
  if (elements <= 0 || width <= 0)
    return 1; /* unknown parallelism is assumed to fill the device */
  if (curve == HASS_CURVE_SATURATING)
    return elements / (elements + width);
  return MIN (1.0, elements / width);
}

/* Returns: the modelled time in ns of a bundle of divisible loads, launch
   included. All its elements together fill the device. */
double
hass_model_kernel_ns (const HassGpuModel *gpu, double work, guint64 elements)
{
  double part = utilisation (gpu->curve, elements, gpu->width);
  return gpu->launch_ns + work / (gpu->work_per_ns * part);
}

/* Returns: the part of the full rate that a kernel of @elements elements gets
   while kernels of @beside elements run as well. Together the kernels reach
   the rate of one kernel with all elements, and each gets a part in proportion
   to its own. */
double
hass_model_share (const HassGpuModel *gpu, double elements, double beside)
{
  double all = elements + beside;
  return all > 0 ? utilisation (gpu->curve, all, gpu->width) * elements / all
                 : 1;
}

/* Returns: the modelled time in ns of one thread block on one multiprocessor,
   launch excluded. */
double
hass_model_block_ns (const HassGpuModel *gpu, double work, guint64 elements)
{
  double n = gpu->multiprocessors;
  double part = utilisation (gpu->curve, elements, gpu->width / n);
  return work / (gpu->work_per_ns / n * part);
}

/* Returns: the modelled time in ns of a bundle of @n units that are one thread
   block each: the hardware gives the next block to the multiprocessor that is
   idle first (Zhang 2011, 3.5.1, figure 23). */
double
hass_model_blocks_ns (const HassGpuModel *gpu, const double *work,
                      const guint64 *elements, gsize n)
{
  guint m = gpu->multiprocessors;
  g_autofree double *free_at = g_new0 (double, m);
  double end = 0;
  for (gsize i = 0; i < n; i++)
    {
      guint first = 0;
      for (guint s = 1; s < m; s++)
        if (free_at[s] < free_at[first])
          first = s;
      free_at[first] += hass_model_block_ns (gpu, work[i], elements[i]);
      end = MAX (end, free_at[first]);
    }
  return gpu->launch_ns + end;
}

static double
copy_ns (const HassGpuModel *gpu, gsize bytes, double bytes_per_ns)
{
  return bytes > 0 ? gpu->link_ns + bytes / bytes_per_ns : 0;
}

double
hass_model_h2d_ns (const HassGpuModel *gpu, gsize bytes)
{
  return copy_ns (gpu, bytes, gpu->h2d_bytes_per_ns);
}

double
hass_model_d2h_ns (const HassGpuModel *gpu, gsize bytes)
{
  return copy_ns (gpu, bytes, gpu->d2h_bytes_per_ns);
}
