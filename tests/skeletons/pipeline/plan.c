/* SPDX-License-Identifier: MIT */
/* plan.c: makes a random pipeline and carries it out on paper; see plan.h.
   Thread safety: see plan.h. */
#include "plan.h"
#include "tests/chance.h"

#include <gio/gio.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* -- Numbers and bytes -------------------------------------------------- */

guint32
plan_random (guint64 seed, guint64 a, guint64 b, guint64 c)
{
  guint64 x = seed * 0x9E3779B97F4A7C15u + a * 0xBF58476D1CE4E5B9u
              + b * 0x94D049BB133111EBu + c * 0xD6E8FEB86659FD93u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return (guint32)(x >> 32);
}

void
plan_fill (guint8 *bytes, gsize n, guint8 state)
{
  for (gsize i = 0; i < n; i++)
    bytes[i] = (guint8)(state + 7 * i);
}

gboolean
plan_is_filled (const guint8 *bytes, gsize n, guint8 state)
{
  for (gsize i = 0; i < n; i++)
    if (bytes[i] != (guint8)(state + 7 * i))
      return FALSE;
  return TRUE;
}

void
plan_blame (Plan *plan, const char *format, ...)
{
  va_list args;
  if (atomic_fetch_add (&plan->n_wrong, 1) > 0)
    return;
  va_start (args, format);
  g_vsnprintf (plan->wrong, sizeof plan->wrong, format, args);
  va_end (args);
}

/* -- Carrying it out ---------------------------------------------------- */

static PlanNode *
node_new (Plan *plan, guint load, const PlanNode *parent)
{
  PlanNode *node = g_new0 (PlanNode, 1);
  node->load = load;
  node->id = plan->nodes->len;
  node->depth = parent ? parent->depth + 1 : 0;
  node->steps = g_array_new (FALSE, TRUE, sizeof (PlanStep));
  g_ptr_array_add (plan->nodes, node);
  return node;
}

/* What a node gets at a stage, and the bytes that it leaves there. */
static PlanStep
step_new (const Plan *plan, const PlanStage *stage, const PlanNode *node,
          gsize bytes, guint8 state)
{
  guint32 r = plan_random (plan->seed, node->id, stage->index, 11);
  PlanStep step = { .stage = stage->index,
                    .output = stage->output,
                    .in_bytes = bytes,
                    .out_bytes = bytes,
                    .in_state = state,
                    .out_state = state };
  if (stage->output == PLAN_PROMISED)
    {
      r = stage->linked ? 1 : r;
      step.promised = stage->output_bytes
                      + (gsize)ceil (stage->output_ratio * (double)bytes);
      step.out_bytes = r % 3 ? step.promised : step.promised / 2;
    }
  else if (stage->output == PLAN_ASKED)
    step.out_bytes = r % 16 ? r % 300 : 0;
  if (stage->linked)
    step.out_state = plan_device_state (stage, bytes, state);
  else if (stage->output != PLAN_NO_OUTPUT)
    step.out_state = (guint8)(state + 1 + r % 5);
  return step;
}

/* Where part @i of @n lies, and what is in it. */
static void
place_part (const Plan *plan, const PlanStep *step, PlanNode *part, guint i,
            guint n)
{
  guint32 r = plan_random (plan->seed, part->id, 0, 12);
  gboolean has_output
      = step->output == PLAN_PROMISED || step->output == PLAN_ASKED;
  gsize input = step->in_bytes, slice;
  part->memory = r % 5;
  if (part->memory == PLAN_OF_OUTPUT && !has_output)
    part->memory = PLAN_OF_INPUT;
  slice = (part->memory == PLAN_OF_OUTPUT ? step->out_bytes : input) / n;
  if (part->memory == PLAN_NOWHERE)
    return;
  part->state = (guint8)(r >> 8);
  part->bytes = 1 + (r >> 16) % 200;
  if (part->memory == PLAN_OWN)
    part->own = g_malloc (part->bytes);
  if (part->memory != PLAN_OF_INPUT && part->memory != PLAN_OF_OUTPUT)
    return;
  part->offset = i * slice;
  part->bytes = slice;
  part->state = (part->memory == PLAN_OF_OUTPUT || step->output == PLAN_IN_PLACE
                     ? step->out_state
                     : step->in_state)
                + (guint8)(7 * part->offset);
  if (slice == 0)
    part->memory = PLAN_NOWHERE;
}

