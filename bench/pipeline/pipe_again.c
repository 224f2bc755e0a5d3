/* SPDX-License-Identifier: MIT */
/* pipe_again.c: what it costs to send a token back: Newton's iteration on some
   ten thousand numbers, beside the same calls in a loop.
   Thread safety: one run at a time. */
#include <hass/hass.h>
#include <hass/pipeline.h>
#include <math.h>
#include <stdlib.h>

#include "pipes.h"

#define N_ROOTS 24364 /* 233,000 calls */

typedef struct
{
  double square, root;
} Root;

static Root roots[N_ROOTS];

/* Returns: TRUE if this was the last step. */
static gboolean
improve (Root *r)
{
  double better = 0.5 * (r->root + r->square / r->root);
  gboolean same = fabs (better - r->root) <= 1e-12 * better;
  r->root = better;
  return same;
}

/* Returns: the calls that the iteration takes. */
static gsize
set_up (void)
{
  guint32 random = 1;
  gsize calls = 0;
  for (guint i = 0; i < N_ROOTS; i++)
    {
      random = random * 1664525 + 1013904223;
      roots[i].root = roots[i].square = 1 + (random >> 8) % 1000;
      for (Root r = roots[i]; !improve (&r); calls++)
        ;
    }
  return calls + N_ROOTS;
}

static gboolean
iterate (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)data, (void)error;
  return improve (token->tag) || hass_token_again (token, worker, 0);
}

static gboolean
add (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)worker, (void)error;
  *(double *)data += ((const Root *)token->tag)->root;
  return TRUE;
}

static gboolean
generate (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (guint i = 0; i < N_ROOTS; i++)
    if (!hass_emitter_emit (emitter,
                            &(HassLoad){ .size = 1, .tag = &roots[i] }))
      return FALSE;
  return TRUE;
}

static void
run_pipeline (double *sum)
{
  const HassStage stages[] = { HASS_STAGE (.cpu = iterate),
                               HASS_STAGE (.mode = HASS_STAGE_ORDERED,
                                           .cpu = add, .user_data = sum) };
  HassPipeline p = HASS_PIPELINE_INIT;
  GError *error = NULL;
  p.name = "newton";
  p.generate = generate;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  if (hass_pipeline (&p, NULL, &error))
    return;
  g_printerr ("hass: %s\n", error->message);
  exit (1);
}

/* @in_loop: a gboolean. Returns: ns a call. */
static double
measure (gconstpointer in_loop)
{
  gsize calls = set_up ();
  double sum = 0;
  gint64 begin = bench_now_ns ();
  if (!*(const gboolean *)in_loop)
    run_pipeline (&sum);
  else
    for (guint i = 0; i < N_ROOTS; i++)
      {
        while (!improve (&roots[i]))
          ;
        sum += roots[i].root;
      }
  double ns = (double)(bench_now_ns () - begin);
  if (sum > 0)
    return ns / (double)calls;
  g_printerr ("the roots are wrong\n");
  exit (1);
}

void
pipe_run_again (void)
{
  static const gboolean in_loop[] = { FALSE, TRUE };
  BenchGroup *group = bench_group_new (
      BENCH_LESS_IS_BETTER, "ns a call",
      "p. Newton's iteration: a parallel stage that sends tokens back");
  bench_group_add (group, 0, measure, &in_loop[0], "%s", "hass");
  bench_group_add (group, 0, measure, &in_loop[1], "%s", "a loop");
  bench_group_run (group, bench_rounds (11));
}
