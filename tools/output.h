/* SPDX-License-Identifier: MIT */
/* output.h: the output of a tool. It is checked as that of an example
   (standard_output.h). Text is in the user's locale, but numbers have points in
   each, as programs read them, too, and strategies are given as text.
   Thread safety: output_begin is called once, first in main. */
#ifndef HASS_TOOLS_OUTPUT_H
#define HASS_TOOLS_OUTPUT_H

#include <locale.h>

#include "examples/standard_output.h"

static inline void
output_begin (void)
{
  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");
  output_check ();
}

#endif
