/* SPDX-License-Identifier: MIT */
/* place.h: where the data of a dataflow lie, and where its tasks run, on a
   machine with devices.

   DESIGN.
   1. Home. The home of a datum is the user's memory, or the library's for
      scratch. A core needs the data of its task at home, so a task for cores
      waits (is parked) while one of them is not valid there. A datum has at
      each device an instance: memory, and whether it holds the valid version.
      A version that is not at home is at the device that made it
      (HassPlaces.only), and at those that have copied it from there. A device
      gets a datum from its home, or from another one of its kind.
   2. Ready tasks. A task that a device may compute waits in one of a few heaps
      of ready tasks. In which one, into which a worker looks, and whether it
      takes a task says the strategy (hass/flow.h), from predictions: what the
      devices have taken, by their recent mean time of each codelet, the copies
      that the task needs, and its own time; if data wait at a device to be
      copied home, not before a part of that. While times are unknown, tasks
      count (predict.c). Of the first few tasks that a device may take it takes
      the one with the lowest score. A device that is not open yet counts among
      them if it says that it opens soon, until it is late (soon_ns). If all
      workers leave what waits, the dataflow ends (left.c).
   3. Early end. A task on a device that changes one datum ends in two steps.
      When its kernels have ended, what waits for the datum may begin. It is
      settled when the datum has come home: then what waits for data that it has
      only read may begin, too, and its slot may be used again. Until then it
      can be computed again: nothing that it reads has changed, and the home of
      the datum holds an older version. HassPlaces.chain lists the tasks that
      lead from that version to the present one. A task that changes several
      data ends when all of them are home. A recorded task has no lists of
      those that wait for it: of its edges, those that are late are counted
      down when it is settled, the others before (HASS_TASK_CLOSED).
   4. Coming home. A datum is copied home if somebody waits for it, or for a
      task to be settled that has changed it; if tasks wait to read it and none
      to change it; and in the end. It is copied to memory aside and moved from
      there when it is complete, so that its home is always whole: the old
      version or the new one. Scratch that nothing will read is not copied.
   5. Loss. If a device is lost, or has destroyed a datum by a kernel that
      failed, the tasks in the chains of the data that were valid there only are
      computed again, each chain in order, on what is left. Of a chain that is
      lost once more, tasks that may begin already are not handed out twice
      (HASS_TASK_AGAIN). Copies that other devices have are not used any more;
      what a task has meanwhile made of one is dropped, and it begins again when
      the datum is there. A task that fails, or will not be computed, waits like
      one for cores: what it makes invalid must not be lost and computed again.

   Thread safety: HassPlacing.lock, except where stated. */
#ifndef HASS_GRAPH_PLACE_H
#define HASS_GRAPH_PLACE_H

#include "graph-private.h"

#include "hass/device_data.h"
#include "hass/flow.h"

/* Most devices of a graph: bits of a mask. */
#define HASS_MOST_DEVICES 32

typedef enum
{
  HASS_AT_NONE,     /* no memory */
  HASS_AT_EMPTY,    /* memory, its contents undefined */
  HASS_AT_ARRIVING, /* a copy to it is under way */
  HASS_AT_VALID
} HassAt;

/* A datum at a device. */
typedef struct
{
  GList link; /* in HassGraphDevice.resident if there is memory */
  gpointer memory;
  HassAt state;
  guint pins;    /* tasks of the device and copies to it that use the memory */
  guint readers; /* other devices that copy from the memory */
} HassInstance;

struct HassPlaces
{
  HassData *data;
  gint only;  /* device with the only valid version; < 0: it is home */
  GList link; /* in HassGraphDevice.only_here of device @only */
  /* device of which a kernel writes it; < 0: none, or its version was lost */
  gint changer;
  gint leaver;     /* device from which it is copied home; < 0: none */
  gboolean wanted; /* somebody waits for it at home */
  gboolean listed; /* in HassGraphDevice.leavers of device @only */
  /* guint32, tasks by index: those that lead from the version at home to the
     present one, in order. Those before @redo are computed; there are others
     only while a lost version is computed again. */
  GArray *chain;
  guint redo;
  GArray *parked; /* guint32: tasks for cores that wait for it */
  HassInstance at[];
};

typedef enum
{
  HASS_GRAPH_DEVICE_SHUT, /* not open yet */
  HASS_GRAPH_DEVICE_OPEN,
  HASS_GRAPH_DEVICE_LOST
} HassGraphDeviceState;

