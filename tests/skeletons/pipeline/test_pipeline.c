/* SPDX-License-Identifier: MIT */
/* test_pipeline.c: the modes of stages, where loads come from, what a stage
   has of its own, and the report.
   Thread safety: one thread beside those of the pipelines. */
#include <string.h>

#include "hass_test.h"
#include "pipe.h"

/* -- Modes -------------------------------------------------------------- */

static gboolean
emit_rest (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  for (guint i = PIPE_LOADS / 2; i < PIPE_LOADS; i++)
    {
      HassLoad load = pipe_loads ()[i];
      if (!hass_emitter_emit (emitter, &load))
        return FALSE;
      memset (&load, 0xA5, sizeof load);
    }
  return TRUE;
}

static void
all_modes (void)
{
  PipeProbe parallel = { 0 }, ordered = { .alone = TRUE, .in_order = TRUE };
  PipeProbe serial = { .alone = TRUE }, caller = ordered;
  caller.caller = g_thread_self ();
  const HassStage stages[] = {
    HASS_STAGE (.name = "a", .cpu = pipe_look, .user_data = &parallel),
    HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = pipe_look,
                .user_data = &ordered),
    HASS_STAGE (.mode = HASS_STAGE_SERIAL, .cpu = pipe_look,
                .user_data = &serial),
    HASS_STAGE (.mode = HASS_STAGE_CALLER, .cpu = pipe_look,
                .user_data = &caller),
  };
  HassPipeline p = pipe_new (stages, 4, PIPE_LOADS / 2);
  p.generate = emit_rest;
  const PipeProbe *probes[] = { &parallel, &ordered, &serial, &caller };
  pipe_must_run (&p);
  for (guint i = 0; i < 4; i++)
    {
      CU_ASSERT_TRUE (pipe_saw (probes[i], PIPE_LOADS));
      CU_ASSERT_EQUAL (probes[i]->sum, PIPE_LOADS * (PIPE_LOADS - 1) / 2);
    }
}

static void
most_stages (void)
{
  PipeProbe probes[32] = { 0 };
  HassStage stages[32];
  for (guint i = 0; i < 32; i++)
    {
      stages[i] = hass_stage_init ();
      stages[i].mode = i % 3;
      stages[i].cpu = pipe_look;
      stages[i].user_data = &probes[i];
      probes[i].alone = i % 3 != HASS_STAGE_PARALLEL;
      probes[i].in_order = i % 3 == HASS_STAGE_ORDERED;
    }
  HassPipeline p = pipe_new (stages, 32, PIPE_LOADS);
  pipe_must_run (&p);
  for (guint i = 0; i < 32; i++)
    CU_ASSERT_TRUE (pipe_saw (&probes[i], PIPE_LOADS));
  p.n_stages = 1;
  pipe_must_run (&p);
  CU_ASSERT_TRUE (pipe_saw (&probes[0], 2 * PIPE_LOADS));
}

static gboolean
look_slowly (HassToken *token, HassWorker *worker, gpointer probe,
             GError **error)
{
  (void)worker, (void)error;
  pipe_enter (probe, token);
  g_usleep (20);
  pipe_leave (probe);
  return TRUE;
}

static void
at_once_is_a_bound (void)
{
  PipeProbe bounded = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = look_slowly, .user_data = &bounded, .at_once = 2),
          HASS_STAGE (.cpu = look_slowly, .user_data = &(PipeProbe){ 0 }) };
  HassPipeline p = pipe_new (stages, 2, PIPE_LOADS);
  p.run.n_cores = 4;
  pipe_must_run (&p);
  CU_ASSERT_TRUE (pipe_saw (&bounded, PIPE_LOADS));
  CU_ASSERT_TRUE (bounded.most <= 2);
}

/* -- Loads -------------------------------------------------------------- */

static gboolean
emit_nothing (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)emitter, (void)data, (void)error;
  return TRUE;
}

static gboolean
emit_array (HassEmitter *emitter, gpointer data, GError **error)
{
  (void)data, (void)error;
  return hass_emitter_emit_array (emitter, pipe_loads (), PIPE_LOADS / 2)
         && emit_rest (emitter, data, error);
}

