/* SPDX-License-Identifier: MIT */
/* pipeline-private.h: the stages of a GPU's bundles (copy in, kernels, copy
   out) where costs are known, from which is predicted when a GPU will have done
   what it holds, and how long it takes for its part of a plan.

   DESIGN. The time of each stage is learned as a line over a bundle's work.
   From the first round on that begins with these lines known, shape-private.h
   chooses in what bundles a GPU does its part, and predicts how long the GPU
   takes for it.
   1. The kernels of a bundle that queues begin when those of the bundle before
      it end. That end is predicted when the bundle is granted, and corrected by
      the measured time of kernels.
   2. Where GPUs share a link, their copies are predicted as one queue. A GPU
      gets no second bundle while another GPU on the link has none, or will be
      idle sooner; the GPU is asked again after the next completion. The copy of
      a bundle leaves time for the copies of the other GPUs, in the order in
      which their kernels end. Where that is not possible, the copy is as long
      as if all GPUs had equally long for theirs.
   3. A bundle that is granted before all GPUs of the link have one is smaller,
      as the other GPUs wait for its copy.
   4. A GPU with a long fixed part of its kernels' time takes less time for a
      bundle that does not fill it; then no bundle is enlarged to fill that GPU.

   Excluded are devices that cut their grants into parts themselves, whose
   copies overlap kernels anyway, and GPUs on a shared link whose copies overlap
   no kernels.

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
 * HassAutoStages: the stages (copy in, kernels, copy out) of one GPU's bundles.
 * @stages: [HASS_AUTO_STAGES] for each, its time as a line over work.
 * @known: enough bundles were measured to plan with the stages.
 * @smooth: a bundle too small to fill the GPU takes less time than one that
 *   does.
 * @in_end_ns, @kernel_end_ns, @out_end_ns: when, on the clock of completions,
 *   the last copy in, kernel and copy out of what the GPU holds are predicted
 *   to end.
 * @rest: work of the GPU's part of the plan that it has not been granted.
 * @shape: bundles for @rest. Their times count from @kernel_end_ns.
 * @whole: bundles for the GPU's part of a whole round, as of its begin.
 * @whole_ns_per_work: slope of the kernels' time when @whole was computed.
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

/* HassAutoPipeline: the stages of all GPUs; @of: [n]. */
typedef struct
{
  HassForecast *f; /* the predicted ends of bundles are corrected in it */
  HassAutoStages *of;
} HassAutoPipeline;

void hass_auto_pipeline_init (HassAutoPipeline *p, HassForecast *f);
void hass_auto_pipeline_clear (HassAutoPipeline *p);

/* Returns TRUE if the GPU is planned by its stages, that is by separate times
   of copies in, kernels and copies out. */
gboolean hass_auto_pipelined (const HassAutoPipeline *p, guint device);

/* At a round's begin, three calls. hass_auto_pipeline_begin() returns TRUE if a
   GPU is planned by its stages (copies and kernels); then
   hass_auto_pipeline_shapes() computes the bundles for each GPU's part of a
   plan, several times, as the plan depends on them; then
   hass_auto_pipeline_begun() stores them as those of a whole round. */
gboolean hass_auto_pipeline_begin (HassAutoPipeline *p);
void hass_auto_pipeline_shapes (HassAutoPipeline *p, const HassPlan *plan);
void hass_auto_pipeline_begun (HassAutoPipeline *p);

/* hass_auto_pipeline_granted() predicts when a bundle that is just granted will
   end; it is called before the forecast takes the bundle in, and
   hass_auto_pipeline_rest() after it, with the work given, to compute the
   bundles for what remains of the GPU's part. */
void hass_auto_pipeline_granted (HassAutoPipeline *p, guint device,
                                 HassBundle *b);
void hass_auto_pipeline_rest (HassAutoPipeline *p, const HassPlan *plan,
                              guint device, double given);

/* After a completion, three calls. hass_auto_pipeline_shift() moves all
   predicted times by_ns later, as the round began later than assumed.
   hass_auto_pipeline_idle() plans anew for a GPU that now holds nothing.
   hass_auto_pipeline_observe() learns from a bundle's copies and kernels;
   entry_ns is the part of its copy in that happens once a round. */
void hass_auto_pipeline_shift (HassAutoPipeline *p, double by_ns);
void hass_auto_pipeline_idle (HassAutoPipeline *p, const HassPlan *plan,
                              guint device);
void hass_auto_pipeline_observe (HassAutoPipeline *p,
                                 const HassCompletion *done,
                                 const HassBundle *b, double entry_ns);

/* Fill in rate and ready time of a GPU in a plan: hass_auto_pipeline_whole()
   for a whole round, where alone means that the GPU does all of @work without
   other devices, and hass_auto_pipeline_plan() for the rest of a round. They
   return FALSE, and fill in nothing, if the GPU is not planned by its stages
   (copies and kernels). */
gboolean hass_auto_pipeline_whole (const HassAutoPipeline *p, guint device,
                                   gboolean alone, double work, HassRunner *r);
gboolean hass_auto_pipeline_plan (const HassAutoPipeline *p, guint device,
                                  HassRunner *r);

/* Returns TRUE if the device gets no bundle now because a GPU on the same link
   holds nothing, or will be idle sooner, and is to copy first. */
gboolean hass_auto_pipeline_waits (const HassAutoPipeline *p,
                                   const HassPlan *plan, guint device);

/* Returns the work of the next of the bundles in which a GPU does @work
   soonest. */
double hass_auto_pipeline_next (const HassAutoPipeline *p, const HassPlan *plan,
                                guint device, double work);

#endif
