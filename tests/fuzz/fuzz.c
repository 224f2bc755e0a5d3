/* SPDX-License-Identifier: MIT */
/* fuzz.c: see fuzz.h.
   Thread safety: see fuzz.h. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef HASS_FUZZ
int LLVMFuzzerInitialize (int *argc, char ***argv);

/* A critical message is a fault like any other. */
int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
  (void)argc, (void)argv;
  g_setenv ("HASS_PROFILE", "off", TRUE);
  g_log_set_always_fatal (G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL
                          | G_LOG_LEVEL_WARNING);
  return 0;
}

void
fuzz_check (gboolean holds, const char *condition, const char *file)
{
  if (holds)
    return;
  g_printerr ("%s: does not hold: %s\n", file, condition);
  abort ();
}

#else
#  include <stdio.h>

#  include <CUnit/CUnit.h>

#  define MOST_TARGETS 32

static struct
{
  const char *name;
  FuzzFunc func;
} targets[MOST_TARGETS];
static guint n_targets;

void
fuzz_register (const char *name, FuzzFunc func)
{
  if (n_targets == MOST_TARGETS)
    abort ();
  targets[n_targets].name = name;
  targets[n_targets++].func = func;
}

FuzzFunc
fuzz_find (const char *name)
{
  for (guint i = 0; i < n_targets; i++)
    if (strcmp (targets[i].name, name) == 0)
      return targets[i].func;
  return NULL;
}

void
fuzz_check (gboolean holds, const char *condition, const char *file)
{
  CU_ASSERT_TRUE (holds);
  if (!holds)
    printf ("\n    %s: does not hold: %s", file, condition);
}
#endif

const char *
fuzz_file (const guint8 *data, size_t size)
{
  static int fd = -1;
  static char path[64];
  if (fd < 0)
    {
      fd = memfd_create ("fuzz", MFD_CLOEXEC);
      g_snprintf (path, sizeof path, "/proc/self/fd/%d", fd);
    }
  if (fd < 0 || ftruncate (fd, 0) != 0
      || pwrite (fd, data, size, 0) != (ssize_t)size)
    abort ();
  return path;
}
