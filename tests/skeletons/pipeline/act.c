/* SPDX-License-Identifier: MIT */
/* act.c: the callbacks of a planned pipeline: they do what the plan's steps say
   and compare what they get with them; see plan.h.
   Thread safety: see plan.h. */
#include <gio/gio.h>
#include <string.h>

#include "plan.h"

#define LOAD_BIT 40 /* of Plan.in_flight: loads above, bytes below */

static gboolean
is_alone (const PlanStage *stage)
{
  return stage->mode != HASS_STAGE_PARALLEL;
}

/* -- Bounds ------------------------------------------------------------- */

/* Counts loads and bytes that come into flight and looks at the bounds. */
static void
fly (Plan *plan, guint loads, gsize bytes)
{
  if (plan->n_devices > 0)
    return; /* when a device has ended a token is not seen */
  guint64 more = ((guint64)loads << LOAD_BIT) + bytes;
  guint64 now = atomic_fetch_add (&plan->in_flight, more) + more;
  guint64 n = now >> LOAD_BIT, sum = now & ((1ull << LOAD_BIT) - 1);
  if (plan->tokens > 0 && n > plan->tokens)
    plan_blame (plan, "%u loads are in flight", (guint)n);
  if (plan->exact_bytes && plan->token_bytes > 0 && n > 1
      && sum > plan->token_bytes)
    plan_blame (plan, "%u loads in flight have %u bytes", (guint)n, (guint)sum);
}

static void
land (Plan *plan, guint loads, gsize bytes)
{
  if (plan->n_devices > 0)
    return;
  atomic_fetch_sub (&plan->in_flight, ((guint64)loads << LOAD_BIT) + bytes);
}

/* -- Coming in ---------------------------------------------------------- */

static void
enter (PlanStage *stage, PlanNode *node)
{
  Plan *plan = stage->plan;
  guint inside = atomic_fetch_add (&stage->inside, 1) + 1;
  if (is_alone (stage) && inside > 1)
    plan_blame (plan, "stage %u: two calls at once", stage->index);
  else if (is_alone (stage))
    g_ptr_array_add (stage->seen, node);
  if (stage->at_once > 0 && inside > stage->at_once)
    plan_blame (plan, "stage %u: %u calls at once", stage->index, inside);
  if (stage->mode == HASS_STAGE_CALLER && g_thread_self () != plan->caller)
    plan_blame (plan, "stage %u: not on the calling thread", stage->index);
  atomic_fetch_add (&stage->calls, 1);
  if (atomic_fetch_add (&plan->n_calls, 1) + 1 == plan->cancel_after)
    g_cancellable_cancel (plan->cancellable);
}

static void
check_token (const PlanStage *stage, const HassToken *t, const PlanNode *node,
             const PlanStep *step)
{
  Plan *plan = stage->plan;
  const PlanLoad *load = &plan->loads[node->load];
  if (t->seq != node->load || t->load->tag != load->root)
    plan_blame (plan, "stage %u: a token is not of load %u", stage->index,
                node->load);
  if (load->released > 0)
    plan_blame (plan, "load %u was released before its end", node->load);
  if (t->input_bytes != step->in_bytes
      || !plan_is_filled (t->input, t->input_bytes, step->in_state))
    plan_blame (plan, "stage %u: load %u has wrong bytes", stage->index,
                node->load);
  if (t->output_bytes != step->promised
      || (step->promised > 0 && (!t->output || (gsize)t->output % 64 != 0)))
    plan_blame (plan, "stage %u: load %u has no output as promised",
                stage->index, node->load);
}

/* The step that is due, or NULL. */
static PlanStep *
due (const PlanStage *stage, PlanNode *node)
{
  plan_skip_devices (stage->plan, node, stage->index);
  guint at = atomic_load (&node->at);
  if (at < node->steps->len)
    {
      PlanStep *step = &g_array_index (node->steps, PlanStep, at);
      if (step->stage == stage->index)
        return step;
    }
  plan_blame (stage->plan,
              "stage %u: a call for load %u was not due (node %u, step %u)",
              stage->index, node->load, node->id, at);
  return NULL;
}

/* -- Doing what is due -------------------------------------------------- */

static gboolean
add_one (gsize first, gsize count, HassWorker *worker, gpointer sum,
         GError **error)
{
  (void)first, (void)worker, (void)error;
  atomic_fetch_add ((_Atomic guint *)sum, (guint)count);
  return TRUE;
}

static void
work (PlanStage *stage, HassWorker *worker)
{
  _Atomic guint sum = 0;
  if (stage->spin_us > 0)
    for (gint64 end = g_get_monotonic_time () + stage->spin_us;
         g_get_monotonic_time () < end;)
      ;
  if (!stage->loop)
    return;
  if (!hass_worker_parallel_for (worker, 20, 3, add_one, &sum, NULL)
      || sum != 20)
    plan_blame (stage->plan, "stage %u: a nested loop failed", stage->index);
}

static void
make_output (PlanStage *stage, HassToken *t, HassWorker *w, PlanNode *node,
             const PlanStep *step)
{
  if (step->output == PLAN_ASKED && !hass_token_output (t, w, step->out_bytes))
    plan_blame (stage->plan, "stage %u: no output for load %u", stage->index,
                node->load);
  if (step->output == PLAN_IN_PLACE)
    plan_fill (t->input, t->input_bytes, step->out_state);
  else if (step->output != PLAN_NO_OUTPUT && t->output)
    {
      plan_fill (t->output, step->out_bytes, step->out_state);
      t->output_bytes = step->out_bytes;
    }
}

