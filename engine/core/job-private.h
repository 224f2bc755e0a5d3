/* SPDX-License-Identifier: MIT */
/* job-private.h: what the files of a running farm share among themselves.
   Thread safety: see each file. */
#ifndef HASS_JOB_PRIVATE_H
#define HASS_JOB_PRIVATE_H

#include "job.h"

/* fate.c */
void hass_job_refuse_cost (HassJob *job, const HassLoad *load, guint64 seq);
gboolean hass_job_is_unfinished (HassJob *job, guint64 seq);
void hass_job_tidy_unfinished (HassJob *job);
gboolean hass_emitter_is_generating (HassEmitter *emitter,
                                     const char *function);
gboolean hass_job_takes (HassJob *job, gboolean tasks, const char *function);
gboolean hass_job_check_devices (HassJob *job, const HassSpan *span,
                                 const guint64 *seq);
gboolean hass_job_check_costs (HassJob *job, const HassSpan *span,
                               const guint64 *seq);

/* Returns: whether a load's expected cost is finite and not negative. Read as
   an integer, the bits of G_MAXFLOAT are the largest of all allowed values, so
   one comparison excludes negative values, infinity and NaN. */
static inline gboolean
hass_load_cost_is_valid (const HassLoad *load)
{
  guint32 bits;
  memcpy (&bits, &load->cost, sizeof bits);
  return bits <= 0x7f7fffff || load->cost == 0; /* -0 is allowed, too */
}

/* Checks a load's expected cost. Returns: FALSE if it is not valid; the farm is
   stopped. */
static inline gboolean
hass_job_check_cost (HassJob *job, const HassLoad *load, guint64 seq)
{
  if (G_LIKELY (hass_load_cost_is_valid (load)))
    return TRUE;
  hass_job_refuse_cost (job, load, seq);
  return FALSE;
}

/* account.c */
void hass_account_round (HassJob *job, const HassRound *round, gint64 end_ns);
void hass_account_end (HassJob *job, gint64 end_ns);
void hass_account (HassJob *job, HassReport *report, double makespan_ns);

/* buffers.c */
void hass_buffers_init (HassJob *job);
void hass_buffers_clear (HassJob *job);
gboolean hass_buffer_claim (HassJob *job, const HassLoad *load, guint64 seq,
                            gboolean nested);
void hass_buffer_recycle (HassJob *job, const HassLoad *load, guint64 seq);

/* copies.c */
void hass_copies_init (HassJob *job);
void hass_copies_clear (HassJob *job);
void hass_copier_refill (HassJob *job, HassCopier *copier);
void hass_copy_free (HassJob *job, gpointer copy);
void hass_copies_free (HassJob *job, const HassSpan *span);

/* Returns memory for the copy of a task, tag_bytes of the farm; it is freed
   with hass_copy_free(). */
static inline gpointer
hass_copy_new (HassJob *job, HassCopier *copier)
{
  if (G_UNLIKELY (copier->n_left == 0))
    hass_copier_refill (job, copier);
  gpointer copy = copier->next;
  copier->next += job->farm->tag_bytes;
  copier->n_left--;
  return copy;
}

/* functions.c; but for the first and the last only where worker->functions */
HassFunctionCounts *hass_functions_new (const HassJob *job);
void hass_functions_note (HassWorker *worker, const HassRound *round,
                          HassExtent extent);
void hass_functions_forget (HassWorker *worker, const HassRound *round,
                            HassExtent extent);
gboolean hass_functions_measure (HassWorker *worker);
guint32 hass_functions_run (const HassJob *job, const HassRound *round,
                            HassExtent extent, guint *function);
void hass_functions_took (HassWorker *worker, guint function, guint32 n,
                          gint64 ns);
void hass_functions_count (HassWorker *worker, gint64 busy_ns, guint64 bytes);
void hass_functions_report (HassJob *job, HassReport *report);

/* handles.c */
HassHandles *hass_handles_take (guint n_workers);
void hass_handles_keep (HassHandles *handles);

/* divide.c; under the decision lock */
HassDivision hass_divide (HassJob *job, const HassSpan *span, guint64 seq);

/* rounds.c */
extern const HassSourceOps hass_rounds_ops;
void hass_job_abandon (HassJob *job);

