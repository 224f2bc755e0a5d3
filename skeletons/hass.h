/* SPDX-License-Identifier: MIT */
/* hass/hass.h: includes all public headers but hass/cuda.h,
   hass/cuda_device.cuh, hass/profile.h and hass/la.h.
   Thread safety: see each header. */
#ifndef HASS_HASS_H
#define HASS_HASS_H

#include <hass/callbacks.h>
#include <hass/data_farm.h>
#include <hass/dataflow.h>
#include <hass/device.h>
#include <hass/device_data.h>
#include <hass/device_kind.h>
#include <hass/error.h>
#include <hass/function_farm.h>
#include <hass/load.h>
#include <hass/memory.h>
#include <hass/pipeline.h>
#include <hass/report.h>
#include <hass/strategy.h>
#include <hass/types.h>
#include <hass/version.h>

#endif
