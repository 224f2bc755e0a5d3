/* SPDX-License-Identifier: MIT */
/* y4m.c: parses and writes YUV4MPEG2.
   Thread safety: as y4m.h. */
#include "y4m.h"

#include <errno.h>
#include <hass/error.h>
#include <string.h>
#include <sys/stat.h>

/* What the line of a frame begins with. */
#define FRAME "FRAME"

#define INVALID(...)                                                           \
  (g_set_error (error, HASS_ERROR, HASS_ERROR_IO, __VA_ARGS__), FALSE)
#define FAILED(...)                                                            \
  (g_set_error (error, HASS_ERROR, HASS_ERROR_IO, __VA_ARGS__), FALSE)

/* A value of the parameter C: samples of a plane of chroma are 1 << x columns
   and 1 << y rows of luma apart. */
typedef struct
{
  const char *name;
  int n_planes, x, y;
} Chroma;

static const Chroma chromas[] = {
  { "420", 3, 1, 1 },      { "420jpeg", 3, 1, 1 }, { "420mpeg2", 3, 1, 1 },
  { "420paldv", 3, 1, 1 }, { "411", 3, 2, 0 },     { "422", 3, 1, 0 },
  { "444", 3, 0, 0 },      { "mono", 1, 0, 0 },
};

/* Reads up to the end of a line, which is removed; *@line is empty at the end
   of the stream. */
static gboolean
read_line (FILE *in, const char *what, GString *line, GError **error)
{
  int c;
  while ((c = getc_unlocked (in)) != EOF && c != '\n')
    {
      if (c == '\0')
        return INVALID ("%s has a zero byte at offset %zu", what, line->len);
      g_string_append_c (line, (char)c);
      if (line->len > Y4M_MAX_LINE)
        return INVALID ("%s is longer than %d bytes", what, Y4M_MAX_LINE);
    }
  if (c == EOF && ferror (in))
    return FAILED ("%s cannot be read: %s", what, g_strerror (errno));
  if (c == EOF && line->len > 0)
    return FAILED ("%s is incomplete: the stream ends after %zu bytes of it",
                   what, line->len);
  return TRUE;
}

static gboolean
parse_size (const char *parameter, int *size, GError **error)
{
  guint64 n;
  if (*size != 0)
    return INVALID ("the header has '%c' twice: '%s'", parameter[0], parameter);
  if (!g_ascii_string_to_unsigned (parameter + 1, 10, 1, Y4M_MAX_SIZE, &n,
                                   NULL))
    return INVALID ("%s '%s' of the header is not from 1 to %d",
                    parameter[0] == 'W' ? "width" : "height", parameter + 1,
                    Y4M_MAX_SIZE);
  *size = (int)n;
  return TRUE;
}

static gboolean
parse_chroma (const char *name, const Chroma **chroma, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (chromas); i++)
    if (strcmp (name, chromas[i].name) == 0)
      {
        *chroma = &chromas[i];
        return TRUE;
      }
  g_autoptr (GString) known = g_string_new (chromas[0].name);
  for (guint i = 1; i < G_N_ELEMENTS (chromas); i++)
    g_string_append_printf (known, ", %s", chromas[i].name);
  return INVALID ("chroma '%s' of the header is not supported; known are, "
                  "with 8 bits a sample: %s",
                  name, known->str);
}

static void
set_planes (Y4mFormat *f, const Chroma *chroma, int width, int height)
{
  f->n_planes = chroma->n_planes;
  f->frame_bytes = 0;
  for (int i = 0; i < f->n_planes; i++)
    {
      int x = i > 0 ? chroma->x : 0, y = i > 0 ? chroma->y : 0;
      f->planes[i].width = (width + (1 << x) - 1) >> x;
      f->planes[i].height = (height + (1 << y) - 1) >> y;
      f->frame_bytes += (gsize)f->planes[i].width * f->planes[i].height;
    }
}

