/* SPDX-License-Identifier: MIT */
/* test_replay_records.c: what is read and fitted of records that are written by
   hand; a record that is broken is an error with file and line.
   Thread safety: one thread. */
#include <string.h>
#include <unistd.h>

#include "engine/trial.h"
#include "hass/hass.h"
#include "hass_test.h"
#include "tools/hass-sim/replay/replay.h"

#define HEADER                                                                 \
  "{\"hass_record\":1,\"farm\":\"f\",\"kind\":\"combine\",\"cost\":\"equal\"," \
  "\"engine\":\"live\",\"platform\":null,\"strategy\":\"naive-greedy\","       \
  "\"seed\":0,\"date\":\"d\",\"host\":\"h\",\"round_loads\":9,"                \
  "\"constants\":[],\"devices\":[{\"name\":\"cpu\",\"kind\":\"cpu\","          \
  "\"model\":null,\"cores\":1,\"width\":1,\"latency_ns\":0,"                   \
  "\"link_bytes_per_ns\":0,\"work_per_ns\":0,\"max_in_flight\":1,\"link\":0,"  \
  "\"memory_bytes\":0,\"part_bytes\":0},{\"name\":\"gpu0\",\"kind\":\"gpu\","  \
  "\"model\":null,\"cores\":4,\"width\":64,\"latency_ns\":1000,"               \
  "\"link_bytes_per_ns\":10,\"work_per_ns\":0,\"max_in_flight\":2,"            \
  "\"link\":0,\"memory_bytes\":0,\"part_bytes\":0}]}\n"
#define ROUND(units)                                                           \
  "{\"event\":\"round\",\"round\":0,\"rounds\":1,\"first\":0,\"span\":" units  \
  ",\"units\":" units ",\"loads\":" units ",\"block\":0,\"begin\":100,"        \
  "\"end\":5100,\"work\":" units "}\n"
#define PULLS(rows) "{\"event\":\"pulls\",\"core\":0,\"rows\":[" rows "]}\n"
#define PARTS(rows) "{\"event\":\"parts\",\"device\":1,\"rows\":[" rows "]}\n"
#define FOUR "[0,4,4,4,100,4100,4000,4,4,0,0,1]"
#define END(units)                                                             \
  "{\"event\":\"end\",\"at\":6000,\"rounds\":1,\"units\":" units               \
  ",\"unfinished\":0,\"ok\":true}\n"

typedef struct
{
  const char *text, *line, *says;
} Broken;

static const Broken broken[] = {
  { "", "line 1", "no record" },
  { "what\n", "line 1", "no JSON" },
  { "[1]\n", "line 1", "no JSON object" },
  { ROUND ("4"), "line 1", "no header" },
  { "{\"hass_record\":2}\n", "line 1", "version 2" },
  { "{\"hass_record\":1}\n", "line 1", "'farm' is missing" },
  { HEADER HEADER, "line 2", "before the end of the farm of line 1" },
  { HEADER "{\"event\":\"jump\"}\n", "line 2", "known are open, round" },
  { HEADER "{\"event\":\"round\",\"round\":-1}\n", "line 2", "'round' is -1" },
  { HEADER "{\"event\":\"open\",\"device\":7}\n", "line 2", "'device' is 7" },
  { HEADER "{\"event\":\"pulls\",\"core\":1,\"rows\":[]}\n", "line 2",
    "'core' is 1" },
  { HEADER "{\"event\":\"parts\",\"device\":0,\"rows\":[]}\n", "line 2",
    "device 0 computes no parts" },
  { HEADER ROUND ("4") PULLS ("[1,2]"), "line 3", "2 numbers, not 12" },
  { HEADER ROUND ("4") PULLS (FOUR ",[0,1,1,1,0,1,1,1,1,0,0,\"x\"]"), "line 3",
    "row 1, number 11" },
  { HEADER ROUND ("4") PULLS ("[0,2,4,4,100,4100,4000,4,4,0,0,1]"), "line 3",
    "over a span of 2" },
  { HEADER ROUND ("4") PULLS ("[0,4,4,4,4100,100,4000,4,4,0,0,1]"), "line 3",
    "before its begin" },
  { HEADER ROUND ("4") PARTS (FOUR), "line 3", "12 numbers, not 17" },
  { HEADER ROUND ("4") PULLS (FOUR), "line 4", "line 1 has no end" },
  { HEADER ROUND ("4") PULLS (FOUR) END ("5"), "line 4",
    "the rounds have 4 units, but the farm 5" },
  { HEADER ROUND ("3") PULLS (FOUR) END ("3"), "line 4", "has only 3" },
  { HEADER ROUND ("4") "{\"event\":\"units\",\"first\":1}\n", "line 3",
    "follow no round" },
  { HEADER ROUND ("2") "{\"event\":\"units\",\"first\":0,\"order\":[1,1]}\n",
    "line 3", "not there, or twice" },
  { HEADER ROUND ("2") "{\"event\":\"units\",\"first\":0,\"work\":[1]}\n",
    "line 3", "not an array of 2" },
};

