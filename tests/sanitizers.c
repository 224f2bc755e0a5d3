/* SPDX-License-Identifier: MIT */
/* sanitizers.c: what ThreadSanitizer cannot see because GLib and oneTBB are not
   instrumented. AddressSanitizer is told what malloc does, and LeakSanitizer
   which memory the C library frees.
   Thread safety: constant. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
const char *__asan_default_options (void);
const char *__tsan_default_options (void);

/* An allocation that is too large fails, as it does without them. */
const char *
__asan_default_options (void)
{
  return "allocator_may_return_null=1";
}

const char *
__tsan_default_options (void)
{
  return "allocator_may_return_null=1";
}
#endif

#if defined __SANITIZE_ADDRESS__
const char *__lsan_default_suppressions (void);

/* The C library keeps a thread's values of keys, and frees them at its end. A
   thread that is not joined (of oneTBB, or a proxy) may be there in part while
   the process ends; its table was reported once. */
const char *
__lsan_default_suppressions (void)
{
  return "leak:pthread_setspecific\n";
}
#endif

#if defined __SANITIZE_THREAD__
const char *__tsan_default_suppressions (void);

const char *
__tsan_default_suppressions (void)
{
  return "race:g_slice_alloc0\n" /* of a thread's description, in GLib */
         "race:g_slice_free1\n"
         "race:g_realloc\n"  /* of its table of quarks, under its own lock */
         "race:g_rw_lock_\n" /* made when it is first used, for errors */
         /* oneTBB clears memory of its own allocator, which another thread had
            cleared before; what its threads call is looked at all the same */
         "called_from_lib:libtbb.so\n";
}
#else
typedef int hass_no_sanitizer;
#endif
