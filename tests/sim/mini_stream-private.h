/* SPDX-License-Identifier: MIT */
/* mini_stream-private.h: the state of the small simulator of pipelines.
   Thread safety: one thread. */
#ifndef MINI_STREAM_PRIVATE_H
#define MINI_STREAM_PRIVATE_H

#include "mini_stream.h"

#include <math.h>
#include <string.h>

#include "sched/registry.h"

enum
{
  COPY_IN,
  KERNEL,
  COPY_OUT,
  OVER
};

#define MOST_BUNDLES 16
/* The CPU pool is asked at most so often, in ns, as by the engine. */
#define ASK_NS 20000

/* A token at a stage: its number there, and the load it comes of. */
typedef struct
{
  guint64 id, load;
} Token;

typedef struct
{
  gint64 t;
  guint64 order;
  gint core; /* or -1 */
  guint device, bundle;
  guint stage;
  Token token;
  double ns;
} Event;

typedef struct
{
  gboolean used;
  guint class_index, stage;
  GArray *tokens;
  double in_ns, kernel_ns, out_ns, bytes;
  gint64 grant_ns, start_ns;
} Bundle;

typedef struct
{
  Bundle bundles[MOST_BUNDLES];
  guint n, want;
  gint64 kernel_free, last_end, again_ns;
  gboolean done;
  guint64 holds[SIM_MOST_STAGES];
} Gpu;

typedef struct
{
  GArray *fifo; /* Token; from head on */
  guint head;
  guint64 *arrived; /* ordered: [reach] load + 1 */
  guint64 next;     /* ordered: number of the next token */
  guint64 running, done;
  double bytes, busy; /* of cores, since the last report */
  guint64 reported;
} Class;

typedef struct
{
  const SimPipeCase *c;
  MiniStream *run;
  HassStrategy *strategy;
  gint64 clock, asked_ns;
  guint64 n_events, begun, in_flight, ended;
  guint32 *parts; /* [loads] tokens of it */
  GArray *heap;
  guint free_cores;
  Gpu gpus[SIM_MOST_GPUS];
  gint64 in_free[SIM_MOST_GPUS], out_free[SIM_MOST_GPUS];
  Class classes[SIM_MOST_STAGES];
  HassServe cpu;
  GRand *rand;
  gint64 late_ns;
  gboolean take_all;
} World;

void mini_push (World *w, Event e);
Event mini_pop (World *w);
double mini_noise (World *w, guint device);
gboolean mini_single (const World *w, guint s);
guint64 mini_ready (const World *w, guint s);
Token mini_take (World *w, guint s);
void mini_advance (World *w, guint s, Token token);
void mini_generate (World *w);

#endif
