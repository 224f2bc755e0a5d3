/* SPDX-License-Identifier: MIT */
/* forget.c: frees data that are not used any more.
   Thread safety: the submitting thread. */
#include "overlap.h"
#include "place.h"

void
hass_data_drop_copies (HassData *data, guint n_workers)
{
  hass_data_free_copies (data, n_workers);
  g_clear_pointer (&data->copies, g_free);
}

/* The graph that has the devices ends; a recorded one is run again. */
void
hass_data_drop_places (HassData *data)
{
  hass_places_free (hass_data_places (data));
  atomic_store_explicit (&data->places, NULL, memory_order_relaxed);
}

void
hass_data_free (gpointer p)
{
  HassData *data = p;
  if (data->own)
    free (data->view.data);
  hass_data_drop_places (data);
  g_free (data->copies);
  g_free (data->name);
  if (data->parked)
    g_queue_free (data->parked);
  g_aligned_free (data);
}

/* Frees a datum that nothing uses any more. */
static void
remove_data (HassGraph *graph, HassData *data)
{
  HassData *last = g_ptr_array_index (graph->data, graph->data->len - 1);
  if (!data->own)
    hass_occupied_remove (&graph->occupied, data);
  last->slot = data->slot;
  g_ptr_array_remove_index_fast (graph->data, data->slot);
}

/* Frees the data that are not used any more. */
void
hass_graph_sweep (HassGraph *graph)
{
  GPtrArray *left = graph->forgotten;
  guint kept = 0;
  hass_graph_retire (graph);
  for (guint i = 0; i < left->len; i++)
    {
      HassData *data = g_ptr_array_index (left, i);
      if (hass_graph_all_over (graph, data) && hass_place_drop (graph, 0, data))
        remove_data (graph, data);
      else
        left->pdata[kept++] = data;
    }
  g_ptr_array_set_size (left, (gint)kept);
  graph->sweep_at = MAX (2 * kept, 64);
}

void
hass_graph_forget (HassGraph *graph, HassData *data)
{
  if (!hass_graph_may (graph, "hass_graph_forget")
      || !hass_graph_owns (graph, data, "hass_graph_forget")
      || !hass_graph_merge (graph, data))
    return;
  data->forgotten = TRUE;
  if (!graph->job)
    return; /* a recorded graph is run again */
  g_ptr_array_add (graph->forgotten, data);
  if (graph->forgotten->len >= graph->sweep_at)
    hass_graph_sweep (graph);
}