static void
emit_parts (PlanStage *stage, HassToken *t, HassWorker *w, const PlanStep *step)
{
  for (PlanNode *part = step->parts; part; part = part->next_part)
    {
      HassLoad load = { .input_bytes = part->bytes, .tag = part };
      guint8 *bytes = part->memory == PLAN_OWN        ? part->own
                      : part->memory == PLAN_OF_INPUT ? t->input + part->offset
                      : part->memory == PLAN_OF_OUTPUT
                          ? t->output + part->offset
                      : part->memory == PLAN_BUFFER
                          ? hass_token_buffer (t, w, part->bytes)
                          : NULL;
      if (part->memory == PLAN_OWN || (part->memory == PLAN_BUFFER && bytes))
        plan_fill (bytes, part->bytes, part->state);
      load.input = bytes;
      if (!hass_token_emit (t, w, &load) && !hass_worker_stopping (w))
        plan_blame (stage->plan, "stage %u: a part of load %u was refused",
                    stage->index, part->load);
      memset (&load, 0xA5, sizeof load);
    }
}

/* Returns: FALSE if the call shall fail. */
static gboolean
act (PlanStage *stage, HassToken *t, HassWorker *w, const PlanStep *step,
     GError **error)
{
  switch (step->act)
    {
    case PLAN_PASS:
      break;
    case PLAN_DROP:
      hass_token_drop (t, w);
      break;
    case PLAN_SPLIT:
      emit_parts (stage, t, w, step);
      break;
    case PLAN_AGAIN:
      if (!hass_token_again (t, w, stage->again_to)
          && !hass_worker_stopping (w))
        plan_blame (stage->plan, "stage %u: sending back was refused",
                    stage->index);
      break;
    case PLAN_FAIL:
      emit_parts (stage, t, w, step);
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "as planned");
      return FALSE;
    }
  return TRUE;
}

gboolean
act_stage (HassToken *t, HassWorker *w, gpointer data, GError **error)
{
  PlanStage *stage = data;
  Plan *plan = stage->plan;
  PlanNode *node = t->tag;
  PlanLoad *load = &plan->loads[node->load];
  gboolean first = node == load->root && atomic_load (&node->at) == 0;
  enter (stage, node);
  PlanStep *step = due (stage, node);
  gboolean ok = TRUE;
  if (step)
    {
      gsize held = node->held;
      fly (plan, first, (first ? node->bytes : 0) + step->promised);
      check_token (stage, t, node, step);
      work (stage, w);
      make_output (stage, t, w, node, step);
      if (stage->reduce && step->act != PLAN_FAIL)
        ++*(guint64 *)hass_worker_accumulator (w);
      ok = act (stage, t, w, step, error);
      atomic_fetch_add (&stage->good, ok);
      if (step->output == PLAN_PROMISED)
        {
          land (plan, 0, held);
          node->held = step->promised;
        }
      atomic_fetch_add (&node->at, 1);
      if (atomic_fetch_add (&load->steps_done, 1) + 1 == load->n_steps)
        land (plan, 1,
              load->root->bytes + (plan->exact_bytes ? node->held : 0));
    }
  atomic_fetch_sub (&stage->inside, 1);
  return ok;
}

/* -- The other callbacks ------------------------------------------------ */

HassLoad
act_load (const PlanNode *root)
{
  return (HassLoad){ .input = root->own,
                     .input_bytes = root->bytes,
                     .tag = (gpointer)root };
}

gboolean
act_generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Plan *plan = data;
  (void)error;
  for (guint i = plan->n_array; i < plan->n_loads; i++)
    {
      PlanLoad *load = &plan->loads[i];
      HassLoad given = act_load (load->root);
      if (load->root->memory == PLAN_BUFFER)
        {
          gpointer buffer = hass_emitter_buffer (emitter, given.input_bytes);
          if (!buffer)
            return TRUE;
          plan_fill (buffer, given.input_bytes, load->root->state);
          given.input = buffer;
          given.flags = HASS_LOAD_BUFFER;
        }
      gboolean ok = hass_emitter_emit (emitter, &given);
      memset (&given, 0xA5, sizeof given);
      if (!ok)
        return TRUE;
      load->accepted = TRUE;
    }
  return TRUE;
}

void
act_release (const HassLoad *load, gboolean committed, gpointer data)
{
  Plan *plan = data;
  PlanLoad *l = &plan->loads[((PlanNode *)load->tag)->load];
  if (atomic_fetch_add (&l->released, 1) > 0)
    plan_blame (plan, "load %u was released twice", l->root->load);
  l->committed = committed;
  if (committed && plan->n_devices == 0
      && (l->steps_done != l->n_steps || l->fails_in != 0))
    plan_blame (plan, "load %u was committed, but %u of %u steps are done",
                l->root->load, l->steps_done, l->n_steps);
}

void
act_reduce (gpointer sum, gconstpointer part, gpointer stage)
{
  (void)stage;
  *(guint64 *)sum += *(const guint64 *)part;
}
