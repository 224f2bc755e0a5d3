/* SPDX-License-Identifier: MIT */
/* test_small_stack.c: GPUs are looked for on threads of little stack, too.
   Thread safety: one thread beside the stand-in's own, and that of the farm. */
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include "device/cuda/gpus-private.h"
#include "hass/data_farm.h"
#include "hass_test.h"
#include "tests/device/fake_machine.h"

/* A thread's stack has room for the thread-local variables of all libraries of
   the program, whose size is not known, and for so much more. */
#define STACK_BYTES (28 << 10)
#define PAGE_BYTES 4096

static gboolean
count (const HassBlock *block, HassWorker *worker, gpointer user_data,
       GError **error)
{
  (void)worker, (void)error;
  g_atomic_int_add ((gint *)user_data, (gint)block->count);
  return TRUE;
}

static gpointer
run_farm (gpointer n_units)
{
  HassLoad load = { .size = 100 };
  HassDataFarm farm = HASS_DATA_FARM_INIT;
  farm.name = "small stack";
  farm.user_data = n_units;
  farm.loads = &load;
  farm.n_loads = 1;
  farm.cpu_worker = count;
  CU_ASSERT_EQUAL (hass_gpus_count (), 1);
  CU_ASSERT_TRUE (hass_data_farm_partition (&farm, NULL, NULL));
  return NULL;
}

static int
add_locals (struct dl_phdr_info *library, size_t size, gpointer bytes)
{
  (void)size;
  for (guint i = 0; i < library->dlpi_phnum; i++)
    if (library->dlpi_phdr[i].p_type == PT_TLS)
      *(gsize *)bytes
          += library->dlpi_phdr[i].p_memsz + library->dlpi_phdr[i].p_align;
  return 0;
}

/* What the C library needs, with the thread-local variables. */
static gsize
least_stack_bytes (void)
{
  gsize bytes = (gsize)sysconf (_SC_THREAD_STACK_MIN);
  dl_iterate_phdr (add_locals, &bytes);
  return bytes;
}

static void
looks_on_a_small_stack (void)
{
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
  hass_test_skip ("a sanitizer takes more of a stack");
  return;
#endif
  gint n_units = 0;
  pthread_attr_t attr;
  pthread_t thread;
  fake_machine_begin (&(FakePlan){ .n_devices = 1 });
  pthread_attr_init (&attr);
  gsize bytes = least_stack_bytes () + STACK_BYTES;
  CU_ASSERT_EQUAL (
      pthread_attr_setstacksize (&attr, bytes & ~(gsize)(PAGE_BYTES - 1)), 0);
  CU_ASSERT_EQUAL_FATAL (pthread_create (&thread, &attr, run_farm, &n_units),
                         0);
  pthread_join (thread, NULL);
  pthread_attr_destroy (&attr);
  CU_ASSERT_EQUAL (n_units, 100);
  fake_machine_end ();
}

HASS_TEST_SUITE (small_stack,
                 { "a thread of little stack counts the GPUs and runs a "
                   "farm",
                   looks_on_a_small_stack })
