/* SPDX-License-Identifier: MIT */
/* test_potrf.c: hass_la_potrf() factorises like LAPACK's potrf.
   Thread safety: one thread. */
#include "hass_test.h"

#include <gio/gio.h>

#ifdef WITHOUT_cholesky

static void
nothing (void)
{
  hass_test_skip ("pkg-config finds no openblas");
}

HASS_TEST_SUITE (potrf, { "matrices are factorised", nothing })

#else

#  include <math.h>
#  include <stdio.h>
#  include <string.h>

#  include "la/tiles-private.h"
#  include "tests/engine/trial.h"
#  include "tests/la/potrf_case.h"

/* The default size of small matrices is one tile. */
static const gsize sizes[][3]
    = { { 0, 0, 0 },     { 1, 0, 0 },       { 1, 1, 1 },
        { 2, 1, 1 },     { 5, 2, 4 },       { 33, 1, 5 },
        { 64, 16, 16 },  { 64, 64, 64 },    { 65, 16, 48 },
        { 97, 13, 39 },  { 100, 0, 64 },    { 100, 100, 100 },
        { 129, 64, 64 }, { 130, 64, 128 },  { 200, 32, 300 },
        { 201, 33, 34 }, { 301, 100, 200 }, { 300, 17, 51 } };

/* Types, triangles, gaps of ld, and cores. */
static void
factors (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (guint how = 0; how < 16; how++)
      {
        Case c = case_new (how & 1, how >> 1 & 1, sizes[i][0], how & 4 ? 7 : 0);
        g_autoptr (GError) error = NULL;
        g_autoptr (HassReport) report = NULL;
        gsize minor = 99;
        c.settings.tile_cols = sizes[i][1];
        c.settings.tile_rows = sizes[i][2];
        c.settings.run.n_cores = how & 8 ? 4 : 1;
        watchdog (60, "potrf");
        gboolean ok = hass_la_potrf (&c.settings, &minor, &report, &error);
        watchdog (0, NULL);
        if (!ok || !case_is_factor (&c))
          printf ("\n    n %zu, tiles %zu x %zu, %x: %s", sizes[i][0],
                  sizes[i][2], sizes[i][1], how, ok ? "wrong" : error->message);
        CU_ASSERT_TRUE (ok && case_is_factor (&c));
        CU_ASSERT_TRUE (case_is_untouched (&c));
        CU_ASSERT_EQUAL (minor, 0);
        CU_ASSERT_PTR_NOT_NULL (report);
        case_clear (&c);
      }
}

/* Runs on 3 cores differ in the order of their tasks alone. */
static void
same_bits (void)
{
  g_autofree gpointer first = NULL;
  for (guint i = 0; i < 20; i++)
    {
      Case c = case_new (HASS_LA_DOUBLE, HASS_LA_LOWER, 257, 0);
      c.settings.tile_cols = 16;
      c.settings.tile_rows = 32;
      c.settings.run.n_cores = i == 0 ? 1 : 3;
      CU_ASSERT_TRUE (hass_la_potrf (&c.settings, NULL, NULL, NULL));
      if (i == 0)
        first = g_memdup2 (c.settings.a, c.bytes);
      CU_ASSERT_EQUAL (memcmp (first, c.settings.a, c.bytes), 0);
      case_clear (&c);
    }
}

/* One number of the diagonal is wrong: the minors from there on are not
   positive. A NaN below the diagonal is met at the diagonal of its row. */
