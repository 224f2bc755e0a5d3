/* SPDX-License-Identifier: MIT */
/* graph_plan.c: see graph_plan.h. Thread safety: see graph_plan.h. */
#include "graph_plan.h"
#include "tests/chance.h"

#include <string.h>

static guint64
mix (guint64 x)
{
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15u;
  return x ^ x >> 29;
}

/* -- Shapes ------------------------------------------------------------- */

static gsize
bytes_of (const GraphPlanShape *s)
{
  return s->row_bytes * s->rows;
}

/* Sizes of every magnitude. */
static gsize
random_bytes (GRand *rand)
{
  guint most = 2u << below (rand, one_in (rand, 24) ? 14 : 8);
  return 1 + below (rand, most);
}

/* A datum in the gaps between the rows of another one, as tiles of a matrix
   lie. Returns: FALSE if there are none. */
static gboolean
place_beside (GraphPlanShape *shape, const GraphPlanShape *other, GRand *rand)
{
  if (other->rows < 2 || other->room < 2 || one_in (rand, 2))
    return FALSE;
  *shape = *other;
  shape->offset += other->row_bytes;
  shape->row_bytes = 1 + below (rand, (guint)other->room - 1);
  shape->room -= shape->row_bytes;
  return TRUE;
}

static void
random_shapes (GraphPlan *p, GRand *rand)
{
  for (guint d = 0; d < p->n_data; d++)
    {
      GraphPlanShape *s = &p->shapes[d];
      if (d > p->n_scratch && place_beside (s, s - 1, rand))
        continue;
      s->offset = p->bytes;
      s->rows = 1;
      s->row_bytes = random_bytes (rand);
      if (d < p->n_scratch && one_in (rand, 8))
        s->row_bytes = s->rows = 0;
      if (d >= p->n_scratch && one_in (rand, 2))
        s->rows = 2 + below (rand, 6);
      s->pitch = s->row_bytes;
      if (s->rows > 1 && !one_in (rand, 3))
        s->pitch += 1 + below (rand, 2 + (guint)s->row_bytes);
      s->room = s->pitch - s->row_bytes;
      p->bytes += s->pitch * s->rows + below (rand, 16);
    }
}

HassDataView
graph_plan_view (const GraphPlan *p, guint d, guint8 *memory)
{
  const GraphPlanShape *s = &p->shapes[d];
  return (HassDataView){ memory + s->offset, s->row_bytes, s->rows, s->pitch };
}

/* -- What tasks do ------------------------------------------------------ */

static guint8 *
word_at (const HassDataView *v, gsize row, gsize byte)
{
  return (guint8 *)v->data + row * v->pitch + byte;
}

/* A row is made of words of 8 bytes, but for the last one. */
static guint64
load (const HassDataView *v, gsize row, gsize byte)
{
  guint64 x = 0;
  memcpy (&x, word_at (v, row, byte), MIN (8, v->row_bytes - byte));
  return x;
}

static void
store (const HassDataView *v, gsize row, gsize byte, guint64 x)
{
  memcpy (word_at (v, row, byte), &x, MIN (8, v->row_bytes - byte));
}

static void
write_view (const HassDataView *v, HassAccessMode mode, guint64 h)
{
  gboolean adds = mode == HASS_COMMUTE || mode == HASS_REDUCE;
  for (gsize r = 0; r < v->rows; r++)
    for (gsize b = 0; b < v->row_bytes; b += 8)
      store (v, r, b, mix (h++) + (adds ? load (v, r, b) : 0));
}

void
graph_plan_act (const GraphPlanArguments *a, const HassDataView *views)
{
  guint64 h = a->salt;
  for (guint i = 0; i < a->n; i++)
    if (a->modes[i] == HASS_READ || a->modes[i] == HASS_UPDATE)
      for (gsize r = 0; r < views[i].rows; r++)
        for (gsize b = 0; b < views[i].row_bytes; b += 8)
          h = mix (h + load (&views[i], r, b));
  for (guint i = 0; i < a->n; i++)
    if (a->modes[i] != HASS_READ)
      write_view (&views[i], (HassAccessMode)a->modes[i],
                  h + ((guint64)i << 32));
}

void
graph_plan_merge (const HassDataView *into, const HassDataView *copy,
                  gpointer user_data)
{
  (void)user_data;
  for (gsize r = 0; r < into->rows; r++)
    for (gsize b = 0; b < into->row_bytes; b += 8)
      store (into, r, b, load (into, r, b) + load (copy, r, b));
}

void
graph_plan_write (const GraphPlan *p, guint s, guint8 *memory)
{
  const GraphPlanStep *step = &p->steps[s];
  HassDataView view = graph_plan_view (p, step->on, memory);
  write_view (&view, HASS_WRITE, mix (step->arguments.salt));
}

/* -- Plans -------------------------------------------------------------- */

