/* SPDX-License-Identifier: MIT */
/* One program searches with each of the FAULTS, as compiling takes longer than
   searching. The environment's FAULT is the number of one of them, 0 none; it is
   no part of a state. */
c_decl {
\#include <stdlib.h>
enum { NO_FAULT, FAULTS };
static int fault;

__attribute__ ((constructor)) static void
choose_fault (void)
{
  const char *chosen = getenv ("FAULT");
  fault = chosen != NULL ? atoi (chosen) : NO_FAULT;
}
}
/* No call: spin takes a call for a look at what threads share. */
#define FAULT(name) (c_expr { fault == name })
