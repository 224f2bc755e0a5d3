/* SPDX-License-Identifier: MIT */
/* test_dataflow_bad.c: dataflows that are wrong: each gets an error that names
   the dataflow, the task, the codelet, the datum and the numbers.
   Thread safety: one thread beside those of the dataflows. */
#include <math.h>
#include <sys/resource.h>

#include "flow.h"
#include "tests/trials.h"

static gboolean
nothing (const HassCall *call, HassWorker *worker, GError **error)
{
  (void)call, (void)worker, (void)error;
  return TRUE;
}

static gboolean
no_kernel (const HassCall *calls, guint n, HassGpuStream *stream,
           GError **error)
{
  (void)calls, (void)n, (void)stream, (void)error;
  return TRUE;
}

/* What the builds of this file use. */
static guint8 memory[4096];

static void
submit (HassGraph *graph, HassData *a, HassAccessMode mode, HassData *b,
        HassAccessMode other)
{
  HassAccess accesses[] = { { a, mode }, { b, other } };
  CU_ASSERT_FALSE (hass_graph_task (graph, &flow_idle, accesses, 2, NULL));
}

/* -- Settings ----------------------------------------------------------- */

static gboolean
build_nothing (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)graph, (void)user_data, (void)error;
  return TRUE;
}

static void
wrong_settings (void)
{
  HassDataflow d = flow_of (NULL, NULL);
  g_autoptr (GError) none = NULL;
  g_autoptr (GError) wide = NULL;
  g_autoptr (GError) size = NULL;
  CU_ASSERT_FALSE (hass_dataflow (&d, NULL, &none));
  CU_ASSERT_TRUE (
      flow_says (none, HASS_ERROR_INVALID, "'flow'", "build", NULL));
  d.build = build_nothing;
  d.window = (1u << 24) + 1;
  CU_ASSERT_FALSE (hass_dataflow (&d, NULL, &wide));
  CU_ASSERT_TRUE (flow_says (wide, HASS_ERROR_INVALID, "'flow'", "window",
                             "16777217", "16777216", NULL));
  d.window = 0;
  d.struct_size = 8;
  CU_ASSERT_FALSE (hass_dataflow (&d, NULL, &size));
  CU_ASSERT_TRUE (flow_says (size, HASS_ERROR_INVALID, "HassDataflow", NULL));
}

/* -- Accesses ----------------------------------------------------------- */

static gboolean
unwritten (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *scratch = hass_graph_scratch (graph, 8);
  HassAccess access = { scratch, *(HassAccessMode *)user_data };
  (void)error;
  hass_graph_name (graph, scratch, "sums");
  CU_ASSERT_FALSE (hass_graph_task (graph, &flow_idle, &access, 1, NULL));
  return FALSE;
}

static gboolean
same_twice (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *a = hass_graph_data (graph, memory, 8, 1, 0);
  HassData *b = hass_graph_data (graph, memory + 8, 8, 1, 0);
  HassAccess accesses[]
      = { { a, HASS_READ }, { b, HASS_READ }, { a, HASS_WRITE } };
  (void)user_data, (void)error;
  CU_ASSERT_FALSE (hass_graph_task (graph, &flow_idle, accesses, 3, NULL));
  return FALSE;
}

static gboolean
wrong_mode (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *a = hass_graph_data (graph, memory, 8, 1, 0);
  HassData *b = hass_graph_data (graph, memory + 8, 8, 1, 0);
  (void)user_data, (void)error;
  submit (graph, a, HASS_READ, b, (HassAccessMode)7);
  return TRUE;
}

static gboolean
no_datum (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *a = hass_graph_data (graph, memory, 8, 1, 0);
  (void)user_data, (void)error;
  submit (graph, a, HASS_READ, NULL, HASS_WRITE);
  return TRUE;
}

static gboolean
no_merge (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *a = hass_graph_data (graph, memory, 8, 1, 0);
  HassData *b = hass_graph_data (graph, memory + 8, 8, 1, 0);
  (void)user_data, (void)error;
  hass_graph_name (graph, b, "total");
  submit (graph, a, HASS_READ, b, HASS_REDUCE);
  return TRUE;
}

static gboolean
null_arrays (HassGraph *graph, gpointer user_data, GError **error)
{
  HassTaskHints hints = { .arguments = NULL, .argument_bytes = 123 };
  (void)error;
  CU_ASSERT_FALSE (user_data
                       ? hass_graph_task (graph, &flow_idle, NULL, 77, NULL)
                       : hass_graph_task (graph, &flow_idle, NULL, 0, &hints));
  return TRUE;
}

