/* SPDX-License-Identifier: MIT */
/* fake_work.c: what the streams of the stand-in for the CUDA runtime execute:
   copies, kernels and events, with the faults of the plan.

   DESIGN. A stream's thread takes the operations of its queue one by one and
   executes them without the lock.

   Thread safety: see fake_cudart.h. */
#include "fake-private.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static gint64
now_ns (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec * G_GINT64_CONSTANT (1000000000) + t.tv_nsec;
}

void
fake_free_op (Op *op)
{
  g_free (op->snapshot);
  g_free (op->constants);
  g_free (op);
}

static void
copy_rows (const Op *op)
{
  for (gsize r = 0; r < op->rows; r++)
    memcpy (op->to + r * op->to_pitch, op->from + r * op->from_pitch,
            op->row_bytes);
}

static gboolean
skipped_locked (Stream *s, const Op *op)
{
  if (s->incident && op->serial > s->incident->until)
    s->incident = NULL;
  return s->incident || fake_dead (s->device) || fake.ending;
}

static void
hang_locked (void)
{
  struct timespec until;
  clock_gettime (CLOCK_REALTIME, &until);
  until.tv_sec += fake.plan.hang_ms / 1000;
  until.tv_nsec += fake.plan.hang_ms % 1000 * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  fake.hanging = TRUE;
  while (fake.hanging && !fake.ending && !fake.sticky)
    if (pthread_cond_timedwait (&fake.changed, &fake.lock, &until) == ETIMEDOUT)
      break;
  fake.hanging = FALSE;
}

/* A kernel may read and write what the bundle says, all of it on the
   stream's device. */
static gboolean
bundle_is_there (const Stream *s, const HassBundle *b)
{
  const struct
  {
    const char *name;
    gconstpointer at;
    gsize bytes;
  } parts[] = {
    { "input", b->input, b->input_bytes },
    { "offsets", b->offsets, (b->n_blocks + 1) * sizeof *b->offsets },
    { "halos", b->halos, b->n_blocks * sizeof *b->halos },
    { "output", b->output, b->output_bytes },
    { "output_offsets", b->output_offsets,
      (b->n_blocks + 1) * sizeof *b->output_offsets },
    { "output_pitches", b->output_pitches,
      b->n_blocks * sizeof *b->output_pitches },
    { "elements", b->elements, (b->n_blocks + 1) * sizeof *b->elements },
    { "functions", b->functions, b->n_blocks * sizeof *b->functions },
    { "accumulator", b->accumulator, 1 },
    { "records", b->records, b->record_capacity * b->record_bytes },
    { "record_blocks", b->record_blocks,
      b->record_capacity * sizeof *b->record_blocks },
    { "n_records", b->n_records, sizeof *b->n_records },
  };
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      /* Nothing may lie at the end of one range, and be another's begin. */
      const Range *r = fake_device_range (parts[i].at, parts[i].bytes);
      if (parts[i].at && parts[i].bytes > 0 && (!r || r->device != s->device))
        return fake_wrong (FALSE, "a bundle's %s: no %zu bytes at %p",
                           parts[i].name, parts[i].bytes, parts[i].at);
    }
  for (guint i = 0; i < b->n_constants; i++)
    if (b->constants[i] && !fake_device_range (b->constants[i], 1))
      return fake_wrong (FALSE, "a bundle's constant %u at %p is not there", i,
                         b->constants[i]);
  if (((guintptr)b->input | (guintptr)b->output) % 256 != 0)
    return fake_wrong (FALSE, "a bundle's input %p or output %p is unaligned",
                       (gpointer)b->input, (gpointer)b->output);
  return TRUE;
}

static void
make_real (HassBundle *b, gpointer *constants)
{
  b->input = fake_real (b->input);
  b->offsets = fake_real (b->offsets);
  b->halos = fake_real (b->halos);
  b->output = fake_real (b->output);
  b->output_offsets = fake_real (b->output_offsets);
  b->output_pitches = fake_real (b->output_pitches);
  b->elements = fake_real (b->elements);
  b->functions = fake_real (b->functions);
  b->accumulator = fake_real (b->accumulator);
  b->records = fake_real (b->records);
  b->record_blocks = fake_real (b->record_blocks);
  b->n_records = fake_real (b->n_records);
  for (guint i = 0; i < b->n_constants; i++)
    constants[i] = fake_real (constants[i]);
}

void
fake_fail_sticky (int code)
{
  if (!fake.sticky)
    fake.sticky = code;
  pthread_cond_broadcast (&fake.changed);
}

