/* SPDX-License-Identifier: MIT */
/* test_y4m_parse.c: YUV4MPEG2 that is well formed, and that is not.
   Thread safety: one thread. */
#include "hass_test.h"
#include "tests/program.h"

#include <string.h>
#include <unistd.h>

#include "y4m_denoise/y4m.h"

/* fmemopen() refuses a size of 0. */
static FILE *
open_text (const char *text, gsize size)
{
  FILE *in = size > 0 ? fmemopen ((char *)text, size, "rb")
                      : fopen ("/dev/null", "rb");
  CU_ASSERT_PTR_NOT_NULL_FATAL (in);
  return in;
}

static gboolean
parse (const char *text, gsize size, Y4mFormat *format, GError **error)
{
  FILE *in = open_text (text, size);
  gboolean ok = y4m_read_format (in, format, error);
  fclose (in);
  return ok;
}

static void
sizes (void)
{
  static const struct
  {
    const char *header;
    gsize bytes;
    int n_planes, x, y; /* of chroma */
  } cases[] = {
    { "YUV4MPEG2 W4 H2", 12, 3, 2, 1 },
    { "YUV4MPEG2 W4 H2 C420jpeg F25:1 Ip A1:1 XYSCSS=420JPEG", 12, 3, 2, 1 },
    { "YUV4MPEG2 C420mpeg2 H3 W5", 27, 3, 3, 2 },
    { "YUV4MPEG2 W1 H1 C420paldv", 3, 3, 1, 1 },
    { "YUV4MPEG2 W5 H3 C422", 33, 3, 3, 3 },
    { "YUV4MPEG2 W5 H3 C411", 27, 3, 2, 3 },
    { "YUV4MPEG2 W5 H3 C444", 45, 3, 5, 3 },
    { "YUV4MPEG2 W5 H3 Cmono ", 15, 1, 0, 0 },
    { "YUV4MPEG2 W32768 H32768 C444", (gsize)3 << 30, 3, 32768, 32768 },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Y4mFormat f;
      g_autofree char *line = g_strconcat (cases[i].header, "\n", NULL);
      CU_ASSERT_TRUE_FATAL (parse (line, strlen (line), &f, NULL));
      CU_ASSERT_STRING_EQUAL (f.header, cases[i].header);
      CU_ASSERT_EQUAL (f.frame_bytes, cases[i].bytes);
      CU_ASSERT_EQUAL (f.n_planes, cases[i].n_planes);
      if (f.n_planes == 3)
        {
          CU_ASSERT_EQUAL (f.planes[2].width, cases[i].x);
          CU_ASSERT_EQUAL (f.planes[2].height, cases[i].y);
        }
      y4m_format_clear (&f);
    }
}

