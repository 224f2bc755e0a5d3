/* SPDX-License-Identifier: MIT */
/* mini_world.c: events and ready sets of the small simulator of pipelines.
   Thread safety: one thread. */
#include "mini_stream-private.h"

/* -- Events ------------------------------------------------------------- */

static gboolean
earlier (const Event *a, const Event *b)
{
  return a->t != b->t ? a->t < b->t : a->order < b->order;
}

void
mini_push (World *w, Event e)
{
  e.order = w->n_events++;
  g_array_append_val (w->heap, e);
  Event *h = (Event *)w->heap->data;
  guint i = w->heap->len - 1;
  for (; i > 0 && earlier (&e, &h[(i - 1) / 2]); i = (i - 1) / 2)
    h[i] = h[(i - 1) / 2];
  h[i] = e;
}

Event
mini_pop (World *w)
{
  Event *h = (Event *)w->heap->data;
  Event top = h[0], moved = h[w->heap->len - 1];
  guint n = w->heap->len - 1, i = 0;
  for (guint child; (child = 2 * i + 1) < n; i = child)
    {
      child += child + 1 < n && earlier (&h[child + 1], &h[child]);
      if (!earlier (&h[child], &moved))
        break;
      h[i] = h[child];
    }
  h[i] = moved;
  g_array_set_size (w->heap, n);
  return top;
}

double
mini_noise (World *w, guint device)
{
  double u = 1 - g_rand_double (w->rand), v = g_rand_double (w->rand);
  double factor
      = exp (w->c->platform->noise * sqrt (-2 * log (u)) * cos (2 * G_PI * v));
  if (w->run->slow_factor > 0 && device == w->run->slow_device
      && w->clock >= w->run->slow_ns)
    factor *= w->run->slow_factor;
  return factor;
}

/* -- Ready sets --------------------------------------------------------- */

gboolean
mini_single (const World *w, guint s)
{
  return w->c->pipe->stages[s].mode != HASS_STAGE_PARALLEL;
}

guint64
mini_ready (const World *w, guint s)
{
  const Class *k = &w->classes[s];
  if (k->arrived)
    return k->next < w->c->reach[s] && k->arrived[k->next] && !k->running;
  if (mini_single (w, s) && k->running)
    return 0;
  return k->fifo->len - k->head;
}

static void
arrive (World *w, guint s, Token token)
{
  Class *k = &w->classes[s];
  if (k->arrived)
    k->arrived[token.id] = token.load + 1;
  else
    g_array_append_val (k->fifo, token);
}

Token
mini_take (World *w, guint s)
{
  Class *k = &w->classes[s];
  if (k->arrived)
    return (Token){ k->next, k->arrived[k->next] - 1 };
  Token token = g_array_index (k->fifo, Token, k->head);
  if (++k->head > 4096 && k->head * 2 > k->fifo->len)
    {
      g_array_remove_range (k->fifo, 0, k->head);
      k->head = 0;
    }
  return token;
}

/* The token has passed the stage: what it becomes goes on. */
void
mini_advance (World *w, guint s, Token token)
{
  const SimPipe *p = w->c->pipe;
  guint64 first = sim_pipe_next (p, s, token.id);
  guint64 end = sim_pipe_next (p, s, token.id + 1);
  w->classes[s].done++;
  if (s + 1 == p->n_stages)
    {
      w->run->through += end - first;
      end = first;
    }
  for (guint64 id = first; id < end; id++)
    arrive (w, s + 1, (Token){ id, token.load });
  w->parts[token.load] += (guint32)(end - first);
  if (--w->parts[token.load] > 0)
    return;
  w->in_flight--;
  if (++w->ended == p->tokens * 3 / 4)
    w->late_ns = w->clock;
}

void
mini_generate (World *w)
{
  guint64 most = w->run->most_tokens;
  if (w->cpu.tokens > 0)
    most = MIN (most, w->cpu.tokens);
  while (w->begun < w->c->pipe->tokens && w->in_flight < most)
    {
      w->parts[w->begun] = 1;
      arrive (w, 0, (Token){ w->begun, w->begun });
      w->begun++;
      w->in_flight++;
      w->run->peak = MAX (w->run->peak, w->in_flight);
    }
}