static gboolean
tags_are_seqs (HassToken *token, HassWorker *worker, gpointer probe,
               GError **error)
{
  if (token->seq != GPOINTER_TO_SIZE (token->tag)
      || token->load->tag != token->tag || token->input_bytes > 0
      || token->output)
    pipe_blame (probe, "the token is not its load's");
  return pipe_look (token, worker, probe, error);
}

static void
where_loads_come_from (void)
{
  HassGenerateFunc generators[] = { NULL, emit_rest, emit_array, emit_nothing };
  const guint n_loads[] = { PIPE_LOADS, PIPE_LOADS / 2, 0, 0 };
  for (guint i = 0; i < 4; i++)
    {
      PipeProbe probe = { .in_order = TRUE, .alone = TRUE };
      PipeBooks books = { 0 };
      g_autoptr (HassReport) report = NULL;
      const HassStage stages[]
          = { HASS_STAGE (.cpu = pipe_look, .user_data = &(PipeProbe){ 0 }),
              HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = tags_are_seqs,
                          .user_data = &probe) };
      HassPipeline p = pipe_new (stages, 2, n_loads[i]);
      guint n = i < 3 ? PIPE_LOADS : 0;
      p.generate = generators[i];
      p.user_data = &books;
      p.release = pipe_release;
      CU_ASSERT_TRUE (pipe_run (&p, &report, NULL));
      CU_ASSERT_TRUE (pipe_saw (&probe, n));
      CU_ASSERT_PTR_NOT_NULL_FATAL (report);
      CU_ASSERT_EQUAL (report->loads, n);
      CU_ASSERT_EQUAL (report->n_unfinished, 0);
      CU_ASSERT_TRUE (pipe_books_right (&books, n, report));
    }
}

static gboolean
write_tag (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)worker, (void)data, (void)error;
  token->tag = GSIZE_TO_POINTER (2 * GPOINTER_TO_SIZE (token->tag));
  return TRUE;
}

static gboolean
read_tag (HassToken *token, HassWorker *worker, gpointer probe, GError **error)
{
  if (GPOINTER_TO_SIZE (token->tag) != 4 * token->seq
      || GPOINTER_TO_SIZE (token->load->tag) != token->seq)
    pipe_blame (probe, "another tag than was written");
  return pipe_look (token, worker, probe, error);
}

static void
tags_are_written (void)
{
  PipeProbe probe = { 0 };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = write_tag),
          HASS_STAGE (.mode = HASS_STAGE_SERIAL, .cpu = write_tag),
          HASS_STAGE (.cpu = read_tag, .user_data = &probe) };
  HassPipeline p = pipe_new (stages, 3, PIPE_LOADS);
  pipe_must_run (&p);
  CU_ASSERT_TRUE (pipe_saw (&probe, PIPE_LOADS));
}

/* -- What a stage has of its own ---------------------------------------- */

typedef struct
{
  guint64 sum, neutral;
} Sum;

static _Atomic gint n_live;

static gboolean
add_up (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  Sum *sum = hass_worker_accumulator (worker);
  (void)error;
  if (!sum || sum->neutral != GPOINTER_TO_SIZE (data)
      || hass_worker_index (worker) >= hass_worker_count (worker))
    return FALSE;
  sum->sum += token->seq;
  return TRUE;
}

static void
init_sum (gpointer sum, gpointer data)
{
  ((Sum *)sum)->neutral = GPOINTER_TO_SIZE (data);
  n_live++;
}

static void
add_sums (gpointer sum, gconstpointer part, gpointer data)
{
  (void)data;
  ((Sum *)sum)->sum += ((const Sum *)part)->sum;
}

static void
clear_sum (gpointer sum, gpointer data)
{
  n_live -= ((Sum *)sum)->neutral == GPOINTER_TO_SIZE (data);
}

static gboolean
no_accumulator (HassToken *token, HassWorker *worker, gpointer data,
                GError **error)
{
  (void)token, (void)data, (void)error;
  return hass_worker_accumulator (worker) == NULL;
}

