/* SPDX-License-Identifier: MIT */
/* test_buffers.c: what a load with HASS_LOAD_BUFFER may name, and when the
   buffer is used again; copies of emitted tasks.
   Thread safety: one thread. */
#include <stdatomic.h>
#include <string.h>

#include "guarded.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define BYTES 4096
#define ROUNDS 2000

typedef struct
{
  gsize offset, bytes; /* of a load in its buffer */
  guint n_loads;       /* in a buffer */
  GHashTable *seen;    /* buffers that were handed out */
  _Atomic guint wrong, computed, released;
  const char *how;
  gboolean accepted;
} Use;

/* -- Right uses --------------------------------------------------------- */

static gboolean
look (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  Use *use = data;
  (void)worker, (void)error;
  use->computed++;
  use->wrong += block->input[0] != (guint8)GPOINTER_TO_UINT (block->load->tag);
  return TRUE;
}

static gboolean
fill_and_emit (HassEmitter *emitter, gpointer data, GError **error)
{
  Use *use = data;
  (void)error;
  for (guint i = 0; i < ROUNDS; i++)
    {
      guint8 *buffer = hass_emitter_buffer (emitter, BYTES);
      g_hash_table_add (use->seen, buffer);
      memset (buffer, (guint8)i, BYTES);
      for (guint k = 0; k < use->n_loads; k++)
        {
          HassLoad load = { .input = buffer + use->offset + k * use->bytes,
                            .input_bytes = use->bytes,
                            .size = 1,
                            .tag = GUINT_TO_POINTER (i),
                            .flags = HASS_LOAD_BUFFER };
          if (!hass_emitter_emit (emitter, &load))
            return TRUE;
        }
    }
  return TRUE;
}

/* How many buffers served. */
static guint
run_use (Use *use)
{
  GError *error = NULL;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "buffers";
  f.generate = fill_and_emit;
  f.cpu_worker = look;
  f.user_data = use;
  f.pool_loads = 16;
  f.run.n_cores = 2;
  use->seen = g_hash_table_new (NULL, NULL);
  CU_ASSERT_TRUE (guarded (hass_data_farm_combine, &f, NULL, &error));
  if (error)
    g_printerr ("\n    %s", error->message);
  g_clear_error (&error);
  guint n = g_hash_table_size (use->seen);
  g_hash_table_unref (use->seen);
  CU_ASSERT_EQUAL (use->wrong, 0);
  CU_ASSERT_EQUAL (use->computed, ROUNDS * use->n_loads);
  return n;
}

static void
offsets_are_recycled (void)
{
  static const gsize offsets[] = { 0, 1, 64, 1000 };
  for (guint i = 0; i < G_N_ELEMENTS (offsets); i++)
    {
      Use use = { .offset = offsets[i], .bytes = 100, .n_loads = 1 };
      CU_ASSERT_TRUE (run_use (&use) <= 64);
    }
}

static void
shared_until_the_last (void)
{
  Use use = { .bytes = BYTES / 8, .n_loads = 8 };
  CU_ASSERT_TRUE (run_use (&use) <= 64);
}

/* A worker may emit loads that lie where its own does. */
static gboolean
emit_halves (const HassBlock *block, HassWorker *worker, gpointer data,
             GError **error)
{
  HassLoad half = *block->load;
  if (half.input_bytes <= BYTES / 16)
    return look (block, worker, data, error);
  half.input_bytes /= 2;
  gboolean ok = hass_worker_emit (worker, &half);
  half.input = (const guint8 *)half.input + half.input_bytes;
  return ok && hass_worker_emit (worker, &half);
}

static void
nested_in_the_same (void)
{
  Use use = { .bytes = BYTES, .n_loads = 1 };
  GError *error = NULL;
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.name = "halves";
  f.generate = fill_and_emit;
  f.cpu_worker = emit_halves;
  f.user_data = &use;
  f.pool_loads = 16;
  f.run.n_cores = 2;
  use.seen = g_hash_table_new (NULL, NULL);
  CU_ASSERT_TRUE (guarded (hass_data_farm_combine, &f, NULL, &error));
  CU_ASSERT_PTR_NULL (error);
  CU_ASSERT_EQUAL (use.computed, ROUNDS * 16);
  CU_ASSERT_EQUAL (use.wrong, 0);
  CU_ASSERT_TRUE (g_hash_table_size (use.seen) < ROUNDS / 2);
  g_hash_table_unref (use.seen);
}

