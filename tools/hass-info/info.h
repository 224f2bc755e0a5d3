/* SPDX-License-Identifier: MIT */
/* info.h: what hass-info knows of a machine, and showing it.
   Thread safety: one thread. */
#ifndef INFO_H
#define INFO_H

#include "device/cpu/topology.h"
#include "hass/load.h"
#include "measure.h"

/**
 * InfoGpu: one GPU.
 * @numa_node: -1: not known.
 * @measured: FALSE: nothing of it was.
 * @problem: why not all could be measured; NULL: none.
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
 * InfoMachine: the machine.
 * @n_available: threads that hass may use.
 * @read_gbps, @read_one_gbps: host memory, by all of these and by one; 0:
 *   not measured.
 * @gpu_problem: why there is no GPU; NULL: there is.
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
} InfoMachine;

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
