/* SPDX-License-Identifier: MIT */
/* replay.h: a model made from a recorded farm: the cost of each unit on each
   device, the behaviour of the devices, and the beginnings of rounds.

   DESIGN. doc/record-format.md says what is fitted and how. Costs are in ns
   on the recorded device, so a modelled device has rate 1, and a change of
   the platform is a change of that rate.

   Thread safety: constant once it is made and changed; runs may share it. */
#ifndef HASS_SIM_REPLAY_H
#define HASS_SIM_REPLAY_H

#include "engine/virtual/virtual.h"
#include "record.h"

typedef struct
{
  guint64 first, units; /* of all units of the farm */
  double gap;           /* since the end of the round before */
  double begin, end;    /* as recorded */
} ReplayRound;

/* A fitted device. */
typedef struct
{
  gboolean present; /* in the model */
  guint64 units;
  double ns_per_work; /* of one core, or of the kernel */
  guint64 width;      /* elements that fill it; 0: any do */
  HassCurve curve;
  double *cost;         /* [n_units + 1]: sum of ns before unit i */
  double launch, copy;  /* fixed, of a part and of a copy; CPU: of a pull */
  double in_ns, out_ns; /* of a byte */
  double submit, host;  /* of a part: before and after it */
  double open;          /* until when it was being opened */
} ReplayDevice;

typedef struct
{
  const RecordFarm *farm;
  guint n_devices;       /* of the record, those not present included */
  ReplayDevice *devices; /* [n_devices] */
  guint n_rounds;
  ReplayRound *rounds;
  double gap_after; /* from the last round's end to the farm's */
  double *late;     /* [n_rounds * cores]: see HassVirtualModel */
  guint32 *unit_at; /* [n_units], by position as recorded */
  guint8 *kinds;    /* [n_units], HassLoadFlags; 0: any device */
  double *said;     /* [n_units], what it was said to cost; 0: not kept */
  double *work;     /* [n_units], as strategies see it */
  double *relative; /* [n_units + 1]: sum of true work before unit i,
                       in the same unit */
  guint64 *elements, *in_bytes, *out_bytes; /* [n_units] */
  double failed_ns; /* time that devices lost with failed parts, ns */
  double slowing;   /* factor of core times while devices compute; 1: none */
  GPtrArray *notes; /* lines for people */
} Replay;

Replay *replay_fit (const RecordFarm *farm, GError **error);
void replay_free (Replay *replay);

/* machine.c */

/* The machine to replay on. */
typedef struct
{
  const Replay *replay;
  HassPlatform *platform;
  guint n;
  gboolean other;           /* from a file; what follows is NULL then */
  HassDeviceTraits *traits; /* [n], what strategies are told */
  HassProfileRate *known;   /* [n] */
  gboolean any_known;
  guint *source;                /* [n]: device of the record */
  double *open, *submit, *host; /* [n], ns; see HassVirtualModel */
  GPtrArray *strings;           /* owned names */
} ReplayMachine;

ReplayMachine *replay_machine (const Replay *replay);
ReplayMachine *replay_machine_of (const Replay *replay, const char *platform,
                                  GError **error);
gboolean replay_change (ReplayMachine *machine, const char *change,
                        GError **error);
void replay_machine_free (ReplayMachine *machine);

/* run.c */
gboolean replay_run (const ReplayMachine *machine, const char *strategy,
                     guint64 seed, HassReport **report, GError **error);

#endif
