/* SPDX-License-Identifier: MIT */
/* test_chain.c: chains of last predecessors, and their pictures.
   Thread safety: one thread. */
#include "draw/chain.h"

#include <string.h>
#include <unistd.h>

#include "draw/gantt.h"
#include "hass/error.h"
#include "hass_test.h"
#include "svg_parts.h"
#include "tests/count.h"

#define FARM(kind)                                                             \
  "{\"t\":1000,\"event\":\"farm\",\"farm\":\"flow\",\"kind\":\"" kind "\","    \
  "\"strategy\":\"s\",\"platform\":null,\"devices\":[{\"name\":\"cpu\","       \
  "\"kind\":\"cpu\",\"cores\":2},{\"name\":\"gpu0\",\"kind\":\"gpu\","         \
  "\"cores\":9}]}\n"
#define FLOW FARM ("dataflow")
#define TASK(task, codelet, where, begin, end, more)                           \
  "{\"t\":" #end ",\"event\":\"task\",\"task\":" #task                         \
  ",\"codelet\":\"" codelet "\"," where ",\"begin\":" #begin more "}\n"
#define CORE(n) "\"core\":" #n
#define GPU "\"device\":\"gpu0\""
#define AFTER(task) ",\"after\":" #task
#define NONE ",\"after\":null"

/* The chain 0, 2, 3, 4: 3 waits 400 ns and 4 waits 100 ns; 1 is beside it. */
#define DIAMOND                                                                \
  FLOW TASK (0, "a", CORE (0), 1200, 2000, NONE)                               \
      TASK (1, "b", CORE (0), 2000, 2900, AFTER (0))                           \
          TASK (2, "b", CORE (1), 2000, 3000, AFTER (0))                       \
              TASK (3, "c", GPU, 3400, 3500, AFTER (2))                        \
                  TASK (4, "a", CORE (1), 3600, 4000, AFTER (3))

static DrawTrace *
load_bytes (const char *text, gsize length)
{
  g_autofree char *path = NULL;
  int fd = g_file_open_tmp ("hass-XXXXXX", &path, NULL);
  CU_ASSERT_FATAL (fd >= 0);
  close (fd);
  CU_ASSERT_FATAL (g_file_set_contents (path, text, (gssize)length, NULL));
  DrawTrace *trace = draw_trace_load (path, 0, NULL);
  unlink (path);
  return trace;
}

static DrawTrace *
load (const char *text)
{
  DrawTrace *trace = load_bytes (text, strlen (text));
  CU_ASSERT_PTR_NOT_NULL_FATAL (trace);
  return trace;
}

