/* SPDX-License-Identifier: MIT */
/* test_virtual_window.c: how many bytes of tokens a pipeline has in flight.
   Thread safety: single-threaded. */
#include <string.h>
#include <unistd.h>

#include "hass/hass.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define CORES 16
#define N 320
#define MIB ((gsize)1 << 20)

static gboolean
nothing (HassToken *token, HassWorker *worker, gpointer data, GError **error)
{
  (void)token, (void)worker, (void)data, (void)error;
  return TRUE;
}

/* The modelled GPU runs no code. */
static gboolean
on_gpu (const HassBundle *bundle, HassGpuStream *stream, gpointer data,
        GError **error)
{
  (void)bundle, (void)stream, (void)data, (void)error;
  return TRUE;
}

/* The first stage takes long, in proportion to the bytes of a token, the
   second one no time; it is ordered. */
static const char cores[] = "[platform]\n"
                            "name = test\n"
                            "[cpu]\n"
                            "cores = 16\n"
                            "work_per_us = 0.001\n"
                            "[stage write]\n"
                            "cpu_work_per_us = 1000\n";

static const char gpu[] = "[gpu0]\n"
                          "multiprocessors = 1\n"
                          "width = 1\n"
                          "work_per_us = 0.1\n"
                          "launch_us = 5\n"
                          "link_us = 5\n"
                          "h2d_gbps = 1000\n";

typedef struct
{
  const char *gpu;
  gsize token_bytes, given_bytes, tokens;
} Case;

/* Returns (transfer full): the report of N tokens of c->token_bytes each, whose
   inputs are one and the same. */
static HassReport *
run (const Case *c)
{
  g_autofree char *input = g_malloc0 (c->token_bytes);
  g_autofree HassLoad *loads = g_new0 (HassLoad, N);
  for (guint i = 0; i < N; i++)
    loads[i] = (HassLoad){ .input = input, .input_bytes = c->token_bytes };
  const HassStage stages[] = {
    HASS_STAGE (.name = "compute", .cpu = nothing,
                .gpu = c->gpu ? on_gpu : NULL),
    HASS_STAGE (.name = "write", .mode = HASS_STAGE_ORDERED, .cpu = nothing),
  };
  g_autofree char *text = g_strconcat (cores, c->gpu, NULL);
  g_autofree char *path = trial_file (text);
  HassPipeline p = HASS_PIPELINE_INIT;
  p.loads = loads;
  p.n_loads = N;
  p.stages = stages;
  p.n_stages = G_N_ELEMENTS (stages);
  p.tokens = c->tokens;
  p.token_bytes = c->given_bytes;
  p.run.platform = path;
  g_autoptr (GError) error = NULL;
  HassReport *report = NULL;
  CU_ASSERT_TRUE (hass_pipeline (&p, &report, &error));
  if (error)
    g_printerr ("\n    %s", error->message);
  unlink (path);
  CU_ASSERT_PTR_NOT_NULL_FATAL (report);
  return report;
}

/* 12 MiB a token: 64 MiB would hold five. */
static void
large_tokens (void)
{
  g_autoptr (HassReport) r = run (&(Case){ .token_bytes = 12 * MIB });
  CU_ASSERT_EQUAL (r->most_bytes, 2 * CORES * 12 * MIB);
  CU_ASSERT_TRUE (r->efficiency > 0.95);
  CU_ASSERT_PTR_NOT_NULL (strstr (r->binding, "the cores bind"));
}

static void
small_tokens (void)
{
  g_autoptr (HassReport) r = run (&(Case){ .token_bytes = 64 });
  CU_ASSERT_EQUAL (r->most_bytes, 48 * MIB);
  CU_ASSERT_TRUE (r->most_tokens >= N);
}

/* A modelled host has 16 GiB. */
static void
part_of_memory (void)
{
  g_autoptr (HassReport) r = run (&(Case){ .token_bytes = 100 * MIB });
  g_autofree char *text = hass_report_to_string (r);
  CU_ASSERT_EQUAL (r->most_bytes, 1024 * MIB);
  CU_ASSERT_TRUE (r->efficiency < 0.7);
  CU_ASSERT_PTR_NOT_NULL (strstr (r->binding, "the bound on bytes of tokens "));
  CU_ASSERT_PTR_NOT_NULL (strstr (r->binding, " in flight) binds"));
  CU_ASSERT_PTR_NOT_NULL (strstr (text, " tokens and 1.0"));
}

static void
given (void)
{
  g_autoptr (HassReport) r
      = run (&(Case){ .token_bytes = 12 * MIB, .given_bytes = 64 * MIB });
  CU_ASSERT_EQUAL (r->most_bytes, 48 * MIB);
  CU_ASSERT_TRUE (r->efficiency < 0.3);
  CU_ASSERT_PTR_NOT_NULL (strstr (r->binding, "the bound on bytes"));
}

/* A GPU is a hundred times as fast as a core, so it serves 100 tokens while a
   core holds one, which the ordered stage waits for: more than are in flight
   unless the strategy asks for that. Bounded, the cores are left out, and the
   report says why. */
static void
held_up (void)
{
  g_autoptr (HassReport) r
      = run (&(Case){ .token_bytes = 6 * MIB, .gpu = gpu });
  g_autoptr (HassReport) bounded = run (&(Case){
      .token_bytes = 6 * MIB, .given_bytes = 64 * 6 * MIB, .gpu = gpu });
  CU_ASSERT_TRUE (r->most_bytes > 64 * 6 * MIB);
  CU_ASSERT_TRUE (r->most_bytes <= 1024 * MIB);
  CU_ASSERT_TRUE (r->makespan_s < bounded->makespan_s);
  CU_ASSERT_PTR_NULL (r->stages[0].left_out);
  CU_ASSERT_PTR_NULL (bounded->stages[1].left_out);
  g_autofree char *text = hass_report_to_string (bounded);
  CU_ASSERT_PTR_NOT_NULL (
      strstr (text, "left out of 'compute': cores: none was tried"));
}

HASS_TEST_SUITE (
    virtual_window,
    { "of large tokens as many are in flight as keep the cores busy",
      large_tokens },
    { "small tokens have 64 MiB, a quarter of which may wait", small_tokens },
    { "no more than a sixteenth of the memory is in flight, and the report "
      "says "
      "that this binds",
      part_of_memory },
    { "the user's bound holds, and the report says that it binds", given },
    { "more are in flight while a core holds up those behind its token",
      held_up })
