/* SPDX-License-Identifier: MIT */
/* svg_parts.c: see svg_parts.h.
   Thread safety: see svg_parts.h. */
#include "svg_parts.h"

#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

typedef struct
{
  SvgParts *parts;
  double x, width; /* of the rectangle that is open */
  gboolean in_rect, in_text;
} Reader;

static double
number (const char **names, const char **values, const char *name)
{
  for (guint i = 0; names[i]; i++)
    if (!strcmp (names[i], name))
      return g_ascii_strtod (values[i], NULL);
  return 0;
}

static gboolean
is_class (const char **names, const char **values, const char *name)
{
  for (guint i = 0; names[i]; i++)
    if (!strcmp (names[i], "class"))
      return !strcmp (values[i], name);
  return FALSE;
}

static void
start (GMarkupParseContext *context, const char *element, const char **names,
       const char **values, gpointer data, GError **error)
{
  Reader *r = data;
  SvgParts *p = r->parts;
  (void)context, (void)error;
  if (!strcmp (element, "rect"))
    {
      r->x = number (names, values, "x");
      r->width = number (names, values, "width");
      r->in_rect = !is_class (names, values, "lane");
      if (!r->in_rect)
        {
          p->left = p->lanes == 0 ? r->x : MIN (p->left, r->x);
          p->right = MAX (p->right, r->x + r->width);
          p->lanes++;
        }
    }
  else if (!strcmp (element, "title") && r->in_rect)
    {
      p->lowest = p->bars == 0 ? r->x : MIN (p->lowest, r->x);
      p->highest = MAX (p->highest, r->x + r->width);
      p->bars++;
    }
  else if (!strcmp (element, "path"))
    p->areas += is_class (names, values, "area");
  else if (!strcmp (element, "polyline"))
    p->lines++;
  r->in_text = !strcmp (element, "text");
}

static void
end (GMarkupParseContext *context, const char *element, gpointer data,
     GError **error)
{
  Reader *r = data;
  (void)context, (void)error;
  if (!strcmp (element, "rect"))
    r->in_rect = FALSE;
  r->in_text = FALSE;
}

static void
text (GMarkupParseContext *context, const char *string, gsize length,
      gpointer data, GError **error)
{
  Reader *r = data;
  (void)context, (void)error;
  if (r->in_text)
    g_ptr_array_add (r->parts->texts, g_strndup (string, length));
}

SvgParts
svg_parts (const char *svg)
{
  static const GMarkupParser parser
      = { .start_element = start, .end_element = end, .text = text };
  SvgParts parts = { .texts = g_ptr_array_new_with_free_func (g_free) };
  Reader r = { .parts = &parts };
  g_autoptr (GError) error = NULL;
  GMarkupParseContext *context
      = g_markup_parse_context_new (&parser, G_MARKUP_DEFAULT_FLAGS, &r, NULL);
  gboolean ok = g_markup_parse_context_parse (context, svg, -1, &error)
                && g_markup_parse_context_end_parse (context, &error);
  CU_ASSERT_TRUE (ok);
  if (!ok)
    printf ("\n    %s", error->message);
  g_markup_parse_context_free (context);
  return parts;
}

gboolean
svg_says (const SvgParts *parts, const char *wanted)
{
  for (guint i = 0; i < parts->texts->len; i++)
    if (strstr (parts->texts->pdata[i], wanted))
      return TRUE;
  return FALSE;
}

void
svg_parts_clear (SvgParts *parts)
{
  g_ptr_array_unref (parts->texts);
}
