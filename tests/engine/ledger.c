/* SPDX-License-Identifier: MIT */
/* ledger.c: the callbacks of a trial's farm; see ledger.h.
   Thread safety: see ledger.h. */
#include "ledger.h"

#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

#include "device/fake_cudart.h"
#include "engine/core/callback.h"
#include "stand_in.h"

#define POISON 0xdeadbeef

void
ledger_blame (Ledger *l, const char *what)
{
  const char *none = NULL;
  atomic_compare_exchange_strong (&l->wrong, &none, what);
}

/* Called for each byte of what is checked. Neither this nor ledger_input() sees
   anything that changes, so ThreadSanitizer need not watch them. */
__attribute__ ((no_sanitize ("thread"))) static guint32
mix (guint64 seed, guint a, guint b)
{
  guint64 x = seed * 0x9E3779B97F4A7C15u + a * 0xBF58476D1CE4E5B9u + b;
  x ^= x >> 31;
  x *= 0x94D049BB133111EBu;
  return (guint32)(x >> 32);
}

/* -- Loads -------------------------------------------------------------- */

static gsize
size_of (const Ledger *l, guint id)
{
  return 1 + mix (l->t->seed, id, 1) % l->t->most_elements;
}

gsize
ledger_cells (const Ledger *l, guint id)
{
  return l->t->kind == HASS_FARM_PARTITION ? size_of (l, id) : 1;
}

HassLoad
ledger_load (Ledger *l, guint id)
{
  gsize size = size_of (l, id);
  return (HassLoad){ .input = l->input + (gsize)id * l->stride,
                     .input_bytes = size,
                     .output = l->output + (gsize)id * l->stride,
                     .output_bytes = size,
                     .size = size,
                     .tag = GUINT_TO_POINTER (id + 1) };
}

/* What lies in a load, at random; and what each byte becomes. */
__attribute__ ((no_sanitize ("thread"))) guint8
ledger_input (const Ledger *l, guint id, gsize at)
{
  return (guint8)mix (l->t->seed, id, 11 + at);
}

guint8
ledger_value (guint8 input)
{
  return (guint8)(3 * input + 1);
}

static gboolean cpu_task (const HassTask *task, HassWorker *worker,
                          gpointer user_data, GError **error);
static gboolean gpu_task (const HassBundle *bundle, HassGpuStream *stream,
                          gpointer user_data, GError **error);
static gboolean other_task (const HassBundle *bundle, HassGpuStream *stream,
                            gpointer user_data, GError **error);

void
ledger_make_task (Ledger *l, guint id)
{
  HassLoad load = ledger_load (l, id);
  guint which = l->t->odd_tasks ? mix (l->t->seed, id, 2) % 4 : 0;
  /* A modelled machine needs the CPU function for the result. */
  gboolean cpu = which != 1 || l->t->platform
                 || (l->t->n_devices == 0 && l->t->n_gpus == 0);
  if (l->t->gpu_only && l->t->n_gpus > 0)
    which = 1, cpu = FALSE;
  /* In every other trial no task is simple. */
  gsize least = 1 + l->t->seed % 2;
  l->tasks[id]
      = (HassTask){ .cpu = cpu ? cpu_task : NULL,
                    .gpu = which == 2 ? NULL
                           : id % 3   ? gpu_task
                                      : other_task,
                    .data = load.tag,
                    .input = load.input,
                    .input_bytes = load.input_bytes,
                    .output = load.output,
                    .output_bytes = load.output_bytes,
                    .expected_time = load.size,
                    .parallelism = MAX (id % 3 ? load.size : 1, least) };
}

static guint
id_of (gpointer tag)
{
  return GPOINTER_TO_UINT (tag) - 1;
}

/* -- Computing ---------------------------------------------------------- */

static void
count (Ledger *l, _Atomic guint8 *of, guint id, gsize first, gsize n)
{
  if (id >= l->n_max || first + n > ledger_cells (l, id))
    {
      ledger_blame (l, "a block outside its load");
      return;
    }
  for (gsize i = 0; i < n; i++)
    atomic_fetch_add_explicit (&of[(gsize)id * l->stride + first + i], 1,
                               memory_order_relaxed);
}

static void
check_input (Ledger *l, guint id, gsize first, gsize n, const guint8 *input)
{
  for (gsize i = 0; i < n; i++)
    if (input[i] != ledger_input (l, id, first + i))
      {
        ledger_blame (l, "input bytes are not the load's");
        return;
      }
}

