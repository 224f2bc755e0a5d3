/* SPDX-License-Identifier: MIT */
/* plan_devices.c: devices of a planned pipeline that fail in several ways, and
   what they compute; see plan.h.
   Thread safety: see plan.h; kernels run on the devices' threads. */
#include "plan.h"

#include <gio/gio.h>

#include "sched/registry.h"
#include "tests/chance.h"

/* -- Choosing ----------------------------------------------------------- */

static const char *
strategy_for (GRand *r)
{
  guint n = 0;
  const char *found = NULL;
  /* One of those that serve pipelines, each as likely. */
  for (guint i = 0; hass_builtin_strategies[i]; i++)
    if (hass_builtin_strategies[i]->farms & HASS_FARM_PIPELINE)
      if (one_in (r, ++n))
        found = hass_builtin_strategies[i]->name;
  return one_in (r, 3) ? NULL : found;
}

static void
plan_faults (GRand *r, StandInPlan *d)
{
  guint often = 2 + below (r, 20), once = 1 + below (r, 30);
  switch (below (r, 8))
    {
    case 0:
      d->fail_submit_every = often;
      break;
    case 1:
      d->fail_bundle_every = often;
      break;
    case 2:
      d->lose_at = once;
      break;
    case 3:
      d->wait_error_at = once;
      break;
    case 4:
      d->fail_submit_at = once;
      d->fail_bundle_at = often;
      break;
    case 5:
      d->fail_open = TRUE;
      break;
    default:
      break;
    }
}

/* A stage that devices may run does nothing but promise and make an output. */
static void
link_stage (GRand *r, PlanStage *stage)
{
  stage->linked = TRUE;
  stage->gpu_only = one_in (r, 3);
  stage->gpu_fails = stage->gpu_only || !one_in (r, 6) ? 0 : 1 + below (r, 20);
  stage->bundle_wait_us = one_in (r, 2) ? 0 : below (r, 300);
  stage->output = PLAN_PROMISED;
  stage->output_bytes = 1 + below (r, 200);
  stage->output_ratio = below (r, 5) * 0.25;
  stage->fail = stage->drop = stage->split = stage->again = 0;
  stage->reduce = stage->loop = FALSE;
}

void
plan_devices (GRand *r, Plan *plan)
{
  static const char *const names[PLAN_DEVICES]
      = { "gpu0", "gpu1", "gpu2", "gpu3" };
  plan->strategy = strategy_for (r);
  plan->n_devices = one_in (r, 2) ? 0 : 1 + below (r, PLAN_DEVICES);
  for (guint i = 0; i < plan->n_devices; i++)
    {
      StandInPlan *d = &plan->device_plans[i];
      d->name = names[i];
      d->depth = 1 + below (r, 4);
      d->width = one_in (r, 2) ? 0 : 1 + below (r, 200);
      d->delay_us = one_in (r, 2) ? 0 : below (r, 100);
      if (one_in (r, 2))
        plan_faults (r, d);
      plan->devices[i] = stand_in_new (d);
    }
  for (guint i = 0; plan->n_devices > 0 && i < plan->n_stages; i++)
    if (plan->stages[i].mode == HASS_STAGE_PARALLEL && !one_in (r, 3))
      link_stage (r, &plan->stages[i]);
}

void
plan_devices_free (Plan *plan)
{
  for (guint i = 0; i < plan->n_devices; i++)
    stand_in_free (plan->devices[i]);
}

gboolean
plan_may_lack_device (const Plan *plan)
{
  gboolean needed = FALSE, worker_fails = FALSE;
  for (guint i = 0; i < plan->n_stages; i++)
    {
      needed |= plan->stages[i].gpu_only;
      worker_fails |= plan->stages[i].gpu_fails > 0;
    }
  if (worker_fails) /* a device whose worker fails too often is given up */
    return needed;
  for (guint i = 0; i < plan->n_devices && needed; i++)
    {
      const StandInPlan *d = &plan->device_plans[i];
      needed = d->fail_open || d->lose_at > 0 || d->wait_error_at > 0
               || d->fail_submit_every > 0 || d->fail_bundle_every > 0
               || d->fail_submit_at > 0;
    }
  return needed;
}

/* -- Computing ---------------------------------------------------------- */

guint8
plan_device_state (const PlanStage *stage, gsize bytes, guint8 state)
{
  return (guint8)((bytes > 0 ? state : 0) + 3 + stage->index);
}

static void
kernel (const HassBundle *b, gpointer data)
{
  const PlanStage *stage = data;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      const guint8 *in = b->input + (b->offsets ? b->offsets[i] : 0);
      guint8 *out = b->output + (b->output_offsets ? b->output_offsets[i] : 0);
      gsize n_in
          = b->offsets ? b->offsets[i + 1] - b->offsets[i] : b->input_bytes;
      gsize n_out = b->output_offsets
                        ? b->output_offsets[i + 1] - b->output_offsets[i]
                        : b->output_bytes;
      guint8 state = n_in > 0 ? in[0] : 0;
      if (!plan_is_filled (in, n_in, state))
        plan_blame (stage->plan, "stage %u: wrong bytes on a device",
                    stage->index);
      plan_fill (out, n_out, plan_device_state (stage, n_in, state));
    }
}

gboolean
act_bundle (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
            GError **error)
{
  PlanStage *stage = data;
  guint n = atomic_fetch_add (&stage->n_bundles, 1) + 1;
  if (!stage->linked)
    plan_blame (stage->plan, "stage %u is not for devices", stage->index);
  if (stage->gpu_fails > 0 && n % stage->gpu_fails == 0)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_BUSY, "the bundle fails");
      return FALSE;
    }
  stand_in_launch (stream, kernel, bundle, stage);
  return TRUE;
}

/* -- Counting ----------------------------------------------------------- */

void
plan_skip_devices (Plan *plan, PlanNode *node, guint stage)
{
  PlanLoad *load = &plan->loads[node->load];
  for (guint at = atomic_load (&node->at); at < node->steps->len; at++)
    {
      PlanStage *s
          = &plan->stages[g_array_index (node->steps, PlanStep, at).stage];
      if (s->index == stage || !s->linked)
        return;
      atomic_fetch_add (&s->by_device, 1);
      atomic_fetch_add (&load->steps_done, 1);
      atomic_store (&node->at, at + 1);
    }
}

void
plan_finish (Plan *plan, PlanNode *node)
{
  plan_skip_devices (plan, node, G_MAXUINT);
  for (guint i = 0; i < atomic_load (&node->at); i++)
    {
      const PlanStep *step = &g_array_index (node->steps, PlanStep, i);
      for (PlanNode *part = step->act == PLAN_SPLIT ? step->parts : NULL; part;
           part = part->next_part)
        plan_finish (plan, part);
    }
}
