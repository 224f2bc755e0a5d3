/* SPDX-License-Identifier: MIT */
/* overlap.h: which of the user's memory belongs to data already.
   Thread safety: one thread at a time; the submitting thread of the graph. */
#ifndef HASS_GRAPH_OVERLAP_H
#define HASS_GRAPH_OVERLAP_H

#include "engine/graph/task.h"

/* The memory of one datum, in a tree of those; NULL: the tree is empty. */
typedef struct HassOccupied HassOccupied;

/* Adds a datum that overlaps none of the tree. Only its view is read, which
   must not change until it is removed.

   Data overlap if they share a byte; data of several rows whose pitches differ
   also if one begins between the first and the last byte of the other. The
   pitch of a single row means nothing.

   Returns: NULL, or the datum with the lowest address that it overlaps; then it
   is not added. */
HassData *hass_occupied_add (HassOccupied **tree, HassData *data);

/* Removes a datum that was added. */
void hass_occupied_remove (HassOccupied **tree, const HassData *data);

/* Empties the tree. The data may have been freed. */
void hass_occupied_clear (HassOccupied **tree);

#endif
