/* SPDX-License-Identifier: MIT */
/* made_up_stream.h: states of a stream that are made up, for tests of single
   decisions: three classes a, b and c on four cores and two GPUs. Cores can run
   all of them, GPUs b and c.
   Thread safety: one thread. */
#ifndef HASS_TESTS_MADE_UP_STREAM_H
#define HASS_TESTS_MADE_UP_STREAM_H

#include "hass_test.h"
#include "sched/pace.h"
#include "sched/registry.h"

enum
{
  CPU,
  GPU0,
  GPU1,
  DEVICES
};

enum
{
  A,
  B,
  C,
  CLASSES
};

/* A stream, as a strategy sees it. @helping: cores that help the one that
   computes a unit. */
typedef struct
{
  HassDeviceTraits devices[DEVICES];
  HassClassTraits classes[CLASSES];
  HassStrategyEnv env;
  HassClassState states[CLASSES];
  guint64 units[DEVICES][CLASSES];
  HassDeviceHolds holds[DEVICES];
  HassStreamState state;
  double helping;
  HassStrategy *strategy;
} Stream;

void made_up_init_with (Stream *s, const char *strategy,
                        const HassProfileRate *rates);
void made_up_init (Stream *s, const char *strategy);
HassAnswer made_up_ask (Stream *s, guint device, HassServe *serve);
/* Tells the strategy of a grant of units that took @unit_ns each, of a GPU that
   they filled. */
void made_up_tell_units (Stream *s, guint device, guint c, guint64 units,
                         double unit_ns);
/* 1000 units. */
void made_up_tell (Stream *s, guint device, guint c, double unit_ns);
/* On the cores a unit takes 1 us of class a, 40 us of b and c each; on GPU 0
   2 us of b and 20 of c, on GPU 1 20 us of b and 2 of c. */
void made_up_tell_all (Stream *s);
/* Only b is shared: a unit takes @ns on a core and 2 us on either GPU. */
void made_up_share_b (Stream *s, double ns);

#endif