/* What a plan is made with. */
typedef struct
{
  GraphPlan *plan;
  GRand *rand;
  guint flags;
  gboolean written[PLAN_MOST_DATA], gone[PLAN_MOST_DATA];
} Maker;

static gboolean
shares (HassAccessMode mode)
{
  return mode == HASS_COMMUTE || mode == HASS_REDUCE;
}

/* Whether a task has accesses that only cores serve. */
static gboolean
is_for_cores (const GraphPlanArguments *a)
{
  for (guint i = 0; i < a->n; i++)
    if (shares ((HassAccessMode)a->modes[i]))
      return TRUE;
  return FALSE;
}

static GraphPlanCodelet
random_codelet (Maker *m, gboolean for_cores)
{
  if (!(m->flags & PLAN_GPU) || one_in (m->rand, 4))
    return PLAN_CPU;
  if (!for_cores && m->flags & PLAN_ALONE)
    return (GraphPlanCodelet)(PLAN_BOTH + below (m->rand, 4));
  return (GraphPlanCodelet)(PLAN_BOTH + below (m->rand, 2));
}

static void
add_access (Maker *m, GraphPlanArguments *a, guint d, HassAccessMode mode)
{
  for (guint i = 0; i < a->n; i++)
    if (a->data[i] == d)
      return;
  if (m->gone[d]
      || (d < m->plan->n_scratch && mode != HASS_WRITE && !m->written[d]))
    return;
  m->written[d] |= mode == HASS_WRITE;
  a->data[a->n] = (guint8)d;
  a->modes[a->n++] = (guint8)mode;
}

/* The first tasks write the scratch data. */
static void
make_task (Maker *m, GraphPlanStep *step, guint number)
{
  static const HassAccessMode modes[]
      = { HASS_READ,   HASS_READ,    HASS_READ,  HASS_WRITE,
          HASS_UPDATE, HASS_COMMUTE, HASS_REDUCE };
  GRand *rand = m->rand;
  GraphPlanArguments *a = &step->arguments;
  gboolean first = number < m->plan->n_scratch;
  gboolean plain
      = m->flags & PLAN_FAILS || (m->flags & PLAN_GPU && !one_in (rand, 4));
  guint most = one_in (rand, 8) ? PLAN_MOST_ACCESSES : 4;
  guint want = below (rand, most + 1);
  if (first)
    add_access (m, a, number, HASS_WRITE);
  for (guint i = 0; i < want && !first; i++)
    add_access (m, a, below (rand, m->plan->n_data),
                modes[below (rand, plain ? 5 : 7)]);
  step->kind = PLAN_TASK;
  step->priority = one_in (rand, 2) ? g_rand_int_range (rand, -3, 4) : 0;
  step->codelet = random_codelet (m, is_for_cores (a));
  a->fails = !first && m->flags & PLAN_FAILS && one_in (rand, 40);
}

/* What comes between tasks. */
static void
make_event (Maker *m, GraphPlanStep *step)
{
  guint d = below (m->rand, m->plan->n_data);
  gboolean scratch = d < m->plan->n_scratch;
  step->kind = (GraphPlanKind)(PLAN_WAIT_ALL + below (m->rand, 5));
  step->on = d;
  if (m->gone[d] || (scratch && !m->written[d]))
    step->kind = PLAN_WAIT_ALL;
  else if (scratch && step->kind == PLAN_TOUCH)
    step->kind = PLAN_WAIT;
  m->gone[d] |= step->kind == PLAN_FORGET;
  if (scratch && step->kind == PLAN_AGAIN)
    m->written[d] = FALSE;
}

static void
make_copies (Maker *m)
{
  GraphPlan *p = m->plan;
  for (guint d = 0; d < p->n_scratch; d++)
    {
      GraphPlanShape *shape = &p->shapes[d];
      shape->copied = m->written[d] && !m->gone[d] && shape->rows > 0;
      if (!shape->copied)
        continue;
      GraphPlanStep *step = &p->steps[p->n_steps++];
      step->kind = PLAN_COPY;
      step->on = d;
      step->codelet = random_codelet (m, FALSE);
    }
}

GraphPlan *
graph_plan_new (guint32 seed, guint n_tasks, guint flags)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  GraphPlan *p = g_new0 (GraphPlan, 1);
  Maker m = { .plan = p, .rand = rand, .flags = flags };
  gboolean spins = one_in (rand, 2);
  p->n_data = 1 + below (rand, one_in (rand, 2) ? 12 : PLAN_MOST_DATA);
  p->n_scratch = below (rand, MIN (p->n_data, 12));
  random_shapes (p, rand);
  p->steps = g_new0 (GraphPlanStep, 2 * n_tasks + PLAN_MOST_DATA);
  for (guint t = 0; t < n_tasks; t++)
    {
      GraphPlanStep *step = &p->steps[p->n_steps++];
      make_task (&m, step, t);
      step->arguments.salt = g_rand_int (rand);
      step->arguments.spins = spins;
      if (t < p->n_scratch || flags & PLAN_RECORDS || !one_in (rand, 20))
        continue;
      step = &p->steps[p->n_steps++];
      make_event (&m, step);
      step->arguments.salt = g_rand_int (rand);
    }
  make_copies (&m);
  return p;
}