static void
wrong_accesses (void)
{
  const HassAccessMode modes[] = { HASS_READ, HASS_UPDATE, HASS_COMMUTE };
  const char *names[] = { "READ", "UPDATE", "COMMUTE" };
  for (guint i = 0; i < G_N_ELEMENTS (modes); i++)
    FLOW_REFUSED (unwritten, (gpointer)&modes[i], HASS_ERROR_INVALID, "'flow'",
                  "task 0", "'idle'", "access 1", names[i], "sums",
                  "no task has written");
  FLOW_REFUSED (same_twice, NULL, HASS_ERROR_INVALID, "'flow'", "task 0",
                "'idle'", "access 3", "WRITE", "datum 1", "same datum");
  FLOW_REFUSED (wrong_mode, NULL, HASS_ERROR_INVALID, "task 0", "'idle'",
                "access 2", "datum 2", "HassAccessMode");
  FLOW_REFUSED (no_datum, NULL, HASS_ERROR_INVALID, "task 0", "'idle'",
                "access 2", "datum");
  FLOW_REFUSED (no_merge, NULL, HASS_ERROR_INVALID, "task 0", "'idle'",
                "access 2", "REDUCE", "total", "hass_graph_reduction");
  FLOW_REFUSED (null_arrays, memory, HASS_ERROR_INVALID, "task 0", "'idle'",
                "77");
  FLOW_REFUSED (null_arrays, NULL, HASS_ERROR_INVALID, "task 0", "'idle'",
                "123");
}

/* -- Codelets ----------------------------------------------------------- */

static gboolean
run_codelet (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)error;
  CU_ASSERT_FALSE (hass_graph_task (graph, user_data, NULL, 0, NULL));
  return TRUE;
}

static gboolean
submit_codelet (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)error;
  CU_ASSERT_TRUE (hass_graph_task (graph, user_data, NULL, 0, NULL));
  return TRUE;
}

/* Where nothing can run a codelet is known when its recorded graph runs. */
static void
nothing_runs (const HassCodelet *kernel)
{
  HassDataflow d = flow_of (submit_codelet, (gpointer)kernel);
  g_autoptr (GError) at_once = flow_failure (run_codelet, (gpointer)kernel);
  g_autoptr (GError) later = NULL;
  g_autoptr (HassRecorded) recorded = hass_dataflow_record (&d, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (recorded);
  CU_ASSERT_FALSE (hass_recorded_run (recorded, 1, NULL, NULL, &later));
  CU_ASSERT_TRUE (flow_says (at_once, HASS_ERROR_NO_DEVICE, "'flow'",
                             "task 0 ('kernel')", "for GPUs", "has cores",
                             NULL));
  CU_ASSERT_TRUE (flow_says (later, HASS_ERROR_NO_DEVICE, "'flow'",
                             "task 0 ('kernel')", "for GPUs", "has cores",
                             NULL));
}

static gboolean
many_codelets (HassGraph *graph, gpointer user_data, GError **error)
{
  HassCodelet *codelets = user_data;
  (void)error;
  for (guint i = 0; i < 256; i++)
    CU_ASSERT_TRUE (hass_graph_task (graph, &codelets[i], NULL, 0, NULL));
  CU_ASSERT_FALSE (hass_graph_task (graph, &codelets[256], NULL, 0, NULL));
  return TRUE;
}

static gboolean
many_accesses (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *a = hass_graph_data (graph, memory, 8, 1, 0);
  HassAccess access = { a, HASS_READ };
  (void)user_data, (void)error;
  CU_ASSERT_FALSE (hass_graph_task (graph, &flow_idle, &access, 65536, NULL));
  return TRUE;
}

static void
wrong_codelets (void)
{
  const HassCodelet kernel = HASS_CODELET (.name = "kernel", .gpu = no_kernel);
  const HassCodelet empty = HASS_CODELET (.name = "empty", .cpu = NULL);
  HassCodelet small = HASS_CODELET (.cpu = nothing);
  g_autofree HassCodelet *many = g_new (HassCodelet, 257);
  small.struct_size = 3;
  for (guint i = 0; i < 257; i++)
    many[i] = (HassCodelet)HASS_CODELET (.name = "one", .cpu = nothing);
  many[256].name = "last";
  nothing_runs (&kernel);
  FLOW_REFUSED (run_codelet, (gpointer)&empty, HASS_ERROR_NO_DEVICE, "empty",
                "device");
  FLOW_REFUSED (run_codelet, &small, HASS_ERROR_INVALID, "HassCodelet", "3");
  FLOW_REFUSED (run_codelet, NULL, HASS_ERROR_INVALID, "codelet", "NULL");
  FLOW_REFUSED (many_codelets, many, HASS_ERROR_OVERFLOW, "256", "last");
  FLOW_REFUSED (many_accesses, NULL, HASS_ERROR_INVALID, "task 0", "'idle'",
                "65536", "65535");
}

/* -- Memory ------------------------------------------------------------- */

typedef struct
{
  gpointer host;
  gsize row_bytes, rows, pitch;
} Place;

static gboolean
make_datum (HassGraph *graph, gpointer user_data, GError **error)
{
  const Place *p = user_data;
  (void)error;
  CU_ASSERT_PTR_NULL (
      hass_graph_data (graph, p->host, p->row_bytes, p->rows, p->pitch));
  CU_ASSERT_PTR_NULL (hass_graph_scratch (graph, 8));
  return TRUE;
}

static gboolean
make_scratch (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)error;
  CU_ASSERT_PTR_NULL (hass_graph_scratch (graph, *(gsize *)user_data));
  return TRUE;
}