static PlanAct
choose (const Plan *plan, const PlanStage *stage, const PlanNode *node)
{
  guint32 r
      = plan_random (plan->seed, node->id, stage->index, 100 + node->n_agains)
        % 1000;
  guint fail = stage->fail, drop = fail + stage->drop,
        split = drop + stage->split, again = split + stage->again;
  if (r < fail)
    return PLAN_FAIL;
  if (r < drop)
    return PLAN_DROP;
  if (r < split)
    return node->depth < PLAN_DEPTH ? PLAN_SPLIT : PLAN_PASS;
  return r < again && node->n_agains < PLAN_AGAINS ? PLAN_AGAIN : PLAN_PASS;
}

static void
add_parts (Plan *plan, PlanStep *step, PlanNode *node)
{
  guint32 r = plan_random (plan->seed, node->id, step->stage, 13);
  guint n = 1 + r % PLAN_PARTS;
  PlanNode **link = &step->parts;
  if (plan->tokens > 0)
    n = MIN (n, (guint)plan->tokens);
  for (guint i = 0; i < n; i++)
    {
      *link = node_new (plan, node->load, node);
      place_part (plan, step, *link, i, n);
      link = &(*link)->next_part;
    }
}

static void
carry (Plan *plan, PlanNode *node, guint from)
{
  PlanLoad *load = &plan->loads[node->load];
  gsize bytes = node->bytes;
  guint8 state = node->state;
  for (guint i = from; i < plan->n_stages;)
    {
      PlanStage *stage = &plan->stages[i];
      PlanStep step = step_new (plan, stage, node, bytes, state);
      step.act = choose (plan, stage, node);
      if (step.act == PLAN_SPLIT)
        add_parts (plan, &step, node);
      else if (step.act == PLAN_FAIL && node->id % 2)
        step.parts = node_new (plan, node->load, node);
      g_array_append_val (node->steps, step);
      g_ptr_array_add (stage->order, node);
      load->n_steps++;
      if (step.act == PLAN_FAIL)
        {
          load->fails_in |= 1u << i;
          return;
        }
      for (PlanNode *part = step.parts; part; part = part->next_part)
        carry (plan, part, i + 1);
      if (step.act == PLAN_SPLIT || step.act == PLAN_DROP)
        return;
      bytes = step.out_bytes;
      state = step.out_state;
      node->n_agains += step.act == PLAN_AGAIN;
      i = step.act == PLAN_AGAIN ? stage->again_to : i + 1;
    }
}

/* -- Choosing ----------------------------------------------------------- */

static gboolean
is_ordered (const PlanStage *stage)
{
  return stage->mode == HASS_STAGE_ORDERED || stage->mode == HASS_STAGE_CALLER;
}

static void
plan_stage (GRand *r, Plan *plan, guint index)
{
  static const HassStageMode modes[]
      = { HASS_STAGE_PARALLEL, HASS_STAGE_PARALLEL, HASS_STAGE_PARALLEL,
          HASS_STAGE_ORDERED,  HASS_STAGE_ORDERED,  HASS_STAGE_SERIAL,
          HASS_STAGE_CALLER };
  PlanStage *stage = &plan->stages[index];
  *stage = (PlanStage){ .plan = plan, .index = index };
  stage->mode = modes[below (r, G_N_ELEMENTS (modes))];
  stage->output = one_in (r, 2) ? PLAN_NO_OUTPUT : below (r, 4);
  if (stage->output == PLAN_PROMISED)
    {
      stage->output_bytes = below (r, 200);
      stage->output_ratio = below (r, 5) * 0.25;
      if (stage->output_bytes == 0 && stage->output_ratio == 0)
        stage->output_bytes = 1;
    }
  stage->drop = one_in (r, 5) ? below (r, 400) : 0;
  stage->split = one_in (r, 5) ? below (r, 500) : 0;
  stage->again = one_in (r, 5) ? below (r, 300) : 0;
  stage->again_to = index - below (r, index + 1);
  for (guint i = stage->again_to; i < index; i++)
    if (is_ordered (&plan->stages[i]))
      stage->again_to = index;
  stage->fail = one_in (r, 12) ? 1 + below (r, 50) : 0;
  if (stage->mode == HASS_STAGE_PARALLEL && one_in (r, 4))
    stage->at_once = 1 + below (r, 4);
  stage->spin_us = one_in (r, 4) ? below (r, 10) : 0;
  stage->reduce = one_in (r, 4);
  stage->loop = one_in (r, 16);
  stage->order = g_ptr_array_new ();
  stage->seen = g_ptr_array_new ();
}

