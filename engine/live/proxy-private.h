/* SPDX-License-Identifier: MIT */
/* proxy-private.h: what the files of a device's proxy share.
   Thread safety: the proxy's thread, but for what the job's locks guard. */
#ifndef HASS_PROXY_PRIVATE_H
#define HASS_PROXY_PRIVATE_H

#include "device/ops.h"
#include "live-private.h"

/* What the strategy granted at once. */
typedef struct
{
  gboolean busy;
  HassSlot *round;
  HassExtent rest; /* not handed over yet */
  guint n_parts;   /* on the device */
  gboolean counted;
  gboolean failed; /* a part of it was given back */
  gint64 grant_ns, start_ns;
  HassCompletion told;
} HassProxyBundle;

/* What the device has in one of its slots. */
typedef struct
{
  HassProxyBundle *bundle; /* NULL: the slot is free */
  HassExtent extent;
  HassBlock *blocks; /* [capacity] */
  gsize capacity, n_blocks;
  guint64 bytes, out_bytes, elements;
  guint64 all_bytes; /* what both take on the device */
  gint64 submit_ns;
} HassProxyPart;

typedef struct
{
  HassJob *job;
  HassLive *live;
  guint d; /* the device's index */
  HassDevice *device;
  HassDeviceOps ops;   /* the device's, as this library knows them */
  HassDeviceFarm farm; /* the device's from open to close */
  HassWorker *worker;
  HassProxyBundle *bundles; /* [depth] */
  HassProxyPart *parts;     /* [depth], by the device's slot */
  guint depth, n_in_flight, n_failures;
  guint enough;        /* parts at a time, at most depth */
  guint64 part_bytes;  /* 0: no bound */
  guint32 part_units;  /* bound until the present grant is over; 0: none */
  gboolean alone;      /* the next part has to be alone on the device */
  GQuark error_domain; /* of the device's last failure; 0: none was said */
  gint error_code;
  gint64 last_end_ns;
  HassStages stages; /* of the part before, where there is a trace */
} HassProxy;

/* proxy.c */
void hass_proxy_serve (HassProxy *p);

/* proxy_need.c */
gint64 hass_proxy_opening_ns (HassProxy *p);
gint64 hass_proxy_copying_ns (const HassProxy *p);
gboolean hass_proxy_is_needed (HassProxy *p);

/* proxy_parts.c */
void hass_proxy_cut (HassProxy *p, HassProxyBundle *b, HassProxyPart *part);
void hass_proxy_make_smaller (HassProxy *p, HassProxyPart *part,
                              const char *why);

/* proxy_settle.c */
void hass_proxy_note_locked (HassProxy *p, const char *message);
void hass_proxy_give_up (HassProxy *p, const char *message);
void hass_proxy_finish_bundle (HassProxy *p, HassProxyBundle *b, gint64 end_ns);
void hass_proxy_settle (HassProxy *p, HassProxyPart *part,
                        const HassBundleDone *done, const char *message);

#endif