static gboolean
long_arguments (HassGraph *graph, gpointer user_data, GError **error)
{
  HassTaskHints hints
      = { .arguments = memory, .argument_bytes = *(gsize *)user_data };
  (void)error;
  CU_ASSERT_FALSE (hass_graph_task (graph, &flow_idle, NULL, 0, &hints));
  return TRUE;
}

static void
wrong_sizes (void)
{
  static const char beyond[] = "it would end beyond the last address";
  const struct
  {
    Place place;
    const char *why;
  } wrong[] = {
    { { NULL, 8, 1, 0 }, "it needs memory" },
    { { memory, 0, 1, 0 }, "it needs at least a byte" },
    { { memory, 8, 0, 0 }, "it needs at least a byte" },
    { { memory, 8, 2, 7 }, "the pitch must be at least a row" },
    { { memory, G_MAXSIZE, 1, 0 }, beyond },
    { { memory, 8, G_MAXSIZE, 0 }, beyond },
    { { memory, 8, G_MAXSIZE / 8 + 2, 16 }, beyond },
    { { memory, 8, 3, G_MAXSIZE / 2 + 1 }, beyond },
  };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *rows = g_strdup_printf ("%zu rows", wrong[i].place.rows);
      g_autofree char *bytes
          = g_strdup_printf ("%zu bytes", wrong[i].place.row_bytes);
      FLOW_REFUSED (make_datum, (gpointer)&wrong[i].place, HASS_ERROR_INVALID,
                    "'flow'", "datum 1", rows, bytes, wrong[i].why);
    }
  const gsize most[] = { G_MAXSIZE, G_MAXSIZE - 64, G_MAXSIZE / 2 + 3 };
  for (guint i = 0; i < G_N_ELEMENTS (most); i++)
    {
      g_autofree char *bytes = g_strdup_printf ("%zu bytes", most[i]);
      FLOW_REFUSED (make_scratch, (gpointer)&most[i], HASS_ERROR_NO_MEMORY,
                    "'flow'", "datum 1", bytes);
      FLOW_REFUSED (long_arguments, (gpointer)&most[i], HASS_ERROR_NO_MEMORY,
                    "task 0", "'idle'", bytes);
    }
}

/* -- Recordings --------------------------------------------------------- */

static gboolean
fail_to_build (HassGraph *graph, gpointer user_data, GError **error)
{
  (void)user_data;
  CU_ASSERT_TRUE (hass_graph_task (graph, &flow_idle, NULL, 0, NULL));
  g_set_error_literal (error, HASS_ERROR, HASS_ERROR_INVALID, "no plan");
  return FALSE;
}

/* As the message of a dataflow that runs at once. */
static void
failed_recordings (void)
{
  HassDataflow d = flow_of (fail_to_build, NULL);
  g_autoptr (GError) error = NULL;
  CU_ASSERT_PTR_NULL (hass_dataflow_record (&d, &error));
  CU_ASSERT_TRUE (flow_says (error, HASS_ERROR_INVALID, "'flow'",
                             "build failed after 1 tasks", "no plan", NULL));
}

/* -- Reductions --------------------------------------------------------- */

static void
add_up (const HassDataView *into, const HassDataView *copy, gpointer none)
{
  (void)none;
  *(guint64 *)into->data += *(guint64 *)copy->data;
}

