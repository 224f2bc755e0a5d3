/* SPDX-License-Identifier: MIT */
/* virtual-private.h: a modelled machine that runs a farm, as the files of the
   virtual engine share it.

   DESIGN. One thread. Rounds do not overlap; the generator takes no time.
   1. Idle devices are asked, GPUs first (feed.c), then cores pull (virtual.c),
      until no device takes more.
   2. The earliest event moves the clock: a core has finished its pull, or a
      bundle has finished a stage and queues for the next (gpu.c); the host,
      links, copy engines and kernels serve one at a time, in order of arrival.
   3. When a unit's time has come, the application's CPU worker computes its
      true result, on whatever modelled device, unless the run is dry. Parts of
      grants go through the feeder that the live engine uses
      (engine/core/feeder.h), and GPUs are devices with the ops of
      device/device.h.
   4. What goes wrong (model.c): a device becomes slower or is lost, when a part
      of the rounds is over or at a time.
   A GPU that takes time to open takes its first part when the farm has run for
   so long; opening it costs the cores nothing.
   Events at the same time are served in the order they were made, and noise
   comes from the seed: the same seed gives the same trace, byte for byte.
   world.c keeps the events and has the costs of units.

   Thread safety: a world belongs to its thread. */
#ifndef HASS_VIRTUAL_PRIVATE_H
#define HASS_VIRTUAL_PRIVATE_H

#include <math.h>

#include "device/ops.h"
#include "engine/core/feeder.h"
#include "engine/core/job.h"
#include "virtual.h"

/* Why a device is lost. */
#define HASS_VIRTUAL_LOST "the model says so"

typedef struct HassVirtualGpu HassVirtualGpu;

/* A bundle that a modelled GPU has in one of its slots. */
typedef struct
{
  guint stage; /* the one it queues for or is in; see gpu.c */
  double gather_ns, h2d_ns, kernel_ns, d2h_ns, scatter_ns;
  double host_ns; /* scatter_ns and what a model adds */
  double kernel_busy_ns;
  double elements; /* 0: its kernel has the GPU to itself */
  gboolean enters; /* copies what the GPU needs first in this round */
  gboolean failed;
  gint64 left_ns; /* the last stage on the device was over */
  HassStages stages;
} HassVirtualBundle;

/* An event to come; a HassVirtualEvent is what a bench lets happen. With
   neither a core nor a GPU only the clock moves. */
typedef struct
{
  gint64 t;
  guint64 order;
  gint core; /* or -1 */
  HassExtent extent;
  gint64 begin;
  HassVirtualGpu *gpu; /* or NULL */
  guint bundle;        /* a stage of this one of its bundles is over */
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
  HassVirtualGpu *gpus; /* [n_gpus] that take part */
  guint n_gpus;
  gint64 *open_ns;     /* [n_devices], when a GPU takes its first part */
  gint64 *core_begins; /* [cores], in this round */
  guint64 n_gaps;      /* that have passed */
  gint64 *again_ns;    /* [n_devices], to be asked then; an event is due */
  HassVirtualLink *links;
  GRand *rand;
  const HassVirtualModel *model; /* or NULL */
  double *slower;                /* [n_devices] */
  gboolean *happened;            /* [model->n_events] */
  gboolean *entered;             /* [n_devices], in this round */
  guint64 *entry_bytes;          /* [n_devices], over all rounds */
  guint64 *bytes_before;         /* [n_devices], of earlier rounds */
  guint64 *bytes;                /* [n_devices], scratch */
  GArray *work, *elements;       /* scratch, of a bundle's units */
} HassVirtualWorld;

/**
 * HassVirtualGpu: a modelled GPU.
 * @d: its index among the farm's devices.
 * @feeder: what the engine feeds it through.
 * @round, @extent: the units of the next submit.
 * @over: a bundle whose last stage is over, for the next wait; or NULL.
 * @kernel_free_ns, @host_free_ns: when all its kernels, and the host's copies
 * for it, are done with all that has queued.
 * @kernel_begin_ns: of the last kernel to begin.
 * @entry_end_ns: of the last entry copy.
 */
struct HassVirtualGpu
{
  HassDevice parent;
  HassVirtualWorld *world;
  const HassGpuModel *model;
  guint d;
  HassFeeder feeder;
  const HassSlot *round;
  HassExtent extent;
  HassVirtualBundle *bundles; /* [depth], by slot */
  HassVirtualBundle *over;
  gint64 kernel_begin_ns, kernel_free_ns, host_free_ns, entry_end_ns;
};

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

/* world.c */
void hass_virtual_world_init (HassVirtualWorld *w, guint n_devices);
void hass_virtual_world_clear (HassVirtualWorld *w);
void hass_virtual_push (HassVirtualWorld *w, HassVirtualDue due);
HassVirtualDue hass_virtual_pop (HassVirtualWorld *w);
void hass_virtual_sort (HassVirtualWorld *w);
double hass_virtual_noise (HassVirtualWorld *w);
double hass_virtual_cost (const HassVirtualWorld *w, const HassRound *round,
                          guint device, HassExtent e);

/* gpu.c */
void hass_virtual_gpu_init (HassVirtualGpu *gpu, HassVirtualWorld *w, guint g);
void hass_virtual_gpu_name_units (HassVirtualGpu *gpu, const HassSlot *round,
                                  HassExtent extent);
void hass_virtual_gpu_stage_over (HassVirtualGpu *gpu, guint index);
void hass_virtual_gpu_lose (HassVirtualGpu *gpu);

/* feed.c */
gboolean hass_virtual_feed_gpus (HassVirtualWorld *w, HassSlot *slot);
void hass_virtual_go_on (HassVirtualWorld *w, HassSlot *slot,
                         HassVirtualGpu *gpu, guint index);

/* model.c */
void hass_virtual_pass_gap (HassVirtualWorld *w);
void hass_virtual_round_begins (HassVirtualWorld *w, const HassSlot *slot);
gboolean hass_virtual_is_open (const HassVirtualWorld *w, guint d);
void hass_virtual_let_happen (HassVirtualWorld *w, const HassSlot *slot);
void hass_virtual_finished (HassVirtualWorld *w, HassSlot *slot, guint32 n);
void hass_virtual_tell_of_round (HassVirtualWorld *w, const HassRound *round);

#endif
