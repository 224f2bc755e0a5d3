/* SPDX-License-Identifier: MIT */
/* proxy-private.h: what the files of a device's proxy share.
   Thread safety: a proxy belongs to its thread, except for what the job's locks
   guard. */
#ifndef HASS_PROXY_PRIVATE_H
#define HASS_PROXY_PRIVATE_H

#include "device/ops.h"
#include "engine/core/feeder.h"
#include "live-private.h"

struct HassProxy
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
};

/* What the proxy of an unopened device knows: times in ns. */
typedef struct
{
  gint64 begin_ns, open_ns;
  /* time to open the device and to copy the farm's constants */
  gint64 start_ns;
  /* when a GPU was first seen to have finished units; 0: not yet */
  gint64 shown_ns;
  double shown_work; /* work of the round that was done at shown_ns */
  /* proxy_turn.c: when the present period began, 0: none has; and HassRest.open
     and .busy_ns then */
  gint64 period_ns;
  guint64 period_open;
  double period_busy_ns;
} HassProxyWatch;

/* Another GPU is opened only if the devices at work need more than this many
   times its start for the remaining work. 2: a GPU as fast as all of them
   halves that time, so it gains more than its start; with 1 the start would at
   best gain nothing; higher, and starts that pay are not made. */
#define HASS_PROXY_WORTH 2

/* proxy.c */
void hass_proxy_serve (HassProxy *p);

/* proxy_need.c */
gint64 hass_proxy_estimate (HassProxy *p, HassProxyWatch *w);
gint64 hass_proxy_opens_at_ns (HassProxy *p);
gboolean hass_proxy_is_needed (HassProxy *p);

/* proxy_turn.c */
gboolean hass_proxy_has_turn (const HassProxy *p, HassProxyWatch *w,
                              gint64 now_ns);

#endif