static gboolean
parse_header (const char *header, Y4mFormat *format, GError **error)
{
  const Chroma *chroma = &chromas[0];
  int width = 0, height = 0;
  g_auto (GStrv) words = g_strsplit (header, " ", -1);
  if (!words[0] || strcmp (words[0], "YUV4MPEG2") != 0)
    return INVALID ("the stream does not begin with YUV4MPEG2");
  for (char **word = words + 1; *word; word++)
    if ((*word)[0] == 'W' && !parse_size (*word, &width, error))
      return FALSE;
    else if ((*word)[0] == 'H' && !parse_size (*word, &height, error))
      return FALSE;
    else if ((*word)[0] == 'C' && !parse_chroma (*word + 1, &chroma, error))
      return FALSE;
  if (width == 0 || height == 0)
    return INVALID ("the header has no %s", width == 0 ? "width" : "height");
  set_planes (format, chroma, width, height);
  return TRUE;
}

gboolean
y4m_read_format (FILE *in, Y4mFormat *format, GError **error)
{
  g_autoptr (GString) line = g_string_new (NULL);
  memset (format, 0, sizeof *format);
  if (!read_line (in, "the header", line, error)
      || !parse_header (line->str, format, error))
    return FALSE;
  format->header = g_strdup (line->str);
  return TRUE;
}

void
y4m_format_clear (Y4mFormat *format)
{
  g_clear_pointer (&format->header, g_free);
}

guint64
y4m_frames_left (FILE *in, const Y4mFormat *format)
{
  struct stat file;
  off_t at = ftello (in);
  if (at < 0 || fstat (fileno (in), &file) != 0 || !S_ISREG (file.st_mode)
      || file.st_size < at)
    return 0;
  return (guint64)(file.st_size - at)
         / (strlen (FRAME "\n") + format->frame_bytes);
}

gboolean
y4m_read_frame_line (FILE *in, guint64 frame, char **parameters, gboolean *end,
                     GError **error)
{
  g_autoptr (GString) line = g_string_new (NULL);
  g_autofree char *what
      = g_strdup_printf ("the line of frame %" G_GUINT64_FORMAT, frame);
  *parameters = NULL;
  if (!read_line (in, what, line, error))
    return FALSE;
  *end = line->len == 0 && feof (in);
  if (*end)
    return TRUE;
  if (!g_str_has_prefix (line->str, FRAME)
      || (line->str[5] != '\0' && line->str[5] != ' '))
    return INVALID ("frame %" G_GUINT64_FORMAT
                    " does not begin with FRAME: what comes before it is "
                    "longer than the header says",
                    frame);
  if (line->len > 5)
    *parameters = g_strdup (line->str + 5);
  return TRUE;
}

gboolean
y4m_read_samples (FILE *in, guint64 frame, guint8 *samples, gsize bytes,
                  GError **error)
{
  gsize n = fread (samples, 1, bytes, in);
  if (n == bytes)
    return TRUE;
  if (ferror (in))
    return FAILED ("frame %" G_GUINT64_FORMAT " cannot be read: %s", frame,
                   g_strerror (errno));
  return FAILED ("frame %" G_GUINT64_FORMAT
                 " is incomplete: the stream ends after %zu of %zu bytes",
                 frame, n, bytes);
}

gboolean
y4m_write_line (FILE *out, const char *line, const char *parameters,
                GError **error)
{
  if (fprintf (out, "%s%s\n", line, parameters ? parameters : "") < 0)
    return FAILED ("cannot write: %s", g_strerror (errno));
  return TRUE;
}

gboolean
y4m_write_frame (FILE *out, guint64 frame, const char *parameters,
                 const guint8 *samples, gsize bytes, GError **error)
{
  if (!y4m_write_line (out, FRAME, parameters, error))
    return FALSE;
  if (fwrite (samples, 1, bytes, out) != bytes || fflush (out) != 0)
    return FAILED ("cannot write frame %" G_GUINT64_FORMAT ": %s", frame,
                   g_strerror (errno));
  return TRUE;
}
