/* SPDX-License-Identifier: MIT */
/* info.h: the machine as hass-info measures and shows it.
   Thread safety: one thread. */
#ifndef INFO_H
#define INFO_H

#include <string.h>

#include "device/cpu/topology.h"
#include "device/kinds.h"
#include "hass/load.h"
#include "measure.h"

/**
 * InfoGpu: one GPU.
 * @numa_node: -1: unknown.
 * @measured: whether any of its speeds was measured.
 * @problem: why some could not be measured; NULL: none.
 */
typedef struct
{
  HassGpu *gpu;
  gint numa_node;
  gboolean measured;
  InfoSpeed speed;
  char *problem;
} InfoGpu;

/**
 * InfoKind: a registered kind of devices.
 * @devices, @traits: [n] what farms get; the devices are not opened.
 * @problem: why there are none; NULL: there are some, or it is unknown.
 */
typedef struct
{
  const HassDeviceKindOps *ops;
  guint n;
  HassDevice **devices;
  HassDeviceTraits *traits;
  const char *problem;
} InfoKind;

/**
 * InfoMachine: the machine.
 * @n_available: number of threads that hass may use.
 * @read_gbps, @read_one_gbps: rates of reading host memory in GB/s, with all of
 *   these threads and with one; 0: not measured.
 * @gpus: [n_gpus] what CUDA says of its devices, and what was measured.
 * @gpu_problem: why no GPU can be used; NULL: GPUs can be used.
 * @kinds: [n_kinds] the kinds that HASS_DEVICES allows, CUDA included.
 */
typedef struct
{
  HassTopologyFacts cpu;
  guint n_available;
  gboolean measured;
  double read_gbps, read_one_gbps;
  guint n_gpus;
  InfoGpu *gpus;
  const char *gpu_problem;
  guint n_kinds;
  InfoKind kinds[HASS_MOST_KINDS];
} InfoMachine;

/* CUDA's devices are shown with what CUDA says of them, too. */
static inline gboolean
info_is_cuda (const InfoKind *kind)
{
  return strcmp (kind->ops->name, "cuda") == 0;
}

InfoMachine *info_look (void);
void info_measure (InfoMachine *machine, InfoLaunch launch,
                   const InfoEffort *effort);
void info_machine_free (InfoMachine *machine);

char *info_machine_text (const InfoMachine *machine);
char *info_machine_json (const InfoMachine *machine);
char *info_strategies_text (void);
char *info_strategies_json (void);
char *info_profile_text (const char *path, const GPtrArray *entries);
char *info_profile_json (const char *path, const GPtrArray *entries);
const char *info_kind_name (HassFarmKind kind);
const char *info_cost_name (HassCostClass cost);

#endif
