/* SPDX-License-Identifier: MIT */
/* device-private.h: what the files of a device that computes tasks share.
   Thread safety: the proxy thread of the device. */
#ifndef HASS_GRAPH_DEVICE_PRIVATE_H
#define HASS_GRAPH_DEVICE_PRIVATE_H

#include "graph.h"
#include "place.h"

typedef enum
{
  HASS_FLIGHT_ARRIVE,
  HASS_FLIGHT_COMPUTE,
  HASS_FLIGHT_LEAVE
} HassFlightKind;

/* Data that come home together: those that one task has changed. */
typedef struct
{
  guint32 task;
  guint n_left;       /* that have not arrived aside */
  GPtrArray *flights; /* HassFlight: those that have */
} HassTogether;

/* An operation in flight. */
typedef struct
{
  guint64 ticket;
  HassFlightKind kind;
  gint64 begun_ns;
  HassPlaces *places; /* ARRIVE, LEAVE */
  HassInstance *from; /* ARRIVE: of a peer; NULL: from home */
  HassDevice *peer;   /* whose it is */
  gconstpointer peer_memory;
  GArray *tasks;  /* COMPUTE: guint32 */
  gpointer aside; /* LEAVE: memory that is copied to, [bytes] */
  gsize bytes;
  HassTogether *with; /* LEAVE: or NULL */
} HassFlight;

/* An operation that has ended, as wait() of the device says. */
typedef struct
{
  HassDataDone done;
  GError *error;
} HassLanded;

/* Memory that data are copied to before they are moved home. */
typedef struct
{
  gpointer memory;
  gsize bytes;
} HassAside;

typedef struct HassMover HassMover; /* mover.c */

/* What serves a device. */
struct HassServing
{
  HassJob *job;
  HassGraph *graph;
  HassPlacing *placing;
  HassGraphDevice *device;
  guint worker;
  GHashTable *flights;  /* ticket -> HassFlight */
  GPtrArray *together;  /* HassTogether, all */
  guint64 ticket;       /* the last one */
  guint most_computing; /* calls in flight that keep the device busy */
  guint ahead;          /* most tasks that wait here to be computed */
  guint64 n_seen; /* HassPlacing.n_entered when it last looked for a task */
  guint n_computing;
  guint n_leaving; /* data that are copied home, or moved */
  guint n_moving;  /* of these, those whose copy has ended */
  HassMover *mover;
  guint n_failures;   /* operations in a row that have failed */
  gint64 last_end_ns; /* of a computation */
  GError *gone;       /* why the device is given up; NULL: it is not */
  gboolean lost;      /* its memory must not be freed */
  gboolean busy;      /* it counts in HassPlacing.n_busy */
  GArray *ended;      /* HassLanded: to be looked at */
  GArray *asides;     /* HassAside: free memory */
  /* virtual time: of the tasks that begin to compute */
  const char *codelet;
  double cost;
};

static inline HassGraphTask *
hass_serving_task (const HassServing *s, const GArray *tasks, guint i)
{
  return &s->graph->tasks[g_array_index (tasks, guint32, i)];
}

/* flight.c */
HassFlight *hass_flight_new (HassServing *s, HassFlightKind kind);
void hass_flight_free (gpointer flight);
void hass_flight_end_reading_locked (const HassServing *s,
                                     const HassFlight *flight);
void hass_serving_count (HassServing *s, gboolean failed, const GError *error);
gboolean hass_serving_is_lost (HassServing *s);
void hass_serving_begin_locked (HassServing *s);
gboolean hass_serving_rest (HassServing *s);
gboolean hass_serving_wait (HassServing *s, gint64 timeout_ns,
                            HassLanded *ended);

/* mover.c */
HassMover *hass_mover_new (HassJob *job);
void hass_mover_move (HassMover *mover, HassFlight *flight);
HassFlight *hass_mover_moved (HassMover *mover);
void hass_mover_finish (HassMover *mover);
void hass_mover_free (HassMover *mover);

/* device.c */
gboolean hass_device_feed (HassServing *s);
void hass_device_arrived (HassServing *s, const HassFlight *flight,
                          gboolean failed);

/* device_end.c */
void hass_device_give_back_locked (HassServing *s, guint32 task, GArray *again);
void hass_serving_await_readers_locked (HassServing *s);
void hass_device_give_back (HassServing *s, const GArray *tasks,
                            const GError *error);
void hass_device_computed (HassServing *s, HassFlight *flight,
                           const HassDataDone *done, const GError *error);
void hass_device_gone (HassServing *s);

/* device_home.c */
void hass_device_copy_home (HassServing *s, HassPlaces *places,
                            HassTogether *with);
gboolean hass_device_leave_one (HassServing *s);
void hass_device_left (HassServing *s, HassFlight *flight, gboolean failed);
void hass_device_moved (HassServing *s, HassFlight *flight);
void hass_together_free (gpointer together);
void hass_serving_clear (HassServing *s);

#endif
