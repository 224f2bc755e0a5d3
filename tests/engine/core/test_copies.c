/* SPDX-License-Identifier: MIT */
/* test_copies.c: when the memory of tasks' copies is used again.
   Thread safety: one thread. */
#include "engine/core/job-private.h"
#include "hass_test.h"

#define TAG_BYTES 96
#define MOST 1024

/* Two workers that emit tasks of one farm, in turn. */
typedef struct
{
  HassFarm farm;
  HassJob job;
  HassCopier copiers[2];
  HassLoad loads[MOST];
} Emission;

static Emission *
emission_new (void)
{
  Emission *m = g_aligned_alloc0 (1, sizeof *m, HASS_CACHE_LINE);
  m->farm.tag_bytes = TAG_BYTES;
  m->job.farm = &m->farm;
  hass_copies_init (&m->job);
  return m;
}

static void
emission_free (Emission *m)
{
  hass_copies_clear (&m->job);
  g_aligned_free (m);
}

/* Fills loads[first .. end). Returns: the number of chunks that there are. */
static guint
emit (Emission *m, guint first, guint end)
{
  for (guint i = first; i < end; i++)
    m->loads[i]
        = (HassLoad){ .tag = hass_copy_new (&m->job, &m->copiers[i % 2]),
                      .flags = HASS_LOAD_COPIED };
  return m->job.all_chunks->len;
}

static void
end (Emission *m, guint first, guint n)
{
  HassSpan span
      = { .loads = m->loads, .base = first, .mask = MOST - 1, .n = n };
  hass_copies_free (&m->job, &span);
}

/* Returns: how many tasks of both workers fill their first chunks. */
static guint
fill (Emission *m)
{
  guint n = 0;
  while (n < MOST && emit (m, n, n + 1) <= 2)
    n++;
  return n; /* the load after them begins a third chunk */
}

static void
used_again (void)
{
  Emission *m = emission_new ();
  guint n = fill (m);
  guint chunks = emit (m, n + 1, 2 * n);
  CU_ASSERT_EQUAL (chunks, 4);
  end (m, 0, 2 * n);
  CU_ASSERT_EQUAL (emit (m, 0, 2 * n), chunks);
  emission_free (m);
}

/* All tasks of two chunks are over but one. */
static void
kept (void)
{
  Emission *m = emission_new ();
  guint n = fill (m);
  gconstpointer still = m->loads[1].tag;
  end (m, 0, 1);
  end (m, 2, n - 2);
  emit (m, n + 1, 4 * n);
  for (guint i = n; i < 4 * n; i++)
    CU_ASSERT_PTR_NOT_EQUAL (m->loads[i].tag, still);
  emission_free (m);
}

HASS_TEST_SUITE (copies,
                 { "copies of tasks that are over make room for others",
                   used_again },
                 { "a copy whose task is not over is not overwritten", kept })