/* A codelet on a device. */
typedef struct
{
  guint64 n_tasks;    /* settled */
  guint64 n_computed; /* timed */
  guint n_held;       /* of HassGraphDevice.n_held */
  guint ns;           /* recent mean time of a task; 0: unknown */
  double busy_ns;     /* of all that were timed */
  guint64 home_bytes; /* that have come home to settle tasks */
} HassDeviceCodelet;

/* A task whose data have memory at a device. */
typedef struct
{
  guint32 task;
  /* A datum of the task that was being copied here when all its copies had
     begun: until that copy ends the task cannot begin. NULL: none is known. */
  const HassInstance *awaited;
} HassTaken;

/* A device of a graph. */
typedef struct
{
  guint index; /* in HassPlacing.devices; a bit in masks */
  guint d;     /* in HassJob.devices */
  HassGraphDeviceState state;
  /* while it is shut: until when cores leave it tasks as if it were open; 0: it
     opens soon, and no core has looked yet; < 0: opening it takes long, or a
     worker that looked has found that it is late */
  gint64 soon_ns;
  GQueue resident; /* HassPlaces with memory here, least recently used first */
  GQueue leavers;  /* HassPlaces that should be copied home */
  /* HassPlaces of which it has the only valid version, that which was changed
     longest ago first: the user's data, and the library's own */
  GQueue only_here[2];
  GArray *garbage;   /* gpointer: memory of data that are gone */
  GArray *taken;     /* HassTaken */
  guint n_held;      /* such tasks, and those that compute or leave */
  gsize going_bytes; /* under way from it */
  guint32 shunned;  /* a mask of devices from which a copy to this one failed */
  guint64 n_tasks;  /* settled */
  guint64 bytes_in; /* that were copied to it */
  HassDeviceCodelet *codelets; /* [HASS_MOST_CODELETS] */
  /* by the proxy thread; after its end by the calling one */
  HassDevice *device;
  const HassDeviceDataOps *ops;
  guint64 n_calls, n_failed;
  guint64 bytes_home; /* that were copied from it to their homes */
  double busy_ns;
} HassGraphDevice;

/* Why a task cannot run on devices. */
typedef struct
{
  guint32 mask;  /* devices that have refused it */
  GError *error; /* of the last one */
} HassRefusal;

typedef struct HassPlacing HassPlacing;
struct HassPlacing
{
  pthread_mutex_t lock; /* taken before HassGraph.lock */
  guint n_devices;
  HassGraphDevice *devices;
  /* devices that a codelet has a function for; by the submitting thread */
  _Atomic guint32 usable;
  /* ready tasks, as the strategy places them (hass/flow.h); no queue from
     @n_queues on has any. @queue_ns: HassFlowState.queue_ns. */
  GArray *queues[HASS_FLOW_QUEUES]; /* HassRanked; NULL: never used */
  double queue_ns[HASS_FLOW_QUEUES];
  guint64 looked_into[HASS_FLOW_QUEUES]; /* masks of workers */
  guint n_queues;
  GArray *empty;          /* a queue without tasks */
  _Atomic guint n_shared; /* their number, read without the lock */
  guint64 n_entered;      /* tasks that have become ready and entered one */
  guint32 reviewed;       /* devices that counted when tasks were placed last */
  gint64 *core_until_ns;  /* [n_cores] when a core should be free; or NULL */
  GHashTable *refusals;   /* index of a task + 1 -> HassRefusal */
  _Atomic guint n_refusals; /* of these, read without the lock */
  GPtrArray *codelets;      /* HassCodeletState that devices can compute */
  gboolean runs_again;      /* a recorded graph that has run before */
  gboolean news;            /* a device has got a datum to be copied home */
  /* threads other than cores that may have tasks in hand, see left.c; raised
     under the lock */
  _Atomic guint n_busy;
};

/* placing.c */
void hass_placing_new (HassGraph *graph);
void hass_placing_free (HassGraph *graph);
HassGraphDevice *hass_placing_device (const HassGraph *graph, guint d);
guint32 hass_codelet_devices (const HassGraph *graph, const HassCodelet *of);
HassCodeletGpuFunc hass_codelet_func (const HassGraph *graph,
                                      const HassCodelet *of, guint index);
gboolean hass_codelet_can_run (const HassGraph *graph, const HassCodelet *of,
                               guint32 devices);
