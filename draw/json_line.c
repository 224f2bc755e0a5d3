/* SPDX-License-Identifier: MIT */
/* json_line.c: see json_line.h.

   DESIGN. json-glib recurses for each array and object, so deep nesting in a
   text of some megabytes overflows the stack. The nesting is therefore counted
   beforehand. json-glib also accepts comments, strings in single quotes and
   assignments, in which brackets would be miscounted: they are refused, as they
   are not JSON. So is what follows the outermost array or object, where
   json-glib 1.6 loses the memory of that (seen with {"a":1}}).

   Thread safety: see json_line.h. */
#include "json_line.h"

#include "hass/error.h"

/* Returns: the character after the string that begins at @text. */
static const char *
after_string (const char *text)
{
  for (text++; *text && *text != '"'; text++)
    if (*text == '\\' && text[1])
      text++;
  return *text ? text + 1 : text;
}

/* Returns: whether the character may stand in JSON outside of strings. */
static gboolean
may_stand (char c)
{
  switch (c)
    {
    case '[':
    case ']':
    case '{':
    case '}':
    case ':':
    case ',':
    case '+':
    case '-':
    case '.':
    case ' ':
    case '\t':
    case '\r':
    case '\n':
      return TRUE;
    default:
      return g_ascii_isalnum (c);
    }
}

/* Refuses the character, as json-glib would or should. */
static gboolean
refuse (const char *text, const char *at, GError **error)
{
  g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
               "it is no JSON: byte %u at %zu", (guchar)*at,
               (gsize)(at - text));
  return FALSE;
}

static gboolean
check_nesting (const char *text, GError **error)
{
  guint depth = 0;
  gboolean ended = FALSE; /* the outermost array or object */
  for (const char *p = text; *p;)
    {
      if (ended && !g_ascii_isspace (*p))
        return refuse (text, p, error);
      if (*p == '"')
        {
          p = after_string (p);
          continue;
        }
      if (!may_stand (*p))
        return refuse (text, p, error);
      if (*p == '[' || *p == '{')
        depth++;
      else if ((*p == ']' || *p == '}') && depth > 0)
        ended = --depth == 0;
      if (depth > DRAW_JSON_MOST_NESTED)
        {
          g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID,
                       "it is nested more than %d levels deep",
                       DRAW_JSON_MOST_NESTED);
          return FALSE;
        }
      p++;
    }
  return TRUE;
}

JsonNode *
draw_json_line (const char *text, GError **error)
{
  GError *inner = NULL;
  if (!check_nesting (text, error))
    return NULL;
  JsonNode *node = json_from_string (text, &inner);
  if (!node)
    g_set_error (error, HASS_ERROR, HASS_ERROR_INVALID, "it is no JSON: %s",
                 inner ? inner->message : "it is empty");
  g_clear_error (&inner);
  return node;
}
