/* SPDX-License-Identifier: MIT */
/* test_fuzz_corpus.c: every input in tests/fuzz/corpus/NAME, seeds and what
   fuzzing ever found, once more.
   Thread safety: one thread. */
#include "fuzz.h"
#include "hass_test.h"
#include "tests/engine/trial.h"

#define SECONDS 20 /* an input takes milliseconds */

/* A warning of any library is a fault, as it is when fuzzing. */
static void
count_message (const char *domain, GLogLevelFlags level, const char *message,
               gpointer n)
{
  if (level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING))
    ++*(guint *)n;
  g_log_default_handler (domain, level, message, NULL);
}

static void
replay_corpus (const char *name)
{
  g_autofree char *folder
      = g_build_filename (HASS_TOP, "tests/fuzz/corpus", name, NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  FuzzFunc target = fuzz_find (name);
  guint n = 0, n_messages = 0;
  GLogFunc before = g_log_set_default_handler (count_message, &n_messages);
  CU_ASSERT_PTR_NOT_NULL_FATAL (dir);
  CU_ASSERT_PTR_NOT_NULL_FATAL (target);
  for (const char *input; (input = g_dir_read_name (dir)); n++)
    {
      g_autofree char *path = g_build_filename (folder, input, NULL);
      g_autofree char *data = NULL;
      gsize size = 0;
      CU_ASSERT_TRUE (g_file_get_contents (path, &data, &size, NULL));
      /* In memory of just its size, so that reads beyond it are seen. */
      g_autofree guint8 *bytes = g_memdup2 (data, size);
      watchdog (SECONDS, path);
      target (bytes, size);
      watchdog (0, NULL);
    }
  g_log_set_default_handler (before, NULL);
  CU_ASSERT_TRUE (n > 0);
  CU_ASSERT_EQUAL (n_messages, 0);
}

static void
platform (void)
{
  replay_corpus ("platform");
}

static void
workload (void)
{
  replay_corpus ("workload");
}

static void
profile (void)
{
  replay_corpus ("profile");
}

static void
gpus (void)
{
  replay_corpus ("gpus");
}

static void
trace (void)
{
  replay_corpus ("trace");
}

static void
record (void)
{
  replay_corpus ("record");
}

static void
matcher (void)
{
  replay_corpus ("matcher");
}

static void
y4m (void)
{
  replay_corpus ("y4m");
}

static void
stg (void)
{
  replay_corpus ("stg");
}

static void
workflow (void)
{
  replay_corpus ("workflow");
}

#ifndef WITHOUT_cholesky
static void
market (void)
{
  replay_corpus ("market");
}
#endif

HASS_TEST_SUITE (fuzz_corpus,
                 { "no platform file breaks a farm on it", platform },
                 { "no workload file breaks its simulation", workload },
                 { "no profile store breaks what reads it", profile },
                 { "no file of remembered GPUs breaks what reads it", gpus },
                 { "no trace breaks its drawing", trace },
                 { "no record breaks its replay", record },
                 { "any patterns match in any text as in a naive search",
                   matcher },
#ifndef WITHOUT_cholesky
                 { "no Matrix Market file breaks its reader", market },
#endif
                 { "no task graph of the Standard Task Graph Set breaks its "
                   "reader",
                   stg },
                 { "no workflow of WfCommons breaks its reader", workflow },
                 { "no stream of video breaks its parser", y4m })