static gboolean
emit_nested (Ledger *l, HassWorker *worker, guint id)
{
  HassLoad load = ledger_load (l, id);
  if (l->t->kind != HASS_FARM_FUNCTION)
    return hass_worker_emit (worker, &load);
  /* The library copies it. */
  ledger_make_task (l, id);
  HassTask task = l->tasks[id];
  gboolean ok = hass_worker_emit_task (worker, &task);
  memset (&task, 0xA5, sizeof task);
  return ok;
}

/* What a failing unit leaves behind; nobody must see it. */
static void
leave_poison (Ledger *l, HassWorker *worker)
{
  static const HassTask task
      = { .cpu = cpu_task, .data = GUINT_TO_POINTER (POISON) };
  guint32 poison = POISON;
  HassLoad load = { .size = 1, .tag = GUINT_TO_POINTER (POISON) };
  if (l->t->collect)
    hass_worker_result (worker, &poison, sizeof poison);
  if (l->t->kind == HASS_FARM_FUNCTION)
    hass_worker_emit_task (worker, &task);
  else
    hass_worker_emit (worker, &load);
}

/* What is computed at once: elements of the load @id. */
typedef struct
{
  guint id;
  gsize first, n;
  gboolean on_core;
} Unit;

static gboolean
unit (Ledger *l, const Unit *u, HassWorker *worker, GError **error)
{
  const Trial *t = l->t;
  gsize cells = t->kind == HASS_FARM_PARTITION ? u->n : 1;
  gboolean fails = mix (t->seed, u->id, u->first + 7) % 100 < t->fail_percent;
  guint nth = atomic_fetch_add (&l->n_units, 1) + 1;
  if (u->id >= l->n_max)
    {
      ledger_blame (l, "a load that a failed unit emitted was computed");
      return TRUE;
    }
  if (t->spin_us > 0 && u->on_core && !hass_worker_stopping (worker))
    usleep (mix (t->seed, u->id, 3) % t->spin_us);
  if (u->on_core && worker->unneeded && *worker->unneeded)
    {
      leave_poison (l, worker);
      return FALSE;
    }
  if (t->cancel_after > 0 && nth == t->cancel_after && !t->collect)
    g_cancellable_cancel (l->cancellable);
  if (fails)
    {
      leave_poison (l, worker);
      count (l, l->failed, u->id, u->first, cells);
      atomic_fetch_add (&l->n_failed, 1);
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "load %u", u->id);
      return FALSE;
    }
  if (t->reduce && u->on_core)
    *(guint64 *)hass_worker_accumulator (worker) += cells;
  if (mix (t->seed, u->id, u->first + 9) % 100 < t->nested_percent)
    {
      guint child = atomic_fetch_add (&l->n_ids, 1);
      if (child < l->n_max && emit_nested (l, worker, child))
        atomic_store (&l->accepted[child], 1);
    }
  count (l, l->computed, u->id, u->first, cells);
  return TRUE;
}

/* Odd loads emit a result, even ones leave their output. */
static void
result (Ledger *l, guint id, gsize first, gsize n, HassWorker *worker)
{
  guint8 *out = l->output + (gsize)id * l->stride + first;
  if (id >= l->n_max)
    return;
  for (gsize i = 0; i < n; i++)
    out[i] = ledger_value (ledger_input (l, id, first + i));
  if (l->t->collect && id % 2)
    hass_worker_result (worker, out, n);
}

static void
enter (Ledger *l, HassWorker *worker)
{
  if (hass_worker_index (worker) >= hass_worker_count (worker)
      || atomic_fetch_add (&l->busy[hass_worker_index (worker)], 1) != 0)
    ledger_blame (l, "two callbacks at once with the same worker index");
}

gboolean
ledger_cpu_worker (const HassBlock *b, HassWorker *worker, gpointer data,
                   GError **error)
{
  Ledger *l = data;
  guint id = id_of (b->load->tag);
  enter (l, worker);
  if (id < l->n_max)
    {
      check_input (l, id, b->first - b->halo_before,
                   b->count + b->halo_before + b->halo_after,
                   b->input - b->halo_before);
      if (b->input_bytes != b->count || b->output_bytes != b->count)
        ledger_blame (l, "a block's bytes are not its elements'");
    }
  result (l, id, b->first, b->count, worker);
  Unit u = { id, b->first, b->count, TRUE };
  gboolean ok = unit (l, &u, worker, error);
  atomic_fetch_sub (&l->busy[hass_worker_index (worker)], 1);
  return ok;
}