/* Asserts that the chain of a task has these tasks and this caption. */
static void
check (const char *text, guint64 task, const guint64 *want, guint n,
       const char *caption)
{
  g_autoptr (DrawTrace) trace = load (text);
  g_autoptr (DrawChain) chain = draw_chain_new (trace, task, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL (chain);
  CU_ASSERT_EQUAL_FATAL (chain->bars->len, n);
  for (guint i = 0; i < n; i++)
    CU_ASSERT_EQUAL (draw_chain_bar (chain, i)->round, want[i]);
  g_autofree char *is = draw_chain_caption (chain);
  CU_ASSERT_STRING_EQUAL (is, caption);
}

static void
diamond (void)
{
  static const guint64 all[] = { 0, 2, 3, 4 };
  static const char caption[]
      = "task 4 a: chain of 4 tasks, 2.3 µs computing, 500 ns waiting, from "
        "200 ns on";
  check (DIAMOND, DRAW_LAST_TASK, all, 4, caption);
  check (DIAMOND, 4, all, 4, caption);
  check (DIAMOND, 2, all, 2,
         "task 2 b: chain of 2 tasks, 1.8 µs computing, 0 ns waiting, from "
         "200 ns on");
  check (DIAMOND, 0, all, 1,
         "task 0 a: chain of 1 task, 800 ns computing, 0 ns waiting, from 200 "
         "ns on");
}

static void
table (void)
{
  g_autoptr (DrawTrace) trace = load (DIAMOND);
  g_autoptr (DrawChain) chain = draw_chain_new (trace, 4, NULL);
  g_autofree char *text = draw_chain_table (chain);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  CU_ASSERT_EQUAL_FATAL (g_strv_length (lines), 7);
  CU_ASSERT_TRUE (g_str_has_prefix (lines[0], "task 4 a: chain of 4 tasks, "));
  CU_ASSERT_STRING_EQUAL (lines[1],
                          "codelet      tasks       computing      waiting");
  CU_ASSERT_STRING_EQUAL (lines[2],
                          "a                2        0.001 ms     0.000 ms");
  CU_ASSERT_TRUE (
      g_str_has_prefix (lines[3], "b                1        0.001"));
  CU_ASSERT_TRUE (
      g_str_has_prefix (lines[4], "c                1        0.000"));
  CU_ASSERT_TRUE (
      g_str_has_prefix (lines[5], "all              4        0.002"));
}

/* A task that is computed once more follows the run of its predecessor that
   ended before; also one that takes no time is in the chain. */
static void
again (void)
{
  static const guint64 all[] = { 0, 1, 2 };
  static const char text[] = FLOW TASK (0, "a", GPU, 1000, 2000, NONE)
      TASK (1, "b", GPU, 2500, 2500, AFTER (0))
          TASK (2, "c", GPU, 3000, 4000, AFTER (1))
              TASK (0, "a", GPU, 5000, 6000, NONE)
                  TASK (1, "b", GPU, 6000, 6000, AFTER (0))
                      TASK (2, "c", GPU, 6300, 7000, AFTER (1));
  check (text, 2, all, 3,
         "task 2 c: chain of 3 tasks, 1.7 µs computing, 300 ns waiting, from "
         "4 µs on");
  /* lost, and computed again for task 3 alone */
  static const guint64 first[] = { 0, 2 };
  check (FLOW TASK (0, "a", GPU, 1000, 2000, NONE)
             TASK (2, "c", GPU, 3000, 4000, AFTER (0))
                 TASK (0, "a", GPU, 5000, 6500, NONE)
                     TASK (3, "c", GPU, 7000, 8000, AFTER (0)),
         2, first, 2,
         "task 2 c: chain of 2 tasks, 2 µs computing, 1 µs waiting");
}

static void
refuses (const char *text, guint64 task, const char *message)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (DrawTrace) trace = load (text);
  CU_ASSERT_PTR_NULL (draw_chain_new (trace, task, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
  CU_ASSERT_TRUE (error && strstr (error->message, message));
  g_autofree char *svg = draw_gantt (trace, NULL);
  CU_ASSERT_PTR_NOT_NULL (svg);
}

static void
refused (void)
{
  guint64 task = 0;
  refuses (DIAMOND, 5,
           "task 5 is not in the trace of 'flow', which has "
           "tasks from 0 to 4");
  refuses (FLOW TASK (7, "a", CORE (0), 1200, 2000, ""), 7,
           "the trace of 'flow' has no last predecessors");
  refuses (FARM ("farm") "{\"t\":2000,\"event\":\"pull\",\"round\":0,"
                         "\"core\":0,\"begin\":1000,\"first\":0,\"units\":1}\n",
           DRAW_LAST_TASK, "'flow' is no dataflow");
  CU_ASSERT_FALSE (draw_chain_parse ("first", &task, NULL));
  CU_ASSERT_FALSE (draw_chain_parse ("-1", &task, NULL));
  CU_ASSERT_FALSE (draw_chain_parse ("", &task, NULL));
  CU_ASSERT_TRUE (draw_chain_parse ("12", &task, NULL));
  CU_ASSERT_EQUAL (task, 12);
  CU_ASSERT_TRUE (draw_chain_parse ("last", &task, NULL));
  CU_ASSERT_EQUAL (task, DRAW_LAST_TASK);
}

/* -- Damaged traces ------------------------------------------------------ */

static void
circle (void)
{
  static const guint64 all[] = { 1, 0 };
  check (FLOW TASK (0, "a", CORE (0), 2000, 3000, AFTER (1))
             TASK (1, "a", CORE (0), 2000, 3000, AFTER (0)),
         0, all, 2,
         "task 0 a: chain of 2 tasks, 2 µs computing, 0 ns waiting, from 1 µs "
         "on; what is before it, from task 0 back, is not in the trace");
  check (FLOW TASK (1, "a", CORE (0), 1000, 3000, AFTER (9)), 1, all, 1,
         "task 1 a: chain of 1 task, 2 µs computing, 0 ns waiting; what is "
         "before it, from task 9 back, is not in the trace");
}

/* Draws the chain of each task, if the trace can be read. Returns: how many
   there are. */
static guint
draw_all (const char *text, gsize length)
{
  g_autoptr (DrawTrace) trace = load_bytes (text, length);
  guint n = 0;
  for (guint64 task = 0; trace && task < 6; task++)
    {
      g_autoptr (DrawChain) chain
          = draw_chain_new (trace, task == 5 ? DRAW_LAST_TASK : task, NULL);
      if (!chain)
        continue;
      g_autofree char *svg = draw_gantt_chain (trace, chain, NULL);
      g_autofree char *told = draw_chain_table (chain);
      n += strlen (svg) > 0 && strlen (told) > 0;
    }
  return n;
}

static void
damaged (void)
{
  static const char text[] = DIAMOND;
  static const char bytes[] = "0123456789-.,:\"{}[]e\n ";
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  guint n_cut = 0, n_changed = 0;
  for (gsize length = 0; length < sizeof text; length++)
    n_cut += draw_all (text, length);
  for (guint i = 0; i < 1500; i++)
    {
      char changed[sizeof text];
      memcpy (changed, text, sizeof text);
      for (gint k = g_rand_int_range (rand, 1, 4); k > 0; k--)
        changed[g_rand_int_range (rand, 0, sizeof text - 1)]
            = bytes[g_rand_int_range (rand, 0, sizeof bytes - 1)];
      n_changed += draw_all (changed, sizeof text - 1);
    }
  CU_ASSERT_TRUE (n_cut > 10);
  CU_ASSERT_TRUE (n_changed > 100);
}

/* -- Pictures ------------------------------------------------------------ */

static void
picture (void)
{
  g_autoptr (DrawTrace) trace = load (DIAMOND);
  g_autoptr (DrawChain) chain = draw_chain_new (trace, 4, NULL);
  g_autofree char *svg = draw_gantt_chain (trace, chain, NULL);
  g_autofree char *plain = draw_gantt (trace, NULL);
  SvgParts parts = svg_parts (svg);
  CU_ASSERT_TRUE (svg_says (&parts, "task 4 a: chain of 4 tasks, "));
  CU_ASSERT_TRUE (svg_says (&parts, "in the chain"));
  CU_ASSERT_EQUAL (parts.bars, 5 + 4);
  CU_ASSERT_EQUAL (count (svg, "class=\"link\""), 4);
  /* 0 and 2, 2 and 3, 3 and 4 lie in different rows */
  CU_ASSERT_EQUAL (count (svg, "marker-end"), 3);
  CU_ASSERT_EQUAL (count (svg, "\n100 ns after the end of task 3<"), 1);
  CU_ASSERT_EQUAL (count (svg, "<g opacity="), 3);
  CU_ASSERT_EQUAL (count (plain, "<g opacity="), 0);
  CU_ASSERT_EQUAL (count (plain, "chain"), 0);
  svg_parts_clear (&parts);
}

/* 60,000 tasks that alternate between the cores and the GPU. */
static void
long_chain (void)
{
  g_autoptr (GString) text = g_string_new (FLOW);
  static const char *const where[] = { CORE (0), GPU, CORE (1), GPU };
  for (guint i = 0; i < 60000; i++)
    {
      g_autofree char *after
          = i > 0 ? g_strdup_printf ("%u", i - 1) : g_strdup ("null");
      g_string_append_printf (text,
                              "{\"t\":%u,\"event\":\"task\",\"task\":%u,"
                              "\"codelet\":\"%c\",%s,\"begin\":%u,"
                              "\"after\":%s}\n",
                              1900 + 1000 * i, i, 'a' + i % 3, where[i % 4],
                              1000 + 1000 * i, after);
    }
  g_autoptr (DrawTrace) trace = load (text->str);
  g_autoptr (DrawChain) chain = draw_chain_new (trace, DRAW_LAST_TASK, NULL);
  CU_ASSERT_EQUAL (chain->bars->len, 60000);
  CU_ASSERT_DOUBLE_EQUAL (chain->compute_ns, 60000 * 900., 0.5);
  CU_ASSERT_DOUBLE_EQUAL (chain->wait_ns, 59999 * 100., 0.5);
  g_autofree char *svg = draw_gantt_chain (trace, chain, NULL);
  SvgParts parts = svg_parts (svg);
  CU_ASSERT_TRUE (strlen (svg) < 1000000);
  CU_ASSERT_TRUE (count (svg, "class=\"link\"") <= 1500);
  CU_ASSERT_TRUE (count (svg, "class=\"link\"") >= 300);
  CU_ASSERT_EQUAL (count (svg, "marker-end"), 0);
  CU_ASSERT_TRUE (parts.lowest >= parts.left - 0.01);
  CU_ASSERT_TRUE (parts.highest <= parts.right + 0.01);
  svg_parts_clear (&parts);
}

HASS_TEST_SUITE (
    gantt_chain,
    { "the chain of a diamond leads over the task that ended last", diamond },
    { "its table has a line for each codelet", table },
    { "a task that was computed again follows what ended before", again },
    { "no task, no last predecessors, no dataflow are refused", refused },
    { "a chain ends where a damaged trace leads back or nowhere", circle },
    { "no trace that is cut off or changed breaks a chain", damaged },
    { "a picture has the chain's bars, links and caption", picture },
    { "a chain of 60,000 tasks makes less than 1 MB", long_chain })
