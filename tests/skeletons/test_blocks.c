/* SPDX-License-Identifier: MIT */
/* test_blocks.c: the block that a partition farm chooses, and what its halos
   cost.
   Thread safety: one thread. */
#include <math.h>
#include <string.h>

#include "hass_test.h"
#include "tests/engine/trial.h"

#define H200 HASS_TOP "/doc/platforms/h200.platform"

/* -- What is chosen ----------------------------------------------------- */

/* Keeps the largest block that was suggested, and leaves it as it is. */
static gboolean
look (const HassLoad *load, gsize first, gsize count, HassBlock *block,
      gpointer data, GError **error)
{
  gsize *most = data;
  (void)load, (void)first, (void)block, (void)error;
  *most = MAX (*most, count);
  return TRUE;
}

static gboolean
nothing (const HassBlock *block, HassWorker *worker, gpointer data,
         GError **error)
{
  (void)block, (void)worker, (void)data, (void)error;
  return TRUE;
}

typedef struct
{
  const char *platform; /* NULL: live, with @cores */
  guint cores;
  gsize elements, halo, threads;
  gsize block; /* expected */
} Choice;

static void
expect (const Choice *c)
{
  gsize most = 0;
  g_autoptr (GError) error = NULL;
  g_autoptr (HassReport) r = NULL;
  HassLoad load = { .size = c->elements };
  HassDataFarm f = HASS_DATA_FARM_INIT;
  f.loads = &load;
  f.n_loads = 1;
  f.cpu_worker = nothing;
  f.partition = look;
  f.user_data = &most;
  f.halo_elements = c->halo;
  f.element_threads = c->threads;
  f.run.n_cores = c->cores;
  f.run.platform = c->platform ? c->platform : "";
  watchdog (30, "a default block");
  CU_ASSERT_TRUE (hass_data_farm_partition (&f, &r, &error));
  watchdog (0, NULL);
  if (most != c->block)
    printf ("\n%zu elements, halo %zu, %zu threads on %s: %zu, not %zu\n",
            c->elements, c->halo, c->threads,
            c->platform ? c->platform : "cores", most, c->block);
  CU_ASSERT_EQUAL (most, c->block);
}

static void
on_cores (void)
{
  static const Choice choices[] = {
    { NULL, 2, 8000, 0, 0, 2 },       /* the pool's width */
    { NULL, 2, 8000, 3, 0, 48 },      /* 16 halos */
    { NULL, 2, 8000, 100, 0, 1600 },  /* rather than 8 blocks a core */
    { NULL, 2, 8000, 1000, 0, 4000 }, /* but a block a core */
    { NULL, 2, 8000, G_MAXSIZE, 0, 4000 },
    { NULL, 2, 9000000, 0, 0, 2197 }, /* no more than 4096 blocks */
    { NULL, 2, 5, 0, 0, 1 },
    { NULL, 2, 5, 1, 0, 3 },
    { NULL, 2, 1, 1, 0, 1 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++)
    expect (&choices[i]);
}

/* 16 cores and a GPU that 270336 threads fill. */
static void
on_gpus (void)
{
  static const Choice choices[] = {
    { H200, 0, 8000, 0, 0, 62 },        /* 8 blocks a core */
    { H200, 0, 8000, 0, 1, 62 },        /* 0 threads count as 1 */
    { H200, 0, 8000, 0, 8000, 34 },     /* the width in elements */
    { H200, 0, 8000, 3, 8000, 48 },     /* 16 halos */
    { H200, 0, 8000, 5, 0, 80 },        /* rather than 8 blocks a core */
    { H200, 0, 8000, 100, 0, 500 },     /* but a block a core */
    { H200, 0, 1 << 30, 0, 1, 270336 }, /* the width */
  };
  for (guint i = 0; i < G_N_ELEMENTS (choices); i++)
    expect (&choices[i]);
}

/* -- What halos cost ---------------------------------------------------- */

static gboolean
spin (const HassBlock *block, HassWorker *worker, gpointer data, GError **error)
{
  gint64 until = g_get_monotonic_time () + 20;
  (void)block, (void)worker, (void)data, (void)error;
  while (g_get_monotonic_time () < until)
    ;
  return TRUE;
}

static void
halos_are_lost (void)
{
  for (guint virtual = 0; virtual < 2; virtual ++)
    {
      gsize most = 0;
      g_autoptr (HassReport) r = NULL;
      HassLoad load = { .size = 8000 };
      HassDataFarm f = HASS_DATA_FARM_INIT;
      f.loads = &load;
      f.n_loads = 1;
      f.cpu_worker = spin;
      f.partition = look; /* so that blocks are not put together */
      f.user_data = &most;
      f.block_elements = 100;
      f.halo_elements = 10;
      f.run.n_cores = 2;
      f.run.platform = virtual ? H200 : "";
      watchdog (30, "halos");
      CU_ASSERT_TRUE (hass_data_farm_partition (&f, &r, NULL));
      watchdog (0, NULL);
      /* 78 blocks with two halos, two with one. */
      CU_ASSERT_EQUAL (r->halo_elements, 1580);
      CU_ASSERT_DOUBLE_EQUAL (r->lost_halo_s,
                              virtual ? 0 : r->bound_s * 1580 / 8000, 1e-9);
      CU_ASSERT_TRUE (virtual || r->efficiency < 0.84);
      CU_ASSERT_DOUBLE_EQUAL (trial_lost (r), r->makespan_s - r->bound_s, 1e-9);
      g_autofree char *text = hass_report_to_string (r);
      CU_ASSERT_PTR_NOT_NULL (strstr (text, "halos: 1580 elements"));
      CU_ASSERT_TRUE (virtual || strstr (text, "halo "));
    }
}

HASS_TEST_SUITE (blocks,
                 { "a default block has 16 halos and leaves work for all",
                   on_cores },
                 { "a default block counts a GPU's threads in elements",
                   on_gpus },
                 { "halos are counted and lost", halos_are_lost })
