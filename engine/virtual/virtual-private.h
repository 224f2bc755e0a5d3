/* SPDX-License-Identifier: MIT */
/* virtual-private.h: a modelled machine that runs a farm, as the files of the
   virtual engine share it.

   DESIGN. One thread. Rounds do not overlap, but open ones (engine/core/open.c)
   run beside them; the generator takes no time.
   1. Asking. The strategy is asked for idle devices, GPUs first (feed.c), then
      cores pull (virtual.c), until no device takes more.
   2. Events. The earliest event moves the clock: a core has finished its pull,
      or a bundle has finished a stage and queues for the next (gpu.c); the
      host, links, copy engines and kernels serve one bundle at a time, in order
      of arrival.
   3. Results. When a unit's time has come, the application's CPU worker
      computes its true result, on whatever modelled device, unless the run is
      dry. Parts of grants go through the feeder that the live engine uses
      (engine/core/feeder.h), and GPUs are devices with the ops of
      device/device.h.
   4. What goes wrong (model.c): a device becomes slower or is lost, at a time
      or when a number of rounds is over.
   A GPU that takes time to open takes its first part when that time has passed
   since the farm's begin; opening it costs the cores nothing. Events at the
   same time are served in the order they were made, and noise comes from the
   seed: the same seed gives the same trace, byte for byte. world.c keeps the
   events and has the costs of units.

   Thread safety: a world belongs to its thread. */
#ifndef HASS_VIRTUAL_PRIVATE_H
#define HASS_VIRTUAL_PRIVATE_H

#include <math.h>

#include "device/ops.h"
#include "engine/core/feeder.h"
#include "engine/core/job.h"
#include "hass/device_data.h"
#include "virtual.h"

/* The message of a device that the model makes fail. */
#define HASS_VIRTUAL_LOST "the model says so"

typedef struct HassVirtualGpu HassVirtualGpu;
typedef struct HassVirtualOp HassVirtualOp; /* gpu_data.c */

/* A bundle that a modelled GPU has in one of its slots; durations of its stages
   in ns. */
typedef struct
{
  guint stage; /* the stage that it waits for or is in; see gpu.c */
  double gather_ns, h2d_ns, kernel_ns, d2h_ns, scatter_ns;
  double host_ns; /* scatter_ns plus the model's host_ns */
  double kernel_busy_ns;
  /* elements of a kernel that may run beside others; 0: it has the GPU to
     itself */
  double elements;
  gboolean enters; /* its copy includes the round's entry copy */
  gboolean failed;
  gint64 left_ns; /* when its last stage on the device was over */
  HassStages stages;
} HassVirtualBundle;

/* An event in the queue: a core has finished its pull, or a GPU's bundle has
   finished a stage; with neither core nor GPU only the clock moves. (A
   HassVirtualEvent is something else: a failure that a bench plans.) */
typedef struct
{
  gint64 t;
  guint64 order;
  gint core;      /* core that has finished; or -1 */
  HassSlot *slot; /* the round of its units */
  HassExtent extent;
  gint64 begin;
  /* GPU whose bundle has finished a stage, or whose operation is over; or NULL
   */
  HassVirtualGpu *gpu;
  guint bundle;      /* slot of that bundle */
  HassVirtualOp *op; /* that operation, of a dataflow; or NULL */
} HassVirtualDue;

typedef struct
{
  gint64 in_free, out_free;
} HassVirtualLink;

/* A core's batch of a stage in whose tokens idle cores can help (loops.c).
   @efficiency: HassVirtualModel.loops of the stage; 0: none can. @left_ns: time
   that a core alone would need for the rest at @since_ns. @helpers: since then.
 */
typedef struct
{
  double efficiency, left_ns;
  gint64 since_ns;
  guint helpers;
} HassVirtualLoop;

typedef struct HassVirtualWorld HassVirtualWorld;

/* What a pipeline or a dataflow does in the course of events (course.c).
   @feed: begins on all devices what can begin.
   @core_done: a core has finished.
   @gpu_done: a GPU's bundle, or operation, has finished a stage.
   @has_room: the generator need not wait any longer.
   @finish: (nullable): nothing is left to do. */
