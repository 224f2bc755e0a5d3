/* SPDX-License-Identifier: MIT */
/* count.h: how often a text has a word.
   Thread safety: any thread. */
#ifndef HASS_TEST_COUNT_H
#define HASS_TEST_COUNT_H

#include <glib.h>
#include <string.h>

static inline guint
count (const char *text, const char *word)
{
  guint n = 0;
  for (; (text = strstr (text, word)); text += strlen (word))
    n++;
  return n;
}

#endif
