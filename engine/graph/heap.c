/* SPDX-License-Identifier: MIT */
/* heap.c: ready tasks by priority.
   Thread safety: under the lock of the heap's owner. */
#include "graph-private.h"

static gboolean
is_before (const HassRanked *a, const HassRanked *b)
{
  if (a->priority != b->priority)
    return a->priority > b->priority;
  if (a->level != b->level)
    return a->level > b->level;
  return a->order < b->order;
}

/* Moves @r from position @i of the heap towards its root. */
static void
sift_up (GArray *array, guint i, const HassRanked *r)
{
  HassRanked *heap = (HassRanked *)(gpointer)array->data;
  for (; i > 0 && is_before (r, &heap[(i - 1) / 2]); i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = *r;
}

void
hass_heap_push (GArray *heap, const HassRanked *task)
{
  g_array_set_size (heap, heap->len + 1);
  sift_up (heap, heap->len - 1, task);
}

/* Removes the entry at position @i; 0: the first. */
void
hass_heap_remove (GArray *array, guint i)
{
  HassRanked *heap = (HassRanked *)(gpointer)array->data;
  guint n = array->len - 1;
  HassRanked last = heap[n];
  g_array_set_size (array, n);
  if (i == n)
    return;
  for (guint child; (child = 2 * i + 1) < n; i = child)
    {
      if (child + 1 < n && is_before (&heap[child + 1], &heap[child]))
        child++;
      if (is_before (&last, &heap[child]))
        break;
      heap[i] = heap[child];
    }
  sift_up (array, i, &last);
}
