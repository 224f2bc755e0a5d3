/* SPDX-License-Identifier: MIT */
/* test_cholesky_market.c: cholesky reads Matrix Market files, and names file
   and line of those that are not.
   Thread safety: one thread. */
#include "hass_test.h"

#ifndef WITHOUT_cholesky

#  include <math.h>
#  include <string.h>

#  include "cholesky/cholesky.h"

#  define HEAD "%%MatrixMarket matrix "

/* The matrix of a text, or an error. */
static gboolean
read_text (const char *text, gsize length, CholeskyProblem *p, GError **error)
{
  FILE *in = fmemopen ((char *)text, length, "r");
  MarketFile m = { .in = in, .name = "it" };
  CU_ASSERT_PTR_NOT_NULL_FATAL (in);
  gboolean ok = market_read_head (&m, error);
  p->n = m.n;
  ok = ok && cholesky_allocate (p, error) && market_read_numbers (&m, p, error);
  fclose (in);
  return ok;
}

static void
reads (void)
{
  static const char *const texts[] = {
    HEAD "coordinate real symmetric\n% a comment\n\n3 3 4\n1 1 4\n2 1 -1.5\n"
         "3 3 2e1\n2 2 5\n",
    "%%MatrixMarket MATRIX Coordinate Real General\r\n3 3 5\r\n"
    "1 2 -1.5\r\n1 1 4\r\n 2  2\t5 \r\n3 3 +20\r\n2 1 -15e-1",
    HEAD "array integer symmetric\n3 3\n4\n-1.5\n0\n5\n0\n20\n",
    HEAD "array real general\n3 3\n4\n-1.5\n0\n% in between\n-1.5\n5\n0\n0\n0\n"
         "20\n\n",
  };
  static const double wanted[] = { 4, -1.5, 0, -1.5, 5, 0, 0, 0, 20 };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    for (int type = 0; type < 2; type++)
      {
        CholeskyProblem p = { .type = type };
        g_autoptr (GError) error = NULL;
        CU_ASSERT_TRUE (read_text (texts[i], strlen (texts[i]), &p, &error));
        if (error)
          printf ("\n    %s", error->message);
        CU_ASSERT_EQUAL (p.n, 3);
        for (gsize at = 0; at < 9 && !error; at++)
          CU_ASSERT_EQUAL (cholesky_get (&p, at % 3, at / 3), wanted[at]);
        cholesky_clear (&p);
      }
}

static const struct
{
  const char *text, *says;
} refused[] = {
  { "", "it:1: the file ends here" },
  { "\n", "it:1: no '%%MatrixMarket" },
  { "%MatrixMarket matrix array real symmetric\n", "it:1: no '" },
  { HEAD "array real\n", "it:1: no '" },
  { HEAD "list real symmetric\n", "not 'list'" },
  { HEAD "array complex symmetric\n", "not 'complex'" },
  { HEAD "coordinate pattern symmetric\n", "not 'pattern'" },
  { HEAD "array real skew-symmetric\n", "not 'skew-symmetric'" },
  { HEAD "array real hermitian\n", "not 'hermitian'" },
  { HEAD "array real symmetric\n%\n", "it:3: the file ends here" },
  { HEAD "array real symmetric\n2\n", "it:2: no numbers of rows" },
  { HEAD "array real symmetric\n-2 -2\n", "it:2: no numbers of rows" },
  { HEAD "array real symmetric\n2 3\n", "2 rows and 3 columns" },
  { HEAD "array real symmetric\n2 2 3\n", "it:2: ' 3' is too much" },
  { HEAD "array real symmetric\n99999999999999999999 2\n", "no numbers" },
  { HEAD "array real symmetric\n2000000 2000000\n", "up to 1048576" },
  { HEAD "coordinate real symmetric\n2 2 4\n", "entries up to 3" },
  { HEAD "coordinate real symmetric\n2 2 -1\n", "no number of entries" },
  { HEAD "coordinate real symmetric\n1048576 1048576 1\n1 1 1\n",
    "needs 8192.0 GiB" },
  { HEAD "coordinate real symmetric\n2 2 2\n1 1 1\n",
    "it:4: the file ends here" },
  { HEAD "coordinate real symmetric\n2 2 1\n1 1 1\n\n2 2 2\n",
    "it:5: more than 1 entries" },
  { HEAD "coordinate real symmetric\n2 2 1\n0 1 1\n", "it:3: no row and" },
  { HEAD "coordinate real symmetric\n2 2 1\n3 1 1\n", "it:3: no row and" },
  { HEAD "coordinate real symmetric\n2 2 1\n1.5 1 1\n", "it:3: no row and" },
  { HEAD "coordinate real symmetric\n2 2 1\n1 1\n", "it:3: no number" },
  { HEAD "coordinate real symmetric\n2 2 1\n1 1 x\n", "it:3: no number" },
  { HEAD "coordinate real symmetric\n2 2 1\n1 1 1 0\n", "too much of" },
  { HEAD "coordinate real symmetric\n2 2 1\n1 1 1,5\n", "it:3: no number" },
  { HEAD "coordinate real symmetric\n2 2 1\n1 1 nan\n", "nan is out of" },
  { HEAD "coordinate real symmetric\n2 2 1\n1 1 -inf\n", "-inf is out of" },
  { HEAD "coordinate real symmetric\n2 2 1\n1 1 1e999\n", "inf is out of" },
  { HEAD "coordinate real symmetric\n2 2 1\n1 2 1\n", "above the diagonal" },
  { HEAD "coordinate real general\n2 2 2\n1 2 1\n1 2 1\n",
    "it:4: row 1, column 2 for the second time" },
  { HEAD "coordinate real symmetric\n2 2 2\n2 1 0\n2 1 0\n",
    "row 2, column 1 for the second time" },
  { HEAD "coordinate real general\n2 2 1\n1 2 1\n",
    "not symmetric: row 1, column 2 is 1, and its mirror 0" },
  { HEAD "array real general\n2 2\n1\n2\n3\n4\n", "is 3, and its mirror 2" },
};