static void
broken_records (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      const Broken *b = &broken[i];
      g_autofree char *path = trial_file (b->text);
      g_autoptr (GError) error = NULL;
      GPtrArray *farms = record_read (path, &error);
      CU_ASSERT_PTR_NULL (farms);
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      gboolean told = error && strstr (error->message, path)
                      && strstr (error->message, b->line)
                      && strstr (error->message, b->says);
      CU_ASSERT_TRUE (told);
      if (!told)
        printf ("\n    %u: %s", i, error ? error->message : "no error");
      if (farms)
        g_ptr_array_unref (farms);
      unlink (path);
    }
  g_autoptr (GError) error = NULL;
  CU_ASSERT_PTR_NULL (record_read ("/nowhere/r", &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_IO));
}

static void
nothing_to_replay (void)
{
  static const char *const ends[]
      = { "\"units\":0,\"ok\":true}\n", "\"units\":0,\"ok\":false}\n" };
  static const char *const says[] = { "0 units", "failed" };
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    {
      g_autofree char *text = g_strconcat (
          HEADER "{\"event\":\"end\",\"at\":9,\"rounds\":0,", ends[i], NULL);
      g_autofree char *path = trial_file (text);
      g_autoptr (GError) error = NULL;
      GPtrArray *farms = record_read (path, &error);
      CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
      CU_ASSERT_PTR_NULL (replay_fit (farms->pdata[0], &error));
      CU_ASSERT_TRUE (error && strstr (error->message, "line 1")
                      && strstr (error->message, says[i]));
      g_ptr_array_unref (farms);
      unlink (path);
    }
}

/* One core: 1000 ns a unit, 100 ns before the round and 900 after it, 1000 in
   which it did nothing. The GPU computed nothing and nothing is known of it. */