static void
accumulators (void)
{
  Sum first = { 5, 0 }, third = { 7, 0 };
  n_live = 0;
  const HassStage stages[]
      = { HASS_STAGE (.cpu = add_up, .user_data = GSIZE_TO_POINTER (11),
                      .reduce = add_sums, .reduce_init = init_sum,
                      .reduce_clear = clear_sum, .accumulator = &first,
                      .accumulator_bytes = sizeof first),
          HASS_STAGE (.cpu = no_accumulator),
          HASS_STAGE (.mode = HASS_STAGE_ORDERED, .cpu = add_up,
                      .user_data = GSIZE_TO_POINTER (13), .reduce = add_sums,
                      .reduce_init = init_sum, .reduce_clear = clear_sum,
                      .accumulator = &third,
                      .accumulator_bytes = sizeof third) };
  HassPipeline p = pipe_new (stages, 3, PIPE_LOADS);
  pipe_must_run (&p);
  CU_ASSERT_EQUAL (first.sum, 5 + PIPE_LOADS * (PIPE_LOADS - 1) / 2);
  CU_ASSERT_EQUAL (third.sum, 7 + PIPE_LOADS * (PIPE_LOADS - 1) / 2);
  CU_ASSERT_EQUAL (n_live, 0);
}

static const guint32 numbers[2] = { 3, 4 };

static gboolean
read_constants (HassToken *token, HassWorker *worker, gpointer data,
                GError **error)
{
  (void)token, (void)error;
  return data == numbers && hass_worker_constant (worker, 0) == &numbers[0]
         && hass_worker_constant (worker, 1) == &numbers[1]
         && hass_worker_constant (worker, 2) == NULL;
}

static void
constants (void)
{
  const HassConstant all[] = { { &numbers[0], 4 }, { &numbers[1], 4 } };
  const HassStage stages[]
      = { HASS_STAGE (.cpu = read_constants),
          HASS_STAGE (.mode = HASS_STAGE_CALLER, .cpu = read_constants) };
  HassPipeline p = pipe_new (stages, 2, PIPE_LOADS);
  p.user_data = (gpointer)numbers;
  p.constants = all;
  p.n_constants = 2;
  pipe_must_run (&p);
}

/* -- The report --------------------------------------------------------- */

static gboolean
spin_us (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  for (gint64 end = g_get_monotonic_time () + 20;
       g_get_monotonic_time () < end;)
    ;
  return TRUE;
}

static void
report_fields (void)
{
  g_autoptr (HassReport) r = NULL;
  const HassStage stages[]
      = { HASS_STAGE (.cpu = spin_us),
          HASS_STAGE (.mode = HASS_STAGE_SERIAL, .cpu = spin_us) };
  HassPipeline p = pipe_new (stages, 2, PIPE_LOADS);
  CU_ASSERT_TRUE (pipe_run (&p, &r, NULL));
  CU_ASSERT_PTR_NOT_NULL_FATAL (r);
  CU_ASSERT_STRING_EQUAL (r->farm, "pipe");
  CU_ASSERT_PTR_NOT_NULL (r->strategy);
  CU_ASSERT_PTR_NULL (r->platform);
  CU_ASSERT_FALSE (r->virtual_time);
  CU_ASSERT_EQUAL (r->loads, PIPE_LOADS);
  CU_ASSERT_TRUE (r->makespan_s >= PIPE_LOADS * 20e-6);
  CU_ASSERT_TRUE (r->efficiency >= 0 && r->efficiency <= 1.001);
  CU_ASSERT_EQUAL_FATAL (r->n_devices, 1);
  CU_ASSERT_EQUAL (r->devices[0].kind, HASS_DEVICE_CPU);
  CU_ASSERT_TRUE (r->devices[0].busy_s > 0);
  CU_ASSERT_TRUE (r->devices[0].busy_s <= r->makespan_s * 1.001);
  g_autofree char *text = hass_report_to_string (r);
  g_autofree char *json = hass_report_to_json (r);
  CU_ASSERT_PTR_NOT_NULL (strstr (text, "pipe"));
  CU_ASSERT_PTR_NOT_NULL (strstr (json, "\"pipe\""));
}

HASS_TEST_SUITE (
    pipeline,
    { "each token passes each stage once, as the stage's mode says",
      all_modes },
    { "a pipeline may have 32 stages, or one", most_stages },
    { "no more tokens than at_once are in a stage", at_once_is_a_bound },
    { "loads come from an array, a generator or both, and are released once",
      where_loads_come_from },
    { "the tag that a stage writes is the next stage's", tags_are_written },
    { "each stage has an accumulator of its own", accumulators },
    { "stages read the constants and the pipeline's user_data", constants },
    { "the report has the names, the loads and the times", report_fields })