/* Most units that join one open round. A guess: fewer, and rounds begin and end
   more often, which costs microseconds; more, and each round that a long unit
   keeps from ending holds more memory, 64 bytes a unit. */
#define HASS_OPEN_UNITS 1024

/* slots.c; finding, beginning and closing under the decision lock */
gboolean hass_slots_create (HassJob *job, GError **error);
guint64 hass_slots_computed (gpointer data);
void hass_slots_clear (HassJob *job);
guint32 hass_job_room (HassJob *job, guint32 most);
HassSlot *hass_slot_find (HassJob *job, gboolean open);
/* Returns: the most rounds in flight, open ones not counted. */
guint hass_slots_most (const HassJob *job);
void hass_slot_begin (HassJob *job, HassSlot *slot);
void hass_slot_add_up (HassJob *job, HassSlot *slot, gint64 end_ns);
void hass_job_close_open (HassJob *job);
void hass_job_disown (HassJob *job, const HassLoad *load, guint64 seq);
void hass_job_retire (HassJob *job);

/* decide.c; without the decision lock */
gboolean hass_decide_pullable (HassSlot *slot);

/* open.c */
void hass_open_init (HassJob *job);
guint32 hass_open_own (HassJob *job, guint core);
gboolean hass_open_may_have_work (HassJob *job);
void hass_open_join (HassJob *job, const HassWorker *from,
                     const HassSpan *span);
gboolean hass_open_has_room (HassJob *job);
void hass_open_follow (HassJob *job, HassWorker *worker, const HassSlot *slot,
                       HassExtent extent, const HassDone *done);

/* results.c */
guint32 hass_results_of_bundle (HassWorker *worker, HassSlot *slot,
                                HassExtent extent, const HassBlock *blocks,
                                gsize n_blocks, const HassBundleDone *done);
void hass_results_refused (HassJob *job, HassWorker *worker, HassSlot *slot,
                           HassExtent extent, const char *why);

/* How much the worker had emitted when a unit began, so that what the unit has
   added can be dropped if it fails. */
typedef struct
{
  gsize run_used;
  guint n_nested;
} HassUnitMark;

void hass_unit_failed (HassJob *job, HassWorker *worker, const HassBlock *block,
                       HassUnitMark mark, GError *error);
void hass_unit_given_back (HassJob *job, HassWorker *worker, HassUnitMark mark,
                           GError *error);
void hass_unit_add_output (HassJob *job, HassWorker *worker,
                           const HassBlock *block);

/* Makes the output memory of a unit its result if the farm collects results,
   unless the unit has no output or the worker has emitted a result for it.
   Inline, as it runs for every unit. */
static inline void
hass_unit_output_is_result (HassJob *job, HassWorker *worker,
                            const HassBlock *block)
{
  if (job->results && !worker->has_result && block->output)
    hass_unit_add_output (job, worker, block);
}

void hass_units_commit (HassJob *job, HassWorker *worker, HassSlot *slot,
                        guint32 unit, guint32 n_units);
void hass_units_flush_nested (HassJob *job, HassWorker *worker);
void hass_units_count_failures (HassJob *job, const HassWorker *worker,
                                guint32 n);
gboolean hass_job_collect (const HassResultItem *record, gpointer job);

/* Returns: whether the worker was told that what it computes is not needed,
   so that its failure is none. */
static inline gboolean
hass_unit_is_unneeded (HassJob *job, const HassWorker *worker)
{
  return worker->unneeded
         && atomic_load_explicit (worker->unneeded, memory_order_relaxed)
         && !hass_job_stopping (job);
}

/* spoliate.c; under the decision lock */
void hass_spoliate (HassJob *job, HassSlot *slot, guint device);

/* decide.c */
/* A device that is not open so long after the predicted time, in ns, is late: a
   round no longer waits for it alone. A guess: the start of a GPU takes 0.1 to
   1 s; less, and cores begin units that were left to a GPU which is only slow;
   more, and a farm stands still for longer beside a GPU whose start hangs. A
   variable for tests. */
extern gint64 hass_late_ns;
void hass_decide_completed (HassJob *job, HassSlot *slot,
                            const HassCompletion *done);

#endif
