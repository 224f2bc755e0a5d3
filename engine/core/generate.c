/* SPDX-License-Identifier: MIT */
/* generate.c: the generator's side of a farm: loads and tasks that it emits
   enter the load pool.

   DESIGN. Only the thread of the generator may emit, and only while it is in
   the generator. When the pool is full, that thread computes units until there
   is room again.

   Thread safety: the thread that called the farm. */
#include "job-private.h"
#include "pool/callback_error.h"
#include "pool/load_pool_ring.h"

static inline gboolean
is_generating (const HassEmitter *emitter, HassEmits emits)
{
  return emitter && emitter->owner == hass_this_thread ()
         && emitter->emits == emits;
}

static gboolean
may_emit (HassEmitter *emitter, HassEmits emits, const char *function)
{
  if (!is_generating (emitter, emits))
    return hass_emitter_is_generating (emitter, function)
           && hass_job_takes (emitter->job, emits == HASS_EMITS_TASKS,
                              function);
  return !hass_job_must_stop (emitter->job);
}

gboolean
hass_emitter_stopping (HassEmitter *emitter)
{
  HassJob *job = emitter ? emitter->job : NULL;
  if (!job)
    {
      hass_engine_dead_handle ("hass_emitter_stopping");
      return TRUE;
    }
  return hass_job_must_stop (job);
}

/* Computes until the pool has room, or what a dataflow waits for has happened.
   Meanwhile this thread is not in its generator, so its callbacks may not emit
   with the emitter. */
gboolean
hass_emitter_make_room (HassEmitter *emitter)
{
  HassJob *job = emitter->job;
  HassEmits emits = emitter->emits;
  gint64 begin = job->engine->now (job);
  emitter->emits = HASS_EMITS_NOTHING;
  /* Acquire pairs with the release of a thread that has made room and reads the
     flag by an exchange: if that comes first in the order of the flag's values,
     this thread sees the room, else that thread sees the flag and wakes this
     one (tests/model/weak.pml, 5). */
  atomic_exchange_explicit (&job->full, TRUE, memory_order_acq_rel);
  gboolean room = job->engine->make_room (job);
  atomic_store_explicit (&job->full, FALSE, memory_order_relaxed);
  atomic_store_explicit (&job->awaits_units, FALSE, memory_order_relaxed);
  emitter->emits = emits;
  job->phases.room_ns += job->engine->now (job) - begin;
  return room;
}

/* Announces loads that have entered the pool. If the calling thread is wanted
   for work, it computes until it no longer is; if it is the only one, until
   nothing is left. Returns: TRUE, as what emitted them does. */
static G_GNUC_NO_INLINE gboolean
announce (HassEmitter *emitter)
{
  HassJob *job = emitter->job;
  hass_job_loads_came (job);
  /* Relaxed: a hint; a later emission sees it. */
  if (G_UNLIKELY (
          job->flows_at_once
          || atomic_load_explicit (&job->caller_wanted, memory_order_relaxed)))
    hass_emitter_make_room (emitter);
  return TRUE;
}

/* Has a load pass all stages, where this thread is the only one. Meanwhile it
   is not in its generator, as above. */
static void
pass (HassEmitter *emitter, const HassLoad *load)
{
  HassJob *job = emitter->job;
  HassWorker *only = &job->workers[0];
  gint64 begin = only->now_ns = job->engine->now (job);
  emitter->emits = HASS_EMITS_NOTHING;
  job->source->pass (job, load);
  emitter->emits = HASS_EMITS_LOADS;
  job->phases.room_ns += only->now_ns - begin;
}

/* hass_emitter_emit() of a load with which there is more to do than to put it
   into the pool. */
static G_GNUC_NO_INLINE gboolean
emit (HassEmitter *emitter, const HassLoad *load)
{
  if (!may_emit (emitter, HASS_EMITS_LOADS, "hass_emitter_emit"))
    return FALSE;
  HassJob *job = emitter->job;
  if (G_UNLIKELY (!load))
    {
      hass_job_fail (job, HASS_ERROR_INVALID,
                     "hass_emitter_emit: load %" G_GUINT64_FORMAT " is NULL",
                     hass_load_pool_emitted (job->pool));
      return FALSE;
    }
  if (G_UNLIKELY (load->flags & HASS_LOAD_BUFFER)
      && !hass_buffer_claim (job, load, hass_load_pool_emitted (job->pool),
                             FALSE))
    return FALSE;
  if (G_UNLIKELY (job->flows_at_once))
    {
      pass (emitter, load);
      return TRUE;
    }
  while (G_UNLIKELY (!hass_load_pool_emit (job->pool, load)))
    if (!hass_emitter_make_room (emitter))
      return FALSE;
  return announce (emitter);
}

