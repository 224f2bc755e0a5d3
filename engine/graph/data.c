/* SPDX-License-Identifier: MIT */
/* data.c: makes the data of a graph.
   Thread safety: the submitting thread. */
#include "graph-private.h"
#include "overlap.h"

static HassData *
add (HassGraph *graph, const HassDataView *view)
{
  HassData *data = g_aligned_alloc0 (1, sizeof *data, 64);
  data->graph = graph;
  data->view = *view;
  data->index = graph->n_data++;
  data->slot = graph->data->len;
  g_ptr_array_add (graph->data, data);
  return data;
}

/* Returns: what is wrong with a view of the user's memory, or NULL. */
static const char *
wrong_with (const HassDataView *v)
{
  gsize bytes;
  if (!v->data)
    return "it needs memory";
  if (v->row_bytes == 0 || v->rows == 0)
    return "it needs at least a byte";
  if (v->pitch < v->row_bytes)
    return "the pitch must be at least a row";
  if (__builtin_mul_overflow (v->rows - 1, v->pitch, &bytes)
      || __builtin_add_overflow (bytes, v->row_bytes, &bytes)
      || (guintptr)v->data > G_MAXSIZE - bytes)
    return "it would end beyond the last address";
  return NULL;
}

HassData *
hass_graph_data (HassGraph *graph, gpointer host, gsize row_bytes, gsize rows,
                 gsize pitch)
{
  HassDataView v = { host, row_bytes, rows, pitch > 0 ? pitch : row_bytes };
  if (!hass_graph_may (graph, "hass_graph_data"))
    return NULL;
  const char *wrong = wrong_with (&v);
  if (wrong)
    {
      hass_graph_refuse (graph, HASS_ERROR_INVALID,
                         "hass_graph_data: datum %u has the address %p, %zu "
                         "rows of %zu bytes and the pitch %zu; %s",
                         graph->n_data + 1, host, rows, row_bytes, v.pitch,
                         wrong);
      return NULL;
    }
  HassData *data = add (graph, &v);
  const HassData *other = hass_occupied_add (&graph->occupied, data);
  char name[32];
  if (other && other->forgotten && graph->job)
    {
      hass_graph_sweep (graph);
      other = hass_occupied_add (&graph->occupied, data);
    }
  if (other)
    {
      const HassDataView *o = &other->view;
      gboolean pitches = v.rows > 1 && o->rows > 1 && v.pitch != o->pitch;
      hass_graph_refuse (
          graph, HASS_ERROR_INVALID,
          "hass_graph_data: datum %u, %zu rows of %zu bytes at %p with the "
          "pitch %zu, overlaps %s, %zu rows of %zu bytes at %p with the pitch "
          "%zu%s%s",
          data->index + 1, v.rows, v.row_bytes, host, v.pitch,
          hass_data_name (other, name), o->rows, o->row_bytes, o->data,
          o->pitch, other->forgotten ? ", which tasks still use" : "",
          pitches ? "; where pitches differ, data may not begin before others "
                    "end, though they share no byte"
                  : "");
      return NULL;
    }
  data->written = TRUE;
  return data;
}

HassData *
hass_graph_scratch (HassGraph *graph, gsize bytes)
{
  HassDataView v = { NULL, bytes, bytes > 0 ? 1 : 0, bytes };
  if (!hass_graph_may (graph, "hass_graph_scratch"))
    return NULL;
  if (bytes > 0
      && (bytes > G_MAXSIZE - 64
          || posix_memalign (&v.data, 64, (bytes + 63) & ~(gsize)63) != 0))
    {
      hass_graph_refuse (graph, HASS_ERROR_NO_MEMORY,
                         "hass_graph_scratch: there is no memory for the %zu "
                         "bytes of datum %u",
                         bytes, graph->n_data + 1);
      return NULL;
    }
  HassData *data = add (graph, &v);
  data->own = TRUE;
  return data;
}

void
hass_graph_name (HassGraph *graph, HassData *data, const char *name)
{
  if (!hass_graph_may (graph, "hass_graph_name")
      || !hass_graph_owns (graph, data, "hass_graph_name"))
    return;
  g_free (data->name);
  data->name = g_strdup (name);
}

void
hass_graph_reduction (HassGraph *graph, HassData *data, HassInitFunc init,
                      HassMergeFunc merge, gpointer user_data)
{
  char name[32];
  if (!hass_graph_may (graph, "hass_graph_reduction")
      || !hass_graph_owns (graph, data, "hass_graph_reduction"))
    return;
  if (!merge || data->reduced)
    {
      hass_graph_refuse (
          graph, HASS_ERROR_INVALID, "hass_graph_reduction: %s %s",
          hass_data_name (data, name),
          merge ? "has been reduced into already" : "needs a merge function");
      return;
    }
  data->init = init;
  data->merge = merge;
  data->merge_data = user_data;
}
