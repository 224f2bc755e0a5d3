/* SPDX-License-Identifier: MIT */
/* test_cold_pair.c: of two GPUs that take long to start one goes first, and
   the second follows only when that can pay.
   Thread safety: one thread, beside the engine's and the stand-in's. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cold_trial.h"
#include "device/cuda/gpus-private.h"
#include "hass_test.h"
#include "sched/registry.h"
#include "tests/engine/trial.h"

/* -- Work --------------------------------------------------------------- */

/* GPUs whose start had begun when the first of them got a bundle. */
static _Atomic guint begun_at_first;
/* What the start of this first GPU counts as having taken, in ms; 0: what it
   took. */
static guint took_ms;
static _Atomic guint computed_on; /* bits of GPUs */

static gboolean
notes_starts (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
              GError **error)
{
  guint none = 0, gpu = (guint)fake_current_device ();
  if (atomic_compare_exchange_strong (&begun_at_first, &none,
                                      fake_cudart_counts ().opening)
      && took_ms > 0)
    fake_machine_set_start (gpu, took_ms);
  atomic_fetch_or (&computed_on, 1u << gpu);
  return counting_gpu_worker (bundle, stream, data, error);
}

/* A bundle takes 5 ms; the last ones wait until both GPUs compute. */
static gboolean
needs_both (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
            GError **error)
{
  gboolean ok = notes_starts (bundle, stream, data, error);
  usleep (5000);
  while (atomic_load (&counting_on_gpu) >= 50
         && atomic_load (&computed_on) != 3)
    usleep (100);
  return ok;
}

static gboolean
hangs_without_both (const HassBundle *bundle, HassGpuStream *stream,
                    gpointer data, GError **error)
{
  cold_await_starts (2);
  return notes_starts (bundle, stream, data, error);
}

/* Ends while the first GPU is being started. */
static gboolean
generate_and_wait (HassEmitter *emitter, gpointer data, GError **error)
{
  gboolean ok = cold_emit_all (emitter);
  (void)data, (void)error;
  cold_await_starts (1);
  usleep (10000); /* in which the other one must not begin */
  return ok;
}

/* -- Farms on two cold GPUs alone ---------------------------------------- */

/**
 * Pair: such a farm; starts are said to take an hour where @said_ms is 0.
 * @took_ms: what the first one's start counts as having taken; 0: an hour.
 * @begun_first: starts that must have begun when the first bundle comes.
 * @begun: starts that must have begun when the farm ends.
 */
typedef struct
{
  const char *strategy;
  HassGpuWorkerFunc worker;
  guint n_loads, kernel_ms, said_ms, took_ms, begun_first, begun;
} Pair;

static void
install (const FakePlan *plan, guint took)
{
  atomic_store (&begun_at_first, 0);
  atomic_store (&computed_on, 0);
  took_ms = took;
  fake_machine_begin (plan);
}

static gpointer
let_both_open (gpointer data)
{
  cold_await_starts (2);
  fake_let_open ();
  return data;
}

/* Where both GPUs must have begun to start before the first bundle, no start
   ends before. */
static void
start_two (const Pair *p)
{
  HassDataFarm farm = cold_farm (NULL, p->n_loads);
  FakePlan plan = { .n_devices = 2,
                    .start_ms = p->said_ms > 0 ? p->said_ms : COLD_HOUR_MS,
                    .open_ms = 20,
                    .kernel_delay_us = 1000 * p->kernel_ms,
                    .hold_opening = p->begun_first == 2 && p->said_ms == 0 };
  farm.gpu_worker = p->worker;
  farm.round_loads = p->n_loads;
  farm.run.strategy = p->strategy;
  install (&plan, p->took_ms > 0 ? p->took_ms : COLD_HOUR_MS);
  GThread *thread
      = plan.hold_opening ? g_thread_new ("opens", let_both_open, NULL) : NULL;
  hass_report_free (cold_run (&farm));
  if (thread)
    g_thread_join (thread);
  CU_ASSERT_EQUAL (atomic_load (&begun_at_first), p->begun_first);
  CU_ASSERT_EQUAL (fake_cudart_counts ().opening, p->begun);
  CU_ASSERT_EQUAL (atomic_load (&counting_on_gpu), p->n_loads);
  if (atomic_load (&begun_at_first) != p->begun_first
      || fake_cudart_counts ().opening != p->begun)
    g_printerr ("\n    %s: %u, %u", p->strategy, atomic_load (&begun_at_first),
                fake_cudart_counts ().opening);
  fake_machine_end ();
}

/* -- Tests -------------------------------------------------------------- */

/* The first bundle, in which what is made once is made, has the runtime to
   itself. */
static void
one_goes_first (void)
{
  static const char *const strategies[] = { "auto", "naive-greedy" };
  for (guint s = 0; s < G_N_ELEMENTS (strategies); s++)
    start_two (&(Pair){ .strategy = strategies[s],
                        .worker = notes_starts,
                        .n_loads = N_COLD_LOADS,
                        .begun_first = 1,
                        .begun = 1 });
}

/* After a start of 20 ms, 0.5 s of bundles are left. */
static void
second_follows (void)
{
  start_two (&(Pair){ .strategy = "naive-greedy",
                      .worker = needs_both,
                      .n_loads = 100,
                      .took_ms = 20,
                      .begun_first = 1,
                      .begun = 2 });
}