static void
what_is_fitted (void)
{
  g_autofree char *path
      = trial_file (HEADER ROUND ("4") PULLS (FOUR) END ("4"));
  g_autoptr (HassReport) report = NULL;
  GPtrArray *farms = record_read (path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
  Replay *p = replay_fit (farms->pdata[0], NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (p);
  CU_ASSERT_EQUAL (p->n_rounds, 1);
  CU_ASSERT_DOUBLE_EQUAL (p->rounds[0].gap, 100, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (p->gap_after, 900, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL (p->devices[0].cost[4], 4000, 1e-6);
  CU_ASSERT_TRUE (p->devices[0].present && !p->devices[1].present);
  CU_ASSERT_EQUAL (p->notes->len, 2);
  CU_ASSERT_PTR_NOT_NULL (strstr (p->notes->pdata[0], "gpu0"));
  ReplayMachine *m = replay_machine (p);
  CU_ASSERT_EQUAL (m->n, 1);
  CU_ASSERT_TRUE (replay_run (m, NULL, 1, &report, NULL));
  CU_ASSERT_DOUBLE_EQUAL (report->makespan_s * 1e9, 5000, 2);
  replay_machine_free (m);
  replay_free (p);
  g_ptr_array_unref (farms);
  unlink (path);
}

/* A GPU that is open after 50 us and gets all units at once, in ten parts of
   1000 bytes: the copy of each, 1 us, runs beside the kernel of the one
   before, 2 us. */
static void
parts_overlap_once_the_gpu_is_open (void)
{
  g_autoptr (GString) text = g_string_new (
      "{\"hass_record\":1,\"farm\":\"f\",\"kind\":\"combine\","
      "\"cost\":\"equal\",\"engine\":\"live\",\"platform\":null,"
      "\"strategy\":\"static\",\"seed\":0,\"date\":\"d\",\"host\":\"h\","
      "\"round_loads\":100,\"constants\":[],\"devices\":[{\"name\":\"gpu0\","
      "\"kind\":\"gpu\",\"model\":null,\"cores\":4,\"width\":1,"
      "\"latency_ns\":0,\"link_bytes_per_ns\":1,\"work_per_ns\":0,"
      "\"max_in_flight\":2,\"link\":0,\"memory_bytes\":0,"
      "\"part_bytes\":1000}]}\n"
      "{\"event\":\"open\",\"device\":0,\"begin\":0,\"end\":50000,"
      "\"ok\":true}\n" ROUND ("100"));
  g_autoptr (HassReport) report = NULL;
  for (guint i = 0; i < 10; i++)
    g_string_append_printf (
        text,
        "{\"event\":\"parts\",\"device\":0,\"rows\":[[%u,10,10,1,50000,%u,%u,"
        "2000,1000,2000,0,0,10,10,1000,0,1]]}\n",
        10 * i, 50000 + 2000 * MAX (i, 1) - 2000, 53000 + 2000 * i);
  g_string_append (text, END ("100"));
  g_autofree char *path = trial_file (text->str);
  GPtrArray *farms = record_read (path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
  Replay *p = replay_fit (farms->pdata[0], NULL);
  ReplayMachine *m = replay_machine (p);
  CU_ASSERT_TRUE (replay_run (m, NULL, 1, &report, NULL));
  /* The round is over at 71 us; 900 ns follow its end in the record. */
  CU_ASSERT_DOUBLE_EQUAL (report->makespan_s * 1e9, 71000 + 900, 20);
  CU_ASSERT_EQUAL (report->devices[0].bundles, 1);
  replay_machine_free (m);
  replay_free (p);
  g_ptr_array_unref (farms);
  unlink (path);
}

static void
bad_changes (void)
{
  static const char *const bad[] = { "",
                                     "cpu",
                                     "cpu=2",
                                     "cpu.rate=2",
                                     "cpu.rate=",
                                     "cpu.rate=-1x",
                                     "cpu.cores=0",
                                     "cpu.cores=1.5",
                                     "cpu.link=2x",
                                     "gpu0.rate=2x",
                                     "gpus=2",
                                     "cpu.speed=2x",
                                     "cpu.rate=1e9x" };
  g_autofree char *path
      = trial_file (HEADER ROUND ("4") PULLS (FOUR) END ("4"));
  GPtrArray *farms = record_read (path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (farms);
  Replay *p = replay_fit (farms->pdata[0], NULL);
  ReplayMachine *m = replay_machine (p);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) error = NULL;
      CU_ASSERT_FALSE (replay_change (m, bad[i], &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      CU_ASSERT_TRUE (error && strstr (error->message, bad[i]));
    }
  replay_machine_free (m);
  replay_free (p);
  g_ptr_array_unref (farms);
  unlink (path);
}

HASS_TEST_SUITE (replay_records,
                 { "costs, gaps and absent devices are fitted as they were",
                   what_is_fitted },
                 { "parts of a grant overlap, once the GPU is open",
                   parts_overlap_once_the_gpu_is_open },
                 { "a broken record is an error with file and line",
                   broken_records },
                 { "a record without units cannot be replayed",
                   nothing_to_replay },
                 { "a bad platform change is named", bad_changes })
