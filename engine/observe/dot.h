/* SPDX-License-Identifier: MIT */
/* dot.h: describes a task graph in the DOT language of Graphviz.

   Tasks are given in the order of submission. A task is a box with the name of
   its codelet and its number, in a colour of its codelet. An edge leads from a
   task to one that must follow it, and names the data that are the reason. It
   is solid if the value of one of them goes along it, else dashed: then the
   later task overwrites what the earlier one has read or written.

   Thread safety: a description belongs to one thread at a time. */
#ifndef HASS_DOT_H
#define HASS_DOT_H

#include "engine/core/facts.h"

typedef struct HassDot HassDot;

/* Begins a description in @out, which is the caller's. @name: of the graph. */
HassDot *hass_dot_new (GString *out, const char *name);
/* Appends a task and its edges. Dependences follow from the uses as in a
   dataflow (hass/codelet.h); @uses must be valid during the call only. */
void hass_dot_task (HassDot *dot, const HassSubmitted *task);
/* Ends the description and frees @dot. */
void hass_dot_end (HassDot *dot);

#endif