/* The first one's second bundle comes back after a fortieth of a start, but
   before ten fortieths unless the machine stands still for 4 s. */
static void
slow_bundles (void)
{
  start_two (&(Pair){ .strategy = "naive-greedy",
                      .worker = notes_starts,
                      .n_loads = 3,
                      .kernel_ms = 700,
                      .took_ms = 20000,
                      .begun_first = 1,
                      .begun = 1 });
}

/* All loads are known long before the first GPU is ready. */
static void
one_before_all_is_known (void)
{
  HassDataFarm farm = cold_farm (NULL, 0);
  FakePlan plan = { .n_devices = 2, .start_ms = COLD_HOUR_MS, .open_ms = 300 };
  farm.generate = generate_and_wait;
  farm.gpu_worker = notes_starts;
  install (&plan, COLD_HOUR_MS);
  watchdog (60, "a generator beside two cold GPUs");
  CU_ASSERT_TRUE (hass_data_farm_combine (&farm, NULL, NULL));
  watchdog (0, NULL);
  CU_ASSERT_EQUAL (atomic_load (&begun_at_first), 1);
  fake_machine_end ();
}

static void
both_with_shares (void)
{
  static const char *const strategies[] = { "gpu-only", "static" };
  for (guint s = 0; s < G_N_ELEMENTS (strategies); s++)
    start_two (&(Pair){ .strategy = strategies[s],
                        .worker = notes_starts,
                        .n_loads = N_COLD_LOADS,
                        .begun_first = 2,
                        .begun = 2 });
}

/* It waits for as long as a start was said to take and then took. */
static void
not_for_ever (void)
{
  start_two (&(Pair){ .strategy = "auto",
                      .worker = hangs_without_both,
                      .n_loads = N_COLD_LOADS,
                      .said_ms = 500,
                      .begun_first = 2,
                      .begun = 2 });
}

/* Some of them need the GPU, as their cores wait for it, some do not. */
static void
under_any_strategy (void)
{
  const HassStrategyOps *const *list = hass_builtin_strategies;
  for (guint s = 0; list[s]; s++)
    for (guint cores = 0; cores < 2; cores++)
      {
        HassDataFarm farm = cold_farm (cores ? counting_cpu_worker : NULL, 400);
        FakePlan plan
            = { .n_devices = 2, .start_ms = COLD_HOUR_MS, .open_ms = 5 };
        if (!(list[s]->farms & HASS_FARM_COMBINE))
          continue;
        farm.run.strategy = list[s]->name;
        farm.round_loads = s % 2 ? 100 : 0;
        fake_machine_begin (&plan);
        hass_report_free (cold_run (&farm));
        fake_machine_end ();
      }
}

/* What a start took is expected of the next GPU. */
static void
learns (void)
{
  HassDataFarm farm = cold_farm (NULL, N_COLD_LOADS);
  cold_install (2, COLD_HOUR_MS);
  farm.run.n_gpus = 1;
  hass_report_free (cold_run (&farm));
  CU_ASSERT_EQUAL (hass_gpu_start_ns (hass_gpus_get (0)), 0);
  gint64 ns = hass_gpu_start_ns (hass_gpus_get (1));
  CU_ASSERT_TRUE (ns > 0 && ns < COLD_HOUR_MS * G_GINT64_CONSTANT (1000000));
  fake_machine_end ();
}

/* Two GPUs, of which one is started; the trace says when, and how long that
   took. */
static void
traced (void)
{
  g_autofree char *path = trial_file ("");
  g_autofree char *text = NULL;
  HassDataFarm farm = cold_farm (NULL, 6);
  FakePlan plan = { .n_devices = 2, .start_ms = COLD_HOUR_MS, .open_ms = 50 };
  farm.gpu_worker = notes_starts;
  farm.run.trace = path;
  install (&plan, COLD_HOUR_MS);
  hass_report_free (cold_run (&farm));
  fake_machine_end ();
  CU_ASSERT_TRUE_FATAL (g_file_get_contents (path, &text, NULL, NULL));
  unlink (path);
  g_auto (GStrv) lines = g_strsplit (text, "\n", 0);
  guint n[2] = { 0, 0 };
  for (char **l = lines; *l; l++)
    {
      gint64 end, begin;
      char device, ok;
      if (sscanf (*l,
                  "{\"t\":%" G_GINT64_FORMAT
                  ",\"event\":\"open\",\"device\":\"gpu%c\""
                  ",\"begin\":%" G_GINT64_FORMAT ",\"ok\":%c",
                  &end, &device, &begin, &ok)
          != 4)
        continue;
      CU_ASSERT_TRUE (end - begin >= (ok == 't' ? 50000000 : 0));
      n[ok == 't']++;
    }
  CU_ASSERT_EQUAL (n[0], 1);
  CU_ASSERT_EQUAL (n[1], 1);
}

HASS_TEST_SUITE (
    cold_pair,
    { "of two GPUs one goes first, and may suffice", one_goes_first },
    { "the second of two GPUs follows when that can pay", second_follows },
    { "of two GPUs with long bundles one may suffice", slow_bundles },
    { "one of two GPUs starts first before all loads are known",
      one_before_all_is_known },
    { "both GPUs start where each has its share", both_with_shares },
    { "the second GPU's start is not put off for ever", not_for_ever },
    { "a farm with a cold GPU ends under every strategy", under_any_strategy },
    { "the next GPU is taken to start as fast", learns },
    { "a trace shows when GPUs were started", traced })
