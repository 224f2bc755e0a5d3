/* SPDX-License-Identifier: MIT */
/* y4m.c: a stream of YUV4MPEG2, whose small frames are denoised.
   Thread safety: see fuzz.h. */
#include <stdio.h>

#include "fuzz.h"
#include "y4m_denoise/y4m.h"

#define MOST_BYTES 4096

static void
denoise (const Y4mFormat *f, const guint8 *in, guint8 *out)
{
  NlmParams n = nlm_params (5, 3, 3);
  for (int p = 0; p < f->n_planes; p++)
    {
      gsize area = (gsize)f->planes[p].width * f->planes[p].height;
      for (int i = 0; i < nlm_tiles (f->planes[p]); i++)
        nlm_tile (nlm_kernels (0), &n, f->planes[p], i, in, out);
      in += area;
      out += area;
    }
}

static int
y4m (const guint8 *data, size_t size)
{
  Y4mFormat f;
  g_autoptr (GError) error = NULL;
  char *parameters = NULL;
  gboolean end = FALSE;
  FILE *in = size > 0 ? fmemopen ((guint8 *)data, size, "rb") : NULL;
  if (!in)
    return 0;
  gboolean ok = y4m_read_format (in, &f, &error);
  FUZZ_CHECK (ok == (error == NULL));
  gsize bytes = ok && f.frame_bytes <= MOST_BYTES ? f.frame_bytes : 0;
  g_autofree guint8 *frame = g_malloc (bytes), *denoised = g_malloc (bytes);
  for (guint64 i = 0; bytes > 0; i++)
    {
      ok = y4m_read_frame_line (in, i, &parameters, &end, &error)
           && (end || y4m_read_samples (in, i, frame, bytes, &error));
      g_clear_pointer (&parameters, g_free);
      FUZZ_CHECK (ok == (error == NULL));
      if (!ok || end)
        break;
      denoise (&f, frame, denoised);
    }
  y4m_format_clear (&f);
  fclose (in);
  return 0;
}

FUZZ_TARGET (y4m, y4m)