static void
not_positive (void)
{
  static const struct
  {
    double value;
    gsize left; /* of the diagonal */
  } wrong[] = { { -1, 0 }, { 0, 0 }, { NAN, 0 }, { NAN, 1 }, { -INFINITY, 0 } };
  static const gsize at[] = { 1, 2, 16, 17, 40, 63, 64, 90, 100 };
  for (guint i = 0; i < G_N_ELEMENTS (at); i++)
    for (guint w = 0; w < G_N_ELEMENTS (wrong); w++)
      for (guint how = 0; how < 8; how++)
        {
          Case c = case_new (how & 1, how >> 1 & 1, 100, 0);
          g_autoptr (GError) error = NULL;
          g_autoptr (HassReport) report = NULL;
          g_autofree char *wanted
              = g_strdup_printf ("leading minor of order %zu is", at[i]);
          gsize minor = 0, left = MIN (wrong[w].left, at[i] - 1);
          c.settings.tile_cols = how & 4 ? 20 : 0;
          c.settings.run.on_error = HASS_ON_ERROR_CONTINUE;
          case_set (&c, at[i] - 1, at[i] - 1 - left, wrong[w].value);
          CU_ASSERT_FALSE (
              hass_la_potrf (&c.settings, &minor, &report, &error));
          CU_ASSERT_EQUAL (minor, at[i]);
          CU_ASSERT_TRUE (g_error_matches (error, HASS_LA_ERROR,
                                           HASS_LA_ERROR_NOT_POSITIVE));
          CU_ASSERT_PTR_NOT_NULL (strstr (error->message, wanted));
          CU_ASSERT_PTR_NOT_NULL (report);
          CU_ASSERT_TRUE (case_is_untouched (&c));
          case_clear (&c);
        }
}

static void
wrong_settings (void)
{
  double a = 4;
  const struct
  {
    HassLaPotrf s;
    const char *says;
  } cases[] = {
    { { .n = 1, .a = &a }, "struct_size is 0, not from" },
    { { .struct_size = sizeof (HassLaPotrf) + 8, .n = 1, .a = &a },
      "struct_size is" },
    { { .struct_size = sizeof (HassLaPotrf), .n = 3, .ld = 2, .a = &a },
      "ld is 2, less than n, which is 3" },
    { { .struct_size = sizeof (HassLaPotrf), .n = 1 }, "a is NULL" },
    { { .struct_size = sizeof (HassLaPotrf), .n = (gsize)1 << 31, .a = &a },
      "n is 2147483648" },
    { { .struct_size = sizeof (HassLaPotrf), .ld = G_MAXSIZE, .a = &a },
      "more than 2147483647" },
    { { .struct_size = sizeof (HassLaPotrf), .type = 2, .n = 1, .a = &a },
      "type 2 is no" },
    { { .struct_size = sizeof (HassLaPotrf), .triangle = -1, .n = 1, .a = &a },
      "triangle -1 is no" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      HassReport *report = (HassReport *)&a;
      CU_ASSERT_FALSE (hass_la_potrf (&cases[i].s, NULL, &report, &error));
      CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
      CU_ASSERT_PTR_NOT_NULL (strstr (error->message, cases[i].says));
      CU_ASSERT_PTR_NULL (report);
      CU_ASSERT_EQUAL (a, 4);
    }
}

/* As the skeletons do: a message, not a crash. */
static void
null_arguments (void)
{
  HassLaPotrf s = HASS_LA_POTRF_INIT;
  g_autoptr (GError) error = NULL, tiles_error = NULL;
  gsize rows = 1, cols = 1;
  CU_ASSERT_FALSE (hass_la_potrf (NULL, NULL, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_INVALID));
  CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "HassLaPotrf is NULL"));
  CU_ASSERT_FALSE (hass_la_potrf_tiles (NULL, &rows, &cols, &tiles_error));
  CU_ASSERT_TRUE (
      g_error_matches (tiles_error, HASS_ERROR, HASS_ERROR_INVALID));
  CU_ASSERT_PTR_NOT_NULL (strstr (tiles_error->message, "HassLaPotrf is NULL"));
  CU_ASSERT_TRUE (hass_la_potrf_tiles (&s, NULL, NULL, NULL));
}

static void
error_domain (void)
{
  CU_ASSERT_STRING_EQUAL (g_quark_to_string (HASS_LA_ERROR),
                          "hass-la-error-quark");
}