typedef struct
{
  void (*feed) (HassVirtualWorld *w);
  void (*core_done) (HassVirtualWorld *w, const HassVirtualDue *event);
  void (*gpu_done) (HassVirtualWorld *w, const HassVirtualDue *event);
  gboolean (*has_room) (HassJob *job);
  void (*finish) (HassVirtualWorld *w);
} HassVirtualCourse;

struct HassVirtualWorld
{
  HassJob *job;
  const HassVirtualCourse *course; /* NULL: rounds */
  HassPlatform *platform;
  gint64 clock;     /* virtual time, at most HASS_VIRTUAL_END_NS */
  gboolean changed; /* dataflow: devices, or cores, may find something to do */
  gboolean saturated; /* an event would have come after that end */
  guint64 n_events;
  GArray *heap;               /* HassVirtualDue */
  gboolean *core_busy;        /* [cores] */
  guint n_busy;               /* cores that are busy */
  guint first_idle;           /* all cores before this one are busy */
  struct HassBatch **batches; /* pipeline: [cores], what each computes */
  HassVirtualLoop *loops;     /* pipeline: [cores] */
  guint n_wakes;              /* times without an event, see course.c */
  HassVirtualGpu *gpus;       /* [n_gpus] that participate */
  guint n_gpus;
  gint64 *open_ns;     /* [n_devices], when a GPU takes its first part */
  gint64 *core_begins; /* [cores], when each joins this round */
  guint64 n_gaps;      /* rounds whose gaps have passed */
  /* [n_devices], end of the strategy's last WAIT, for which a wake-up is queued
   */
  gint64 *again_ns;
  HassVirtualLink *links;
  guint64 memory_limit; /* HASS_GPU_MEM */
  GRand *rand;
  const HassVirtualModel *model; /* NULL: nothing is added to the platform */
  double *slower;     /* [n_devices], factor on the device's times so far */
  gboolean *happened; /* [model->n_events], the event is over */
  /* [n_devices], the entry copy of this round was made */
  gboolean *entered;
  guint64 *entry_bytes;  /* [n_devices], entry copies of all rounds */
  guint64 *bytes_before; /* [n_devices], all copies of earlier rounds */
  guint64 *bytes;        /* [n_devices], scratch */
  /* scratch, one entry for each unit of a bundle */
  GArray *work, *elements;
};

/**
 * HassVirtualGpu: a modelled GPU.
 * @d: its index among the farm's devices.
 * @feeder: what the engine feeds it through.
 * @round, @extent: the units of the next submit.
 * @over: a bundle whose last stage is over, for the next wait; or NULL.
 * @kernel_free_ns: when all kernels that have queued so far are done.
 * @host_free_ns: when all copies on the host that have queued for it so far are
 *   done.
 * @kernel_begin_ns: when the kernel that began last began.
 * @entry_end_ns: when the last entry copy ended.
 * @serving: a dataflow: what serves the device while it is open; or NULL.
 * @memory: a dataflow: memory of data, and its size; @used: total.
 * @done: a dataflow: HassVirtualOp that are over, for the next waits.
 * @lost: a dataflow: the device is lost.
 */
struct HassVirtualGpu
{
  HassDevice parent;
  HassDeviceOps ops; /* with the kind that the model says */
  HassVirtualWorld *world;
  const HassGpuModel *model;
  guint d;
  HassFeeder feeder;
  HassSlot *round;
  HassExtent extent;
  HassVirtualBundle *bundles; /* [depth], by slot */
  HassVirtualBundle *over;
  gint64 kernel_begin_ns, kernel_free_ns, host_free_ns, entry_end_ns;
  struct HassServing *serving;
  GHashTable *memory;
  gsize used;
  GQueue done;
  gboolean lost;
};

static inline guint
hass_virtual_first_gpu (const HassVirtualWorld *w)
{
  return w->platform->has_cpu ? 1 : 0;
}

