/* SPDX-License-Identifier: MIT */
/* proxy-private.h: what the files of a device's proxy share.
   Thread safety: a proxy belongs to its thread, except for what the job's locks
   guard. */
#ifndef HASS_PROXY_PRIVATE_H
#define HASS_PROXY_PRIVATE_H

#include "device/ops.h"
#include "engine/core/feeder.h"
#include "live-private.h"

typedef struct
{
  HassJob *job;
  HassLive *live;
  guint d; /* the device's index */
  HassDevice *device;
  /* the device's ops; those that its table lacks are NULL */
  HassDeviceOps ops;
  /* what the device is told of the farm; valid from its open to its close */
  HassDeviceFarm farm;
  HassFeeder feeder;
  /* pipeline: when the strategy wants to be asked again; 0: it does not */
  gint64 again_ns;
} HassProxy;

/* proxy.c */
void hass_proxy_serve (HassProxy *p);

/* flow.c */
gboolean hass_live_flow_ask (HassProxy *p);

/* proxy_need.c */
gint64 hass_proxy_opening_ns (HassProxy *p);
gint64 hass_proxy_copying_ns (const HassProxy *p);
gboolean hass_proxy_is_needed (HassProxy *p);

#endif