static void
older_struct (void)
{
  double a = 4;
  struct
  {
    HassLaPotrf s;
  } *end = g_malloc (G_STRUCT_OFFSET (HassLaPotrf, tile_cols));
  HassLaPotrf s = HASS_LA_POTRF_INIT;
  s.struct_size = G_STRUCT_OFFSET (HassLaPotrf, tile_cols);
  s.n = 1;
  s.a = &a;
  memcpy (end, &s, s.struct_size);
  CU_ASSERT_TRUE (hass_la_potrf (&end->s, NULL, NULL, NULL));
  CU_ASSERT_EQUAL (a, 2);
  g_free (end);
}

/* Each choice covers the matrix; large ones have tiles for all cores, where no
   GPU wants larger ones, and small ones are one tile. */
static void
tile_sizes (void)
{
  static const gsize ns[] = { 0, 1, 30, 100, 1000, 5000, 50000, G_MAXINT32 };
  double a = 0;
  for (guint i = 0; i < G_N_ELEMENTS (ns); i++)
    for (guint cores = 1; cores <= 64; cores *= 4)
      {
        HassLaPotrf s = HASS_LA_POTRF_INIT;
        gsize rows = 0, cols = 0;
        s.n = ns[i];
        s.a = &a;
        s.run.n_cores = cores;
        s.run.n_gpus = -1;
        CU_ASSERT_TRUE (hass_la_potrf_tiles (&s, &rows, &cols, NULL));
        CU_ASSERT_TRUE (cols > 0 && rows >= cols && rows % cols == 0);
        CU_ASSERT_EQUAL (ns[i] > 500, cols < ns[i]);
        if (ns[i] >= 1000)
          CU_ASSERT_TRUE (ns[i] / cols * (ns[i] / rows + 1) / 2 >= cores / 4);
        s.tile_cols = 10;
        s.tile_rows = 25;
        CU_ASSERT_TRUE (hass_la_potrf_tiles (&s, &rows, &cols, NULL));
        CU_ASSERT_EQUAL (cols, CLAMP (ns[i], 1, 10));
        CU_ASSERT_EQUAL (rows % cols, 0);
      }
}

/* The urgent tiles are those at the diagonal: else each update needs a tile
   that is not on the GPU yet. */
static void
next_panels_first (void)
{
  LaTiles t = la_gpu_tiles (32768, 0, 0);
  LaUrgency u = la_urgency_new (&t);
  CU_ASSERT_EQUAL (t.n_panels, 16);
  for (gsize k = 0; k + 4 < t.n_panels; k++)
    {
      double solve = la_trsm_level (&u, &t, k + 2, k + 1);
      for (gsize j = k + 2; j < t.n_panels; j++)
        {
          CU_ASSERT_TRUE (la_syrk_level (&u, &t, j, k) < solve);
          for (gsize i = j + 1; i < t.n_chunks; i++)
            CU_ASSERT_TRUE (la_gemm_level (&u, &t, i, j, k) < solve);
        }
    }
  la_urgency_clear (&u);
}

static void
cancelled (void)
{
  Case c = case_new (HASS_LA_DOUBLE, HASS_LA_LOWER, 100, 0);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;
  gsize minor = 1;
  c.settings.tile_cols = 10;
  c.settings.run.cancellable = cancellable;
  g_cancellable_cancel (cancellable);
  CU_ASSERT_FALSE (hass_la_potrf (&c.settings, &minor, NULL, &error));
  CU_ASSERT_TRUE (g_error_matches (error, HASS_ERROR, HASS_ERROR_CANCELLED));
  CU_ASSERT_EQUAL (minor, 0);
  case_clear (&c);
}

HASS_TEST_SUITE (
    potrf,
    { "matrices of any size, type and triangle are factorised in place",
      factors },
    { "the factor is the same to the bit whatever the order of the tasks",
      same_bits },
    { "the first leading minor that is not positive is named, as by LAPACK",
      not_positive },
    { "wrong settings are refused before anything is written", wrong_settings },
    { "settings that are NULL are refused, results may be NULL",
      null_arguments },
    { "the error domain has the name of its function", error_domain },
    { "a program built when the struct was smaller is served", older_struct },
    { "tiles suit the matrix and the cores", tile_sizes },
    { "on a GPU the next panel is solved before far ones are updated",
      next_panels_first },
    { "a factorisation is cancelled", cancelled })

#endif