void
graph_plan_free (GraphPlan *p)
{
  g_free (p->steps);
  g_free (p);
}

gsize
graph_plan_need (const GraphPlan *p, gboolean alone)
{
  gsize most = 0;
  for (guint s = 0; s < p->n_steps; s++)
    {
      const GraphPlanStep *step = &p->steps[s];
      const GraphPlanArguments *a = &step->arguments;
      gsize bytes = 0;
      if (step->kind > PLAN_COPY || is_for_cores (a)
          || step->codelet < (alone ? PLAN_GPU_ALONE : PLAN_BOTH))
        continue;
      if (step->kind == PLAN_COPY)
        bytes = 2 * bytes_of (&p->shapes[step->on]);
      for (guint i = 0; i < a->n; i++)
        bytes += bytes_of (&p->shapes[a->data[i]]);
      most = MAX (most, bytes);
    }
  return most;
}

/* -- The sequential program --------------------------------------------- */

void
graph_plan_state_init (GraphPlanState *state, const GraphPlan *p)
{
  memset (state, 0, sizeof *state);
  state->memory = g_malloc (p->bytes + 1);
  for (gsize i = 0; i < p->bytes; i++)
    state->memory[i] = (guint8)mix (i + 1);
}

void
graph_plan_state_clear (GraphPlanState *state)
{
  g_clear_pointer (&state->memory, g_free);
}

static void
do_task (const GraphPlan *p, const GraphPlanArguments *a, GraphPlanState *state)
{
  HassDataView views[PLAN_MOST_ACCESSES];
  gboolean failed = a->fails;
  for (guint i = 0; i < a->n; i++)
    {
      views[i] = graph_plan_view (p, a->data[i], state->memory);
      failed |= state->invalid[a->data[i]] && a->modes[i] != HASS_WRITE;
    }
  if (!failed)
    graph_plan_act (a, views);
  state->n_failed += failed;
  for (guint i = 0; i < a->n; i++)
    if (failed ? a->modes[i] != HASS_READ : a->modes[i] == HASS_WRITE)
      state->invalid[a->data[i]] = failed;
}

void
graph_plan_step (const GraphPlan *p, guint s, GraphPlanState *state)
{
  const GraphPlanStep *step = &p->steps[s];
  gboolean *invalid = &state->invalid[step->on];
  switch (step->kind)
    {
    case PLAN_TASK:
      do_task (p, &step->arguments, state);
      break;
    case PLAN_COPY:
      state->n_failed += *invalid;
      break;
    case PLAN_TOUCH:
      if (!*invalid)
        graph_plan_write (p, s, state->memory);
      break;
    case PLAN_AGAIN:
      if (*invalid && step->on >= p->n_scratch)
        graph_plan_write (p, s, state->memory);
      *invalid = FALSE;
      break;
    default:
      break;
    }
}

/* -- Comparing ---------------------------------------------------------- */

char *
graph_plan_compare (const GraphPlan *p, guint d, const GraphPlanState *want,
                    guint8 *got)
{
  HassDataView x = graph_plan_view (p, d, want->memory),
               y = graph_plan_view (p, d, got);
  for (gsize r = 0; r < x.rows && !want->invalid[d]; r++)
    if (memcmp (word_at (&x, r, 0), word_at (&y, r, 0), x.row_bytes) != 0)
      return g_strdup_printf ("row %zu of datum %u, %zu rows of %zu bytes, has "
                              "a wrong value",
                              r, d, x.rows, x.row_bytes);
  return NULL;
}

/* Copies datum @d over what lies between the gaps. */
static void
take_over (const GraphPlan *p, guint d, guint8 *to, guint8 *from)
{
  HassDataView x = graph_plan_view (p, d, to), y = graph_plan_view (p, d, from);
  for (gsize r = 0; r < x.rows; r++)
    memcpy (word_at (&x, r, 0), word_at (&y, r, 0), x.row_bytes);
}

char *
graph_plan_compare_all (const GraphPlan *p, gboolean others,
                        const GraphPlanState *want, guint8 *got)
{
  char *wrong = NULL;
  for (guint d = others ? p->n_scratch : 0; d < p->n_data && !wrong; d++)
    if (d >= p->n_scratch || p->shapes[d].copied)
      wrong = graph_plan_compare (p, d, want, got);
  g_autofree guint8 *gaps = g_memdup2 (want->memory, p->bytes + 1);
  for (guint d = 0; d < p->n_data; d++)
    take_over (p, d, gaps, got);
  for (gsize i = 0; i < p->bytes && !wrong; i++)
    if (gaps[i] != got[i])
      wrong = g_strdup_printf ("byte %zu lies in no datum and was written", i);
  return wrong;
}