static void
bad_headers (void)
{
  static const char *const cases[][2] = {
    { "", "does not begin with YUV4MPEG2" },
    { "\n", "does not begin with YUV4MPEG2" },
    { "RIFF", "incomplete: the stream ends after 4 bytes" },
    { "YUV4MPEG W4 H4\n", "does not begin with YUV4MPEG2" },
    { "YUV4MPEG2\n", "no width" },
    { "YUV4MPEG2 W4\n", "no height" },
    { "YUV4MPEG2 W4 H4", "ends after 15 bytes" },
    { "YUV4MPEG2 W H4\n", "width '' of the header is not from 1 to 32768" },
    { "YUV4MPEG2 W0 H4\n", "width '0'" },
    { "YUV4MPEG2 W-4 H4\n", "width '-4'" },
    { "YUV4MPEG2 W4 H4x\n", "height '4x'" },
    { "YUV4MPEG2 W4 H32769\n", "height '32769'" },
    { "YUV4MPEG2 W99999999999999999999 H4\n", "99999" },
    { "YUV4MPEG2 W4 H4 W5\n", "'W' twice: 'W5'" },
    { "YUV4MPEG2 W4 H4 C420p10\n", "chroma '420p10' of the header is not" },
    { "YUV4MPEG2 W4 H4 C444alpha\n", "with 8 bits a sample: 420, 420jpeg" },
    { "YUV4MPEG2 W4 H4 C\n", "chroma ''" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Y4mFormat f;
      g_autoptr (GError) error = NULL;
      CU_ASSERT_FALSE (parse (cases[i][0], strlen (cases[i][0]), &f, &error));
      CU_ASSERT_PTR_NOT_NULL_FATAL (error);
      program_says (error->message, cases[i][1]);
    }
}

static void
long_and_binary_headers (void)
{
  Y4mFormat f;
  g_autoptr (GError) error = NULL, zero = NULL;
  g_autofree char *line = g_strnfill (2 * Y4M_MAX_LINE, 'x');
  CU_ASSERT_FALSE (parse (line, 2 * Y4M_MAX_LINE, &f, &error));
  program_says (error->message, "longer than 4096 bytes");
  CU_ASSERT_FALSE (parse ("YUV4MPEG2 \0W4 H4\n", 17, &f, &zero));
  program_says (zero->message, "zero byte at offset 10");
}

/* Random changes of a header neither crash nor give a size that is not what it
   says. */
static void
mutated_headers (void)
{
  static const char good[] = "YUV4MPEG2 W64 H48 F25:1 Ip A1:1 C420jpeg\n";
  g_autoptr (GRand) random = g_rand_new_with_seed (4);
  for (guint trial = 0; trial < 5000; trial++)
    {
      char text[sizeof good];
      Y4mFormat f;
      g_autoptr (GError) error = NULL;
      memcpy (text, good, sizeof good);
      for (int n = g_rand_int_range (random, 1, 5); n > 0; n--)
        text[g_rand_int_range (random, 0, sizeof good - 1)]
            = (char)g_rand_int_range (random, 0, 256);
      if (parse (text, (gsize)g_rand_int_range (random, 1, sizeof good), &f,
                 &error))
        {
          gsize luma = (gsize)f.planes[0].width * f.planes[0].height;
          CU_ASSERT_TRUE (luma > 0 && f.frame_bytes >= luma
                          && f.frame_bytes <= 3 * luma);
          CU_ASSERT_PTR_NULL (error);
          y4m_format_clear (&f);
        }
      else
        CU_ASSERT_PTR_NOT_NULL (error);
    }
}

static void
frame_lines (void)
{
  static const struct
  {
    const char *text, *parameters, *message;
  } cases[] = { { "FRAME\n", NULL, NULL },
                { "FRAME Ixyz XA=1\n", " Ixyz XA=1", NULL },
                { "FRAMES\n", NULL, "frame 7 does not begin with FRAME" },
                { "frame\n", NULL, "frame 7 does not begin with FRAME" },
                { "\n", NULL, "frame 7 does not begin with FRAME" },
                { "FRA", NULL, "line of frame 7 is incomplete" } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *parameters = NULL;
      g_autoptr (GError) error = NULL;
      gboolean end = TRUE;
      FILE *in = open_text (cases[i].text, strlen (cases[i].text));
      gboolean ok = y4m_read_frame_line (in, 7, &parameters, &end, &error);
      fclose (in);
      CU_ASSERT_EQUAL (ok, cases[i].message == NULL);
      if (error)
        program_says (error->message, cases[i].message);
      else
        CU_ASSERT_FALSE (end);
      CU_ASSERT_EQUAL (g_strcmp0 (parameters, cases[i].parameters), 0);
    }
}

static void
ends (void)
{
  guint8 samples[8];
  char *parameters;
  gboolean end = FALSE;
  g_autoptr (GError) error = NULL;
  FILE *in = open_text ("", 0);
  CU_ASSERT_TRUE (y4m_read_frame_line (in, 0, &parameters, &end, NULL));
  CU_ASSERT_TRUE (end);
  fclose (in);
  in = open_text ("12345", 5);
  CU_ASSERT_FALSE (y4m_read_samples (in, 3, samples, 8, &error));
  program_says (error->message,
                "frame 3 is incomplete: the stream ends after 5 of 8 bytes");
  fclose (in);
}

/* Behind the header, in the middle, with parameters, truncated, and too short.
 */
static void
frames_left (void)
{
  static const struct
  {
    const char *text;
    guint n;
  } cases[] = { { "", 0 },
                { "FRAME\n1234", 0 },
                { "FRAME\n123456", 1 },
                { "FRAME\n123456FRAME\n123456FRAME\n123", 2 },
                { "FRAME Ip\n123456FRAME Ip\n123456", 2 } };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Y4mFormat format;
      FILE *in = tmpfile ();
      CU_ASSERT_PTR_NOT_NULL_FATAL (in);
      fprintf (in, "YUV4MPEG2 W2 H2 C420\n%s", cases[i].text);
      rewind (in);
      CU_ASSERT_TRUE (y4m_read_format (in, &format, NULL));
      CU_ASSERT_EQUAL (format.frame_bytes, 6);
      CU_ASSERT_EQUAL (y4m_frames_left (in, &format), cases[i].n);
      y4m_format_clear (&format);
      fclose (in);
    }
}

static void
frames_of_a_pipe (void)
{
  const Y4mFormat format = { .frame_bytes = 6 };
  FILE *in = open_text ("FRAME\n123456", 12);
  int ends[2];
  CU_ASSERT_EQUAL (y4m_frames_left (in, &format), 0);
  fclose (in);
  CU_ASSERT_EQUAL_FATAL (pipe (ends), 0);
  in = fdopen (ends[0], "rb");
  CU_ASSERT_PTR_NOT_NULL_FATAL (in);
  CU_ASSERT_EQUAL (y4m_frames_left (in, &format), 0);
  fclose (in);
  close (ends[1]);
}

HASS_TEST_SUITE (
    y4m_parse, { "planes have the sizes that the header says", sizes },
    { "a bad header is named with its numbers", bad_headers },
    { "a long line and a zero byte are refused", long_and_binary_headers },
    { "a header with random bytes is parsed or refused", mutated_headers },
    { "the line of a frame has parameters or none", frame_lines },
    { "the end of a stream and a truncated frame differ", ends },
    { "a file says about how many frames follow", frames_left },
    { "a pipe does not say how many frames follow", frames_of_a_pipe })