static void
plan_load (GRand *r, Plan *plan, guint index)
{
  PlanLoad *load = &plan->loads[index];
  PlanNode *root = load->root = node_new (plan, index, NULL);
  root->memory = one_in (r, 4)           ? PLAN_NOWHERE
                 : index < plan->n_array ? PLAN_OWN
                 : one_in (r, 2)         ? PLAN_OWN
                                         : PLAN_BUFFER;
  if (root->memory != PLAN_NOWHERE)
    root->bytes = 1 + below (r, one_in (r, 30) ? 5000 : 300);
  if (root->memory == PLAN_OWN)
    root->own = g_malloc (root->bytes);
  root->state = (guint8)below (r, 256);
  if (root->own)
    plan_fill (root->own, root->bytes, root->state);
  carry (plan, root, 0);
}

static void
describe (Plan *plan)
{
  static const char modes[] = "POSC", outputs[] = "-ipa";
  GString *text = g_string_new (NULL);
  g_string_printf (text,
                   "seed %" G_GUINT64_FORMAT
                   ": %u loads, %u in an array, %u cores, tokens %zu, bytes "
                   "%zu, on_error %d, cancel %u, deadline %d, %u devices, %s, "
                   "stages",
                   plan->seed, plan->n_loads, plan->n_array, plan->n_cores,
                   plan->tokens, plan->token_bytes, plan->on_error,
                   plan->cancel_after, (int)plan->deadline_ms, plan->n_devices,
                   plan->strategy ? plan->strategy : "default strategy");
  for (guint i = 0; i < plan->n_stages; i++)
    {
      const PlanStage *s = &plan->stages[i];
      g_string_append_printf (text, " %c%c", modes[s->mode],
                              outputs[s->output]);
      if (s->linked)
        g_string_append (text, s->gpu_only ? "!" : "g");
      if (s->at_once)
        g_string_append_printf (text, "@%u", s->at_once);
      g_string_append_printf (text, "%s%s%s%s%s", s->fail ? "F" : "",
                              s->drop ? "D" : "", s->split ? "M" : "",
                              s->reduce ? "R" : "", s->loop ? "L" : "");
      if (s->again)
        g_string_append_printf (text, "A%u", s->again_to);
    }
  plan->text = g_string_free (text, FALSE);
}

Plan *
plan_new (guint64 seed)
{
  Plan *plan = g_new0 (Plan, 1);
  g_autoptr (GRand) r
      = g_rand_new_with_seed_array ((guint32[]){ seed, seed >> 32 }, 2);
  plan->seed = seed;
  plan->nodes = g_ptr_array_new ();
  plan->cancellable = g_cancellable_new ();
  plan->n_stages = 1 + below (r, PLAN_STAGES);
  plan->n_loads = below (r, 1 << (1 + below (r, 9)));
  plan->n_array = one_in (r, 2) ? 0 : below (r, plan->n_loads + 1);
  plan->n_cores = 1 + below (r, 8);
  plan->tokens = one_in (r, 2) ? 0 : 1 + below (r, 40);
  plan->token_bytes = one_in (r, 2) ? 0 : 100 + below (r, 8000);
  plan->on_error = one_in (r, 4) ? HASS_ON_ERROR_STOP : HASS_ON_ERROR_CONTINUE;
  plan->cancel_after = one_in (r, 8) ? 1 + below (r, 500) : 0;
  plan->deadline_ms = one_in (r, 16) ? 1 + below (r, 3) : 0;
  plan->exact_bytes = TRUE;
  for (guint i = 0; i < plan->n_stages; i++)
    {
      plan_stage (r, plan, i);
      if (plan->stages[i].again || plan->stages[i].split
          || plan->stages[i].output == PLAN_ASKED)
        plan->exact_bytes = FALSE;
    }
  plan_devices (r, plan);
  plan->loads = g_new0 (PlanLoad, plan->n_loads + 1);
  for (guint i = 0; i < plan->n_loads; i++)
    plan_load (r, plan, i);
  describe (plan);
  return plan;
}

void
plan_free (Plan *plan)
{
  for (guint i = 0; i < plan->nodes->len; i++)
    {
      PlanNode *node = g_ptr_array_index (plan->nodes, i);
      g_array_unref (node->steps);
      g_free (node->own);
      g_free (node);
    }
  for (guint i = 0; i < plan->n_stages; i++)
    {
      g_ptr_array_unref (plan->stages[i].order);
      g_ptr_array_unref (plan->stages[i].seen);
    }
  plan_devices_free (plan);
  g_ptr_array_unref (plan->nodes);
  g_object_unref (plan->cancellable);
  g_free (plan->loads);
  g_free (plan->text);
  g_free (plan);
}