/* End of virtual time, in ns (31 years): later events are moved to this time.
   Records hold no larger times, and sums of a few of them do not overflow. */
#define HASS_VIRTUAL_END_NS ((gint64)1000000000000000000)

/* Returns the time @ns after @t, at most the end of virtual time. It is rounded
   to the nearest ns, as records are written: so a replay of a record ends at
   the same ns, and events that were at the same time still are. */
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
HassVirtualDue hass_virtual_cancel (HassVirtualWorld *w, gint core);
void hass_virtual_move (HassVirtualWorld *w, guint core, gint64 t);
void hass_virtual_sort (HassVirtualWorld *w);
gint64 *hass_virtual_gpu_link (HassVirtualGpu *gpu, gboolean out);
double hass_virtual_noise (HassVirtualWorld *w);
double hass_virtual_cost (const HassVirtualWorld *w, const HassRound *round,
                          guint device, HassExtent e);

double hass_virtual_token_work (const HassVirtualWorld *w, guint stage,
                                guint device, const HassToken *token);
double hass_virtual_core_rate (const HassVirtualWorld *w, guint stage);
double hass_virtual_flow_kernel_ns (HassVirtualGpu *gpu, gsize n);
void hass_virtual_check_stop (HassVirtualWorld *w);

static inline void
hass_virtual_occupy (HassVirtualWorld *w, guint core)
{
  w->core_busy[core] = TRUE;
  w->n_busy++;
  w->first_idle += core == w->first_idle;
}

static inline void
hass_virtual_vacate (HassVirtualWorld *w, guint core)
{
  w->core_busy[core] = FALSE;
  w->first_idle
      = w->n_busy == w->job->n_cores ? core : MIN (w->first_idle, core);
  w->n_busy--;
}

/* gpu.c */
void hass_virtual_gpu_init (HassVirtualGpu *gpu, HassVirtualWorld *w, guint g);
void hass_virtual_gpu_name_units (HassVirtualGpu *gpu, HassSlot *round,
                                  HassExtent extent);
void hass_virtual_gpu_stage_over (HassVirtualGpu *gpu, guint index);
void hass_virtual_gpu_lose (HassVirtualGpu *gpu);

/* gpu_data.c */
extern const HassDeviceDataOps hass_virtual_data_ops;
void hass_virtual_gpu_op_over (HassVirtualGpu *gpu, HassVirtualOp *op);

/* feed.c */
gboolean hass_virtual_feed_gpus (HassVirtualWorld *w, HassSlot *slot);
void hass_virtual_go_on (HassVirtualWorld *w, const HassVirtualDue *event);

void hass_virtual_submit (HassVirtualWorld *w, HassVirtualGpu *gpu,
                          HassFeederPart *part);

/* course.c */
gboolean hass_virtual_course_room (HassJob *job);
void hass_virtual_drive_course (HassVirtualWorld *w);

/* loops.c. A core has begun a batch that takes one core @ns, or ended it. */
void hass_virtual_loop_begin (HassVirtualWorld *w, guint core, guint stage,
                              double ns);
void hass_virtual_loop_end (HassVirtualWorld *w, guint core);
/* Divides the idle cores among the tokens in which they can help. */
void hass_virtual_help (HassVirtualWorld *w);

/* flow.c, dataflow.c */
extern const HassVirtualCourse hass_virtual_flow, hass_virtual_dataflow;

/* model.c */
void hass_virtual_announce_times (HassVirtualWorld *w);
void hass_virtual_pass_gap (HassVirtualWorld *w);
void hass_virtual_round_begins (HassVirtualWorld *w, const HassSlot *slot);
static inline gboolean
hass_virtual_is_open (const HassVirtualWorld *w, guint d)
{
  return w->clock >= w->open_ns[d];
}

void hass_virtual_let_happen (HassVirtualWorld *w, const HassSlot *slot);
void hass_virtual_finished (HassVirtualWorld *w, HassSlot *slot, guint32 n);
void hass_virtual_tell_of_round (HassVirtualWorld *w, const HassRound *round);

#endif
