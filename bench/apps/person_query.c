/* SPDX-License-Identifier: MIT */
/* person_query.c: person_query over one large table, of which few persons
   match. The rows are compared with a plain loop once, then with these.
   Thread safety: one thread. */
#include "apps.h"

#include <string.h>

#include "examples/person_query/calendar.h"
#include "examples/person_query/query.h"

#define PERSONS ((gsize)128 << 20)
#define SEED 1

/* NULL in a program that was built without CUDA. */
gboolean person_query_gpu_worker (const HassBundle *bundle,
                                  HassGpuStream *stream, gpointer user_data,
                                  GError **error) __attribute__ ((weak));

typedef struct
{
  PersonTable *table;
  PersonWanted wanted;
  guint64 n_found;
  GArray *rows, *right; /* guint32; @right is empty before the first run */
  gboolean has_right;
} Task;

static void
release (gpointer self)
{
  Task *t = self;
  g_clear_pointer (&t->table, person_table_free);
  g_array_unref (t->rows);
  g_array_unref (t->right);
  g_free (t);
}

/* In virtual time the persons are not read, except for a sample. */
static PersonTable *
no_persons (gsize n)
{
  PersonTable *table = g_new0 (PersonTable, 1);
  table->mapped_bytes = n * sizeof (Person);
  table->mapped = pages_new (table->mapped_bytes, FALSE);
  table->persons = table->mapped;
  table->n_persons = n;
  return table;
}

static gpointer
prepare (const AppsMachine *machine, const AppsSize *size, GError **error)
{
  Task *t = g_new0 (Task, 1);
  gsize n = size->small ? PERSONS / 64 : PERSONS;
  t->wanted = (PersonWanted){ .born_from = person_date_to_days (1980, 1, 1),
                              .born_to = person_date_to_days (1980, 12, 31),
                              .salary_min = 12000,
                              .salary_max = G_MAXINT32 };
  t->rows = g_array_new (FALSE, FALSE, sizeof (guint32));
  t->right = g_array_new (FALSE, FALSE, sizeof (guint32));
  t->table = machine->platform ? no_persons (n)
                               : person_table_generate (n, SEED, 0, error);
  if (t->table)
    return t;
  release (t);
  return NULL;
}

static gboolean
take (const PersonTable *table, const guint32 *rows, gsize n_rows,
      gpointer user_data, GError **error)
{
  (void)table, (void)error;
  g_array_append_vals (user_data, rows, (guint)n_rows);
  return TRUE;
}

static gboolean
run (gpointer self, const AppsMachine *machine, const char *strategy,
     HassReport **report, GError **error)
{
  Task *t = self;
  PersonQuery query = { .table = t->table,
                        .wanted = t->wanted,
                        .farm = PERSON_TABLE,
                        .take = take,
                        .take_data = t->rows,
                        .cpu_only = machine->n_gpus == 0,
                        .run = { .strategy = strategy,
                                 .platform = machine->platform,
                                 .dry = machine->platform != NULL } };
  g_array_set_size (t->rows, 0);
  return person_query_run (&query, &t->n_found, report, error);
}

static gboolean
check (gpointer self, GError **error)
{
  Task *t = self;
  if (!t->has_right)
    {
      g_autofree char *wrong = person_query_reference (
          t->table, &t->wanted, (const guint32 *)(gpointer)t->rows->data,
          t->rows->len, t->n_found);
      if (wrong)
        return apps_wrong (error, "%s", wrong);
      g_array_append_vals (t->right, t->rows->data, t->rows->len);
      t->has_right = TRUE;
    }
  return (t->rows->len == t->right->len
          && memcmp (t->rows->data, t->right->data,
                     t->right->len * sizeof (guint32))
                 == 0)
         || apps_wrong (error, "not the rows of the first run (%u, not %u)",
                        t->rows->len, t->right->len);
}

static char *
describe (gpointer self)
{
  const Task *t = self;
  return g_strdup_printf ("Person query: %zu persons in a table of %.3f GiB in "
                          "pinned memory, %u of them wanted",
                          t->table->n_persons,
                          t->table->n_persons * sizeof (Person) / (double)GIB,
                          t->right->len);
}

static gboolean
has_gpu_worker (void)
{
  return person_query_gpu_worker != NULL;
}

const AppsProgram apps_person_query = { .name = "person_query",
                                        .farm = "person_query",
                                        .prepare = prepare,
                                        .run = run,
                                        .check = check,
                                        .describe = describe,
                                        .release = release,
                                        .has_gpu_worker = has_gpu_worker };
