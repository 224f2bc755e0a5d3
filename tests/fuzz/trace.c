/* SPDX-License-Identifier: MIT */
/* trace.c: a trace, read and drawn, with the chain of its last task.
   Thread safety: see fuzz.h. */
#include "draw/gantt.h"
#include "fuzz.h"

static int
trace (const guint8 *data, size_t size)
{
  const char *path = fuzz_file (data, size);
  for (guint number = 0; number < 2; number++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (DrawTrace) t = draw_trace_load (path, number, &error);
      FUZZ_CHECK ((t == NULL) == (error != NULL));
      if (!t)
        continue;
      g_autofree char *svg = draw_gantt (t, NULL);
      FUZZ_CHECK (svg != NULL);
      g_autoptr (GError) refused = NULL;
      g_autoptr (DrawChain) chain
          = draw_chain_new (t, DRAW_LAST_TASK, &refused);
      FUZZ_CHECK ((chain == NULL) == (refused != NULL));
      if (!chain)
        continue;
      g_autofree char *picture = draw_gantt_chain (t, chain, NULL);
      g_autofree char *table = draw_chain_table (chain);
      FUZZ_CHECK (picture && table);
    }
  return 0;
}

FUZZ_TARGET (trace, trace)