/* -- Wrong uses --------------------------------------------------------- */

static guint8 foreign[BYTES];

/* Emits what the case says; the last emission is the wrong one. */
static gboolean
emit_wrong (HassEmitter *emitter, gpointer data, GError **error)
{
  Use *use = data;
  guint8 *first = hass_emitter_buffer (emitter, BYTES);
  HassLoad load = {
    .input = first, .input_bytes = 64, .size = 1, .flags = HASS_LOAD_BUFFER
  };
  static HassLoad array[2];
  (void)error;
  memset (first, 0, BYTES);
  if (!strcmp (use->how, "foreign") || !strcmp (use->how, "array"))
    load.input = foreign + 128;
  else if (!strcmp (use->how, "none"))
    load.input = NULL;
  else if (!strcmp (use->how, "behind"))
    load.input = first + BYTES;
  else if (!strcmp (use->how, "before"))
    load.input = first - 1;
  else if (!strcmp (use->how, "long"))
    load.input = first + BYTES - 63;
  else
    {
      hass_emitter_emit (emitter, &load);
      hass_emitter_buffer (emitter, BYTES);
    }
  array[0] = (HassLoad){ .size = 1 };
  array[1] = load;
  use->accepted = !strcmp (use->how, "array")
                      ? hass_emitter_emit_array (emitter, array, 2)
                      : hass_emitter_emit (emitter, &load);
  return TRUE;
}

