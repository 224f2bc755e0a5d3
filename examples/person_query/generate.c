/* SPDX-License-Identifier: MIT */
/* generate.c: makes a table in memory with a partition farm, one row a unit;
   rows are independent (person_make()), so cores make them in any order.
   Thread safety: table.h. */
#include "table.h"

#include <hass/hass.h>

static gboolean
make_block (const HassBlock *block, HassWorker *worker, gpointer user_data,
            GError **error)
{
  Person *persons = (Person *)(gpointer)block->output;
  (void)worker, (void)error;
  for (gsize i = 0; i < block->count; i++)
    person_make (*(guint64 *)user_data, block->first + i, &persons[i]);
  return TRUE;
}

PersonTable *
person_table_generate (gsize n_persons, guint64 seed, guint n_cores,
                       GError **error)
{
  g_return_val_if_fail (n_persons <= PERSON_MAX_ROWS, NULL);
  g_autoptr (PersonTable) table = g_new0 (PersonTable, 1);
  gsize bytes = n_persons * sizeof (Person);
  Person *persons = hass_memory_alloc (bytes, error);
  if (!persons)
    return NULL;
  table->persons = persons;
  table->n_persons = n_persons;
  HassLoad load
      = { .output = persons, .output_bytes = bytes, .size = n_persons };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "person_table";
  farm.user_data = &seed;
  farm.loads = &load;
  farm.n_loads = n_persons > 0;
  farm.cpu_worker = make_block;
  farm.run.n_cores = n_cores;
  if (!hass_data_farm_partition (&farm, NULL, error))
    return NULL;
  return g_steal_pointer (&table);
}