static gboolean
cpu_task (const HassTask *task, HassWorker *worker, gpointer data,
          GError **error)
{
  Ledger *l = data;
  guint id = id_of (task->data);
  enter (l, worker);
  if (id < l->n_max)
    check_input (l, id, 0, size_of (l, id), task->input);
  result (l, id, 0, id < l->n_max ? size_of (l, id) : 0, worker);
  Unit u = { id, 0, 1, TRUE };
  gboolean ok = unit (l, &u, worker, error);
  atomic_fetch_sub (&l->busy[hass_worker_index (worker)], 1);
  return ok;
}

/* -- On a device -------------------------------------------------------- */

static void
kernel (const HassBundle *bundle, gpointer data)
{
  Ledger *l = data;
  for (gsize i = 0; i < bundle->n_blocks; i++)
    {
      const HassBlock *b = &bundle->blocks[i];
      gboolean task = l->t->kind == HASS_FARM_FUNCTION;
      guint id = id_of (task ? ((HassTask *)b->load->tag)->data : b->load->tag);
      gsize n = bundle->offsets[i + 1] - bundle->offsets[i];
      guint8 *out = bundle->output + bundle->output_offsets[i];
      if (n != b->input_bytes + b->halo_before + b->halo_after
          || bundle->halos[i] != b->halo_before)
        ledger_blame (l, "a block came without its halos");
      else
        check_input (l, id, b->first - b->halo_before, n,
                     bundle->input + bundle->offsets[i]);
      for (gsize k = 0; k < b->output_bytes; k++)
        out[k] = ledger_value (ledger_input (l, id, b->first + k));
      if (task)
        count (l, l->computed, id, 0, 1);
    }
}

gboolean
ledger_gpu_worker (const HassBundle *bundle, HassGpuStream *stream,
                   gpointer data, GError **error)
{
  (void)error;
  stand_in_launch (stream, kernel, bundle, data);
  return TRUE;
}

static gboolean
gpu_task (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
          GError **error)
{
  const Ledger *l = data;
  return l->t->n_gpus > 0 ? ledger_cuda_worker (bundle, stream, data, error)
                          : ledger_gpu_worker (bundle, stream, data, error);
}

/* Tasks of two workers, so that a bundle has groups. */
static gboolean
other_task (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
            GError **error)
{
  return gpu_task (bundle, stream, data, error);
}

/* -- On a GPU of the stand-in for CUDA's runtime ------------------------ */

typedef struct
{
  guint32 at, value;
} Record;

static gboolean
is_recorded (guint8 input)
{
  return input % 4 == 0;
}

/* What it reads and writes is as on a GPU, where no block is known; it may run
   when the farm that has given it up is over. */
static void
cuda_kernel (const HassBundle *b, gpointer kind)
{
  gboolean cut = GPOINTER_TO_UINT (kind) == HASS_FARM_PARTITION;
  guint64 cells = 0;
  for (gsize i = 0; i < b->n_blocks; i++)
    {
      const guint8 *in = fake_input (b, i);
      guint8 *out = fake_output (b, i);
      gsize n = b->output_offsets
                    ? b->output_offsets[i + 1] - b->output_offsets[i]
                    : b->output_bytes;
      for (gsize k = 0; k < n; k++)
        {
          Record record = { (guint32)k, in[k] };
          out[k] = ledger_value (in[k]);
          if (b->record_bytes > 0 && is_recorded (in[k]))
            fake_append (b, (guint32)i, &record);
        }
      cells += cut ? n : 1;
    }
  if (b->accumulator)
    __atomic_fetch_add ((guint64 *)b->accumulator, cells, __ATOMIC_RELAXED);
}

gboolean
ledger_cuda_worker (const HassBundle *bundle, HassGpuStream *stream,
                    gpointer data, GError **error)
{
  Ledger *l = data;
  if (bundle->n_constants != 1 || !bundle->constants[0])
    ledger_blame (l, "the constant is not on the GPU");
  fake_launch (stream, cuda_kernel, bundle, GUINT_TO_POINTER (l->t->kind));
  return fake_check ("launch", error);
}

