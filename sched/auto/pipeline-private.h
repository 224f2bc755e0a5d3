/* SPDX-License-Identifier: MIT */
/* pipeline-private.h: the stages of a GPU's bundles where costs are known, and
   so when it will have done what it holds and what its part of a plan takes.

   DESIGN. Copies in, kernels and copies out have a fit each. From the round on
   that begins with these known, shape-private.h says in what bundles a GPU gets
   its part, and how long that takes.
   1. A bundle that queues counts from the end of the kernels before it. That is
      predicted at the grant and corrected by the time that kernels took.
   2. Where GPUs share a link, its copies are predicted as one queue. A GPU gets
      no second bundle while another one on the link has none, or will be idle
      sooner: it is asked again after the next completion. A copy leaves time
      for those of the other GPUs, in the order in which their kernels end;
      where that is too late it is as long as if all of them had as long for
      theirs.
   3. What is granted before all GPUs of the link have a bundle is smaller, as
      the others wait for it.
   4. Where a bundle that does not fill a GPU takes less time, as kernels with a
      long fixed part show, none is made larger to fill it.

   Excluded are devices that cut their grants, so that parts overlap anyway, and
   GPUs on a shared link whose copies overlap nothing.

   Thread safety: as hass/strategy.h. */
#ifndef HASS_SCHED_AUTO_PIPELINE_PRIVATE_H
#define HASS_SCHED_AUTO_PIPELINE_PRIVATE_H

#include "sched/forecast.h"
#include "shape-private.h"

enum
{
  HASS_AUTO_IN,
  HASS_AUTO_KERNEL,
  HASS_AUTO_OUT,
  HASS_AUTO_STAGES
};

/**
 * HassAutoStages: of one GPU.
 * @stages: a fit each.
 * @known: they are known well enough to plan with.
 * @smooth: less than what fills the GPU takes less time.
 * @in_end_ns, @kernel_end_ns, @out_end_ns: ends of what it holds.
 * @rest: work of its part that it has not been granted.
 * @shape: bundles for that, from @kernel_end_ns on.
 * @whole: bundles for its part of a whole round; @whole_ns_per_work: of kernels
 *   when that was computed.
 */
typedef struct
{
  HassFit stages[HASS_AUTO_STAGES];
  gboolean known, smooth;
  double in_end_ns, kernel_end_ns, out_end_ns;
  double rest;
  HassAutoShape shape, whole;
  double whole_ns_per_work;
} HassAutoStages;

typedef struct
{
  HassForecast *f; /* ends of bundles in flight are kept in it */
  HassAutoStages *of;
} HassAutoPipeline;

void hass_auto_pipeline_init (HassAutoPipeline *p, HassForecast *f);
void hass_auto_pipeline_clear (HassAutoPipeline *p);

/* The GPU is planned by its stages. */
gboolean hass_auto_pipelined (const HassAutoPipeline *p, guint device);

/* A round begins: TRUE: a GPU is planned by its stages. Then, several times:
   the shapes of the parts of a plan, which depends on them. Then, once. */
gboolean hass_auto_pipeline_begin (HassAutoPipeline *p);
void hass_auto_pipeline_shapes (HassAutoPipeline *p, const HassPlan *plan);
void hass_auto_pipeline_begun (HassAutoPipeline *p);

/* A bundle is granted, before it is in the forecast: predicts its end. After:
   what remains of its part. */
void hass_auto_pipeline_granted (HassAutoPipeline *p, guint device,
                                 HassBundle *b);
void hass_auto_pipeline_rest (HassAutoPipeline *p, const HassPlan *plan,
                              guint device, double given);

/* A completion: the round began later than it was taken to; the device may hold
   nothing now; the bundle's stages. entry_ns: of its copy in, what is copied
   once a round. */
void hass_auto_pipeline_shift (HassAutoPipeline *p, double by_ns);
void hass_auto_pipeline_idle (HassAutoPipeline *p, const HassPlan *plan,
                              guint device);
void hass_auto_pipeline_observe (HassAutoPipeline *p,
                                 const HassCompletion *done,
                                 const HassBundle *b, double entry_ns);

/* Rate and ready time of a whole round; alone: of so much work without other
   devices; and of the rest of a round. FALSE: not planned by stages. */
gboolean hass_auto_pipeline_whole (const HassAutoPipeline *p, guint device,
                                   gboolean alone, double work, HassRunner *r);
gboolean hass_auto_pipeline_plan (const HassAutoPipeline *p, guint device,
                                  HassRunner *r);

/* GPUs on its link that hold nothing, or less, come first. */
gboolean hass_auto_pipeline_waits (const HassAutoPipeline *p,
                                   const HassPlan *plan, guint device);

/* Work of the next of the bundles in which a GPU gets so much. */
double hass_auto_pipeline_next (const HassAutoPipeline *p, const HassPlan *plan,
                                guint device, double work);

#endif