void hass_place_add_codelet (HassGraph *graph, HassCodeletState *codelet);
void hass_place_forget_locked (HassGraph *graph, const HassGraphTask *task);
GError *hass_place_why_nowhere (HassGraph *graph, const HassGraphTask *task);
void hass_place_refuse_locked (HassGraph *graph, const HassGraphTask *task,
                               const HassGraphDevice *device,
                               const GError *error);
guint32 hass_place_able_locked (const HassGraph *graph,
                                const HassGraphTask *task);

/* predict.c */
double hass_device_pace_ns (const HassGraphDevice *device,
                            const HassCodeletState *codelet);
double hass_devices_wait_ns_locked (const HassGraph *graph, guint32 devices,
                                    gboolean to_come);
double hass_devices_bound_locked (const HassGraph *graph, guint32 devices,
                                  const HassCodeletState *only);
double hass_device_held_ns_locked (const HassGraph *graph,
                                   HassGraphDevice *device);
double hass_device_task_home_ns (const HassGraph *graph,
                                 const HassGraphDevice *device,
                                 const HassCodeletState *codelet);
double hass_device_home_ns_locked (const HassGraph *graph,
                                   HassGraphDevice *device);
double hass_device_copy_ns_locked (HassGraph *graph,
                                   const HassGraphDevice *device,
                                   HassGraphTask *task, HassPlaces **away);
double hass_home_copy_ns_locked (HassGraph *graph, HassGraphTask *task);

double hass_devices_copy_ns (const HassGraph *graph, guint n, gsize bytes);

/* outlook.c */
double hass_outlook_after_ns_locked (HassGraph *graph,
                                     const HassGraphTask *task, gint worker);

/* Returns: a mask of the devices in a state. */
static inline guint32
hass_place_devices_that_are (const HassPlacing *p, HassGraphDeviceState state)
{
  guint32 mask = 0;
  for (guint i = 0; i < p->n_devices; i++)
    if (p->devices[i].state == state)
      mask |= 1u << i;
  return mask;
}

/* Returns: TRUE if a task will not be computed, as one before it has failed. */
static inline gboolean
hass_place_is_poisoned (HassGraph *graph, HassGraphTask *task)
{
  return atomic_load_explicit (&graph->n_failures, memory_order_relaxed) > 0
         && hass_task_is_poisoned (task) > 0;
}

/* choice.c: a question to the strategy. @open: devices that count. @task: that
   it is asked about. @asker: the device that asks; < 0: none. @known: @copy_ns
   and @away are those of @task on the asker. */
typedef struct
{
  HassFlowState state;
  HassGraph *graph;
  guint32 open;
  HassGraphTask *task;
  gint asker;
  gboolean known;
  double copy_ns;
  double bound;     /* where no device asks: hass_devices_bound_locked() */
  HassPlaces *away; /* a datum that the asker cannot get now; or NULL */
  double held_ns[HASS_MOST_DEVICES];
} HassChoice;

void hass_choice_begin_locked (HassChoice *choice, HassGraph *graph,
                               gint asker);
HassFlowTask hass_choice_show_locked (HassChoice *choice, HassGraphTask *task);
void hass_choice_look_at_data_locked (HassChoice *choice);
guint32 hass_choice_counting_locked (HassGraph *graph);
void hass_choice_place_locked (HassGraph *graph, HassGraphTask *task,
                               gint maker, HassFlowSpot *spot);
void hass_place_note_late_locked (HassGraph *graph);
gint64 hass_place_again_ns (HassJob *job);
/* For tests, before a dataflow begins. */
extern gint64 hass_place_late_ns;

/* Tasks of a queue that a core looks at. A guess: fewer, and it misses one;
   more, and others wait for the lock. */
#define HASS_MOST_LOOKED 64

/* choose.c */
GArray *hass_choice_queue_locked (HassChoice *choice, guint n,
                                  HassFlowLook *look);
HassFlowAnswer hass_choice_ask_locked (HassChoice *choice,
                                       const HassFlowTask *task,
                                       HassFlowVerdict *verdict);
HassGraphTask *hass_place_choose_locked (HassGraph *graph,
                                         const HassGraphDevice *device,
                                         GArray *for_cores);