gboolean
ledger_gpu_result (const HassBlock *b, gconstpointer records, gsize n,
                   HassWorker *worker, gpointer data, GError **error)
{
  Ledger *l = data;
  guint id = id_of (b->load->tag);
  gsize wanted = 0;
  for (gsize k = 0; l->t->records && k < b->count && id < l->n_max; k++)
    wanted += is_recorded (b->input[k]);
  if (n != wanted)
    ledger_blame (l, "a block's records are not as many as it has");
  for (gsize i = 0; i < MIN (n, wanted); i++)
    {
      const Record *r = &((const Record *)records)[i];
      if (r->at >= b->count || b->input[r->at] != r->value)
        ledger_blame (l, "a record is not the block's");
    }
  Unit u = { id, b->first, b->count, FALSE };
  return unit (l, &u, worker, error);
}

gboolean
ledger_unbundle (const HassBlock *blocks, gsize n, const HassStaging *staging,
                 gpointer data, GError **error)
{
  Ledger *l = data;
  for (gsize i = 0; i < n; i++)
    count (l, l->computed, id_of (blocks[i].load->tag), blocks[i].first,
           l->t->kind == HASS_FARM_PARTITION ? blocks[i].count : 1);
  return hass_staging_scatter (blocks, n, staging, NULL, NULL, error);
}

/* -- The other callbacks ------------------------------------------------ */

gboolean
ledger_generate (HassEmitter *emitter, gpointer data, GError **error)
{
  Ledger *l = data;
  (void)error;
  for (guint id = l->t->n_loads - l->t->n_generated; id < l->t->n_loads; id++)
    {
      HassTask task = l->tasks[id];
      gboolean ok = l->t->kind == HASS_FARM_FUNCTION
                        ? hass_emitter_emit_task (emitter, &task)
                        : hass_emitter_emit (emitter, &l->loads[id]);
      memset (&task, 0xA5, sizeof task);
      if (!ok)
        return TRUE;
      atomic_store (&l->accepted[id], 1);
    }
  return TRUE;
}

gboolean
ledger_partition (const HassLoad *load, gsize first, gsize n, HassBlock *block,
                  gpointer data, GError **error)
{
  Ledger *l = data;
  (void)error;
  (void)n;
  block->count = MIN (1 + mix (l->t->seed, first, 5) % 9, load->size - first);
  return TRUE;
}

gboolean
ledger_collect (const HassResult *r, gpointer data, GError **error)
{
  Ledger *l = data;
  gboolean task = l->t->kind == HASS_FARM_FUNCTION;
  guint id = id_of (task ? ((HassTask *)r->tag)->data : r->tag);
  const guint8 *bytes = r->data;
  (void)error;
  if (atomic_exchange (&l->collecting, 1))
    ledger_blame (l, "two collectors at once");
  if (l->t->ordered && l->any_result
      && (r->seq < l->last_seq
          || (r->seq == l->last_seq && r->first <= l->last_first)))
    ledger_blame (l, "results out of order");
  l->any_result = TRUE;
  l->last_seq = r->seq;
  l->last_first = r->first;
  for (gsize i = 0; id < l->n_max && i < r->bytes; i++)
    if (bytes[i] != ledger_value (ledger_input (l, id, r->first + i)))
      ledger_blame (l, "result bytes are not the unit's");
  count (l, l->delivered, id, r->first,
         l->t->kind == HASS_FARM_PARTITION ? r->count : 1);
  if (l->t->cancel_after > 0 && l->n_units >= l->t->cancel_after)
    g_cancellable_cancel (l->cancellable);
  atomic_store (&l->collecting, 0);
  return TRUE;
}

static void
released (Ledger *l, guint id, gboolean committed)
{
  if (id >= l->n_max)
    {
      ledger_blame (l, "a load that a failed unit emitted was released");
      return;
    }
  atomic_fetch_add (&l->released[id], 1);
  atomic_store (&l->committed[id], committed);
}

void
ledger_release_load (const HassLoad *load, gboolean committed, gpointer data)
{
  released (data, id_of (load->tag), committed);
}

void
ledger_release_task (const HassTask *task, gboolean committed, gpointer data)
{
  released (data, id_of (task->data), committed);
}

void
ledger_add_sums (gpointer sum, gconstpointer part, gpointer data)
{
  (void)data;
  *(guint64 *)sum += *(const guint64 *)part;
}