static void
kernel_locked (Stream *s, Op *op)
{
  guint n = ++fake.kernels_seen;
  if (n == fake.plan.hang_kernel_at)
    {
      fake.counts.faults++;
      hang_locked ();
      if (skipped_locked (s, op))
        return;
    }
  if (n == fake.plan.sticky_at_kernel || op->kind == OP_ASSERT)
    {
      fake.counts.faults++;
      fake_fail_sticky (FAKE_ASSERT);
      return;
    }
  while (fake.plan.hold_kernels_until
         && fake.seen[fake.plan.hold_kernels_until] == 0 && !fake.ending)
    pthread_cond_wait (&fake.changed, &fake.lock);
  guint us = op->us + fake.plan.kernel_delay_us;
  if (op->kernel && !bundle_is_there (s, &op->bundle))
    {
      fake_fail_sticky (FAKE_ILLEGAL_ADDRESS);
      return;
    }
  fake.counts.kernels++;
  pthread_mutex_unlock (&fake.lock);
  if (us > 0)
    usleep (us);
  if (op->kernel)
    {
      HassBundle bundle = op->bundle; /* other threads look at the op's */
      make_real (&bundle, op->constants);
      op->kernel (&bundle, op->user_data);
    }
  pthread_mutex_lock (&fake.lock);
}

/* Holds a copy for as long as the plan says. */
static void
hold_locked (Stream *s)
{
  while (fake.plan.hold_copies && fake.let == 0 && !fake_dead (s->device)
         && !fake.ending)
    pthread_cond_wait (&fake.changed, &fake.lock);
  if (fake.plan.hold_copies && fake.let > 0)
    fake.let--;
}

static void
copy_locked (Stream *s, Op *op)
{
  const FakePlan *plan = &fake.plan;
  guint n = ++fake.copies_seen;
  if (n == plan->fail_copy_at
      || (plan->fail_copy_every > 0 && n % plan->fail_copy_every == 0))
    {
      fake.counts.faults++;
      s->incident = g_new (Incident, 1);
      *s->incident = (Incident){ FAKE_NOT_SUPPORTED, G_MAXUINT64 };
      g_ptr_array_add (fake.incidents, s->incident);
      return;
    }
  guint us = plan->copy_delay_us;
  fake.counts.copies++;
  if (op->kind == OP_COPY && op->direction == HASS_CUDA_TO_DEVICE)
    fake.counts.bytes_to_device += op->row_bytes * op->rows;
  else if (op->kind == OP_COPY)
    fake.counts.bytes_to_host += op->row_bytes * op->rows;
  fake.copying++;
  hold_locked (s);
  pthread_mutex_unlock (&fake.lock);
  if (us > 0)
    usleep (us);
  if (op->kind == OP_COPY)
    copy_rows (op);
  else
    memset (op->to, 0, op->row_bytes);
  pthread_mutex_lock (&fake.lock);
  fake.copying--;
  fake.counts.copied++;
  pthread_cond_broadcast (&fake.changed);
}

static void
execute_locked (Stream *s, Op *op)
{
  switch (op->kind)
    {
    case OP_RECORD:
      skipped_locked (s, op);
      op->mark->done = TRUE;
      op->mark->time_ns = now_ns ();
      op->mark->incident = s->incident;
      return;
    case OP_WAIT:
      while (!op->mark->done && !skipped_locked (s, op))
        pthread_cond_wait (&fake.changed, &fake.lock);
      if (op->mark->incident && op->serial <= op->mark->incident->until)
        s->incident = op->mark->incident;
      return;
    case OP_COPY:
    case OP_CLEAR:
      if (!skipped_locked (s, op))
        copy_locked (s, op);
      return;
    default:
      if (!skipped_locked (s, op))
        kernel_locked (s, op);
    }
}

gpointer
fake_work (gpointer data)
{
  Stream *s = data;
  pthread_mutex_lock (&fake.lock);
  for (;;)
    {
      while (g_queue_is_empty (&s->ops) && !s->freed && !fake.ending)
        pthread_cond_wait (&fake.changed, &fake.lock);
      Op *op = g_queue_pop_head (&s->ops);
      if (!op)
        break;
      s->running = op;
      execute_locked (s, op);
      s->running = NULL;
      if (op->finished)
        *op->finished = TRUE;
      fake_free_op (op);
      pthread_cond_broadcast (&fake.changed);
    }
  pthread_mutex_unlock (&fake.lock);
  return NULL;
}