/* place.c; @maker: as HassFlowTask. */
gboolean hass_place_ready (HassGraph *graph, HassGraphTask *task, gint maker);
void hass_place_turn_away_locked (HassGraph *graph, GArray *others);
void hass_place_share_locked (HassGraph *graph, HassGraphTask *task,
                              gint maker);
HassGraphTask *hass_place_unshare_locked (HassGraph *graph, guint queue,
                                          guint i);
void hass_place_note_look_locked (HassPlacing *placing, guint queue,
                                  gint worker);
GError *hass_place_find_astray_locked (HassChoice *choice);

/* coherency.c; @index: of a device. */
static inline HassPlaces *
hass_data_places (const HassData *data)
{
  return atomic_load_explicit (&data->places, memory_order_acquire);
}

HassPlaces *hass_places_of_locked (HassGraph *graph, HassData *data);
void hass_places_free (HassPlaces *places);
guint hass_task_outputs (HassGraphTask *task, HassPlaces **one);
/* Where a device gets the present version of a datum. */
typedef enum
{
  HASS_FROM_HERE,
  HASS_FROM_HOME,
  HASS_FROM_PEER,   /* device HassPlaces.only */
  HASS_FROM_NOWHERE /* not now: it must come home, or be computed again */
} HassFrom;
gboolean hass_place_are_peers (const HassGraph *graph, guint index,
                               guint other);
HassFrom hass_place_from_locked (const HassGraph *graph, HassGraphTask *task,
                                 const HassTaskAccess *access, guint index);
gboolean hass_place_is_at_locked (guint32 task, const HassPlaces *places,
                                  gint index);
gboolean hass_place_is_home_locked (HassGraph *graph, HassGraphTask *task,
                                    HassPlaces **away);
void hass_place_leave_locked (HassGraph *graph, HassPlaces *places,
                              gboolean first);
void hass_place_want_locked (HassGraph *graph, HassPlaces *places);
void hass_place_changed_locked (HassGraph *graph, guint index,
                                HassPlaces *places, guint32 task,
                                GArray *again);
void hass_place_leaves_changed_locked (HassGraph *graph, guint index,
                                       HassPlaces *places);
void hass_place_came_home_locked (HassGraph *graph, guint index,
                                  HassPlaces *places, GArray *settled,
                                  GArray *ready);
void hass_place_lost_locked (HassGraph *graph, HassPlaces *places, guint index,
                             GArray *again);
gboolean hass_place_begins_again_locked (HassGraph *graph, HassGraphTask *task,
                                         guint index);
gboolean hass_place_written_locked (HassGraph *graph, HassPlaces *places,
                                    guint32 task, gboolean computed,
                                    GArray *next);
gboolean hass_place_drop_locked (HassGraph *graph, HassPlaces *places,
                                 HassGraphDevice **only);
gboolean hass_place_await (HassGraph *graph, const HassData *data);
void hass_place_renew (HassGraph *graph, const HassData *data);
void hass_place_send_home (HassGraph *graph, HassGraphTask *task);

/* settle.c; @worker: of the calling thread. */
void hass_place_settle (HassGraph *graph, guint worker, HassGraphDevice *device,
                        const GArray *settled);
void hass_place_hand_out (HassGraph *graph, guint worker, const GArray *tasks);
void hass_place_written (HassGraph *graph, guint worker, HassGraphTask *task,
                         gboolean computed);
gboolean hass_place_drop (HassGraph *graph, guint worker, HassData *data);

/* mover.c; for tests, before a dataflow begins. */
extern gsize hass_mover_least;

/* serve.c */
void hass_graph_serve (HassJob *job, guint d, const _Atomic gboolean *over);
gboolean hass_graph_wants (HassJob *job, guint d);

/* device_end.c */
void hass_graph_lost (HassJob *job, guint d);

/* device_memory.c: the proxy thread. */
typedef enum
{
  HASS_RESERVED,
  HASS_RESERVE_LATER, /* when tasks have ended or data have come home */
  HASS_RESERVE_NEVER, /* the device is too small, though it is empty */
  HASS_RESERVE_FAILED /* the device is out of order */
} HassReserve;

HassReserve hass_device_reserve_locked (HassGraph *graph,
                                        HassGraphDevice *device,
                                        HassGraphTask *task, GError **error);
void hass_device_let_go_locked (HassGraphDevice *device, HassGraphTask *task);
void hass_device_collect_garbage_locked (HassGraphDevice *device);
void hass_device_free_all_locked (HassGraphDevice *device);

#endif
