/* SPDX-License-Identifier: MIT */
/* y4m_trial.c: see y4m_trial.h.
   Thread safety: as y4m_trial.h. */
#include "y4m_trial.h"

#include <string.h>

#include "hass_test.h"
#include "y4m_denoise/blend.h"

static FILE *
open_stream (const GString *stream, Y4mFormat *format)
{
  FILE *in = fmemopen (stream->str, stream->len, "rb");
  CU_ASSERT_PTR_NOT_NULL_FATAL (in);
  CU_ASSERT_TRUE_FATAL (y4m_read_format (in, format, NULL));
  return in;
}

GString *
y4m_trial_stream (const char *header, guint n_frames, guint range, guint seed)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  GString *stream = g_string_new (header);
  Y4mFormat format;
  g_string_append_c (stream, '\n');
  fclose (open_stream (stream, &format));
  for (guint frame = 0; frame < n_frames; frame++)
    {
      g_string_append (stream, frame % 3 == 2 ? "FRAME Ip\n" : "FRAME\n");
      for (gsize i = 0; i < format.frame_bytes; i++)
        {
          gboolean bright = i % (gsize)format.planes[0].width > 2 + frame;
          guint sample = (guint)g_rand_int_range (random, 0, (gint)range)
                         + (bright ? 90 : 0);
          g_string_append_c (stream, (char)MIN (sample, 255));
        }
    }
  y4m_format_clear (&format);
  return stream;
}

GBytes *
y4m_trial_run (const GString *stream, Y4mJob job, gboolean *ok, GError **error)
{
  char *written = NULL;
  gsize size = 0;
  Y4mFormat format;
  job.in = open_stream (stream, &format);
  job.out = open_memstream (&written, &size);
  job.format = &format;
  *ok = y4m_denoise_run (&job, NULL, error);
  fclose (job.in);
  fclose (job.out);
  y4m_format_clear (&format);
  return g_bytes_new_with_free_func (written, size, free, written);
}

/* Denoises and blends a frame. */
static void
compute_frame (const Y4mFormat *f, const Y4mJob *job, const guint8 *in,
               guint8 *out, guint8 *before, gboolean first)
{
  guint8 *samples = out;
  for (int p = 0; p < f->n_planes; p++)
    {
      gsize n = (gsize)f->planes[p].width * f->planes[p].height;
      for (int i = 0; i < nlm_tiles (f->planes[p]); i++)
        nlm_tile (&nlm_portable, &job->nlm, f->planes[p], i, in, samples);
      in += n;
      samples += n;
    }
  if (job->temporal == 0)
    return;
  if (first)
    memcpy (before, out, f->frame_bytes);
  else
    y4m_blend (out, before, f->frame_bytes, job->temporal);
}

GBytes *
y4m_trial_expected (const GString *stream, const Y4mJob *job)
{
  Y4mFormat f;
  char *parameters;
  gboolean end;
  FILE *in = open_stream (stream, &f);
  g_autofree guint8 *frame = g_malloc (f.frame_bytes);
  g_autofree guint8 *denoised = g_malloc (f.frame_bytes);
  g_autofree guint8 *before = g_malloc (f.frame_bytes);
  GByteArray *wanted = g_byte_array_new ();
  g_byte_array_append (wanted, (guint8 *)f.header, (guint)strlen (f.header));
  g_byte_array_append (wanted, (const guint8 *)"\n", 1);
  for (guint i = 0; y4m_read_frame_line (in, i, &parameters, &end, NULL) && !end
                    && y4m_read_samples (in, i, frame, f.frame_bytes, NULL);
       i++)
    {
      g_autofree char *line
          = g_strdup_printf ("FRAME%s\n", parameters ? parameters : "");
      g_free (parameters);
      compute_frame (&f, job, frame, denoised, before, i == 0);
      g_byte_array_append (wanted, (guint8 *)line, (guint)strlen (line));
      g_byte_array_append (wanted, denoised, (guint)f.frame_bytes);
    }
  fclose (in);
  y4m_format_clear (&f);
  return g_byte_array_free_to_bytes (wanted);
}
