/* SPDX-License-Identifier: MIT */
/* dot.c: see dot.h.

   DESIGN. The accesses to a datum form groups, as in engine/graph/submit.c: one
   exclusive access, or consecutive shared ones. A shared access follows the
   exclusive one before its group, an exclusive one the whole group before it.

   Thread safety: see dot.h. */
#include "dot.h"

/* An access that a later task may have to follow. */
typedef struct
{
  guint64 task;
  gboolean writes;
} Before;

/* A datum: its last exclusive access, and the group of shared ones after it. */
typedef struct
{
  gboolean has_exclusive;
  Before exclusive;
  GArray *group; /* Before */
} Datum;

/* Why a task follows another one. */
typedef struct
{
  guint64 from;
  gboolean has_value; /* a value goes along the edge */
  GString *names;     /* of data */
} Edge;

struct HassDot
{
  GString *out;
  GPtrArray *data;      /* Datum, by HassUse.datum; NULL: not used yet */
  GHashTable *codelets; /* name -> 1 + its number, for its colour */
};

static void
datum_free (gpointer p)
{
  Datum *datum = p;
  if (!datum)
    return;
  g_array_unref (datum->group);
  g_free (datum);
}

static void
edge_free (gpointer p)
{
  Edge *edge = p;
  g_string_free (edge->names, TRUE);
  g_free (edge);
}

/* Appends a string in quotes. */
static void
quote (GString *out, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_string_append_c (out, '"');
  for (const char *c = valid; *c; c++)
    {
      if (*c == '"' || *c == '\\')
        g_string_append_c (out, '\\');
      g_string_append_c (out, (guchar)*c < ' ' ? ' ' : *c);
    }
  g_string_append_c (out, '"');
}

HassDot *
hass_dot_new (GString *out, const char *name)
{
  HassDot *dot = g_new (HassDot, 1);
  dot->out = out;
  dot->data = g_ptr_array_new_with_free_func (datum_free);
  dot->codelets = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_string_append (out, "digraph ");
  quote (out, name);
  g_string_append (out, " {\n  node [shape=box style=\"rounded,filled\" "
                        "fontname=\"sans-serif\" fontsize=12 height=0.3];\n"
                        "  edge [fontname=\"sans-serif\" fontsize=9 "
                        "color=\"#4d5966\" fontcolor=\"#4d5966\" "
                        "arrowsize=0.7];\n");
  return dot;
}

void
hass_dot_end (HassDot *dot)
{
  g_string_append (dot->out, "}\n");
  g_ptr_array_unref (dot->data);
  g_hash_table_unref (dot->codelets);
  g_free (dot);
}

/* -- Tasks -------------------------------------------------------------- */

/* Returns: the colour of a codelet's tasks, on which dark text is readable. */
static const char *
colour_of (HassDot *dot, const char *codelet)
{
  static const char *const colours[]
      = { "#bcd9f2", "#fbd3a8", "#c3e3b5", "#f3bcbc", "#d9c8ec",
          "#f3e6a2", "#b9e3df", "#e3cdb9", "#f2c6de", "#d5dbe1" };
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (dot->codelets, codelet));
  if (n == 0)
    {
      n = g_hash_table_size (dot->codelets) + 1;
      g_hash_table_insert (dot->codelets, g_strdup (codelet),
                           GUINT_TO_POINTER (n));
    }
  return colours[(n - 1) % G_N_ELEMENTS (colours)];
}

static void
add_node (HassDot *dot, const HassSubmitted *task)
{
  g_autofree char *label = task->internal
                               ? g_strdup (task->codelet)
                               : g_strdup_printf ("%s %" G_GUINT64_FORMAT,
                                                  task->codelet, task->task);
  g_string_append_printf (dot->out,
                          "  t%" G_GUINT64_FORMAT " [label=", task->node);
  quote (dot->out, label);
  if (task->internal)
    g_string_append (dot->out, " style=dashed];\n");
  else
    g_string_append_printf (dot->out, " fillcolor=\"%s\"];\n",
                            colour_of (dot, task->codelet));
}

static Datum *
datum_of (HassDot *dot, guint index)
{
  if (index >= dot->data->len)
    g_ptr_array_set_size (dot->data, (gint)index + 1);
  Datum *datum = g_ptr_array_index (dot->data, index);
  if (!datum)
    {
      datum = g_new0 (Datum, 1);
      datum->group = g_array_new (FALSE, FALSE, sizeof (Before));
      dot->data->pdata[index] = datum;
    }
  return datum;
}

/* -- Edges -------------------------------------------------------------- */

static void
follow (GHashTable *edges, const Before *before, const HassUse *use)
{
  Edge *edge = g_hash_table_lookup (edges, &before->task);
  if (!edge)
    {
      edge = g_new0 (Edge, 1);
      edge->from = before->task;
      edge->names = g_string_new (NULL);
      g_hash_table_insert (edges, &edge->from, edge);
    }
  edge->has_value |= before->writes && use->reads;
  g_string_append_printf (edge->names, "%s%s", edge->names->len > 0 ? ", " : "",
                          use->name);
}

/* Adds the edges that lead to a task because of one datum. */
static void
add_use (HassDot *dot, guint64 task, const HassUse *use, GHashTable *edges)
{
  Datum *datum = datum_of (dot, use->datum);
  const Before me = { task, use->writes };
  if (datum->has_exclusive && (use->shared || datum->group->len == 0))
    follow (edges, &datum->exclusive, use);
  if (use->shared)
    {
      g_array_append_val (datum->group, me);
      return;
    }
  for (guint i = 0; i < datum->group->len; i++)
    follow (edges, &g_array_index (datum->group, Before, i), use);
  g_array_set_size (datum->group, 0);
  datum->has_exclusive = TRUE;
  datum->exclusive = me;
}

static gint
by_task (gconstpointer a, gconstpointer b)
{
  const Edge *x = a, *y = b;
  return x->from < y->from ? -1 : x->from > y->from;
}

void
hass_dot_task (HassDot *dot, const HassSubmitted *task)
{
  g_autoptr (GHashTable) edges
      = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, edge_free);
  add_node (dot, task);
  for (guint i = 0; i < task->n; i++)
    add_use (dot, task->node, &task->uses[i], edges);
  g_autoptr (GList) sorted
      = g_list_sort (g_hash_table_get_values (edges), by_task);
  for (const GList *l = sorted; l; l = l->next)
    {
      const Edge *edge = l->data;
      g_string_append_printf (dot->out,
                              "  t%" G_GUINT64_FORMAT " -> t%" G_GUINT64_FORMAT
                              " [label=",
                              edge->from, task->node);
      quote (dot->out, edge->names->str);
      g_string_append (dot->out,
                       edge->has_value ? "];\n" : " style=dashed];\n");
    }
}
