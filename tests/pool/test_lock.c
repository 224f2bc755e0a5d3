/* SPDX-License-Identifier: MIT */
/* test_lock.c: a thread that waits for the lock comes before those that try.
   Thread safety: one thread, and the one that waits. */
#include "pool/fence.h"

#include "hass_test.h"

typedef struct
{
  HassLock lock;
  _Atomic gboolean has_it, may_give;
} Fixture;

static gpointer
wait_for_it (gpointer data)
{
  Fixture *f = data;
  hass_lock_take (&f->lock);
  atomic_store (&f->has_it, TRUE);
  while (!atomic_load (&f->may_give))
    g_thread_yield ();
  hass_lock_give (&f->lock);
  return NULL;
}

/* The lock is free for some us after each give, until the other thread runs:
   without the count of those that wait, one of these tries gets it. */
static void
waiting_comes_first (void)
{
  for (guint i = 0; i < 200; i++)
    {
      Fixture f = { .has_it = FALSE };
      hass_lock_init (&f.lock);
      hass_lock_take (&f.lock);
      GThread *thread = g_thread_new ("waits", wait_for_it, &f);
      while (atomic_load (&f.lock.waiting) == 0)
        g_thread_yield ();
      hass_lock_give (&f.lock);
      gboolean passed = FALSE;
      while (!passed && !atomic_load (&f.has_it))
        passed = hass_lock_try (&f.lock);
      CU_ASSERT_FALSE (passed);
      if (passed)
        hass_lock_give (&f.lock);
      atomic_store (&f.may_give, TRUE);
      g_thread_join (thread);
      CU_ASSERT_TRUE (hass_lock_try (&f.lock));
      CU_ASSERT_FALSE (hass_lock_try (&f.lock));
      hass_lock_give (&f.lock);
      hass_lock_clear (&f.lock);
    }
}

HASS_TEST_SUITE (lock, { "a thread that waits comes before those that try",
                         waiting_comes_first })