gboolean
hass_emitter_emit (HassEmitter *emitter, const HassLoad *load)
{
  /* The way of most loads: it writes nothing but the pool, reads nothing that
     other threads write often, and calls nothing, so it needs no stack. Where
     loads flow at once, none is known to fit: the pool counts no room. */
  HassJob *job;
  if (G_UNLIKELY (!is_generating (emitter, HASS_EMITS_LOADS)
                  || (job = emitter->job)->deadline_ns > 0
                  || hass_job_stopping (job) || !load
                  || load->flags & HASS_LOAD_BUFFER
                  || !hass_load_pool_fits (job->pool, load)))
    return emit (emitter, load);
  hass_load_pool_put (job->pool, load);
  if (G_UNLIKELY (
          hass_job_is_told (job)
          || atomic_load_explicit (&job->caller_wanted, memory_order_relaxed)))
    return announce (emitter);
  return TRUE;
}

gboolean
hass_engine_emit_task (HassEmitter *emitter, HassLoad *load)
{
  if (!may_emit (emitter, HASS_EMITS_TASKS, "hass_emitter_emit_task"))
    return FALSE;
  HassJob *job = emitter->job;
  if (job->env.n_functions > 1)
    load->flags |= HASS_LOAD_FUNCTION (
        job->farm->function_of (load, job->farm->function_data));
  load->tag = memcpy (hass_copy_new (job, &emitter->copier), load->tag,
                      job->farm->tag_bytes);
  load->flags |= HASS_LOAD_COPIED;
  while (G_UNLIKELY (!hass_load_pool_emit (job->pool, load)))
    if (!hass_emitter_make_room (emitter))
      return FALSE; /* the copy is freed with the farm, which stops */
  hass_job_loads_came (job);
  return TRUE;
}

/* Claims, for each load of an array, the buffer of the library that its input
   lies in; skipped as long as the farm has no such buffers. */
static gboolean
claim_buffers (HassJob *job, const HassLoad *loads, gsize n_loads)
{
  guint64 seq = hass_load_pool_emitted (job->pool);
  for (gsize i = 0; i < n_loads && hass_job_has_owned (job); i++)
    if (loads[i].flags & HASS_LOAD_BUFFER
        && !hass_buffer_claim (job, &loads[i], seq + i, FALSE))
      return FALSE;
  return TRUE;
}

gboolean
hass_emitter_emit_array (HassEmitter *emitter, const HassLoad *loads,
                         gsize n_loads)
{
  if (!may_emit (emitter, HASS_EMITS_LOADS, "hass_emitter_emit_array"))
    return FALSE;
  if (n_loads > 0 && !loads)
    {
      hass_job_fail (emitter->job, HASS_ERROR_INVALID,
                     "hass_emitter_emit_array: loads is NULL, n_loads %zu",
                     n_loads);
      return FALSE;
    }
  if (!claim_buffers (emitter->job, loads, n_loads))
    return FALSE;
  if (n_loads > 0)
    hass_load_pool_add_array (emitter->job->pool, loads, n_loads);
  return announce (emitter);
}

/* Puts the loads that the farm was given into the pool, then runs the
   generator. Given loads are accepted even if the farm is stopping; they are
   then listed as unfinished. */
void
hass_job_generate (HassJob *job)
{
  const HassFarm *farm = job->farm;
  HassEmitter *emitter = &job->handles->emitter;
  *emitter = (HassEmitter){ .job = job,
                            .owner = hass_this_thread (),
                            .emits = hass_farm_takes_tasks (farm)
                                         ? HASS_EMITS_TASKS
                                         : HASS_EMITS_LOADS };
  job->phases.generate_ns = job->engine->now (job);
  if (farm->n_loads > 0)
    {
      hass_load_pool_add_array (job->pool, farm->loads, farm->n_loads);
      announce (emitter);
    }
  if (farm->generate && !hass_job_stopping (job))
    {
      GError *error = NULL;
      HassCallback before = hass_engine_enter_callback ("generator", job, NULL);
      gboolean ok = farm->generate (emitter, farm->user_data, &error);
      hass_engine_leave_callback (before);
      ok = hass_callback_ok (ok, &error, HASS_ERROR_GENERATOR);
      if (!ok && !hass_job_stopping (job))
        {
          g_prefix_error (&error,
                          "%s '%s': generator failed after %" G_GUINT64_FORMAT
                          " loads: ",
                          hass_farm_noun (farm), farm->name,
                          hass_load_pool_emitted (job->pool));
          if (farm->run->on_error == HASS_ON_ERROR_STOP)
            hass_job_stop (job, g_steal_pointer (&error));
          else
            {
              pthread_mutex_lock (&job->failure);
              if (!job->error)
                job->error = g_steal_pointer (&error);
              pthread_mutex_unlock (&job->failure);
            }
        }
      g_clear_error (&error);
    }
  emitter->emits = HASS_EMITS_NOTHING;
  job->phases.generated_ns = job->engine->now (job);
  /* Where all loads are through, nothing else looks at the clock. */
  hass_job_check_deadline (job, job->phases.generated_ns);
  atomic_store_explicit (&job->generated, TRUE, memory_order_seq_cst);
  job->engine->changed (job);
}
