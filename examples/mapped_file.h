/* SPDX-License-Identifier: MIT */
/* mapped_file.h: makes the truncation of a mapped file, or a failing disk, an
   error and not the end of the program.

   DESIGN. The kernel sends SIGBUS to a thread that touches a page which the
   file no longer has. The handler maps zeros in place of that page and all
   pages that follow, and notes it; the thread continues, in a worker or in a
   copy of the library. The program calls mapped_file_shrank() before it uses
   what was computed.

   Thread safety: one file is guarded at a time, by one thread; any thread may
   touch its pages and ask. */
#ifndef HASS_EXAMPLES_MAPPED_FILE_H
#define HASS_EXAMPLES_MAPPED_FILE_H

#include <glib.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static struct
{
  _Atomic guintptr begin, end; /* of the mapping, whole pages */
  _Atomic gboolean shrank;
  guintptr page_bytes;
  struct sigaction before;
} mapped_file;

static void
mapped_file_on_sigbus (int number, siginfo_t *info, void *context)
{
  guintptr at = (guintptr)info->si_addr & ~(mapped_file.page_bytes - 1);
  (void)context;
  /* The call is async-signal-safe: a system call that touches no state of the
     C library. */
  if (at >= mapped_file.begin && at < mapped_file.end
      && mmap ((gpointer)at, mapped_file.end - at, PROT_READ,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
             != MAP_FAILED)
    mapped_file.shrank = TRUE;
  else /* another address: the former handler handles the access */
    sigaction (number, &mapped_file.before, NULL);
}

/* Guards [@base, @base + @bytes), the mapping of a file from its beginning,
   until mapped_file_leave(). */
static inline void
mapped_file_guard (gconstpointer base, gsize bytes)
{
  struct sigaction ours
      = { .sa_sigaction = mapped_file_on_sigbus, .sa_flags = SA_SIGINFO };
  guintptr page = (guintptr)sysconf (_SC_PAGESIZE);
  sigemptyset (&ours.sa_mask);
  mapped_file.page_bytes = page;
  mapped_file.shrank = FALSE;
  mapped_file.begin = (guintptr)base;
  mapped_file.end = ((guintptr)base + bytes + page - 1) & ~(page - 1);
  sigaction (SIGBUS, &ours, &mapped_file.before);
}

/* Returns: whether a part could not be read and was replaced by zeros. */
static inline gboolean
mapped_file_shrank (void)
{
  return mapped_file.shrank;
}

/* To be called before the file is unmapped. */
static inline void
mapped_file_leave (void)
{
  sigaction (SIGBUS, &mapped_file.before, NULL);
  mapped_file.end = mapped_file.begin = 0;
}

#endif