static gboolean
change_reduction (HassGraph *graph, gpointer user_data, GError **error)
{
  HassData *data = hass_graph_data (graph, memory, 8, 1, 0);
  (void)error;
  hass_graph_name (graph, data, "total");
  if (!user_data)
    {
      hass_graph_reduction (graph, data, NULL, NULL, NULL);
      return TRUE;
    }
  hass_graph_reduction (graph, data, NULL, add_up, NULL);
  hass_graph_reduction (graph, data, NULL, add_up, NULL);
  hass_graph_task (graph, &flow_idle, &(HassAccess){ data, HASS_REDUCE }, 1,
                   NULL);
  hass_graph_reduction (graph, data, NULL, add_up, NULL);
  return TRUE;
}

static void
wrong_reductions (void)
{
  FLOW_REFUSED (change_reduction, NULL, HASS_ERROR_INVALID, "'flow'",
                "hass_graph_reduction", "total", "merge");
  FLOW_REFUSED (change_reduction, memory, HASS_ERROR_INVALID, "'flow'",
                "hass_graph_reduction", "total", "already");
}

static gboolean
submit_work (HassGraph *graph, gpointer work, GError **error)
{
  HassTaskHints hints = { .work = *(double *)work };
  (void)error;
  CU_ASSERT_TRUE (hass_graph_task (graph, &flow_idle, NULL, 0, NULL));
  CU_ASSERT_FALSE (hass_graph_task (graph, &flow_idle, NULL, 0, &hints));
  return TRUE;
}

static void
work_is_no_amount (void)
{
  static struct
  {
    double work;
    const char *value;
  } cases[] = { { -1, "work -1;" },
                { NAN, "nan;" },
                { INFINITY, "work inf;" },
                { -1e-9, "work -1e-09;" } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    FLOW_REFUSED (submit_work, &cases[i].work, HASS_ERROR_INVALID, "'flow'",
                  "task 1 ('idle')", cases[i].value);
}

static gboolean
submit_largest (HassGraph *graph, gpointer work, GError **error)
{
  HassTaskHints hints = { .work = G_MAXDOUBLE };
  (void)work, (void)error;
  hass_graph_task (graph, &flow_idle, NULL, 0, &hints);
  hints.work = -0.0;
  return hass_graph_task (graph, &flow_idle, NULL, 0, &hints);
}

static void
any_amount_is_taken (void)
{
  HassDataflow d = flow_of (submit_largest, NULL);
  CU_ASSERT_TRUE (hass_dataflow (&d, NULL, NULL));
}

/* Address space of the process now, in bytes. */
static rlim_t
address_space (void)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents ("/proc/self/statm", &text, NULL, NULL))
    return 0;
  return g_ascii_strtoull (text, NULL, 10) * 4096;
}

static void
window_without_memory (void)
{
  HassDataflow d = flow_of (build_nothing, NULL);
  g_autoptr (GError) error = NULL;
  struct rlimit was, low;
  if (TRIALS (0, 1, 1))
    {
      hass_test_skip ("a sanitizer ends the process without memory");
      return;
    }
  CU_ASSERT_TRUE (hass_dataflow (&d, NULL, NULL)); /* threads are made */
  d.window = 1u << 24;
  CU_ASSERT_EQUAL_FATAL (getrlimit (RLIMIT_AS, &was), 0);
  low = was;
  low.rlim_cur = address_space () + (512 << 20);
  CU_ASSERT_EQUAL (setrlimit (RLIMIT_AS, &low), 0);
  CU_ASSERT_FALSE (hass_dataflow (&d, NULL, &error));
  CU_ASSERT_EQUAL (setrlimit (RLIMIT_AS, &was), 0);
  CU_ASSERT_TRUE (flow_says (error, HASS_ERROR_NO_MEMORY, "'flow'", "16777216",
                             "window", NULL));
}

HASS_TEST_SUITE (
    dataflow_bad, { "settings that are wrong are named", wrong_settings },
    { "an access that is wrong is named with its task and datum",
      wrong_accesses },
    { "a codelet that nothing can run is named", wrong_codelets },
    { "sizes that overflow or lack memory are named", wrong_sizes },
    { "a recording whose build fails names it", failed_recordings },
    { "how tasks reduce is said once and whole", wrong_reductions },
    { "a work hint that is no amount is named with its task",
      work_is_no_amount },
    { "a work hint may be zero and as large as a double", any_amount_is_taken },
    { "a window for which there is no memory is an error",
      window_without_memory })
