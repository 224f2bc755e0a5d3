/* SPDX-License-Identifier: MIT */
/* virtual-private.h: a modelled machine that runs a farm, as the files of the
   virtual engine share it.

   DESIGN. One thread. Rounds do not overlap; the generator takes no time.
   1. Idle devices are asked, GPUs first (virtual_bundle.c), then cores pull
      (virtual.c), until nobody wants more.
   2. The earliest event moves the clock: a core has finished its pull, or a
      bundle has finished a stage (copy in, kernel, copy out) and queues for
      the next; links, copy engines and kernels serve one at a time, in order
      of arrival.
   3. When a unit's time has come, the application's CPU worker computes its
      true result, on whatever modelled device, unless the run is dry.
   4. What goes wrong (virtual_model.c): a device becomes slower or is lost,
      when a part of the rounds is over or at a time.
   Events at the same time are served in the order they were made, and noise
   comes from the seed: the same seed gives the same trace, byte for byte.
   virtual_world.c keeps the events and knows what units cost.

   Thread safety: a world is its thread's. */
#ifndef HASS_VIRTUAL_PRIVATE_H
#define HASS_VIRTUAL_PRIVATE_H

#include "engine/core/job.h"
#include "virtual.h"

typedef struct HassVirtualGrant HassVirtualGrant;
typedef struct HassVirtualBundle HassVirtualBundle;

/* An event to come; a HassVirtualEvent is what a bench lets happen. */
typedef struct
{
  gint64 t;
  guint64 order;
  gint core; /* or -1 */
  HassExtent extent;
  gint64 begin;
  HassVirtualBundle *bundle; /* NULL with no core: only the clock moves */
} HassVirtualDue;

typedef struct
{
  gint64 in_free, out_free;
} HassVirtualLink;

typedef struct
{
  HassJob *job;
  HassPlatform *platform;
  gint64 clock;       /* at most HASS_VIRTUAL_END_NS */
  gboolean saturated; /* something would have come after that */
  guint64 n_events;
  GArray *heap; /* HassVirtualDue */
  gboolean *core_busy;
  gint64 *kernel_free;        /* [n_gpus] */
  gint64 *last_end;           /* [n_gpus] */
  HassVirtualGrant **granted; /* [n_gpus], not all handed over, or NULL */
  guint *n_on;                /* [n_gpus], parts on the device */
  gint64 *host_free;   /* [n_gpus], when the host is done with the last part */
  gint64 *core_begins; /* [cores], in this round */
  guint64 n_gaps;      /* that have passed */
  gint64 *again_ns;    /* [n_devices], to be asked then; an event is due */
  HassVirtualLink *links;
  GRand *rand;
  const HassVirtualModel *model; /* or NULL */
  double *slower;                /* [n_devices] */
  gboolean *happened;            /* [model->n_events] */
  gboolean *entered;             /* [n_devices], in this round */
  gint64 *entry_end;             /* [n_gpus], of the last entry copy */
  guint64 *entry_bytes;          /* [n_devices], over all rounds */
  guint64 *bytes_before;         /* [n_devices], of earlier rounds */
  guint64 *bytes;                /* [n_devices], scratch */
  GArray *work, *elements;       /* scratch, of a bundle's units */
} HassVirtualWorld;

static inline guint
hass_virtual_first_gpu (const HassVirtualWorld *w)
{
  return w->platform->has_cpu ? 1 : 0;
}

/* Virtual time ends here, after 31 years: records hold no larger times, and
   sums of a few of them are no overflow. What would come later comes then. */
#define HASS_VIRTUAL_END_NS ((gint64)1000000000000000000)

/* A time after t. To the nearest, as records are written: a replay of what they
   say then ends at the same ns, and no tie is broken another way. */
static inline gint64
hass_virtual_later (HassVirtualWorld *w, gint64 t, double ns)
{
  if (G_LIKELY (ns < HASS_VIRTUAL_END_NS - t))
    return t + (gint64)(ns + 0.5);
  w->saturated = TRUE;
  return HASS_VIRTUAL_END_NS;
}

/* virtual_world.c */
void hass_virtual_world_init (HassVirtualWorld *w, guint n_devices);
void hass_virtual_world_clear (HassVirtualWorld *w);
void hass_virtual_push (HassVirtualWorld *w, HassVirtualDue due);
HassVirtualDue hass_virtual_pop (HassVirtualWorld *w);
void hass_virtual_sort (HassVirtualWorld *w);
double hass_virtual_noise (HassVirtualWorld *w);
double hass_virtual_cost (const HassVirtualWorld *w, const HassRound *round,
                          guint device, HassExtent e);

/* virtual_bundle.c */
gboolean hass_virtual_feed_gpus (HassVirtualWorld *w, HassSlot *slot);
void hass_virtual_go_on (HassVirtualWorld *w, HassSlot *slot,
                         HassVirtualBundle *b);
void hass_virtual_lose (HassVirtualWorld *w, guint device);

/* virtual_model.c */
void hass_virtual_pass_gap (HassVirtualWorld *w);
void hass_virtual_round_begins (HassVirtualWorld *w, const HassSlot *slot);
gboolean hass_virtual_is_open (const HassVirtualWorld *w, guint d);
void hass_virtual_let_happen (HassVirtualWorld *w, const HassSlot *slot);
void hass_virtual_finished (HassVirtualWorld *w, HassSlot *slot, guint32 n);
void hass_virtual_tell_of_round (HassVirtualWorld *w, const HassRound *round);

#endif