static gboolean
do_nothing (const HassBlock *block, HassWorker *worker, gpointer data,
            GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

static void
others_are_refused (void)
{
  static const char *const cases[][2] = {
    { "foreign", "load 0: HASS_LOAD_BUFFER is set, but its input lies in no" },
    { "none", "load 0: HASS_LOAD_BUFFER is set, but its input lies in no" },
    { "behind", "load 0: HASS_LOAD_BUFFER is set, but its input lies in no" },
    { "before", "load 0: HASS_LOAD_BUFFER is set, but its input lies in no" },
    { "long", "load 0: HASS_LOAD_BUFFER is set, but its input ends behind" },
    { "array", "load 1: HASS_LOAD_BUFFER is set, but its input lies in no" },
    { "twice", "load 1: HASS_LOAD_BUFFER is set, but its buffer" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Use use = { .how = cases[i][0], .accepted = TRUE };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.name = use.how;
      f.generate = emit_wrong;
      f.cpu_worker = do_nothing;
      f.user_data = &use;
      f.run.n_cores = 1;
      CU_ASSERT_TRUE (fails_with (hass_data_farm_combine, &f, HASS_ERROR_MISUSE,
                                  cases[i][1]));
      CU_ASSERT_FALSE (use.accepted);
    }
}

static gboolean
emit_foreign (const HassBlock *block, HassWorker *worker, gpointer data,
              GError **error)
{
  HassLoad load = {
    .input = foreign, .input_bytes = 1, .size = 1, .flags = HASS_LOAD_BUFFER
  };
  (void)block, (void)error;
  ((Use *)data)->accepted = hass_worker_emit (worker, &load);
  return TRUE;
}

static void
nested_is_refused (void)
{
  Use use = { .accepted = TRUE };
  HassLoad load = { .size = 1 };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = &load;
  f.n_loads = 1;
  f.cpu_worker = emit_foreign;
  f.user_data = &use;
  CU_ASSERT_TRUE (fails_with (hass_data_farm_combine, &f, HASS_ERROR_MISUSE,
                              "a load emitted by load 0: HASS_LOAD_BUFFER"));
  CU_ASSERT_FALSE (use.accepted);
}

/* A buffer nobody emits, and one that is larger than any memory. */
static gboolean
only_ask (HassEmitter *emitter, gpointer data, GError **error)
{
  Use *use = data;
  (void)error;
  for (guint i = 0; i < 100; i++)
    use->wrong += hass_emitter_buffer (emitter, BYTES) == NULL;
  if (use->how)
    use->wrong += hass_emitter_buffer (emitter, G_MAXSIZE / 2) != NULL;
  return TRUE;
}

static void
never_emitted (void)
{
  for (guint large = 0; large < 2; large++)
    {
      Use use = { .how = large ? "large" : NULL };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.generate = only_ask;
      f.cpu_worker = do_nothing;
      f.user_data = &use;
      gboolean right
          = large ? fails_with (hass_data_farm_combine, &f,
                                HASS_ERROR_NO_MEMORY, "no memory for a buffer")
                  : guarded (hass_data_farm_combine, &f, NULL, NULL);
      CU_ASSERT_TRUE (right);
      CU_ASSERT_EQUAL (use.wrong, 0);
    }
}

/* -- Copies of tasks ---------------------------------------------------- */

#define DEPTH 12

static gboolean
count_down (const HassTask *task, HassWorker *worker, gpointer data,
            GError **error)
{
  Use *use = data;
  guint depth = GPOINTER_TO_UINT (task->data);
  HassTask child = { .cpu = count_down, .data = GUINT_TO_POINTER (depth - 1) };
  (void)error;
  use->computed++;
  gboolean ok = TRUE;
  for (guint i = 0; depth > 0 && i < 2; i++)
    ok &= hass_worker_emit_task (worker, &child);
  child.cpu = NULL;
  return ok && (!use->how || depth != DEPTH / 2);
}

static void
count_release (const HassTask *task, gboolean committed, gpointer data)
{
  Use *use = data;
  (void)committed;
  use->released++;
  use->wrong
      += task->cpu != count_down || GPOINTER_TO_UINT (task->data) > DEPTH;
}

static gboolean
one_task (HassEmitter *emitter, gpointer data, GError **error)
{
  HassTask task = { .cpu = count_down, .data = GUINT_TO_POINTER (DEPTH) };
  (void)data, (void)error;
  gboolean ok = hass_emitter_emit_task (emitter, &task);
  task.cpu = NULL;
  return ok;
}

/* A tree of tasks that all lay on the stack; with failing units, whose
   children are dropped. */
static void
tasks_are_copied (void)
{
  for (guint failing = 0; failing < 2; failing++)
    {
      Use use = { .how = failing ? "failing" : NULL };
      g_autoptr (HassReport) report = NULL;
      HassFunctionFarm f = HASS_FUNCTION_FARM_INIT;
      f.generate = one_task;
      f.release = count_release;
      f.user_data = &use;
      f.run.n_cores = 2;
      f.run.on_error = HASS_ON_ERROR_CONTINUE;
      watchdog (30, "copied tasks");
      CU_ASSERT_TRUE (hass_function_farm (&f, &report, NULL));
      watchdog (0, NULL);
      guint n = (failing ? 1 << (DEPTH / 2 + 1) : 1 << (DEPTH + 1)) - 1;
      CU_ASSERT_EQUAL (use.computed, n);
      CU_ASSERT_EQUAL (use.released, n);
      CU_ASSERT_EQUAL (use.wrong, 0);
      CU_ASSERT_EQUAL (report->n_unfinished, failing ? 1 << DEPTH / 2 : 0);
    }
}

HASS_TEST_SUITE (
    buffers,
    { "a load may begin anywhere in its buffer, which is used again",
      offsets_are_recycled },
    { "a buffer that several loads share is used again after the last",
      shared_until_the_last },
    { "loads that a worker emits may share the buffer of its own load",
      nested_in_the_same },
    { "a load that claims what is no buffer of its own is refused and named",
      others_are_refused },
    { "a load that a worker emits with a buffer not its own is refused and "
      "named",
      nested_is_refused },
    { "buffers that no load claims are freed; one too large is no memory",
      never_emitted },
    { "emitted tasks are copied, and the copies are released once",
      tasks_are_copied })