static void
refuses (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      CholeskyProblem p = { .type = HASS_LA_DOUBLE };
      g_autoptr (GError) error = NULL;
      /* as a file that is empty has no stream in memory */
      gsize length = MAX (strlen (refused[i].text), 1);
      gboolean ok = read_text (refused[i].text[0] ? refused[i].text : "%",
                               length, &p, &error);
      if (i == 0)
        g_clear_error (&error);
      else if (!error || !strstr (error->message, refused[i].says))
        printf ("\n    %s: %s", refused[i].says,
                error ? error->message : "read");
      CU_ASSERT_FALSE (ok);
      CU_ASSERT_TRUE (i == 0
                      || (error && strstr (error->message, refused[i].says)));
      cholesky_clear (&p);
    }
}

/* What is no text, and a line without end. */
static void
no_text (void)
{
  static const char zero[] = HEAD "array real symmetric\n1 1\n4\0 5\n";
  g_autofree char *line = g_strnfill (100000, ' ');
  g_autofree char *text
      = g_strconcat (HEAD "array real symmetric\n1 1\n", line, "4\n", NULL);
  CholeskyProblem p = { .type = HASS_LA_DOUBLE };
  g_autoptr (GError) error = NULL, other = NULL;
  CU_ASSERT_FALSE (read_text (zero, sizeof zero - 1, &p, &error));
  CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "it:3: longer than"));
  cholesky_clear (&p);
  p.a = p.diagonal = NULL;
  CU_ASSERT_FALSE (read_text (text, strlen (text), &p, &other));
  CU_ASSERT_PTR_NOT_NULL (strstr (other->message, "it:3: longer than"));
  cholesky_clear (&p);
}

/* Neither is more than a float has room for. */
static void
float_range (void)
{
  static const char text[] = HEAD "array real symmetric\n1 1\n1e39\n";
  CholeskyProblem p = { .type = HASS_LA_FLOAT };
  g_autoptr (GError) error = NULL;
  CU_ASSERT_FALSE (read_text (text, sizeof text - 1, &p, &error));
  CU_ASSERT_PTR_NOT_NULL (strstr (error->message, "1e+39 is out of range"));
  cholesky_clear (&p);
}

HASS_TEST_SUITE (
    cholesky_market, { "matrices are read from all kinds of files", reads },
    { "what is no symmetric matrix is refused with its line", refuses },
    { "a file that is no text is refused", no_text },
    { "numbers that are too large for float are refused", float_range })

#endif
